//! Generation state of one function: its variables, the statements being emitted, and the frames
//! that own buffers.

use super::accs::AccTarget;
use super::gpu::{EnclosingCode, SharedMemory, ThreadBlock};
use super::program_tables::ProgramTables;
use super::{ProgramContext, var_type};
use imp::build::{add, mul};
use imp::{
    Access, Check, CheckId, CodePlacement, Expr, For, Function as ImpFunction, LoopMode, Region, Stmt, Var,
    VarInfo, VarType,
};
use ir::fuel::Fuel;
use ir::mem::{Block, Blocks, Lmad, MemAnn};
use ir::name::{Name, SrcLoc};
use ir::poly::Poly;
use ir::remark::RemarkKind;
use ir::syntax::{Atom, Attr, DimIndex, Function, Param};
use ir::types::{Dim, Type};
use ir::{Context, Mems, PassError, Prov, version};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use target::device::Device;

/// An owner of buffers: the function, or one run of a task.
#[derive(Default)]
pub(crate) struct Frame {
    pub(crate) owned: Vec<Var>,
    pub(crate) locals: Vec<Var>,
    /// Buffers in which concurrent runs may write the same element.
    pub(crate) racy_buffers: Vec<Var>,
}

/// A function being generated.
pub(crate) struct Gen<'a, 'b> {
    pub(crate) function: &'a Function<Mems>,
    pub(crate) shared: &'a ProgramContext<'b>,
    pub(crate) tables: ProgramTables,
    pub(crate) blocks: Blocks,
    /// The write targets of accumulators, by token.
    pub(crate) accs: FxHashMap<Name, Rc<AccTarget>>,
    /// Scalars that are array elements, with the location of their copies in a tile.
    pub(crate) tiled_reads: FxHashMap<Name, Access>,
    /// Scalars that are array elements, with the variables that already hold them.
    pub(crate) register_reads: FxHashMap<Name, Var>,
    /// Fuel for kernels that are more than one thread for each iteration.
    pub(crate) fuel: Fuel,
    vars: Vec<VarInfo>,
    owned_vars: FxHashSet<Var>,
    var_of: Vec<Option<Var>>,
    location_of: Vec<Option<(Type, Name, Lmad)>>,
    pub(crate) lists: Vec<Vec<Stmt>>,
    pub(crate) frames: Vec<Frame>,
    /// The work layout parameters of the device, if the function's segops run on one.
    pub(crate) device: Option<Device>,
    /// The enclosing kernel, if there is one.
    pub(crate) enclosing_kernel: Option<EnclosingCode>,
    /// The threads that run the current code together, if it is run by a thread block of a kernel.
    pub(crate) thread_block: Option<ThreadBlock>,
    /// The shared-memory buffers of the current kernel.
    pub(crate) shared_memory: SharedMemory,
    /// The number of open block-level `withacc`s in which updates may collide.
    pub(crate) colliding_withaccs: usize,
    /// The provenance of the current statement.
    pub(crate) prov: Prov,
    /// The counters of loops with their provenance.
    counters: Vec<(Var, Prov)>,
}

