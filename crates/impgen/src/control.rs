//! Bodies, branches, loops, calls, allocations.

use super::function::Gen;
use super::{Callee, var_type};
use imp::{Arg, Check, Expr, For, LoopMode, Stmt, Var, VarType};
use ir::facts::FactFlag;
use ir::mem::MemOp;
use ir::name::{FunId, Name, Prov};
use ir::seg::SegOp;
use ir::syntax::{Atom, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::{Space, Type};
use ir::{Mems, PassError, walk};
use prim::PrimType;

impl Gen<'_, '_> {
    /// Emits a body's statements; returns its results. Blocks are released after their last use;
    /// the caller releases the blocks that the results keep alive ([`Gen::release_bound`]).
    pub(crate) fn body(&mut self, body: &Body<Mems>) -> Result<Vec<Atom>, PassError> {
        walk::with_stack(|| {
            let last = self.blocks.last_uses(body);
            for (stm, dead) in body.stms.iter().zip(last) {
                self.stm(stm)?;
                for block in dead {
                    self.release(block)?;
                }
            }
            Ok(body.result.clone())
        })
    }

    /// Releases the blocks that are bound by a body's statements and kept alive by its results.
    pub(crate) fn release_bound(&mut self, body: &Body<Mems>) -> Result<(), PassError> {
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

    fn release(&mut self, block: Name) -> Result<(), PassError> {
        let var = self.var(block)?;
        if self.is_owned(var) {
            self.emit(Stmt::Release(var));
        }
        Ok(())
    }

    pub(crate) fn stm(&mut self, stm: &Stm<Mems>) -> Result<(), PassError> {
        let around = std::mem::replace(&mut self.prov, stm.aux.prov);
        self.exp(stm)?;
        self.prov = around;
        Ok(())
    }

    fn exp(&mut self, stm: &Stm<Mems>) -> Result<(), PassError> {
        match &stm.exp {
            Exp::Basic(op) => match stm.pat.as_slice() {
                [pat] => self.basic(pat, &stm.aux, op),
                _ => Err(PassError::bug("a basic operation does not bind exactly one name")),
            },
            Exp::If { cond, then_body, else_body } => self.branch(&stm.pat, *cond, then_body, else_body),
            Exp::Loop { params, form, body } => {
                let independent = stm.aux.facts.has(FactFlag::Independent);
                self.loop_(&stm.pat, params, *form, body, independent)
            }
            Exp::Apply { fun, args } => self.call(&stm.pat, *fun, args, stm.aux.prov),
            Exp::Op(MemOp::Alloc { bytes, space }) => self.alloc(&stm.pat, stm.aux.prov, *bytes, *space),
            Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs, lambda })) => self.with_acc(&stm.pat, inputs, lambda),
            Exp::Op(MemOp::Seg(SegOp::Seg(seg))) => self.seg(&stm.pat, &stm.aux, seg),
        }
    }

    fn alloc(&mut self, pat: &[Param<Mems>], prov: Prov, bytes: Atom, space: Space) -> Result<(), PassError> {
        let [pat] = pat else {
            return Err(PassError::bug("an allocation does not bind exactly one name"));
        };
        match space {
            Space::Host | Space::Device if self.enclosing_kernel.is_some() => {
                Err(PassError::bug("a kernel allocates memory"))
            }
            Space::Host | Space::Device => {
                let bytes = self.atom(bytes)?;
                let var = self
                    .bind_owned(pat)
                    .ok_or_else(|| PassError::bug("a name of a block has no variable"))?;
                self.emit_alloc(var, bytes, prov);
                Ok(())
            }
            Space::Registers | Space::Private => {
                let bytes = bytes
                    .constant()
                    .and_then(prim::Scalar::as_i64)
                    .ok_or_else(|| PassError::bug("a block in registers has no constant size"))?;
                let buffer = self
                    .bind_borrowed(pat)
                    .ok_or_else(|| PassError::bug("a name of a block has no variable"))?;
                let count = (bytes as u64).div_ceil(PrimType::I64.size()).max(1);
                self.emit(Stmt::Frame { buffer, elem: PrimType::I64, count });
                Ok(())
            }
            Space::Shared => {
                let slot = self.shared_memory.slots.get(&pat.name).copied();
                let slot = slot.ok_or_else(|| PassError::bug("a shared-memory block has no slot"))?;
                self.set_var(pat.name, slot);
                Ok(())
            }
        }
    }

    fn branch(
        &mut self,
        pat: &[Param<Mems>],
        cond: Atom,
        then_body: &Body<Mems>,
        else_body: &Body<Mems>,
    ) -> Result<(), PassError> {
        let cond = self.atom(cond)?;
        let vars: Vec<Option<Var>> = pat.iter().map(|p| self.bind_owned(p)).collect();
        let then_stmts = self.collect(|g| g.branch_body(pat, &vars, then_body))?;
        let else_stmts = self.collect(|g| g.branch_body(pat, &vars, else_body))?;
        self.emit(Stmt::If(cond, then_stmts, else_stmts));
        Ok(())
    }

    fn branch_body(
        &mut self,
        pat: &[Param<Mems>],
        vars: &[Option<Var>],
        body: &Body<Mems>,
    ) -> Result<(), PassError> {
        let results = self.body(body)?;
        for ((param, var), atom) in pat.iter().zip(vars).zip(results) {
            self.assign_result(param, *var, atom)?;
        }
        self.release_bound(body)
    }

    /// Assigns a result's value to a bound variable.
    pub(crate) fn assign_result(
        &mut self,
        param: &Param<Mems>,
        var: Option<Var>,
        atom: Atom,
    ) -> Result<(), PassError> {
        match (var, &param.ty) {
            (Some(var), Type::Mem(_)) => {
                let from = self.block_var(atom)?;
                self.emit(Stmt::Share(var, from));
            }
            (Some(var), _) => {
                let value = self.atom(atom)?;
                self.emit(Stmt::Set(var, value));
            }
            (None, _) => {}
        }
        Ok(())
    }

    fn loop_(
        &mut self,
        pat: &[Param<Mems>],
        params: &[LoopParam<Mems>],
        form: LoopForm,
        body: &Body<Mems>,
        independent: bool,
    ) -> Result<(), PassError> {
        // All initial values are read before any parameter is set, as they may be results of other
        // loops.
        let mut vars = Vec::with_capacity(params.len());
        for p in params {
            let init = p.init;
            let value = match var_type(&p.param.ty) {
                Some(VarType::Scalar(_) | VarType::Vector(..)) => Some(self.atom(init)?),
                Some(VarType::Buffer(_)) => Some(Expr::Var(self.block_var(init)?)),
                None => None,
            };
            vars.push(value);
        }
        let mut own = Vec::with_capacity(params.len());
        for (p, value) in params.iter().zip(vars) {
            let var = self.bind_owned(&p.param);
            match (var, value, &p.param.ty) {
                (Some(var), Some(Expr::Var(from)), Type::Mem(_)) => {
                    self.emit(Stmt::Share(var, from));
                }
                (Some(var), Some(value), _) => self.emit(Stmt::Set(var, value)),
                _ => {}
            }
            own.push(var);
        }
        match form {
            LoopForm::For { var, ty, bound } => {
                let to = self.atom(bound)?;
                let hint = self.function.names.hint(var).clone();
                let counter = self.scalar(ty, &hint);
                self.set_var(var, counter);
                let stmts = self.collect(|g| g.loop_iteration(params, &own, body))?;
                self.emit(Stmt::For(For {
                    mode: LoopMode::Seq { independent },
                    var: counter,
                    from: Expr::Const(prim::Scalar::zero(ty)),
                    to,
                    body: stmts,
                }));
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
        params: &[LoopParam<Mems>],
        own: &[Option<Var>],
        body: &Body<Mems>,
    ) -> Result<(), PassError> {
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
                    self.emit(Stmt::Set(var, Expr::Var(temp)));
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

    fn call(&mut self, pat: &[Param<Mems>], fun: FunId, args: &[Atom], prov: Prov) -> Result<(), PassError> {
        match self.shared.callees[fun.index()].clone() {
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
                            converted.push(Arg::Scalar(self.atom(arg)?));
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
                self.before_kernel(|g| {
                    let vars = pat.iter().filter_map(|p| g.bind_borrowed(p));
                    let vars: Vec<Var> = vars.collect();
                    for (var, global) in vars.into_iter().zip(globals) {
                        g.emit(Stmt::ReadGlobal(var, global));
                    }
                });
            }
        }
        Ok(())
    }
}
