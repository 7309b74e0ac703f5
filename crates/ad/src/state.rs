//! The state of differentiation within one function, and the operations that all rules use: zeros,
//! sums, and copies of bodies.

use crate::calls::Calls;
use crate::forward::{AccTangents, Tangents};
use crate::reverse::{AccAdjoints, Adjoints, SavedRead, Segments, Tape};
use ir::build::{Builder, Outer};
use ir::remark::DerivativeStep;
use ir::soac::{Operator, Screma, Soac, Soacs};
use ir::syntax::{Atom, Aux, BasicOp, Body, DimIndex, Exp, Lambda, Param, ReshapeKind};
use ir::types::{Dim, Type};
use ir::walk::{Substitution, refresh_body, refresh_lambda};
use ir::{Name, PassError, ProvTable};
use prim::{BinOp, PrimType, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use std::convert::Infallible;
use std::sync::Arc;

pub(crate) type Result<T = ()> = std::result::Result<T, PassError>;

/// The state of differentiation within one function.
pub(crate) struct Ad<'a> {
    /// Receives the statements.
    pub b: Builder<'a, Soacs>,
    /// The function's provenances, for messages.
    pub provs: &'a ProvTable,
    /// The derivatives of functions that calls need.
    pub calls: &'a mut Calls,
    /// The names that depend on what the derivative is taken by.
    pub active: FxHashSet<Name>,
    /// Loops that run ahead of others, by their first result: nothing in them is active.
    pub ahead: FxHashSet<Name>,
    /// The adjoints of names in scope.
    pub adjoints: Adjoints,
    /// Within an iteration of a map: the whole arrays that it adds to free arrays.
    pub dense: Option<FxHashMap<Name, Atom>>,
    /// The adjoints of arrays whose `withacc` the return sweep is in.
    pub acc_adjoints: AccAdjoints,
    /// The tapes of loops' parameters, by their results.
    pub tapes: FxHashMap<Name, Tape>,
    /// Numbers of iterations that are in scope wherever their bound is needed, by the bound.
    pub counts: FxHashMap<Name, Dim>,
    /// Loops over segments, by their first result: the greatest length of a segment.
    pub segment_lengths: FxHashMap<Name, Dim>,
    /// Loops over segments after their forward sweep.
    pub segments: FxHashMap<Name, Segments>,
    /// Adjoints of one element that is not zero, by the array: its index and its value.
    pub single_elements: FxHashMap<Name, (Name, Atom)>,
    /// The number of lambdas around the derivative, and of maps around a statement of its return sweep.
    pub lambdas: usize,
    /// True in reverse mode, in which active loops have tapes.
    pub is_reverse: bool,
    /// True if loops may be split into segments: in reverse mode, outside of other loops, branches and lambdas.
    pub splits_loops: bool,
    /// Reads whose values a tape has, by the names that they bind.
    pub saved_reads: FxHashMap<Name, SavedRead>,
    /// The tangents of active names.
    pub tangents: Tangents,
    /// The types of tangents in accumulators.
    pub acc_tangents: AccTangents,
    /// Which elements of accumulators have tangents, by token.
    pub acc_active: FxHashMap<Name, Vec<bool>>,
}

impl<'a> Ad<'a> {
    /// The state at the beginning.
    pub fn new(b: Builder<'a, Soacs>, provs: &'a ProvTable, calls: &'a mut Calls) -> Self {
        Self {
            b,
            provs,
            calls,
            active: FxHashSet::default(),
            ahead: FxHashSet::default(),
            adjoints: Adjoints::default(),
            dense: None,
            acc_adjoints: AccAdjoints::default(),
            tapes: FxHashMap::default(),
            counts: FxHashMap::default(),
            segment_lengths: FxHashMap::default(),
            segments: FxHashMap::default(),
            single_elements: FxHashMap::default(),
            lambdas: 0,
            is_reverse: false,
            splits_loops: false,
            saved_reads: FxHashMap::default(),
            tangents: Tangents::default(),
            acc_tangents: AccTangents::default(),
            acc_active: FxHashMap::default(),
        }
    }

    /// Forgets everything about the derivative that has been taken.
    pub fn reset(&mut self) {
        self.active.clear();
        self.ahead.clear();
        self.adjoints.clear();
        self.tapes.clear();
        self.saved_reads.clear();
        self.counts.clear();
        self.segment_lengths.clear();
        self.segments.clear();
        self.single_elements.clear();
        self.tangents.clear();
        self.acc_tangents.clear();
        self.acc_active.clear();
    }
}

