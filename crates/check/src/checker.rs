//! The state of checking, and what every part of it needs: reporting, scopes,
//! fresh variables, instantiation.

use crate::define::ambiguous::Reason;
use crate::env::{Entry, Env, Module, Scheme, Target, TypeAbbr, ValueEntry};
use crate::infer::{Constraint, Mentions, Scalars, Tables, VarState};
use crate::subst::Subst;
use crate::tast::{Attr, Def, Dim, Exp, ExpKind, Name, Ty, TyVarId, VarId};
use crate::infer::unify::{Deferred, Sizes, Unifier};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{self, Liftedness};
use syntax::diag::Diagnostic;
use syntax::span::SourceMap;
use syntax::span::Span;
use syntax::symbol::{Interner, Symbol};

/// Everything that checking knows.
pub(crate) struct Checker<'a> {
    pub(crate) interner: &'a Interner,
    pub(crate) sources: &'a SourceMap,
    pub(crate) tables: Tables,
    pub(crate) env: Env<'a>,
    /// How many scopes enclose what is being checked.
    pub(crate) depth: u32,
    /// The errors.
    pub(crate) diags: Vec<Diagnostic>,
    /// The warnings, which stop nothing.
    pub(crate) warnings: Vec<Diagnostic>,
    /// What is to be said of a type that is too large, in the declaration that is
    /// being checked.
    pub(crate) too_large: Option<Diagnostic>,
    pub(crate) deferred: Vec<(Deferred, Span)>,
    pub(crate) defs: Vec<Arc<Def>>,
    pub(crate) in_prelude: bool,
    /// Checked files, by the path that imports resolve to.
    pub(crate) files: FxHashMap<String, Rc<crate::env::Struct<'a>>>,
    /// For each file and import path as written, the path that it means.
    pub(crate) imports: &'a FxHashMap<(syntax::span::FileId, String), String>,
    /// Members of the built-in module that have signatures.
    pub(crate) array_funs: FxHashMap<Symbol, Rc<ValueEntry>>,
    /// Types of the built-in module.
    pub(crate) builtin_types: FxHashMap<Symbol, Rc<TypeAbbr>>,
    /// The built-in operators, whatever shadows them.
    pub(crate) operators: FxHashMap<Symbol, Entry<'a>>,
    pub(crate) names: NameCache,
    /// How many times a parametric module has been applied.
    pub(crate) applications: u32,
    /// How many applications of parametric modules are being checked.
    pub(crate) applying: u32,
    /// How many modules enclose what is being checked.
    pub(crate) modules: u32,
    /// Whether a specification of a module type is being read.
    pub(crate) in_spec: bool,
    /// The file whose entry points count, while it is being checked.
    pub(crate) in_root: bool,
    pub(crate) entries: Vec<crate::tast::Entry>,
    /// What is known of functions beside their types.
    pub(crate) functions: crate::finished::consume::Functions,
    /// Sections with a left operand in the definition that is being checked.
    pub(crate) sections: FxHashSet<Span>,
    /// Sizes that must be found out, in the definition that is being checked.
    pub(crate) wanted: Vec<crate::define::ambiguous::Wanted>,
    /// Literals of the definition that is being checked, until types are known.
    pub(crate) literals: Vec<crate::finished::recursion::Literal>,
    pub(crate) locals: crate::define::unused::LocalNames,
    pub(crate) facts: crate::define::advice::Facts,
}

/// Local values of type `i64` and what they were bound to, in terms of values of
/// the scope around.
#[derive(Default)]
pub(crate) struct Known(FxHashMap<VarId, Dim>);

impl Known {
    /// Notes what a variable was bound to; sizes that grow large are forgotten.
    pub(crate) fn insert(&mut self, var: VarId, dim: &Dim) {
        let dim = crate::subst::map_dim(dim, self).unwrap_or_else(|| dim.clone());
        if crate::dims::is_small(&dim) {
            self.0.insert(var, dim);
        }
    }
}

impl crate::subst::TyMap for Known {
    fn ty_var(&mut self, _: TyVarId) -> Option<Ty> {
        None
    }

    fn dim_var(&mut self, var: VarId) -> Option<Dim> {
        self.0.get(&var).cloned()
    }
}

/// Texts of symbols, without going through the interner's lock each time.
#[derive(Default)]
pub(crate) struct NameCache(FxHashMap<Symbol, Name>);

