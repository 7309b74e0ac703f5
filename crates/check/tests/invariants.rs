//! Checks the invariants of the typed tree on the prelude and on programs with every form of
//! expression: variables and type parameters are bound where they are used, and all types are
//! inferred.

use check::tast::{Bind, Def, Dim, Exp, ExpKind, Index, LoopForm, Pat, PatKind, Program, Ty, TyVarId, VarId};
use check::{Loader, check_program};
use std::collections::BTreeSet;
use syntax::span::SourceMap;
use syntax::symbol::Interner;

struct OneFile(&'static str);

impl Loader for OneFile {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if path == "main.fut" { Ok(self.0.as_bytes().to_vec()) } else { Err("no such file".into()) }
    }
}

fn check(text: &'static str) -> Program {
    let mut sources = SourceMap::new();
    let interner = Interner::new();
    let checked = check_program(&mut sources, &interner, &mut OneFile(text), "main.fut");
    for diag in &checked.diagnostics {
        eprintln!("{}", syntax::render::render(diag, &sources, false));
    }
    checked.program.expect("the program is well typed")
}

#[derive(Clone, Default)]
struct Scope {
    vars: BTreeSet<VarId>,
    types: BTreeSet<TyVarId>,
}

impl Scope {
    fn def(&self, def: &Def, recursive: bool) {
        let mut inner = self.clone();
        if recursive {
            inner.vars.insert(def.var);
        }
        inner.types.extend(&def.ty_params);
        inner.vars.extend(&def.size_params);
        for pat in &def.params {
            inner.bind(pat);
        }
        for pat in &def.params {
            inner.pat(pat);
        }
        inner.ty(&def.ret.ty);
        inner.exp(&def.body);
    }

    fn bind(&mut self, pat: &Pat) {
        match &pat.kind {
            PatKind::Var(id) => {
                self.vars.insert(*id);
            }
            PatKind::Wildcard | PatKind::Lit(..) => {}
            PatKind::Tuple(parts) | PatKind::Constr(_, parts) => {
                for p in parts {
                    self.bind(p);
                }
            }
            PatKind::Record(fields) => fields.iter().for_each(|(_, p)| self.bind(p)),
            PatKind::Attr(_, inner) => self.bind(inner),
        }
    }

    fn pat(&self, pat: &Pat) {
        self.ty(&pat.ty);
        match &pat.kind {
            PatKind::Lit(value, ty) => {
                assert_eq!(pat.ty, Ty::Scalar(*ty));
                assert_eq!(value.ty(), ty.prim());
            }
            PatKind::Var(_) | PatKind::Wildcard => {}
            PatKind::Tuple(parts) => {
                assert!(matches!(&pat.ty, Ty::Tuple(tys) if tys.len() == parts.len()));
                for p in parts {
                    self.pat(p);
                }
            }
            PatKind::Constr(_, parts) => {
                for p in parts {
                    self.pat(p);
                }
            }
            PatKind::Record(fields) => fields.iter().for_each(|(_, p)| self.pat(p)),
            PatKind::Attr(_, inner) => self.pat(inner),
        }
    }

    fn ty(&self, ty: &Ty) {
        match ty {
            Ty::Scalar(_) => {}
            Ty::Array(array) => {
                Self::dim(&array.dim);
                self.ty(&array.elem);
            }
            Ty::Tuple(parts) => {
                for t in parts.iter() {
                    self.ty(t);
                }
            }
            Ty::Record(fields) => fields.iter().for_each(|(_, t)| self.ty(t)),
            Ty::Sum(all) => all.iter().flat_map(|(_, p)| p.iter()).for_each(|t| self.ty(t)),
            Ty::Arrow(arrow) => {
                self.ty(&arrow.param);
                self.ty(&arrow.ret.ty);
            }
            Ty::Var(var) => assert!(self.types.contains(var), "{var:?} is not a type parameter"),
            Ty::Abstract(id, _) => panic!("{id:?} was not replaced by its representation"),
        }
    }

    fn dim(dim: &Dim) {
        match dim {
            // Sizes are not verified: one may mention a variable of an inner scope.
            Dim::Any | Dim::Const(_) | Dim::Var(_) => {}
            Dim::Op(_, args) => {
                Self::dim(&args.0);
                Self::dim(&args.1);
            }
            Dim::Exp(exp) => assert!(!matches!(exp.kind, ExpKind::Operator(_))),
        }
    }

