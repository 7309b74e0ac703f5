//! Edit sites concerning sizes: the spans of sizes in types, of coercions, size parameters,
//! arguments, branches and bindings, grouped by declaration.

use std::ops::Range;
use syntax::ast::{
    Case, Decl, DeclKind, DimIndex, Exp, ExpKind, Field, LetKind, LoopForm, ModExp, ModExpKind, ModTypeExp,
    ModTypeExpKind, Pat, PatKind, PathStep, Prog, SizeExp, Spec, SpecKind, TypeArg, TypeExp, TypeExpKind,
    TypeParam, TypeParamKind,
};
use syntax::span::Span;

/// A byte range of the program.
pub type ByteRange = Range<usize>;

/// A part of the program that an edit can change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditSite {
    /// A size in a type, with its brackets.
    Size(ByteRange),
    /// The whole of `e :> t` or `e : t`, and `e`.
    Typed(ByteRange, ByteRange),
    /// A size parameter or bound size, with its brackets.
    Param(ByteRange),
    /// A declared result type.
    Result(ByteRange),
    /// The arguments of an application, or the elements of a tuple, array, record or constructor.
    Args(Vec<ByteRange>),
    /// The branches of an `if`, or the bodies of cases.
    Branches(Vec<ByteRange>),
    /// Consecutive bindings.
    Bindings(Vec<ByteRange>),
    /// A use of a variable.
    Name(ByteRange),
}

/// The sites of a top-level declaration or of one in a module.
#[derive(Default, Debug)]
pub struct DeclSites {
    /// The sites, in unspecified order.
    pub sites: Vec<EditSite>,
    /// The names that are, or may be, bound to sizes.
    pub sizes: Vec<ByteRange>,
}

/// The nesting depth below which expressions and types are skipped.
const DEEPEST: u32 = 200;

/// Returns the groups of a program that have sites.
pub fn groups(prog: &Prog) -> Vec<DeclSites> {
    let mut walk = Walk { groups: Vec::new(), depth: 0 };
    prog.decls.iter().for_each(|decl| walk.decl(decl));
    walk.groups.retain(|group| !group.sites.is_empty());
    walk.groups
}

struct Walk {
    groups: Vec<DeclSites>,
    depth: u32,
}

impl Walk {
    fn site(&mut self, site: EditSite) {
        if let Some(group) = self.groups.last_mut() {
            group.sites.push(site);
        }
    }

    fn name(&mut self, span: Span) {
        if let Some(group) = self.groups.last_mut() {
            group.sizes.push(span.range());
        }
    }

    fn decl(&mut self, decl: &Decl) {
        self.groups.push(DeclSites::default());
        match &decl.kind {
            DeclKind::Val(bind) => {
                self.params(&bind.type_params);
                bind.params.iter().for_each(|pat| self.pat(pat));
                self.result(bind.ret.as_ref());
                self.exp(&bind.body);
            }
            DeclKind::Type(bind) => {
                self.params(&bind.params);
                self.ty(&bind.body);
            }
            DeclKind::Mod(bind) => {
                bind.params.iter().for_each(|param| self.mod_type(&param.ty));
                bind.ty.iter().for_each(|ty| self.mod_type(ty));
                self.mod_exp(&bind.body);
            }
            DeclKind::ModType(bind) => self.mod_type(&bind.body),
            DeclKind::Open(exp) => self.mod_exp(exp),
            DeclKind::Import(_) => {}
            DeclKind::Local(decl) => self.decl(decl),
        }
    }

    fn mod_exp(&mut self, exp: &ModExp) {
        match &exp.kind {
            ModExpKind::Var(_) | ModExpKind::Import(_) => {}
            ModExpKind::Parens(exp) => self.mod_exp(exp),
            ModExpKind::Decls(decls) => decls.iter().for_each(|decl| self.decl(decl)),
            ModExpKind::Ascript(exp, ty) => {
                self.mod_exp(exp);
                self.mod_type(ty);
            }
            ModExpKind::Lambda(param, _, exp) => {
                self.mod_type(&param.ty);
                self.mod_exp(exp);
            }
            ModExpKind::Apply(fun, arg) => {
                self.mod_exp(fun);
                self.mod_exp(arg);
            }
        }
    }

    fn mod_type(&mut self, ty: &ModTypeExp) {
        match &ty.kind {
            ModTypeExpKind::Var(_) => {}
            ModTypeExpKind::Parens(ty) => self.mod_type(ty),
            ModTypeExpKind::Specs(specs) => specs.iter().for_each(|spec| self.spec(spec)),
            ModTypeExpKind::With(ty, with) => {
                self.mod_type(ty);
                self.params(&with.params);
                self.ty(&with.body);
            }
            ModTypeExpKind::Arrow(_, from, to) => {
                self.mod_type(from);
                self.mod_type(to);
            }
        }
    }