impl<'a> Checker<'a> {
    pub(crate) fn new(
        interner: &'a Interner,
        sources: &'a SourceMap,
        imports: &'a FxHashMap<(syntax::span::FileId, String), String>,
    ) -> Self {
        Self {
            interner,
            sources,
            tables: Tables::default(),
            env: Env::default(),
            depth: 0,
            diags: Vec::new(),
            warnings: Vec::new(),
            too_large: None,
            deferred: Vec::new(),
            defs: Vec::new(),
            in_prelude: true,
            files: FxHashMap::default(),
            imports,
            array_funs: FxHashMap::default(),
            builtin_types: FxHashMap::default(),
            operators: FxHashMap::default(),
            names: NameCache::default(),
            applications: 0,
            applying: 0,
            modules: 0,
            in_spec: false,
            in_root: false,
            entries: Vec::new(),
            functions: crate::finished::consume::Functions::default(),
            sections: FxHashSet::default(),
            wanted: Vec::new(),
            literals: Vec::new(),
            locals: crate::define::unused::LocalNames::default(),
            facts: crate::define::advice::Facts::default(),
        }
    }

    /// The text of a symbol.
    pub(crate) fn name(&mut self, symbol: Symbol) -> Name {
        let interner = self.interner;
        let entry = self
            .names
            .0
            .entry(symbol)
            .or_insert_with(|| interner.resolve(symbol));
        Arc::clone(entry)
    }

    // -------------------------------------------------------- fresh variables

    /// An open type of this liftedness.
    pub(crate) fn fresh_ty(&mut self, name: &str, lifted: Liftedness, span: Span) -> Ty {
        let id = self
            .tables
            .new_ty_var(Arc::from(name), false, lifted, self.depth);
        self.tables.ty_var_mut(id).span = Some(span);
        Ty::Var(id)
    }

    /// An open type that may be anything.
    pub(crate) fn fresh(&mut self, span: Span) -> Ty {
        self.fresh_ty("t", Liftedness::Lifted, span)
    }

    /// An open type that must be one of some scalar types.
    pub(crate) fn fresh_scalar(&mut self, set: Scalars, span: Span) -> Ty {
        let id = self
            .tables
            .new_ty_var(Arc::from("num"), false, Liftedness::Unlifted, self.depth);
        let data = self.tables.ty_var_mut(id);
        data.constraint = Constraint::Scalars(set);
        data.span = Some(span);
        Ty::Var(id)
    }

    /// A size to be inferred.
    pub(crate) fn fresh_dim(&mut self, name: &str) -> Dim {
        Dim::Var(
            self.tables
                .new_var(Arc::from(name), VarState::Open, self.depth),
        )
    }

    /// A size that only the running program knows.
    pub(crate) fn unknown(&mut self, name: Name, span: Span) -> Dim {
        Dim::Var(self.tables.new_unknown(name, self.depth, Some(span)))
    }

    // ------------------------------------------------------------ unification

