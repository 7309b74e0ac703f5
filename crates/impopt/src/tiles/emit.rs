//! Construction of a tiled nest: new variables, statements, renamed copies of the nest's own.

use imp::build::Operand;
use imp::rename::each_var_mut;
use imp::walk::scalar_type;
use imp::{Access, Expr, For, LoopMode, Stmt, Var, VarInfo, VarType};
use prim::PrimType;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The variables of a copy of statements, by the variables of the original.
pub(super) type Names = FxHashMap<Var, Var>;

/// Code under construction.
pub(super) struct Emit<'v> {
    vars: &'v mut Vec<VarInfo>,
    /// New variables that are not owned.
    pub(super) locals: Vec<Var>,
    /// New owned buffers.
    pub(super) owned: Vec<Var>,
    lists: Vec<Vec<Stmt>>,
}

impl<'v> Emit<'v> {
    pub(super) fn new(vars: &'v mut Vec<VarInfo>) -> Self {
        Self { vars, locals: Vec::new(), owned: Vec::new(), lists: vec![Vec::new()] }
    }

    /// All variables.
    pub(super) fn vars(&self) -> &[VarInfo] {
        self.vars
    }

    /// The statements so far.
    pub(super) fn finish(mut self) -> (Vec<Stmt>, Vec<Var>, Vec<Var>) {
        (self.lists.pop().unwrap_or_default(), self.locals, self.owned)
    }

    pub(super) fn emit(&mut self, stmt: Stmt) {
        if let Some(list) = self.lists.last_mut() {
            list.push(stmt);
        }
    }

    pub(super) fn emit_all(&mut self, stmts: Vec<Stmt>) {
        if let Some(list) = self.lists.last_mut() {
            list.extend(stmts);
        }
    }

    /// Opens a nested list.
    pub(super) fn open(&mut self) {
        self.lists.push(Vec::new());
    }

    /// The statements since it was opened.
    pub(super) fn close(&mut self) -> Vec<Stmt> {
        self.lists.pop().unwrap_or_default()
    }

    pub(super) fn var(&mut self, ty: PrimType, hint: &str) -> Var {
        self.new_var(VarType::Scalar(ty), Arc::from(hint))
    }

    fn new_var(&mut self, ty: VarType, hint: Arc<str>) -> Var {
        let var = Var::new(self.vars.len());
        self.vars.push(VarInfo { ty, hint });
        self.locals.push(var);
        var
    }

    pub(super) fn counter(&mut self, hint: &str) -> Var {
        self.var(PrimType::I64, hint)
    }

    /// A constant, a variable, or a new variable with the value.
    pub(super) fn bind(&mut self, value: Expr, hint: &str) -> Operand {
        if let Expr::Const(constant) = value {
            return Operand::Const(constant);
        }
        if let Expr::Var(var) = value {
            return Operand::Var(var);
        }
        let var = self.var(PrimType::I64, hint);
        self.emit(Stmt::Set(var, value));
        Operand::Var(var)
    }

    pub(super) fn emit_loop(
        &mut self,
        independent: bool,
        (var, from, to): (Var, Expr, Expr),
        body: Vec<Stmt>,
    ) {
        self.emit(Stmt::For(For { mode: LoopMode::Seq { independent }, var, from, to, body }));
    }

    /// The type of a scalar variable.
    pub(super) fn type_of(&self, var: Var) -> PrimType {
        scalar_type(self.vars, var).unwrap_or(PrimType::I64)
    }

    /// A block of elements on the heap.
    pub(super) fn block(&mut self, elem: PrimType, count: Expr, hint: &str) -> Var {
        let var = self.buffer(hint);
        self.emit(Stmt::Alloc(var, count * elem.size() as i64, None));
        var
    }

    /// A new owned buffer.
    pub(super) fn buffer(&mut self, hint: &str) -> Var {
        let var = Var::new(self.vars.len());
        self.vars.push(VarInfo { ty: VarType::HOST, hint: Arc::from(hint) });
        self.owned.push(var);
        var
    }

    /// A new variable like another one, which stands for it in a copy.
    pub(super) fn like(&mut self, var: Var, names: &mut Names) -> Var {
        if let Some(known) = names.get(&var) {
            return *known;
        }
        let VarInfo { ty, hint } = self.vars[var.index()].clone();
        let new = self.new_var(ty, hint);
        names.insert(var, new);
        new
    }

    /// A copy of a statement, with new variables for its results.
    pub(super) fn copy(&mut self, stmt: &Stmt, names: &mut Names) {
        for var in super::reuse::sets(stmt) {
            self.like(var, names);
        }
        let mut copy = [stmt.clone()];
        each_var_mut(&mut copy, &mut |var| {
            if let Some(new) = names.get(var) {
                *var = *new;
            }
        });
        let [copy] = copy;
        self.emit(copy);
    }
}

/// The element of a packed block with an index.
pub(super) fn element(buffer: Var, elem: PrimType, at: impl Into<Expr>) -> Access {
    Access { buffer, elem, offset: at.into(), dims: Vec::new() }
}