    fn spec(&mut self, spec: &Spec) {
        self.groups.push(DeclSites::default());
        match &spec.kind {
            SpecKind::Val { type_params, ty, .. } => {
                self.params(type_params);
                self.ty(ty);
            }
            SpecKind::TypeAbbr(bind) => {
                self.params(&bind.params);
                self.ty(&bind.body);
            }
            SpecKind::Type { params, .. } => self.params(params),
            SpecKind::Mod(_, ty) | SpecKind::Include(ty) => self.mod_type(ty),
        }
    }

    fn params(&mut self, params: &[TypeParam]) {
        for param in params.iter().filter(|param| param.kind == TypeParamKind::Size) {
            self.site(EditSite::Param(param.span.range()));
            self.name(param.name.span);
        }
    }

    fn result(&mut self, ty: Option<&TypeExp>) {
        if let Some(ty) = ty {
            self.site(EditSite::Result(ty.span.range()));
            self.ty(ty);
        }
    }

    fn size(&mut self, size: &SizeExp) {
        self.site(EditSite::Size(size.span.range()));
        size.size.iter().for_each(|exp| self.exp(exp));
    }

    fn ty(&mut self, ty: &TypeExp) {
        if self.depth > DEEPEST {
            return;
        }
        self.depth += 1;
        match &ty.kind {
            TypeExpKind::Var(_) => {}
            TypeExpKind::Parens(ty) | TypeExpKind::Unique(ty) => self.ty(ty),
            TypeExpKind::Exists(names, ty) => {
                for name in names {
                    self.name(name.span);
                }
                self.ty(ty);
            }
            TypeExpKind::Tuple(tys) => tys.iter().for_each(|ty| self.ty(ty)),
            TypeExpKind::Record(fields) => fields.iter().for_each(|(_, ty)| self.ty(ty)),
            TypeExpKind::Array(size, ty) => {
                self.size(size);
                self.ty(ty);
            }
            TypeExpKind::Sum(cases) => {
                let payloads = cases.iter().flat_map(|case| &case.payload);
                payloads.for_each(|ty| self.ty(ty));
            }
            TypeExpKind::Arrow(name, from, to) => {
                name.iter().for_each(|name| self.name(name.span));
                self.ty(from);
                self.ty(to);
            }
            TypeExpKind::Apply(ty, args) => {
                self.ty(ty);
                for arg in args {
                    match arg {
                        TypeArg::Size(size) => self.size(size),
                        TypeArg::Type(ty) => self.ty(ty),
                    }
                }
            }
        }
        self.depth -= 1;
    }

    fn pat(&mut self, pat: &Pat) {
        if self.depth > DEEPEST {
            return;
        }
        self.depth += 1;
        match &pat.kind {
            PatKind::Id(name) => self.name(name.span),
            PatKind::Wild | PatKind::Lit(..) => {}
            PatKind::Parens(pat) | PatKind::Attr(_, pat) => self.pat(pat),
            PatKind::Tuple(pats) | PatKind::Constr(_, pats) => {
                pats.iter().for_each(|pat| self.pat(pat));
            }
            PatKind::Record(fields) => fields.iter().for_each(|field| self.pat(&field.pat)),
            PatKind::Ascript(inner, ty) => {
                self.site(EditSite::Typed(pat.span.range(), inner.span.range()));
                self.pat(inner);
                self.ty(ty);
            }
        }
        self.depth -= 1;
    }

    fn exps(&mut self, exps: &[Exp]) {
        exps.iter().for_each(|exp| self.exp(exp));
    }

    fn exp(&mut self, exp: &Exp) {
        if self.depth > DEEPEST {
            return;
        }
        self.depth += 1;
        self.inside(exp);
        self.depth -= 1;
    }

