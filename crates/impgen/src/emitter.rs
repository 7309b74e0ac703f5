//! The code of one function while it is generated: variables, lists of statements, the frames that own buffers, and
//! what names of the memory level denote.
//!
//! The emitter knows nothing of schedules: [`Generator`](crate::schedule::Generator) adds one. Its values are
//! [`Operand`]s, which may be used repeatedly.

mod chunks;
mod operands;
mod spans;

use crate::accs::AccTarget;
use crate::mems::{Function, Param};
use crate::nests::NestContext;
use crate::program_tables::ProgramTables;
use crate::{OrBug, ProgramContext, Result};
use imp::build::Operand;
use imp::{Access, Expr, For, LoopMode, MemoryId, Stmt, Var, VarInfo, VarType};
use ir::mem::{Block, Blocks, Lmad, MemAnn};
use ir::name::Name;
use ir::remark::NestWork;
use ir::syntax::Atom;
use ir::types::Type;
use ir::{PassError, Prov};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;

/// An owner of buffers: the function, or one run of a task.
#[derive(Default)]
pub(crate) struct Frame {
    pub(crate) owned: Vec<Var>,
    pub(crate) locals: Vec<Var>,
    /// Buffers in which concurrent runs may write the same element.
    pub(crate) racy_buffers: Vec<Var>,
}

/// The memory of an array: its type, block and index function.
pub(crate) type Location = (Type, Name, Lmad);

/// A copy of an array element that is read in place of it.
#[derive(Clone)]
pub(crate) enum HeldRead {
    /// In a tile.
    Tile(Access),
    /// In a variable.
    Register(Var),
}

/// A function being generated.
pub(crate) struct Emitter<'a> {
    pub(crate) function: &'a Function,
    pub(crate) shared: &'a ProgramContext<'a>,
    pub(crate) tables: ProgramTables,
    pub(crate) blocks: Blocks,
    /// The write targets of accumulators, by token.
    pub(crate) accs: FxHashMap<Name, Rc<AccTarget>>,
    /// Scalars that are array elements, with the copies that hold them.
    pub(crate) held_reads: FxHashMap<Name, HeldRead>,
    pub(crate) vars: Vec<VarInfo>,
    owned_vars: FxHashSet<Var>,
    var_of: Vec<Option<Var>>,
    location_of: Vec<Option<Location>>,
    pub(crate) lists: Vec<Vec<Stmt>>,
    pub(crate) frames: Vec<Frame>,
    /// The provenance of the current statement.
    pub(crate) prov: Prov,
    /// The counters of loops with their provenance.
    pub(crate) counters: Vec<(Var, Prov)>,
    /// The context of parallel nests, if their work is needed.
    pub(crate) nests: Option<Rc<NestContext>>,
    /// The work of nests with their provenance, for optimisation remarks.
    pub(crate) nest_works: Vec<(NestWork, Prov)>,
}

impl<'a> Emitter<'a> {
    /// The code of a function, so far empty.
    pub(crate) fn new(function: &'a Function, shared: &'a ProgramContext<'a>) -> Self {
        let n = function.names.len();
        Self {
            function,
            shared,
            tables: ProgramTables::default(),
            blocks: Blocks::new(function),
            accs: FxHashMap::default(),
            held_reads: FxHashMap::default(),
            vars: Vec::new(),
            owned_vars: FxHashSet::default(),
            var_of: vec![None; n],
            location_of: vec![None; n],
            lists: vec![Vec::new()],
            frames: vec![Frame::default()],
            prov: Prov::NONE,
            counters: Vec::new(),
            nests: None,
            nest_works: Vec::new(),
        }
    }

    // --- Variables -------------------------------------------------------

    pub(crate) fn new_var(&mut self, ty: VarType, hint: &str) -> Var {
        self.vars.push(VarInfo { ty, hint: Arc::from(hint) });
        Var::new(self.vars.len() - 1)
    }

