//! Reverse mode: histograms of scalars, whose values and indices are arrays ([`crate::normalise`]).
//!
//! | operator | adjoint of a value |
//! |---|---|
//! | sum (also of rows) | that of its bin |
//! | minimum, maximum | that of its bin, if it is the first value that equals the result |
//! | product | that of its bin, times the product of the bin's other values |
//! | other | that of the operator, in the order of values, for the adjoint after it ([`super::bin_chunks`]) |

use super::reduce_special::scalar_operator;
use crate::state::{Ad, Result, zero};
use ir::Name;
use ir::soac::{HistOp, Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Exp, Lambda, Param, Stm};
use ir::types::{Dim, Shape, Type};
use prim::{BinClass, BinOp, CmpOp, PrimType, ScalarOp};

/// A histogram with arrays of indices and values.
pub(super) struct Histogram<'a> {
    pub width: Dim,
    /// One array for each dimension.
    pub indices: &'a [Name],
    pub values: &'a [Name],
    pub op: &'a HistOp<Soacs>,
    pub results: Vec<Name>,
    pub adjoints: Vec<Atom>,
}

impl Ad<'_> {
    pub(super) fn reverse_hist(
        &mut self,
        (width, inputs, _, ops): (Dim, &[Name], &Lambda<Soacs>, &[HistOp<Soacs>]),
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> Result {
        let [op] = ops else {
            return Err(ir::PassError::bug("histograms were not split before differentiation"));
        };
        let (indices, values) = inputs.split_at(op.shape.len());
        let mut whole = Vec::new();
        for (param, adjoint) in pat.iter().zip(adjoints) {
            whole.push(self.or_zero(*adjoint, &param.ty));
        }
        let results = pat.iter().map(|param| param.name).collect();
        let h = Histogram { width, indices, values, op, results, adjoints: whole };
        if is_sum(&op.op.op) {
            for (at, adjoint) in h.adjoints.iter().enumerate() {
                let adjoint = self.name_of(*adjoint);
                let own = self.of_bins(&h, adjoint, &op.op.op.ret[at]);
                self.add(values[at].into(), own.into());
                self.add(op.destinations[at].into(), adjoint.into());
            }
            return Ok(());
        }
        match scalar_operator(&op.op) {
            Some((bin, ty)) if matches!(bin.class(), BinClass::Min(_) | BinClass::Max(_)) => {
                self.extremum_hist(&h, ty)
            }
            Some((bin, ty))
                if matches!(bin.class(), BinClass::Product)
                    && ty.is_float()
                    && !self.calls.options.is_repeated =>
            {
                self.product_hist(&h, ty)
            }
            _ => self.general_hist(&h),
        }
    }

    /// For each value, the element of an array at its bin; zero if there is none.
    fn of_bins(&mut self, h: &Histogram<'_>, array: Name, ty: &Type) -> Name {
        self.elements_at(h.width, h.indices, (array, &h.op.shape), ty)
    }

    /// The elements of an array at indices, one array of these for each dimension; zero outside of it.
    pub(super) fn elements_at(
        &mut self,
        width: Dim,
        indices: &[Name],
        (array, shape): (Name, &[Dim]),
        ty: &Type,
    ) -> Name {
        self.map("of_bin", width, indices, |ad, index| {
            let index: Vec<Atom> = index.iter().map(|i| (*i).into()).collect();
            vec![ad.element_or_zero(array, (&index, shape), ty)]
        })[0]
    }

    /// A histogram of other values over the same bins, from the neutral element on.
    pub(super) fn hist_of(&mut self, h: &Histogram<'_>, values: &[Name], op: Operator<Soacs>) -> Vec<Name> {
        self.hist_over((h.width, h.indices), &h.op.shape, values, op)
    }

    /// A histogram of a shape, from the neutral element on.
    pub(super) fn hist_over(
        &mut self,
        (width, indices): (Dim, &[Name]),
        shape: &[Dim],
        values: &[Name],
        op: Operator<Soacs>,
    ) -> Vec<Name> {
        let bins = op.neutral.iter().map(|ne| self.b.replicate("bins", shape, *ne));
        let destinations = bins.collect();
        let mut types = vec![Type::I64; shape.len()];
        types.extend(op.op.ret.iter().cloned());
        let map = self.b.identity_lambda(&types);
        let ops = vec![HistOp { shape: Shape::from_slice(shape), destinations, op }];
        let inputs = indices.iter().chain(values).copied().collect();
        self.b.let_op("bins", Soac::Hist { width, inputs, map, ops })
    }

    /// Maps a function of the elements of arrays over all bins.
    pub(super) fn map_bins(
        &mut self,
        shape: &[Dim],
        arrays: &[Name],
        f: &mut dyn FnMut(&mut Self, &[Name]) -> Result<Vec<Atom>>,
    ) -> Result<Vec<Name>> {
        let results = self.elementwise("bins", shape, arrays, f)?;
        Ok(results.into_iter().map(|own| self.name_of(own)).collect())
    }

    fn extremum_hist(&mut self, h: &Histogram<'_>, ty: PrimType) -> Result {
        let (destination, result, values) = (h.op.destinations[0], h.results[0], h.values[0]);
        let adjoint = self.name_of(h.adjoints[0]);
        let scalar = Type::Prim(ty);
        let size = h.width.atom().unwrap_or(Atom::i64(0));
        let reached = self.of_bins(h, result, &scalar);
        let is = self.b.iota(h.width);
        let positions = self.b.map("position", h.width, &[is, values, reached], |b, x| {
            let equal = b.compare(CmpOp::Eq, ty, x[1].into(), x[2].into());
            vec![b.select(PrimType::I64, equal.into(), x[0].into(), size).into()]
        })[0];
        let least = self.b.binary_lambda(BinOp::SMin, PrimType::I64);
        let neutral = vec![Atom::i64(i64::MAX)];
        let first = self.hist_of(h, &[positions], Operator { op: least, neutral, comm: true })[0];
        // A destination that equals the result comes before all values.
        let parts = self.map_bins(&h.op.shape, &[destination, result, adjoint], &mut |ad, x| {
            let equal = ad.b.compare(CmpOp::Eq, ty, x[0].into(), x[1].into());
            let kept = ad.b.select(ty, equal.into(), x[2].into(), zero(ty));
            let passed = ad.b.select(ty, equal.into(), zero(ty), x[2].into());
            Ok(vec![kept.into(), passed.into()])
        })?;
        let (kept, passed) = (parts[0], parts[1]);
        let own_first = self.of_bins(h, first, &Type::I64);
        let own_adjoint = self.of_bins(h, passed, &scalar);
        let is = self.b.iota(h.width);
        let own = self.b.map("adj", h.width, &[is, own_first, own_adjoint], |b, x| {
            let hit = b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), x[1].into());
            vec![b.select(ty, hit.into(), x[2].into(), zero(ty)).into()]
        })[0];
        self.add(values.into(), own.into());
        self.add(destination.into(), kept.into());
        Ok(())
    }

    fn product_hist(&mut self, h: &Histogram<'_>, ty: PrimType) -> Result {
        let (destination, values) = (h.op.destinations[0], h.values[0]);
        let adjoint = self.name_of(h.adjoints[0]);
        let one = super::basic::one(ty);
        let parts =
            self.b.map("x", h.width, &[values], |b, x| super::reduce_special::zero_parts(b, ty, x[0]));
        let mul = self.b.binary_lambda(BinOp::FMul, ty);
        let product = self.hist_of(h, &parts[..1], Operator { op: mul, neutral: vec![one], comm: true })[0];
        let count = self.addition(&[Type::I64]);
        let zeros = self.hist_of(h, &parts[1..], count)[0];
        // Products and numbers of zeros with the destination.
        let with = self.map_bins(&h.op.shape, &[product, zeros, destination], &mut |ad, x| {
            let own = super::reduce_special::zero_parts(&mut ad.b, ty, x[2]);
            let product = ad.b.binary(BinOp::FMul, ty, x[0].into(), own[0]);
            let zeros = ad.b.binary(BinOp::Add, PrimType::I64, x[1].into(), own[1]);
            Ok(vec![product.into(), zeros.into()])
        })?;
        let (product, zeros) = (with[0], with[1]);
        // The product of all others at a value, times the bin's adjoint.
        let mut of_others = |ad: &mut Self, x: &[Name]| -> Result<Vec<Atom>> {
            let (value, product, zeros, adjoint) = (x[0], x[1], x[2], x[3]);
            let is_zero = ad.b.compare(CmpOp::Eq, ty, value.into(), zero(ty));
            let left = ad.b.select(PrimType::I64, is_zero.into(), Atom::i64(1), Atom::i64(0));
            let others_zero = ad.b.compare(CmpOp::Eq, PrimType::I64, zeros.into(), left.into());
            let quotient = ad.b.binary(BinOp::FDiv, ty, product.into(), value.into());
            let others = ad.b.select(ty, is_zero.into(), product.into(), quotient.into());
            let others = ad.b.select(ty, others_zero.into(), others.into(), zero(ty));
            Ok(vec![ad.b.binary(BinOp::FMul, ty, others.into(), adjoint.into()).into()])
        };
        let kept = self.map_bins(&h.op.shape, &[destination, product, zeros, adjoint], &mut of_others)?;
        let scalar = Type::Prim(ty);
        let own = [
            values,
            self.of_bins(h, product, &scalar),
            self.of_bins(h, zeros, &Type::I64),
            self.of_bins(h, adjoint, &scalar),
        ];
        let own = self.map_bins(&[h.width], &own, &mut of_others)?;
        self.add(values.into(), own[0].into());
        self.add(destination.into(), kept[0].into());
        Ok(())
    }
}

/// Returns true if the operator adds its operands, element by element.
pub(crate) fn is_sum(op: &Lambda<Soacs>) -> bool {
    let n = op.ret.len();
    op.body.result.iter().enumerate().all(|(at, result)| {
        let operands = [at, at + n].map(|at| op.params.get(at).map(|param| param.name));
        let defines =
            |stm: &&Stm<Soacs>| stm.pat.first().is_some_and(|param| *result == Atom::Var(param.name));
        let Some(stm) = op.body.stms.iter().find(defines) else {
            return false;
        };
        let are_operands = |x: Option<Name>, y: Option<Name>| [x, y] == operands || [y, x] == operands;
        if let Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(BinOp::Add | BinOp::FAdd, _, x, y))) = &stm.exp {
            return are_operands(x.var(), y.var());
        }
        let Exp::Op(Soac::Screma(Screma { width: _, inputs, map, scan_reduce })) = &stm.exp else {
            return false;
        };
        let [x, y] = inputs.as_slice() else {
            return false;
        };
        scan_reduce.is_map() && stm.pat.len() == 1 && are_operands(Some(*x), Some(*y)) && is_sum(map)
    })
}
