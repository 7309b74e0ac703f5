//! Records, arrays, ranges, indexing and updates.

use crate::definition::DefinitionChecker;
use crate::definition::types::record;
use crate::infer::{Origin, Scalars, Sizes, node};
use crate::tast::{Bind, Dim, Exp, ExpKind, Index, Name, OverloadedOp, RangeKind, Ty};
use prim::{BinOp, Scalar, ScalarType};
use std::sync::Arc;
use syntax::ast::{self, DimIndex, Ident, Liftedness, RangeEnd};
use syntax::span::Span;

impl<'a> DefinitionChecker<'_, 'a> {
    pub(super) fn record_exp(&mut self, fields: &'a [ast::Field], span: Span) -> Exp {
        let mut parts: Vec<(Name, Exp)> = Vec::new();
        for field in fields {
            let name = self.cx.symbol_text(field.name.name);
            let value = self.exp(&field.value);
            if parts.iter().any(|(l, _)| *l == name) {
                self.cx.error(
                    "duplicate-field",
                    field.name.span,
                    format!("Duplicate field: \"{name}\" was previously defined in this record"),
                );
            } else {
                parts.push((name, value));
            }
        }
        let ty = record(parts.iter().map(|(l, e)| (Arc::clone(l), e.ty.clone())).collect());
        self.record_labels(fields.iter().map(|field| &field.name), &ty, false);
        node(ExpKind::Record(parts), ty, span)
    }

    /// Checks `exp.label`.
    pub(super) fn project(&mut self, exp: Exp, label: &Ident) -> Exp {
        let name = self.cx.symbol_text(label.name);
        let span = exp.span.to(label.span);
        let ty = self.field_ty(&exp.ty, label, &name);
        node(ExpKind::Project(Box::new(exp), name), ty, span)
    }

    /// The type of a field. An open type is constrained to have the field.
    fn field_ty(&mut self, ty: &Ty, label: &Ident, name: &Name) -> Ty {
        let span = label.span;
        self.record_labels([label], ty, false);
        if let Some(field) = self.infer.tables.field_ty(ty, name, span) {
            return field;
        }
        let text = self.infer.tables.show(ty);
        self.cx.error("no-such-field", span, format!("a value of type \"{text}\" has no field \"{name}\""));
        Ty::ERROR
    }

    pub(super) fn array(&mut self, elems: &'a [ast::Exp], span: Span) -> Exp {
        let mut out = Vec::with_capacity(elems.len());
        // The type of the first element is the element type; only an empty array leaves it to
        // inference.
        let mut elem = match elems {
            [] => {
                let unlifted = Liftedness::Unlifted;
                Some(self.infer.infer_ty("t", unlifted, Origin::BOUND, span))
            }
            _ if self.infer.infers_sizes() => None,
            _ => Some(self.infer.open_ty("t", Liftedness::Unlifted, span)),
        };
        for e in elems {
            let e = self.exp(e);
            let elem = elem.get_or_insert_with(|| e.ty.clone());
            self.unify(
                elem,
                &e.ty,
                e.span,
                "an array element does not have the type of the preceding elements",
            );
            out.push(e);
        }
        let elem = elem.unwrap_or_else(Ty::unit);
        if let Some(first) = out.first() {
            let what = "the elements of an array may not be of a lifted type";
            self.require_lifted(&elem, Liftedness::Unlifted, first.span, what);
            // A type that is still open is checked in the second walk.
            let ty = self.infer.tables.resolve_head(&elem);
            self.infer.tables.saw_sizes |= matches!(ty, Ty::Var(_));
        }
        let ty = Ty::array(Dim::Const(out.len() as i64), elem);
        node(ExpKind::Array(out), ty, span)
    }

    /// Gives an open type `rank` array dimensions.
    pub(super) fn constrain_rank(&mut self, ty: &Ty, rank: usize, span: Span) {
        let mut ty = self.infer.tables.resolve_head(ty);
        for _ in 0..rank {
            match &ty {
                Ty::Array(array) => ty = self.infer.tables.resolve_head(&array.elem),
                Ty::Var(var) if self.infer.tables.is_open_ty(*var) => {
                    let elem = self.infer.open_ty("t", Liftedness::Unlifted, span);
                    let array = Ty::array(self.infer.fresh_dim("d"), elem.clone());
                    self.unify(&ty, &array, span, "only arrays can be indexed");
                    ty = elem;
                }
                _ => return,
            }
        }
    }

    /// Checks `array[indices]`.
    pub(super) fn index(&mut self, array: Exp, indices: &'a [DimIndex], span: Span) -> Exp {
        let (indices, ty) = self.indices(&array.ty, indices, span);
        node(ExpKind::Index { array: Box::new(array), indices }, ty, span)
    }

    /// Checks indices into an array type. Returns the typed indices and the type of the selection.
    pub(super) fn indices(&mut self, ty: &Ty, indices: &'a [DimIndex], span: Span) -> (Vec<Index>, Ty) {
        self.constrain_rank(ty, indices.len(), span);
        let mut out = Vec::new();
        let mut kept = Vec::new();
        let mut rest = self.infer.tables.resolve_head(ty);
        for index in indices {
            let (dim, elem) = if let Ty::Array(array) = &rest {
                (array.dim.clone(), self.infer.tables.resolve_head(&array.elem))
            } else {
                if !rest.is_error() {
                    let text = self.infer.tables.show(ty);
                    let message = format!("{} indices into a value of type \"{text}\"", indices.len());
                    self.cx.error("too-many-indices", span, message);
                }
                (Dim::Any, Ty::ERROR)
            };
            match index {
                DimIndex::Fix(e) => {
                    let e = self.exp(e);
                    let what = "an index must be an integer";
                    self.require_scalar(&e.ty, Scalars::INTS, e.span, what);
                    out.push(Index::At(e));
                }
                DimIndex::Slice(from, to, step, at) => {
                    let part = |c: &mut Self, e: &'a Option<Box<ast::Exp>>| {
                        e.as_ref().map(|e| {
                            let e = c.exp(e);
                            let what = "the parts of a slice must be of type `i64`";
                            c.unify(&Ty::I64, &e.ty, e.span, what);
                            e
                        })
                    };
                    let (from, to, step) = (part(self, from), part(self, to), part(self, step));
                    let size = slice_size(&dim, from.as_ref(), to.as_ref(), step.as_ref());
                    kept.push(size.unwrap_or_else(|| self.infer.unknown(Arc::from("slice"), *at)));
                    out.push(Index::Slice { from, to, step });
                }
            }
            rest = elem;
        }
        let ty = kept.into_iter().rev().fold(rest, |elem, dim| Ty::array(dim, elem));
        (out, ty)
    }

    pub(super) fn range(
        &mut self,
        start: &'a ast::Exp,
        second: Option<&'a ast::Exp>,
        kind: RangeEnd,
        end: &'a ast::Exp,
        span: Span,
    ) -> Exp {
        let start = self.exp(start);
        let what = "the parts of a range must be integers of one type";
        self.require_scalar(&start.ty, Scalars::INTS, start.span, what);
        let second = second.map(|e| {
            let e = self.exp(e);
            self.unify(&start.ty, &e.ty, e.span, what);
            e
        });
        let end = self.exp(end);
        self.unify(&start.ty, &end.ty, end.span, what);
        let kind = match kind {
            RangeEnd::Inclusive => RangeKind::Inclusive,
            RangeEnd::UpTo => RangeKind::UpTo,
            RangeEnd::DownTo => RangeKind::DownTo,
        };
        let is = |e: &Exp, n: i64| matches!(e.kind, ExpKind::Lit(Scalar::I64(m), _) if m == n);
        let unit_step =
            second.as_ref().is_none_or(|e| (is(&start, 0) && is(e, 1)) || (is(&start, 1) && is(e, 2)));
        let sized = matches!(self.infer.tables.resolve_head(&start.ty), Ty::Scalar(ScalarType::I64));
        let known = match kind {
            RangeKind::UpTo if sized && unit_step && is(&start, 0) => crate::sizes::from_exp(&end),
            RangeKind::UpTo if sized && second.is_none() => difference(&end, &start),
            RangeKind::Inclusive if sized && unit_step && is(&start, 1) => crate::sizes::from_exp(&end),
            _ => None,
        };
        let dim = known.unwrap_or_else(|| self.infer.unknown(Arc::from("range"), span));
        let ty = Ty::array(dim, start.ty.clone());
        let (start, second, end) = (Box::new(start), second.map(Box::new), Box::new(end));
        node(ExpKind::Range { start, second, end, kind }, ty, span)
    }

    // ---------------------------------------------------------------- updates

    pub(super) fn update_exp(
        &mut self,
        base: &'a ast::Exp,
        path: &'a [ast::PathStep],
        value: &'a ast::Exp,
        span: Span,
    ) -> Exp {
        let base = self.exp(base);
        self.update(base, path, value, span)
    }

    /// Checks `base with path = value`.
    pub(super) fn update(
        &mut self,
        base: Exp,
        path: &'a [ast::PathStep],
        value: &'a ast::Exp,
        span: Span,
    ) -> Exp {
        let fields: Vec<&Ident> = path
            .iter()
            .map_while(|step| match step {
                ast::PathStep::Field(label) => Some(label),
                ast::PathStep::Index(..) => None,
            })
            .collect();
        let ty = base.ty.clone();
        let rest = path.get(fields.len()..).unwrap_or(&[]);
        if fields.is_empty() {
            return self.update_index(base, rest, value, span);
        }
        let names: Vec<Name> = fields.iter().map(|label| self.cx.symbol_text(label.name)).collect();
        if rest.is_empty() {
            let mut field = ty.clone();
            for (label, name) in fields.iter().zip(&names) {
                field = self.field_ty(&field, label, name);
            }
            let value = self.exp(value);
            // The sizes of the field may change.
            let field = self.infer.tables.resolve(&field);
            let any_size = self.infer.with_open_sizes(&field);
            let result = self.infer.unifying(Sizes::Strict, span, |u| u.unify(&any_size, &value.ty));
            if let Err(mismatch) = result {
                let path = names.join(".");
                let what = format!("the new value does not have the type of record field \"{path}\"");
                self.mismatch(&field, &value.ty, &mismatch, value.span, &what);
            }
            let ty = replace_field(&self.infer.tables.resolve(&ty), &names, &value.ty);
            let (record, value) = (Box::new(base), Box::new(value));
            return node(ExpKind::RecordUpdate { record, path: names, value }, ty, span);
        }
        // `r with x[i] = v` is `let r' = r in r' with x = (r'.x with [i] = v)`.
        let (pat, var) = self.infer.hidden_param(ty.clone(), base.span);
        let mut field = var.clone();
        for label in &fields {
            field = self.project(field, label);
        }
        let inner = self.update_index(field, rest, value, span);
        let (record, value) = (Box::new(var), Box::new(inner));
        let body = node(ExpKind::RecordUpdate { record, path: names, value }, ty.clone(), span);
        let bind = Bind::Pat { sizes: Vec::new(), pat, rhs: base };
        node(ExpKind::Let { binds: vec![bind], body: Box::new(body) }, ty, span)
    }

    pub(super) fn update_index(
        &mut self,
        base: Exp,
        path: &'a [ast::PathStep],
        value: &'a ast::Exp,
        span: Span,
    ) -> Exp {
        let Some((ast::PathStep::Index(indices, at), rest)) = path.split_first() else {
            let value = self.exp(value);
            self.unify(&base.ty, &value.ty, value.span, "the new value has the wrong type");
            return value;
        };
        let ty = base.ty.clone();
        let (indices, slot) = self.indices(&ty, indices, *at);
        if rest.is_empty() {
            let value = self.exp(value);
            // The equality of the sizes of a slice and of the new value is checked at run time.
            let sliced = indices.iter().any(|i| matches!(i, Index::Slice { .. }));
            let slot = if sliced {
                let slot = self.infer.tables.resolve(&slot);
                self.infer.with_open_sizes(&slot)
            } else {
                slot
            };
            let what = "the new value does not have the type of the value that it replaces";
            self.unify(&slot, &value.ty, value.span, what);
            let (array, value) = (Box::new(base), Box::new(value));
            return node(ExpKind::Update { array, indices, value }, ty, span);
        }
        // `a with [i].x = v` is `let a' = a let i' = i in a' with [i'] = (a'[i'] with x = v)`.
        let (pat, var) = self.infer.hidden_param(ty.clone(), base.span);
        let mut binds = vec![Bind::Pat { sizes: Vec::new(), pat, rhs: base }];
        let indices: Vec<Index> = indices
            .into_iter()
            .map(|index| match index {
                Index::At(e) => Index::At(self.infer.bind_to_variable(e, &mut binds)),
                Index::Slice { from, to, step } => {
                    let mut part = |e: Option<Exp>| e.map(|e| self.infer.bind_to_variable(e, &mut binds));
                    let (from, to) = (part(from), part(to));
                    Index::Slice { from, to, step: part(step) }
                }
            })
            .collect();
        let array = Box::new(var.clone());
        let old = node(ExpKind::Index { array, indices: indices.clone() }, slot, *at);
        let value = Box::new(self.update(old, rest, value, span));
        let array = Box::new(var);
        let body = node(ExpKind::Update { array, indices, value }, ty.clone(), span);
        node(ExpKind::Let { binds, body: Box::new(body) }, ty, span)
    }
}

