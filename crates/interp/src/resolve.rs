//! Translation of the typed tree to the resolved form: names become slots and numbers.
//!
//! A function's variables get slots in the order in which they are met. Variables of enclosing
//! scopes that a lambda or local function mentions are captured: they have a slot in the frame of
//! each function in between. A size that is not bound where it is met first belongs to the function
//! that mentions it.
//!
//! Guarantees: scalars, sizes and types, and the operands of size expressions, are never moved out
//! of their slots (see [`crate::last_use`]), so types can be evaluated at any time.

mod apply;
mod bindings;
mod scope;
mod size_check;
mod types;

use crate::debug::ScopedVar;
use crate::last_use;
use crate::tree::{Function, Index, Node, Range, SizedType, Slot, Subject};
use crate::value::{RunType, RunValue};
use check::tast::{self, Attr, Def, Exp, ExpKind, Lambda, Program, RetType, Ty, TyVarId, VarId};
use prim::{MathFun, PrimType, ScalarType};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;
use syntax::span::Span;
pub use types::payload_sizes;

/// The numbers of definitions.
pub type Globals = FxHashMap<VarId, u32>;

/// The state of the resolution of one definition.
pub struct Resolver<'a> {
    program: &'a Program,
    defs: &'a [Arc<Def>],
    globals: &'a Globals,
    frames: Vec<Frame>,
    /// The number of size expressions around the current expression.
    in_sizes: usize,
    /// Type and size parameters of local functions.
    local_params: FxHashMap<VarId, (Vec<TyVarId>, Vec<VarId>)>,
    /// The program, for names of variables, if functions record the scopes of their parts.
    watched: Option<&'a Program>,
    nans: bool,
    check_sizes: bool,
}

/// Additional instrumentation of the code.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// Functions record the variables in scope in their parts.
    pub watched: bool,
    /// Operators report new NaNs.
    pub nans: bool,
    /// Values are checked against their types.
    pub check_sizes: bool,
}

/// The frame of a function being resolved.
#[derive(Default)]
struct Frame {
    slots: FxHashMap<VarId, Slot>,
    types: FxHashMap<TyVarId, Slot>,
    n_slots: Slot,
    /// Captured slots of the enclosing function, with their slots here.
    captures: Vec<(Slot, Slot)>,
    pinned: FxHashSet<Slot>,
    /// The sizes bound in the function, in the order of their slots.
    sizes: Vec<Slot>,
    /// The variables in scope in parts of the function, if it is watched.
    seen: Vec<ScopedVar>,
}

impl Frame {
    fn fresh(&mut self) -> Slot {
        self.n_slots += 1;
        self.n_slots - 1
    }
}

/// Resolves a definition.
pub fn definition(program: &Program, globals: &Globals, def: &Def, options: Options) -> Function {
    let mut resolver = Resolver {
        program,
        defs: &program.defs,
        globals,
        frames: Vec::new(),
        in_sizes: 0,
        local_params: FxHashMap::default(),
        watched: options.watched.then_some(program),
        nans: options.nans,
        check_sizes: options.check_sizes,
    };
    Function { math: math_function(def), ..resolver.function(def).0 }
}

/// The mathematical function that a definition of the prelude defines, and its type.
pub fn math_function(def: &Def) -> Option<(MathFun, PrimType)> {
    let marks = if def.is_prelude { def.attrs.as_slice() } else { &[] };
    let mark = marks.iter().find(|attr| &*attr.name == "math")?;
    let fun = MathFun::from_name(&mark.args.first()?.name)?;
    match def.ret.ty {
        Ty::Scalar(ty) if fun.has_definition(ty.prim()) => Some((fun, ty.prim())),
        _ => None,
    }
}

/// The resolution of a name.
enum Found {
    Slot(Slot),
    Global(u32),
}

