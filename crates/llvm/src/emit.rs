//! State shared by the emission of all functions of a module: declarations, intrinsics, constants,
//! and the runtime's functions with the attributes that LLVM may assume.

use crate::error::{Error, Res};
use crate::metadata::Metadata;
use crate::partition::Partition;
use crate::target::Processor;
use crate::types::{Types, Value};
use imp::{CheckId, CodePlacement, DataId, Function, Program, VarType};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValue, CallSiteValue, FunctionValue, GlobalValue,
    InstructionValue, PointerValue, UnnamedAddress,
};
use prim::{MathFun, PrimType};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// LLVM's number of the calling convention for internal functions (`fastcc`).
pub const FAST_CALLS: u32 = 8;

/// Memory effects as LLVM encodes them: two bits each (1 reads, 2 writes) for memory that arguments
/// point to, memory that the module cannot access, and all other memory.
#[derive(Clone, Copy)]
pub enum Effects {
    /// Reads and writes nothing.
    None = 0,
    /// Reads and writes memory that arguments point to.
    Arguments = 3,
    /// Reads memory that arguments point to; reads and writes inaccessible memory.
    ReadArguments = 13,
    /// Reads and writes memory that arguments point to, and inaccessible memory.
    ArgumentsAndHidden = 15,
    /// Reads and writes any memory.
    All = 63,
}

/// The runtime functions that generated code calls, but for library functions on scalars.
#[derive(Clone, Copy)]
pub struct Runtime<'c> {
    pub alloc: FunctionValue<'c>,
    pub add_ref: FunctionValue<'c>,
    pub slots: FunctionValue<'c>,
    pub release_ref: FunctionValue<'c>,
    pub release_refs: FunctionValue<'c>,
    pub tasks: FunctionValue<'c>,
    pub tasks_coarse: FunctionValue<'c>,
    pub fail: FunctionValue<'c>,
    pub stack_check: FunctionValue<'c>,
    pub record_call: FunctionValue<'c>,
    pub log_comparison: FunctionValue<'c>,
    pub begin_nest: FunctionValue<'c>,
    pub end_nest: FunctionValue<'c>,
    pub device_alloc: FunctionValue<'c>,
    pub device_copy: FunctionValue<'c>,
    pub launch: FunctionValue<'c>,
}

/// A module under construction.
pub struct Emit<'p, 'c> {
    pub context: &'c Context,
    pub module: Module<'c>,
    pub program: &'p Program,
    /// The partition of the program, and the part that this module is.
    pub plan: &'p Partition,
    pub part: usize,
    /// Suffix of symbols that are visible outside of this module.
    pub suffix: &'static str,
    pub processor: Processor,
    pub types: Types<'c>,
    pub metadata: Metadata<'c>,
    pub runtime: Runtime<'c>,
    /// The program's functions declared so far, by id.
    functions: RefCell<FxHashMap<usize, FunctionValue<'c>>>,
    /// Functions without a part that were declared and have no code yet.
    pending: RefCell<Vec<usize>>,
    /// Functions for quotients of 64-bit integers, by the number of lanes and whether these are signed.
    pub wide_quotients: RefCell<FxHashMap<(u32, bool), FunctionValue<'c>>>,
    /// Functions for integer powers, by type and number of lanes.
    pub powers: RefCell<FxHashMap<(PrimType, Option<u32>), FunctionValue<'c>>>,
    strings: RefCell<FxHashMap<Arc<str>, PointerValue<'c>>>,
    checks: RefCell<FxHashMap<CheckId, PointerValue<'c>>>,
    data: RefCell<FxHashMap<DataId, PointerValue<'c>>>,
    nothing: Cell<Option<PointerValue<'c>>>,
}

impl<'p, 'c> Emit<'p, 'c> {
    /// A module that declares the functions of its part, without code.
    pub fn new(
        context: &'c Context,
        module: Module<'c>,
        metadata: Metadata<'c>,
        program: &'p Program,
        (plan, part, suffix): (&'p Partition, usize, &'static str),
        processor: Processor,
    ) -> Res<Self> {
        let types = Types::new(context);
        let runtime = declare_runtime(context, &module, &types);
        let emit = Self {
            context,
            module,
            program,
            plan,
            part,
            suffix,
            processor,
            types,
            metadata,
            runtime,
            functions: RefCell::default(),
            pending: RefCell::default(),
            wide_quotients: RefCell::default(),
            powers: RefCell::default(),
            strings: RefCell::default(),
            checks: RefCell::default(),
            data: RefCell::default(),
            nothing: Cell::default(),
        };
        for id in 0..program.functions.len() {
            if plan.module_of(id) == Some(part) {
                emit.function(id)?;
            }
        }
        Ok(emit)
    }

