//! Inlining: replaces calls by function bodies.
//!
//! Functions are visited callees first, so that calls in a copied body are already processed. A
//! call is inlined if the callee is small, is called once, has `#[inline]`, contains combinators or
//! takes arrays (so that it can fuse with its caller), or is called from within a combinator (whose
//! iterations can then be vectorised), as long as neither the callee nor the caller has grown too
//! large. Recursive functions and functions with `#[noinline]` are never inlined. Constants are
//! inlined if they are literal values; others are called once ([`constants`]). Functions that no
//! entry point reaches are removed, all of them for one unit of fuel.
//!
//! The size limit depends on the program: before any call is inlined, sizes are added up as if the
//! inlining had been done, and of a few limits the largest is chosen that keeps the program within
//! its budget ([`plan`]). Small functions are copied in any case.
//!
//! `#[inline]` and `#[noinline]` on a call override the function's attributes for that call.
//!
//! The call's certificates are added to the callee's outermost statements, its provenance is
//! stacked below each of theirs, and its attributes go to the statements that inherit them.

mod constants;
mod plan;

use crate::splice;
use analysis::{size, statements};
use ir::remark::{NotInlinedReason, RemarkKind};
use ir::syntax::{Atom, Attr, Attrs, Aux, Body, Exp, FunKind, Function, Level, Param, Program, Stm};
use ir::walk::{Import, Substitution, Visit, VisitMut, import_body};
use ir::{Context, Fuel, FunId, FunName, NameTable, PassError, Prov, ProvTable};

/// The size in statements up to which a function is always inlined.
const ALWAYS_SIZE: usize = 60;
/// The size limit of a function of scalars that no combinator calls.
const SCALAR_SIZE: usize = 400;
/// The size limit of a function with arrays or combinators, or called within one.
const COMBINATOR_SIZE: usize = 4000;
/// The size of a caller up to which functions that are not small are inlined into it.
const MAX_CALLER_SIZE: usize = 20_000;

/// Limits for functions with arrays or within combinators, tried in turn. The limit of other
/// functions of scalars is the chosen one, or [`SCALAR_SIZE`] if that is less.
const LIMITS: [usize; 9] = [COMBINATOR_SIZE, 2800, 2000, 1400, 1000, 700, 400, 200, 100];
/// The size up to which any program may grow by inlining.
const MIN_PROGRAM_BUDGET: usize = 24_000;
/// The factor by which a program may grow by inlining, if that is more.
const GROWTH_FACTOR: usize = 2;

/// Inlines calls, callees first.
pub(crate) fn inline<L: Level>(program: Program<L>, context: &mut Context) -> Result<Program<L>, PassError> {
    let Program { levels: stack, files, opaques, entries, functions, math } = program;
    let names: Vec<FunName> = functions.iter().map(|function| function.name.clone()).collect();
    let (calls, own): (Vec<_>, Vec<_>) = functions.iter().map(calls_of).unzip();
    let roots: Vec<usize> = entries.iter().map(|entry| entry.fun.index()).collect();
    let Order { order, recursive } = callees_first(&calls, &roots);
    let mut count = vec![0usize; functions.len()];
    for i in &order {
        for callee in &calls[*i] {
            count[*callee] += 1;
        }
    }
    for root in &roots {
        count[*root] += 2;
    }
    let inside = inside_combinators(&calls, &own, &order);
    let known: Vec<Callee> =
        functions.iter().enumerate().map(|(i, f)| Callee::of(f, recursive[i], count[i], inside[i])).collect();
    let limit = plan::limit(&plan::Functions { known: &known, calls: &calls, order: &order, roots: &roots });
    let mut done: Vec<Option<Function<L>>> = functions.into_iter().map(Some).collect();
    let mut facts: Vec<Option<Callee>> = vec![None; done.len()];
    let mut sure = constants::Speculable::default();
    for i in order {
        let Some(mut function) = done[i].take() else {
            continue;
        };
        let size = size::of_body(&function.body);
        let mut inliner = Inliner {
            functions: &done,
            facts: &facts,
            fun_names: &names,
            decided: Vec::new(),
            names: &mut function.names,
            provs: &mut function.provs,
            map: Substitution::default(),
            size,
            limit,
            fuel: &mut context.fuel,
        };
        VisitMut::<L>::body(&mut inliner, &mut function.body);
        for (prov, kind) in inliner.decided {
            let spans = function.provs.stack(prov);
            context.remark(&function.name.0, spans, kind);
        }
        sure.hoist(&mut function, &mut context.fuel);
        if !recursive[i] {
            sure.learn(FunId::new(i), &function);
        }
        facts[i] = Some(Callee::of(&function, recursive[i], count[i], inside[i]));
        done[i] = Some(function);
    }
    let functions: Vec<Function<L>> = done.into_iter().flatten().collect();
    let program = Program { levels: stack, files, opaques, entries, functions, math };
    Ok(drop_unreachable(program, &mut context.fuel))
}

