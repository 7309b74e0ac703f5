//! The constant that describes a program to the runtime: the `#[repr(C)]` structures of its `abi`,
//! field by field.

use crate::device::DeviceCode;
use crate::emit::{Emit, var_type};
use crate::error::{Error, Res};
use crate::types::Value;
use imp::kernels::{Kernel, kernels};
use imp::{CheckId, Entry, Interface, Tunable, VarType};
use inkwell::module::Linkage;
use inkwell::values::{FunctionValue, PointerValue, StructValue};
use std::sync::Arc;

/// The version of the runtime's `abi` that this file follows.
pub const ABI_VERSION: i64 = 8;

/// The symbol of the program's table.
pub const PROGRAM_SYMBOL: &str = "bindrune_program";

struct TableEmitter<'e, 'p, 'c>(&'e Emit<'p, 'c>);

/// Emits the table of a program whose exported functions are defined or declared.
pub fn program<'c>(
    emit: &Emit<'_, 'c>,
    entries: &[(&Entry, FunctionValue<'c>)],
    (init, fini): (Option<FunctionValue<'c>>, Option<FunctionValue<'c>>),
    device: Option<&DeviceCode>,
) -> Res<PointerValue<'c>> {
    let tables = TableEmitter(emit);
    let interface = Interface {
        opaques: emit.program.opaques.clone(),
        entries: entries.iter().map(|(entry, _)| entry.signature.clone()).collect(),
    };
    let codes: Vec<PointerValue<'c>> = entries.iter().map(|(_, code)| address(*code)).collect();
    let code = |f: Option<FunctionValue<'c>>| f.map_or_else(|| emit.types.ptr.const_null(), address);
    let mut fields: Vec<Value<'c>> = vec![emit.types.const_i64(ABI_VERSION).into()];
    fields.extend(emit.text_fields(&emit.program.source_name));
    fields.extend(tables.bytes("interface", &interface.encode()));
    let length = emit.types.const_i64(codes.len() as i64);
    let codes = emit.constant("entries", emit.types.ptr.const_array(&codes), 8);
    fields.extend([Value::from(codes.as_pointer_value()), length.into()]);
    fields.push(emit.types.const_i64(emit.program.globals.len() as i64).into());
    fields.push(code(init).into());
    fields.push(code(fini).into());
    let tunables: Vec<_> = (emit.program.tunables.iter()).map(|tunable| tables.tunable(tunable)).collect();
    fields.extend(tables.array("tunables", &tunables));
    fields.push(match device {
        Some(device) => tables.device(device)?.into(),
        None => emit.types.ptr.const_null().into(),
    });
    let table = emit.context.const_struct(&fields, false);
    let global = emit.constant(&format!("{PROGRAM_SYMBOL}{}", emit.suffix), table, 8);
    global.set_linkage(Linkage::External);
    Ok(global.as_pointer_value())
}

/// Emits the runtime's table of programs for processor levels (number and symbol suffix of each):
/// its address and length.
pub fn levels<'c>(emit: &Emit<'_, 'c>, levels: &[(u64, &str)]) -> [Value<'c>; 2] {
    let types = &emit.types;
    let levels: Vec<_> = levels
        .iter()
        .map(|(number, suffix)| {
            let symbol = format!("{PROGRAM_SYMBOL}{suffix}");
            let known = emit.module.get_global(&symbol);
            let table = known.unwrap_or_else(|| emit.module.add_global(types.i8, None, &symbol));
            let number = types.i64.const_int(*number, false).into();
            let fields = [number, table.as_pointer_value().into()];
            emit.context.const_struct(&fields, false)
        })
        .collect();
    TableEmitter(emit).array("levels", &levels)
}

fn address(f: FunctionValue<'_>) -> PointerValue<'_> {
    f.as_global_value().as_pointer_value()
}

impl<'c> TableEmitter<'_, '_, 'c> {
    /// The address and length of an array of structures of one type.
    fn array(&self, name: &str, elements: &[StructValue<'c>]) -> [Value<'c>; 2] {
        let length = self.0.types.const_i64(elements.len() as i64).into();
        let Some(first) = elements.first() else {
            return [self.0.types.ptr.const_null().into(), length];
        };
        let array = first.get_type().const_array(elements);
        [self.0.constant(name, array, 8).as_pointer_value().into(), length]
    }

    /// The address and length of bytes.
    fn bytes(&self, name: &str, bytes: &[u8]) -> [Value<'c>; 2] {
        let length = self.0.types.const_i64(bytes.len() as i64).into();
        let bytes = self.0.context.const_string(bytes, false);
        [self.0.constant(name, bytes, 1).as_pointer_value().into(), length]
    }

    fn tunable(&self, tunable: &Tunable) -> StructValue<'c> {
        let mut fields = self.0.text_fields(&tunable.name).to_vec();
        fields.extend(self.0.text_fields(&Arc::from(tunable.class.name())));
        fields.push(self.0.types.const_i64(tunable.default).into());
        self.0.context.const_struct(&fields, false)
    }

    /// The description of the program's kernels.
    fn device(&self, code: &DeviceCode) -> Res<PointerValue<'c>> {
        let emit = self.0;
        let mut descs = Vec::with_capacity(code.names.len());
        for (kernel, name) in kernels(emit.program).iter().zip(&code.names) {
            descs.push(self.kernel(kernel, name)?);
        }
        let checks = (0..emit.program.checks.len())
            .map(|id| emit.context.const_struct(&[emit.check(CheckId::new(id)).into()], false));
        let checks: Vec<StructValue<'c>> = checks.collect();
        let target = emit.types.i64.const_int(code.target as u64, false);
        let mut fields: Vec<Value<'c>> = vec![target.into()];
        fields.extend(emit.text_fields(&code.source));
        fields.extend(emit.text_fields(&code.required_extensions));
        fields.extend(self.array("kernels", &descs));
        fields.extend(self.array("checks", &checks));
        let table = emit.context.const_struct(&fields, false);
        Ok(emit.constant("device", table, 8).as_pointer_value())
    }

    fn kernel(&self, kernel: &Kernel<'_>, name: &Arc<str>) -> Res<StructValue<'c>> {
        let emit = self.0;
        let mut sizes = Vec::with_capacity(kernel.launch.captures.len());
        for var in &kernel.launch.captures {
            sizes.push(match var_type(kernel.function, *var) {
                VarType::Scalar(ty) => ty.size() as u8,
                VarType::Buffer(_) => 0,
                VarType::Vector(..) => return Err(Error::bug("a kernel captures a vector")),
            });
        }
        let threads = kernel.threads();
        let threads = threads.ok_or_else(|| Error::bug("the number of threads of a block is not known"))?;
        let mut fields = emit.text_fields(name).to_vec();
        fields.extend(emit.text_fields(&kernel.launch.name));
        fields.push(emit.types.const_i64(i64::from(kernel.launch.id)).into());
        fields.extend(emit.text_fields(&kernel.launch.provenance));
        fields.push(emit.types.const_i64(threads as i64).into());
        fields.extend(self.bytes("sizes", &sizes));
        let n_shared = kernel.launch.shared_buffers.len() as i64;
        fields.push(emit.types.const_i64(n_shared).into());
        let fails = i64::from(kernel.can_fail());
        fields.push(emit.types.const_i64(fails).into());
        Ok(emit.context.const_struct(&fields, false))
    }
}
