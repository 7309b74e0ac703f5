//! Memory of bodies, branches, loops and calls.
//!
//! The location of an array that a branch or loop returns is
//!
//! - that of its in-place root, if it has one outside;
//! - its destination; or, for arrays with a preferred dimension order, for small ones inside a
//!   segop and for all in a kernel, a block allocated before the branch or loop. An array that is
//!   not built there is copied there;
//! - otherwise a block that is an additional result, row-major from its start.

use crate::alloc::{Ctx, row_major_in};
use crate::checks_first;
use crate::destinations::{self, Destination};
use ir::mem::{Block, Lmad, MemAnn};
use ir::name::{FunId, Name};
use ir::remark::CopyReason;
use ir::seg::SegOp;
use ir::syntax::{Atom, Aux, Body, Exp, LoopForm, LoopParam, Param, Stm};
use ir::types::Type;
use ir::{Mems, PassError, Segs};
use target::memories::MemoryId;

/// The location of a branch's or loop's result.
enum Home {
    /// It is not an array, or it shares the location of its root.
    SameAsRoot(MemAnn),
    /// It is built in, or copied to, this location.
    Fixed(Destination),
    /// In a block that is an additional result.
    Returned,
}

impl Ctx<'_> {
    /// Assigns memory in a body whose results have these destinations.
    pub(crate) fn body(
        &mut self,
        body: Body<Segs>,
        results: &[Option<Destination>],
    ) -> Result<Body<Mems>, PassError> {
        ir::walk::with_stack(|| {
            let body = checks_first::checks_first(body);
            for (name, dest) in destinations::propagate(self, &body, results.iter().cloned()) {
                // Kernels rely on destinations.
                if self.in_kernel() || self.fuel.take() {
                    self.destinations.insert(name, dest);
                }
            }
            let mut stms = Vec::with_capacity(body.stms.len());
            let outer = std::mem::take(&mut self.capacity.choices);
            for stm in body.stms {
                self.stm(stm, &mut stms)?;
            }
            self.capacity.choices = outer;
            Ok(Body { stms, result: body.result })
        })
    }

    fn stm(&mut self, stm: Stm<Segs>, out: &mut Vec<Stm<Mems>>) -> Result<(), PassError> {
        let Stm { pat, aux, exp } = stm;
        match exp {
            Exp::Basic(op) => self.basic(pat, aux, op, out),
            Exp::If { cond, then_body, else_body } => self.branch(pat, aux, cond, then_body, else_body, out),
            Exp::Loop { params, form, body } => self.repeat(pat, aux, params, form, body, out),
            Exp::Apply { fun, args } => self.call(pat, aux, fun, &args, out),
            Exp::Op(SegOp::Seg(seg)) => self.seg(pat, aux, seg, out),
            Exp::Op(SegOp::WithAcc { inputs, lambda }) => self.with_acc(pat, aux, inputs, lambda, out),
        }
    }

    fn branch(
        &mut self,
        pat: Vec<Param<Segs>>,
        mut aux: Aux,
        cond: Atom,
        then_body: Body<Segs>,
        else_body: Body<Segs>,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        let mut before = std::mem::take(out);
        let mut homes = Vec::with_capacity(pat.len());
        for (at, param) in pat.iter().enumerate() {
            let lmad = (aux.facts.layout(at)).map(|o| Lmad::with_dim_order(o, param.ty.shape()));
            homes.push(self.branch_home(param, lmad, &aux, out)?);
        }
        aux.facts.clear_layouts();
        let first = self.n_unguarded();
        let then_body = self.branch_body(then_body, &homes, aux.prov)?;
        let second = self.n_unguarded();
        let else_body = self.branch_body(else_body, &homes, aux.prov)?;
        let bodies = [&then_body, &else_body];
        let cond = self.guarded(cond, (first, second), bodies, aux.prov, &mut before);
        before.append(out);
        *out = before;
        let pat = self.result_pattern(pat, &homes);
        out.push(Stm { pat, aux, exp: Exp::If { cond, then_body, else_body } });
        Ok(())
    }

    fn branch_home(
        &mut self,
        param: &Param<Segs>,
        ordered: Option<Lmad>,
        aux: &Aux,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<Home, PassError> {
        if !param.ty.is_array() {
            return Ok(Home::SameAsRoot(MemAnn::None));
        }
        let root = self.roots.root(param.name);
        if root != param.name {
            return Ok(Home::SameAsRoot(self.same(root, &param.ty)?));
        }
        if let Some(dest) = self.dest(param) {
            return Ok(Home::Fixed(dest));
        }
        let ordered = ordered.filter(|_| !self.in_kernel());
        let fixed = ordered.is_some() || self.small(&param.ty) || self.in_kernel();
        if !fixed {
            return Ok(Home::Returned);
        }
        let hint = self.names.hint(param.name).clone();
        let block = self.alloc(&hint, &param.ty, aux.prov, out);
        let lmad = ordered.unwrap_or_else(|| self.whole(block, &param.ty));
        Ok(Home::Fixed(Destination { block, lmad }))
    }

    /// Assigns memory in one branch, and moves its results to their locations.
    fn branch_body(
        &mut self,
        body: Body<Segs>,
        homes: &[Home],
        prov: ir::Prov,
    ) -> Result<Body<Mems>, PassError> {
        let destinations: Vec<Option<Destination>> = homes
            .iter()
            .map(|home| match home {
                Home::Fixed(dest) => Some(dest.clone()),
                Home::SameAsRoot(_) | Home::Returned => None,
            })
            .collect();
        let mut body = self.body(body, &destinations)?;
        let mut result = Vec::with_capacity(body.result.len());
        for (atom, home) in std::mem::take(&mut body.result).into_iter().zip(homes) {
            match (home, atom) {
                (Home::Fixed(dest), Atom::Var(array)) => {
                    let at_home =
                        self.copy_unless_at(array, dest, prov, CopyReason::PartOfResult, &mut body.stms)?;
                    result.push(Atom::Var(at_home));
                }
                (Home::Returned, Atom::Var(array)) => {
                    let (array, block) =
                        self.row_major_home(array, prov, CopyReason::ControlFlowMerge, &mut body.stms)?;
                    result.extend([Atom::Var(block), Atom::Var(array)]);
                }
                (Home::SameAsRoot(_), _) | (_, Atom::Const(_)) => result.push(atom),
            }
        }
        body.result = result;
        Ok(body)
    }

    /// Returns the array if it is at the destination already, else a copy there.
    fn copy_unless_at(
        &mut self,
        array: Name,
        dest: &Destination,
        prov: ir::Prov,
        why: CopyReason,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<Name, PassError> {
        let ty = self.type_of(array)?;
        let lmad = dest.lmad.with_extents(ty.shape());
        let (block, from) = self.location_of(array)?;
        if block == dest.block && from == lmad {
            return Ok(array);
        }
        self.copy_to(array, MemAnn::In { block: Block::Var(dest.block), lmad }, prov, why, out)
    }

    fn result_pattern(&mut self, pat: Vec<Param<Segs>>, homes: &[Home]) -> Vec<Param<Mems>> {
        let mut bound = Vec::with_capacity(pat.len());
        for (param, home) in pat.into_iter().zip(homes) {
            let ann = match home {
                Home::SameAsRoot(ann) => ann.with_extents(param.ty.shape()),
                Home::Fixed(dest) => MemAnn::In {
                    block: Block::Var(dest.block),
                    lmad: dest.lmad.with_extents(param.ty.shape()),
                },
                Home::Returned => {
                    let hint = format!("{}_mem", self.names.hint(param.name));
                    let block = self.fresh(&hint, Type::Mem(self.home_memory), MemAnn::None);
                    let ann = row_major_in(block.name, &param.ty);
                    bound.push(block);
                    ann
                }
            };
            bound.push(self.bind(param.name, param.ty, ann));
        }
        bound
    }

    fn repeat(
        &mut self,
        pat: Vec<Param<Segs>>,
        aux: Aux,
        params: Vec<LoopParam<Segs>>,
        form: LoopForm,
        body: Body<Segs>,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        if let LoopForm::For { var, ty, bound: _ } = form {
            self.bind(var, Type::Prim(ty), MemAnn::None);
        }
        let mut homes = Vec::with_capacity(params.len());
        let mut converted = Vec::with_capacity(params.len());
        for LoopParam { param, init, consumed } in params {
            let home = self.loop_home(&param, init, &aux, out)?;
            let (init, ann) = match (&home, init) {
                (Home::SameAsRoot(ann), _) => (init, ann.clone()),
                (Home::Fixed(dest), Atom::Var(array)) => {
                    let array =
                        self.copy_unless_at(array, dest, aux.prov, CopyReason::ControlFlowMerge, out)?;
                    (Atom::Var(array), self.whole_in(dest.block, &param.ty))
                }
                (Home::Returned, Atom::Var(array)) => {
                    let (array, block) =
                        self.row_major_home(array, aux.prov, CopyReason::ControlFlowMerge, out)?;
                    let hint = format!("{}_mem", self.names.hint(param.name));
                    let own = self.fresh(&hint, Type::Mem(self.home_memory), MemAnn::None);
                    let ann = row_major_in(own.name, &param.ty);
                    converted.push(LoopParam { param: own, init: Atom::Var(block), consumed: false });
                    (Atom::Var(array), ann)
                }
                (Home::Fixed(_) | Home::Returned, Atom::Const(_)) => {
                    return Err(PassError::bug("the initial value of an array parameter is a constant"));
                }
            };
            let param = self.bind(param.name, param.ty, ann);
            converted.push(LoopParam { param, init, consumed });
            homes.push(home);
        }
        let mut body = self.body(body, &[])?;
        self.loop_results(&mut body, &homes, aux.prov)?;
        let pat = self.result_pattern(pat, &homes);
        out.push(Stm { pat, aux, exp: Exp::Loop { params: converted, form, body } });
        Ok(())
    }

    fn loop_home(
        &mut self,
        param: &Param<Segs>,
        init: Atom,
        aux: &Aux,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<Home, PassError> {
        let (true, Atom::Var(init)) = (param.ty.is_array(), init) else {
            return Ok(Home::SameAsRoot(MemAnn::None));
        };
        if self.roots.in_place(param.name) {
            return Ok(Home::SameAsRoot(self.same(init, &param.ty)?));
        }
        if self.small(&param.ty) || self.in_kernel() {
            let hint = self.names.hint(param.name).clone();
            let block = self.alloc(&hint, &param.ty, aux.prov, out);
            let lmad = self.whole(block, &param.ty);
            return Ok(Home::Fixed(Destination { block, lmad }));
        }
        Ok(Home::Returned)
    }

    /// Moves an iteration's results to their locations. Arrays in a parameter's fixed block are
    /// copied out first, as the block is overwritten.
    fn loop_results(
        &mut self,
        body: &mut Body<Mems>,
        homes: &[Home],
        prov: ir::Prov,
    ) -> Result<(), PassError> {
        let fixed: Vec<Name> = homes
            .iter()
            .filter_map(|home| match home {
                Home::Fixed(dest) => Some(dest.block),
                Home::SameAsRoot(_) | Home::Returned => None,
            })
            .collect();
        let mut results = std::mem::take(&mut body.result);
        for (atom, home) in results.iter_mut().zip(homes) {
            let (Home::Fixed(dest), Atom::Var(array)) = (home, *atom) else {
                continue;
            };
            let (block, lmad) = self.location_of(array)?;
            let ty = self.type_of(array)?;
            let in_place = block == dest.block && lmad == self.whole(block, &ty);
            if fixed.contains(&block) && !in_place {
                let temp = self.alloc("temp", &ty, prov, &mut body.stms);
                let ann = self.whole_in(temp, &ty);
                let why = CopyReason::LoopValuesOverlap;
                *atom = Atom::Var(self.copy_to(array, ann, prov, why, &mut body.stms)?);
            }
        }
        for (atom, home) in results.into_iter().zip(homes) {
            match (home, atom) {
                (Home::Fixed(dest), Atom::Var(array)) => {
                    let array =
                        self.copy_unless_at(array, dest, prov, CopyReason::ControlFlowMerge, &mut body.stms)?;
                    body.result.push(Atom::Var(array));
                }
                (Home::Returned, Atom::Var(array)) => {
                    let (array, block) =
                        self.row_major_home(array, prov, CopyReason::ControlFlowMerge, &mut body.stms)?;
                    body.result.extend([Atom::Var(block), Atom::Var(array)]);
                }
                (Home::SameAsRoot(_), _) | (_, Atom::Const(_)) => body.result.push(atom),
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        pat: Vec<Param<Segs>>,
        aux: Aux,
        fun: FunId,
        args: &[Atom],
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        let callees = self.callees;
        let callee = callees.get(fun);
        let crosses = callee.home != self.home_memory;
        let mut converted = Vec::with_capacity(args.len());
        for (&arg, &is_array) in args.iter().zip(&callee.arrays) {
            match (arg, is_array) {
                (Atom::Var(array), true) => {
                    let prov = aux.prov;
                    let (mut array, mut block) =
                        self.row_major_home(array, prov, CopyReason::Argument, out)?;
                    if crosses {
                        let ty = self.type_of(array)?;
                        let there = Param { name: self.names.fresh_like(array), ty, ann: () };
                        let name = there.name;
                        let there = (there, callee.home);
                        block = self.transfer(array, there, prov, CopyReason::Argument, out);
                        array = name;
                    }
                    converted.extend([Atom::Var(block), Atom::Var(array)]);
                }
                _ => converted.push(arg),
            }
        }
        let exp = Exp::Apply { fun, args: converted };
        if !crosses {
            let pat = self.returned(pat);
            out.push(Stm { pat, aux, exp });
            return Ok(());
        }
        self.call_across(pat, aux, exp, callee.home, out)
    }

    /// Appends a call of a function whose arrays are in another memory: its results are
    /// transferred.
    fn call_across(
        &mut self,
        pat: Vec<Param<Segs>>,
        aux: Aux,
        exp: Exp<Mems>,
        memory: MemoryId,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(), PassError> {
        let prov = aux.prov;
        let mut bound = Vec::with_capacity(2 * pat.len());
        let mut arrays = Vec::new();
        for param in pat {
            if !param.ty.is_array() {
                bound.push(self.bind(param.name, param.ty, MemAnn::None));
                continue;
            }
            let hint = self.names.hint(param.name).clone();
            let block = self.fresh(&format!("{hint}_mem"), Type::Mem(memory), MemAnn::None);
            let ann = row_major_in(block.name, &param.ty);
            let array = self.fresh(&hint, param.ty.clone(), ann);
            arrays.push((array.name, param));
            bound.extend([block, array]);
        }
        out.push(Stm { pat: bound, aux, exp });
        for (array, param) in arrays {
            self.transfer(array, (param, self.home_memory), prov, CopyReason::Result, out);
        }
        Ok(())
    }

    /// Binds results that are in blocks of their own, with these blocks.
    pub(crate) fn returned(&mut self, pat: Vec<Param<Segs>>) -> Vec<Param<Mems>> {
        let homes = pat
            .iter()
            .map(|param| if param.ty.is_array() { Home::Returned } else { Home::SameAsRoot(MemAnn::None) });
        let homes: Vec<Home> = homes.collect();
        self.result_pattern(pat, &homes)
    }
}