/// Generates a function, and its part of the program's tables.
pub(crate) fn generate(
    function: &Function<Mems>,
    recursive: bool,
    shared: &ProgramContext<'_>,
    context: &mut Context,
) -> Result<(ImpFunction, ProgramTables), PassError> {
    let n = function.names.len();
    let mut g = Gen {
        function,
        shared,
        tables: ProgramTables::default(),
        blocks: Blocks::new(function),
        accs: FxHashMap::default(),
        tiled_reads: FxHashMap::default(),
        register_reads: FxHashMap::default(),
        fuel: std::mem::take(&mut context.fuel),
        vars: Vec::new(),
        owned_vars: FxHashSet::default(),
        var_of: vec![None; n],
        location_of: vec![None; n],
        lists: vec![Vec::new()],
        frames: vec![Frame::default()],
        device: version::stack(function.version.as_ref(), shared.machine)
            .has_device()
            .then_some(shared.device),
        enclosing_kernel: None,
        thread_block: None,
        shared_memory: SharedMemory::default(),
        colliding_withaccs: 0,
        prov: Prov::NONE,
        counters: Vec::new(),
    };
    let mut params = Vec::new();
    for param in &function.params {
        if let Some(var) = g.bind_borrowed(&param.param) {
            params.push(var);
        }
    }
    let results = g.body(&function.body)?;
    let mut result_vars = Vec::new();
    for (atom, result) in results.iter().zip(&function.ret) {
        let Some(ty) = var_type(&result.ty) else {
            continue;
        };
        let var = g.transfer(*atom, ty, "result")?;
        result_vars.push(var);
    }
    context.fuel = std::mem::take(&mut g.fuel);
    let frame = g.frames.pop().unwrap_or_default();
    let body = g.lists.pop().unwrap_or_default();
    let has = |attr| function.attrs.has(&attr);
    let inline = !recursive && !has(Attr::NoInline) && (has(Attr::Inline) || small(&body));
    if context.options.remarks {
        for (var, prov) in g.counters {
            let hint = g.vars.get(var.index()).map_or("?", |info| &*info.hint);
            let counter = Arc::from(format!("{hint}_{}", var.0));
            let spans = function.provs.stack(prov);
            context.remark(&function.name.0, spans, RemarkKind::Loop { counter });
        }
    }
    let made = ImpFunction {
        name: function.name.0.clone(),
        params,
        results: result_vars,
        owned: frame.owned,
        distinct: Vec::new(),
        vars: g.vars,
        body,
        code: if inline { CodePlacement::Inline } else { CodePlacement::OneModule },
        recursive,
    };
    Ok((made, g.tables))
}

/// Returns true if a body is short straight-line code.
fn small(body: &[Stmt]) -> bool {
    body.len() <= 80
        && body.iter().all(|stmt| match stmt {
            Stmt::While(..) | Stmt::For(_) | Stmt::Call { .. } | Stmt::Device(_) => false,
            Stmt::If(_, a, b) => small(a) && small(b),
            imp::element_stmt!() | imp::resource_stmt!() | Stmt::Copy { .. } | Stmt::Check { .. } => true,
        })
}

impl Gen<'_, '_> {
    // --- Variables -------------------------------------------------------

    pub(crate) fn new_var(&mut self, ty: VarType, hint: &str) -> Var {
        self.vars.push(VarInfo { ty, hint: Arc::from(hint) });
        Var::new(self.vars.len() - 1)
    }

    /// Returns a fresh scalar variable of the innermost frame.
    pub(crate) fn scalar(&mut self, ty: PrimType, hint: &str) -> Var {
        self.value(VarType::Scalar(ty), hint)
    }

    /// Returns a fresh scalar or vector variable of the innermost frame.
    pub(crate) fn value(&mut self, ty: VarType, hint: &str) -> Var {
        let var = self.new_var(ty, hint);
        self.local(var);
        var
    }

    /// Returns a fresh owned buffer variable of the innermost frame, in host memory.
    pub(crate) fn owned(&mut self, hint: &str) -> Var {
        self.owned_in(VarType::HOST, hint)
    }

    /// Returns a fresh owned buffer variable of the innermost frame.
    pub(crate) fn owned_in(&mut self, ty: VarType, hint: &str) -> Var {
        let var = self.new_var(ty, hint);
        if let Some(frame) = self.frames.last_mut() {
            frame.owned.push(var);
        }
        self.owned_vars.insert(var);
        var
    }

    /// Returns a fresh borrowed buffer variable of the innermost frame, in host memory.
    pub(crate) fn borrowed(&mut self, hint: &str) -> Var {
        self.value(VarType::HOST, hint)
    }

    fn local(&mut self, var: Var) {
        if let Some(frame) = self.frames.last_mut() {
            frame.locals.push(var);
        }
    }