    /// The program's function of this id, declared on first use.
    pub fn function(&self, id: usize) -> Res<FunctionValue<'c>> {
        if let Some(known) = self.functions.borrow().get(&id) {
            return Ok(*known);
        }
        let linkage = match self.plan.module_of(id) {
            Some(home) if home != self.part || self.plan.is_shared(id) => CROSS_MODULE_LINKAGE,
            _ => Linkage::Internal,
        };
        let value = self.declare(&self.program.functions[id], linkage)?;
        if self.plan.module_of(id).is_none() {
            self.pending.borrow_mut().push(id);
        }
        self.functions.borrow_mut().insert(id, value);
        Ok(value)
    }

    /// Takes a function without a part that is called here and has no code yet.
    pub fn next_pending(&self) -> Option<usize> {
        self.pending.borrow_mut().pop()
    }

    fn declare(&self, function: &Function, linkage: Linkage) -> Res<FunctionValue<'c>> {
        let ty = self.function_type(function)?;
        let name = format!("f.{}{}", function.name, self.suffix);
        let value = self.module.add_function(&name, ty, Some(linkage));
        value.set_call_conventions(FAST_CALLS);
        set(self.context, value, AttributeLoc::Function, "nounwind", 0);
        let wanted = match function.code {
            CodePlacement::Inline => Some("alwaysinline"),
            CodePlacement::NoInline => Some("noinline"),
            CodePlacement::OneModule | CodePlacement::EachModule => None,
        };
        if let Some(attribute) = wanted {
            set(self.context, value, AttributeLoc::Function, attribute, 0);
        }
        set(self.context, value, AttributeLoc::Param(0), "nonnull", 0);
        for (i, param) in function.params.iter().enumerate() {
            if var_type(function, *param).is_buffer() {
                set(self.context, value, AttributeLoc::Param(i as u32 + 1), "align", 64);
            }
        }
        Ok(value)
    }

    /// Declares an internal helper function.
    pub fn helper(
        &self,
        name: &str,
        params: &[BasicMetadataTypeEnum<'c>],
        result: impl BasicType<'c>,
    ) -> FunctionValue<'c> {
        self.helper_of(name, params, result, Linkage::Internal)
    }

    fn helper_of(
        &self,
        name: &str,
        params: &[BasicMetadataTypeEnum<'c>],
        result: impl BasicType<'c>,
        linkage: Linkage,
    ) -> FunctionValue<'c> {
        let ty = result.fn_type(params, false);
        let value = self.module.add_function(name, ty, Some(linkage));
        set(self.context, value, AttributeLoc::Function, "nounwind", 0);
        value
    }

    /// Declares a helper function that another part defines or refers to.
    pub fn external_helper(
        &self,
        name: &str,
        params: &[BasicMetadataTypeEnum<'c>],
        result: impl BasicType<'c>,
    ) -> FunctionValue<'c> {
        self.helper_of(name, params, result, CROSS_MODULE_LINKAGE)
    }

    /// Adds an attribute to a function or one of its parameters.
    pub fn attribute(&self, f: FunctionValue<'c>, at: AttributeLoc, name: &str, value: u64) {
        set(self.context, f, at, name, value);
    }

    /// Sets the memory effects of a function.
    pub fn effects(&self, f: FunctionValue<'c>, effects: Effects) {
        set(self.context, f, AttributeLoc::Function, "memory", effects as u64);
    }

    /// Declares an LLVM intrinsic for these overloaded types.
    pub fn intrinsic(&self, name: &str, types: &[BasicTypeEnum<'c>]) -> Res<FunctionValue<'c>> {
        Intrinsic::find(name)
            .and_then(|intrinsic| intrinsic.get_declaration(&self.module, types))
            .ok_or_else(|| Error::bug(format_args!("LLVM has no intrinsic {name}")))
    }

    /// Declares a library function of the runtime.
    pub fn math(&self, fun: MathFun, ty: PrimType) -> FunctionValue<'c> {
        let name = format!("br_math_{}_{ty}", fun.name());
        if let Some(known) = self.module.get_function(&name) {
            return known;
        }
        let scalar = self.types.register(ty);
        let params = vec![scalar.into(); fun.arity()];
        let value = self.module.add_function(&name, scalar.fn_type(&params, false), None);
        for attribute in ["nounwind", "willreturn"] {
            set(self.context, value, AttributeLoc::Function, attribute, 0);
        }
        if ty == PrimType::F16 {
            // C passes types narrower than `int` extended; callees rely on it.
            set(self.context, value, AttributeLoc::Return, "zeroext", 0);
            for i in 0..fun.arity() {
                set(self.context, value, AttributeLoc::Param(i as u32), "zeroext", 0);
            }
        }
        self.effects(value, Effects::None);
        value
    }

    /// Adds a private constant to the module.
    pub fn constant<V: BasicValue<'c>>(&self, name: &str, value: V, align: u32) -> GlobalValue<'c> {
        let ty = value.as_basic_value_enum().get_type();
        let global = self.module.add_global(ty, None, name);
        global.set_initializer(&value);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.set_unnamed_address(UnnamedAddress::Global);
        global.set_alignment(align);
        global
    }

    /// The address of a constant 0, for reads of masked-off lanes.
    pub fn zero_constant(&self) -> PointerValue<'c> {
        self.nothing.get().unwrap_or_else(|| {
            let zero = self.types.i64.const_zero();
            let address = self.constant("nothing", zero, 8).as_pointer_value();
            self.nothing.set(Some(address));
            address
        })
    }

    /// The address of a string's bytes; null for the empty string.
    pub fn text(&self, text: &Arc<str>) -> PointerValue<'c> {
        if text.is_empty() {
            return self.types.ptr.const_null();
        }
        *self.strings.borrow_mut().entry(text.clone()).or_insert_with(|| {
            let bytes = self.context.const_string(text.as_bytes(), false);
            self.constant("text", bytes, 1).as_pointer_value()
        })
    }

    /// The address and length of a string, the fields of an `abi::Str`.
    pub fn text_fields(&self, text: &Arc<str>) -> [Value<'c>; 2] {
        [self.text(text).into(), self.types.const_i64(text.len() as i64).into()]
    }

    /// The address of a check's description.
    pub fn check(&self, id: CheckId) -> PointerValue<'c> {
        let check = &self.program.checks[id.index()];
        *self.checks.borrow_mut().entry(id).or_insert_with(|| {
            let (format, location) = (self.text_fields(&check.format), self.text_fields(&check.location));
            let fields = [format, location].concat();
            let desc = self.context.const_struct(&fields, false);
            self.constant(&format!("check.{}", id.0), desc, 8).as_pointer_value()
        })
    }

    /// The address of the first byte of constant data, which lies in a block with a header whose
    /// reference count marks it as static.
    pub fn data(&self, id: DataId) -> PointerValue<'c> {
        let data = &self.program.data[id.index()];
        if let Some(known) = self.data.borrow().get(&id) {
            return *known;
        }
        let single = self.plan.is_in_first_module(data.bytes.len());
        let name = format!("data.{}{}", id.0, self.suffix);
        if single && self.part > 0 {
            let global = self.module.add_global(self.types.i8, None, &name);
            global.set_constant(true);
            global.set_alignment(64);
            return self.first_byte(id, global);
        }
        let mut header = [self.types.i64.const_zero(); 8];
        header[0] = self.types.const_i64(STATIC_REFERENCES);
        let header = self.types.i64.const_array(&header);
        let bytes = self.context.const_string(&data.bytes, false);
        let block = self.context.const_struct(&[header.into(), bytes.into()], false);
        let global = self.constant(&name, block, 64);
        if single {
            global.set_linkage(Linkage::External);
        }
        self.first_byte(id, global)
    }

    /// The first byte after the header of constant data.
    fn first_byte(&self, id: DataId, global: GlobalValue<'c>) -> PointerValue<'c> {
        let header_bytes = self.types.const_i64(64);
        let start = global.as_pointer_value();
        // SAFETY: the global is at least 64 bytes long, all of them its header.
        let first = unsafe { start.const_gep(self.types.i8, &[header_bytes]) };
        self.data.borrow_mut().insert(id, first);
        first
    }
}