    fn exps<'e>(&self, exps: impl IntoIterator<Item = &'e Exp>) {
        exps.into_iter().for_each(|e| self.exp(e));
    }

    fn indices(&self, indices: &[Index]) {
        for index in indices {
            match index {
                Index::At(e) => self.exp(e),
                Index::Slice { from, to, step } => {
                    self.exps([from, to, step].into_iter().flatten());
                }
            }
        }
    }

    fn exp(&self, exp: &Exp) {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || self.exp_inner(exp));
    }

    fn exp_inner(&self, exp: &Exp) {
        self.ty(&exp.ty);
        match &exp.kind {
            ExpKind::Lit(value, ty) => {
                assert_eq!(exp.ty, Ty::Scalar(*ty));
                assert_eq!(value.ty(), ty.prim());
            }
            ExpKind::String(_) | ExpKind::Intrinsic { .. } => {}
            ExpKind::Hole => panic!("a hole in a program without holes"),
            ExpKind::Operator(op) => panic!("{op:?} was not resolved"),
            ExpKind::Var { id, ty_args, size_args } => {
                assert!(self.vars.contains(id), "{id:?} is not in scope at {:?}", exp.span);
                for (_, ty) in ty_args {
                    self.ty(ty);
                }
                for (_, dim) in size_args {
                    Self::dim(dim);
                }
            }
            ExpKind::Tuple(parts) | ExpKind::Array(parts) | ExpKind::Constr(_, parts) => {
                self.exps(parts);
            }
            ExpKind::Record(fields) => self.exps(fields.iter().map(|(_, e)| e)),
            ExpKind::Project(e, label) => {
                assert!(e.ty.field(label).is_some());
                self.exp(e);
            }
            ExpKind::Coerce(e) | ExpKind::Attr(_, e) => self.exp(e),
            ExpKind::RecordUpdate { record, path: _, value } => self.exps([&**record, &**value]),
            ExpKind::Range { start, second, end, kind: _ } => {
                self.exps([&**start, &**end].into_iter().chain(second.as_deref()));
            }
            ExpKind::Index { array, indices } => {
                self.exp(array);
                self.indices(indices);
                assert!(array.ty.peel().0 >= indices.len());
            }
            ExpKind::Update { array, indices, value } => {
                self.exps([&**array, &**value]);
                self.indices(indices);
            }
            ExpKind::Apply { fun, args, .. } => {
                self.exp(fun);
                self.exps(args);
            }
            ExpKind::Lambda(lambda) => {
                let mut inner = self.clone();
                lambda.params.iter().for_each(|p| inner.bind(p));
                lambda.params.iter().for_each(|p| inner.pat(p));
                inner.exp(&lambda.body);
            }
            ExpKind::Let { binds, body } => {
                let mut inner = self.clone();
                for bind in binds {
                    match bind {
                        Bind::Pat { sizes, pat, rhs } => {
                            inner.exp(rhs);
                            inner.vars.extend(sizes);
                            inner.bind(pat);
                            inner.pat(pat);
                        }
                        Bind::Fun(def) => {
                            inner.def(def, false);
                            inner.vars.insert(def.var);
                        }
                    }
                }
                inner.exp(body);
            }
            ExpKind::If { cond, then, otherwise } => self.exps([&**cond, &**then, &**otherwise]),
            ExpKind::Loop { sizes, pat, init, form, body } => {
                self.exp(init);
                let mut inner = self.clone();
                inner.vars.extend(sizes);
                inner.bind(pat);
                inner.pat(pat);
                match form {
                    LoopForm::For(var, bound) => {
                        self.exp(bound);
                        inner.vars.insert(*var);
                    }
                    LoopForm::ForIn(elem, array) => {
                        self.exp(array);
                        inner.bind(elem);
                    }
                    LoopForm::While(cond) => inner.exp(cond),
                }
                inner.exp(body);
            }
            ExpKind::Match { scrutinee, cases } => {
                self.exp(scrutinee);
                for case in cases {
                    let mut inner = self.clone();
                    inner.bind(&case.pat);
                    inner.pat(&case.pat);
                    inner.exp(&case.body);
                }
            }
            ExpKind::And(a, b) | ExpKind::Or(a, b) => self.exps([&**a, &**b]),
            ExpKind::Assert { cond, source_text: _, exp } => self.exps([&**cond, &**exp]),
        }
    }
}

fn check_invariants(program: &Program) {
    let mut scope = Scope::default();
    for def in &program.defs {
        scope.def(def, true);
        scope.vars.insert(def.var);
    }
    for entry in &program.entries {
        assert!(scope.vars.contains(&entry.var));
    }
}

#[test]
fn prelude() {
    check_invariants(&check(""));
}

#[test]
fn all_expression_forms() {
    check_invariants(&check(include_str!("programs/forms.fut")));
}

#[test]
fn modules() {
    check_invariants(&check(include_str!("programs/modules.fut")));
}

#[test]
fn deep_chains() {
    // Neither checking nor dropping a long chain, which is as deep, overflows the stack.
    let sum = format!("entry main (x: i32): i32 = {}x", "x + ".repeat(50_000));
    let lets = format!("entry main (x: i32): i32 = {}in x", "let x = x + 1 ".repeat(20_000));
    let nested = format!("entry main (x: i32): i32 = {}x{}", "(x - ".repeat(1_500), ")".repeat(1_500));
    for text in [sum, lets, nested] {
        check_invariants(&check(text.leak()));
    }
}
