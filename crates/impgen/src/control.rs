//! Bodies, branches, loops, calls, allocations.

use super::{Callee, var_type};
use crate::mems::{Body, LoopParam, Param, Stm};
use crate::schedule::{Generator, Schedule};
use crate::{OrBug, Result};
use imp::build::Operand;
use imp::{Arg, Check, Stmt, Var, emit};
use ir::facts::FactFlag;
use ir::mem::MemOp;
use ir::name::{FunId, Name};
use ir::seg::SegOp;
use ir::syntax::{Atom, Exp, LoopForm};
use ir::types::Type;
use ir::{PassError, Prov, walk};
use prim::{PrimType, Scalar};
use target::memories::{Allocation, MemoryId};

impl<S: Schedule> Generator<'_, S> {
    /// Emits a body's statements; returns its results. Blocks are released after their last use;
    /// the caller releases the blocks that the results keep alive ([`Generator::release_bound`]).
    pub(crate) fn body(&mut self, body: &Body) -> Result<Vec<Atom>> {
        walk::with_stack(|| {
            let last = self.blocks.last_uses(body);
            let mark = self.schedule.open();
            for (stm, dead) in body.stms.iter().zip(last) {
                self.stm(stm)?;
                for block in dead {
                    self.release(block)?;
                }
            }
            self.schedule.close(mark);
            Ok(body.result.clone())
        })
    }

    /// One iteration, whose index is already bound: the body, then `f`.
    pub(crate) fn iteration(
        &mut self,
        body: &Body,
        f: impl FnOnce(&mut Self, Vec<Atom>) -> Result,
    ) -> Result {
        let results = self.body(body)?;
        f(self, results)?;
        self.release_bound(body)
    }

    /// Releases the blocks that are bound by a body's statements and kept alive by its results.
    pub(crate) fn release_bound(&mut self, body: &Body) -> Result {
        let mut seen = Vec::new();
        for &atom in &body.result {
            let Some(block) = atom.var().and_then(|name| self.blocks.of(name)) else {
                continue;
            };
            let bound = body.stms.iter().any(|stm| stm.pat.iter().any(|p| p.name == block));
            if bound && !seen.contains(&block) {
                seen.push(block);
                self.release(block)?;
            }
        }
        Ok(())
    }

    fn release(&mut self, block: Name) -> Result {
        let var = self.var(block)?;
        if self.is_owned(var) {
            self.emit(Stmt::Release(var));
        }
        Ok(())
    }

    pub(crate) fn stm(&mut self, stm: &Stm) -> Result {
        self.at(stm.aux.prov, |g| g.exp(stm))
    }

    /// Generates code with a provenance.
    pub(crate) fn at(&mut self, prov: Prov, f: impl FnOnce(&mut Self) -> Result) -> Result {
        let around = std::mem::replace(&mut self.prov, prov);
        let made = f(self);
        self.prov = around;
        made
    }

    fn exp(&mut self, stm: &Stm) -> Result {
        match &stm.exp {
            Exp::Basic(op) => match stm.pat.as_slice() {
                [pat] => self.basic_op(pat, &stm.aux, op),
                _ => Err(PassError::bug("a basic operation does not bind exactly one name")),
            },
            Exp::If { cond, then_body, else_body } => self.branch(&stm.pat, *cond, then_body, else_body),
            Exp::Loop { params, form, body } => {
                let independent = stm.aux.facts.has(FactFlag::Independent);
                self.loop_(&stm.pat, params, *form, body, independent)
            }
            Exp::Apply { fun, args } => self.call(&stm.pat, *fun, args, stm.aux.prov),
            Exp::Op(MemOp::Alloc { bytes, memory }) => {
                self.alloc_block(&stm.pat, stm.aux.prov, *bytes, *memory)
            }
            Exp::Op(MemOp::Transfer { array }) => match stm.pat.as_slice() {
                [pat] => self.copy_from_memory(pat, *array),
                _ => Err(PassError::bug("a transfer does not bind exactly one name")),
            },
            Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs, lambda })) => self.with_acc(&stm.pat, inputs, lambda),
            Exp::Op(MemOp::Seg(SegOp::Seg(seg))) => self.segop(&stm.pat, &stm.aux, seg),
        }
    }

    fn alloc_block(&mut self, pat: &[Param], prov: Prov, bytes: Atom, memory: MemoryId) -> Result {
        let [pat] = pat else {
            return Err(PassError::bug("an allocation does not bind exactly one name"));
        };
        match memory.allocation {
            Allocation::Heap if !self.schedule.is_host() => {
                return Err(PassError::bug("a kernel allocates memory"));
            }
            Allocation::Heap => {
                let bytes = self.atom(bytes)?;
                let var = self.bind_owned(pat).or_bug("a name of a block has no variable")?;
                self.alloc(var, bytes, prov);
            }
            Allocation::Frame => {
                let bytes = bytes.constant().and_then(Scalar::as_i64);
                let bytes = bytes.or_bug("a block in registers has no constant size")?;
                let buffer = self.bind_borrowed(pat).or_bug("a name of a block has no variable")?;
                let count = (bytes as u64).div_ceil(PrimType::I64.size()).max(1);
                self.emit(Stmt::Frame { buffer, elem: PrimType::I64, count });
            }
            // The kernel has bound it to its slot.
            Allocation::Launch if self.is_bound(pat.name) => {}
            Allocation::Launch => return Err(PassError::bug("a shared-memory block has no slot")),
        }
        Ok(())
    }

    fn branch(&mut self, pat: &[Param], cond: Atom, then_body: &Body, else_body: &Body) -> Result {
        let cond = self.atom(cond)?;
        let vars: Vec<Option<Var>> = pat.iter().map(|p| self.bind_owned(p)).collect();
        emit!(if self(cond) {
            self.branch_body(pat, &vars, then_body)?;
        } else {
            self.branch_body(pat, &vars, else_body)?;
        });
        Ok(())
    }

    fn branch_body(&mut self, pat: &[Param], vars: &[Option<Var>], body: &Body) -> Result {
        let results = self.body(body)?;
        for ((param, var), atom) in pat.iter().zip(vars).zip(results) {
            self.assign_result(param, *var, atom)?;
        }
        self.release_bound(body)
    }

    /// Assigns a result's value to a bound variable.
    pub(crate) fn assign_result(&mut self, param: &Param, var: Option<Var>, atom: Atom) -> Result {
        let Some(var) = var else {
            return Ok(());
        };
        if matches!(param.ty, Type::Mem(_)) {
            let from = self.block_var(atom)?;
            self.emit(Stmt::Share(var, from));
        } else {
            let value = self.atom(atom)?;
            self.set(var, value);
        }
        Ok(())
    }

    fn loop_(
        &mut self,
        pat: &[Param],
        params: &[LoopParam],
        form: LoopForm,
        body: &Body,
        independent: bool,
    ) -> Result {
        // All initial values are read before any parameter is set, as they may be results of other
        // loops.
        let mut values = Vec::with_capacity(params.len());
        for p in params {
            values.push(var_type(&p.param.ty).map(|_| self.atom(p.init)).transpose()?);
        }
        let mut own = Vec::with_capacity(params.len());
        for (p, value) in params.iter().zip(values) {
            let var = self.bind_owned(&p.param);
            match (var, value, &p.param.ty) {
                (Some(var), Some(Operand::Var(from)), Type::Mem(_)) => self.emit(Stmt::Share(var, from)),
                (Some(var), Some(value), _) => self.set(var, value),
                _ => {}
            }
            own.push(var);
        }
        match form {
            LoopForm::For { var, ty, bound } => {
                let to = self.atom(bound)?;
                let hint = self.hint(var);
                let counter = self.scalar(ty, &hint);
                self.set_var(var, counter);
                let stmts = self.collect(|g| g.loop_iteration(params, &own, body))?;
                self.emit_loop(independent, (counter, Scalar::zero(ty).into(), to.into()), stmts);
            }
            LoopForm::While { cond } => {
                let cond = self.var(cond)?;
                let stmts = self.collect(|g| g.loop_iteration(params, &own, body))?;
                self.emit(Stmt::While(cond, stmts));
            }
        }
        for (elem, var) in pat.iter().zip(own) {
            self.record_location(elem);
            if let Some(var) = var {
                self.set_var(elem.name, var);
            }
        }
        Ok(())
    }

    /// One iteration, which ends by assigning the next values to the parameters' variables.
    pub(crate) fn loop_iteration(
        &mut self,
        params: &[LoopParam],
        own: &[Option<Var>],
        body: &Body,
    ) -> Result {
        let results = self.body(body)?;
        let names: Vec<Name> = params.iter().map(|p| p.param.name).collect();
        // A result that is an earlier parameter must be read before that is overwritten.
        let tangled = results.iter().enumerate().any(|(k, atom)| {
            atom.var()
                .is_some_and(|name| names.iter().position(|&other| other == name).is_some_and(|at| at < k))
        });
        if tangled {
            let mut temps = Vec::with_capacity(results.len());
            for (p, &atom) in params.iter().zip(&results) {
                temps.push(match var_type(&p.param.ty) {
                    Some(ty) => Some(self.transfer(atom, ty, "next")?),
                    None => None,
                });
            }
            for (var, temp) in own.iter().zip(&temps) {
                let (Some(var), Some(temp)) = (*var, *temp) else {
                    continue;
                };
                if self.is_owned(var) {
                    self.emit(Stmt::Share(var, temp));
                    self.emit(Stmt::Release(temp));
                } else {
                    self.set(var, temp);
                }
            }
        } else {
            for ((p, var), &atom) in params.iter().zip(own).zip(&results) {
                if atom != Atom::Var(p.param.name) {
                    self.assign_result(&p.param, *var, atom)?;
                }
            }
        }
        // Blocks of this iteration that a parameter now shares, or that hold a result, are released
        // by their own variables.
        self.release_bound(body)
    }

    fn call(&mut self, pat: &[Param], fun: FunId, args: &[Atom], prov: Prov) -> Result {
        let shared = self.shared;
        match &shared.callees[fun.index()] {
            Callee::Function => {
                let mut converted = Vec::with_capacity(args.len());
                for &arg in args {
                    match arg {
                        Atom::Var(name) if !self.is_bound(name) => {
                            // An array: its block is an argument of its own.
                            self.location(name)?;
                        }
                        Atom::Var(name) if self.blocks.of(name) == Some(name) => {
                            converted.push(Arg::Buffer(self.var(name)?));
                        }
                        Atom::Var(_) | Atom::Const(_) => {
                            converted.push(Arg::Scalar(self.atom(arg)?.into()));
                        }
                    }
                }
                let results = pat.iter().filter_map(|p| self.bind_owned(p)).collect();
                let location = self.shared.recursive[fun.index()].then(|| {
                    let location = self.source_location(prov);
                    self.tables.check(Check { format: "".into(), location })
                });
                self.emit(Stmt::Call { fun, args: converted, results, location });
            }
            Callee::Constant(globals) => {
                S::on_host(self, |g| {
                    let vars: Vec<Var> = pat.iter().filter_map(|p| g.bind_borrowed(p)).collect();
                    for (var, &global) in vars.into_iter().zip(globals) {
                        g.emit(Stmt::ReadGlobal(var, global));
                    }
                });
            }
        }
        Ok(())
    }
}
