//! Type expressions.
//!
//! The meaning of an anonymous size `[]` depends on the context: a size to be inferred in patterns
//! and ascriptions, an existential size in results.

use crate::carried_sizes::CarriedSizes;
use crate::definition::DefinitionChecker;
use crate::definition::type_rules::{is_in_array, not_carried};
use crate::env::{NamedType, Scheme, TypeParam};
use crate::index::ItemKind;
use crate::infer::{FreeVars, Origin, VarState, less_lifted};
use crate::subst::Subst;
use crate::tast::{ArrowTy, Dim, Name, RetType, Ty, Uniq, VarId};
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{self, Liftedness, QualName, TypeArg, TypeExp, TypeExpKind};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The maximum number of constructors of a sum type.
const MAX_CONSTRUCTORS: usize = 256;

/// The treatment of anonymous and existential sizes.
pub(super) enum AnonymousSizes {
    /// They are open sizes.
    Infer,
    /// They are existential sizes, collected here.
    Collect(Vec<VarId>),
    /// In the result of a definition: anonymous ones are open, existential ones are collected here.
    Result(Vec<VarId>),
    /// They are an error: sizes must be named.
    Forbid,
}

impl AnonymousSizes {
    /// The existential sizes collected.
    fn collected(self) -> Vec<VarId> {
        match self {
            Self::Collect(sizes) | Self::Result(sizes) => sizes,
            Self::Infer | Self::Forbid => Vec::new(),
        }
    }
}

