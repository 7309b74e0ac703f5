//! Combinators, and the innermost dimension of segops, as sequential loops.
//!
//! Scans, reductions and mapped results of width `w` become
//!
//! ```text
//! let (reds.., outs.., scan_accs..) =
//!   loop (r.. = neutral.., o.. = scratch.., s.. = neutral..) for i < w do
//!     <iteration i>           -- the values of one iteration
//!     <r' = op r x>           -- each operator
//!     let o' = o with [i] <- element
//!     in (r'.., o'.., s'..)
//! ```
//!
//! so that one loop computes what the fused operation computes, and its arrays are written in
//! place. Accumulators are threaded through the loop. An operator on arrays that is a map updates
//! its values element by element: these are the loop's own, and are updated in place. Other
//! operators return new values in each iteration.
//!
//! Needs: names are bound once. Guarantees: nested operations stay as they are; the caller converts
//! the loop's body for its position.

mod combinators;
mod flat_map;
mod operators;

pub use combinators::{bound, histogram, screma, update_bucket};
pub use flat_map::flat_map;

use self::operators::{apply, starts};
use crate::syntax::{Atom, Aux, BasicOp, Exp, Level, LoopForm, LoopParam, Param};
use crate::types::{Dim, Type};
use crate::{Builder, Name, PassError, ScanReduce};
use prim::PrimType;

/// A loop that computes scans, reductions and mapped results.
pub struct ScanReduceLoop<L: Level> {
    /// The number of rows of arrays of elements.
    pub width: Dim,
    /// The number of iterations; rows from there on have unspecified contents.
    pub bound: Atom,
    /// The index of an iteration; a fresh name if there is none.
    pub index: Option<Name>,
    /// The operators.
    pub scan_reduce: ScanReduce<L>,
    /// The types of an iteration's values.
    pub ret: Vec<Type>,
    /// The accumulators before the loop, in the order of the results.
    pub accs: Vec<Name>,
}

impl<L: Level> ScanReduceLoop<L> {
    /// Appends the loop. `iteration` takes the index and the loop's accumulators, appends the
    /// statements of one iteration, and returns its values.
    ///
    /// # Errors
    /// An accumulator among the results is not in `accs`.
    pub fn emit(
        self,
        b: &mut Builder<'_, L>,
        (mut pat, aux): (Vec<Param<L>>, Aux),
        iteration: impl FnOnce(&mut Builder<'_, L>, Name, &[Name]) -> Vec<Atom>,
    ) -> Result<(), PassError> {
        let Self { width, bound, index, scan_reduce, ret, accs } = self;
        let n_reduced = scan_reduce.n_reduced();
        let elements = scan_reduce.element_types(&ret);
        let n_results = n_reduced + elements.len();
        let types = scan_reduce.values(&ret);
        let mut params: Vec<LoopParam<L>> = starts(b, &scan_reduce.reduces, types.reduced);
        let mut inits = accs.into_iter();
        let mut accs = Vec::new();
        for ty in &elements {
            if let Type::Acc { .. } = ty {
                let param = b.param("acc", ty.clone());
                accs.push(param.name);
                let init = inits.next();
                let init = init.ok_or_else(|| PassError::bug("an accumulator result has no input"))?;
                params.push(LoopParam { param, init: init.into(), consumed: false });
            } else {
                let param = b.param("out", ty.array_of(width));
                let init = scratch(b, &param.ty).into();
                params.push(LoopParam { param, init, consumed: true });
            }
        }
        params.extend(starts(b, &scan_reduce.scans, types.scanned));
        let index = index.unwrap_or_else(|| b.param("i", Type::I64).name);
        let names: Vec<Name> = params.iter().map(|p| p.param.name).collect();
        let body = b.body(|b| {
            let row = Atom::Var(index);
            let values = iteration(b, index, &accs);
            let groups = scan_reduce.values(&values);
            let (reduced, rest) = names.split_at(n_reduced);
            let (outs, scanned) = rest.split_at(elements.len());
            let rows = if scan_reduce.post.is_none() { &outs[..groups.scanned.len()] } else { &[] };
            let (mut result, _) = apply(b, scan_reduce.reduces, (reduced, groups.reduced), (&[], row));
            let (scanned, written) = apply(b, scan_reduce.scans, (scanned, groups.scanned), (rows, row));
            let values = scanned.iter().chain(groups.mapped).copied();
            let values = match scan_reduce.post {
                Some(post) => b.inline(post, values),
                None => values.collect(),
            };
            let written = written.into_iter().chain(std::iter::repeat(None));
            for ((&out, ty), (value, written)) in
                outs.iter().zip(&elements).zip(values.into_iter().zip(written))
            {
                result.push(match written {
                    Some(written) => written,
                    None if matches!(ty, Type::Acc { .. }) => value,
                    None => b.update("out", out, &[row], value).into(),
                });
            }
            result.extend(scanned);
            result
        });
        pat.extend(params[n_results..].iter().map(|p| b.param("last", p.param.ty.clone())));
        // Reduced arrays may alias a value of an operator or an input; a loop's result has to be a
        // fresh array.
        let mut copies = Vec::new();
        for (param, own) in pat[..n_reduced].iter_mut().zip(&params) {
            if param.ty.is_array() && !own.consumed {
                let last = b.param("last", param.ty.clone());
                let copy = BasicOp::Copy(last.name);
                copies.push((std::mem::replace(param, last), copy));
            }
        }
        let form = LoopForm::For { var: index, ty: PrimType::I64, bound };
        b.let_with(pat, aux, Exp::Loop { params, form, body });
        for (param, copy) in copies {
            b.let_pat(vec![param], Exp::Basic(copy));
        }
        Ok(())
    }
}

/// A fresh array of unspecified contents.
fn scratch<L: Level>(b: &mut Builder<'_, L>, ty: &Type) -> Name {
    let elem = ty.elem().unwrap_or(PrimType::Bool);
    b.let_basic("out", BasicOp::Scratch { elem, shape: ty.shape().iter().copied().collect() })
}