    /// Runs a unification; sizes that it could not decide are kept for later.
    pub(crate) fn unifying<T>(
        &mut self,
        sizes: Sizes,
        span: Span,
        f: impl FnOnce(&mut Unifier<'_>) -> T,
    ) -> T {
        let depth = self.depth;
        let mut unifier = Unifier {
            budget: self.tables.max_parts(),
            tables: &mut self.tables,
            sizes,
            depth,
            deferred: Vec::new(),
            nesting: 0,
        };
        let result = f(&mut unifier);
        let deferred = unifier.deferred;
        self.deferred
            .extend(deferred.into_iter().map(|d| (d, span)));
        result
    }

    /// Makes `found` fit `expected`, or says why it does not. `what` opens the
    /// message: "the argument has the wrong type".
    pub(crate) fn unify(&mut self, expected: &Ty, found: &Ty, span: Span, what: &str) -> bool {
        match self.unifying(Sizes::Strict, span, |u| u.unify(expected, found)) {
            Ok(()) => true,
            Err(mismatch) => {
                self.mismatch(expected, found, &mismatch, span, what);
                false
            }
        }
    }

    /// Demands a scalar type.
    pub(crate) fn require_scalar(&mut self, ty: &Ty, set: Scalars, span: Span, what: &str) {
        if let Err(mismatch) = self.unifying(Sizes::Strict, span, |u| u.require_scalar(ty, set)) {
            self.mismatch(ty, ty, &mismatch, span, what);
        }
    }

    /// Demands a type of at most this liftedness.
    pub(crate) fn require_lifted(&mut self, ty: &Ty, lifted: Liftedness, span: Span, what: &str) {
        let ty = self.tables.resolve(ty);
        if let Err(mismatch) = self.unifying(Sizes::Strict, span, |u| u.require_lifted(&ty, lifted))
        {
            self.mismatch(&ty, &ty, &mismatch, span, what);
        }
    }

    /// Looks again at sizes that could not be decided since `from`; reports
    /// those that are wrong, and at the end of a definition (`last`) those that
    /// remain.
    pub(crate) fn settle(&mut self, from: usize, last: bool) {
        loop {
            let todo: Vec<_> = self.deferred.drain(from..).collect();
            let before = todo.len();
            for ((a, b), span) in todo {
                let result = self.unifying(Sizes::Strict, span, |u| u.unify_dims(&a, &b));
                if let Err(mismatch) = result {
                    let ty = |d: &Dim| Ty::array(d.clone(), Ty::unit());
                    self.mismatch(&ty(&a), &ty(&b), &mismatch, span, "sizes do not match");
                }
            }
            if self.deferred.len() - from >= before {
                break;
            }
        }
        if last {
            for ((a, b), span) in self.deferred.split_off(from) {
                let (a, b) = (self.tables.show_dim(&a), self.tables.show_dim(&b));
                self.report(
                    Diagnostic::error(
                        "ambiguous-size",
                        format!("cannot tell sizes from \"{a}\" being equal to \"{b}\""),
                    )
                    .at(span, "")
                    .hint("say what the sizes are with a size coercion `:>`"),
                );
            }
        }
    }

    // ----------------------------------------------------------------- scopes

    /// Runs `f` one scope deeper; bindings made by it are gone afterwards.
    pub(crate) fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let (mark, depth) = (self.env.enter(), self.depth);
        self.depth += 1;
        let result = f(self);
        self.depth = depth;
        self.env.leave(mark);
        result
    }

    /// A new value of the current scope, without a name in it.
    pub(crate) fn new_value(&mut self, name: Name, span: Span) -> VarId {
        let id = self.tables.new_var(name, VarState::Value, self.depth);
        self.tables.var_mut(id).span = Some(span);
        id
    }

    /// Binds a name to a value of a type.
    pub(crate) fn bind_mono(&mut self, symbol: Symbol, id: VarId, ty: Ty, span: Span) {
        let entry = ValueEntry {
            target: Target::Var(id),
            scheme: Arc::new(Scheme::mono(ty)),
            via: None,
            span: Some(span),
        };
        self.env.bind_term(symbol, Entry::Value(Rc::new(entry)));
    }

    /// Takes a type out of the scopes deeper than the current one: sizes that it
    /// mentions and that are gone there are replaced, by what they were bound to
    /// (`bound`) or else by an unknown size.
    pub(crate) fn leave_ty(&mut self, ty: &Ty, bound: &mut Known, span: Span) -> Ty {
        let mut ty = self.tables.resolve(ty);
        if let Some(known) = crate::subst::map_ty(&ty, bound) {
            ty = self.tables.resolve(&known);
        }
        let mentions = Mentions::of(&ty);
        let mut hide = false;
        for var in mentions.dims {
            let data = self.tables.var(var);
            if data.depth <= self.depth {
                continue;
            }
            match data.state {
                VarState::Open => self.tables.var_mut(var).depth = self.depth,
                // Known by number alone: it lives on, as the size of this value.
                VarState::Unknown => self.tables.var_mut(var).depth = self.depth,
                VarState::Value | VarState::Solved(_) => hide = true,
            }
        }
        for var in mentions.types {
            if self.tables.ty_var(var).depth > self.depth && self.is_open_ty(var) {
                self.tables.ty_var_mut(var).depth = self.depth;
            }
        }
        if hide { self.hide_local(&ty, span) } else { ty }
    }