    /// Binds a name to a variable.
    pub(crate) fn set_var(&mut self, name: Name, var: Var) {
        self.var_of[name.index()] = Some(var);
    }

    /// Runs `generate` with names temporarily bound to other variables; names from outside of the
    /// generated code are allowed, and all former bindings are restored afterwards.
    pub(crate) fn with_vars<R>(
        &mut self,
        atoms: &[Atom],
        vars: &[Var],
        generate: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let names = atoms.iter().map(|atom| match atom {
            Atom::Var(name) => Some(name.index()),
            Atom::Const(_) => None,
        });
        let pairs = names.zip(vars).filter_map(|(name, var)| Some((name?, *var)));
        let before: Vec<(usize, Option<Var>)> =
            pairs.map(|(name, var)| (name, self.var_of[name].replace(var))).collect();
        let result = generate(self);
        for (name, var) in before.into_iter().rev() {
            self.var_of[name] = var;
        }
        result
    }

    /// Records the memory location of an array.
    pub(crate) fn record_location(&mut self, param: &Param<Mems>) {
        if let MemAnn::In { block: Block::Var(block), lmad } = &param.ann {
            self.location_of[param.name.index()] = Some((param.ty.clone(), *block, lmad.clone()));
        }
    }

    /// Binds a scalar or block to a fresh variable (a block to a borrowed one).
    pub(crate) fn bind_borrowed(&mut self, param: &Param<Mems>) -> Option<Var> {
        self.record_location(param);
        let hint = self.function.names.hint(param.name).clone();
        let ty = self.var_type(&param.ty)?;
        let var = self.value(ty, &hint);
        self.set_var(param.name, var);
        Some(var)
    }

    /// Binds a scalar or block to a fresh variable (a block to an owned one).
    pub(crate) fn bind_owned(&mut self, param: &Param<Mems>) -> Option<Var> {
        self.record_location(param);
        let hint = self.function.names.hint(param.name).clone();
        let var = match self.var_type(&param.ty)? {
            ty @ (VarType::Scalar(_) | VarType::Vector(..)) => self.value(ty, &hint),
            ty @ VarType::Buffer(_) => self.owned_in(ty, &hint),
        };
        self.set_var(param.name, var);
        Some(var)
    }

    /// Binds an index name to a fresh `i64` variable.
    pub(crate) fn bind_index(&mut self, name: Name) -> Var {
        let hint = self.function.names.hint(name).clone();
        let var = self.scalar(PrimType::I64, &hint);
        self.set_var(name, var);
        var
    }

    /// The variable of a bound name.
    pub(crate) fn var(&self, name: Name) -> Result<Var, PassError> {
        self.var_of[name.index()].ok_or_else(|| {
            PassError::bug(format!("{}_{} has no variable", self.function.names.hint(name), name.0))
        })
    }

    /// Returns true if a name already has a variable.
    pub(crate) fn is_bound(&self, name: Name) -> bool {
        self.var_of[name.index()].is_some()
    }

    /// Type, block and index function of an array.
    pub(crate) fn location(&self, array: Name) -> Result<(Type, Name, Lmad), PassError> {
        self.location_of[array.index()].clone().ok_or_else(|| {
            PassError::bug(format!("{}_{} has no memory", self.function.names.hint(array), array.0))
        })
    }

    /// Returns a fresh variable with a scalar's value, or with a further reference to a block.
    pub(crate) fn transfer(&mut self, atom: Atom, ty: VarType, hint: &str) -> Result<Var, PassError> {
        match ty {
            VarType::Scalar(_) | VarType::Vector(..) => {
                let value = self.atom(atom)?;
                let var = self.value(ty, hint);
                self.emit(Stmt::Set(var, value));
                Ok(var)
            }
            VarType::Buffer(_) => {
                let from = self.block_var(atom)?;
                let var = self.owned_in(ty, hint);
                self.emit(Stmt::Share(var, from));
                Ok(var)
            }
        }
    }

