//! Inlining: calls replaced by bodies.
//!
//! Functions are visited callees first, so that a body that is copied has its
//! own calls replaced already. A call is replaced where the callee is small,
//! called once, asked for (`#[inline]`), holds combinators or takes arrays (so that it
//! can fuse with its caller), or is called from within a combinator (whose points can
//! go side by side in lanes then), as long as neither the callee nor the caller has
//! grown too far; never where it is recursive or asked not to be
//! (`#[noinline]`). Constants are inlined where they are constants; others are called
//! once ([`constants`]).
//! Functions that no entry point reaches are removed, each for a unit of fuel.
//!
//! What is small enough depends on the program: before any call is replaced, sizes
//! are added up as if it had been done, and of a few limits the largest is taken
//! with which the program stays within its budget ([`plan`]). Small functions are
//! copied in any case.
//!
//! `#[inline]` and `#[noinline]` on a call hold for that call, whatever the function
//! says.
//!
//! The call's certificates go to the callee's outermost statements, its
//! provenance below each of theirs, its attributes to those that inherit them.

mod constants;
mod plan;

use crate::splice;
use ir::decision::{Called, Kind};
use ir::syntax::{Atom, Attr, Attrs, Aux, Body, Exp, FunKind, Function, Level, Param, Program, Stm};
use ir::walk::{Import, Substitution, Visit, VisitMut, import_body};
use ir::{Context, Fuel, FunName, NameTable, PassError, Prov, ProvTable};
use rustc_hash::{FxHashMap, FxHashSet};

/// Statements of a function that is copied wherever it is called.
const SMALL: usize = 60;
/// Statements of a function of scalars that is copied although no combinator calls it.
const SCALAR: usize = 400;
/// Statements of a function with arrays or combinators, or called within one, that is
/// copied.
const MEDIUM: usize = 4000;
/// Statements that a caller may have after inlining what is not small.
const CALLER: usize = 20_000;

/// Limits for functions with arrays or around combinators that are tried in turn; other
/// functions of scalars are copied up to the same limit, or [`SCALAR`] if that is less.
const LIMITS: [usize; 9] = [MEDIUM, 2800, 2000, 1400, 1000, 700, 400, 200, 100];
/// Statements that a program may come to by inlining, whatever it had.
const PROGRAM: usize = 24_000;
/// Times the statements that it had, if that is more.
const GROWTH: usize = 2;

/// Inlines calls, callees first.
pub(crate) fn inline<L: Level>(program: Program<L>, context: &mut Context) -> Result<Program<L>, PassError> {
    let Program { stack, files, opaques, entries, functions } = program;
    let index: FxHashMap<FunName, usize> =
        functions.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect();
    let calls: Vec<Vec<usize>> = functions.iter().map(|f| calls_of(f, &index)).collect();
    let roots: Vec<usize> = entries.iter().filter_map(|entry| index.get(&entry.fun).copied()).collect();
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
    let inside = inside_combinators(&functions, &index, &calls, &order);
    let known: Vec<Callee> =
        functions.iter().enumerate().map(|(i, f)| Callee::of(f, recursive[i], count[i], inside[i])).collect();
    let limit = plan::limit(&plan::Functions { known: &known, calls: &calls, order: &order, roots: &roots });
    let mut done: Vec<Option<Function<L>>> = functions.into_iter().map(Some).collect();
    let mut facts: Vec<Option<Callee>> = vec![None; done.len()];
    let mut sure = constants::Sure::default();
    for i in order {
        let Some(mut function) = done[i].take() else {
            continue;
        };
        let size = size_of(&function.body);
        let mut inliner = Inliner {
            functions: &done,
            facts: &facts,
            index: &index,
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
            let places = function.provs.stack(prov);
            context.decide(&function.name.0, places, kind);
        }
        sure.hoist(&mut function, &mut context.fuel);
        if !recursive[i] {
            sure.learn(&function);
        }
        facts[i] = Some(Callee::of(&function, recursive[i], count[i], inside[i]));
        done[i] = Some(function);
    }
    let functions: Vec<Function<L>> = done.into_iter().flatten().collect();
    let program = Program { stack, files, opaques, entries, functions };
    Ok(drop_unreachable(program, &mut context.fuel))
}

