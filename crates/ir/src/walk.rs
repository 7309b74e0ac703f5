//! Generic traversal: one visitor for every level.
//!
//! [`Visit`] reads and [`VisitMut`] rewrites. Both have the same methods, one for each kind of
//! syntax node. A method's default implementation visits the node's parts; an override does so by
//! calling the `walk_*` method of the same name (which is not meant to be overridden). A traversal
//! implements only the methods that it needs:
//!
//! ```text
//! struct Calls(usize);
//! impl<L: Level> Visit<L> for Calls {
//!     fn exp(&mut self, exp: &Exp<L>) {
//!         self.0 += usize::from(matches!(exp, Exp::Apply { .. }));
//!         self.walk_exp(exp);
//!     }
//! }
//! ```
//!
//! Guarantees. Every use of a name reaches `name` (through `atom`, `dim`, `ty`, `poly`, or directly
//! where only a variable is allowed), every binding reaches `binder`. Nodes are visited in scope
//! order: the binder of a name comes before its uses, and names bound between [`Visit::enter`] and
//! [`Visit::leave`] are visible only there. Nested bodies of any depth do not overflow the stack.
//!
//! [`LevelOp`] is the interface of each level's operations for generic code. Substitution, free
//! names and copies with fresh names are in [`rename`].

pub(crate) mod fields;
mod ops;
pub use ops::in_directions;
pub mod rename;

pub use fields::Fields;
pub use rename::{
    Import, Substitution, alpha_equivalent, alpha_equivalent_given, alpha_equivalent_ignoring_prov, binders,
    binders_in, free_names, free_names_exp, free_names_lambda, import_body, refresh_body, refresh_lambda,
    substitute_body, substitute_exp, substitute_lambda, substitute_param, substitute_stm, substitute_type,
};

use crate::facts::{Partition, SharedRead};
use crate::name::{FunId, Name, Prov};
use crate::poly::Poly;
use crate::syntax::{
    Atom, Aux, BasicOp, Body, Exp, FunParam, FunResult, Function, Lambda, Level, LoopForm, LoopParam, Param,
    Stm,
};
use crate::tunable::TunableId;
use crate::types::{Dim, Type};

/// The interface of a level's operations for generic code.
pub trait LevelOp<L: Level>: Fields<L> + Sized {
    /// The operation's name in IR text and messages.
    fn keyword(&self) -> &'static str;

    /// The names that the operation consumes (without those consumed in its bodies).
    fn consumed(&self) -> Vec<Name>;

    /// Returns true if its bodies run once, as that of a `withacc`.
    fn runs_once(&self) -> bool;

    /// For an operation whose results may alias its operands and the results of its lambdas, as those of
    /// a derivative: these operands.
    fn aliased_operands(&self) -> Option<Vec<Name>> {
        None
    }

    /// The types of the results. Sizes that are results of the operation appear as [`Dim::Ext`];
    /// `type_of` returns the type of a name in scope.
    fn result_types(&self, type_of: &dyn Fn(Name) -> Type) -> Vec<Type>;

    /// The width, inputs and lambda of a map over arrays.
    fn as_map(&self) -> Option<(Dim, &[Name], &Lambda<L>)> {
        None
    }
}

/// The interface of a level's annotations for generic code.
pub trait Annotation<L: Level>: Fields<L> {
    /// True if arrays have blocks: an operation that computes the sizes of its results returns theirs.
    const HAS_BLOCKS: bool = false;
}

impl<L: Level> Annotation<L> for () {}

/// Runs `f` with enough stack for one more level of a nested structure.
pub fn with_stack<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, f)
}

fn read_poly<L: Level, V: Visit<L> + ?Sized>(v: &mut V, poly: &Poly) {
    for name in poly.names() {
        v.name(&name);
    }
}

fn change_poly<L: Level, V: VisitMut<L> + ?Sized>(v: &mut V, poly: &mut Poly) {
    *poly = poly.substitute(|mut name| {
        v.name(&mut name);
        Poly::var(name)
    });
}

