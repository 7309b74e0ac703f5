//! A scatter that writes every element once, in order, becomes the map that computes the written
//! values.
//!
//! ```text
//! withacc ([n] (xs)) \\acc ->                     map n (v <- vs) -> v
//!   map n (i <- iota n, v <- vs, a <- acc) ->  =>
//!     updateacc a (i) (v)
//! ```

use crate::simplify::{Certs, Simplifier};
use ir::scan_reduce::ScanReduce;
use ir::soac::{AccInput, Screma, Soac};
use ir::syntax::{Atom, Aux, BasicOp, Exp, Lambda, Param};
use ir::types::{Dim, Type};
use ir::{Name, Soacs};
use rustc_hash::FxHashSet;

impl Simplifier<'_, Soacs> {
    /// Returns the map that a scatter of all elements is equal to, with the names that it binds.
    pub(crate) fn scatter_of_all(
        &mut self,
        pat: &[Param<Soacs>],
        aux: &Aux,
        inputs: &[AccInput<Soacs>],
        lambda: &Lambda<Soacs>,
    ) -> Option<(Vec<Param<Soacs>>, Soac)> {
        let [AccInput { shape, arrays, op: None }] = inputs else {
            return None;
        };
        let [size] = shape.as_slice() else {
            return None;
        };
        let ([_, acc], [stm], [result, rest @ ..]) =
            (lambda.params.as_slice(), lambda.body.stms.as_slice(), lambda.body.result.as_slice())
        else {
            return None;
        };
        let Exp::Op(Soac::Screma(screma)) = &stm.exp else {
            return None;
        };
        let [bound] = stm.pat.as_slice() else {
            return None;
        };
        let Screma { width, inputs: sources, map, scan_reduce } = screma;
        let (mut width, mut size) = (*width, *size);
        self.rewrite_dim(&mut width);
        self.rewrite_dim(&mut size);
        let inside: FxHashSet<Name> = lambda.params.iter().chain(&stm.pat).map(|param| param.name).collect();
        let outside = |atom: &Atom| atom.var().is_none_or(|name| !inside.contains(&name));
        if width != size
            || *result != Atom::Var(bound.name)
            || !rest.iter().all(outside)
            || !scan_reduce.is_map()
            || !stm.aux.certs.is_empty()
            || !aux.certs.is_empty()
        {
            return None;
        }
        // The map's only result is that of its only update.
        let [Atom::Var(last)] = map.body.result.as_slice() else {
            return None;
        };
        let at = map
            .body
            .stms
            .iter()
            .position(|stm| matches!(stm.pat.as_slice(), [only] if only.name == *last))?;
        let update = &map.body.stms[at];
        let Exp::Basic(BasicOp::UpdateAcc { acc: own, index, values }) = &update.exp else {
            return None;
        };
        let (Atom::Var(index), true) = (*index.first()?, index.len() == 1) else {
            return None;
        };
        let position_of = |name: Name| map.params.iter().position(|param| param.name == name);
        let (counter, input) = (position_of(index)?, position_of(*own)?);
        let certs = &update.aux.certs;
        if sources.get(input) != Some(&acc.name)
            || !certs.is_empty()
            || !self.counts_all(*sources.get(counter)?, width)
            || arrays.len() != values.len()
            || !self.rewrite()
        {
            return None;
        }
        let Type::Acc { elems, .. } = &acc.ty else {
            return None;
        };
        let mut map = map.clone();
        let mut sources = sources.clone();
        map.params.remove(input);
        sources.remove(input);
        map.body.stms.remove(at);
        map.body.result.clone_from(values);
        map.ret.clone_from(elems);
        let map = Screma { width, inputs: sources, map, scan_reduce: ScanReduce::default() };
        Some((pat.get(..arrays.len())?.to_vec(), Soac::Screma(map)))
    }

    /// Returns true if an array is `iota width`.
    fn counts_all(&self, array: Name, width: Dim) -> bool {
        let (mut array, mut certs) = (array, Certs::new());
        self.rewrite_name(&mut array, &mut certs);
        certs.is_empty() && self.known.def(array).is_some_and(|def| def.op.as_indices() == Some(width))
    }
}