    /// The type of a variable.
    pub(crate) fn type_of(&self, var: Var) -> Option<VarType> {
        self.vars.get(var.index()).map(|info| info.ty)
    }

    /// Returns true if a buffer variable owns a reference, which it has to release.
    pub(crate) fn is_owned(&self, var: Var) -> bool {
        self.owned_vars.contains(&var)
    }

    /// The variable of a block operand.
    pub(crate) fn block_var(&self, atom: Atom) -> Result<Var, PassError> {
        match atom {
            Atom::Var(name) => self.var(name),
            Atom::Const(_) => Err(PassError::bug("an operand that is a block is a constant")),
        }
    }

    // --- Statements ------------------------------------------------------

    pub(crate) fn emit(&mut self, stmt: Stmt) {
        if let Stmt::For(f) = &stmt {
            self.counters.push((f.var, self.prov));
        }
        if let Some(list) = self.lists.last_mut() {
            list.push(stmt);
        }
    }

    /// Returns the statements that `f` emits.
    pub(crate) fn collect(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<Vec<Stmt>, PassError> {
        self.lists.push(Vec::new());
        let result = f(self);
        let stmts = self.lists.pop().unwrap_or_default();
        result.map(|()| stmts)
    }

    /// Stores an expression in a fresh variable; constants and variables are returned unchanged.
    pub(crate) fn bind_value(&mut self, value: Expr, ty: PrimType, hint: &str) -> Expr {
        if matches!(value, Expr::Const(_) | Expr::Var(_)) {
            return value;
        }
        let var = self.scalar(ty, hint);
        self.emit(Stmt::Set(var, value));
        Expr::Var(var)
    }

    /// Emits a sequential counting loop.
    pub(crate) fn for_seq(
        &mut self,
        hint: &str,
        from: Expr,
        to: Expr,
        independent: bool,
        f: impl FnOnce(&mut Self, Var) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let var = self.scalar(PrimType::I64, hint);
        let body = self.collect(|g| f(g, var))?;
        self.emit(Stmt::For(For { mode: LoopMode::Seq { independent }, var, from, to, body }));
        Ok(())
    }

    /// Returns the statements of a task, and the frame of each run of it.
    pub(crate) fn task(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(Vec<Stmt>, Frame), PassError> {
        self.frames.push(Frame::default());
        let body = self.collect(f);
        let frame = self.frames.pop().unwrap_or_default();
        Ok((body?, frame))
    }

    /// The number of enclosing frames: tasks, plus the function itself.
    pub(crate) fn frame_depth(&self) -> usize {
        self.frames.len()
    }

    /// Records that a scatter writes into a buffer. `depth` is the frame depth of the `withacc`;
    /// only if that is outside of the current task can runs of the task collide.
    pub(crate) fn record_racy_write(&mut self, depth: usize, buffer: Var) {
        if depth < self.frames.len()
            && let Some(frame) = self.frames.last_mut()
            && !frame.racy_buffers.contains(&buffer)
        {
            frame.racy_buffers.push(buffer);
        }
    }

    /// Returns true if the code runs in a task.
    pub(crate) fn in_task(&self) -> bool {
        self.frames.len() > 1
    }

    // --- Expressions -----------------------------------------------------

    /// An operand's value.
    pub(crate) fn atom(&self, atom: Atom) -> Result<Expr, PassError> {
        match atom {
            Atom::Var(name) => Ok(Expr::Var(self.var(name)?)),
            Atom::Const(value) => Ok(Expr::Const(value)),
        }
    }

    /// A dimension's value.
    pub(crate) fn dim(&self, dim: Dim) -> Result<Expr, PassError> {
        match dim {
            Dim::Const(n) => Ok(Expr::i64(n)),
            Dim::Var(name) => Ok(Expr::Var(self.var(name)?)),
            Dim::Ext(_) => Err(PassError::bug("an existential size is used as an operand")),
        }
    }

    /// A polynomial's value.
    pub(crate) fn poly(&self, poly: &Poly) -> Result<Expr, PassError> {
        let mut sum = Expr::i64(0);
        for (monomial, coefficient) in poly.terms() {
            let mut product = Expr::i64(*coefficient);
            for &name in monomial {
                product = mul(Expr::Var(self.var(name)?), product);
            }
            sum = add(sum, product);
        }
        Ok(sum)
    }

    /// The region of an array with this block and index function.
    pub(crate) fn region(&self, block: Name, lmad: &Lmad) -> Result<Region, PassError> {
        let strides = lmad.dims.iter().map(|dim| self.poly(&dim.stride)).collect::<Result<_, _>>()?;
        Ok(Region { buffer: self.var(block)?, offset: self.poly(&lmad.offset)?, strides })
    }

    /// The element of an array at these indices.
    pub(crate) fn element(
        &self,
        elem: PrimType,
        block: Name,
        lmad: &Lmad,
        indices: Vec<Expr>,
    ) -> Result<Access, PassError> {
        let dims = indices
            .into_iter()
            .zip(&lmad.dims)
            .map(|(index, dim)| Ok((index, self.poly(&dim.stride)?)))
            .collect::<Result<_, PassError>>()?;
        Ok(Access { buffer: self.var(block)?, elem, offset: self.poly(&lmad.offset)?, dims })
    }

    /// The element at an index that fixes every dimension.
    pub(crate) fn fixed(
        &self,
        elem: PrimType,
        block: Name,
        lmad: &Lmad,
        slice: &[DimIndex],
    ) -> Result<Access, PassError> {
        let mut indices = Vec::with_capacity(slice.len());
        for index in slice {
            let DimIndex::Fix(at) = index else {
                return Err(PassError::bug("a scalar is indexed with a slice"));
            };
            indices.push(self.atom(*at)?);
        }
        self.element(elem, block, lmad, indices)
    }

    /// Emits an allocation, with the source location for its failure if it is known.
    pub(crate) fn emit_alloc(&mut self, var: Var, bytes: Expr, prov: Prov) {
        let check = self.span_check(prov);
        self.emit(Stmt::Alloc(var, bytes, check));
    }

    /// The check that carries the source location of a failing allocation, if it is known.
    pub(crate) fn span_check(&mut self, prov: Prov) -> Option<CheckId> {
        let location = self.source_location(prov);
        (!location.is_empty()).then(|| self.tables.check(Check { format: "".into(), location }))
    }

    /// Source locations, innermost first, one per line.
    pub(crate) fn source_location(&self, prov: Prov) -> Arc<str> {
        self.span_list(&self.function.provs.stack(prov)).into()
    }

    /// The source locations of all statements that were fused into one, the last consumer's first,
    /// separated by empty lines.
    pub(crate) fn provenance(&self, prov: Prov) -> Arc<str> {
        let stacks = self.function.provs.stacks(prov);
        let texts: Vec<String> = stacks.iter().rev().map(|stack| self.span_list(stack)).collect();
        texts.join("\n\n").into()
    }

    fn span_list(&self, stack: &[SrcLoc]) -> String {
        let mut text = String::new();
        for loc in stack {
            if !text.is_empty() {
                text.push('\n');
            }
            self.span_text(*loc, &mut text);
        }
        text
    }

    fn span_text(&self, loc: SrcLoc, text: &mut String) {
        let file = self.shared.files.get(loc.file as usize).map_or("?", |file| file);
        let SrcLoc { file: _, line, col, end_line, end_col } = loc;
        let last = end_col.saturating_sub(1).max(1);
        let written = if line == end_line {
            write!(text, "{file}:{line}:{col}-{last}")
        } else {
            write!(text, "{file}:{line}:{col}-{end_line}:{last}")
        };
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
}
