//! Variables with their type and size arguments, and applications.

use super::size_check::are_comparable;
use super::{Found, Resolver};
use crate::tree::{Bind, Comparison, Instance, Node, Param, Pat, SizeExpr, SizedType};
use crate::value::RunType;
use check::intrinsics::{ArrayFun, Intrinsic, bits_type, conversion};
use check::tast::{self, Exp, ExpKind, Ty, TyVarId, VarId};
use prim::ConvOp;
use std::rc::Rc;
use syntax::span::Span;

impl Resolver<'_> {
    pub(super) fn variable(
        &mut self,
        id: VarId,
        ty_args: &[(TyVarId, Ty)],
        size_args: &[(VarId, tast::Dim)],
        exp: &Exp,
    ) -> Node {
        match self.lookup(id) {
            Found::Slot(slot) => {
                if self.in_sizes > 0 || matches!(exp.ty, Ty::Scalar(_)) {
                    self.pin(slot);
                }
                let node = Node::Slot(slot);
                match self.local_params.get(&id).cloned() {
                    Some((types, sizes)) => {
                        let inst = self.inst(&types, &sizes, ty_args, size_args);
                        Node::LocalInst(Box::new(node), Box::new(inst), exp.span)
                    }
                    None => node,
                }
            }
            Found::Global(number) => {
                let inst = self.global_inst(number, ty_args, size_args);
                if inst.types.is_empty() && inst.sizes.is_empty() {
                    Node::Global(number)
                } else {
                    Node::GlobalInst(number, Box::new(inst))
                }
            }
        }
    }

    fn global_inst(
        &mut self,
        number: u32,
        ty_args: &[(TyVarId, Ty)],
        size_args: &[(VarId, tast::Dim)],
    ) -> Instance {
        match self.defs.get(number as usize).cloned() {
            Some(def) => self.inst(&def.ty_params, &def.size_params, ty_args, size_args),
            None => Instance::default(),
        }
    }

    fn inst(
        &mut self,
        types: &[TyVarId],
        sizes: &[VarId],
        ty_args: &[(TyVarId, Ty)],
        size_args: &[(VarId, tast::Dim)],
    ) -> Instance {
        // A recursive mention of a definition is instantiated at its own parameters.
        let types = types.iter().map(|var| match ty_args.iter().find(|(param, _)| param == var) {
            Some((_, ty)) => self.ty(ty),
            None => self.ty(&Ty::Var(*var)),
        });
        let types = types.collect();
        let sizes = sizes.iter().map(|var| match size_args.iter().find(|(param, _)| param == var) {
            Some((_, dim)) => self.dim(dim),
            None => SizeExpr::Any,
        });
        Instance { types, sizes: sizes.collect(), comparable: false }
    }

    /// An application. Arguments are evaluated from the last to the first and then the function,
    /// operands of an infix operator from left to right; all are resolved in the order of
    /// evaluation, so that sizes are bound before their use.
    pub(super) fn apply(&mut self, fun: &Exp, args: &[Exp], infix: bool, span: Span) -> Node {
        let comparable = self.check_sizes && are_comparable(fun, args);
        let operands = args.try_into().ok().filter(|_: &&[Exp; 2]| infix && !is_scalar(fun));
        if let Some([left, right]) = operands
            && !matches!(left.kind, ExpKind::Lit(..) | ExpKind::Var { .. })
        {
            let rhs = self.resolve_exp(left);
            let right = self.resolve_exp(right);
            let slot = self.frame().fresh();
            let param = Param {
                pat: Pat::Var(slot),
                ty: None,
                check: None,
                payload_sizes: Vec::new(),
                span: left.span,
            };
            let body = self.call(fun, vec![Node::Slot(slot), right], comparable, span);
            return Node::Let(vec![Bind::Pat(Vec::new(), param, rhs, None)], Box::new(body));
        }
        let args = if is_scalar(fun) {
            self.exps(args)
        } else {
            let mut args: Vec<Node> = args.iter().rev().map(|arg| self.resolve_exp(arg)).collect();
            args.reverse();
            args
        };
        self.call(fun, args, comparable, span)
    }

    /// An application to resolved arguments. `comparable` is true if the checker could compare the
    /// sizes of their types.
    fn call(&mut self, fun: &Exp, mut args: Vec<Node>, comparable: bool, span: Span) -> Node {
        if let ExpKind::Var { id, ty_args, size_args } = &fun.kind
            && let Found::Global(number) = self.lookup(*id)
        {
            let arity = self.defs.get(number as usize).map_or(0, |def| def.params.len());
            if arity > 0 && arity <= args.len() {
                let mut inst = self.global_inst(number, ty_args, size_args);
                inst.comparable = comparable;
                let rest = args.split_off(arity);
                let call = Node::Call(number, Box::new(inst), args, span);
                return applied(call, rest, span, false);
            }
        }
        if let ExpKind::Intrinsic { fun: intrinsic, ty_args, .. } = &fun.kind {
            let n = intrinsic.arity();
            if n <= args.len() {
                let types = ty_args.iter().map(|ty| self.ty(ty)).collect();
                let rest = args.split_off(n);
                let node = intrinsic_node(*intrinsic, types, args, span);
                let node = match node {
                    Node::Binary(..) | Node::Math(..) | Node::Fma(_) if self.nans => {
                        Node::Watched(Box::new(node), span)
                    }
                    node => node,
                };
                return applied(node, rest, span, false);
            }
        }
        applied(self.resolve_exp(fun), args, span, comparable)
    }
}