/// The facts about a function that decide whether its calls are inlined.
#[derive(Clone)]
struct Callee {
    size: usize,
    inline_attr: bool,
    no_inline_attr: bool,
    never_inline: bool,
    calls: usize,
    /// True if combinators may gain by a copy: those around its calls, or those in it.
    combinators: bool,
}

impl Callee {
    fn of<L: Level>(function: &Function<L>, recursive: bool, calls: usize, inside: bool) -> Self {
        let size = size::of_body(&function.body);
        let params = function.params.iter().map(|p| &p.param.ty);
        let results = function.ret.iter().map(|r| &r.ty);
        let arrays = params.chain(results).any(|ty| !ty.is_prim());
        // A constant is computed once, unless it is a literal value.
        let operations = statements::any(&function.body, &|stm| matches!(stm.exp, Exp::Op(_)));
        let plain = size <= 2 && results_are_scalars(function) && !operations;
        let computed = function.kind == FunKind::Constant && !plain;
        Self {
            size,
            inline_attr: function.attrs.has(&Attr::Inline),
            no_inline_attr: function.attrs.has(&Attr::NoInline),
            never_inline: recursive || computed,
            calls,
            combinators: arrays || operations || inside,
        }
    }

    /// Returns true if calls are never inlined. `#[inline]` on a call overrides only `#[noinline]`.
    fn is_never_inlined(&self) -> bool {
        self.never_inline || self.no_inline_attr
    }

    /// The facts for a call with these attributes.
    fn with_call_attrs(&self, call: &Attrs) -> Self {
        let mut facts = self.clone();
        if call.has(&Attr::Inline) {
            (facts.inline_attr, facts.no_inline_attr) = (true, false);
        }
        facts.no_inline_attr |= call.has(&Attr::NoInline);
        facts
    }

    /// Returns true if a call is inlined into a caller of size `caller`, where `limit` is the size
    /// limit of functions with combinators.
    fn should_inline(&self, caller: usize, limit: usize) -> bool {
        if self.is_never_inlined() {
            return false;
        }
        let fits = caller + self.size <= MAX_CALLER_SIZE;
        self.inline_attr
            || self.size <= ALWAYS_SIZE
            || (fits && self.calls == 1)
            || (fits && self.size <= if self.combinators { limit } else { SCALAR_SIZE.min(limit) })
    }
}

fn results_are_scalars<L: Level>(function: &Function<L>) -> bool {
    function.ret.iter().all(|r| r.ty.is_prim())
}

struct Inliner<'a, L: Level> {
    functions: &'a [Option<Function<L>>],
    facts: &'a [Option<Callee>],
    fun_names: &'a [FunName],
    names: &'a mut NameTable,
    provs: &'a mut ProvTable,
    map: Substitution,
    size: usize,
    limit: usize,
    fuel: &'a mut Fuel,
    decided: Vec<(Prov, RemarkKind)>,
}

impl<'a, L: Level> Inliner<'a, L> {
    /// Returns the function to inline for a call, if it is inlined, and records the decision.
    fn callee(&mut self, fun: FunId, aux: &Aux) -> Option<&'a Function<L>> {
        let i = fun.index();
        let facts = self.facts[i].as_ref().map(|facts| facts.with_call_attrs(&aux.attrs));
        let stays = match &facts {
            None => Some(NotInlinedReason::NotInlinable),
            Some(facts) if facts.is_never_inlined() => Some(NotInlinedReason::NotInlinable),
            Some(facts) if !facts.should_inline(self.size, self.limit) => Some(NotInlinedReason::Large),
            Some(_) if !self.fuel.take() => Some(NotInlinedReason::Fuel),
            Some(_) => None,
        };
        let name = self.fun_names[i].0.clone();
        let kind = match stays {
            Some(why) => RemarkKind::NotInlined(name, why),
            None => RemarkKind::Inlined(name),
        };
        self.decided.push((aux.prov, kind));
        if stays.is_some() {
            return None;
        }
        self.size += facts?.size;
        self.functions[i].as_ref()
    }

    fn replace(
        &mut self,
        callee: &Function<L>,
        pat: Vec<Param<L>>,
        aux: Aux,
        args: &[Atom],
        out: &mut Vec<Stm<L>>,
    ) {
        let mut map: Substitution =
            callee.params.iter().zip(args).map(|(param, arg)| (param.param.name, *arg)).collect();
        let mut import = Import {
            from_names: &callee.names,
            from_provs: &callee.provs,
            names: self.names,
            provs: self.provs,
            outer: aux.prov,
        };
        let Body { stms, result } = import_body(&callee.body, &mut import, &mut map);
        splice::statements(stms, &aux, out);
        out.extend(splice::results(pat, &aux, &result, &mut self.map));
    }
}