/// The record type with the type of the field at `path` replaced.
fn replace_field(ty: &Ty, path: &[Name], new: &Ty) -> Ty {
    let Some((first, rest)) = path.split_first() else {
        return new.clone();
    };
    match ty {
        Ty::Tuple(parts) => {
            let at = first.parse::<usize>().ok();
            let parts = parts.iter().enumerate();
            Ty::Tuple(
                parts
                    .map(|(i, t)| if Some(i) == at { replace_field(t, rest, new) } else { t.clone() })
                    .collect(),
            )
        }
        Ty::Record(fields) => Ty::Record(
            fields
                .iter()
                .map(|(l, t)| {
                    let t = if l == first { replace_field(t, rest, new) } else { t.clone() };
                    (Arc::clone(l), t)
                })
                .collect(),
        ),
        // An open type has no known sizes.
        _ => ty.clone(),
    }
}
/// `a - b` as a size.
fn difference(a: &Exp, b: &Exp) -> Option<Dim> {
    let (a, b) = (crate::sizes::from_exp(a)?, crate::sizes::from_exp(b)?);
    Some(crate::sizes::simplified_size_op(BinOp::Sub, a, b))
}

/// The size of a slice, if it can be computed from the parts; `None` otherwise.
fn slice_size(dim: &Dim, from: Option<&Exp>, to: Option<&Exp>, step: Option<&Exp>) -> Option<Dim> {
    let step = match step.map(|e| &e.kind) {
        None => 1,
        Some(ExpKind::Lit(Scalar::I64(n), _)) => *n,
        Some(ExpKind::Apply { fun, args, .. }) => match (&fun.kind, args.as_slice()) {
            (ExpKind::Operator(OverloadedOp::Neg), [arg]) => match arg.kind {
                ExpKind::Lit(Scalar::I64(n), _) => n.wrapping_neg(),
                _ => return None,
            },
            _ => return None,
        },
        Some(_) => return None,
    };
    match (step, from, to) {
        (1 | -1, None, None) => Some(dim.clone()),
        (1, _, _) => {
            let from = from.map_or(Some(Dim::Const(0)), crate::sizes::from_exp)?;
            let to = to.map_or_else(|| Some(dim.clone()), crate::sizes::from_exp)?;
            Some(crate::sizes::simplified_size_op(BinOp::Sub, to, from))
        }
        _ => None,
    }
}
