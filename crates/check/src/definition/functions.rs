//! Functions and local bindings: lambdas, `let`, definitions, generalisation.

use crate::definition::DefinitionChecker;
use crate::definition::ambiguous::SizeOrigin;
use crate::definition::pats::Bound;
use crate::definition::size_params::bound_sizes;
use crate::env::{Entry, Scheme, Target, TypeParam, ValueEntry};
use crate::index::ItemKind;
use crate::infer::{
    BoundSizes, FreeVars, Origin, Sizes, VarState, arrow, error_node, node, simple_name, sizes_of,
};
use crate::subst::Subst;
use crate::tast::{Bind, Def, Dim, Exp, ExpKind, Lambda, Pat, PatKind, RetType, Ty, Uniq, VarId};
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{self, Ident, LetKind, TypeExp};
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// The parts of a function definition, local or at top level.
pub(crate) struct FunctionSyntax<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) type_params: &'a [ast::TypeParam],
    pub(crate) params: &'a [ast::Pat],
    pub(crate) ret: Option<&'a TypeExp>,
    pub(crate) body: &'a ast::Exp,
    /// False if the body has a syntax error.
    pub(crate) complete: bool,
    pub(crate) attrs: &'a [ast::Attr],
    pub(crate) top: bool,
    /// True if the function, if it has parameters, is in scope of itself.
    pub(crate) recursive: bool,
}