    /// Returns a fresh scalar variable of the innermost frame.
    pub(crate) fn scalar(&mut self, ty: PrimType, hint: &str) -> Var {
        self.value(VarType::Scalar(ty), hint)
    }

    /// Returns a fresh `i64` variable of the innermost frame, for the counter of a loop.
    pub(crate) fn counter(&mut self, hint: &str) -> Var {
        self.scalar(PrimType::I64, hint)
    }

    /// Returns a fresh variable of the innermost frame that owns no buffer.
    pub(crate) fn value(&mut self, ty: VarType, hint: &str) -> Var {
        let var = self.new_var(ty, hint);
        if let Some(frame) = self.frames.last_mut() {
            frame.locals.push(var);
        }
        var
    }

    /// Returns fresh variables with these values.
    pub(crate) fn copied(&mut self, types: &[PrimType], values: &[Var], hint: &str) -> Vec<Var> {
        types
            .iter()
            .zip(values)
            .map(|(&ty, &value)| {
                let copy = self.scalar(ty, hint);
                self.set(copy, value);
                copy
            })
            .collect()
    }

    /// Returns a fresh owned buffer variable of the innermost frame.
    pub(crate) fn owned(&mut self, memory: MemoryId, hint: &str) -> Var {
        let var = self.new_var(VarType::Buffer(memory), hint);
        if let Some(frame) = self.frames.last_mut() {
            frame.owned.push(var);
        }
        self.owned_vars.insert(var);
        var
    }

    /// Allocates an array of constant size in the frame.
    pub(crate) fn frame_array(&mut self, memory: MemoryId, hint: &str, elem: PrimType, count: i64) -> Var {
        let buffer = self.value(VarType::Buffer(memory), hint);
        self.emit(Stmt::Frame { buffer, elem, count: count.unsigned_abs() });
        buffer
    }

    /// Returns a fresh variable with a scalar's value, or with a further reference to a block.
    pub(crate) fn transfer(&mut self, atom: Atom, ty: VarType, hint: &str) -> Result<Var> {
        if let Some(memory) = ty.memory() {
            let from = self.block_var(atom)?;
            let var = self.owned(memory, hint);
            self.emit(Stmt::Share(var, from));
            return Ok(var);
        }
        let value = self.atom(atom)?;
        let var = self.value(ty, hint);
        self.set(var, value);
        Ok(var)
    }

    /// The type of a variable.
    pub(crate) fn type_of(&self, var: Var) -> Option<VarType> {
        self.vars.get(var.index()).map(|info| info.ty)
    }

    /// Returns true if a buffer variable owns a reference, which it has to release.
    pub(crate) fn is_owned(&self, var: Var) -> bool {
        self.owned_vars.contains(&var)
    }

    // --- Names -----------------------------------------------------------

    /// The hint for the variable of a name.
    pub(crate) fn hint(&self, name: Name) -> Arc<str> {
        self.function.names.hint(name).clone()
    }

    /// Binds a name to a variable.
    pub(crate) fn set_var(&mut self, name: Name, var: Var) {
        self.var_of[name.index()] = Some(var);
    }

    /// Binds the names of parameters to variables.
    pub(crate) fn set_vars(&mut self, params: &[Param], vars: impl IntoIterator<Item = Var>) {
        for (param, var) in params.iter().zip(vars) {
            self.set_var(param.name, var);
        }
    }

    /// Binds names among the operands to variables; returns their former bindings.
    pub(crate) fn rebind(&mut self, atoms: &[Atom], vars: &[Var]) -> Vec<(Name, Option<Var>)> {
        let names = atoms.iter().map(|atom| atom.var()).zip(vars);
        names.filter_map(|(name, var)| Some((name?, self.var_of[name?.index()].replace(*var)))).collect()
    }

    /// Restores former bindings.
    pub(crate) fn restore(&mut self, before: Vec<(Name, Option<Var>)>) {
        for (name, var) in before.into_iter().rev() {
            self.var_of[name.index()] = var;
        }
    }