/// What is known of a function when calls of it are looked at.
#[derive(Clone)]
struct Callee {
    size: usize,
    wanted: bool,
    unwanted: bool,
    forbidden: bool,
    calls: usize,
    /// Whether there may be combinators that gain by a copy: around its calls, or in it.
    combinators: bool,
}

impl Callee {
    fn of<L: Level>(function: &Function<L>, recursive: bool, calls: usize, inside: bool) -> Self {
        let size = size_of(&function.body);
        let params = function.params.iter().map(|p| &p.param.ty);
        let results = function.ret.iter().map(|r| &r.ty);
        let arrays = params.chain(results).any(|ty| !ty.is_prim());
        // A constant is computed once, unless it is one already.
        let operations = has_operations(&function.body);
        let plain = size <= 2 && results_are_scalars(function) && !operations;
        let computed = function.kind == FunKind::Constant && !plain;
        Self {
            size,
            wanted: function.attrs.has(&Attr::Inline),
            unwanted: function.attrs.has(&Attr::NoInline),
            forbidden: recursive || computed,
            calls,
            combinators: arrays || operations || inside,
        }
    }

    /// Whether calls stay, unless one of them asks otherwise.
    fn never(&self) -> bool {
        self.forbidden || self.unwanted
    }

    /// The same for a call with these attributes.
    fn asked(&self, call: &Attrs) -> Self {
        let mut facts = self.clone();
        if call.has(&Attr::Inline) {
            (facts.wanted, facts.unwanted) = (true, false);
        }
        facts.unwanted |= call.has(&Attr::NoInline);
        facts
    }

    /// Whether a call is replaced in a caller of this size, where so many
    /// statements with combinators are few enough.
    fn pays(&self, caller: usize, limit: usize) -> bool {
        if self.never() {
            return false;
        }
        let fits = caller + self.size <= CALLER;
        self.wanted
            || self.size <= SMALL
            || (fits && self.calls == 1)
            || (fits && self.size <= if self.combinators { limit } else { SCALAR.min(limit) })
    }
}

fn results_are_scalars<L: Level>(function: &Function<L>) -> bool {
    function.ret.iter().all(|r| r.ty.is_prim())
}

struct Inliner<'a, L: Level> {
    functions: &'a [Option<Function<L>>],
    facts: &'a [Option<Callee>],
    index: &'a FxHashMap<FunName, usize>,
    names: &'a mut NameTable,
    provs: &'a mut ProvTable,
    map: Substitution,
    size: usize,
    limit: usize,
    fuel: &'a mut Fuel,
    decided: Vec<(Prov, Kind)>,
}

impl<'a, L: Level> Inliner<'a, L> {
    /// The function to put in place of a call.
    fn callee(&mut self, fun: &FunName, aux: &Aux) -> Option<&'a Function<L>> {
        let i = *self.index.get(fun)?;
        let facts = self.facts[i].as_ref().map(|facts| facts.asked(&aux.attrs));
        let stays = match &facts {
            None => Some(Called::Never),
            Some(facts) if facts.never() => Some(Called::Never),
            Some(facts) if !facts.pays(self.size, self.limit) => Some(Called::Large),
            Some(_) if !self.fuel.take() => Some(Called::Fuel),
            Some(_) => None,
        };
        let kind = match stays {
            Some(why) => Kind::Called(fun.0.clone(), why),
            None => Kind::Inlined(fun.0.clone()),
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
                    && let Some(callee) = self.callee(fun, &stm.aux)
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

struct Calls<'a> {
    index: &'a FxHashMap<FunName, usize>,
    all: Vec<usize>,
    /// Those from within combinators.
    inside: Vec<usize>,
    /// Combinators around.
    depth: usize,
}

impl<L: Level> Visit<L> for Calls<'_> {
    fn exp(&mut self, exp: &Exp<L>) {
        if let Exp::Apply { fun, args: _ } = exp {
            let callee = self.index.get(fun);
            self.all.extend(callee);
            self.inside.extend(callee.filter(|_| self.depth > 0));
        }
        let within = usize::from(matches!(exp, Exp::Op(_)));
        self.depth += within;
        self.walk_exp(exp);
        self.depth -= within;
    }
}

