//! Expressions of any type: forms specific to a type, bindings, branches, matches, loops and calls.

use super::exp::{Builtin, Cond, Exp, Iter, Name, Pat};
use super::scope::{Binding, Gen};
use super::types::{Id, Kind, Size, Ty};
use std::rc::Rc;

impl Gen<'_> {
    /// A type whose values can be made here.
    pub fn goal(&mut self, depth: u32) -> Ty {
        let modules = self.modules();
        match self.c.below(12) {
            0..=2 => Ty::rank(1),
            3 => Ty::rank(2),
            4..=6 => match self.c.pick(&modules) {
                Some((path, kind)) => Ty::Abstract(path.clone(), *kind, vec![Size::Open; kind.rank()]),
                None => Ty::rank(1),
            },
            7 | 8 => {
                let fine: Vec<Ty> = self
                    .abbreviations
                    .iter()
                    .map(|abbreviation| abbreviation.ty.clone())
                    .filter(|ty| self.nameable(ty))
                    .collect();
                self.c.pick(&fine).cloned().unwrap_or(Ty::rank(1))
            }
            9 if depth > 0 => Ty::Boxed(Rc::new(self.goal(0))),
            10 if depth > 0 => Ty::Tuple(vec![self.goal(depth - 1), self.goal(depth - 1)]),
            _ => Ty::rank(1),
        }
    }

    /// Returns true if all modules in a type can be named here.
    pub fn nameable(&self, ty: &Ty) -> bool {
        self.anonymous(ty).is_some()
    }

    /// An expression of this type up to sizes, and its type.
    pub fn synth(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        if *goal == Ty::Int {
            return (self.int(fuel), Ty::Int);
        }
        let known = self.known(&|ty| ty.same_shape(goal));
        if self.is_limited(fuel) {
            let picked = self.c.below(known.len() + 1);
            if let Some(found) = known.get(picked) {
                return found.clone();
            }
            return self.own(goal, 0);
        }
        match self.c.below(10) {
            0 | 1 => match self.c.pick(&known) {
                Some(found) => found.clone(),
                None => self.own(goal, fuel),
            },
            2..=5 => self.own(goal, fuel),
            _ => self.control(goal, fuel - 1),
        }
    }

    /// An expression form specific to this kind of type.
    fn own(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        let less = fuel.saturating_sub(1);
        match goal {
            Ty::Int => (self.int(fuel), Ty::Int),
            Ty::Array(sizes) if sizes.len() == 1 => {
                let (e, size) = self.own_array(fuel);
                (e, Ty::Array(vec![size]))
            }
            Ty::Array(_) => {
                let (e, n, m) = self.own_matrix(fuel);
                (e, Ty::Array(vec![n, m]))
            }
            Ty::Abstract(path, kind, _) => self.own_abstract(path, *kind, fuel),
            Ty::Boxed(ty) => {
                let (e, ty) = self.synth(ty, less);
                let ty = self.close(&ty);
                (Exp::Boxed("mk", Box::new(e)), Ty::Boxed(Rc::new(ty)))
            }
            Ty::Tuple(tys) => {
                let made = tys.iter().map(|ty| self.synth(ty, less));
                let (parts, tys): (Vec<Exp>, Vec<Ty>) = made.unzip();
                (Exp::Tuple(parts), Ty::Tuple(tys))
            }
            Ty::Record(fields) => {
                if self.c.once_in(2) && fuel > 0 {
                    return self.filtered_record(fields, less);
                }
                let mut parts = Vec::new();
                let mut tys = Vec::new();
                for (name, ty) in fields {
                    let (e, ty) = self.synth(ty, less);
                    parts.push((*name, e));
                    tys.push((*name, ty));
                }
                (Exp::Record(parts), Ty::Record(tys))
            }
            Ty::Sum(_) => {
                let before = self.next;
                let (mut e, mut ty) = self.unannotated(goal, fuel);
                if size_not_yet_known(&ty, &goal.shape(), before) && ty.sizes().contains(&Size::Open) {
                    (e, ty) = self.unannotated(goal, 0);
                }
                let (e, ty) = self.with_all_constructors(e, ty);
                match self.anonymous(goal) {
                    Some(text) => (Exp::Typed(Box::new(e), false, self.abbreviated(goal, text)), ty),
                    None => (e, ty),
                }
            }
        }
    }

    /// A record whose arrays have one existential size: `let a = filter .. in {a, b = map .. a}`.
    fn filtered_record(&mut self, fields: &[(&'static str, Ty)], fuel: u32) -> (Exp, Ty) {
        let (first, size) = self.array(fuel);
        let x: Name = fields.first().map_or("a", |(name, _)| name).into();
        let made = self.scoped(|g| {
            g.bind(&x, Ty::Array(vec![size.clone()]));
            let mut parts = Vec::new();
            let mut tys = Vec::new();
            for (name, ty) in fields {
                let exact = ty.same_shape(&Ty::rank(1)).then(|| g.exact(&size, 0)).flatten();
                let (e, ty) = match exact {
                    Some(e) => (e, Ty::Array(vec![size.clone()])),
                    None => g.synth(ty, fuel),
                };
                parts.push((*name, e));
                tys.push((*name, ty));
            }
            (Exp::Record(parts), Ty::Record(tys))
        });
        (Exp::Let(Pat::Name(x, None), Box::new(first), Box::new(made.0)), made.1)
    }

    /// The name of an abbreviation of a type, or its text.
    pub fn abbreviated(&mut self, ty: &Ty, text: String) -> String {
        let found = self.abbreviations.iter().filter(|a| !a.equal && a.ty.same_shape(ty));
        let names: Vec<&'static str> = found.map(|a| a.name).collect();
        let at = self.c.below(names.len() * 2 + 1);
        at.checked_sub(1).map_or(text, |at| names[at / 2].to_owned())
    }

    /// Constructors without a type annotation, in branches and matches.
    pub fn unannotated(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        let Ty::Sum(cases) = goal else {
            return self.synth(goal, fuel);
        };
        let less = fuel.saturating_sub(1);
        if !self.is_limited(fuel) {
            match self.c.below(5) {
                0 | 1 => {
                    let cond = self.cond(less);
                    let before = self.next;
                    let (yes, a) = self.unannotated(goal, less);
                    let (mut no, mut b) = self.unannotated(goal, less);
                    if size_not_yet_known(&a, &b, before) {
                        (no, b) = self.synth(goal, 0);
                    }
                    let ty = self.common_type(&a, &b);
                    return (Exp::If(Box::new(cond), Box::new(yes), Box::new(no)), ty);
                }
                2 => return self.matching(goal, less, true),
                _ => {}
            }
        }
        let at = self.c.below(cases.len());
        let mut ty = goal.shape();
        let mut made = Vec::new();
        let (constr, payload) = &cases[at];
        let mut tys = Vec::new();
        for part in payload {
            let (e, ty) = self.synth(part, less);
            made.push(e);
            tys.push(ty);
        }
        if let Ty::Sum(cases) = &mut ty {
            cases[at].1 = tys;
        }
        (Exp::Constr(at, constr, made), ty)
    }

    /// A value of a sum type, in a branch with others if it lacks constructors whose payloads have
    /// sizes: nothing else determines these.
    fn with_all_constructors(&mut self, e: Exp, ty: Ty) -> (Exp, Ty) {
        let (mut e, mut ty) = (e, ty);
        let Ty::Sum(cases) = ty.clone() else {
            return (e, ty);
        };
        for (at, (constr, payload)) in cases.iter().enumerate() {
            if !payload.iter().any(|ty| ty.sizes().contains(&Size::Open)) {
                continue;
            }
            let made = payload.iter().map(|part| self.synth(part, 0));
            let (made, tys): (Vec<Exp>, Vec<Ty>) = made.unzip();
            let mut other = ty.shape();
            if let Ty::Sum(cases) = &mut other {
                cases[at].1 = tys;
            }
            let cond = self.cond(0);
            ty = self.common_type(&ty, &other);
            let other = Exp::Constr(at, constr, made);
            e = Exp::If(Box::new(cond), Box::new(e), Box::new(other));
        }
        (e, ty)
    }

    pub fn cond(&mut self, fuel: u32) -> Cond {
        let op = ["<", ">", "==", "<=", ">="][self.c.below(5)];
        Cond { left: self.int(fuel.min(2)), op, right: self.int(fuel.min(1)) }
    }

    /// Bindings, branches, matches, loops, calls.
    pub fn control(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        match self.c.below(14) {
            0..=2 => self.binding(goal, fuel),
            3 => self.size_binding(goal, fuel),
            4 | 5 => {
                let cond = self.cond(fuel);
                let ((yes, a), (no, b)) = (self.synth(goal, fuel), self.synth(goal, fuel));
                let ty = self.common_type(&a, &b);
                (Exp::If(Box::new(cond), Box::new(yes), Box::new(no)), ty)
            }
            6 | 7 => self.matching(goal, fuel, false),
            8..=10 => self.make_loop(goal, fuel),
            11 | 12 => match self.calling(goal, fuel) {
                Some(made) => made,
                None => self.binding(goal, fuel),
            },
            _ => self.local_function(goal, fuel),
        }
    }

    /// A binding, then an expression of this type.
    fn binding(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        if self.c.once_in(5) {
            // A number that is a size.
            let (e, _) = self.count(fuel);
            let x = self.name(&[], &[goal]);
            let id = self.fresh_id();
            let (body, ty) = self.scoped(|g| {
                g.push(&x, Binding::Size(id));
                g.synth(goal, fuel)
            });
            return (Exp::Let(Pat::Name(x, None), Box::new(e), Box::new(body)), ty);
        }
        let other = self.goal(1);
        let (e, ty) = self.synth(&other, fuel);
        let bound = self.close(&ty);
        let x = self.name(&[], &[goal, &other]);
        let text = match self.c.below(5) {
            0 => self.anonymous(&bound),
            1 => self.named(&bound),
            2 => {
                let text = self.anonymous(&bound);
                text.map(|text| self.abbreviated(&bound, text))
            }
            _ => None,
        };
        let (body, ty) = self.scoped(|g| {
            g.bind(&x, bound);
            g.synth(goal, fuel)
        });
        (Exp::Let(Pat::Name(x, text), Box::new(e), Box::new(body)), ty)
    }

    /// `let [k] (xs: [k]t) = e`, then an expression of this type.
    fn size_binding(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        let modules = self.modules();
        let sized: Vec<&(Name, Kind)> = modules.iter().filter(|(_, kind)| *kind != Kind::Bag).collect();
        let other = match self.c.below(4) {
            0 => Ty::rank(2),
            1 | 2 if !sized.is_empty() => {
                let (path, kind) = sized[self.c.below(sized.len())].clone();
                Ty::Abstract(path, kind, vec![Size::Open; kind.rank()])
            }
            _ => Ty::rank(1),
        };
        let (e, _) = self.synth(&other, fuel);
        let goals = [goal, &other];
        let mut names: Vec<Name> = Vec::new();
        for _ in 0..other.sizes().len() {
            names.push(self.name(&names, &goals));
        }
        let x = self.name(&names, &goals);
        let mark = self.scope.len();
        let mut sizes = Vec::new();
        for name in &names {
            let id = self.fresh_id();
            sizes.push(Size::Var(id));
            self.push(name, Binding::Size(id));
        }
        let bound = other.with_sizes(&sizes);
        let text = self.named(&bound);
        self.bind(&x, bound);
        let (body, ty) = self.synth(goal, fuel);
        self.scope.truncate(mark);
        let pat = match text {
            Some(text) => Pat::Sized(names, x, text),
            None => Pat::Name(x, None),
        };
        (Exp::Let(pat, Box::new(e), Box::new(body)), ty)
    }

    /// A match on a value of a sum type, with `bare` results if requested.
    fn matching(&mut self, goal: &Ty, fuel: u32, bare: bool) -> (Exp, Ty) {
        let sums: Vec<Ty> = self
            .abbreviations
            .iter()
            .map(|abbreviation| abbreviation.ty.clone())
            .filter(|ty| matches!(ty, Ty::Sum(_)) && self.nameable(ty))
            .collect();
        let Some(sum) = self.c.pick(&sums).cloned() else {
            return self.synth(goal, fuel.saturating_sub(1));
        };
        // The type of a value is inferred from the cases' constructors.
        let (e, ty) = if self.c.once_in(3) { self.synth(&sum, fuel) } else { self.own(&sum, fuel) };
        let ty = self.close(&ty);
        let Ty::Sum(cases) = &ty else {
            return self.synth(goal, fuel.saturating_sub(1));
        };
        let before = self.next;
        let mut made = Vec::new();
        let mut result: Option<Ty> = None;
        for (at, (constr, payload)) in cases.iter().enumerate() {
            let mut goals: Vec<&Ty> = payload.iter().collect();
            goals.push(goal);
            let mut names: Vec<Name> = Vec::new();
            for _ in payload {
                names.push(self.name(&names, &goals));
            }
            let (body, ty) = self.scoped(|g| {
                for (name, ty) in names.iter().zip(payload) {
                    g.bind(name, ty.clone());
                }
                if !bare {
                    return g.synth(goal, fuel);
                }
                let made = g.unannotated(goal, fuel);
                match &result {
                    Some(earlier) if size_not_yet_known(earlier, &made.1, before) => g.synth(goal, 0),
                    _ => made,
                }
            });
            result = Some(match result {
                Some(earlier) => self.common_type(&earlier, &ty),
                None => ty,
            });
            made.push((at, *constr, names, body));
        }
        (Exp::Match(Box::new(e), made), result.unwrap_or_else(|| goal.clone()))
    }

    /// A loop whose arrays may change their sizes, then an expression of this type.
    fn make_loop(&mut self, goal: &Ty, fuel: u32) -> (Exp, Ty) {
        let while_loop = self.c.once_in(4);
        let direct = *goal != Ty::Int && !while_loop && self.c.once_in(2);
        let mut goals = Vec::new();
        if while_loop {
            goals.push(Ty::Int);
        }
        if direct {
            goals.push(goal.clone());
        } else {
            for _ in 0..=self.c.below(3) {
                goals.push(if self.c.once_in(6) { Ty::Int } else { self.goal(1) });
            }
        }
        let mut init = Vec::new();
        let mut start = Vec::new();
        for (at, param) in goals.iter().enumerate() {
            let (e, ty) =
                if while_loop && at == 0 { (Exp::Int(0), Ty::Int) } else { self.synth(param, fuel) };
            init.push(e);
            start.push(self.close(&ty));
        }
        let all: Vec<&Ty> = goals.iter().chain([goal]).collect();
        let mut names: Vec<Name> = Vec::new();
        for _ in &goals {
            names.push(self.name(&names, &all));
        }
        // An index or element may have a parameter's name, which then hides it.
        let i = self.name(&[], &all);
        let iter = if while_loop {
            Iter::While(names[0].clone(), 1 + self.c.below(3) as i64)
        } else if self.c.once_in(3) {
            let xs = if self.c.once_in(2) {
                let known = self.known(&|ty| ty.same_shape(&Ty::rank(1)));
                self.c.pick(&known).map(|(e, _)| e.clone())
            } else {
                None
            };
            Iter::In(i.clone(), xs.unwrap_or_else(|| Exp::Array(vec![3, 0, 2])))
        } else {
            Iter::For(i.clone(), self.count(1).0)
        };
        let inside: Vec<Ty> = goals.iter().map(|ty| self.unknown(ty)).collect();
        let texts: Vec<Option<String>> =
            inside.iter().map(|ty| if self.c.once_in(5) { self.anonymous(ty) } else { None }).collect();
        let mark = self.scope.len();
        match &iter {
            Iter::For(..) => {
                let id = self.fresh_id();
                self.push(&i, Binding::Size(id));
            }
            Iter::In(..) => self.bind(&i, Ty::Int),
            Iter::While(..) => {}
        }
        for (name, ty) in names.iter().zip(&inside) {
            self.bind(name, ty.clone());
        }
        // A size that is unified with another one inside equals it at the start, too.
        let ids: Vec<Id> = inside
            .iter()
            .flat_map(Ty::sizes)
            .filter_map(|size| match size {
                Size::Var(id) => Some(id),
                _ => None,
            })
            .collect();
        self.anonymous_sizes.extend(&ids);
        let (mut body, mut ends) = self.loop_body(&goals, &names, while_loop, fuel);
        if ids.iter().any(|id| self.unified.contains(id)) {
            (body, ends) = self.loop_body(&goals, &names, while_loop, 0);
        }
        self.scope.truncate(mark);
        // A size that the body preserves equals the one at the start.
        let mut outside = Vec::new();
        for ((start, inside), end) in start.iter().zip(&inside).zip(&ends) {
            let (starts, insides) = (start.sizes(), inside.sizes());
            let mut sizes = Vec::new();
            for (at, end) in end.sizes().iter().enumerate() {
                sizes.push(if *end == insides[at] { starts[at].clone() } else { self.fresh() });
            }
            outside.push(start.with_sizes(&sizes));
        }
        let pats: Vec<Pat> = names.iter().cloned().zip(texts).map(|(x, text)| Pat::Name(x, text)).collect();
        let single = pats.len() == 1;
        let (pat, init, body) = if single {
            (pats[0].clone(), init.swap_remove(0), body)
        } else {
            (Pat::Tuple(pats), Exp::Tuple(init), body)
        };
        let made = Exp::Loop(pat, Box::new(init), Box::new(iter), Box::new(body));
        if direct {
            return (made, outside.swap_remove(0));
        }
        let results = if single {
            Pat::Name(names[0].clone(), None)
        } else {
            Pat::Tuple(names.iter().map(|x| Pat::Name(x.clone(), None)).collect())
        };
        let (rest, ty) = self.scoped(|g| {
            for (name, ty) in names.iter().zip(&outside) {
                g.bind(name, ty.clone());
            }
            g.synth(goal, fuel)
        });
        (Exp::Let(results, Box::new(made), Box::new(rest)), ty)
    }

    /// The next values of loop parameters, and their types.
    fn loop_body(&mut self, goals: &[Ty], names: &[Name], while_loop: bool, fuel: u32) -> (Exp, Vec<Ty>) {
        let mut parts = Vec::new();
        let mut ends = Vec::new();
        for (at, goal) in goals.iter().enumerate() {
            let (e, ty) = if while_loop && at == 0 {
                let next = vec![Exp::Var(names[0].clone()), Exp::Int(1)];
                (Exp::prim(Builtin::Add, next), Ty::Int)
            } else if self.c.once_in(4) {
                // Another parameter, so that some are permuted.
                let known = self.known(&|ty| ty.same_shape(goal));
                let named = |(e, _): &&(Exp, Ty)| matches!(e, Exp::Var(x) if names.contains(x));
                let params: Vec<(Exp, Ty)> = known.iter().filter(named).cloned().collect();
                match self.c.pick(&params).cloned() {
                    Some(found) => found,
                    None => self.synth(goal, fuel),
                }
            } else {
                self.synth(goal, fuel)
            };
            parts.push(e);
            ends.push(ty);
        }
        let body = if parts.len() == 1 { parts.swap_remove(0) } else { Exp::Tuple(parts) };
        (body, ends)
    }
}

/// Returns true if a payload that is absent in one branch has a size that is made in the other: a
/// constructor requires all its sizes to be known.
fn size_not_yet_known(a: &Ty, b: &Ty, before: Id) -> bool {
    let made = |size: &Size| {
        let mut made = false;
        size.map_vars(&mut |id| {
            made |= id > before;
            Size::Var(id)
        });
        made
    };
    let mut pairs = a.sizes().into_iter().zip(b.sizes());
    pairs.any(|(x, y)| (x == Size::Open && made(&y)) || (y == Size::Open && made(&x)))
}