impl<'a> DefinitionChecker<'_, 'a> {
    /// Checks a type expression. Returns the type and its uniqueness.
    pub(super) fn type_exp(&mut self, te: &'a TypeExp, anon: &mut AnonymousSizes) -> (Ty, Uniq) {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || self.type_exp_inner(te, anon))
    }

    fn type_exp_inner(&mut self, te: &'a TypeExp, anon: &mut AnonymousSizes) -> (Ty, Uniq) {
        match &te.kind {
            TypeExpKind::Parens(inner) => self.type_exp(inner, anon),
            TypeExpKind::Unique(inner) => {
                let (ty, _) = self.type_exp(inner, anon);
                if !crate::post_inference::warnings::may_hold_array(&ty) {
                    let message =
                        format!("Declaring \"{}\" as unique has no effect", self.infer.tables.show(&ty));
                    self.cx.warn(
                        Diagnostic::warning("useless-unique", message)
                            .at(te.span, "")
                            .note("only arrays are consumed"),
                    );
                }
                (ty, Uniq::All)
            }
            TypeExpKind::Var(name) => (self.apply_type(name, &[], te.span, anon), Uniq::None),
            TypeExpKind::Apply(head, args) => {
                if let TypeExpKind::Var(name) = &strip(head).kind {
                    return (self.apply_type(name, args, te.span, anon), Uniq::None);
                }
                self.cx.error("not-a-type-constructor", head.span, "only a named type takes arguments");
                (self.type_exp(head, anon).0, Uniq::None)
            }
            TypeExpKind::Tuple(parts) => {
                let (tys, uniqs): (Vec<Ty>, Vec<Uniq>) =
                    parts.iter().map(|part| self.type_exp(part, anon)).unzip();
                (Ty::Tuple(Arc::from(tys)), Uniq::of_parts(uniqs))
            }
            TypeExpKind::Record(fields) => {
                let mut parts: Vec<(Name, Ty, Uniq)> = Vec::new();
                for (label, field) in fields {
                    let (ty, uniq) = self.type_exp(field, anon);
                    let name = self.cx.symbol_text(label.name);
                    if parts.iter().any(|(l, ..)| *l == name) {
                        self.cx.error(
                            "duplicate-field",
                            label.span,
                            format!("Duplicate field: \"{name}\" occurs twice in this record type"),
                        );
                    } else {
                        parts.push((name, ty, uniq));
                    }
                }
                sort_labels(&mut parts, |part| &part.0);
                let uniq = Uniq::of_parts(parts.iter().map(|(.., u)| u.clone()).collect());
                let ty = record(parts.into_iter().map(|(l, t, _)| (l, t)).collect());
                self.record_labels(fields.iter().map(|(label, _)| label), &ty, true);
                (ty, uniq)
            }
            TypeExpKind::Array(size, elem) => {
                let dim = self.size(size, anon);
                let source = elem;
                let (elem, uniq) = self.type_exp(elem, anon);
                if !self.cx.check_element(source) {
                    self.require_lifted(
                        &elem,
                        Liftedness::Unlifted,
                        te.span,
                        "Cannot create array with elements of lifted type",
                    );
                }
                let uniq = if uniq == Uniq::None { Uniq::None } else { Uniq::All };
                (Ty::array(dim, elem), uniq)
            }
            TypeExpKind::Sum(constrs) => {
                let mut out: Vec<(Name, Arc<[Ty]>)> = Vec::new();
                for constr in constrs {
                    let name = self.cx.symbol_text(constr.name.name);
                    let payload: Vec<Ty> = constr.payload.iter().map(|t| self.type_exp(t, anon).0).collect();
                    if out.iter().any(|(l, _)| *l == name) {
                        self.cx.error(
                            "duplicate-constructor",
                            constr.name.span,
                            format!("Duplicate constructor: \"#{name}\" occurs twice in this type"),
                        );
                    } else {
                        out.push((name, Arc::from(payload)));
                    }
                }
                if out.len() > MAX_CONSTRUCTORS {
                    self.cx.report(
                        Diagnostic::error(
                            "too-many-constructors",
                            format!("this sum type has {} constructors", out.len()),
                        )
                        .at(te.span, "")
                        .note(format!("a sum type has at most {MAX_CONSTRUCTORS} constructors"))
                        .hint("move some constructors into another sum type"),
                    );
                }
                out.sort_by(|a, b| a.0.cmp(&b.0));
                let ty = Ty::Sum(Arc::from(out));
                self.record_labels(constrs.iter().map(|constr| &constr.name), &ty, true);
                (ty, Uniq::None)
            }
            TypeExpKind::Arrow(name, param, ret) => {
                let mut inner =
                    if self.cx.site.is_spec() { AnonymousSizes::Forbid } else { AnonymousSizes::Infer };
                let (param, uniq) = self.type_exp(param, &mut inner);
                let (var, ret) = self.scoped(te.span, |c| {
                    let var = name.as_ref().map(|ident| {
                        c.cx.check_parameter_name(ident, ret);
                        let text = c.cx.symbol_text(ident.name);
                        let var = c.infer.new_value(text, ident.span);
                        c.bind_local(ident, ItemKind::Parameter, var, param.clone());
                        var
                    });
                    (var, c.ret_type(ret))
                });
                let used = var.filter(|v| mentions(&self.infer.tables.resolve(&ret.ty), *v));
                (Ty::Arrow(Arc::new(ArrowTy { name: used, param, consumes: uniq, ret })), Uniq::None)
            }
            TypeExpKind::Exists(names, inner) => {
                let (mark, scope) = (self.cx.env.enter(), self.cx.scope);
                self.cx.scope = te.span;
                let mut vars = Vec::with_capacity(names.len());
                for ident in names {
                    let text = self.cx.symbol_text(ident.name);
                    let var = self.existential(text, anon, ident.span);
                    self.bind_local(ident, ItemKind::Size, var, Ty::I64);
                    vars.push(var);
                }
                let result = self.type_exp(inner, anon);
                self.cx.env.leave(mark);
                self.cx.scope = scope;
                let carried = CarriedSizes::of(&self.infer.tables.resolve(&result.0)).carried;
                for (ident, var) in names.iter().zip(vars) {
                    if !carried.contains(&var) {
                        let text = self.cx.symbol_text(ident.name);
                        let message = format!("Existential size \"{text}\" is not the size of any array");
                        self.cx.report(not_carried(message, ident.span, &text));
                    }
                }
                result
            }
        }
    }

    /// The type of a result; its anonymous sizes are existential.
    pub(super) fn ret_type(&mut self, te: &'a TypeExp) -> RetType {
        let mut anon = AnonymousSizes::Collect(Vec::new());
        let (ty, unique) = self.type_exp(te, &mut anon);
        RetType { existential_sizes: anon.collected(), ty, unique }
    }

    /// The declared type of the result of a definition or lambda.
    pub(super) fn declared_result_type(&mut self, te: &'a TypeExp) -> RetType {
        let mut anon = AnonymousSizes::Result(Vec::new());
        let (ty, unique) = self.type_exp(te, &mut anon);
        RetType { existential_sizes: anon.collected(), ty, unique }
    }

    fn existential(&mut self, name: Name, anon: &mut AnonymousSizes, span: Span) -> VarId {
        match anon {
            AnonymousSizes::Infer | AnonymousSizes::Forbid => {
                if matches!(anon, AnonymousSizes::Forbid) {
                    self.cx.error("anonymous-size", span, "this size must be non-anonymous: give it a name");
                }
                (self.infer.tables).new_open(name, Origin::Plain, self.infer.depth)
            }
            AnonymousSizes::Collect(ext) | AnonymousSizes::Result(ext) => {
                let var = self.infer.tables.new_var(name, VarState::Value, self.infer.depth + 1);
                ext.push(var);
                var
            }
        }
    }

    /// Checks `[e]` or `[]` in a type.
    pub(super) fn size(&mut self, size: &'a ast::SizeExp, anon: &mut AnonymousSizes) -> Dim {
        let Some(exp) = &size.size else {
            if let AnonymousSizes::Result(_) = anon {
                return self.infer.fresh_dim("k");
            }
            let var = self.existential(Arc::from("k"), anon, size.span);
            self.infer.tables.var_mut(var).span = Some(size.span);
            return Dim::Var(var);
        };
        let exp = self.exp(exp);
        self.unify(&Ty::I64, &exp.ty, exp.span, "a size must be of type `i64`");
        self.cx.check_size_exp(&exp);
        match crate::sizes::from_exp(&exp) {
            Some(dim) => dim,
            None => Dim::Any,
        }
    }

    /// A named type with its arguments.
    fn apply_type(
        &mut self,
        name: &'a QualName,
        args: &'a [TypeArg],
        span: Span,
        anon: &mut AnonymousSizes,
    ) -> Ty {
        let Some(abbr) = self.cx.find_type(name) else {
            for arg in args {
                if let TypeArg::Type(te) = arg {
                    self.type_exp(te, anon);
                }
            }
            return Ty::ERROR;
        };
        if abbr.params.len() != args.len() {
            let text = self.cx.symbol_text(name.name.name);
            self.cx.error(
                "type-arguments",
                span,
                format!(
                    "the type \"{text}\" takes {} argument{}, {} given",
                    abbr.params.len(),
                    if abbr.params.len() == 1 { "" } else { "s" },
                    args.len()
                ),
            );
            return Ty::ERROR;
        }
        let mut subst = Subst::default();
        for (param, arg) in abbr.params.iter().zip(args) {
            match (param, arg) {
                (TypeParam::Size(var), TypeArg::Size(size)) => {
                    let dim = self.size(size, anon);
                    if let (None, Dim::Var(anonymous)) = (&size.size, &dim) {
                        self.size_args.push(*anonymous);
                    }
                    subst.dims.push((*var, dim));
                }
                (TypeParam::Type(var, lifted), TypeArg::Type(te)) => {
                    let (ty, _) = self.type_exp(te, anon);
                    // An argument that is not used in an array only makes the type as lifted as
                    // itself.
                    let limit = if is_in_array(&self.infer.tables.finish_ty(&abbr.ty), *var) {
                        *lifted
                    } else {
                        Liftedness::Lifted
                    };
                    let what = "the type argument is lifted: the type may not contain size-lifted types or \
                                functions";
                    self.require_lifted(&ty, limit, te.span, what);
                    subst.types.push((*var, ty));
                }
                (TypeParam::Size(var), TypeArg::Type(te)) => {
                    self.cx.error("type-arguments", te.span, "expected a size in brackets");
                    subst.dims.push((*var, Dim::Any));
                }
                (TypeParam::Type(var, _), TypeArg::Size(size)) => {
                    self.cx.error("type-arguments", size.span, "expected a type, found a size");
                    subst.types.push((*var, Ty::ERROR));
                }
            }
        }
        for var in &abbr.ext {
            let name = Arc::clone(&self.infer.tables.var(*var).name);
            let new = self.existential(name, anon, span);
            subst.dims.push((*var, Dim::Var(new)));
        }
        subst.ty(&abbr.ty)
    }

    /// Makes size and type parameters, and binds them in the current scope.
    pub(crate) fn type_params(&mut self, params: &[ast::TypeParam]) -> Vec<TypeParam> {
        let mut seen: Vec<(syntax::symbol::Symbol, bool)> = Vec::new();
        let mut out = Vec::new();
        for param in params {
            let name = self.cx.symbol_text(param.name.name);
            let is_size = param.kind == ast::TypeParamKind::Size;
            if seen.contains(&(param.name.name, is_size)) {
                self.cx.error(
                    "duplicate-name",
                    param.span,
                    format!("the parameter \"{name}\" was previously bound: it is also bound here"),
                );
            }
            seen.push((param.name.name, is_size));
            match param.kind {
                ast::TypeParamKind::Size => {
                    let var = self.infer.new_value(name, param.name.span);
                    self.bind_local(&param.name, ItemKind::Size, var, Ty::I64);
                    out.push(TypeParam::Size(var));
                }
                ast::TypeParamKind::Type(lifted) => {
                    let var = self.infer.tables.new_ty_var(name, true, lifted, self.infer.depth);
                    self.cx.define(&param.name, ItemKind::TypeParameter);
                    let span = Some(param.name.span);
                    let abbr = NamedType { lifted, span, ..NamedType::plain(Ty::Var(var)) };
                    self.cx.env.bind_type(param.name.name, Rc::new(abbr));
                    self.infer.note_param(var);
                    out.push(TypeParam::Type(var, lifted));
                }
            }
        }
        out
    }

    /// The type of a `val` specification.
    pub(crate) fn val_spec(&mut self, type_params: &'a [ast::TypeParam], ty: &'a TypeExp) -> Scheme {
        self.scoped(ty.span, |c| {
            let params = c.type_params(type_params);
            let mut anon = AnonymousSizes::Collect(Vec::new());
            let (ty, _) = c.type_exp(ty, &mut anon);
            let ty = c.infer.tables.exported_type(&ty);
            for var in anon.collected() {
                c.infer.tables.var_mut(var).state = VarState::Unknown;
            }
            let mut scheme = Scheme::mono(ty);
            for param in params {
                match param {
                    TypeParam::Type(var, _) => scheme.ty_params.push(var),
                    TypeParam::Size(var) => scheme.size_params.push(var),
                }
            }
            scheme
        })
    }

    /// The type that replaces an abstract one of a module type (`with`).
    pub(crate) fn with_type(&mut self, with: &'a ast::TypeRef) -> NamedType {
        self.scoped(with.span, |c| {
            let params = c.type_params(&with.params);
            let mut anon = AnonymousSizes::Collect(Vec::new());
            let (ty, _) = c.type_exp(&with.body, &mut anon);
            let ext = anon.collected();
            let ty = c.infer.tables.resolve(&ty);
            NamedType { params, ext, lifted: Liftedness::Lifted, ..NamedType::plain(ty) }
        })
    }

    /// Checks `type t [n] 'a = te`.
    pub(crate) fn type_bind(&mut self, bind: &'a ast::TypeBind) -> NamedType {
        let abbr = self.scoped(bind.body.span, |c| {
            let params = c.type_params(&bind.params);
            let mut anon = AnonymousSizes::Collect(Vec::new());
            let (ty, _) = c.type_exp(&bind.body, &mut anon);
            let ty = c.infer.tables.resolve(&ty);
            let ext = anon.collected();
            // The declared liftedness of a name counts, also if its definition is known and less
            // lifted.
            let written = c.cx.lifted_as_written(&bind.body);
            if less_lifted(written, bind.lifted) != written {
                let what = if written == Liftedness::SizeLifted {
                    "Non-lifted type abbreviations may not contain size-lifted types"
                } else {
                    "Non-lifted type abbreviations may not contain functions"
                };
                c.require_lifted(&ty, bind.lifted, bind.body.span, what);
            }
            let span = Some(bind.name.span);
            NamedType { params, ext, ty, lifted: bind.lifted, external_name: None, span }
        });
        let name = self.cx.symbol_text(bind.name.name);
        if bind.lifted == Liftedness::Unlifted && !abbr.ext.is_empty() {
            self.cx.report(
                Diagnostic::error(
                    "existential-size",
                    format!("the type \"{name}\" has sizes that are not parameters"),
                )
                .at(bind.body.span, "")
                .hint(format!("declare it with `type~ {name}`, or give it a size parameter")),
            );
        }
        let carried = CarriedSizes::of(&abbr.ty).carried;
        // As in the reference, an anonymous size argument is exempt: it may occur anywhere in the
        // other type.
        let is_lost = |var: &VarId| {
            let anonymous = abbr.ext.contains(var) || self.infer.tables.is_open(*var);
            anonymous && !carried.contains(var) && !self.size_args.contains(var)
        };
        let named_in = |te: &TypeExp| matches!(strip(te).kind, TypeExpKind::Exists(..));
        if FreeVars::of(&abbr.ty).dims.iter().any(is_lost) && !named_in(&bind.body) {
            let message = format!(
                "the type \"{name}\" has an anonymous size that is not used constructively, as the \
                 size of an array (anonymous-nonconstructive)"
            );
            self.cx.report(not_carried(message, bind.body.span, "n"));
        }
        let mentioned = FreeVars::of(&abbr.ty);
        for (param, source) in abbr.params.iter().zip(&bind.params) {
            if let TypeParam::Size(var) = param
                && !mentioned.dims.contains(var)
            {
                let text = self.cx.symbol_text(source.name.name);
                self.cx.error(
                    "unused-size-parameter",
                    source.span,
                    format!("Size parameter \"[{text}]\" is not used in the type"),
                );
            }
        }
        abbr
    }
}

