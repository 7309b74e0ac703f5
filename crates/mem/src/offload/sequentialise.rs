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
use ir::soac::Operator;
use ir::syntax::{Atom, BasicOp, Body, Exp, Function, Lambda, LoopForm, LoopParam, Param, Stm};
use ir::types::{Dim, Type};
use ir::typing::TypeEnv;
use ir::walk::{Substitution, VisitMut, sub_bodies_mut, substitute_body, with_stack};
use ir::{Builder, Name, NameTable, PassError, Segs};
use prim::PrimType;

/// Returns true if an expression is a segop that scans or reduces arrays, or passes arrays to a
/// post lambda.
pub(super) fn combines_arrays(exp: &Exp<Segs>) -> bool {
    let takes_arrays = |scan_reduce: &ScanReduce<Segs>| {
        let mut params = scan_reduce.lambdas().flat_map(|lambda| &lambda.params);
        params.any(|param| param.ty.is_array())
    };
    matches!(exp, Exp::Op(SegOp::Seg(seg))
        if matches!(&seg.kind, SegKind::ScanReduce(scan_reduce) if takes_arrays(scan_reduce)))
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
/// Fails if the segop also updates accumulators.
pub(super) fn sequentialise(
    stm: Stm<Segs>,
    names: &mut NameTable,
    types: &mut TypeEnv,
) -> Result<Vec<Stm<Segs>>, PassError> {
    let Stm { pat, aux, exp } = stm;
    let Exp::Op(SegOp::Seg(Seg {
        level,
        space: SegSpace { mut dims, lane: _ },
        kind: SegKind::ScanReduce(scan_reduce),
        body,
        ret,
        decomp,
        identity_predicate: _,
    })) = exp
    else {
        return Err(PassError::bug("a segop made sequential is neither a scan nor a reduction"));
    };
    if ret.iter().any(is_acc) {
        let what = "accumulators beside scans or reductions of arrays on the host of a device";
        return Err(PassError::unsupported(what, Vec::new()));
    }
    let last = dims.pop();
    let Some((index, (width, bound))) = last.and_then(|(index, width)| Some((index, (width, width.atom()?))))
    else {
        return Err(PassError::bug("an index space has no last dimension"));
    };
    let last = LastDimension { index, width, bound, body, ret };
    let mut b: Builder<'_, Segs> = Builder::new(names, types);
    b.prov = aux.prov;
    b.certs.clone_from(&aux.certs);
    if dims.is_empty() {
        let results = last.emit_loop(scan_reduce, &mut b);
        for (param, result) in pat.into_iter().zip(results) {
            let exp = Exp::Basic(BasicOp::Atom(Atom::Var(result)));
            b.let_pat(vec![param], exp);
        }
        return Ok(b.take_stms());
    }
    let body = b.body(|b| {
        let results = last.emit_loop(scan_reduce, b);
        results.into_iter().map(Atom::Var).collect()
    });
    let ret = body.result.iter().map(|atom| b.type_of(*atom)).collect();
    let seg = Seg {
        level,
        space: SegSpace { dims, lane: None },
        kind: SegKind::map(),
        body,
        ret,
        decomp: Decomp { grain_size: 1, tunable: None, width: 1, accumulators: 1, scan_block: 1, ..decomp },
        identity_predicate: None,
    };
    b.let_pat(pat, Exp::Op(SegOp::Seg(seg)));
    Ok(b.take_stms())
}

fn is_acc(ty: &Type) -> bool {
    matches!(ty, Type::Acc { .. })
}

/// The iterations of the last dimension.
struct LastDimension {
    index: Name,
    width: Dim,
    /// The width as a loop's bound.
    bound: Atom,
    body: Body<Segs>,
    ret: Vec<Type>,
}

impl LastDimension {
    /// Emits the loop, and returns the reduced values, then the arrays of elements.
    fn emit_loop(self, scan_reduce: ScanReduce<Segs>, b: &mut Builder<'_, Segs>) -> Vec<Name> {
        let Self { index, width, bound, body, ret } = self;
        let elements = scan_reduce.element_types(&ret);
        let mut params: Vec<LoopParam<Segs>> = Vec::new();
        let mut param = |b: &mut Builder<'_, Segs>, hint: &str, ty: Type, init, consumed| {
            let param = b.param(hint, ty);
            params.push(LoopParam { param, init, consumed });
        };
        let starts = |operators: &[Operator<Segs>]| -> Vec<(Type, Atom)> {
            let types = operators.iter().flat_map(|op| op.op.ret.iter().cloned());
            let neutral = operators.iter().flat_map(|op| op.neutral.iter().copied());
            types.zip(neutral).collect()
        };
        for (ty, neutral) in starts(&scan_reduce.reduces) {
            param(b, "acc", ty, neutral, false);
        }
        for ty in &elements {
            let ty = ty.array_of(width);
            if let Type::Array { elem, shape } = ty.clone() {
                let out = b.let_basic("out", BasicOp::Scratch { elem, shape });
                param(b, "out", ty, Atom::Var(out), true);
            }
        }
        for (ty, neutral) in starts(&scan_reduce.scans) {
            param(b, "acc", ty, neutral, false);
        }
        let loop_names: Vec<Name> = params.iter().map(|param| param.param.name).collect();
        let n_reduced = scan_reduce.n_reduced();
        let n_results = n_reduced + elements.len();
        let body = b.body(|b| {
            b.extend(body.stms);
            let (reduced, rest) = loop_names.split_at(n_reduced);
            let (outs, scanned) = rest.split_at(elements.len());
            let values = scan_reduce.values(&body.result);
            let (from, more) = (values.reduced.to_vec(), values.mapped.to_vec());
            let scans = apply(scan_reduce.scans, scanned, values.scanned, b);
            let reduces = apply(scan_reduce.reduces, reduced, &from, b);
            let elements_now: Vec<Atom> = scans.iter().copied().chain(more).collect();
            let written = match scan_reduce.post {
                Some(post) => inline(post, &elements_now, b),
                None => elements_now,
            };
            let mut result = reduces;
            for (out, element) in outs.iter().zip(written) {
                let updated = b.update("out", *out, &[Atom::Var(index)], element);
                result.push(Atom::Var(updated));
            }
            result.extend(scans);
            result
        });
        let form = LoopForm::For { var: index, ty: PrimType::I64, bound };
        let types: Vec<Type> = params.iter().map(|it| it.param.ty.clone()).collect();
        let exp = Exp::Loop { params, form, body };
        let mut results = b.bind_all(types.into_iter().map(|ty| ("folded", ty)), exp);
        results.truncate(n_results);
        // An operator's result may alias its operands.
        let (reduced, _) = results.split_at_mut(n_reduced);
        for result in reduced {
            if b.type_of(Atom::Var(*result)).is_array() {
                *result = b.let_basic("folded", BasicOp::Copy(*result));
            }
        }
        results
    }
}

/// Applies operators to accumulators and values.
fn apply(
    operators: Vec<Operator<Segs>>,
    accs: &[Name],
    values: &[Atom],
    b: &mut Builder<'_, Segs>,
) -> Vec<Atom> {
    let (mut accs, mut values) = (accs.iter(), values.iter());
    let mut results = Vec::new();
    for operator in operators {
        let n = operator.neutral.len();
        let args = (accs.by_ref().take(n).map(|acc| Atom::Var(*acc))).chain(values.by_ref().take(n).copied());
        let args: Vec<Atom> = args.collect();
        results.extend(inline(operator.op, &args, b));
    }
    results
}

/// Emits a lambda's statements for these arguments, and returns its results.
fn inline(lambda: Lambda<Segs>, args: &[Atom], b: &mut Builder<'_, Segs>) -> Vec<Atom> {
    let Lambda { params, mut body, .. } = lambda;
    let names = params.iter().map(|param: &Param<Segs>| param.name);
    let map: Substitution = names.zip(args.iter().copied()).collect();
    substitute_body(&mut body, &map);
    b.extend(body.stms);
    body.result
}
