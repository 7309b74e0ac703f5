//! Loops: consumed parameters, and the aliases of the result.
//!
//! A parameter is consumed if its type is unique (unless it is one of several arrays, its next
//! value is new, and the body does not consume it: the reference compiler accepts such programs),
//! if the body consumes it, or if the body yields it as the next value of a consumed parameter. Its
//! initial value is then consumed before the loop, so neither the rest of the loop nor the code
//! after it may use it, and the body must yield a value that shares memory with nothing else.

use super::alias::{Aliases, MemoryRoot, position, set};
use super::{ConsumptionCheck, Owner, Use};
use crate::tast::{Exp, LoopForm, Pat, PatKind, Uniq};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// A component of the loop-carried value.
struct LoopComponent {
    /// The parameter's root, if it holds memory and has a name.
    root: Option<MemoryRoot>,
    init: Rc<[MemoryRoot]>,
    next: Rc<[MemoryRoot]>,
    consumed: bool,
}

impl ConsumptionCheck<'_> {
    pub(super) fn loop_exp(&mut self, pat: &Pat, init: &Exp, form: &LoopForm, body: &Exp) -> Aliases {
        let first = self.exp(init);
        let array = match form {
            LoopForm::For(_, bound) => {
                self.exp(bound);
                None
            }
            LoopForm::ForIn(pat, array) => Some((pat, set(self.exp(array).to_vec()))),
            LoopForm::While(_) => None,
        };
        let (barrier, inside) = (self.barrier, self.region);
        self.barrier = self.roots.len() as u32;
        self.region = "inside the loop body";
        let used = self.used.len();
        if let Some((pat, roots)) = array {
            self.bind(pat, &Aliases::spread(&roots, &pat.ty));
        }
        let param = self.loop_param(pat);
        if let LoopForm::While(cond) = form {
            self.exp(cond);
        }
        let next = self.exp(body);
        let (first, next) = (first.with_structure_of(&param), next.with_structure_of(&param));
        let mut parts = self.parts(&param, &first, &next, &pat.consumes);
        propagate_consumption(&mut parts);
        self.check_next(&parts, body);
        self.barrier = barrier;
        self.region = inside;
        self.consume_init(&parts, init, used);
        let results = result_roots(&parts);
        let mut at = results.into_iter();
        param.map_leaves(&mut |_| at.next().unwrap_or_else(|| Rc::from([])))
    }

    /// The roots of the parameters, in the structure of the pattern's type.
    fn loop_param(&mut self, pat: &Pat) -> Aliases {
        match &pat.kind {
            PatKind::Var(var) => {
                let is_non_unique = self.functions.non_unique_params.contains(var);
                let unique = if is_non_unique { &Uniq::None } else { &Uniq::All };
                let aliases = self.param_aliases(*var, &pat.ty, unique);
                self.vars.insert(*var, aliases.clone());
                aliases
            }
            PatKind::Attr(_, inner) => self.loop_param(inner),
            PatKind::Tuple(parts) => Aliases::Parts(parts.iter().map(|part| self.loop_param(part)).collect()),
            PatKind::Record(fields) => {
                let mut parts = vec![Aliases::none(); fields.len()];
                for (label, part) in fields {
                    let aliases = self.loop_param(part);
                    let at = position(&pat.ty, label);
                    if let Some(slot) = parts.get_mut(at) {
                        *slot = aliases;
                    }
                }
                Aliases::Parts(Rc::from(parts))
            }
            PatKind::Wildcard | PatKind::Lit(..) | PatKind::Constr(..) => {
                Aliases::build(&pat.ty, &mut |_| Aliases::none())
            }
        }
    }

    fn parts(&self, param: &Aliases, init: &Aliases, next: &Aliases, unique: &Uniq) -> Vec<LoopComponent> {
        let leaves = |aliases: &Aliases| {
            let mut out = Vec::new();
            aliases.leaves(unique, &mut out);
            out
        };
        let (param, init, next) = (leaves(param), leaves(init), leaves(next));
        let param_roots: FxHashSet<MemoryRoot> =
            (param.iter().flat_map(|(roots, _)| roots.iter().copied())).collect();
        let is_single = param.iter().filter(|(roots, _)| !roots.is_empty()).count() < 2;
        let is_old = |root: &MemoryRoot| root.0 < self.barrier || param_roots.contains(root);
        param
            .into_iter()
            .zip(init.into_iter().zip(next))
            .map(|((roots, unique), ((init, _), (next, _)))| {
                let root = roots.first().copied();
                let info = root.and_then(|root| self.roots.get(root.index()));
                let by_type = unique && (is_single || next.iter().any(is_old));
                let consumed = by_type || info.is_some_and(|info| info.consumed.is_some());
                LoopComponent { root, init, next, consumed }
            })
            .collect()
    }

    /// Reports next values of consumed parameters that share memory.
    fn check_next(&mut self, parts: &[LoopComponent], body: &Exp) {
        let mut count: FxHashMap<MemoryRoot, u32> = FxHashMap::default();
        for root in parts.iter().flat_map(|part| part.next.iter()) {
            *count.entry(*root).or_default() += 1;
        }
        for part in parts.iter().filter(|part| part.consumed) {
            let param = part.root.map_or_else(|| "a value".to_owned(), |root| self.root_name(root));
            for root in part.next.iter() {
                let name = self.root_name(*root);
                if root.0 < self.barrier || self.owner(*root) != Owner::Owned {
                    let message = format!(
                        "The next value of consuming loop parameter {param} aliases {name}, \
                         which comes from outside of the loop: {param} aliases {name}"
                    );
                    self.report("consuming-loop-param-aliases", *root, body.span, message);
                } else if count.get(root).is_some_and(|n| *n > 1) {
                    let message = format!(
                        "The next value of loop parameter {param} aliases other consumed loop \
                         parameter: it aliases previously returned value by {name}"
                    );
                    self.report("loop-parameter-aliases-other", *root, body.span, message);
                }
            }
        }
    }

    /// Consumes the initial values of consumed parameters, and reports other uses in the loop.
    fn consume_init(&mut self, parts: &[LoopComponent], init: &Exp, used: usize) {
        let mut count: FxHashMap<MemoryRoot, u32> = FxHashMap::default();
        for root in parts.iter().flat_map(|part| part.init.iter()) {
            *count.entry(*root).or_default() += 1;
        }
        let mut taken: FxHashSet<MemoryRoot> = FxHashSet::default();
        for root in parts.iter().filter(|part| part.consumed).flat_map(|part| part.init.iter()) {
            if count.get(root).is_some_and(|n| *n > 1) {
                let name = self.root_name(*root);
                let message =
                    format!("The initial value of a consuming loop parameter is self-aliased by {name}");
                self.report("consumed-argument", *root, init.span, message);
            }
            if taken.insert(*root) {
                self.consume(*root, init.span);
            }
        }
        if taken.is_empty() {
            return;
        }
        let inner: Vec<Use> =
            self.used.iter().skip(used).filter(|used| taken.contains(&used.root)).cloned().collect();
        for used in inner {
            self.used_after(&used, init.span);
        }
    }
}