/// Returns true for a built-in function on scalars; its node evaluates operands from left to right.
const fn is_scalar(fun: &Exp) -> bool {
    match &fun.kind {
        ExpKind::Intrinsic { fun, .. } => !matches!(fun, Intrinsic::Array(_)),
        _ => false,
    }
}

fn applied(fun: Node, args: Vec<Node>, span: Span, comparable: bool) -> Node {
    if args.is_empty() { fun } else { Node::Apply(Box::new(fun), args, span, comparable) }
}

/// A built-in function with all of its arguments.
fn intrinsic_node(fun: Intrinsic, types: Vec<SizedType>, args: Vec<Node>, span: Span) -> Node {
    let mut rest = args.into_iter();
    let mut next = || {
        Box::new(
            rest.next().unwrap_or(Node::Refused("a built-in function with too few arguments".into(), span)),
        )
    };
    match fun {
        Intrinsic::Binary(op, ty) => Node::Binary(op, ty, Box::new((*next(), *next())), span),
        Intrinsic::Compare { op, swap, negate, .. } => {
            Node::Compare(Comparison { op, swap, negate }, Box::new((*next(), *next())))
        }
        Intrinsic::Unary(op, _) => Node::Unary(op, next()),
        Intrinsic::Convert { from, to } => match conversion(from, to) {
            Some(op) => Node::Convert(op, to.prim(), next()),
            None => *next(),
        },
        Intrinsic::ToBits(ty) => Node::Convert(ConvOp::ToBits, bits_type(ty).prim(), next()),
        Intrinsic::FromBits(ty) => Node::Convert(ConvOp::FromBits, ty.prim(), next()),
        Intrinsic::Fma(_) => Node::Fma(Box::new([*next(), *next(), *next()])),
        Intrinsic::Math(fun, _) => Node::Math(fun, rest.collect()),
        Intrinsic::Equal { negate } => Node::Equal(negate, Box::new((*next(), *next()))),
        Intrinsic::Array(ArrayFun::Trace) => {
            let ty = types.into_iter().next();
            let ty = ty.unwrap_or(SizedType::Static(Rc::new(RunType::Unknown)));
            Node::Trace(None, next(), Box::new(ty), span)
        }
        Intrinsic::Array(ArrayFun::Break) => Node::Break(next(), span),
        Intrinsic::Array(fun) => Node::ArrayFun(fun, types, rest.collect(), span),
    }
}