    /// Replaces every size that mentions a value of a deeper scope.
    fn hide_local(&mut self, ty: &Ty, span: Span) -> Ty {
        struct Hide<'c, 'a> {
            checker: &'c mut Checker<'a>,
            span: Span,
            done: Vec<(Dim, Dim)>,
            bound: Vec<VarId>,
            /// Sizes that the value itself tells, so that others may mention them.
            carried: Vec<Dim>,
        }
        impl Hide<'_, '_> {
            fn is_local(&self, dim: &Dim) -> bool {
                let mut mentions = Mentions::default();
                crate::subst::map_dim(dim, &mut mentions);
                mentions.dims.iter().any(|v| {
                    let data = self.checker.tables.var(*v);
                    data.depth > self.checker.depth
                        && !self.bound.contains(v)
                        && matches!(data.state, VarState::Value)
                })
            }

            /// Whether all that is local in an operation is a size of the value.
            fn is_told(&self, dim: &Dim) -> bool {
                match dim {
                    Dim::Op(_, args) => self.is_told(&args.0) && self.is_told(&args.1),
                    dim => {
                        let same =
                            |c: &Dim| crate::dims::compare(c, dim) == crate::dims::Cmp::Equal;
                        !self.is_local(dim) || self.carried.iter().any(same)
                    }
                }
            }

            fn dim(&mut self, dim: &Dim) -> Dim {
                if !self.is_local(dim) {
                    return dim.clone();
                }
                if let Dim::Op(op, args) = dim
                    && self.is_told(dim)
                {
                    let (a, b) = (self.dim(&args.0), self.dim(&args.1));
                    return crate::dims::op(*op, a, b);
                }
                let known = self
                    .done
                    .iter()
                    .find(|(old, _)| crate::dims::compare(old, dim) == crate::dims::Cmp::Equal);
                if let Some((_, new)) = known {
                    return new.clone();
                }
                let name = match dim {
                    Dim::Var(var) => Arc::clone(&self.checker.tables.var(*var).name),
                    _ => Arc::from("k"),
                };
                let new = self.checker.unknown(name, self.span);
                self.done.push((dim.clone(), new.clone()));
                new
            }

            fn ty(&mut self, ty: &Ty) -> Ty {
                match ty {
                    Ty::Scalar(_) | Ty::Var(_) | Ty::Abstract(..) => ty.clone(),
                    Ty::Array(array) => {
                        let dim = self.dim(&array.dim);
                        Ty::array(dim, self.ty(&array.elem))
                    }
                    Ty::Tuple(parts) => Ty::Tuple(parts.iter().map(|t| self.ty(t)).collect()),
                    Ty::Record(fields) => Ty::Record(
                        fields
                            .iter()
                            .map(|(l, t)| (Arc::clone(l), self.ty(t)))
                            .collect(),
                    ),
                    Ty::Sum(constrs) => Ty::Sum(
                        constrs
                            .iter()
                            .map(|(l, p)| (Arc::clone(l), p.iter().map(|t| self.ty(t)).collect()))
                            .collect(),
                    ),
                    Ty::Arrow(arrow) => {
                        let mut arrow = crate::tast::ArrowTy::clone(arrow);
                        arrow.param = self.ty(&arrow.param);
                        let outer = self.bound.len();
                        self.bound.extend(arrow.name);
                        self.bound.extend(&arrow.ret.ext);
                        arrow.ret.ty = self.ty(&arrow.ret.ty);
                        self.bound.truncate(outer);
                        Ty::Arrow(Arc::new(arrow))
                    }
                }
            }
        }
        let mut carried = Vec::new();
        crate::witness::carried_sizes(ty, true, &mut carried);
        Hide {
            checker: self,
            span,
            done: Vec::new(),
            bound: Vec::new(),
            carried,
        }
        .ty(ty)
    }

    pub(crate) fn is_open_ty(&self, var: TyVarId) -> bool {
        matches!(self.tables.ty_var(var).state, crate::infer::TyState::Open)
    }

    /// The unknown sizes in a type that were made since `from`.
    pub(crate) fn unknowns_since(&self, ty: &Ty, from: usize) -> Vec<VarId> {
        let mut dims = Mentions::of(&self.tables.resolve(ty)).dims;
        dims.retain(|v| {
            v.0 as usize >= from && matches!(self.tables.var(*v).state, VarState::Unknown)
        });
        dims
    }

    // ---------------------------------------------------------- instantiation