/// Marks parameters as consumed that become the next value of a consumed one.
fn propagate_consumption(parts: &mut [LoopComponent]) {
    let at: FxHashMap<MemoryRoot, usize> =
        parts.iter().enumerate().filter_map(|(i, part)| Some((part.root?, i))).collect();
    let mut todo: Vec<usize> = (0..parts.len()).collect();
    while let Some(i) = todo.pop() {
        let Some(part) = parts.get(i).filter(|part| part.consumed) else {
            continue;
        };
        let sources: Vec<usize> = part.next.iter().filter_map(|r| at.get(r).copied()).collect();
        for source in sources {
            if let Some(part) = parts.get_mut(source)
                && !part.consumed
            {
                part.consumed = true;
                todo.push(source);
            }
        }
    }
}

/// The roots of each component after the loop: those of its initial value and of its next value,
/// with the roots of other parameters replaced by theirs. Empty for consumed components.
fn result_roots(parts: &[LoopComponent]) -> Vec<Rc<[MemoryRoot]>> {
    let at: FxHashMap<MemoryRoot, usize> =
        parts.iter().enumerate().filter_map(|(i, part)| Some((part.root?, i))).collect();
    let reach = |start: usize| {
        let mut seen = vec![false; parts.len()];
        let mut todo = vec![start];
        let mut roots = Vec::new();
        while let Some(i) = todo.pop() {
            let Some(part) = parts.get(i) else { continue };
            if std::mem::replace(&mut seen[i], true) || part.consumed {
                continue;
            }
            roots.extend(part.init.iter().copied());
            for root in part.next.iter() {
                match at.get(root) {
                    Some(i) => todo.push(*i),
                    None => roots.push(*root),
                }
            }
        }
        set(roots)
    };
    (0..parts.len()).map(reach).collect()
}
