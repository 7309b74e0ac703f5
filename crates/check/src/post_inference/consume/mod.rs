//! Consumption check: consumed values are not used afterwards, only owned values are consumed, and
//! results declared unique share no memory.
//!
//! One walk over a finished definition, in evaluation order. It knows the alias sets of every
//! variable ([`alias`]), and which roots were consumed: by an application to a parameter with `*`,
//! by an in-place update, or as the initial value of a consumed loop parameter. Branches are walked
//! from the same state, and their consumptions are united. The bodies of functions and loops are
//! walked once; roots from outside cannot be consumed there.
//!
//! For functions without a declared result, uniqueness is inferred from the body: a component of
//! the result that shares memory with no parameter and no other component is unique.
//!
//! Needs a finished definition without errors. Guarantees nothing but the errors: the crate `lower`
//! proves by itself which arrays are updated in place.

mod alias;
mod apply;
mod loops;
mod patterns;
mod report;

use crate::context::Context;
use crate::infer::InferTables;
use crate::tast::{Bind, Def, Exp, ExpKind, Index, Name, Pat, PatKind, Ty, Uniq, VarId};
use alias::{Aliases, MemoryRoot, holds_array, position, set};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use syntax::diag::Diagnostic;
use syntax::span::Span;

/// Facts about functions that their types do not have.
#[derive(Default)]
pub(crate) struct FunctionFacts {
    /// Functions with a declared result.
    pub(crate) declared: FxHashSet<VarId>,
    /// Pattern variables with a declared type that is not unique.
    pub(crate) non_unique_params: FxHashSet<VarId>,
    /// Of functions without a declared result: the arity, and the unique parts of the result.
    inferred_results: FxHashMap<VarId, (usize, Uniq)>,
    /// Of functions with a declared result: the unique parts of the body's value.
    body_uniqueness: FxHashMap<VarId, Uniq>,
}

/// Reports invalid consumption in a definition.
pub(crate) fn check(def: &Def, tables: &InferTables, cx: &mut Context<'_>) {
    let mut consume = ConsumptionCheck {
        tables,
        functions: &mut cx.function_facts,
        roots: Vec::new(),
        vars: FxHashMap::default(),
        globals: FxHashMap::default(),
        barrier: 0,
        region: "here",
        consumed: Vec::new(),
        used: Vec::new(),
        lambda: None,
        diags: Vec::new(),
    };
    consume.definition(def);
    let diags = consume.diags;
    // A parametric module is checked once, with abstract types for its parameters.
    if !cx.site.is_application() {
        for diag in diags {
            cx.report(diag);
        }
    }
}

/// The origin of memory.
#[derive(Clone)]
enum Origin {
    /// First bound to this variable.
    Var(VarId),
    /// Returned by a call of this function.
    Result(Name),
}

/// The owner of memory, who may consume it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The code that allocated it, or the function whose unique parameter it is.
    Owned,
    /// The caller; not consumable here.
    Borrowed,
    /// A constant; never consumable.
    Global,
}

/// Facts about a root.
struct RootInfo {
    origin: Origin,
    owner: Owner,
    consumed: Option<Span>,
    reported: bool,
}

/// A use of memory.
#[derive(Clone)]
struct Use {
    root: MemoryRoot,
    /// The variable used.
    var: Option<VarId>,
    span: Span,
}

/// The state of the walk.
struct ConsumptionCheck<'c> {
    tables: &'c InferTables,
    functions: &'c mut FunctionFacts,
    roots: Vec<RootInfo>,
    vars: FxHashMap<VarId, Aliases>,
    globals: FxHashMap<VarId, MemoryRoot>,
    /// Roots before this one belong to code around the function or loop.
    barrier: u32,
    /// Description of that function or loop, for messages.
    region: &'static str,
    /// The consumed roots, in order.
    consumed: Vec<MemoryRoot>,
    /// The uses, in order.
    used: Vec<Use>,
    /// The unique parts of the result of the lambda walked last.
    lambda: Option<Uniq>,
    diags: Vec<Diagnostic>,
}

