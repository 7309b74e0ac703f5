//! Reverse mode: scans.
//!
//! With `y_i = y_(i-1) op x_i`, the whole adjoint of `y_i` is `z_i = y'_i + J_(i+1) z_(i+1)`, where
//! `J_i` is the transposed Jacobian of the operator by its first operand at `(y_(i-1), x_i)`. That is a
//! linear recurrence from the last element to the first: a scan of affine functions where the operator
//! has few components, otherwise a loop. The adjoint of `x_i` is that of the operator by its second
//! operand for `z_i`.

use super::exclusive::Side;
use super::reduce_special::scalar_operator;
use crate::state::{Ad, Result, size_of};
use ir::Name;
use ir::soac::{Operator, Soacs};
use ir::syntax::{Atom, Body, Exp, Param};
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
            let adjoint = self.or_zero(*adjoint, &ty.array_of(width));
            given.push(self.name_of(adjoint));
        }
        let results: Vec<Name> = pat.iter().map(|param| param.name).collect();
        let before = self.neighbours(width, &results, op, Side::Left);
        let alike = types.iter().all(|ty| ty.is_prim() && *ty == types[0] && *ty != Type::BOOL);
        let whole = if alike && types.len() <= MAX_SCAN_COMPONENTS {
            self.affine_scan((width, inputs), op, &before, &given)?
        } else {
            self.recurrence((width, inputs), op, &before, &given)?
        };
        self.reverse_applications((width, inputs), op, &before, &whole)
    }

    /// Adds the contributions of applications of an operator by its second operand and free names, for
    /// the adjoint of each.
    pub(super) fn reverse_applications(
        &mut self,
        (width, inputs): (Dim, &[Name]),
        op: &Operator<Soacs>,
        before: &[Name],
        whole: &[Name],
    ) -> Result {
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
        let seeds: Vec<Option<Atom>> = whole.iter().map(|name| Some((*name).into())).collect();
        self.reverse_rows(width, &rows, &free, &seeds, |ad, seeds| ad.sweep(&own.body, seeds))
    }

    /// The sums of each element and all later ones.
    fn suffix_sums(&mut self, width: Dim, xs: Name, ty: PrimType) -> Name {
        let reversed = self.reversed(xs, width);
        let op = self.addition(&[Type::Prim(ty)]);
        let sums = self.b.scan("sums", width, &[reversed], op)[0];
        self.reversed(sums, width)
    }

    /// The adjoints of an operator's first operand for adjoints of its results.
    pub(super) fn first_operand(
        &mut self,
        op: &Operator<Soacs>,
        operands: &[Name],
        seeds: &[Option<Atom>],
    ) -> Result<Vec<Atom>> {
        self.operand_adjoints(op, operands, seeds, op.neutral.len())
    }

    /// The adjoints of the first components of an operator's operands for adjoints of its results.
    pub(super) fn operand_adjoints(
        &mut self,
        op: &Operator<Soacs>,
        operands: &[Name],
        seeds: &[Option<Atom>],
        count: usize,
    ) -> Result<Vec<Atom>> {
        let own = self.copy_lambda(&op.op);
        let scope_adjoints = std::mem::take(&mut self.adjoints);
        let active = std::mem::take(&mut self.active);
        for (param, operand) in own.params.iter().zip(operands) {
            self.bind(param, (*operand).into());
        }
        self.active.extend(own.params[..count].iter().map(|param| param.name));
        self.mark_body(&own.body);
        self.sweep(&own.body, seeds)?;
        let result = own.params[..count].iter().map(|param| self.value_so_far(param.name)).collect();
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
        let size = size_of(width);
        let types = op.op.ret.clone();
        let k = types.len();
        let mut params = Vec::new();
        for ty in &types {
            let init = self.zero(ty);
            params.push((ty.clone(), init));
        }
        for ty in &types {
            params.push((ty.array_of(width), self.unwritten("unwritten", ty, width).into()));
        }
        let results = self.down((PrimType::I64, size), params, |ad, (_, at), params| {
            let mut next = Vec::new();
            let mut whole: Vec<Atom> = Vec::new();
            for (i, ty) in types.iter().enumerate() {
                let own = ad.b.index("own", given[i], &[at]);
                let sum = ad.sum(ty, own.into(), params[i].into());
                whole.push(ad.b.update("whole", params[k + i], &[at], sum).into());
                next.push(Some(sum));
            }
            let operands: Vec<Name> =
                before.iter().chain(inputs).map(|own| ad.b.index("x", *own, &[at])).collect();
            let mut result = ad.first_operand(op, &operands, &next)?;
            result.extend(whole);
            Ok(result)
        })?;
        Ok(results[k..].to_vec())
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
        let size = size_of(width);
        let is = self.b.iota(width);
        let matrix_types: Vec<Type> = (0..k * k).map(|at| types[at / k].clone()).collect();
        // Element i of the functions, counted from the end: the Jacobian is that at the next element.
        let functions = self.try_map("affine", width, &[is], |ad, x| {
            let last = ad.b.sub_i64(size, Atom::i64(1));
            let at = ad.b.sub_i64(last, x[0].into());
            let own = given.iter().map(|own| ad.b.index("own", *own, &[at]).into());
            let mut result: Vec<Atom> = own.collect();
            let is_last: Atom = ad.b.compare(CmpOp::Eq, PrimType::I64, x[0].into(), Atom::i64(0)).into();
            let zeros: Vec<Atom> = matrix_types.iter().map(|ty| ad.zero(ty)).collect();
            let outer = ad.b.open();
            let jacobian = ad.jacobian((inputs, op), before, at)?;
            let else_body = ad.b.close(outer, jacobian);
            let then_body = Body { stms: Vec::new(), result: zeros };
            let exp = Exp::If { cond: is_last, then_body, else_body };
            let jacobian = ad.b.bind_all(matrix_types.iter().map(|ty| ("j", ty.clone())), exp);
            result.extend(jacobian.into_iter().map(Atom::from));
            Ok(result)
        })?;
        let ret: Vec<Type> = types.iter().chain(&matrix_types).cloned().collect();
        let compose = self.composition(&types, &ret);
        let scanned = self.b.scan("whole", width, &functions, compose);
        Ok(scanned[..k].iter().map(|own| self.reversed(*own, width)).collect())
    }

    /// The transposed Jacobian of the operator by its first operand at the element after a position,
    /// row by row.
    fn jacobian(
        &mut self,
        (inputs, op): (&[Name], &Operator<Soacs>),
        before: &[Name],
        at: Atom,
    ) -> Result<Vec<Atom>> {
        let k = op.neutral.len();
        let next = self.b.add_i64(at, Atom::i64(1));
        let operands: Vec<Name> =
            before.iter().chain(inputs).map(|own| self.b.index("x", *own, &[next])).collect();
        // Column c is the adjoint of the first operand for the unit vector c.
        let mut columns = Vec::new();
        for c in 0..k {
            let unit = op.op.ret.iter().enumerate();
            let seeds: Vec<Option<Atom>> = unit
                .map(|(at, ty)| (at == c).then(|| super::basic::one(ty.elem().unwrap_or(PrimType::Bool))))
                .collect();
            columns.push(self.first_operand(op, &operands, &seeds)?);
        }
        Ok((0..k * k).map(|at| columns[at % k][at / k]).collect())
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