impl Resolver<'_> {
    fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn pin(&mut self, slot: Slot) {
        self.frame().pinned.insert(slot);
    }

    /// The slot of a variable that is bound here.
    fn bind(&mut self, var: VarId) -> Slot {
        let frame = self.frame();
        if let Some(slot) = frame.slots.get(&var) {
            return *slot;
        }
        let slot = frame.fresh();
        frame.slots.insert(var, slot);
        slot
    }

    /// The slot of a size that is bound here.
    fn bind_size(&mut self, var: VarId) -> Slot {
        let before = self.frame().n_slots;
        let slot = self.bind_scalar(var);
        if slot == before {
            self.frame().sizes.push(slot);
        }
        slot
    }

    /// The slot of a scalar that sizes may mention.
    fn bind_scalar(&mut self, var: VarId) -> Slot {
        let slot = self.bind(var);
        self.pin(slot);
        slot
    }

    fn lookup(&mut self, var: VarId) -> Found {
        if let Some(slot) = self.frame().slots.get(&var) {
            return Found::Slot(*slot);
        }
        if let Some(id) = self.globals.get(&var) {
            return Found::Global(*id);
        }
        let around = self.frames.iter().rposition(|f| f.slots.contains_key(&var));
        let Some(at) = around else {
            return Found::Slot(self.bind_size(var));
        };
        let mut slot = self.frames[at].slots[&var];
        for frame in &mut self.frames[at + 1..] {
            let inner = frame.fresh();
            frame.captures.push((slot, inner));
            frame.slots.insert(var, inner);
            slot = inner;
        }
        Found::Slot(slot)
    }

    fn find_type(&mut self, var: TyVarId) -> Option<Slot> {
        let at = self.frames.iter().rposition(|f| f.types.contains_key(&var))?;
        let mut slot = self.frames[at].types[&var];
        self.frames[at].pinned.insert(slot);
        for frame in &mut self.frames[at + 1..] {
            let inner = frame.fresh();
            frame.captures.push((slot, inner));
            frame.types.insert(var, inner);
            frame.pinned.insert(inner);
            slot = inner;
        }
        Some(slot)
    }

    // -------------------------------------------------------------- functions

    /// A definition's code, and the slots of the enclosing frame that it captures.
    fn function(&mut self, def: &Def) -> (Function, Vec<Slot>) {
        self.frames.push(Frame::default());
        for var in &def.ty_params {
            let frame = self.frame();
            let slot = frame.fresh();
            frame.types.insert(*var, slot);
            frame.pinned.insert(slot);
        }
        for var in &def.size_params {
            self.bind_scalar(*var);
            self.add_to_scope(*var, &Ty::I64, def.body.span);
        }
        let counts = (def.ty_params.len(), def.size_params.as_slice());
        self.finish(&def.params, &def.ret, &def.body, def.span, counts)
    }

    fn lambda(&mut self, lambda: &Lambda, span: Span) -> Node {
        self.frames.push(Frame::default());
        let (func, captured) = self.finish(&lambda.params, &lambda.ret, &lambda.body, span, (0, &[]));
        closure(func, captured)
    }

    fn finish(
        &mut self,
        params: &[tast::Pat],
        ret: &RetType,
        body: &Exp,
        span: Span,
        (n_types, sizes): (usize, &[VarId]),
    ) -> (Function, Vec<Slot>) {
        self.inherit_scope(body.span);
        let params = params.iter().map(|pat| self.param_in_scope(pat, &[], body.span)).collect();
        let mut code = self.resolve_exp(body);
        let ext: Vec<Slot> = ret.existential_sizes.iter().map(|var| self.bind_size(*var)).collect();
        let from = [&body.ty];
        let check = self.size_check(&ret.ty, &ext, Subject::Result, &from, body.span);
        let ret = self.shape(&ret.ty);
        let frame = self.frames.pop().unwrap_or_default();
        let (outer, captures): (Vec<Slot>, Vec<Slot>) = frame.captures.iter().copied().unzip();
        if self.watched.is_none() {
            last_use::mark(&mut code, frame.n_slots, &frame.pinned, &captures);
        }
        let func = Function {
            n_slots: frame.n_slots as usize,
            n_types,
            n_sizes: sizes.len(),
            check_sizes: self.check_sizes,
            size_params: if self.check_sizes { sizes.to_vec() } else { Vec::new() },
            captures,
            params,
            ext,
            ret,
            check,
            body: code,
            span,
            math: None,
            scope: self.watched.map(|_| frame.seen.into()),
        };
        (func, outer)
    }

    // ------------------------------------------------------------ expressions

    fn exps(&mut self, exps: &[Exp]) -> Vec<Node> {
        exps.iter().map(|exp| self.resolve_exp(exp)).collect()
    }

    fn resolve_pair(&mut self, x: &Exp, y: &Exp) -> Box<(Node, Node)> {
        let x = self.resolve_exp(x);
        Box::new((x, self.resolve_exp(y)))
    }

    fn resolve_exp(&mut self, exp: &Exp) -> Node {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
            let node = self.resolve_kind(exp);
            let coerced = matches!(exp.kind, ExpKind::Coerce(_));
            if coerced {
                return node;
            }
            let slots: Vec<Slot> = exp.existential_sizes.iter().map(|var| self.bind_size(*var)).collect();
            if let Some(check) = self.size_check(&exp.ty, &slots, Subject::Expression, &[], exp.span) {
                return Node::Checked(Box::new(node), check);
            }
            if slots.is_empty() {
                return node;
            }
            match self.shape(&exp.ty) {
                Some(ty) => Node::BindSizes(Box::new(node), slots, Box::new(ty)),
                None => node,
            }
        })
    }

    fn resolve_kind(&mut self, exp: &Exp) -> Node {
        match &exp.kind {
            ExpKind::Lit(value, _) => Node::Const(RunValue::Scalar(*value)),
            ExpKind::String(bytes) => {
                let data = bytes.iter().map(|b| b.cast_signed()).collect();
                Node::Const(RunValue::vector(crate::value::Data::I8(data)))
            }
            ExpKind::Var { id, ty_args, size_args } => self.variable(*id, ty_args, size_args, exp),
            ExpKind::Intrinsic { fun, ty_args, .. } => {
                let types = ty_args.iter().map(|ty| self.ty(ty)).collect();
                Node::Intrinsic(*fun, types)
            }
            ExpKind::Operator(_) => Node::Refused("an operator without a type".into(), exp.span),
            ExpKind::Tuple(parts) => {
                let parts = self.exps(parts);
                Node::Parts((0u32..).zip(parts).collect())
            }
            ExpKind::Record(fields) => Node::Parts(
                fields
                    .iter()
                    .map(|(label, part)| (field_index(&exp.ty, label), self.resolve_exp(part)))
                    .collect(),
            ),
            ExpKind::Project(record, label) => {
                let at = field_index(&record.ty, label);
                if at == u32::MAX && self.in_sizes > 0 {
                    // A size of another scope, whose types were not inferred any further: its value
                    // is unknown here.
                    let slot = self.frame().fresh();
                    self.pin(slot);
                    return Node::Slot(slot);
                }
                Node::Field(Box::new(self.resolve_exp(record)), at)
            }
            ExpKind::RecordUpdate { record, path, value } => {
                let mut ty = Some(&record.ty);
                let mut numbers = Vec::with_capacity(path.len());
                for label in path {
                    numbers.push(ty.map_or(u32::MAX, |ty| field_index(ty, label)));
                    ty = ty.and_then(|ty| ty.field(label));
                }
                Node::WithField(self.resolve_pair(record, value), numbers)
            }
            ExpKind::Array(elems) => {
                let elems = self.exps(elems);
                let ty = match &exp.ty {
                    Ty::Array(array) => self.ty(&array.elem),
                    _ => SizedType::Static(Rc::new(RunType::Unknown)),
                };
                literal(elems, ty, exp.span)
            }
            ExpKind::Range { start, second, end, kind } => {
                let ty = match start.ty {
                    Ty::Scalar(ty) => ty,
                    _ => ScalarType::I64,
                };
                Node::Range(Box::new(Range {
                    start: self.resolve_exp(start),
                    second: second.as_ref().map(|second| self.resolve_exp(second)),
                    end: self.resolve_exp(end),
                    kind: *kind,
                    ty,
                    span: exp.span,
                }))
            }
            ExpKind::Index { array, indices } => {
                let array = self.resolve_exp(array);
                let indices = indices.iter().map(|index| self.index(index)).collect();
                Node::Index(Box::new(array), indices, exp.span)
            }
            ExpKind::Update { array, indices, value } => {
                let pair = self.resolve_pair(array, value);
                let indices = indices.iter().map(|index| self.index(index)).collect();
                Node::Update(pair, indices, exp.span)
            }
            ExpKind::Apply { fun, args, infix } => self.apply(fun, args, *infix, exp.span),
            ExpKind::Lambda(lambda) => self.lambda(lambda, exp.span),
            ExpKind::Let { binds, body } => {
                let end = body.span;
                let binds = binds.iter().map(|bind| self.local(bind, end)).collect();
                Node::Let(binds, Box::new(self.resolve_exp(body)))
            }
            ExpKind::If { cond, then, otherwise } => {
                let cond = self.resolve_exp(cond);
                let then = self.resolve_exp(then);
                Node::If(Box::new((cond, then, self.resolve_exp(otherwise))))
            }
            ExpKind::Loop { sizes, pat, init, form, body } => self.loop_exp(sizes, pat, init, form, body),
            ExpKind::Match { scrutinee, cases } => {
                let scrutinee_ty = scrutinee.ty.clone();
                let scrutinee = self.resolve_exp(scrutinee);
                let cases = cases
                    .iter()
                    .map(|case| {
                        let from = [&scrutinee_ty];
                        let param = self.param_in_scope(&case.pat, &from, case.body.span);
                        (param, self.resolve_exp(&case.body))
                    })
                    .collect();
                Node::Match(Box::new(scrutinee), cases, exp.span)
            }
            ExpKind::Constr(label, args) => Node::Constr(constr_index(&exp.ty, label), self.exps(args)),
            ExpKind::And(x, y) => Node::And(self.resolve_pair(x, y)),
            ExpKind::Or(x, y) => Node::Or(self.resolve_pair(x, y)),
            ExpKind::Coerce(inner) => {
                let inner = self.resolve_exp(inner);
                let sizes = exp.existential_sizes.iter().map(|var| self.bind_size(*var)).collect();
                let ty = Box::new(self.ty(&exp.ty));
                Node::Coerce(Box::new(inner), sizes, ty, exp.span)
            }
            ExpKind::Assert { cond, source_text: text, exp: e } => {
                Node::Assert(self.resolve_pair(cond, e), Arc::clone(text), exp.span)
            }
            ExpKind::Attr(attrs, inner) => self.attributed(attrs, inner, exp.span),
            ExpKind::Hole => Node::Hole(self.program.show(&exp.ty).into(), exp.span),
        }
    }

    fn attributed(&mut self, attrs: &[Attr], inner: &Exp, span: Span) -> Node {
        let node = self.resolve_exp(inner);
        attrs.iter().rev().fold(node, |node, attr| {
            let mut ty = || Box::new(self.ty(&inner.ty));
            match &*attr.name {
                "trace" => {
                    let tag = attr.args.first().map(|arg| Arc::clone(&arg.name));
                    Node::Trace(tag, Box::new(node), ty(), span)
                }
                "break" => Node::Break(Box::new(node), span),
                // `#[scratch]` has no effect on scalars.
                "scratch" if !matches!(inner.ty, Ty::Array(..)) => node,
                "blank" | "scratch" => Node::DontCare(Box::new(node), ty(), span),
                _ => node,
            }
        })
    }

    fn index(&mut self, index: &tast::Index) -> Index {
        match index {
            tast::Index::At(exp) => {
                let signed = matches!(exp.ty, Ty::Scalar(ty) if ty.is_signed());
                Index::At(self.resolve_exp(exp), signed)
            }
            tast::Index::Slice { from, to, step } => {
                let mut part = |exp: &Option<Exp>| exp.as_ref().map(|exp| self.resolve_exp(exp));
                let (from, to) = (part(from), part(to));
                Index::Slice(from, to, part(step))
            }
        }
    }
}

