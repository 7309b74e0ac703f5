//! Reverse mode: histograms of scalars, whose values and indices are arrays ([`crate::normalise`]).
//!
//! | operator | adjoint of a value |
//! |---|---|
//! | sum (also of rows) | that of its bin |
//! | minimum, maximum | that of its bin, if it is the first value that equals the result |
//! | product | that of its bin, times the product of the bin's other values |
//! | other | that of the operator between the values before and after it in its bin, in bin order |

use super::reduce::Seeds;
use super::reduce_special::scalar_operator;
use crate::state::{Ad, Result, zero};
use ir::Name;
use ir::build::LoopInit;
use ir::scan_reduce::ScanReduce;
use ir::soac::{HistOp, Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, BasicOp, Exp, Lambda, Param};
use ir::types::{Dim, Shape, Type};
use prim::{BinClass, BinOp, CmpOp, PrimType, ScalarOp};

/// A histogram with arrays of indices and values.
struct Histogram<'a> {
    width: Dim,
    /// One array for each dimension.
    indices: &'a [Name],
    values: &'a [Name],
    op: &'a HistOp<Soacs>,
    results: Vec<Name>,
    adjoints: Vec<Atom>,
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
            whole.push(match adjoint {
                Some(adjoint) => *adjoint,
                None => self.zero(&param.ty),
            });
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
                self.extremum_hist(&h, ty);
            }
            Some((bin, ty)) if matches!(bin.class(), BinClass::Product) && ty.is_float() => {
                self.product_hist(&h, ty);
            }
            _ => self.general_hist(&h)?,
        }
        Ok(())
    }

    /// For each value, the element of an array at its bin; zero if there is none.
    fn of_bins(&mut self, h: &Histogram<'_>, array: Name, ty: &Type) -> Name {
        let shape = h.op.shape.clone();
        let (params, outer) = self.index_params(h);
        let index: Vec<Atom> = params.iter().map(|param| param.name.into()).collect();
        let own = self.element_or_zero(array, (&index, &shape), ty);
        let body = self.b.close(outer, vec![own]);
        let map = Lambda { params, body, ret: vec![ty.clone()] };
        self.b.let_op("of_bin", Soac::Screma(Screma::map(h.width, h.indices.to_vec(), map)))[0]
    }

    fn index_params(&mut self, h: &Histogram<'_>) -> (Vec<Param<Soacs>>, ir::build::Outer<Soacs>) {
        let params = h.indices.iter().map(|_| self.b.param("bin", Type::I64)).collect();
        (params, self.b.open())
    }

    /// A histogram of other values over the same bins, from a value on.
    fn hist_of(&mut self, h: &Histogram<'_>, values: Name, op: Operator<Soacs>) -> Name {
        let neutral = op.neutral[0];
        let ty = op.op.ret.clone();
        let shape = h.op.shape.clone();
        let destination = self.b.replicate("bins", &shape, neutral);
        let mut types = vec![Type::I64; shape.len()];
        types.extend(ty);
        let map = self.b.identity_lambda(&types);
        let ops = vec![HistOp { shape, destinations: vec![destination], op }];
        let inputs = h.indices.iter().copied().chain([values]).collect();
        self.b.let_op("bins", Soac::Hist { width: h.width, inputs, map, ops })[0]
    }

    /// Arrays over all bins, element by element.
    fn map_bins(
        &mut self,
        shape: &[Dim],
        arrays: &[Name],
        f: &mut dyn FnMut(&mut Self, &[Name]) -> Atom,
    ) -> Name {
        let Some((width, inner)) = shape.split_first() else {
            let result = f(self, arrays);
            return self.name_of(result);
        };
        let types = self.b.row_types(arrays);
        let params: Vec<Param<Soacs>> = types.into_iter().map(|ty| self.b.param("x", ty)).collect();
        let rows: Vec<Name> = params.iter().map(|param| param.name).collect();
        let outer = self.b.open();
        let result = self.map_bins(inner, &rows, f);
        let ret = vec![self.b.types.type_of(result).clone()];
        let body = self.b.close(outer, vec![result.into()]);
        let map = Lambda { params, body, ret };
        self.b.let_op("bins", Soac::Screma(Screma::map(*width, arrays.to_vec(), map)))[0]
    }

    fn extremum_hist(&mut self, h: &Histogram<'_>, ty: PrimType) {
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
        let first = self.hist_of(h, positions, Operator { op: least, neutral, comm: true });
        // A destination that equals the result comes before all values.
        let shape = h.op.shape.clone();
        let kept = self.map_bins(&shape, &[destination, result, adjoint], &mut |ad, x| {
            let equal = ad.b.compare(CmpOp::Eq, ty, x[0].into(), x[1].into());
            ad.b.select(ty, equal.into(), x[2].into(), zero(ty)).into()
        });
        let passed = self.map_bins(&shape, &[destination, result, adjoint], &mut |ad, x| {
            let equal = ad.b.compare(CmpOp::Eq, ty, x[0].into(), x[1].into());
            ad.b.select(ty, equal.into(), zero(ty), x[2].into()).into()
        });
        let own_first = self.of_bins(h, first, &Type::I64);
        let own_adjoint = self.of_bins(h, passed, &scalar);
        let is = self.b.iota(h.width);
        let own = self.b.map("adj", h.width, &[is, own_first, own_adjoint], |b, x| {
            let hit = b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), x[1].into());
            vec![b.select(ty, hit.into(), x[2].into(), zero(ty)).into()]
        })[0];
        self.add(values.into(), own.into());
        self.add(destination.into(), kept.into());
    }

    fn product_hist(&mut self, h: &Histogram<'_>, ty: PrimType) {
        let (destination, values) = (h.op.destinations[0], h.values[0]);
        let adjoint = self.name_of(h.adjoints[0]);
        let one = super::basic::one(ty);
        let parts = self.b.map("x", h.width, &[values], |b, x| {
            let is_zero = b.compare(CmpOp::Eq, ty, x[0].into(), zero(ty));
            let other = b.select(ty, is_zero.into(), one, x[0].into());
            let count = b.select(PrimType::I64, is_zero.into(), Atom::i64(1), Atom::i64(0));
            vec![other.into(), count.into()]
        });
        let mul = self.b.binary_lambda(BinOp::FMul, ty);
        let product = self.hist_of(h, parts[0], Operator { op: mul, neutral: vec![one], comm: true });
        let count = self.addition(&[Type::I64]);
        let zeros = self.hist_of(h, parts[1], count);
        let shape = h.op.shape.clone();
        // Products and numbers of zeros with the destination.
        let product = self.map_bins(&shape, &[product, destination], &mut |ad, x| {
            let is_zero = ad.b.compare(CmpOp::Eq, ty, x[1].into(), zero(ty));
            let other = ad.b.select(ty, is_zero.into(), one, x[1].into());
            ad.b.binary(BinOp::FMul, ty, x[0].into(), other.into()).into()
        });
        let zeros = self.map_bins(&shape, &[zeros, destination], &mut |ad, x| {
            let is_zero = ad.b.compare(CmpOp::Eq, ty, x[1].into(), zero(ty));
            let own = ad.b.select(PrimType::I64, is_zero.into(), Atom::i64(1), Atom::i64(0));
            ad.b.binary(BinOp::Add, PrimType::I64, x[0].into(), own.into()).into()
        });
        // The product of all others at a value, times the bin's adjoint.
        let mut of_others = |ad: &mut Self, x: &[Name]| -> Atom {
            let (value, product, zeros, adjoint) = (x[0], x[1], x[2], x[3]);
            let is_zero = ad.b.compare(CmpOp::Eq, ty, value.into(), zero(ty));
            let left = ad.b.select(PrimType::I64, is_zero.into(), Atom::i64(1), Atom::i64(0));
            let others_zero = ad.b.compare(CmpOp::Eq, PrimType::I64, zeros.into(), left.into());
            let quotient = ad.b.binary(BinOp::FDiv, ty, product.into(), value.into());
            let others = ad.b.select(ty, is_zero.into(), product.into(), quotient.into());
            let others = ad.b.select(ty, others_zero.into(), others.into(), zero(ty));
            ad.b.binary(BinOp::FMul, ty, others.into(), adjoint.into()).into()
        };
        let kept = self.map_bins(&shape, &[destination, product, zeros, adjoint], &mut of_others);
        let scalar = Type::Prim(ty);
        let own = [
            values,
            self.of_bins(h, product, &scalar),
            self.of_bins(h, zeros, &Type::I64),
            self.of_bins(h, adjoint, &scalar),
        ];
        let own = self.map_bins(&[h.width], &own, &mut of_others);
        self.add(values.into(), own.into());
        self.add(destination.into(), kept.into());
    }

    /// The position of each value in the order of bins, the start of each bin, and the bin of each
    /// position. Values without a bin come last, in a bin of their own.
    fn bin_order(&mut self, h: &Histogram<'_>) -> BinOrder {
        let shape = h.op.shape.clone();
        let bins = self.b.product(&shape);
        // The bin as one number.
        let params: Vec<Param<Soacs>> = h.indices.iter().map(|_| self.b.param("bin", Type::I64)).collect();
        let outer = self.b.open();
        let mut flat = Atom::i64(0);
        let mut inside: Atom = super::reduce_special::truth(true);
        for (param, dim) in params.iter().zip(&shape) {
            let size = dim.atom().unwrap_or(Atom::i64(0));
            flat = self.b.mul_i64(flat, size);
            flat = self.b.add_i64(flat, param.name.into());
            let own = self.b.compare(CmpOp::ULt, PrimType::I64, param.name.into(), size);
            inside = self.b.binary(BinOp::And, PrimType::Bool, inside, own.into()).into();
        }
        let bin = self.b.select(PrimType::I64, inside, flat, bins);
        let body = self.b.close(outer, vec![bin.into()]);
        let map = Lambda { params, body, ret: vec![Type::I64] };
        let own = Soac::Screma(Screma::map(h.width, h.indices.to_vec(), map));
        let bin_of = self.b.let_op("bin", own)[0];
        let all = self.b.add_i64(bins, Atom::i64(1));
        let all = Dim::from_atom(all).unwrap_or(Dim::Const(0));
        let zeros = self.b.replicate("counts", &[all], Atom::i64(0));
        let ones = self.b.replicate("ones", &[h.width], Atom::i64(1));
        let op = self.addition(&[Type::I64]);
        let map = self.b.identity_lambda(&[Type::I64, Type::I64]);
        let ops = vec![HistOp { shape: Shape::from_slice(&[all]), destinations: vec![zeros], op }];
        let counts =
            self.b.let_op("counts", Soac::Hist { width: h.width, inputs: vec![bin_of, ones], map, ops })[0];
        let op = self.addition(&[Type::I64]);
        let ends = self.b.scan("ends", all, &[counts], op)[0];
        let starts = self.b.map("starts", all, &[ends, counts], |b, x| {
            vec![b.binary(BinOp::Sub, PrimType::I64, x[0].into(), x[1].into()).into()]
        })[0];
        // Stable positions, one after another.
        let size = h.width.atom().unwrap_or(Atom::i64(0));
        let ty = |dim: Dim| Type::array(PrimType::I64, [dim]);
        let copy = self.b.let_basic("next", BasicOp::Copy(starts));
        let position = self.zero(&ty(h.width));
        let order = self.zero(&ty(h.width));
        let init =
            |hint: &str, ty: Type, init: Atom| LoopInit { hint: hint.to_owned(), ty, init, consumed: true };
        let inits = vec![
            init("next", ty(all), copy.into()),
            init("position", ty(h.width), position),
            init("order", ty(h.width), order),
        ];
        let results = self.b.for_loop(PrimType::I64, size, inits, |b, i, params| {
            let bin = b.index("bin", bin_of, &[i.into()]);
            let at = b.index("at", params[0], &[bin.into()]);
            let after = b.add_i64(at.into(), Atom::i64(1));
            let next = b.update("next", params[0], &[bin.into()], after);
            let position = b.update("position", params[1], &[i.into()], at.into());
            let order = b.update("order", params[2], &[at.into()], i.into());
            vec![next.into(), position.into(), order.into()]
        });
        BinOrder { bin_of, starts, position: results[1], order: results[2] }
    }

    fn general_hist(&mut self, h: &Histogram<'_>) -> Result {
        let order = self.bin_order(h);
        let (op, width) = (&h.op.op, h.width);
        let types = op.op.ret.clone();
        let k = types.len();
        let gather = |ad: &mut Self, from: Name, at: Name| -> Name {
            ad.b.map("sorted", width, &[at], |b, x| vec![b.index("x", from, &[x[0].into()]).into()])[0]
        };
        let bins = gather(self, order.bin_of, order.order);
        let sorted: Vec<Name> = h.values.iter().map(|own| gather(self, *own, order.order)).collect();
        for (sorted, own) in sorted.iter().zip(h.values) {
            if self.active.contains(own) {
                self.active.insert(*sorted);
            }
        }
        let starts = order.starts;
        let is = self.b.iota(width);
        let first = self.b.map("first", width, &[is, bins], |b, x| {
            let start = b.index("start", starts, &[x[1].into()]);
            vec![b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), start.into()).into()]
        })[0];
        let size = width.atom().unwrap_or(Atom::i64(0));
        let end = crate::normalise::minus_one(&mut self.b, size);
        let is = self.b.iota(width);
        let last = self.b.map("last", width, &[is], |b, x| {
            let next = b.add_i64(x[0].into(), Atom::i64(1));
            let at_end: Atom = b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), end).into();
            let results = b.if_(
                "last",
                at_end,
                vec![Type::BOOL],
                |_| vec![super::reduce_special::truth(true)],
                |b| vec![b.index("last", first, &[next]).into()],
            );
            vec![results[0].into()]
        })[0];
        let left = self.segmented(width, (first, &sorted), op, true);
        let right = self.segmented(width, (last, &sorted), op, false);
        // What is before a value in its bin begins with the destination.
        let destinations: Vec<Name> = h.op.destinations.iter().map(|own| self.flat(*own, h)).collect();
        let before = self.after_destination(width, (bins, first), (&left, &destinations), op);
        let mut seeds = Vec::new();
        for (adjoint, ty) in h.adjoints.iter().zip(&types) {
            let adjoint = self.name_of(*adjoint);
            let adjoint = self.flat(adjoint, h);
            seeds.push(Some(self.or_zero(width, bins, adjoint, ty).into()));
        }
        self.reverse_elements((width, &sorted), op, (&before, &right), &Seeds::Own(&seeds))?;
        for (sorted, own) in sorted.iter().zip(h.values) {
            if let Some(adjoint) = self.take(*sorted) {
                let adjoint = self.name_of(adjoint);
                let back = gather(self, adjoint, order.position);
                self.add((*own).into(), back.into());
            }
        }
        if !h.op.destinations.iter().any(|own| self.active.contains(own)) {
            return Ok(());
        }
        // The destination is the first operand of the rest of its bin.
        let mut rest = Vec::new();
        for at in 0..k {
            rest.push(self.b.replicate("rest", &h.op.shape, op.neutral[at]));
        }
        let mut all = vec![Type::I64; h.op.shape.len()];
        all.extend(types.iter().cloned());
        let map = self.b.identity_lambda(&all);
        let copy = Operator { op: self.copy_lambda(&op.op), neutral: op.neutral.clone(), comm: op.comm };
        let ops = vec![HistOp { shape: h.op.shape.clone(), destinations: rest, op: copy }];
        let inputs = h.indices.iter().chain(h.values).copied().collect();
        let rest = self.b.let_op("rest", Soac::Hist { width, inputs, map, ops });
        let arrays: Vec<Name> = h.op.destinations.iter().copied().chain(rest).collect();
        let mut all = arrays;
        for adjoint in &h.adjoints {
            all.push(self.name_of(*adjoint));
        }
        for at in 0..k {
            let mut failed = Ok(());
            let own = self.map_bins(&h.op.shape.clone(), &all, &mut |ad, x| {
                let seeds: Vec<Option<Atom>> = x[2 * k..].iter().map(|own| Some((*own).into())).collect();
                match ad.first_operand(op, &x[..2 * k], &seeds) {
                    Ok(own) => own[at],
                    Err(error) => {
                        failed = Err(error);
                        x[0].into()
                    }
                }
            });
            failed?;
            self.add(h.op.destinations[at].into(), own.into());
        }
        Ok(())
    }

    /// An array over bins with one dimension for these.
    fn flat(&mut self, array: Name, h: &Histogram<'_>) -> Name {
        let rank = h.op.shape.len();
        if rank == 1 {
            return array;
        }
        let bins = self.b.product(&h.op.shape);
        let ty = self.b.types.type_of(array).clone();
        let outer = Dim::from_atom(bins).unwrap_or(Dim::Const(0));
        let shape = std::iter::once(outer).chain(ty.shape().iter().skip(rank).copied()).collect();
        let kind = ir::syntax::ReshapeKind::Arbitrary;
        self.b.let_basic("flat", BasicOp::Reshape { kind, shape, array })
    }

    /// The elements of an array at these positions; zero beyond its end.
    fn or_zero(&mut self, width: Dim, at: Name, array: Name, ty: &Type) -> Name {
        let size = self.b.types.type_of(array).shape()[0];
        let param = self.b.param("bin", Type::I64);
        let outer = self.b.open();
        let own = self.element_or_zero(array, (&[param.name.into()], &[size]), ty);
        let body = self.b.close(outer, vec![own]);
        let map = Lambda { params: vec![param], body, ret: vec![ty.clone()] };
        self.b.let_op("of_bin", Soac::Screma(Screma::map(width, vec![at], map)))[0]
    }

    /// The exclusive scan within segments that begin (from the left) or end where the flag is set.
    fn segmented(
        &mut self,
        width: Dim,
        (flags, values): (Name, &[Name]),
        op: &Operator<Soacs>,
        left: bool,
    ) -> Vec<Name> {
        let types = op.op.ret.clone();
        let k = types.len();
        let own = self.copy_lambda(&op.op);
        let mut all = vec![Type::BOOL];
        all.extend(types.iter().cloned());
        let outer = self.b.open();
        let params: Vec<Param<Soacs>> =
            all.iter().chain(&all).map(|ty| self.b.param("x", ty.clone())).collect();
        let (x, y) = params.split_at(k + 1);
        let flag = self.b.binary(BinOp::Or, PrimType::Bool, x[0].name.into(), y[0].name.into());
        let later = y[1..].iter().map(|param| Atom::from(param.name)).collect();
        let open = self.b.open();
        let then_body = self.b.close(open, later);
        let open = self.b.open();
        let (first, second) = if left { (x, y) } else { (y, x) };
        // From the right, the operand that comes later in the scan is the earlier element.
        let operands = first[1..].iter().chain(&second[1..]).map(|param| Atom::from(param.name));
        let combined = self.b.inline(own, operands.collect::<Vec<_>>());
        let else_body = self.b.close(open, combined);
        let exp = Exp::If { cond: y[0].name.into(), then_body, else_body };
        let results = self.b.bind_all(types.iter().map(|ty| ("x", ty.clone())), exp);
        let mut result = vec![Atom::from(flag)];
        result.extend(results.into_iter().map(Atom::from));
        let body = self.b.close(outer, result);
        let lambda = Lambda { params, body, ret: all.clone() };
        let mut neutral = vec![super::reduce_special::truth(false)];
        neutral.extend(op.neutral.iter().copied());
        let scan_op = Operator { op: lambda, neutral, comm: false };
        let inputs: Vec<Name> = std::iter::once(flags).chain(values.iter().copied()).collect();
        let ordered: Vec<Name> =
            inputs.iter().map(|own| if left { *own } else { self.reversed(*own, width) }).collect();
        let scanned = self.b.scan("scanned", width, &ordered, scan_op);
        let size = width.atom().unwrap_or(Atom::i64(0));
        let is = self.b.iota(width);
        let i = self.b.param("i", Type::I64);
        let flag = self.b.param("edge", Type::BOOL);
        let outer = self.b.open();
        let at: Atom = if left {
            self.b.binary(BinOp::Sub, PrimType::I64, i.name.into(), Atom::i64(1)).into()
        } else {
            let last = self.b.binary(BinOp::Sub, PrimType::I64, size, Atom::i64(2));
            self.b.binary(BinOp::Sub, PrimType::I64, last.into(), i.name.into()).into()
        };
        let neutral = op.neutral.clone();
        let rows = self.b.if_(
            "x",
            flag.name.into(),
            types.clone(),
            |_| neutral,
            |b| scanned[1..].iter().map(|own| b.index("x", *own, &[at]).into()).collect(),
        );
        let body = self.b.close(outer, rows.into_iter().map(Atom::from).collect());
        let map = Lambda { params: vec![i, flag], body, ret: types };
        let screma = Screma { width, inputs: vec![is, flags], map, scan_reduce: ScanReduce::default() };
        self.b.let_op("exclusive", Soac::Screma(screma))
    }

    /// `destination op left` of each position: the destination itself at the start of a bin.
    fn after_destination(
        &mut self,
        width: Dim,
        (bins, first): (Name, Name),
        (left, destinations): (&[Name], &[Name]),
        op: &Operator<Soacs>,
    ) -> Vec<Name> {
        let types = op.op.ret.clone();
        let bin = self.b.param("bin", Type::I64);
        let start = self.b.param("first", Type::BOOL);
        let own: Vec<Param<Soacs>> = types.iter().map(|ty| self.b.param("left", ty.clone())).collect();
        let outer = self.b.open();
        let size = self.b.types.type_of(destinations[0]).shape()[0];
        let from: Vec<Atom> = destinations
            .iter()
            .zip(&types)
            .map(|(array, ty)| self.element_or_zero(*array, (&[bin.name.into()], &[size]), ty))
            .collect();
        let copy = self.copy_lambda(&op.op);
        let open = self.b.open();
        let then_body = self.b.close(open, from.clone());
        let open = self.b.open();
        let operands: Vec<Atom> =
            from.into_iter().chain(own.iter().map(|param| Atom::from(param.name))).collect();
        let combined = self.b.inline(copy, operands);
        let else_body = self.b.close(open, combined);
        let exp = Exp::If { cond: start.name.into(), then_body, else_body };
        let rows = self.b.bind_all(types.iter().map(|ty| ("x", ty.clone())), exp);
        let body = self.b.close(outer, rows.into_iter().map(Atom::from).collect());
        let params = [bin, start].into_iter().chain(own).collect();
        let map = Lambda { params, body, ret: types };
        let inputs = [bins, first].into_iter().chain(left.iter().copied()).collect();
        self.b.let_op("before", Soac::Screma(Screma::map(width, inputs, map)))
    }
}

/// Values in the order of bins.
struct BinOrder {
    /// The bin of each value, as one number.
    bin_of: Name,
    /// The first position of each bin.
    starts: Name,
    /// The position of each value.
    position: Name,
    /// The value at each position.
    order: Name,
}

/// Returns true if the operator adds its operands, element by element.
pub(crate) fn is_sum(op: &Lambda<Soacs>) -> bool {
    let n = op.ret.len();
    op.body.result.iter().enumerate().all(|(at, result)| {
        let operands = [at, at + n].map(|at| op.params.get(at).map(|param| param.name));
        let defines = |stm: &&ir::syntax::Stm<Soacs>| {
            stm.pat.first().is_some_and(|param| *result == Atom::Var(param.name))
        };
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
