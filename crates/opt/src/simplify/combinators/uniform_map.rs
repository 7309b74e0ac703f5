//! Maps without inputs: all iterations compute the same values, so the body is computed once.

use crate::simplify::Simplifier;
use ir::scan_reduce::ScanReduce;
use ir::syntax::{Atom, Aux, BasicOp, Body, Lambda, Param};
use ir::types::{Dim, Type};
use ir::{Name, Soacs};
use smallvec::smallvec;

impl Simplifier<'_, Soacs> {
    /// `map (\_ -> x) = replicate n x`, if the map has an iteration. Returns the body to compute
    /// once.
    pub(crate) fn uniform_body(
        &mut self,
        width: Dim,
        inputs: &[Name],
        map: &mut Lambda<Soacs>,
        scan_reduce: &ScanReduce<Soacs>,
    ) -> Option<Body<Soacs>> {
        let arrays = |ty: &Type| ty.elem().is_some();
        let same = inputs.is_empty()
            && scan_reduce.is_map()
            && map.ret.iter().all(arrays)
            && !map.body.stms.is_empty()
            && self.known.positive(width)
            && self.rewrite();
        same.then(|| {
            let none = Body { stms: Vec::new(), result: Vec::new() };
            std::mem::replace(&mut map.body, none)
        })
    }

    /// Binds the names of the pattern to replicates of these values.
    pub(crate) fn replicate_all(&mut self, pat: Vec<Param<Soacs>>, aux: &Aux, width: Dim, values: &[Atom]) {
        for (param, value) in pat.into_iter().zip(values) {
            let op = BasicOp::Replicate { shape: smallvec![width], value: *value };
            self.use_more(&op);
            self.basic(param, aux.clone(), op);
        }
    }
}