    /// A use of a value: its parameters replaced by open variables.
    pub(crate) fn instantiate(&mut self, entry: &ValueEntry, span: Span) -> Exp {
        self.note_used(entry.span);
        let scheme = &entry.scheme;
        let mut subst = Subst::default();
        for var in &scheme.ty_params {
            let data = self.tables.ty_var(*var);
            let (name, lifted) = (Arc::clone(&data.name), data.lifted);
            let ty = self.fresh_ty(&name, lifted, span);
            subst.types.push((*var, ty));
        }
        for var in &scheme.size_params {
            let name = Arc::clone(&self.tables.var(*var).name);
            let var_here = self.tables.new_var(name, VarState::Open, self.depth);
            self.want(var_here, span, Reason::Instance(entry.target));
            subst.dims.push((*var, Dim::Var(var_here)));
        }
        let ty = subst.ty(&scheme.ty);
        let args = match &entry.via {
            None => subst,
            Some(via) => Subst {
                types: via.types.iter().map(|(v, t)| (*v, subst.ty(t))).collect(),
                dims: via.dims.iter().map(|(v, d)| (*v, subst.size(d))).collect(),
            },
        };
        let kind = match entry.target {
            Target::Var(id) => ExpKind::Var {
                id,
                ty_args: args.types,
                size_args: args.dims,
            },
            Target::Intrinsic(fun) => ExpKind::Intrinsic {
                fun,
                ty_args: args.types.into_iter().map(|(_, ty)| ty).collect(),
                size_args: args.dims.into_iter().map(|(_, dim)| dim).collect(),
            },
        };
        if matches!(entry.target, Target::Var(_)) && crate::finished::consume::is_abstract(&ty) {
            self.functions.seen.insert(span, ty.clone());
        }
        Exp {
            kind,
            ty,
            ext: Vec::new(),
            span,
        }
    }

    // ------------------------------------------------------------- attributes

    /// An attribute of the typed tree.
    pub(crate) fn attr(&mut self, attr: &ast::Attr) -> Attr {
        match &attr.kind {
            ast::AttrKind::Name(ident) => Attr {
                name: self.name(ident.name),
                args: Vec::new(),
            },
            ast::AttrKind::Int(n) => Attr {
                name: Arc::from(n.to_string()),
                args: Vec::new(),
            },
            ast::AttrKind::Compound(ident, args) => Attr {
                name: self.name(ident.name),
                args: args.iter().map(|a| self.attr(a)).collect(),
            },
        }
    }

    /// Attributes of the typed tree.
    pub(crate) fn attrs(&mut self, attrs: &[ast::Attr]) -> Vec<Attr> {
        attrs.iter().map(|a| self.attr(a)).collect()
    }

    // ------------------------------------------------------------ suggestions

    /// The base of every scope: built-in types are found by spelling, built-in
    /// operators and the module `intrinsics` by name.
    pub(crate) fn bind_builtins(&mut self) {
        use crate::tast::SourceOp as Op;
        let operators = [
            ("+", Op::Add),
            ("-", Op::Sub),
            ("*", Op::Mul),
            ("/", Op::Div),
            ("%", Op::Mod),
            ("//", Op::Quot),
            ("%%", Op::Rem),
            ("**", Op::Pow),
            ("&", Op::And),
            ("|", Op::Or),
            ("^", Op::Xor),
            ("<<", Op::Shl),
            (">>", Op::Shr),
            (">>>", Op::LShr),
            ("<", Op::Lt),
            ("<=", Op::Le),
            (">", Op::Gt),
            (">=", Op::Ge),
        ];
        let operators = operators
            .map(|(text, op)| (text, Entry::Operator(op)))
            .into_iter()
            .chain([("==", false), ("!=", true)].map(|(t, negate)| (t, Entry::Equality { negate })))
            .chain([("&&", true), ("||", false)].map(|(t, and)| (t, Entry::Logical { and })));
        for (text, entry) in operators {
            let symbol = self.interner.intern(text);
            self.operators.insert(symbol, entry.clone());
            self.env.bind_term(symbol, entry);
        }
        let intrinsics = self.interner.intern("intrinsics");
        self.env
            .bind_term(intrinsics, Entry::Module(Module::Intrinsics));
        for ty in prim::ScalarType::ALL {
            let abbr = TypeAbbr::plain(Ty::Scalar(*ty));
            self.env
                .bind_type(self.interner.intern(ty.name()), Rc::new(abbr));
        }
    }
}