impl ConsumptionCheck<'_> {
    // -------------------------------------------------------------- functions

    fn definition(&mut self, def: &Def) {
        if def.params.is_empty() {
            if def.ret.unique.any() {
                let message = "A constant cannot have a unique type".to_owned();
                let diag =
                    Diagnostic::error("unique-constant", message).at(def.span, "").hint("remove the `*`");
                self.diags.push(diag);
            }
            self.exp(&def.body);
            self.check_result_consumption(&def.ret.ty, &def.body);
            self.note_alias(def.var, &def.body);
            return;
        }
        self.function_def(def);
    }

    /// Checks a definition with parameters. Returns the roots that it captures.
    fn function_def(&mut self, def: &Def) -> Aliases {
        let declared = self.functions.declared.contains(&def.var);
        let declared = declared.then_some(&def.ret.unique);
        let (captured, unique) = self.function(&def.params, declared, &def.body);
        self.check_result_consumption(&def.ret.ty, &def.body);
        if declared.is_none() {
            let result_uniqueness = (def.params.len(), unique);
            self.functions.inferred_results.insert(def.var, result_uniqueness);
        } else if def.ret.unique.any() {
            self.functions.body_uniqueness.insert(def.var, unique);
        }
        captured
    }

    /// Checks a function. Returns the roots that it captures and the unique parts of its result.
    fn function(&mut self, params: &[Pat], declared: Option<&Uniq>, body: &Exp) -> (Aliases, Uniq) {
        let (barrier, inside) = (self.barrier, self.region);
        self.barrier = self.roots.len() as u32;
        self.region = "inside of a function";
        let used = self.used.len();
        for pat in params {
            self.bind_param(pat, &Uniq::None);
        }
        let result = self.exp(body);
        let unique = self.result(&result, declared, body);
        let outer = self.used.iter().skip(used).map(|used| used.root);
        let captured = outer.filter(|root| {
            let info = self.roots.get(root.index());
            root.0 < self.barrier && info.is_some_and(|info| info.owner != Owner::Global)
        });
        let captured = set(captured.collect());
        self.barrier = barrier;
        self.region = inside;
        (Aliases::Roots(captured), unique)
    }

    /// Reports forbidden sharing of a function's result. Returns its unique parts.
    fn result(&mut self, result: &Aliases, declared: Option<&Uniq>, body: &Exp) -> Uniq {
        let span = body.span;
        let mut leaves = Vec::new();
        result.leaves(declared.unwrap_or(&Uniq::None), &mut leaves);
        let mut count: FxHashMap<MemoryRoot, u32> = FxHashMap::default();
        for (roots, _) in &leaves {
            for root in roots.iter() {
                *count.entry(*root).or_default() += 1;
            }
        }
        for (roots, unique) in &leaves {
            for root in roots.iter() {
                let name = self.root_name(*root);
                let owner = self.owner(*root);
                if owner == Owner::Global {
                    let message = format!("The result aliases the free variable {name}");
                    self.report("result-aliases-global", *root, span, message);
                } else if *unique && (owner != Owner::Owned || root.0 < self.barrier) {
                    let message =
                        format!("Unique-typed return value is aliased to {name}, which is not consumable");
                    self.report("unique-result", *root, span, message);
                } else if *unique && count.get(root).is_some_and(|n| *n > 1) {
                    let message = format!(
                        "A unique-typed component of the return value is aliased to some other \
                         component. Both share {name}"
                    );
                    self.report("unique-result", *root, span, message);
                }
            }
        }
        let inferred = self.infer_uniqueness(result, &count);
        match declared {
            Some(unique) => unique.or(&inferred),
            None => inferred,
        }
    }

    fn infer_uniqueness(&self, result: &Aliases, count: &FxHashMap<MemoryRoot, u32>) -> Uniq {
        match result {
            Aliases::Parts(parts) => {
                Uniq::of_parts(parts.iter().map(|part| self.infer_uniqueness(part, count)).collect())
            }
            Aliases::Roots(roots) => {
                let own = |root: &MemoryRoot| {
                    root.0 >= self.barrier
                        && self.owner(*root) == Owner::Owned
                        && count.get(root).is_none_or(|n| *n < 2)
                };
                if roots.iter().all(own) { Uniq::All } else { Uniq::None }
            }
        }
    }

    // ------------------------------------------------------------ consumption

    /// Records a use of memory, and reports it if the memory was consumed.
    fn use_memory(&mut self, aliases: &Aliases, var: Option<VarId>, span: Span) {
        aliases.for_each_root(&mut |root| {
            let used = Use { root, var, span };
            if let Some(Some(consumed)) = self.roots.get(root.index()).map(|info| info.consumed) {
                self.used_after(&used, consumed);
            }
            self.used.push(used);
        });
    }

    /// Consumes a root, or reports why it cannot be consumed.
    fn consume(&mut self, root: MemoryRoot, span: Span) {
        let Some(info) = self.roots.get(root.index()) else {
            return;
        };
        if let Some(consumed) = info.consumed {
            let used = Use { root, var: None, span };
            self.used_after(&used, consumed);
        } else if info.owner != Owner::Owned || root.0 < self.barrier {
            self.not_consumable(root, span);
        } else {
            self.mark(root, span);
        }
    }

    fn mark(&mut self, root: MemoryRoot, span: Span) {
        if let Some(info) = self.roots.get_mut(root.index())
            && info.consumed.is_none()
        {
            info.consumed = Some(span);
            self.consumed.push(root);
        }
    }

    /// Undoes the consumptions since `mark` and returns them, at the end of a branch.
    fn undo_since(&mut self, mark: usize) -> Vec<(MemoryRoot, Span)> {
        let roots = self.consumed.split_off(mark);
        let take = |root: MemoryRoot| {
            let info = self.roots.get_mut(root.index())?;
            Some((root, info.consumed.take()?))
        };
        roots.into_iter().filter_map(take).collect()
    }

    /// Walks branches, each from the same state; returns the union of their aliases.
    fn branches<'e>(
        &mut self,
        arms: impl Iterator<Item = (Option<(&'e Pat, &'e Aliases)>, &'e Exp)>,
    ) -> Aliases {
        let mark = self.consumed.len();
        let mut all = Vec::new();
        let mut result: Option<Aliases> = None;
        for (bound, body) in arms {
            if let Some((pat, aliases)) = bound {
                self.bind(pat, aliases);
            }
            let aliases = self.exp(body);
            result = Some(result.map_or_else(|| aliases.clone(), |other| other.union(&aliases)));
            all.extend(self.undo_since(mark));
        }
        let result = result.unwrap_or_else(Aliases::none);
        if all.is_empty() {
            return result;
        }
        // A root consumed by one branch and returned by another belongs to the result.
        let consumed: FxHashSet<MemoryRoot> = all.iter().map(|(root, _)| *root).collect();
        for (root, span) in all {
            self.mark(root, span);
        }
        result.map_leaves(&mut |roots| {
            if roots.iter().any(|root| consumed.contains(root)) {
                roots.iter().filter(|root| !consumed.contains(root)).copied().collect()
            } else {
                Rc::clone(roots)
            }
        })
    }

    // ------------------------------------------------------------ expressions

    /// Walks an expression and returns its aliases.
    fn exp(&mut self, exp: &Exp) -> Aliases {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || self.exp_inner(exp))
    }

    fn exp_inner(&mut self, exp: &Exp) -> Aliases {
        match &exp.kind {
            ExpKind::Lit(..)
            | ExpKind::String(_)
            | ExpKind::Intrinsic { .. }
            | ExpKind::Operator(_)
            | ExpKind::Hole => Aliases::none(),
            ExpKind::Var { id, .. } => {
                let aliases = self.variable(*id, exp);
                self.use_memory(&aliases, Some(*id), exp.span);
                aliases
            }
            ExpKind::Tuple(parts) => Aliases::Parts(parts.iter().map(|part| self.exp(part)).collect()),
            ExpKind::Record(fields) => self.record(fields, &exp.ty),
            ExpKind::Project(inner, label) => match self.variable_component(exp) {
                Some((var, aliases)) => {
                    self.use_memory(&aliases, Some(var), exp.span);
                    aliases
                }
                None => self.exp(inner).part(position(&inner.ty, label)),
            },
            ExpKind::RecordUpdate { record, path, value } => {
                let aliases = self.exp(record);
                let new = self.exp(value);
                let mut ty = Some(&record.ty);
                let path: Vec<usize> = path
                    .iter()
                    .map(|label| {
                        let at = ty.map_or(usize::MAX, |ty| position(ty, label));
                        ty = ty.and_then(|ty| ty.field(label));
                        at
                    })
                    .collect();
                aliases.with(&path, new)
            }
            ExpKind::Array(elems) => {
                for elem in elems {
                    self.exp(elem);
                }
                Aliases::none()
            }
            ExpKind::Range { start, second, end, .. } => {
                self.exp(start);
                if let Some(second) = second {
                    self.exp(second);
                }
                self.exp(end);
                Aliases::none()
            }
            ExpKind::Index { array, indices } => {
                let aliases = self.exp(array);
                self.indices(indices);
                Aliases::spread(&set(aliases.to_vec()), &exp.ty)
            }
            ExpKind::Update { array, indices, value } => {
                self.indices(indices);
                let mark = self.consumed.len();
                let new = self.exp(value).to_vec();
                if let ExpKind::Var { id, .. } = &array.kind
                    && self.is_synthetic(*id)
                {
                    // The value may consume the element that it replaces.
                    self.undo_since(mark);
                }
                let old = set(self.exp(array).to_vec());
                if let Some(root) = new.iter().find(|root| old.binary_search(root).is_ok()) {
                    let name = self.root_name(*root);
                    let message = format!(
                        "The new value of an in-place update is aliased to {name}, which is consumed"
                    );
                    self.report("in-place-alias", *root, value.span, message);
                }
                for root in old.iter() {
                    self.consume(*root, exp.span);
                }
                Aliases::none()
            }
            ExpKind::Apply { fun, args, infix } => self.apply(fun, args, *infix, exp),
            ExpKind::Lambda(lambda) => {
                let declared = lambda.ret.unique.any().then_some(&lambda.ret.unique);
                let (captured, unique) = self.function(&lambda.params, declared, &lambda.body);
                self.lambda = Some(unique);
                captured
            }
            ExpKind::Let { binds, body } => {
                for bind in binds {
                    self.local(bind);
                }
                self.exp(body)
            }
            ExpKind::If { cond, then, otherwise } => {
                self.exp(cond);
                self.branches([(None, &**then), (None, &**otherwise)].into_iter())
            }
            ExpKind::Loop { pat, init, form, body, .. } => self.loop_exp(pat, init, form, body),
            ExpKind::Match { scrutinee, cases } => {
                let aliases = self.exp(scrutinee);
                let arms = cases.iter().map(|case| (Some((&case.pat, &aliases)), &case.body));
                self.branches(arms)
            }
            ExpKind::Constr(_, args) => {
                let mut roots = Vec::new();
                for arg in args {
                    roots.extend(self.exp(arg).to_vec());
                }
                Aliases::Roots(set(roots))
            }
            ExpKind::And(a, b) | ExpKind::Or(a, b) => {
                self.exp(a);
                self.exp(b);
                Aliases::none()
            }
            ExpKind::Coerce(inner) | ExpKind::Attr(_, inner) => self.exp(inner),
            ExpKind::Assert { cond, exp, .. } => {
                self.exp(cond);
                self.exp(exp)
            }
        }
    }

    fn local(&mut self, bind: &Bind) {
        match bind {
            Bind::Pat { pat, rhs, .. } => {
                let aliases = self.exp(rhs);
                if let (PatKind::Var(var), ExpKind::Lambda(lambda)) = (&pat.kind, &rhs.kind)
                    && let Some(unique) = self.lambda.take()
                {
                    let known = (lambda.params.len(), unique);
                    self.functions.inferred_results.insert(*var, known);
                } else if let PatKind::Var(var) = &pat.kind {
                    self.note_alias(*var, rhs);
                }
                self.bind(pat, &aliases);
            }
            Bind::Fun(def) => {
                let aliases =
                    if def.params.is_empty() { self.exp(&def.body) } else { self.function_def(def) };
                self.vars.insert(def.var, aliases);
            }
        }
    }

    fn record(&mut self, fields: &[(Name, Exp)], ty: &Ty) -> Aliases {
        let labels: Vec<&Name> = match ty {
            Ty::Record(fields) => fields.iter().map(|(label, _)| label).collect(),
            _ => fields.iter().map(|(label, _)| label).collect(),
        };
        let values: Vec<(&Name, Aliases)> =
            fields.iter().map(|(label, exp)| (label, self.exp(exp))).collect();
        let mut parts = vec![Aliases::none(); labels.len()];
        for (label, aliases) in values {
            let at = match ty {
                Ty::Record(_) => labels.binary_search_by(|l| l.cmp(&label)).ok(),
                _ => label.parse().ok(),
            };
            let at = at.or_else(|| labels.iter().position(|l| *l == label));
            if let Some(part) = at.and_then(|at| parts.get_mut(at)) {
                *part = aliases;
            }
        }
        Aliases::Parts(Rc::from(parts))
    }

    /// The aliases of a component of a variable; the other components are not used.
    fn variable_component(&mut self, exp: &Exp) -> Option<(VarId, Aliases)> {
        match &exp.kind {
            ExpKind::Var { id, .. } => Some((*id, self.variable(*id, exp))),
            ExpKind::Project(inner, label) => {
                let (var, aliases) = self.variable_component(inner)?;
                Some((var, aliases.part(position(&inner.ty, label))))
            }
            _ => None,
        }
    }

    /// The aliases of a variable.
    fn variable(&mut self, var: VarId, exp: &Exp) -> Aliases {
        if let Some(aliases) = self.vars.get(&var) {
            return aliases.clone();
        }
        // A global. One with size parameters has another value at each use.
        let parameters = match &exp.kind {
            ExpKind::Var { size_args, .. } => !size_args.is_empty(),
            _ => false,
        };
        let ty = &exp.ty;
        if parameters || !holds_array(ty) {
            return Aliases::none();
        }
        let root = match self.globals.get(&var) {
            Some(root) => *root,
            None => {
                let root = self.new_root(Origin::Var(var), Owner::Global);
                self.globals.insert(var, root);
                root
            }
        };
        let roots = Rc::from([root]);
        Aliases::build(ty, &mut |ty| match ty {
            ty if holds_array(ty) => Aliases::Roots(Rc::clone(&roots)),
            _ => Aliases::none(),
        })
    }

    /// Returns true if the checker made the variable to name a subexpression.
    fn is_synthetic(&self, var: VarId) -> bool {
        let data = self.tables.vars.get(var.index());
        data.is_some_and(|data| data.span.is_none())
    }

    fn indices(&mut self, indices: &[Index]) {
        for index in indices {
            match index {
                Index::At(e) => {
                    self.exp(e);
                }
                Index::Slice { from, to, step } => {
                    for part in [from, to, step].into_iter().flatten() {
                        self.exp(part);
                    }
                }
            }
        }
    }
}