/// The type expression without parentheses.
pub(super) fn strip(te: &TypeExp) -> &TypeExp {
    let mut te = te;
    while let TypeExpKind::Parens(inner) = &te.kind {
        te = inner;
    }
    te
}

/// Returns true if a resolved type mentions a size.
pub(super) fn mentions(ty: &Ty, var: VarId) -> bool {
    FreeVars::of(ty).dims.contains(&var)
}

/// Sorts by label: numbers by value, before names.
pub(super) fn sort_labels<T>(parts: &mut [T], label: impl Fn(&T) -> &Name) {
    parts.sort_by(|a, b| {
        let key = |l: &str| l.parse::<u64>().map_or((1, 0), |n| (0, n));
        let (a, b) = (label(a), label(b));
        key(a).cmp(&key(b)).then_with(|| a.cmp(b))
    });
}

/// A record type; a tuple if the labels are `0..n` and there is not exactly one.
pub(super) fn record(mut fields: Vec<(Name, Ty)>) -> Ty {
    sort_labels(&mut fields, |field| &field.0);
    let numbered = fields.iter().enumerate().all(|(i, (l, _))| **l == *i.to_string());
    if numbered && fields.len() != 1 {
        Ty::Tuple(fields.into_iter().map(|(_, ty)| ty).collect())
    } else {
        Ty::Record(Arc::from(fields))
    }
}
