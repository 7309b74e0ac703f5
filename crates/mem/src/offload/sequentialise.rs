//! Scans and reductions of arrays as sequential loops: the last dimension of such a segop becomes
//! the loop, the others a segmap around it.
//!
//! ```text
//! segscanred tasks (i < n, j < m) (op, ne) { e }
//!   =>  segmap tasks (i < n) {
//!         loop (r = ne, out = scratch [m]) for j < m do
//!           <e>; r' = op r e.1; out' = out with [j] <- e.2
//!       }
//! ```

use ir::scan_reduce::ScanReduce;
use ir::seg::{Decomp, Seg, SegKind, SegOp, SegSpace};
use ir::sequential::ScanReduceLoop;
use ir::syntax::{Atom, Aux, Body, Exp, Function, Param, Stm};
use ir::types::Type;
use ir::typing::TypeEnv;
use ir::walk::{Substitution, VisitMut, free_names, sub_bodies_mut, substitute_body, with_stack};
use ir::{Builder, Name, NameTable, PassError, Segs};

/// Returns true if an expression is a segop that scans or reduces arrays, or passes arrays to a
/// post lambda.
pub(super) fn combines_arrays(exp: &Exp<Segs>) -> bool {
    matches!(exp, Exp::Op(SegOp::Seg(seg))
        if matches!(&seg.kind, SegKind::ScanReduce(scan_reduce) if takes_arrays(scan_reduce)))
}

/// Returns true if an operator or the post lambda takes arrays.
pub(super) fn takes_arrays(scan_reduce: &ScanReduce<Segs>) -> bool {
    let mut params = scan_reduce.lambdas().flat_map(|lambda| &lambda.params);
    params.any(|param| param.ty.is_array())
}

/// Converts scans and reductions of arrays with parallelism around them to loops: a thread can have
/// a private array, but threads cannot combine arrays.
pub(super) fn sequentialise_in_threads(function: &mut Function<Segs>) -> Result<(), PassError> {
    struct Sequentialiser<'a> {
        names: &'a mut NameTable,
        types: TypeEnv,
        failed: Option<PassError>,
    }
    impl VisitMut<Segs> for Sequentialiser<'_> {
        fn body(&mut self, body: &mut Body<Segs>) {
            with_stack(|| {
                let mut stms = Vec::with_capacity(body.stms.len());
                for mut stm in std::mem::take(&mut body.stms) {
                    let several = matches!(&stm.exp, Exp::Op(SegOp::Seg(seg))
                        if seg.space.dims.len() > 1 && !seg.ret.iter().any(is_acc));
                    if several && combines_arrays(&stm.exp) {
                        match sequentialise(stm, self.names, &mut self.types) {
                            Ok(made) => stms.extend(made),
                            Err(error) => self.failed = Some(error),
                        }
                        continue;
                    }
                    if !matches!(stm.exp, Exp::Op(_)) {
                        sub_bodies_mut(&mut stm.exp, |body| self.body(body));
                    }
                    stms.push(stm);
                }
                body.stms = stms;
            });
        }
    }
    let mut pass =
        Sequentialiser { types: TypeEnv::of_function(function), names: &mut function.names, failed: None };
    pass.body(&mut function.body);
    pass.failed.map_or(Ok(()), Err)
}

/// Converts a segop that scans or reduces arrays to statements with a loop.
///
/// # Errors
/// Fails for other segops.
pub(super) fn sequentialise(
    stm: Stm<Segs>,
    names: &mut NameTable,
    types: &mut TypeEnv,
) -> Result<Vec<Stm<Segs>>, PassError> {
    let Stm { pat, aux, exp } = stm;
    let Exp::Op(SegOp::Seg(Seg { level, mut space, kind, body, ret, decomp, identity_predicate: _ })) = exp
    else {
        return Err(PassError::bug("a statement made sequential is not a segop"));
    };
    let SegKind::ScanReduce(scan_reduce) = kind else {
        return Err(PassError::bug("a segop made sequential is neither a scan nor a reduction"));
    };
    let last = space.dims.pop();
    let Some((index, width, bound)) = last.and_then(|(index, width)| Some((index, width, width.atom()?)))
    else {
        return Err(PassError::bug("an index space has no last dimension"));
    };
    let mut b: Builder<'_, Segs> = Builder::new(names, types);
    b.prov = aux.prov;
    let (row, accs) = (scan_reduce.element_types(&ret), accumulators(&body, &ret, &b));
    let reduced: Vec<Type> = scan_reduce.reduced_types().cloned().collect();
    let own = ScanReduceLoop { width, bound, index: Some(index), scan_reduce, ret, accs: accs.clone() };
    let iteration = |b: &mut Builder<'_, Segs>, _, now: &[Name]| {
        let mut body = body;
        let threaded: Substitution =
            accs.iter().copied().zip(now.iter().map(|acc| Atom::Var(*acc))).collect();
        substitute_body(&mut body, &threaded);
        b.extend(body.stms);
        body.result
    };
    if space.dims.is_empty() {
        own.emit(&mut b, (pat, aux), iteration)?;
        return Ok(b.take_stms());
    }
    let ret: Vec<Type> = reduced.into_iter().chain(row.iter().map(|ty| ty.array_of(width))).collect();
    let mut done = Ok(());
    let body = b.body(|b| {
        let results: Vec<Param<Segs>> = ret.iter().map(|ty| b.param("folded", ty.clone())).collect();
        let values = results.iter().map(|param| param.name.into()).collect();
        done = own.emit(b, (results, Aux::at(aux.prov)), iteration);
        values
    });
    done?;
    let decomp = Decomp { grain_size: 1, tunable: None, width: 1, accumulators: 1, scan_block: 1, ..decomp };
    let space = SegSpace { lane: None, ..space };
    let seg = Seg { level, space, kind: SegKind::map(), body, ret, decomp, identity_predicate: None };
    b.let_with(pat, aux, Exp::Op(SegOp::Seg(seg)));
    Ok(b.take_stms())
}

fn is_acc(ty: &Type) -> bool {
    matches!(ty, Type::Acc { .. })
}

/// The accumulators from outside of a body that its results are updates of.
fn accumulators(body: &Body<Segs>, ret: &[Type], b: &Builder<'_, Segs>) -> Vec<Name> {
    if !ret.iter().any(is_acc) {
        return Vec::new();
    }
    let free = free_names(body);
    let source = |ty: &Type| free.iter().copied().find(|name| b.types.get(*name) == Some(ty));
    ret.iter().filter(|ty| is_acc(ty)).filter_map(source).collect()
}