    fn inside(&mut self, exp: &Exp) {
        match &exp.kind {
            ExpKind::Lit(_) | ExpKind::Hole | ExpKind::OpSection(_) | ExpKind::Error => {}
            ExpKind::Var(name) if name.quals.is_empty() => {
                self.site(EditSite::Name(exp.span.range()));
            }
            ExpKind::Var(_) => {}
            ExpKind::Parens(e)
            | ExpKind::QualParens(_, e)
            | ExpKind::Project(e, _)
            | ExpKind::Negate(_, e)
            | ExpKind::Not(_, e)
            | ExpKind::OpSectionLeft(e, _)
            | ExpKind::OpSectionRight(_, e)
            | ExpKind::Attr(_, e) => self.exp(e),
            ExpKind::Tuple(exps) | ExpKind::Array(exps) | ExpKind::Constr(_, exps) => {
                self.site(EditSite::Args(ranges(exps)));
                self.exps(exps);
            }
            ExpKind::Record(fields) => {
                let given = |field: &&Field| !field.punned;
                let values = fields.iter().filter(given).map(|field| field.value.span.range());
                self.site(EditSite::Args(values.collect()));
                fields.iter().filter(given).for_each(|field| self.exp(&field.value));
            }
            ExpKind::Index(e, dims) => {
                self.exp(e);
                self.dims(dims);
            }
            ExpKind::PathSection(path) => self.path(path),
            ExpKind::Update(e, path, value) => {
                self.exp(e);
                self.path(path);
                self.exp(value);
            }
            ExpKind::Apply(fun, args) => {
                self.site(EditSite::Args(ranges(args)));
                self.exp(fun);
                self.exps(args);
            }
            ExpKind::BinOp(first, rest) => {
                let operands = std::iter::once(&**first).chain(rest.iter().map(|(_, e)| e));
                self.site(EditSite::Args(operands.map(|e| e.span.range()).collect()));
                self.exp(first);
                rest.iter().for_each(|(_, e)| self.exp(e));
            }
            ExpKind::Ascript(e, ty) | ExpKind::Coerce(e, ty) => {
                self.site(EditSite::Typed(exp.span.range(), e.span.range()));
                self.exp(e);
                self.ty(ty);
            }
            ExpKind::Range(first, second, _, last) => {
                self.exp(first);
                second.iter().for_each(|e| self.exp(e));
                self.exp(last);
            }
            ExpKind::If(cond, yes, no) => {
                let branches = vec![yes.span.range(), no.span.range()];
                self.site(EditSite::Branches(branches));
                self.exp(cond);
                self.exp(yes);
                self.exp(no);
            }
            ExpKind::Let(binds, body) => {
                let spans = binds.iter().map(|bind| bind.span.range());
                self.site(EditSite::Bindings(spans.collect()));
                binds.iter().for_each(|bind| self.binding(&bind.kind));
                self.exp(body);
            }
            ExpKind::Lambda(params, ret, body) => {
                params.iter().for_each(|pat| self.pat(pat));
                self.result(ret.as_deref());
                self.exp(body);
            }
            ExpKind::Loop(parts) => {
                self.pat(&parts.pat);
                parts.init.iter().for_each(|e| self.exp(e));
                match &parts.form {
                    LoopForm::For(i, n) => {
                        self.name(i.span);
                        self.exp(n);
                    }
                    LoopForm::ForIn(pat, xs) => {
                        self.pat(pat);
                        self.exp(xs);
                    }
                    LoopForm::While(cond) => self.exp(cond),
                }
                self.exp(&parts.body);
            }
            ExpKind::Match(e, cases) => {
                let results = cases.iter().map(|case| case.body.span.range());
                self.site(EditSite::Branches(results.collect()));
                self.exp(e);
                cases.iter().for_each(|case: &Case| {
                    self.pat(&case.pat);
                    self.exp(&case.body);
                });
            }
            ExpKind::Assert(cond, e) => {
                self.exp(cond);
                self.exp(e);
            }
        }
    }

    fn binding(&mut self, bind: &LetKind) {
        match bind {
            LetKind::Pat(sizes, pat, e) => {
                for size in sizes {
                    // The brackets are included, assuming that no blanks separate them from the
                    // name.
                    let at = size.span.range();
                    self.site(EditSite::Param(at.start.saturating_sub(1)..at.end + 1));
                    self.name(size.span);
                }
                self.pat(pat);
                self.exp(e);
            }
            LetKind::Fun(fun) => {
                self.params(&fun.type_params);
                fun.params.iter().for_each(|pat| self.pat(pat));
                self.result(fun.ret.as_ref());
                self.exp(&fun.body);
            }
            LetKind::Update(_, path, e) => {
                self.path(path);
                self.exp(e);
            }
        }
    }

    fn dims(&mut self, dims: &[DimIndex]) {
        for dim in dims {
            match dim {
                DimIndex::Fix(e) => self.exp(e),
                DimIndex::Slice(from, to, by, _) => {
                    [from, to, by].into_iter().flatten().for_each(|e| self.exp(e));
                }
            }
        }
    }

    fn path(&mut self, path: &[PathStep]) {
        for step in path {
            if let PathStep::Index(dims, _) = step {
                self.dims(dims);
            }
        }
    }
}

fn ranges(exps: &[Exp]) -> Vec<ByteRange> {
    exps.iter().map(|e| e.span.range()).collect()
}
