//! Equality of code up to the names of variables: a hash that ignores variables, and functions
//! whose variables are numbered in order of appearance.

use imp::rename::each_var_mut;
use imp::walk::each_stmt_mut;
use imp::{CheckId, Field, FieldMut, Fields, For, FunId, Function, LoopMode, Stmt, Var, VarInfo, VarType};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Hashes everything but `u32`: variables, and the functions of calls.
#[derive(Default)]
struct Shape(FxHasher);

impl Hasher for Shape {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn write_u8(&mut self, i: u8) {
        self.0.write_u8(i);
    }

    fn write_u32(&mut self, _: u32) {}

    fn write_u64(&mut self, i: u64) {
        self.0.write_u64(i);
    }

    fn write_usize(&mut self, i: usize) {
        self.0.write_usize(i);
    }
}

/// The shape of a list from those of its statements: equal for code that is equal up to the names of
/// variables.
pub(super) fn list_shape(shapes: impl IntoIterator<Item = u64>) -> u64 {
    let mut hasher = FxHasher::default();
    for shape in shapes {
        hasher.write_u64(shape);
    }
    hasher.finish()
}

/// The shape of a statement without its nested statements.
pub(super) fn own_shape(stmt: &Stmt) -> u64 {
    let mut hasher = Shape::default();
    std::mem::discriminant(stmt).hash(&mut hasher);
    match stmt {
        Stmt::If(cond, _, _) => cond.hash(&mut hasher),
        Stmt::While(..) => {}
        Stmt::For(For { mode, var: _, from, to, body: _ }) => {
            std::mem::discriminant(mode).hash(&mut hasher);
            if let LoopMode::Seq { independent } = mode {
                independent.hash(&mut hasher);
            }
            from.hash(&mut hasher);
            to.hash(&mut hasher);
        }
        imp::leaf_stmt!() => stmt.hash(&mut hasher),
    }
    hasher.finish()
}

/// The shape of a statement from its own and those of its nested lists.
pub(super) fn nested_shape(own: u64, first: u64, second: u64) -> u64 {
    let mut hasher = FxHasher::default();
    [own, first, second].hash(&mut hasher);
    hasher.finish()
}

/// Replaces the check whose message or location a statement reports on failure, if there is one.
pub(super) fn replace_check(stmt: &mut Stmt, mut by: impl FnMut(CheckId) -> CheckId) {
    stmt.visit_mut(&mut |field| {
        if let FieldMut::Check(check) = field {
            *check = by(*check);
        }
    });
}

/// Returns true if a statement reports a message or a location on failure.
pub(super) fn has_check(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.visit(&mut |field| found |= matches!(field, Field::Check(_)));
    found
}

/// Numbers the checks of a function in order of appearance; returns their former identities.
pub(super) fn number_checks(function: &mut Function) -> Vec<CheckId> {
    let mut found = Vec::new();
    each_stmt_mut(&mut function.body, &mut |stmt| {
        replace_check(stmt, |check| {
            found.push(check);
            CheckId::new(found.len() - 1)
        });
    });
    found
}

/// The function with its variables numbered in order of appearance and without its name; calls of a
/// function are calls of its representative.
pub(super) fn canonical(mut function: Function, representative: &dyn Fn(FunId) -> FunId) -> Function {
    let mut numbers: Vec<Option<Var>> = vec![None; function.vars.len()];
    let mut order: Vec<Var> = Vec::new();
    let mut renumber = |var: &mut Var| {
        if let Some(number) = numbers.get_mut(var.index()) {
            *var = *number.get_or_insert_with(|| {
                order.push(*var);
                Var::new(order.len() - 1)
            });
        }
    };
    function.params.iter_mut().for_each(&mut renumber);
    function.results.iter_mut().for_each(&mut renumber);
    each_var_mut(&mut function.body, &mut renumber);
    for list in [&mut function.owned, &mut function.distinct] {
        list.iter_mut().for_each(&mut renumber);
        list.sort_unstable();
    }
    let hint: Arc<str> = Arc::from("");
    let ty = |var: &Var| function.vars.get(var.index()).map_or(VarType::HOST, |info| info.ty);
    function.vars = order.iter().map(|var| VarInfo { ty: ty(var), hint: hint.clone() }).collect();
    function.name = hint;
    each_stmt_mut(&mut function.body, &mut |stmt| {
        if let Stmt::Call { fun, .. } = stmt {
            *fun = representative(*fun);
        }
    });
    function
}