impl Ad<'_> {
    /// Gives subsequent statements the provenance and certificates of a statement.
    pub fn at(&mut self, aux: &Aux) {
        self.b.prov = aux.prov;
        self.b.certs.clone_from(&aux.certs);
    }

    /// The error for a construct whose derivative is not supported.
    pub fn unsupported(&self, what: &str) -> PassError {
        PassError::unsupported(format!("the derivative of {what}"), self.provs.stack(self.b.prov))
    }

    /// Notes the outcome for the current statement's operation; `step` is made only for remarks.
    pub fn note(&mut self, step: impl FnOnce(&Self) -> DerivativeStep) {
        if self.calls.notes.is_none() {
            return;
        }
        let note = (self.provs.stack(self.b.prov), step(self));
        if let Some(notes) = &mut self.calls.notes {
            notes.push(note);
        }
    }

    /// The hint of a name, for notes.
    pub fn hint(&self, name: Name) -> Arc<str> {
        Arc::clone(self.b.names.hint(name))
    }

    /// The type of an array with sizes by their hints, for notes.
    pub fn type_text(&self, array: Name) -> Arc<str> {
        let ty = self.b.types.type_of(array);
        let mut text = String::new();
        for dim in ty.shape() {
            text.push('[');
            match dim {
                Dim::Var(size) => text.push_str(self.b.names.hint(*size)),
                Dim::Const(size) => text.push_str(&size.to_string()),
                Dim::Ext(_) => text.push('?'),
            }
            text.push(']');
        }
        text.push_str(ty.elem().map_or("", PrimType::name));
        text.into()
    }

    /// Returns true for a variable that depends on what the derivative is taken by.
    pub fn is_active(&self, atom: Atom) -> bool {
        atom.var().is_some_and(|name| self.active.contains(&name))
    }

    /// The zero of a type.
    pub fn zero(&mut self, ty: &Type) -> Atom {
        zero_of(&mut self.b, ty)
    }

    /// An array whose elements are written before they are read.
    pub fn unwritten(&mut self, hint: &str, row: &Type, count: Dim) -> Name {
        let shape = std::iter::once(count).chain(row.shape().iter().copied()).collect();
        let elem = row.elem().unwrap_or(PrimType::Bool);
        self.b.let_basic(hint, BasicOp::Scratch { elem, shape })
    }

    /// The value, or the zero of the type in place of none.
    pub fn or_zero(&mut self, value: Option<Atom>, ty: &Type) -> Atom {
        value.unwrap_or_else(|| self.zero(ty))
    }

    /// The value under the dimensions of a type.
    pub fn coerced(&mut self, value: Atom, ty: &Type) -> Atom {
        match (value, ty) {
            (Atom::Var(array), Type::Array { shape, .. }) if self.b.types.type_of(array) != ty => {
                let kind = ReshapeKind::Coerce;
                self.b.let_basic("coerced", BasicOp::Reshape { kind, shape: shape.clone(), array }).into()
            }
            _ => value,
        }
    }

    /// `x + y`, element by element.
    pub fn sum(&mut self, ty: &Type, x: Atom, y: Atom) -> Atom {
        match (ty, x, y) {
            (Type::Prim(prim), _, _) if x == zero(*prim) => y,
            (Type::Prim(prim), _, _) if y == zero(*prim) => x,
            (Type::Prim(prim), _, _) => self.b.binary(addition(*prim), *prim, x, y).into(),
            (Type::Array { shape, .. }, Atom::Var(xs), Atom::Var(ys)) => {
                let row = ty.row().unwrap_or(Type::BOOL);
                let sums = self
                    .map("sum", shape[0], &[xs, ys], |ad, x| vec![ad.sum(&row, x[0].into(), x[1].into())]);
                sums[0].into()
            }
            _ => x,
        }
    }

    /// The operator that adds values of these types.
    pub fn addition(&mut self, types: &[Type]) -> Operator<Soacs> {
        let neutral = types.iter().map(|ty| self.zero(ty)).collect();
        let outer = self.b.open();
        let mut params = Vec::new();
        for hint in ["x", "y"] {
            params.extend(types.iter().map(|ty| self.b.param(hint, ty.clone())));
        }
        let n = types.len();
        let sums =
            (0..n).map(|i| self.sum(&types[i], params[i].name.into(), params[n + i].name.into())).collect();
        Operator { op: self.close_lambda(outer, params, sums), neutral, comm: true }
    }

    /// A copy of a body with fresh names; copies of active names are active.
    pub fn copy(&mut self, body: &Body<Soacs>, map: &mut Substitution) -> Body<Soacs> {
        let copy = refresh_body(body, self.b.names, map);
        self.b.types.add_body(&copy);
        self.mark_copies(map);
        copy
    }

    /// A copy of a lambda with fresh names; copies of active names are active.
    pub fn copy_lambda(&mut self, lambda: &Lambda<Soacs>) -> Lambda<Soacs> {
        let mut map = Substitution::default();
        let copy = refresh_lambda(lambda, self.b.names, &mut map);
        self.b.types.add_params(&copy.params);
        self.b.types.add_body(&copy.body);
        self.mark_copies(&map);
        copy
    }

    /// A copy of an operator with fresh names; copies of active names are active.
    pub fn copy_operator(&mut self, op: &Operator<Soacs>) -> Operator<Soacs> {
        Operator { op: self.copy_lambda(&op.op), neutral: op.neutral.clone(), comm: op.comm }
    }

    fn mark_copies(&mut self, map: &Substitution) {
        let copies = map.iter().filter(|(name, _)| self.active.contains(name));
        let copies: Vec<Name> = copies.filter_map(|(_, copy)| copy.var()).collect();
        self.active.extend(copies);
        self.rename_iterations(map);
        self.copy_saved_reads(map);
    }

    /// Maps a function of one row of each array; returns the results.
    pub fn map(
        &mut self,
        hint: &str,
        width: Dim,
        inputs: &[Name],
        f: impl FnOnce(&mut Self, &[Name]) -> Vec<Atom>,
    ) -> Vec<Name> {
        let Ok(names) = self.try_map(hint, width, inputs, |ad, rows| Ok::<_, Infallible>(f(ad, rows)));
        names
    }

    /// [`Self::map`] for functions that may fail.
    pub fn try_map<E>(
        &mut self,
        hint: &str,
        width: Dim,
        inputs: &[Name],
        f: impl FnOnce(&mut Self, &[Name]) -> std::result::Result<Vec<Atom>, E>,
    ) -> std::result::Result<Vec<Name>, E> {
        let types = self.b.row_types(inputs);
        let params: Vec<Param<Soacs>> = types.into_iter().map(|ty| self.b.param("x", ty)).collect();
        let rows: Vec<Name> = params.iter().map(|param| param.name).collect();
        let outer = self.b.open();
        let results = f(self, &rows)?;
        let map = self.close_lambda(outer, params, results);
        Ok(self.b.let_op(hint, Soac::Screma(Screma::map(width, inputs.to_vec(), map))))
    }

    /// Applies a function to the elements of arrays of a shape; without dimensions, to the values.
    pub fn elementwise<E>(
        &mut self,
        hint: &str,
        shape: &[Dim],
        arrays: &[Name],
        f: &mut dyn FnMut(&mut Self, &[Name]) -> std::result::Result<Vec<Atom>, E>,
    ) -> std::result::Result<Vec<Atom>, E> {
        let Some((width, inner)) = shape.split_first() else {
            return f(self, arrays);
        };
        let rows = self.try_map(hint, *width, arrays, |ad, rows| ad.elementwise(hint, inner, rows, f))?;
        Ok(rows.into_iter().map(Atom::from).collect())
    }

    /// Ends a nested body as that of a lambda.
    pub fn close_lambda(
        &mut self,
        outer: Outer<Soacs>,
        params: Vec<Param<Soacs>>,
        result: Vec<Atom>,
    ) -> Lambda<Soacs> {
        let ret = result.iter().map(|atom| self.b.type_of(*atom)).collect();
        Lambda { params, body: self.b.close(outer, result), ret }
    }

    /// Binds a parameter to a value.
    pub fn bind(&mut self, param: &Param<Soacs>, value: Atom) {
        self.b.let_pat(vec![param.clone()], Exp::Basic(BasicOp::Atom(value)));
    }

    /// The slice of all elements of an array.
    pub fn whole(&self, array: Name) -> Vec<DimIndex> {
        self.b.row_slice(array, &[])
    }

    /// The part of an array.
    pub fn read(&mut self, array: Name, slice: &[DimIndex]) -> Atom {
        self.b.let_basic("part", BasicOp::Index { array, slice: slice.to_vec() }).into()
    }

    /// A variable with the value of an operand.
    pub fn name_of(&mut self, atom: Atom) -> Name {
        match atom {
            Atom::Var(name) => name,
            Atom::Const(_) => self.b.let_basic("c", BasicOp::Atom(atom)),
        }
    }
}

/// Appends the zero of a type.
pub(crate) fn zero_of(b: &mut Builder<'_, Soacs>, ty: &Type) -> Atom {
    match ty {
        Type::Prim(prim) => zero(*prim),
        Type::Array { elem, shape } => b.replicate("zeros", shape, zero(*elem)).into(),
        Type::Acc { .. } | Type::Cert | Type::Mem(_) => zero(PrimType::Bool),
    }
}

/// A dimension as an operand.
pub(crate) fn size_of(dim: Dim) -> Atom {
    dim.atom().unwrap_or(Atom::i64(0))
}

/// The zero of a scalar type.
pub(crate) fn zero(ty: PrimType) -> Atom {
    Atom::Const(Scalar::int(ty, 0))
}

/// The operator that adds derivatives of a type.
pub(crate) fn addition(ty: PrimType) -> BinOp {
    match ty {
        PrimType::Bool => BinOp::Or,
        PrimType::F16 | PrimType::F32 | PrimType::F64 => BinOp::FAdd,
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 => BinOp::Add,
    }
}
