//! Prints the syntax tree as text, fully bracketed, for tests and debugging.
//!
//! One declaration a line. A form is `(keyword parts...)`, lists are in square brackets, and absent
//! parts print as `-`. Spans are not shown.

use std::fmt::Write as _;

use crate::ast::{
    Attr, AttrKind, Decl, DeclKind, DimIndex, Exp, ExpKind, Ident, LetBind, LetKind, Liftedness, Lit, Loop,
    LoopForm, ModExp, ModExpKind, ModParam, ModTypeExp, ModTypeExpKind, Operator, Pat, PatKind, PathStep,
    Prog, QualName, RangeEnd, SizeExp, Spec, SpecKind, TypeArg, TypeBind, TypeExp, TypeExpKind, TypeParam,
    TypeParamKind, ValBind, ValKeyword,
};
use crate::symbol::Interner;
use crate::{STACK_GROWTH, STACK_RED_ZONE};

/// Prints a whole file.
pub fn prog(prog: &Prog, names: &Interner) -> String {
    let mut dump = Dump::new(names);
    if let Some(doc) = &prog.doc {
        let _ = writeln!(dump.out, "(doc {:?})", doc.text);
    }
    for decl in &prog.decls {
        dump.decl(decl);
        dump.out.push('\n');
    }
    dump.out
}

/// Prints one expression.
pub fn exp(exp: &Exp, names: &Interner) -> String {
    let mut dump = Dump::new(names);
    dump.exp(exp);
    dump.out
}

struct Dump<'a> {
    names: &'a Interner,
    out: String,
}

impl<'a> Dump<'a> {
    fn new(names: &'a Interner) -> Self {
        Self { names, out: String::new() }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// `(keyword`, the output of `parts`, `)`.
    fn form(&mut self, keyword: &str, parts: impl FnOnce(&mut Self)) {
        self.put("(");
        self.put(keyword);
        stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, || parts(self));
        self.put(")");
    }