    /// Sets an index name to a value, in a fresh variable.
    pub(crate) fn set_index(&mut self, name: Name, value: impl Into<Expr>) {
        let var = self.bind_index(name);
        self.set(var, value);
    }

    /// Binds an index name to a fresh `i64` variable.
    pub(crate) fn bind_index(&mut self, name: Name) -> Var {
        let hint = self.hint(name);
        let var = self.counter(&hint);
        self.set_var(name, var);
        var
    }

    /// The variable of a bound name.
    pub(crate) fn var(&self, name: Name) -> Result<Var> {
        self.var_of[name.index()].ok_or_else(|| self.missing(name, "variable"))
    }

    /// Returns true if a name already has a variable.
    pub(crate) fn is_bound(&self, name: Name) -> bool {
        self.var_of[name.index()].is_some()
    }

    /// The variable of a block operand.
    pub(crate) fn block_var(&self, atom: Atom) -> Result<Var> {
        self.var(atom.var().or_bug("an operand that is a block is a constant")?)
    }

    /// Records the memory location of an array.
    pub(crate) fn record_location(&mut self, param: &Param) {
        if let MemAnn::In { block: Block::Var(block), lmad } = &param.ann {
            self.location_of[param.name.index()] = Some((param.ty.clone(), *block, lmad.clone()));
        }
    }

    /// The memory of an array.
    pub(crate) fn location(&self, array: Name) -> Result<Location> {
        self.location_of[array.index()].clone().ok_or_else(|| self.missing(array, "memory"))
    }

    fn missing(&self, name: Name, what: &str) -> PassError {
        PassError::bug(format!("{}_{} has no {what}", self.function.names.hint(name), name.0))
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

    /// Emits statements that have been collected.
    pub(crate) fn emit_all(&mut self, stmts: Vec<Stmt>) {
        if let Some(list) = self.lists.last_mut() {
            list.extend(stmts);
        }
    }

    /// Begins a list of statements.
    pub(crate) fn open(&mut self) {
        self.lists.push(Vec::new());
    }

    /// Ends the current list of statements, and returns it.
    pub(crate) fn close(&mut self) -> Vec<Stmt> {
        self.lists.pop().unwrap_or_default()
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, var: Var, value: impl Into<Expr>) {
        self.emit(Stmt::Set(var, value.into()));
    }

    /// Sets variables to values.
    pub(crate) fn set_all(&mut self, vars: &[Var], values: &[Var]) {
        for (&var, &value) in vars.iter().zip(values) {
            self.set(var, value);
        }
    }

    /// An operand with the value of an expression, in a fresh variable if it is neither a constant nor a variable.
    pub(crate) fn bind(&mut self, value: impl Into<Expr>, hint: &str) -> Operand {
        let value = value.into();
        let ty = if let Expr::Const(constant) = value {
            return Operand::Const(constant);
        } else if let Expr::Var(var) = value {
            return Operand::Var(var);
        } else if let Expr::Scalar(op) = &value {
            op.result_type()
        } else if matches!(value, Expr::Any(_)) {
            PrimType::Bool
        } else {
            PrimType::I64
        };
        let var = self.scalar(ty, hint);
        self.set(var, value);
        Operand::Var(var)
    }

    /// Emits a sequential loop with this body.
    pub(crate) fn emit_loop(
        &mut self,
        independent: bool,
        (var, from, to): (Var, Expr, Expr),
        body: Vec<Stmt>,
    ) {
        self.emit(Stmt::For(For { mode: LoopMode::Seq { independent }, var, from, to, body }));
    }

    /// Releases the buffers that are owned.
    pub(crate) fn release_all<'v>(&mut self, buffers: impl IntoIterator<Item = &'v Var>) {
        for &buffer in buffers {
            if self.is_owned(buffer) {
                self.emit(Stmt::Release(buffer));
            }
        }
    }

    // --- Frames ----------------------------------------------------------

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
}