macro_rules! walker {
    ($(#[$meta:meta])* $Walker:ident, $visit:ident, $poly:ident, $shared:ident, $partition:ident, $iter:ident, $($m:ident)?) => {
        $(#[$meta])*
        pub trait $Walker<L: Level> {
            /// A use of a name.
            fn name(&mut self, name: &$($m)? Name) {
                let _ = name;
            }

            /// A binding of a name.
            fn binder(&mut self, name: &$($m)? Name) {
                let _ = name;
            }

            /// The function of a call.
            fn fun(&mut self, fun: &$($m)? FunId) {
                let _ = fun;
            }

            /// A scope begins.
            fn enter(&mut self) {}

            /// The innermost scope ends.
            fn leave(&mut self) {}

            /// An operand.
            fn atom(&mut self, atom: &$($m)? Atom) {
                if let Atom::Var(name) = atom {
                    self.name(name);
                }
            }

            /// A dimension.
            fn dim(&mut self, dim: &$($m)? Dim) {
                if let Dim::Var(name) = dim {
                    self.name(name);
                }
            }

            /// A polynomial in an annotation.
            fn poly(&mut self, poly: &$($m)? Poly) {
                $poly(self, poly);
            }

            /// A type.
            fn ty(&mut self, ty: &$($m)? Type) {
                self.walk_ty(ty);
            }

            /// A level's annotation.
            fn ann(&mut self, ann: &$($m)? L::Ann) {
                ann.$visit(self);
            }

            /// A parameter or element of a pattern.
            fn param(&mut self, param: &$($m)? Param<L>) {
                self.walk_param(param);
            }

            /// A statement's provenance.
            fn prov(&mut self, prov: &$($m)? Prov) {
                let _ = prov;
            }

            /// A statement.
            fn stm(&mut self, stm: &$($m)? Stm<L>) {
                self.walk_stm(stm);
            }

            /// An expression.
            fn exp(&mut self, exp: &$($m)? Exp<L>) {
                self.walk_exp(exp);
            }

            /// A reference to a tuning parameter of the function.
            fn tunable(&mut self, id: &$($m)? TunableId) {
                let _ = id;
            }

            /// An operation without bodies.
            fn basic(&mut self, op: &$($m)? BasicOp) {
                self.walk_basic(op);
            }

            /// A body; it is a scope.
            fn body(&mut self, body: &$($m)? Body<L>) {
                self.walk_body(body);
            }

            /// A lambda; it is a scope.
            fn lambda(&mut self, lambda: &$($m)? Lambda<L>) {
                self.walk_lambda(lambda);
            }

            /// The parts of a type.
            fn walk_ty(&mut self, ty: &$($m)? Type) {
                match ty {
                    Type::Prim(_) | Type::Cert | Type::Mem(_) => {}
                    Type::Array { elem: _, shape } => {
                        for dim in shape {
                            self.dim(dim);
                        }
                    }
                    Type::Acc { token, shape, elems } => {
                        self.name(token);
                        for dim in shape {
                            self.dim(dim);
                        }
                        for elem in elems {
                            self.ty(elem);
                        }
                    }
                }
            }

            /// The parts of a parameter: type, annotation, then the name as a binding.
            fn walk_param(&mut self, param: &$($m)? Param<L>) {
                let Param { name, ty, ann } = param;
                self.ty(ty);
                self.ann(ann);
                self.binder(name);
            }

            /// The parts of a statement: provenance, certificates, expression, then pattern.
            fn walk_stm(&mut self, stm: &$($m)? Stm<L>) {
                let Stm { pat, aux, exp } = stm;
                let Aux { certs, attrs: _, prov, facts } = aux;
                self.prov(prov);
                for cert in certs {
                    self.name(cert);
                }
                if let Some(SharedRead { by: _, block, offset }) = facts.$shared() {
                    self.name(block);
                    self.poly(offset);
                }
                if let Some(Partition { values: _, offsets, complete: _ }) = facts.$partition() {
                    for offset in offsets.$iter() {
                        self.poly(offset);
                    }
                }
                self.exp(exp);
                for param in pat {
                    self.param(param);
                }
            }

            /// The parts of an expression.
            fn walk_exp(&mut self, exp: &$($m)? Exp<L>) {
                match exp {
                    Exp::Basic(op) => self.basic(op),
                    Exp::If { cond, then_body, else_body } => {
                        self.atom(cond);
                        self.body(then_body);
                        self.body(else_body);
                    }
                    Exp::Loop { params, form, body } => {
                        for LoopParam { param: _, init, consumed: _ } in &$($m)? *params {
                            self.atom(init);
                        }
                        if let LoopForm::For { var: _, ty: _, bound } = form {
                            self.atom(bound);
                        }
                        self.enter();
                        if let LoopForm::For { var, ty: _, bound: _ } = form {
                            self.binder(var);
                        }
                        for LoopParam { param, init: _, consumed: _ } in params {
                            self.param(param);
                        }
                        if let LoopForm::While { cond } = form {
                            self.name(cond);
                        }
                        self.body(body);
                        self.leave();
                    }
                    Exp::Apply { fun, args } => {
                        self.fun(fun);
                        for arg in args {
                            self.atom(arg);
                        }
                    }
                    Exp::Op(op) => op.$visit(self),
                }
            }

            /// The parts of a body, in a scope.
            fn walk_body(&mut self, body: &$($m)? Body<L>) {
                with_stack(|| {
                    let Body { stms, result } = body;
                    self.enter();
                    for stm in stms {
                        self.stm(stm);
                    }
                    for atom in result {
                        self.atom(atom);
                    }
                    self.leave();
                });
            }

            /// The parts of a lambda, in a scope: parameters, result types, body.
            fn walk_lambda(&mut self, lambda: &$($m)? Lambda<L>) {
                let Lambda { params, body, ret } = lambda;
                self.enter();
                for param in params {
                    self.param(param);
                }
                for ty in ret {
                    self.ty(ty);
                }
                self.body(body);
                self.leave();
            }

            /// The parts of a function: parameters, result types and annotations, then body.
            /// (Result types mention parameters only.)
            fn walk_function(&mut self, function: &$($m)? Function<L>) {
                let Function { name: _, kind: _, version: _, attrs: _, params, ret, body, tunables: _, names: _, provs: _ } =
                    function;
                self.enter();
                for FunParam { param, consumed: _ } in params {
                    self.param(param);
                }
                for FunResult { ty, aliases: _, ann } in ret {
                    self.ty(ty);
                    self.ann(ann);
                }
                self.body(body);
                self.leave();
            }

            /// The operands of an operation without bodies.
            fn walk_basic(&mut self, op: &$($m)? BasicOp) {
                op.$visit(self);
            }
        }
    };
}

walker! {
    /// A read-only traversal.
    Visit, visit, read_poly, shared, partition, iter,
}

walker! {
    /// A traversal that can change the nodes.
    VisitMut, visit_mut, change_poly, shared_mut, partition_mut, iter_mut, mut
}

/// Calls `f` with each body directly inside of the expression (branches, bodies of loops, lambdas
/// and segops), but not with bodies nested in those.
pub fn sub_bodies<L: Level>(exp: &Exp<L>, f: impl FnMut(&Body<L>)) {
    struct Bodies<F>(F);
    impl<L: Level, F: FnMut(&Body<L>)> Visit<L> for Bodies<F> {
        fn body(&mut self, body: &Body<L>) {
            (self.0)(body);
        }
    }
    Bodies(f).exp(exp);
}

/// [`sub_bodies`], mutable.
pub fn sub_bodies_mut<L: Level>(exp: &mut Exp<L>, f: impl FnMut(&mut Body<L>)) {
    struct Bodies<F>(F);
    impl<L: Level, F: FnMut(&mut Body<L>)> VisitMut<L> for Bodies<F> {
        fn body(&mut self, body: &mut Body<L>) {
            (self.0)(body);
        }
    }
    Bodies(f).exp(exp);
}

/// Calls `f` with every name that the expression uses, at any depth, in scope order and with
/// repetitions (including names that the expression itself binds).
pub fn used_names<L: Level>(exp: &Exp<L>, f: impl FnMut(Name)) {
    struct Uses<F>(F);
    impl<L: Level, F: FnMut(Name)> Visit<L> for Uses<F> {
        fn name(&mut self, name: &Name) {
            (self.0)(*name);
        }
    }
    Uses(f).exp(exp);
}

/// Returns the arrays that an expression itself consumes, without those consumed in its bodies.
/// `call` returns true if a function consumes its argument at a position. An accumulator's arrays
/// were consumed by its `withacc`: no other name denotes them.
pub fn consumed_by<L: Level>(exp: &Exp<L>, call: impl Fn(FunId, usize) -> bool) -> Vec<Name> {
    match exp {
        Exp::Basic(BasicOp::Update { array, .. } | BasicOp::FlatUpdate { array, .. }) => {
            vec![*array]
        }
        Exp::Basic(_) | Exp::If { .. } => Vec::new(),
        Exp::Loop { params, .. } => {
            let consumed = params.iter().filter(|param| param.consumed);
            consumed.filter_map(|param| param.init.var()).collect()
        }
        Exp::Apply { fun, args } => {
            let args = args.iter().enumerate();
            args.filter(|(i, _)| call(*fun, *i)).filter_map(|(_, arg)| arg.var()).collect()
        }
        Exp::Op(op) => op.consumed(),
    }
}

/// Calls `f` with each name that a statement uses, including its certificates and types.
pub fn stm_names<L: Level>(stm: &Stm<L>, f: impl FnMut(Name)) {
    struct Uses<F>(F);
    impl<L: Level, F: FnMut(Name)> Visit<L> for Uses<F> {
        fn name(&mut self, name: &Name) {
            (self.0)(*name);
        }
    }
    Uses(f).stm(stm);
}

/// Calls `f` with the function of each call in a body, with repetitions.
pub fn callees<L: Level>(body: &Body<L>, f: impl FnMut(FunId)) {
    struct Calls<F>(F);
    impl<L: Level, F: FnMut(FunId)> Visit<L> for Calls<F> {
        fn fun(&mut self, fun: &FunId) {
            (self.0)(*fun);
        }
    }
    Calls(f).body(body);
}