impl<'a> DefinitionChecker<'_, 'a> {
    /// Checks `\params: ret -> body`.
    pub(super) fn lambda(
        &mut self,
        params: &'a [ast::Pat],
        ret: Option<&'a TypeExp>,
        body: &'a ast::Exp,
        span: Span,
    ) -> Exp {
        let mark = self.infer.tables.vars.len();
        let (params, body, ret) = self.scoped(span, |c| {
            let mut bound = Vec::new();
            let params = c.param_patterns(params, &mut bound);
            let ret = ret.map(|te| c.result_type(te, &params));
            let body = c.exp(body);
            let ret = c.unify_result(ret, &body, mark);
            (params, body, ret)
        });
        let (ret, ty) = self.infer.exported_function_type(&params, ret, span);
        node(ExpKind::Lambda(Arc::new(Lambda { params, ret, body })), ty, span)
    }

    /// Checks parameter patterns. Each type may mention earlier parameters, but no later ones.
    fn param_patterns(&mut self, sources: &'a [ast::Pat], bound: &mut Bound) -> Vec<Pat> {
        let mut out = Vec::with_capacity(sources.len());
        let outer = std::mem::replace(&mut self.variables, ItemKind::Parameter);
        for source in self.cx.reports.params(sources) {
            out.push(self.pat(source, None, bound));
            self.infer.depth += 1;
        }
        self.variables = outer;
        out
    }

    /// Checks the declared type of a result. It may not mention components of parameters, which
    /// have no name for the caller.
    fn result_type(&mut self, te: &'a TypeExp, params: &[Pat]) -> RetType {
        let ret = self.declared_result_type(te);
        let mut inner = Vec::new();
        for pat in params.iter().filter(|pat| simple_name(pat).is_none()) {
            crate::visit::bound_vars(pat, &mut |id, _| inner.push(id));
        }
        let mentioned = FreeVars::of(&self.infer.tables.resolve(&ret.ty)).dims;
        if let Some(var) = mentioned.iter().find(|var| inner.contains(var)) {
            let data = self.infer.tables.var(*var);
            let (name, binding) = (Arc::clone(&data.name), data.span);
            let diag = Diagnostic::error(
                "component-in-type",
                format!("the declared result mentions \"{name}\", which is a component of a parameter"),
            )
            .at(te.span, "")
            .hint(format!("make \"{name}\" a separate parameter, or write `[]`"));
            self.cx.report(match binding {
                Some(span) => diag.also(span, "bound here"),
                None => diag,
            });
        }
        ret
    }

    /// Unifies the body with the declared result, or infers the result from the body.
    fn unify_result(&mut self, ret: Option<RetType>, body: &Exp, mark: usize) -> RetType {
        let Some(ret) = ret else {
            return self.infer.tables.inferred_ret(&body.ty, mark);
        };
        let (expected, open) = self.infer.open_ret(&ret);
        self.unify(
            &expected,
            &body.ty,
            tail_span(body),
            "Function body does not have expected type, the declared result type",
        );
        self.infer.close_ret(ret, open, mark)
    }

    // -------------------------------------------------------------------- let

    /// Checks `let ... in body`.
    pub(super) fn let_exp(&mut self, binds: &'a [ast::LetBind], body: &'a ast::Exp, span: Span) -> Exp {
        let outer = self.infer.depth;
        let (mark, scope) = (self.cx.env.enter(), self.cx.scope);
        let mut known = BoundSizes::default();
        let mut out = Vec::with_capacity(binds.len());
        for bind in binds {
            match &bind.kind {
                LetKind::Pat(sizes, pat, rhs) => {
                    let rhs = self.exp(rhs);
                    self.infer.depth += 1;
                    self.cx.scope = bind.span.at_end().to(span.at_end());
                    out.push(self.let_pat(sizes, pat, rhs, &mut known));
                }
                LetKind::Fun(fun) => {
                    let (def, scheme) = self.function(&FunctionSyntax {
                        name: &fun.name,
                        type_params: &fun.type_params,
                        params: &fun.params,
                        ret: fun.ret.as_ref(),
                        body: &fun.body,
                        complete: true,
                        attrs: &[],
                        top: false,
                        recursive: false,
                    });
                    self.infer.depth += 1;
                    self.cx.scope = bind.span.at_end().to(span.at_end());
                    self.cx.define(&fun.name, ItemKind::Local);
                    self.record_binding(&fun.name, false);
                    self.functions.note(self.infer.tables, def.var, &scheme);
                    let entry = ValueEntry {
                        target: Target::Var(def.var),
                        scheme: Arc::new(scheme),
                        instance_args: None,
                        span: Some(def.span),
                    };
                    self.cx.env.bind_term(fun.name.name, Entry::Value(Rc::new(entry)));
                    out.push(Bind::Fun(Arc::new(def)));
                }
                LetKind::Update(name, path, value) => {
                    out.push(self.let_update(name, path, value, bind.span, span));
                    self.infer.depth += 1;
                }
            }
        }
        let body = self.exp(body);
        self.infer.depth = outer;
        self.cx.env.leave(mark);
        self.cx.scope = scope;
        let ty = self.infer.exit_scope(&body.ty, &mut known, span);
        node(ExpKind::Let { binds: out, body: Box::new(body) }, ty, span)
    }

    fn let_pat(&mut self, sizes: &'a [Ident], pat: &'a ast::Pat, rhs: Exp, known: &mut BoundSizes) -> Bind {
        let mut vars = Vec::new();
        let mut open = Subst::default();
        for ident in sizes {
            let name = self.cx.symbol_text(ident.name);
            let var = self.infer.new_value(Arc::clone(&name), ident.span);
            self.bind_local(ident, ItemKind::Size, var, Ty::I64);
            let dim = (self.infer.tables).new_open(name, Origin::Plain, self.infer.depth);
            open.dims.push((var, Dim::Var(dim)));
            vars.push(var);
        }
        let mut bound = sizes.iter().map(|ident| (ident.name, ident.span)).collect();
        let is_any = matches!(pat.kind, ast::PatKind::Id(_) | ast::PatKind::Wild);
        let pat = self.pat(pat, Some(&rhs.ty), &mut bound);
        let pat_ty = self.infer.tables.resolve(&pat.ty);
        let expected = open.ty(&pat_ty);
        self.require_sizes_of(&expected, pat.span, SizeOrigin::Pattern);
        // A variable or wildcard has the type of the value.
        if !is_any {
            self.unify(
                &expected,
                &rhs.ty,
                rhs.span,
                "the value cannot match the pattern: their types differ",
            );
        }
        let carried = crate::carried_sizes::CarriedSizes::of(&pat_ty);
        for ((var, dim), ident) in open.dims.iter().zip(sizes) {
            if carried.mentions_only(*var) {
                let name = self.cx.symbol_text(ident.name);
                self.cx.report(
                    Diagnostic::error(
                        "size-not-carried",
                        format!("Cannot bind [{name}]: it is not the size of any array here"),
                    )
                    .at(ident.span, "")
                    .note("the size occurs only in function types or in expressions"),
                );
            } else if !crate::definition::types::mentions(&pat_ty, *var) {
                let name = self.cx.symbol_text(ident.name);
                self.cx.error(
                    "unused-size-parameter",
                    ident.span,
                    format!("Size [{name}] unused: no type in the pattern mentions it"),
                );
            }
            known.insert(*var, &self.infer.tables.resolve_dim(dim));
        }
        // A variable of type `i64` stands for the size expression that it is bound to.
        if let PatKind::Var(id) = pat.kind
            && self.infer.tables.resolve_head(&pat.ty) == Ty::I64
            && let Some(dim) = crate::sizes::from_exp(&rhs)
        {
            known.insert(id, &self.infer.tables.resolve_dim(&dim));
        }
        Bind::Pat { sizes: vars, pat, rhs }
    }

    /// Checks `let a[i] = v`, which binds a new `a`.
    fn let_update(
        &mut self,
        name: &'a Ident,
        path: &'a [ast::PathStep],
        value: &'a ast::Exp,
        span: Span,
        scope: Span,
    ) -> Bind {
        let text = self.cx.symbol_text(name.name);
        let base = match self.cx.find_term(&(*name).into()) {
            Some((entry, _)) => self.reference(&entry, name.span),
            None => error_node(name.span),
        };
        let rhs = self.update(base, path, value, span);
        self.record_binding(name, true);
        let id = self.infer.tables.new_var(text, VarState::Value, self.infer.depth + 1);
        self.cx.scope = span.at_end().to(scope.at_end());
        self.bind_local(name, ItemKind::Local, id, rhs.ty.clone());
        let pat = Pat { kind: PatKind::Var(id), ty: rhs.ty.clone(), consumes: Uniq::None, span: name.span };
        Bind::Pat { sizes: Vec::new(), pat, rhs }
    }

    // ------------------------------------------------------------ definitions

    /// Checks a function or constant. Returns the definition and its generalised type.
    pub(crate) fn function(&mut self, source: &FunctionSyntax<'a>) -> (Def, Scheme) {
        let mark = self.infer.tables.vars.len();
        let ty_mark = self.infer.tables.ty_vars.len();
        let deferred = self.infer.deferred();
        let errors = self.cx.reports.error_count();
        let name = self.cx.symbol_text(source.name.name);
        let var = self.infer.new_value(Arc::clone(&name), source.name.span);
        if source.ret.is_some() {
            self.declared.push(var);
        }
        if source.top {
            self.current_def = Some(var);
        }
        let scope = source.name.span.to(source.body.span);
        let (type_params, params, mut ret, body) = self.scoped(scope, |c| {
            let type_params = c.type_params(source.type_params);
            let mut bound = bound_sizes(source.type_params);
            let params = c.param_patterns(source.params, &mut bound);
            let declared = source.ret.map(|te| c.result_type(te, &params));
            let shadowed = bound.iter().any(|(name, _)| *name == source.name.name);
            if source.recursive && !params.is_empty() && !shadowed {
                c.bind_recursive(source.name, var, &type_params, &params, declared.as_ref());
            }
            let found = c.cx.reports.error_count();
            let mut body = c.exp(source.body);
            if !source.complete {
                body.ty = Ty::ERROR;
            }
            if source.recursive
                && !params.is_empty()
                && declared.is_none()
                && !c.infer.infers_sizes()
                && let Some(Entry::Value(entry)) = c.cx.env.term(source.name.name).cloned()
                && matches!(entry.target, Target::Var(v) if v == var)
            {
                c.unify_recursive_result(&entry.scheme.ty, params.len(), &body);
            }
            let is_declared = declared.is_some();
            let mut ret = c.unify_result(declared, &body, mark);
            if is_declared && c.infer.infers_sizes() {
                c.infer.close_anonymous(&params, &mut ret);
            }
            c.solve_deferred(deferred, source.top);
            if !source.complete {
                c.cx.reports.take_errors_since(found);
            }
            (type_params, params, ret, body)
        });
        if source.top {
            let mut public = FreeVars::default();
            let types = params.iter().map(|pat| &pat.ty).chain([&ret.ty]);
            for ty in types {
                crate::subst::map_ty(&self.infer.tables.resolve(ty), &mut public);
            }
            let errors = if source.complete { errors } else { usize::MAX };
            if let Some(ty) = self.default_types(ty_mark, errors, &public.types) {
                self.cx.defaulted.insert(var, ty);
            }
        }
        if params.is_empty() {
            // The unknown sizes of a constant are constants too.
            for ext in &ret.existential_sizes {
                self.infer.tables.var_mut(*ext).depth = self.infer.depth;
                self.infer.tables.var_mut(*ext).state = VarState::Unknown;
            }
        }
        let (new_ret, mut ty) = self.infer.exported_function_type(&params, ret, source.name.span);
        ret = new_ret;
        if params.is_empty() {
            ty = ret.ty.clone();
        }
        self.infer.tables.saw_sizes |= !sizes_of(&type_params).is_empty();
        if self.infer.infers_sizes() {
            self.check_size_params(&type_params, source, &params, &ret);
            self.check_existential_parameters(&name, &ret, &ty, source.name.span);
        }
        let scheme = self.infer.generalise(&type_params, &ty, source.top, mark);
        if source.recursive && self.needed_checks.recursive && self.infer.infers_sizes() {
            self.check_recursive_uses(var, &scheme, &body);
        }
        let def = Def {
            var,
            span: source.name.span,
            attrs: self.cx.symbols.attrs(source.attrs),
            ty_params: scheme.ty_params.clone(),
            size_params: scheme.size_params.clone(),
            params,
            ret,
            body,
            entry: false,
            is_prelude: self.cx.site.is_prelude(),
        };
        (def, scheme)
    }

    /// Reports a definition that returns a function with a parameter whose type has a size that the
    /// definition computes.
    fn check_existential_parameters(&mut self, name: &str, ret: &RetType, ty: &Ty, span: Span) {
        if ret.existential_sizes.is_empty() {
            return;
        }
        let needed = crate::carried_sizes::in_parameters(&ret.ty);
        let Some(var) = ret.existential_sizes.iter().find(|var| needed.contains(var)) else {
            return;
        };
        let size = Arc::clone(&self.infer.tables.var(*var).name);
        let shown = self.infer.tables.show(ty);
        self.cx.report(
            Diagnostic::error(
                "existential-parameter",
                format!(
                    "Cannot generalise \"{name}\": Unknown size \"{size}\" in parameter of the \
                     function that it returns"
                ),
            )
            .at(span, "")
            .note(format!("its type is \"{shown}\""))
            .note("the definition computes the size, so callers cannot make an argument of this size")
            .hint("let the function take an array of any size, and coerce it with `:>`"),
        );
    }

    /// Binds a function in its own scope, at the types of its parameters.
    ///
    /// With a declared result, it has its size parameters, and also the anonymous sizes of its
    /// parameters if all uses agree with the body's demands on them. Without one, nothing is known
    /// yet of the sizes of the result: each use has its own sizes, which are inferred there, or are
    /// unknown if an earlier walk found that they differ from those of the function.
    fn bind_recursive(
        &mut self,
        name: &Ident,
        var: VarId,
        type_params: &[TypeParam],
        params: &[Pat],
        ret: Option<&RetType>,
    ) {
        let mut named = self.infer.tables.named_params(params);
        let mut size_params = sizes_of(type_params);
        let ret = match ret {
            // Sizes that the declaration leaves to the body may differ at each call.
            Some(ret) if self.infer.infers_sizes() => {
                if !self.infer.walk_options().unknown_results {
                    for (_, ty, _) in &mut named {
                        *ty = self.infer.abstract_open_sizes(ty, &mut size_params);
                    }
                }
                let mut ret = ret.clone();
                let resolved = self.infer.tables.resolve(&ret.ty);
                ret.ty = self.infer.abstract_open_sizes(&resolved, &mut ret.existential_sizes);
                ret
            }
            Some(ret) => ret.clone(),
            None => {
                let ret = self.infer.fresh_existential(name.span);
                if self.infer.infers_sizes() {
                    size_params = Vec::new();
                    for (_, ty, _) in &mut named {
                        *ty = self.infer.abstract_sizes(ty, &mut size_params);
                    }
                    let results = self.infer.walk_options().unknown_results;
                    let mut sizes = Vec::new();
                    let ty = self.infer.abstract_sizes(&ret, &mut sizes);
                    let ext = if results { sizes.clone() } else { Vec::new() };
                    if !results {
                        size_params.extend(sizes);
                    }
                    RetType { existential_sizes: ext, ..RetType::plain(ty) }
                } else {
                    RetType::plain(ret)
                }
            }
        };
        let scheme = Scheme { ty_params: Vec::new(), size_params, ty: arrow(&named, ret) };
        let entry = ValueEntry {
            target: Target::Var(var),
            scheme: Arc::new(scheme),
            instance_args: None,
            span: Some(name.span),
        };
        self.cx.define(name, ItemKind::Value);
        self.cx.env.bind_term(name.name, Entry::Value(Rc::new(entry)));
    }

    /// Records if the sizes inferred at a recursive use are not those of the function.
    fn check_recursive_uses(&mut self, var: VarId, scheme: &Scheme, body: &Exp) {
        let mut uses = Vec::new();
        crate::visit::for_each_exp(body, &mut |exp| {
            if let ExpKind::Var { id, .. } = &exp.kind
                && *id == var
            {
                uses.push((exp.ty.clone(), exp.span));
            }
        });
        // The sizes of a use belong to its own scope.
        let outer = std::mem::replace(&mut self.infer.depth, crate::infer::INNERMOST);
        for (ty, span) in uses {
            let mut subst = Subst::default();
            for size in &scheme.size_params {
                subst.dims.push((*size, self.infer.fresh_dim("n")));
            }
            let function = subst.ty(&scheme.ty);
            let result = self.infer.unifying(Sizes::Strict, span, |u| u.unify(&ty, &function));
            self.recursive_sizes_differ |= result.is_err();
        }
        self.infer.depth = outer;
    }

    /// Unifies the result type assumed for recursive calls with the type of the body.
    fn unify_recursive_result(&mut self, ty: &Ty, arity: usize, body: &Exp) {
        let mut ty = ty.clone();
        for _ in 0..arity {
            match ty {
                Ty::Arrow(arrow) => ty = arrow.ret.ty.clone(),
                _ => return,
            }
        }
        self.unify(
            &ty,
            &body.ty,
            body.span,
            "Function body does not have expected type, the result type of its recursive calls",
        );
    }
}

/// The span of the expression that yields the value, past bindings and attributes.
fn tail_span(exp: &Exp) -> Span {
    let mut exp = exp;
    while let ExpKind::Let { body, .. } | ExpKind::Attr(_, body) = &exp.kind {
        exp = body;
    }
    exp.span
}
