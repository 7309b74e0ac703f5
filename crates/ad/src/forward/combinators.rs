//! Forward mode: combinators.

use crate::state::{Ad, Result};
use ir::Name;
use ir::scan_reduce::ScanReduce;
use ir::soac::{AccInput, HistOp, Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, Aux, Body, Exp, Lambda, Param};
use ir::types::{Dim, Type};

impl Ad<'_> {
    pub(super) fn forward_op(
        &mut self,
        mut pat: Vec<Param<Soacs>>,
        active: Vec<bool>,
        aux: Aux,
        op: Soac,
    ) -> Result {
        let op = match op {
            Soac::Screma(Screma { width, mut inputs, map, scan_reduce }) => {
                if !scan_reduce.is_map() {
                    return self.forward_scan_reduce(pat, &active, &aux, (width, inputs, scan_reduce));
                }
                inputs.extend(self.tangents_of_inputs(&map, &inputs));
                let map = self.forward_lambda(map, &active)?;
                Soac::Screma(Screma { width, inputs, map, scan_reduce })
            }
            Soac::Hist { width, mut inputs, map, ops } => {
                let own: Vec<Name> = self.tangents_of_inputs(&map, &inputs);
                inputs.extend(own);
                let n_indices: usize = ops.iter().map(|op| op.shape.len()).sum();
                let [op] = <[HistOp<Soacs>; 1]>::try_from(ops)
                    .map_err(|_| ir::PassError::bug("histograms were not split before differentiation"))?;
                let mut values = vec![false; n_indices];
                values.extend(&active);
                let map = self.forward_lambda(map, &values)?;
                let HistOp { shape, mut destinations, op } = op;
                let names = destinations.clone();
                for (destination, active) in names.iter().zip(&active) {
                    if *active {
                        let tangent = self.tangent_or_zero((*destination).into());
                        destinations.push(self.name_of(tangent));
                    }
                }
                let op = self.forward_operator(op, &active)?;
                Soac::Hist { width, inputs, map, ops: vec![HistOp { shape, destinations, op }] }
            }
            Soac::WithAcc { inputs, lambda } => {
                return self.forward_with_acc(pat, aux, inputs, lambda);
            }
            Soac::FlatMap { width, mut inputs, lambda } => {
                inputs.extend(self.tangents_of_inputs(&lambda, &inputs));
                let lambda = self.forward_lambda(lambda, &active)?;
                Soac::FlatMap { width, inputs, lambda }
            }
            Soac::Stream { .. } => return Err(self.unsupported("sequential streams")),
            ir::derivative_op!() => {
                return Err(ir::PassError::bug("a derivative within a derivative is left"));
            }
        };
        let tangents = self.tangent_params(&pat);
        pat.extend(tangents);
        self.b.let_with(pat, aux, Exp::Op(op));
        Ok(())
    }

    /// The tangents of the inputs whose rows are active, in the order of a lambda's parameters.
    fn tangents_of_inputs(&mut self, map: &Lambda<Soacs>, inputs: &[Name]) -> Vec<Name> {
        let mut tangents = Vec::new();
        for (param, input) in map.params.iter().zip(inputs) {
            if self.has_tangent(param) {
                let tangent = self.tangent_or_zero((*input).into());
                tangents.push(self.name_of(tangent));
            }
        }
        tangents
    }

    /// One scan or one reduction ([`crate::normalise`]), whose results are all its values. Where tangents
    /// do not depend on values, as in sums, they are scanned or reduced alone.
    fn forward_scan_reduce(
        &mut self,
        mut pat: Vec<Param<Soacs>>,
        active: &[bool],
        aux: &Aux,
        (width, mut inputs, scan_reduce): (Dim, Vec<Name>, ScanReduce<Soacs>),
    ) -> Result {
        let ScanReduce { scans, reduces, post } = scan_reduce;
        let is_scan = reduces.is_empty();
        let (Ok([operator]), None) = (<[Operator<Soacs>; 1]>::try_from([scans, reduces].concat()), post)
        else {
            return Err(ir::PassError::bug("a combinator was not split before differentiation"));
        };
        // The map is the identity on the values.
        let own = inputs.clone();
        for (input, active) in own.iter().zip(active) {
            if *active {
                let tangent = self.tangent_or_zero((*input).into());
                inputs.push(self.name_of(tangent));
            }
        }
        let operator = self.forward_operator(operator, active)?;
        let tangents = self.tangent_params(&pat);
        pat.extend(tangents);
        self.components(&pat, aux, (width, &inputs), &operator, is_scan)
    }

    /// The operator on values and the tangents of some of them.
    fn forward_operator(&mut self, operator: Operator<Soacs>, active: &[bool]) -> Result<Operator<Soacs>> {
        let Operator { op, mut neutral, comm } = operator;
        let k = neutral.len();
        let types = op.ret.clone();
        let Lambda { params, body, mut ret } = op;
        let (x, y) = params.split_at(k);
        let mut all = Vec::new();
        for half in [x, y] {
            all.extend(half.iter().cloned());
            for (param, active) in half.iter().zip(active) {
                if *active {
                    self.active.insert(param.name);
                    all.extend(self.tangent_params(std::slice::from_ref(param)));
                }
            }
        }
        self.mark_body(&body);
        for (ty, active) in types.iter().zip(active) {
            if *active {
                ret.push(ty.clone());
                let zero = self.zero(ty);
                neutral.push(zero);
            }
        }
        let body: Body<Soacs> = self.forward_body(body, active)?;
        Ok(Operator { op: Lambda { params: all, body, ret }, neutral, comm })
    }

    fn forward_with_acc(
        &mut self,
        pat: Vec<Param<Soacs>>,
        aux: Aux,
        inputs: Vec<AccInput<Soacs>>,
        lambda: Lambda<Soacs>,
    ) -> Result {
        // The results of the arrays, by accumulator, then the others.
        let mut rest = pat.clone();
        let mut groups: Vec<Vec<Param<Soacs>>> = Vec::new();
        for input in &inputs {
            let others = rest.split_off(input.arrays.len());
            groups.push(std::mem::replace(&mut rest, others));
        }
        let mut own_inputs = Vec::new();
        for ((input, group), token) in inputs.into_iter().zip(&groups).zip(&lambda.params) {
            let AccInput { shape, mut arrays, op } = input;
            let active = self.active_of(group);
            let names = arrays.clone();
            let mut types = Vec::new();
            for ((array, active), param) in names.iter().zip(&active).zip(group) {
                if *active {
                    let tangent = self.tangent_or_zero((*array).into());
                    arrays.push(self.name_of(tangent));
                    let elem = param.ty.elem().unwrap_or(prim::PrimType::Bool);
                    let dims = param.ty.shape().iter().skip(shape.len()).copied();
                    types.push(Type::array(elem, dims));
                }
            }
            let op = op.map(|op| self.forward_operator(op, &active)).transpose()?;
            self.acc_tangents.insert(token.name, types);
            self.acc_active.insert(token.name, active);
            own_inputs.push(AccInput { shape, arrays, op });
        }
        let n = own_inputs.len();
        let mut active = vec![false; n];
        active.extend(self.active_of(&rest));
        let lambda = self.forward_lambda(lambda, &active)?;
        let mut all = Vec::new();
        for group in &groups {
            all.extend(group.iter().cloned());
            let tangents = self.tangent_params(group);
            all.extend(tangents);
        }
        all.extend(rest.iter().cloned());
        let tangents = self.tangent_params(&rest);
        all.extend(tangents);
        self.at(&aux);
        self.b.let_with(all, aux, Exp::Op(Soac::WithAcc { inputs: own_inputs, lambda }));
        Ok(())
    }

    /// The tangents of some values.
    pub(crate) fn tangent_atoms(&mut self, results: &[Atom]) -> Vec<Atom> {
        results.iter().map(|result| self.tangent_or_zero(*result)).collect()
    }
}
