//! Copies of loops, with local variables of their own.

use imp::def_use::DefUse;
use imp::rename::each_var_mut;
use imp::walk::{Use, each_stmt, each_use};
use imp::{Function, Launch, Stmt, Var, VarInfo, VarType};
use prim::PrimType;
use rustc_hash::FxHashMap;

/// The new variable for each old one.
pub(crate) type Renamed = FxHashMap<Var, Var>;

/// The variables of a function whose loops are being copied.
pub(crate) struct LoopCopies {
    pub(crate) vars: Vec<VarInfo>,
    pub(crate) def_use: DefUse,
    /// New variables of the innermost frame.
    fresh: Vec<Var>,
    changed: bool,
}

impl LoopCopies {
    /// Takes a function's variables.
    pub(crate) fn of(function: &mut Function, def_use: DefUse) -> Self {
        Self { vars: std::mem::take(&mut function.vars), def_use, fresh: Vec::new(), changed: false }
    }

    /// Returns the variables to the function, which has its new body. Returns the numbers of its statements.
    pub(crate) fn finish(self, function: &mut Function) -> DefUse {
        function.vars = self.vars;
        if self.changed { DefUse::new(function) } else { self.def_use }
    }

    /// A new scalar variable.
    pub(crate) fn scalar(&mut self, ty: PrimType, hint: &str) -> Var {
        self.add(VarInfo { ty: VarType::Scalar(ty), hint: hint.into() })
    }

    /// A new variable.
    pub(crate) fn add(&mut self, info: VarInfo) -> Var {
        let var = Var::new(self.vars.len());
        self.vars.push(info);
        self.fresh.push(var);
        self.changed = true;
        var
    }

    /// Renames the local variables of a copy of the loop with number `at`.
    pub(crate) fn rename(&mut self, copy: &mut [Stmt], at: u32) -> Renamed {
        let mut found = Vec::new();
        each_local(copy, at, &self.def_use, |var| found.push(var));
        let mut renamed = Renamed::default();
        for var in found {
            renamed.entry(var).or_insert_with(|| self.add(self.vars[var.index()].clone()));
        }
        apply(copy, &renamed);
        renamed
    }

    /// The number of new variables of the innermost frame.
    pub(crate) fn mark(&self) -> usize {
        self.fresh.len()
    }

    /// Gives the new variables since a mark to the frame of tasks.
    pub(crate) fn leave(&mut self, mark: usize, launch: &mut Launch) {
        launch.locals.extend(self.fresh.drain(mark..));
    }
}

/// Calls `f` for each local variable that a copy of the loop with number `at` sets, with repetitions.
pub(crate) fn each_local(copy: &[Stmt], at: u32, def_use: &DefUse, mut f: impl FnMut(Var)) {
    let end = def_use.end(at);
    each_stmt(copy, &mut |stmt| {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets && def_use.is_local(var, at, end) {
                f(var);
            }
        });
    });
}

/// Replaces variables.
pub(crate) fn apply(copy: &mut [Stmt], renamed: &Renamed) {
    each_var_mut(copy, &mut |var| {
        if let Some(new) = renamed.get(var) {
            *var = *new;
        }
    });
}