impl<L: Level> VisitMut<L> for Inliner<'_, L> {
    fn name(&mut self, name: &mut ir::Name) {
        if let Some(Atom::Var(new)) = self.map.get(name) {
            *name = *new;
        }
    }

    fn atom(&mut self, atom: &mut Atom) {
        if let Atom::Var(name) = atom
            && let Some(new) = self.map.get(name)
        {
            *atom = *new;
        }
    }

    fn dim(&mut self, dim: &mut ir::Dim) {
        if let ir::Dim::Var(name) = dim
            && let Some(new) = self.map.get(name).and_then(|new| ir::Dim::from_atom(*new))
        {
            *dim = new;
        }
    }

    fn poly(&mut self, poly: &mut ir::poly::Poly) {
        *poly = poly.substitute(|name| {
            self.map.get(&name).map_or_else(|| ir::poly::Poly::var(name), |new| ir::poly::Poly::atom(*new))
        });
    }

    fn body(&mut self, body: &mut Body<L>) {
        ir::walk::with_stack(|| {
            let stms = std::mem::take(&mut body.stms);
            let mut out = Vec::with_capacity(stms.len());
            for mut stm in stms {
                if let Exp::Apply { fun, args } = &mut stm.exp
                    && let Some(callee) = self.callee(*fun, &stm.aux)
                {
                    for arg in args.iter_mut() {
                        VisitMut::<L>::atom(self, arg);
                    }
                    for cert in &mut stm.aux.certs {
                        VisitMut::<L>::name(self, cert);
                    }
                    let args = std::mem::take(args);
                    self.replace(callee, stm.pat, stm.aux, &args, &mut out);
                } else {
                    self.stm(&mut stm);
                    out.push(stm);
                }
            }
            for atom in &mut body.result {
                VisitMut::<L>::atom(self, atom);
            }
            body.stms = out;
        });
    }
}

#[derive(Default)]
struct Calls {
    /// The callees, once per call.
    all: Vec<usize>,
    /// The callees called within combinators.
    inside: Vec<usize>,
    /// The number of enclosing combinators.
    depth: usize,
}

impl<L: Level> Visit<L> for Calls {
    fn exp(&mut self, exp: &Exp<L>) {
        let within = usize::from(matches!(exp, Exp::Op(_)));
        self.depth += within;
        self.walk_exp(exp);
        self.depth -= within;
    }

    fn fun(&mut self, fun: &FunId) {
        self.all.push(fun.index());
        self.inside.extend((self.depth > 0).then_some(fun.index()));
    }
}

/// The functions that a function calls, once per call; and those of them within combinators.
fn calls_of<L: Level>(function: &Function<L>) -> (Vec<usize>, Vec<usize>) {
    let mut calls = Calls::default();
    Visit::<L>::body(&mut calls, &function.body);
    (calls.all, calls.inside)
}

/// Returns, for each function, true if it is called within combinators, directly or through other
/// functions. `own` are the calls within a function's combinators.
fn inside_combinators(calls: &[Vec<usize>], own: &[Vec<usize>], order: &[usize]) -> Vec<bool> {
    let mut inside = vec![false; calls.len()];
    for &caller in order.iter().rev() {
        let all = if inside[caller] { &calls[caller] } else { &own[caller] };
        all.iter().for_each(|callee| inside[*callee] = true);
    }
    inside
}

struct Order {
    /// The functions reachable from the roots, callees before callers except within cycles.
    order: Vec<usize>,
    /// True if a function can reach itself.
    recursive: Vec<bool>,
}

/// Orders functions depth-first from the roots (Tarjan's strongly connected components), with an
/// explicit stack.
fn callees_first(calls: &[Vec<usize>], roots: &[usize]) -> Order {
    const NONE: usize = usize::MAX;
    let n = calls.len();
    let (mut found, mut low) = (vec![NONE; n], vec![0; n]);
    let mut on_stack = vec![false; n];
    let (mut component, mut work): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    let mut result = Order { order: Vec::new(), recursive: vec![false; n] };
    let mut next = 0;
    for &root in roots {
        if found[root] != NONE {
            continue;
        }
        work.push((root, 0));
        while let Some((node, at)) = work.pop() {
            if at == 0 && found[node] == NONE {
                found[node] = next;
                low[node] = next;
                next += 1;
                component.push(node);
                on_stack[node] = true;
            }
            if let Some(&callee) = calls[node].get(at) {
                work.push((node, at + 1));
                if found[callee] == NONE {
                    work.push((callee, 0));
                } else if on_stack[callee] {
                    low[node] = low[node].min(found[callee]);
                }
                continue;
            }
            if low[node] == found[node] {
                let start = component.iter().rposition(|other| *other == node);
                let members = component.split_off(start.unwrap_or(0));
                let cyclic = members.len() > 1 || calls[node].contains(&node);
                for member in members.iter().rev() {
                    on_stack[*member] = false;
                    result.recursive[*member] = cyclic;
                    result.order.push(*member);
                }
            }
            if let Some((parent, _)) = work.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
        }
    }
    result
}

/// Removes the functions that no entry point reaches.
fn drop_unreachable<L: Level>(mut program: Program<L>, fuel: &mut Fuel) -> Program<L> {
    let reached = program.reachable();
    // All or none: an unreachable function may be called by other unreachable ones.
    if reached.contains(&false) && fuel.take() {
        program.retain_functions(&reached);
    }
    program
}
