//! Schedules, and the generator: an emitter with a schedule.
//!
//! Bodies, branches, loops, calls, accumulators and copies are the same for every target. A schedule generates segops
//! and fills, and what else differs: accesses to memory that the running code cannot access directly, and effects of
//! code that several threads run.

use crate::accs::AccTarget;
use crate::basic::Replicate;
use crate::copies::{ArrayCopy, copy_stmt};
use crate::emitter::{Emitter, Frame};
use crate::mems::{AccInput, Operator, Param, Seg};
use crate::{OrBug, Result, var_type};
use imp::build::Operand;
use imp::{Access, Expr, MemoryId, Stmt, Var, VarType, emit};
use ir::Prov;
use ir::name::Name;
use ir::syntax::{Atom, Aux};
use ir::types::Type;
use std::ops::{Deref, DerefMut};
use target::memories::Allocation;

/// An array fill: it does the same for every row, in any order.
pub(crate) struct Fill<'a> {
    /// The name of the operation, for display.
    pub(crate) operation: &'a str,
    /// Its provenance.
    pub(crate) prov: Prov,
    /// The number of rows.
    pub(crate) count: Operand,
    /// The number of elements per row, of which about four take a nanosecond.
    pub(crate) row: Operand,
    /// Blocks that have no aliases.
    pub(crate) unaliased: Vec<Name>,
}

/// The execution of segops and fills on a target.
pub(crate) trait Schedule: Sized {
    /// Generates a segop.
    fn seg(g: &mut Generator<'_, Self>, pat: &[Param], aux: &Aux, seg: &Seg) -> Result;

    /// Fills rows: `f` is called with the bounds of a slice of them.
    fn fill<'a>(
        g: &mut Generator<'a, Self>,
        fill: Fill<'_>,
        f: impl FnOnce(&mut Generator<'a, Self>, Operand, Expr) -> Result,
    ) -> Result;

    /// Copies elements between two regions.
    fn copy(g: &mut Generator<'_, Self>, copy: ArrayCopy) -> Result {
        g.emit(copy_stmt(copy.to, copy.from, copy.elem, copy.extents));
        Ok(())
    }

    /// Copies a whole array, in parallel if possible.
    fn copy_array(g: &mut Generator<'_, Self>, copy: ArrayCopy) -> Result {
        Self::copy(g, copy)
    }

    /// Copies row-major constant data to an array.
    fn copy_data(g: &mut Generator<'_, Self>, copy: ArrayCopy) -> Result {
        Self::copy(g, copy)
    }

    /// Loads an element into a variable.
    fn load(g: &mut Generator<'_, Self>, var: Var, access: Access) {
        g.emit(Stmt::Load(var, access));
    }

    /// Stores a value into an element.
    fn store(g: &mut Generator<'_, Self>, access: Access, value: Expr) {
        g.emit(Stmt::Store(access, value));
    }

    /// Repeats a value over the outer dimensions of an array.
    fn replicate(g: &mut Generator<'_, Self>, array: &Replicate<'_>, value: Atom, prov: Prov) -> Result {
        g.replicate_rows(array, value, prov)
    }

    /// Emits code with effects that happen once.
    fn once<'a>(g: &mut Generator<'a, Self>, f: impl FnOnce(&mut Generator<'a, Self>) -> Result) -> Result {
        f(g)
    }

    /// Emits code that belongs to the host.
    fn on_host<'a, R>(g: &mut Generator<'a, Self>, f: impl FnOnce(&mut Generator<'a, Self>) -> R) -> R {
        f(g)
    }

    /// Generates the body of a `withacc`.
    fn with_acc<'a>(
        g: &mut Generator<'a, Self>,
        _inputs: &[AccInput],
        f: impl FnOnce(&mut Generator<'a, Self>) -> Result<Vec<Atom>>,
    ) -> Result<Vec<Atom>> {
        f(g)
    }

    /// Combines values with the elements of an accumulator at an index.
    fn update(
        g: &mut Generator<'_, Self>,
        target: &AccTarget,
        op: &Operator,
        index: (&[Operand], &[Operand]),
        values: &[Atom],
    ) -> Result {
        g.combine_at(target, op, index, values)
    }

    /// Begins a body; returns a mark for its end.
    fn open(&mut self) -> usize {
        0
    }

    /// Ends a body.
    fn close(&mut self, _mark: usize) {}

    /// Returns true if the code runs on the host, not in a kernel.
    fn is_host(&self) -> bool {
        true
    }

    /// Returns true if only one thread updates accumulators that are opened here.
    fn is_single_thread(&self) -> bool {
        true
    }
}

/// A function being generated with a schedule.
pub(crate) struct Generator<'a, S> {
    emitter: Emitter<'a>,
    pub(crate) schedule: S,
}