/// The reference count in the header of a block that is never freed.
pub const STATIC_REFERENCES: i64 = 1 << 62;

/// The linkage of functions that several parts refer to, from the start: LLVM assumes that hidden
/// symbols, and symbols that were internal once, lie near, but the JIT may place parts far apart.
const CROSS_MODULE_LINKAGE: Linkage = Linkage::External;

fn set(context: &Context, f: FunctionValue<'_>, at: AttributeLoc, name: &str, value: u64) {
    let kind = Attribute::get_named_enum_kind_id(name);
    f.add_attribute(at, context.create_enum_attribute(kind, value));
}

fn declare_runtime<'c>(context: &'c Context, module: &Module<'c>, types: &Types<'c>) -> Runtime<'c> {
    let (ptr, i64): (BasicMetadataTypeEnum<'c>, _) = (types.ptr.into(), types.i64.into());
    let status = types.i32;
    let declare = |name: &str, ty, effects: Effects| {
        let f = module.add_function(name, ty, None);
        set(context, f, AttributeLoc::Function, "nounwind", 0);
        if !matches!(effects, Effects::All) {
            set(context, f, AttributeLoc::Function, "willreturn", 0);
        }
        set(context, f, AttributeLoc::Function, "memory", effects as u64);
        f
    };
    let hidden = Effects::ArgumentsAndHidden;
    let [alloc, device_alloc] = ["br_alloc", "br_device_alloc"].map(|name| {
        let f = declare(name, types.ptr.fn_type(&[ptr, i64, ptr], false), hidden);
        set(context, f, AttributeLoc::Return, "noalias", 0);
        set(context, f, AttributeLoc::Return, "align", 64);
        f
    });
    let void = context.void_type();
    let release_all = declare("br_unref_all", void.fn_type(&[ptr, ptr, i64], false), hidden);
    set(context, release_all, AttributeLoc::Function, "cold", 0);
    set(context, release_all, AttributeLoc::Param(1), "nocapture", 0);
    let tasks = status.fn_type(&[ptr, ptr, ptr, i64, i64], false);
    let fail = declare("br_fail", status.fn_type(&[ptr, ptr, ptr], false), Effects::ReadArguments);
    set(context, fail, AttributeLoc::Function, "cold", 0);
    let called = declare("br_called", void.fn_type(&[ptr, ptr], false), Effects::ReadArguments);
    set(context, called, AttributeLoc::Function, "cold", 0);
    let compared = declare("br_compared", void.fn_type(&[ptr, i64, i64], false), Effects::ReadArguments);
    set(context, compared, AttributeLoc::Function, "cold", 0);
    let copy = status.fn_type(&[ptr, i64, ptr, i64, ptr, i64, i64], false);
    let launch = status.fn_type(&[ptr, i64, i64, ptr], false);
    Runtime {
        alloc,
        device_alloc,
        device_copy: declare("br_device_copy", copy, Effects::All),
        launch: declare("br_launch", launch, Effects::All),
        // The blocks that are released with a block of slots may be reached through other
        // references, so the result is not `noalias`.
        slots: declare("br_slots", types.ptr.fn_type(&[ptr, i64, ptr], false), hidden),
        add_ref: declare("br_ref", void.fn_type(&[ptr], false), Effects::Arguments),
        release_ref: declare("br_unref", void.fn_type(&[ptr, ptr], false), hidden),
        release_refs: release_all,
        tasks: declare("br_tasks", tasks, Effects::All),
        tasks_coarse: declare("br_tasks_coarse", tasks, Effects::All),
        fail,
        record_call: called,
        log_comparison: compared,
        begin_nest: declare("br_begin_nest", void.fn_type(&[ptr], false), hidden),
        end_nest: declare("br_end_nest", void.fn_type(&[ptr, ptr, ptr], false), hidden),
        stack_check: declare("br_stack_check", status.fn_type(&[ptr, i64], false), hidden),
    }
}

/// The type of a function's variable.
pub fn var_type(function: &Function, var: imp::Var) -> VarType {
    function.vars[var.index()].ty
}

/// Calls a function and returns the call site, for its value and attributes.
pub fn call<'c>(builder: &Builder<'c>, f: FunctionValue<'c>, args: &[Value<'c>]) -> Res<CallSiteValue<'c>> {
    let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|v| (*v).into()).collect();
    let site = builder.build_direct_call(f, &args, "")?;
    site.set_call_convention(f.get_call_conventions());
    Ok(site)
}

/// Calls a function that returns a value, and returns that value.
pub fn call_value<'c>(builder: &Builder<'c>, f: FunctionValue<'c>, args: &[Value<'c>]) -> Res<Value<'c>> {
    let value = call(builder, f, args)?.try_as_basic_value().basic();
    value.ok_or_else(|| Error::bug("a function returns no value"))
}

/// The instruction of a call site.
pub fn call_instruction(site: CallSiteValue<'_>) -> InstructionValue<'_> {
    // SAFETY: a call site is an instruction.
    unsafe { InstructionValue::new(site.as_value_ref()) }
}