impl<'a> Calls<'a> {
    fn of<L: Level>(function: &Function<L>, index: &'a FxHashMap<FunName, usize>) -> Self {
        let mut calls = Self { index, all: Vec::new(), inside: Vec::new(), depth: 0 };
        Visit::<L>::body(&mut calls, &function.body);
        calls
    }
}

/// What a function calls.
fn calls_of<L: Level>(function: &Function<L>, index: &FxHashMap<FunName, usize>) -> Vec<usize> {
    Calls::of(function, index).all
}

/// Which functions are called within combinators, by others or through others.
fn inside_combinators<L: Level>(
    functions: &[Function<L>],
    index: &FxHashMap<FunName, usize>,
    calls: &[Vec<usize>],
    order: &[usize],
) -> Vec<bool> {
    let mut inside = vec![false; functions.len()];
    for &caller in order.iter().rev() {
        let own = Calls::of(&functions[caller], index).inside;
        let through = calls[caller].iter().filter(|_| inside[caller]);
        let all: Vec<usize> = own.into_iter().chain(through.copied()).collect();
        all.into_iter().for_each(|callee| inside[callee] = true);
    }
    inside
}

/// How many statements there are, at any depth.
pub(crate) fn size_of<L: Level>(body: &Body<L>) -> usize {
    counted(body, usize::MAX)
}

/// Whether there are so many statements at most, at any depth; looks at no more than these.
pub(crate) fn is_at_most<L: Level>(body: &Body<L>, most: usize) -> bool {
    counted(body, most) <= most
}

/// How many statements there are, or more than `most`.
fn counted<L: Level>(body: &Body<L>, most: usize) -> usize {
    struct Size {
        count: usize,
        most: usize,
    }
    impl<L: Level> Visit<L> for Size {
        fn stm(&mut self, stm: &Stm<L>) {
            if self.count > self.most {
                return;
            }
            self.count += 1;
            if !matches!(stm.exp, Exp::Basic(_)) {
                self.exp(&stm.exp);
            }
        }
    }
    let mut size = Size { count: 0, most };
    Visit::<L>::body(&mut size, body);
    size.count
}

fn has_operations<L: Level>(body: &Body<L>) -> bool {
    struct Has(bool);
    impl<L: Level> Visit<L> for Has {
        fn exp(&mut self, exp: &Exp<L>) {
            self.0 |= matches!(exp, Exp::Op(_));
            if !self.0 {
                self.walk_exp(exp);
            }
        }
    }
    let mut has = Has(false);
    Visit::<L>::body(&mut has, body);
    has.0
}

struct Order {
    /// What the roots reach, callees before callers where there is no cycle.
    order: Vec<usize>,
    /// Whether a function can reach itself.
    recursive: Vec<bool>,
}

/// Depth-first from the roots (Tarjan's strongly connected components), without recursion.
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
    let index: FxHashMap<FunName, usize> =
        program.functions.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect();
    let mut pending: Vec<usize> =
        program.entries.iter().filter_map(|entry| index.get(&entry.fun).copied()).collect();
    let mut reached: FxHashSet<usize> = FxHashSet::default();
    while let Some(i) = pending.pop() {
        if reached.insert(i) {
            pending.extend(calls_of(&program.functions[i], &index));
        }
    }
    // All or none: what is dropped may be called by others that nobody reaches.
    if reached.len() < program.functions.len() && fuel.take() {
        let mut at = 0;
        program.functions.retain(|_| {
            at += 1;
            reached.contains(&(at - 1))
        });
    }
    program
}