fn closure(func: Function, captured: Vec<Slot>) -> Node {
    Node::Closure(Rc::new(func), captured.into_iter().map(Node::Slot).collect())
}

/// An array literal; a constant if all elements are scalar constants.
fn literal(elems: Vec<Node>, ty: SizedType, span: Span) -> Node {
    let constants: Option<Vec<RunValue>> = elems
        .iter()
        .map(|node| match node {
            Node::Const(value @ RunValue::Scalar(_)) => Some(value.clone()),
            _ => None,
        })
        .collect();
    if let Some(constants) = constants
        && !constants.is_empty()
    {
        let mut rows = crate::build::Rows::new(constants.len());
        if constants.into_iter().all(|value| rows.push(value).is_ok()) {
            return Node::Const(rows.finish(|| Rc::new(RunType::Unknown)));
        }
    }
    Node::Array(elems, Box::new(ty), span)
}

/// The number of a field in its type.
fn field_index(ty: &Ty, label: &str) -> u32 {
    let at = match ty {
        Ty::Record(fields) => fields.iter().position(|(l, _)| &**l == label),
        _ => label.parse().ok(),
    };
    at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
}

/// The number of a constructor in its type.
fn constr_index(ty: &Ty, label: &str) -> u32 {
    let at = match ty {
        Ty::Sum(constrs) => constrs.iter().position(|(l, _)| &**l == label),
        _ => None,
    };
    at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
}
