//! Reverse mode: scans.
//!
//! With `y_i = y_(i-1) op x_i`, the whole adjoint of `y_i` is `z_i = y'_i + J_(i+1) z_(i+1)`, where
//! `J_i` is the transposed Jacobian of the operator by its first operand at `(y_(i-1), x_i)`. That is a
//! linear recurrence from the last element to the first: a scan of affine functions where the operator
//! has few components, otherwise a loop. The adjoint of `x_i` is that of the operator by its second
//! operand for `z_i`.

use super::reduce_special::scalar_operator;
use crate::state::{Ad, Result};
use ir::Name;
use ir::build::LoopInit;
use ir::soac::{Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, Lambda, Param};
use ir::types::{Dim, Type};
use ir::walk::free_names_lambda;
use prim::{BinClass, BinOp, CmpOp, PrimType};

/// The number of components up to which the recurrence is a scan of affine functions.
const MAX_SCAN_COMPONENTS: usize = 2;

impl Ad<'_> {
    pub(super) fn reverse_scan(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        pat: &[Param<Soacs>],
        adjoints: &[Option<Atom>],
    ) -> Result {
        if let (Some((bin, ty)), [xs], [Some(adjoint)]) = (scalar_operator(op), inputs, adjoints)
            && matches!(bin.class(), BinClass::Sum)
            && bin.is_commutative()
        {
            let adjoint = self.name_of(*adjoint);
            let sums = self.suffix_sums(width, adjoint, ty);
            self.add((*xs).into(), sums.into());
            return Ok(());
        }
        let types = op.op.ret.clone();
        let mut given = Vec::new();
        for (adjoint, ty) in adjoints.iter().zip(&types) {
            let adjoint = match adjoint {
                Some(adjoint) => *adjoint,
                None => self.zero(&ty.array_of(width)),
            };
            given.push(self.name_of(adjoint));
        }
        let results: Vec<Name> = pat.iter().map(|param| param.name).collect();
        let before = self.shifted(width, &results, op);
        let alike = types.iter().all(|ty| ty.is_prim() && *ty == types[0] && *ty != Type::BOOL);
        let whole = if alike && types.len() <= MAX_SCAN_COMPONENTS {
            self.affine_scan((width, inputs), op, &before, &given)?
        } else {
            self.recurrence((width, inputs), op, &before, &given)?
        };
        // The contributions of each application, by its own adjoint.
        let own = self.copy_lambda(&op.op);
        let k = op.neutral.len();
        let mut rows = Vec::new();
        for (input, param) in before.iter().chain(inputs).zip(&own.params) {
            rows.push((*input, param.clone()));
        }
        for (param, input) in own.params[k..].iter().zip(inputs) {
            self.active.remove(&param.name);
            if self.active.contains(input) {
                self.active.insert(param.name);
            }
        }
        for param in &own.params[..k] {
            self.active.remove(&param.name);
        }
        self.mark_body(&own.body);
        let free = free_names_lambda(&own);
        let seeds: Vec<Option<Atom>> = whole.into_iter().map(|name| Some(name.into())).collect();
        self.reverse_rows(width, &rows, &free, &seeds, |ad, seeds| ad.sweep(&own.body, seeds))
    }

    /// The sums of each element and all later ones.
    fn suffix_sums(&mut self, width: Dim, xs: Name, ty: PrimType) -> Name {
        let reversed = self.reversed(xs, width);
        let op = self.addition(&[Type::Prim(ty)]);
        let sums = self.b.scan("sums", width, &[reversed], op)[0];
        self.reversed(sums, width)
    }

    /// For each element, the scan's result before it: the neutral element before the first.
    fn shifted(&mut self, width: Dim, scanned: &[Name], op: &Operator<Soacs>) -> Vec<Name> {
        let is = self.b.iota(width);
        let types = op.op.ret.clone();
        let i = self.b.param("i", Type::I64);
        let outer = self.b.open();
        let at: Atom = self.b.binary(BinOp::Sub, PrimType::I64, i.name.into(), Atom::i64(1)).into();
        let first: Atom = self.b.compare(CmpOp::SLt, PrimType::I64, at, Atom::i64(0)).into();
        let neutral = op.neutral.clone();
        let scanned = scanned.to_vec();
        let rows = self.b.if_(
            "before",
            first,
            types.clone(),
            |_| neutral,
            |b| scanned.iter().map(|own| b.index("x", *own, &[at]).into()).collect(),
        );
        let body = self.b.close(outer, rows.into_iter().map(Atom::from).collect());
        let map = Lambda { params: vec![i], body, ret: types };
        self.b.let_op("before", Soac::Screma(Screma::map(width, vec![is], map)))
    }

    /// The adjoints of an operator's first operand for adjoints of its results.
    pub(super) fn first_operand(
        &mut self,
        op: &Operator<Soacs>,
        operands: &[Name],
        seeds: &[Option<Atom>],
    ) -> Result<Vec<Atom>> {
        let own = self.copy_lambda(&op.op);
        let k = op.neutral.len();
        let scope_adjoints = std::mem::take(&mut self.adjoints);
        let active = self.active.clone();
        self.active.clear();
        for (param, operand) in own.params.iter().zip(operands) {
            let exp = ir::syntax::Exp::Basic(ir::syntax::BasicOp::Atom((*operand).into()));
            self.b.let_pat(vec![param.clone()], exp);
        }
        self.active.extend(own.params[..k].iter().map(|param| param.name));
        self.mark_body(&own.body);
        self.sweep(&own.body, seeds)?;
        let result = own.params[..k].iter().map(|param| self.value_so_far(param.name)).collect();
        self.active = active;
        self.adjoints = scope_adjoints;
        Ok(result)
    }

    /// The recurrence as a loop from the last element to the first.
    fn recurrence(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        before: &[Name],
        given: &[Name],
    ) -> Result<Vec<Name>> {
        let size = width.atom().unwrap_or(Atom::i64(0));
        let types = op.op.ret.clone();
        let k = types.len();
        let mut inits = Vec::new();
        for ty in &types {
            let init = self.zero(ty);
            inits.push(LoopInit { hint: "next".to_owned(), ty: ty.clone(), init, consumed: false });
        }
        for ty in &types {
            let all = ty.array_of(width);
            let init = self.zero(&all);
            inits.push(LoopInit { hint: "whole".to_owned(), ty: all, init, consumed: true });
        }
        let (before, inputs, given) = (before.to_vec(), inputs.to_vec(), given.to_vec());
        let results = self.counted_down(size, inits, |ad, at, params| {
            let mut next = Vec::new();
            let mut whole: Vec<Atom> = Vec::new();
            for (i, ty) in types.iter().enumerate() {
                let own = ad.b.index("own", given[i], &[at]);
                let sum = ad.sum(ty, own.into(), params[i].into());
                whole.push(ad.b.update("whole", params[k + i], &[at], sum).into());
                next.push(Some(sum));
            }
            let operands: Vec<Name> =
                before.iter().chain(&inputs).map(|own| ad.b.index("x", *own, &[at])).collect();
            let mut result = ad.first_operand(op, &operands, &next)?;
            result.extend(whole);
            Ok(result)
        })?;
        Ok(results[k..].to_vec())
    }

    /// A loop whose body gets positions from `size - 1` down to 0.
    fn counted_down(
        &mut self,
        size: Atom,
        inits: Vec<LoopInit>,
        f: impl FnOnce(&mut Self, Atom, &[Name]) -> Result<Vec<Atom>>,
    ) -> Result<Vec<Name>> {
        let mut failed = Ok(());
        let results = self.down((PrimType::I64, size), inits, |ad, (_, at), params| {
            f(ad, at, params).unwrap_or_else(|error| {
                failed = Err(error);
                params.iter().map(|name| Atom::Var(*name)).collect()
            })
        });
        failed.map(|()| results)
    }

    /// The recurrence as a scan of affine functions `z -> a + J z`, composed from the last to the
    /// first.
    fn affine_scan(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        before: &[Name],
        given: &[Name],
    ) -> Result<Vec<Name>> {
        let types = op.op.ret.clone();
        let k = types.len();
        let size = width.atom().unwrap_or(Atom::i64(0));
        let is = self.b.iota(width);
        // Element i of the functions, counted from the end: the Jacobian is that at the next element.
        let i = self.b.param("i", Type::I64);
        let outer = self.b.open();
        let last: Atom = crate::normalise::minus_one(&mut self.b, size);
        let at: Atom = self.b.binary(BinOp::Sub, PrimType::I64, last, i.name.into()).into();
        let mut result: Vec<Atom> = given.iter().map(|own| self.b.index("own", *own, &[at]).into()).collect();
        let is_last: Atom = self.b.compare(CmpOp::Eq, PrimType::I64, i.name.into(), Atom::i64(0)).into();
        let matrix_types: Vec<Type> = (0..k * k).map(|at| types[at / k].clone()).collect();
        let zeros: Vec<Atom> = matrix_types.iter().map(|ty| self.zero(ty)).collect();
        let open = self.b.open();
        let then_body = self.b.close(open, zeros);
        let open = self.b.open();
        let next = self.b.add_i64(at, Atom::i64(1));
        let operands: Vec<Name> =
            before.iter().chain(inputs).map(|own| self.b.index("x", *own, &[next])).collect();
        // Column c: the adjoint of the first operand for the unit vector c.
        let mut columns = Vec::new();
        for c in 0..k {
            let seeds: Vec<Option<Atom>> = types
                .iter()
                .enumerate()
                .map(|(at, ty)| (at == c).then(|| super::basic::one(ty.elem().unwrap_or(PrimType::Bool))))
                .collect();
            columns.push(self.first_operand(op, &operands, &seeds)?);
        }
        let matrix = (0..k * k).map(|at| columns[at % k][at / k]).collect();
        let else_body = self.b.close(open, matrix);
        let exp = ir::syntax::Exp::If { cond: is_last, then_body, else_body };
        let jacobian = self.b.bind_all(matrix_types.iter().map(|ty| ("j", ty.clone())), exp);
        result.extend(jacobian.into_iter().map(Atom::from));
        let body = self.b.close(outer, result);
        let ret: Vec<Type> = types.iter().chain(&matrix_types).cloned().collect();
        let map = Lambda { params: vec![i], body, ret: ret.clone() };
        let functions = self.b.let_op("affine", Soac::Screma(Screma::map(width, vec![is], map)));
        let compose = self.composition(&types, &ret);
        let scanned = self.b.scan("whole", width, &functions, compose);
        let whole = scanned[..k].to_vec();
        Ok(whole.into_iter().map(|own| self.reversed(own, width)).collect())
    }

    /// The composition of affine functions: the second after the first.
    fn composition(&mut self, types: &[Type], all: &[Type]) -> Operator<Soacs> {
        let k = types.len();
        let mut neutral: Vec<Atom> = types.iter().map(|ty| self.zero(ty)).collect();
        for (row, ty) in types.iter().enumerate() {
            for column in 0..k {
                let ty = ty.elem().unwrap_or(PrimType::Bool);
                let one = row == column;
                neutral.push(if one { super::basic::one(ty) } else { crate::state::zero(ty) });
            }
        }
        let op = self.b.lambda(all.iter().chain(all).map(|ty| ("f", ty.clone())), |b, params| {
            let (first, second) = params.split_at(k + k * k);
            let entry = |of: &[Name], row: usize, column: usize| of[k + row * k + column];
            let mut results = Vec::new();
            let product = |b: &mut ir::build::Builder<'_, Soacs>, ty: PrimType, x: Name, y: Name| {
                let mul = if ty.is_float() { BinOp::FMul } else { BinOp::Mul };
                b.binary(mul, ty, x.into(), y.into())
            };
            let add = |b: &mut ir::build::Builder<'_, Soacs>, ty: PrimType, x: Name, y: Name| {
                b.binary(crate::state::addition(ty), ty, x.into(), y.into())
            };
            let elems: Vec<PrimType> = types.iter().map(|ty| ty.elem().unwrap_or(PrimType::Bool)).collect();
            for (row, ty) in elems.iter().copied().enumerate() {
                let mut sum = second[row];
                for (inner, x) in first.iter().take(k).enumerate() {
                    let term = product(b, ty, entry(second, row, inner), *x);
                    sum = add(b, ty, sum, term);
                }
                results.push(sum.into());
            }
            for (row, ty) in elems.iter().copied().enumerate() {
                for column in 0..k {
                    let mut sum: Option<Name> = None;
                    for inner in 0..k {
                        let (x, y) = (entry(second, row, inner), entry(first, inner, column));
                        let term = product(b, ty, x, y);
                        sum = Some(match sum {
                            None => term,
                            Some(sum) => add(b, ty, sum, term),
                        });
                    }
                    results.extend(sum.map(Atom::from));
                }
            }
            results
        });
        Operator { op, neutral, comm: false }
    }
}
