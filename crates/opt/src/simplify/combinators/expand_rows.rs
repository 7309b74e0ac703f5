//! Expands reductions of a literal's rows to one application of the operator per row.
//!
//! ```text
//! let rows = [xs, ys, zs]                       let a = map2 (+) ne xs
//! let sums = reduce (map2 (+)) ne rows    =>    let b = map2 (+) a ys
//!                                               let sums = map2 (+) b zs
//! ```
//!
//! The maps are fused with each other, and with what makes the rows, which need not be stored in a
//! literal. Operators are chains of maps, so no parallelism over their elements is lost. Rows are
//! combined in the order of a sequential reduction.

use crate::simplify::Simplifier;
use analysis::size;
use ir::Soacs;
use ir::soac::{Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use target::chunks::{UNROLL_ROWS, UNROLL_STATEMENTS};

impl Simplifier<'_, Soacs> {
    /// Replaces a reduction, whose width is rewritten, of the rows of literals. Returns true if it
    /// did.
    pub(super) fn expand_rows(&mut self, pat: &[Param<Soacs>], aux: &Aux, screma: &Screma) -> bool {
        let Screma { width, inputs, map, scan_reduce } = screma;
        let Dim::Const(n @ 1..=UNROLL_ROWS) = *width else {
            return false;
        };
        let only_reduces = scan_reduce.scans.is_empty() && scan_reduce.post.is_none();
        let all_reduced = scan_reduce.n_reduced() == pat.len() && !pat.is_empty();
        let operators = || scan_reduce.operators().map(|it| &it.op);
        if !only_reduces || !all_reduced || !is_identity(map) || !operators().all(is_chain_of_maps) {
            return false;
        }
        let once: usize = operators().map(|op| size::of_body(&op.body)).sum();
        if !usize::try_from(n).is_ok_and(|n| n * once <= UNROLL_STATEMENTS) {
            return false;
        }
        let mut aux = aux.clone();
        let mut columns: Vec<Vec<Atom>> = Vec::new();
        for input in inputs {
            let mut input = *input;
            self.rewrite_name(&mut input, &mut aux.certs);
            let Some(BasicOp::ArrayLit { elems, .. }) = self.known.def(input).map(|def| &def.op) else {
                return false;
            };
            let rows: Vec<_> = elems.iter().filter_map(|elem| elem.var()).collect();
            if !self.known.may_delay_reads(&rows) {
                return false;
            }
            columns.push(elems.clone());
        }
        if !self.rewrite() {
            return false;
        }
        // The literals' elements in the order of the map's results.
        let taken = map
            .body
            .result
            .iter()
            .map(|result| map.params.iter().position(|it| Atom::Var(it.name) == *result));
        let taken: Vec<usize> = taken.flatten().collect();
        let rows = (0..columns.first().map_or(0, Vec::len))
            .map(|i| taken.iter().map(|column| columns[*column][i]).collect())
            .collect::<Vec<Vec<Atom>>>();
        let (mut reduced, mut at) = (Vec::new(), 0);
        for op in scan_reduce.operators() {
            reduced.extend(self.steps(op, &rows, at, &aux).pop().unwrap_or_default());
            at += op.neutral.len();
        }
        for (param, value) in pat.iter().zip(reduced) {
            let op = BasicOp::Atom(value);
            self.use_more(&op);
            self.basic(param.clone(), aux.clone(), op);
        }
        true
    }
}

/// Returns true for a map whose results are its parameters.
fn is_identity(map: &Lambda<Soacs>) -> bool {
    let is_param = |result: &Atom| map.params.iter().any(|param| Atom::Var(param.name) == *result);
    map.body.stms.is_empty() && map.body.result.iter().all(is_param)
}

/// Returns true for an operator on arrays that consists of maps and scalars, and whose array
/// results are those of its maps.
fn is_chain_of_maps(op: &Lambda<Soacs>) -> bool {
    let binds = |stm: &Stm<Soacs>, result: &Atom| stm.pat.iter().any(|it| Atom::Var(it.name) == *result);
    let mut arrays = op.ret.iter().zip(&op.body.result).filter(|(ty, _)| ty.is_array()).peekable();
    arrays.peek().is_some()
        && arrays.all(|(_, result)| op.body.stms.iter().any(|stm| binds(stm, result)))
        && has_only_maps(&op.body)
}

fn has_only_maps(body: &Body<Soacs>) -> bool {
    body.stms.iter().all(|stm| match &stm.exp {
        Exp::Basic(_) => stm.pat.iter().all(|param| param.ty.is_prim() || param.ty == Type::Cert),
        Exp::Op(Soac::Screma(Screma { map, scan_reduce, .. })) => {
            scan_reduce.is_map() && has_only_maps(&map.body)
        }
        Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => false,
    })
}