impl<'a, S> Deref for Generator<'a, S> {
    type Target = Emitter<'a>;

    fn deref(&self) -> &Emitter<'a> {
        &self.emitter
    }
}

impl<S> DerefMut for Generator<'_, S> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.emitter
    }
}

impl<'a, S: Schedule> Generator<'a, S> {
    pub(crate) fn new(emitter: Emitter<'a>, schedule: S) -> Self {
        Self { emitter, schedule }
    }

    /// The emitter with the code so far, and the schedule.
    pub(crate) fn into_parts(self) -> (Emitter<'a>, S) {
        (self.emitter, self.schedule)
    }

    /// Returns the statements that `f` emits.
    pub(crate) fn collect(&mut self, f: impl FnOnce(&mut Self) -> Result) -> Result<Vec<Stmt>> {
        self.open();
        let result = f(self);
        let stmts = self.close();
        result.map(|()| stmts)
    }

    /// Returns the statements of a task, and the frame of each run of it.
    pub(crate) fn task(&mut self, f: impl FnOnce(&mut Self) -> Result) -> Result<(Vec<Stmt>, Frame)> {
        self.frames.push(Frame::default());
        let body = self.collect(f);
        let frame = self.frames.pop().unwrap_or_default();
        Ok((body?, frame))
    }

    /// Runs `f` with names among the operands temporarily bound to other variables.
    pub(crate) fn with_vars<R>(&mut self, atoms: &[Atom], vars: &[Var], f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.rebind(atoms, vars);
        let result = f(self);
        self.restore(before);
        result
    }

    /// Loads an element into a variable.
    pub(crate) fn load(&mut self, var: Var, access: Access) {
        S::load(self, var, access);
    }

    /// Stores a value into an element.
    pub(crate) fn store(&mut self, access: Access, value: impl Into<Expr>) {
        S::store(self, access, value.into());
    }

    /// Fills rows one by one, in a loop with independent iterations.
    pub(crate) fn fill_each(&mut self, fill: Fill<'_>, f: impl FnOnce(&mut Self, Var) -> Result) -> Result {
        S::fill(self, fill, |g, lo, hi| {
            emit!(for i in g.independent(lo..hi) {
                f(g, i)?;
            });
            Ok(())
        })
    }

    /// Nested sequential loops over extents; `f` is called with the indices.
    pub(crate) fn nest(
        &mut self,
        extents: &[Operand],
        independent: bool,
        mut indices: Vec<Operand>,
        f: &mut dyn FnMut(&mut Self, Vec<Operand>) -> Result,
    ) -> Result {
        let Some((&extent, rest)) = extents.split_first() else {
            return f(self, indices);
        };
        let i = self.counter("i");
        indices.push(i.into());
        let body = self.collect(|g| g.nest(rest, independent, indices, f))?;
        self.emit_loop(independent, (i, Expr::i64(0), extent.into()), body);
        Ok(())
    }

    /// Binds a scalar or block to a fresh variable (a block to a borrowed one).
    pub(crate) fn bind_borrowed(&mut self, param: &Param) -> Option<Var> {
        let ty = self.declared(param)?;
        let hint = self.hint(param.name);
        let var = self.value(ty, &hint);
        self.set_var(param.name, var);
        Some(var)
    }

    /// Binds a scalar or block to a fresh variable (a block to an owned one).
    pub(crate) fn bind_owned(&mut self, param: &Param) -> Option<Var> {
        let ty = self.declared(param)?;
        let hint = self.hint(param.name);
        let var = match ty.memory() {
            None => self.value(ty, &hint),
            Some(memory) => self.owned(memory, &hint),
        };
        self.set_var(param.name, var);
        Some(var)
    }

    /// Sets a lambda's scalar parameter to a value, in a fresh variable.
    pub(crate) fn set_param(&mut self, param: &Param, value: impl Into<Expr>) -> Result {
        let var = self.bind_borrowed(param);
        self.set(var.or_bug("a lambda's parameter is not a scalar")?, value);
        Ok(())
    }

    fn declared(&mut self, param: &Param) -> Option<VarType> {
        self.record_location(param);
        if let Type::Mem(memory) = &param.ty
            && memory.allocation == Allocation::Frame
            && !self.schedule.is_host()
        {
            return Some(VarType::Buffer(MemoryId::Private));
        }
        var_type(&param.ty)
    }
}
