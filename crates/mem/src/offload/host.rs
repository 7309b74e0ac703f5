//! Host functions: segops at the host's levels, calls of host clones, and no choices between
//! versions.
//!
//! A machine with nested tasks shares the work inside tasks itself. A choice between versions by a
//! comparison of sizes is therefore replaced by the first version, the more sequential one.

use super::sequentialise;
use ir::forest::{keep_branch, or_not};
use ir::name::FunName;
use ir::seg::{Seg, SegKind, SegOp};
use ir::soac::Operator;
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Stm};
use ir::typing::TypeEnv;
use ir::walk::{VisitMut, sub_bodies, with_stack};
use ir::{Name, NameTable, PassError, Segs};
use prim::Scalar;
use rustc_hash::FxHashSet;
use target::levels::LevelId;

/// The name of the host clone of a function.
pub(super) fn host_clone_name(function: &FunName) -> FunName {
    FunName(format!("{function}.host").into())
}

/// Converts a function to a host function. The id of a called function now stands for its host clone.
///
/// # Errors
/// A segop breaks an invariant of the IR.
pub(super) fn convert(function: &mut Function<Segs>) -> Result<(), PassError> {
    let mut converter = Converter {
        types: TypeEnv::of_function(function),
        names: &mut function.names,
        taken_first: FxHashSet::default(),
        inside: false,
        failed: None,
    };
    converter.body(&mut function.body);
    let failed = converter.failed;
    function.tunables.clear();
    failed.map_or(Ok(()), Err)
}

struct Converter<'a> {
    names: &'a mut NameTable,
    types: TypeEnv,
    /// Conditions that are true where the first of two versions is taken.
    taken_first: FxHashSet<Name>,
    /// True inside a segop.
    inside: bool,
    failed: Option<PassError>,
}

impl VisitMut<Segs> for Converter<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                self.stm(&mut stm);
                if let Exp::If { cond, .. } = &stm.exp
                    && cond.var().is_some_and(|name| self.taken_first.contains(&name))
                {
                    keep_branch(stm, true, &mut stms);
                } else {
                    self.push_sequentialised(stm, &mut stms);
                }
            }
            body.stms = stms;
        });
    }

    fn exp(&mut self, exp: &mut Exp<Segs>) {
        let outer = self.inside;
        if let Exp::Op(SegOp::Seg(seg)) = exp {
            seg.level = level(seg, outer);
            self.inside = true;
        }
        self.walk_exp(exp);
        self.inside = outer;
    }

    fn stm(&mut self, stm: &mut Stm<Segs>) {
        if let (Exp::Basic(op), [param]) = (&mut stm.exp, stm.pat.as_slice()) {
            if let BasicOp::SizeAtLeast { .. } = op {
                *op = BasicOp::Atom(Atom::Const(Scalar::Bool(true)));
                self.taken_first.insert(param.name);
            } else if or_not(op).is_some_and(|(first, _)| self.taken_first.contains(&first)) {
                self.taken_first.insert(param.name);
            }
        }
        self.walk_stm(stm);
    }
}

impl Converter<'_> {
    /// Appends a statement. Scans and reductions of arrays, or with arrays in a post lambda, become
    /// loops.
    fn push_sequentialised(&mut self, stm: Stm<Segs>, out: &mut Vec<Stm<Segs>>) {
        if !sequentialise::combines_arrays(&stm.exp) {
            out.push(stm);
            return;
        }
        match sequentialise::sequentialise(stm, self.names, &mut self.types) {
            Ok(stms) => out.extend(stms),
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }
}

/// The host level of a segop: lanes for a scan or reduction over a row of scalars inside a task,
/// else tasks.
fn level(seg: &Seg<Segs>, inside: bool) -> LevelId {
    let combines_scalars = matches!(&seg.kind, SegKind::ScanReduce(scan_reduce)
        if !scan_reduce.is_map() && scan_reduce.operators().all(Operator::is_scalar));
    let row = combines_scalars && seg.space.dims.len() == 1 && seg.decomp.updates_per_iteration == 0;
    if inside && row && is_plain(&seg.body) { LevelId::Lanes } else { LevelId::Tasks }
}

/// Returns true if a body contains neither calls nor operations.
fn is_plain(body: &Body<Segs>) -> bool {
    with_stack(|| {
        body.stms.iter().all(|stm| {
            let mut plain = !matches!(stm.exp, Exp::Apply { .. } | Exp::Op(_));
            sub_bodies(&stm.exp, |body| plain &= is_plain(body));
            plain
        })
    })
}