    /// ` [a b]`
    fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        self.put(" [");
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.put(" ");
            }
            print(self, item);
        }
        self.put("]");
    }

    /// ` a`, or ` -` if absent.
    fn option<T>(&mut self, item: Option<&T>, print: impl FnOnce(&mut Self, &T)) {
        self.put(" ");
        match item {
            Some(item) => print(self, item),
            None => self.put("-"),
        }
    }

    fn ident(&mut self, ident: &Ident) {
        let text = self.names.resolve(ident.name);
        self.put(&text);
    }

    fn qual(&mut self, name: &QualName) {
        for qual in &name.quals {
            self.ident(qual);
            self.put(".");
        }
        self.ident(&name.name);
    }

    fn operator(&mut self, operator: &Operator) {
        let mark = if operator.backtick { "`" } else { "" };
        self.put(mark);
        self.qual(&operator.name);
        self.put(mark);
    }

    fn lit(&mut self, lit: &Lit) {
        let _ = match lit {
            Lit::Int(value, Some(ty)) => write!(self.out, "{value}{ty}"),
            Lit::Int(value, None) => write!(self.out, "{value}"),
            Lit::Float(value, Some(ty)) => write!(self.out, "{value:?}{ty}"),
            Lit::Float(value, None) => write!(self.out, "{value:?}"),
            Lit::Bool(value) => write!(self.out, "{value}"),
            Lit::Char(value) => write!(self.out, "{value:?}"),
            Lit::String(value) => write!(self.out, "{value:?}"),
        };
    }

    fn attr(&mut self, attr: &Attr) {
        match &attr.kind {
            AttrKind::Name(name) => self.ident(name),
            AttrKind::Int(value) => {
                let _ = write!(self.out, "{value}");
            }
            AttrKind::Compound(name, args) => {
                self.ident(name);
                self.list(args, Self::attr);
            }
        }
    }

    // ------------------------------------------------------------ declarations

    fn decl(&mut self, decl: &Decl) {
        if let Some(doc) = &decl.doc {
            let _ = write!(self.out, "(doc {:?}) ", doc.text);
        }
        for attr in &decl.attrs {
            self.put("#");
            self.attr(attr);
            self.put(" ");
        }
        match &decl.kind {
            DeclKind::Val(bind) => self.val_bind(bind),
            DeclKind::Type(bind) => self.type_bind(bind),
            DeclKind::Mod(bind) => self.form("module ", |d| {
                d.ident(&bind.name);
                d.list(&bind.params, Self::mod_param);
                d.option(bind.ty.as_ref(), Self::mod_type);
                d.put(" ");
                d.mod_exp(&bind.body);
            }),
            DeclKind::ModType(bind) => self.form("module-type ", |d| {
                d.ident(&bind.name);
                d.put(" ");
                d.mod_type(&bind.body);
            }),
            DeclKind::Open(exp) => self.form("open ", |d| d.mod_exp(exp)),
            DeclKind::Import(import) => {
                let _ = write!(self.out, "(import {:?})", import.path);
            }
            DeclKind::Local(decl) => self.form("local ", |d| d.decl(decl)),
        }
    }

    fn val_bind(&mut self, bind: &ValBind) {
        let keyword = match (bind.keyword, bind.infix) {
            (ValKeyword::Def, false) => "def ",
            (ValKeyword::Def, true) => "def-infix ",
            (ValKeyword::Let, false) => "let ",
            (ValKeyword::Let, true) => "let-infix ",
            (ValKeyword::Entry, false) => "entry ",
            (ValKeyword::Entry, true) => "entry-infix ",
        };
        self.form(keyword, |d| {
            d.ident(&bind.name);
            d.list(&bind.type_params, Self::type_param);
            d.list(&bind.params, Self::pat);
            d.option(bind.ret.as_ref(), Self::ty);
            d.put(" ");
            d.exp(&bind.body);
        });
    }

    fn lifted(&mut self, lifted: Liftedness) {
        self.put(match lifted {
            Liftedness::Unlifted => "",
            Liftedness::SizeLifted => "~",
            Liftedness::Lifted => "^",
        });
    }

    fn type_param(&mut self, param: &TypeParam) {
        match param.kind {
            TypeParamKind::Size => {
                self.put("[");
                self.ident(&param.name);
                self.put("]");
            }
            TypeParamKind::Type(lifted) => {
                self.put("'");
                self.lifted(lifted);
                self.ident(&param.name);
            }
        }
    }

    fn type_bind(&mut self, bind: &TypeBind) {
        self.form("type", |d| {
            d.lifted(bind.lifted);
            d.put(" ");
            d.ident(&bind.name);
            d.list(&bind.params, Self::type_param);
            d.put(" ");
            d.ty(&bind.body);
        });
    }

    // ----------------------------------------------------------------- modules

    fn mod_param(&mut self, param: &ModParam) {
        self.put("(");
        self.ident(&param.name);
        self.put(": ");
        self.mod_type(&param.ty);
        self.put(")");
    }

    fn mod_exp(&mut self, exp: &ModExp) {
        match &exp.kind {
            ModExpKind::Var(name) => self.qual(name),
            ModExpKind::Parens(inner) => self.form("paren ", |d| d.mod_exp(inner)),
            ModExpKind::Import(import) => {
                let _ = write!(self.out, "(import {:?})", import.path);
            }
            ModExpKind::Decls(decls) => self.form("decls", |d| d.list(decls, Self::decl)),
            ModExpKind::Ascript(inner, ty) => self.form(": ", |d| {
                d.mod_exp(inner);
                d.put(" ");
                d.mod_type(ty);
            }),
            ModExpKind::Lambda(param, ty, body) => self.form("\\ ", |d| {
                d.mod_param(param);
                d.option(ty.as_deref(), Self::mod_type);
                d.put(" ");
                d.mod_exp(body);
            }),
            ModExpKind::Apply(function, arg) => self.form("apply ", |d| {
                d.mod_exp(function);
                d.put(" ");
                d.mod_exp(arg);
            }),
        }
    }

    fn mod_type(&mut self, exp: &ModTypeExp) {
        match &exp.kind {
            ModTypeExpKind::Var(name) => self.qual(name),
            ModTypeExpKind::Parens(inner) => self.form("paren ", |d| d.mod_type(inner)),
            ModTypeExpKind::Specs(specs) => self.form("specs", |d| d.list(specs, Self::spec)),
            ModTypeExpKind::With(inner, with) => self.form("with ", |d| {
                d.mod_type(inner);
                d.put(" ");
                d.qual(&with.name);
                d.list(&with.params, Self::type_param);
                d.put(" ");
                d.ty(&with.body);
            }),
            ModTypeExpKind::Arrow(name, from, to) => self.form("->", |d| {
                d.option(name.as_ref(), Self::ident);
                d.put(" ");
                d.mod_type(from);
                d.put(" ");
                d.mod_type(to);
            }),
        }
    }

    fn spec(&mut self, spec: &Spec) {
        if let Some(doc) = &spec.doc {
            let _ = write!(self.out, "(doc {:?}) ", doc.text);
        }
        for attr in &spec.attrs {
            self.put("#");
            self.attr(attr);
            self.put(" ");
        }
        match &spec.kind {
            SpecKind::Val { name, type_params, ty } => self.form("val ", |d| {
                d.ident(name);
                d.list(type_params, Self::type_param);
                d.put(" ");
                d.ty(ty);
            }),
            SpecKind::TypeAbbr(bind) => self.type_bind(bind),
            SpecKind::Type { lifted, name, params } => self.form("type", |d| {
                d.lifted(*lifted);
                d.put(" ");
                d.ident(name);
                d.list(params, Self::type_param);
            }),
            SpecKind::Mod(name, ty) => self.form("module ", |d| {
                d.ident(name);
                d.put(" ");
                d.mod_type(ty);
            }),
            SpecKind::Include(ty) => self.form("include ", |d| d.mod_type(ty)),
        }
    }

    // ------------------------------------------------------- types and patterns

    fn size(&mut self, size: &SizeExp) {
        self.put("[");
        if let Some(exp) = &size.size {
            self.exp(exp);
        }
        self.put("]");
    }

    fn ty(&mut self, ty: &TypeExp) {
        match &ty.kind {
            TypeExpKind::Var(name) => self.qual(name),
            TypeExpKind::Parens(inner) => self.form("paren ", |d| d.ty(inner)),
            TypeExpKind::Tuple(types) => self.form("tuple", |d| d.list(types, Self::ty)),
            TypeExpKind::Record(fields) => self.form("record", |d| {
                d.list(fields, |d, (name, ty)| {
                    d.ident(name);
                    d.put(": ");
                    d.ty(ty);
                });
            }),
            TypeExpKind::Array(size, elem) => self.form("array ", |d| {
                d.size(size);
                d.put(" ");
                d.ty(elem);
            }),
            TypeExpKind::Sum(constrs) => self.form("sum", |d| {
                d.list(constrs, |d, constr| {
                    d.put("#");
                    d.ident(&constr.name);
                    d.list(&constr.payload, Self::ty);
                });
            }),
            TypeExpKind::Arrow(name, from, to) => self.form("->", |d| {
                d.option(name.as_ref(), Self::ident);
                d.put(" ");
                d.ty(from);
                d.put(" ");
                d.ty(to);
            }),
            TypeExpKind::Apply(head, args) => self.form("apply ", |d| {
                d.ty(head);
                d.list(args, |d, arg| match arg {
                    TypeArg::Size(size) => d.size(size),
                    TypeArg::Type(ty) => d.ty(ty),
                });
            }),
            TypeExpKind::Unique(inner) => self.form("* ", |d| d.ty(inner)),
            TypeExpKind::Exists(sizes, body) => self.form("exists", |d| {
                d.list(sizes, Self::ident);
                d.put(" ");
                d.ty(body);
            }),
        }
    }

    fn pat(&mut self, pat: &Pat) {
        match &pat.kind {
            PatKind::Id(name) => self.ident(name),
            PatKind::Wild => self.put("_"),
            PatKind::Parens(inner) => self.form("paren ", |d| d.pat(inner)),
            PatKind::Tuple(pats) => self.form("tuple", |d| d.list(pats, Self::pat)),
            PatKind::Record(fields) => self.form("record", |d| {
                d.list(fields, |d, field| {
                    if !field.punned {
                        d.ident(&field.name);
                        d.put("=");
                    }
                    d.pat(&field.pat);
                });
            }),
            PatKind::Ascript(inner, ty) => self.form(": ", |d| {
                d.pat(inner);
                d.put(" ");
                d.ty(ty);
            }),
            PatKind::Lit(negative, lit) => {
                self.put(if *negative { "-" } else { "" });
                self.lit(lit);
            }
            PatKind::Constr(name, payload) => {
                self.put("#");
                self.ident(name);
                if !payload.is_empty() {
                    self.list(payload, Self::pat);
                }
            }
            PatKind::Attr(attr, inner) => self.form("attr ", |d| {
                d.attr(attr);
                d.put(" ");
                d.pat(inner);
            }),
        }
    }

    // ------------------------------------------------------------- expressions

    fn exps(&mut self, exps: &[Exp]) {
        self.list(exps, Self::exp);
    }

    fn exp(&mut self, exp: &Exp) {
        match &exp.kind {
            ExpKind::Lit(lit) => self.lit(lit),
            ExpKind::Var(name) => self.qual(name),
            ExpKind::Hole => self.put("???"),
            ExpKind::Error => self.put("<error>"),
            ExpKind::Parens(inner) => self.form("paren ", |d| d.exp(inner)),
            ExpKind::QualParens(name, inner) => self.form("open-in ", |d| {
                d.qual(name);
                d.put(" ");
                d.exp(inner);
            }),
            ExpKind::Tuple(elems) => self.form("tuple", |d| d.exps(elems)),
            ExpKind::Record(fields) => self.form("record", |d| {
                d.list(fields, |d, field| {
                    if !field.punned {
                        d.ident(&field.name);
                        d.put("=");
                    }
                    d.exp(&field.value);
                });
            }),
            ExpKind::Array(elems) => self.form("array", |d| d.exps(elems)),
            ExpKind::Project(inner, field) => self.form("project ", |d| {
                d.exp(inner);
                d.put(" ");
                d.ident(field);
            }),
            ExpKind::Index(inner, dims) => self.form("index ", |d| {
                d.exp(inner);
                d.list(dims, Self::dim);
            }),
            ExpKind::Update(inner, path, value) => self.form("with ", |d| {
                d.exp(inner);
                d.list(path, Self::step);
                d.put(" ");
                d.exp(value);
            }),
            ExpKind::Apply(function, args) => self.form("apply ", |d| {
                d.exp(function);
                d.exps(args);
            }),
            ExpKind::Constr(name, payload) => {
                self.put("#");
                self.ident(name);
                if !payload.is_empty() {
                    self.exps(payload);
                }
            }
            ExpKind::BinOp(first, rest) => self.form("", |d| {
                d.exp(first);
                for (operator, operand) in rest {
                    d.put(" ");
                    d.operator(operator);
                    d.put(" ");
                    d.exp(operand);
                }
            }),
            ExpKind::Negate(_, inner) => self.form("neg ", |d| d.exp(inner)),
            ExpKind::Not(_, inner) => self.form("not ", |d| d.exp(inner)),
            ExpKind::OpSection(operator) => self.form("section ", |d| d.operator(operator)),
            ExpKind::OpSectionLeft(operand, operator) => self.form("section-left ", |d| {
                d.exp(operand);
                d.put(" ");
                d.operator(operator);
            }),
            ExpKind::OpSectionRight(operator, operand) => self.form("section-right ", |d| {
                d.operator(operator);
                d.put(" ");
                d.exp(operand);
            }),
            ExpKind::PathSection(path) => self.form("section-path", |d| d.list(path, Self::step)),
            ExpKind::Ascript(inner, ty) => self.form(": ", |d| {
                d.exp(inner);
                d.put(" ");
                d.ty(ty);
            }),
            ExpKind::Coerce(inner, ty) => self.form(":> ", |d| {
                d.exp(inner);
                d.put(" ");
                d.ty(ty);
            }),
            ExpKind::Range(first, second, end, last) => self.form("range ", |d| {
                d.exp(first);
                d.option(second.as_deref(), Self::exp);
                d.put(match end {
                    RangeEnd::Inclusive => " ... ",
                    RangeEnd::UpTo => " ..< ",
                    RangeEnd::DownTo => " ..> ",
                });
                d.exp(last);
            }),
            ExpKind::If(condition, yes, no) => self.form("if ", |d| {
                d.exp(condition);
                d.put(" ");
                d.exp(yes);
                d.put(" ");
                d.exp(no);
            }),
            ExpKind::Let(binds, body) => self.form("let", |d| {
                d.list(binds, Self::let_bind);
                d.put(" ");
                d.exp(body);
            }),
            ExpKind::Lambda(params, ret, body) => self.form("\\", |d| {
                d.list(params, Self::pat);
                d.option(ret.as_deref(), Self::ty);
                d.put(" ");
                d.exp(body);
            }),
            ExpKind::Loop(form) => self.form("loop ", |d| d.loop_parts(form)),
            ExpKind::Match(scrutinee, cases) => self.form("match ", |d| {
                d.exp(scrutinee);
                d.list(cases, |d, case| {
                    d.pat(&case.pat);
                    d.put(" -> ");
                    d.exp(&case.body);
                });
            }),
            ExpKind::Assert(condition, result) => self.form("assert ", |d| {
                d.exp(condition);
                d.put(" ");
                d.exp(result);
            }),
            ExpKind::Attr(attr, inner) => self.form("attr ", |d| {
                d.attr(attr);
                d.put(" ");
                d.exp(inner);
            }),
        }
    }

    fn loop_parts(&mut self, form: &Loop) {
        self.pat(&form.pat);
        self.option(form.init.as_ref(), Self::exp);
        self.put(" ");
        match &form.form {
            LoopForm::For(var, bound) => self.form("for ", |d| {
                d.ident(var);
                d.put(" ");
                d.exp(bound);
            }),
            LoopForm::ForIn(pat, array) => self.form("for-in ", |d| {
                d.pat(pat);
                d.put(" ");
                d.exp(array);
            }),
            LoopForm::While(condition) => self.form("while ", |d| d.exp(condition)),
        }
        self.put(" ");
        self.exp(&form.body);
    }

    fn let_bind(&mut self, bind: &LetBind) {
        match &bind.kind {
            LetKind::Pat(sizes, pat, init) => self.form("", |d| {
                if !sizes.is_empty() {
                    d.list(sizes, Self::ident);
                    d.put(" ");
                }
                d.pat(pat);
                d.put(" = ");
                d.exp(init);
            }),
            LetKind::Fun(fun) => self.form("fun ", |d| {
                d.ident(&fun.name);
                d.list(&fun.type_params, Self::type_param);
                d.list(&fun.params, Self::pat);
                d.option(fun.ret.as_ref(), Self::ty);
                d.put(" = ");
                d.exp(&fun.body);
            }),
            LetKind::Update(name, path, value) => self.form("with ", |d| {
                d.ident(name);
                d.list(path, Self::step);
                d.put(" = ");
                d.exp(value);
            }),
        }
    }

    fn dim(&mut self, dim: &DimIndex) {
        match dim {
            DimIndex::Fix(exp) => self.exp(exp),
            DimIndex::Slice(start, end, stride, _) => self.form("slice", |d| {
                for part in [start, end, stride] {
                    d.option(part.as_deref(), Self::exp);
                }
            }),
        }
    }

    fn step(&mut self, step: &PathStep) {
        match step {
            PathStep::Field(name) => {
                self.put(".");
                self.ident(name);
            }
            PathStep::Index(dims, _) => self.form("at", |d| d.list(dims, Self::dim)),
        }
    }
}
