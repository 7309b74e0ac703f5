//! Bindings, branches and loops.

use super::Gen;
use super::types::{Size, Ty};

impl Gen<'_> {
    /// A control-flow expression of any type.
    pub(super) fn control(&mut self, ty: &Ty, fuel: u32) -> String {
        match self.c.below(14) {
            0..=3 => self.binding(ty, fuel),
            4 => {
                let cond = self.passive_condition();
                self.branch(&cond, ty, fuel)
            }
            5 => {
                let cond = self.condition(fuel / 2);
                self.branch(&cond, ty, fuel)
            }
            6 => self.constructors(ty, fuel),
            7 => {
                let (other, at) = (self.ty(), self.c.below(2));
                let both = [self.expr(ty, fuel), self.expr(&other, fuel / 2)];
                format!("({}, {}).{at}", both[at], both[1 - at])
            }
            8 | 9 => self.for_loop(ty, fuel),
            10 => self.two_parameters(ty, fuel),
            11 => self.over_elements(ty, fuel),
            12 => self.while_loop(ty, fuel),
            _ => self.called(ty, fuel).unwrap_or_else(|| self.expr(ty, fuel)),
        }
    }

    fn binding(&mut self, ty: &Ty, fuel: u32) -> String {
        let of = self.ty();
        let value = self.expr(&of, fuel);
        let v = self.fresh("v");
        let body = self.with(&[(&v, &of)], |g| g.expr(ty, fuel));
        format!("(let {v}: {} = {value} in {body})", self.text(&of))
    }

    fn branch(&mut self, cond: &str, ty: &Ty, fuel: u32) -> String {
        let (x, y) = (self.expr(ty, fuel), self.expr(ty, fuel / 2));
        format!("(if {cond} then {x} else {y})")
    }

    /// A value of a sum type, and its cases.
    fn constructors(&mut self, ty: &Ty, fuel: u32) -> String {
        let payload = self.ty();
        let (v, w) = (self.fresh("v"), self.fresh("v"));
        let cond = self.passive_condition();
        let of = self.text(&payload);
        let sum = format!("#some {} | #one {}", of_argument(&of), self.float);
        let some = self.expr(&payload, fuel / 2);
        let one = self.expr(&Ty::Float, fuel / 2);
        let first = self.with(&[(&v, &payload)], |g| g.expr(ty, fuel));
        let second = self.with(&[(&w, &Ty::Float)], |g| g.expr(ty, fuel / 2));
        format!(
            "(match (if {cond} then #some {some} else #one {one}) : ({sum}) case #some {v} -> {first} case #one {w} -> {second})"
        )
    }

    /// The number of iterations of a loop: text, and an estimate.
    fn trips(&mut self) -> (String, i64) {
        match self.c.below(6) {
            0 => ("2".to_owned(), 2),
            1 => ("3".to_owned(), 3),
            2 => ("1".to_owned(), 1),
            3 => ("0".to_owned(), 1),
            4 => {
                let n = self.int(1);
                (format!("({n} % 4)"), 3)
            }
            _ => match self.c.pick(&self.sizes).cloned() {
                Some(size) => (size.text(), size.estimate()),
                None => ("4".to_owned(), 4),
            },
        }
    }

    /// The body of a loop whose counter is in scope.
    fn iterated(&mut self, i: &str, vars: &[(&str, &Ty)], times: i64, ty: &Ty, fuel: u32) -> String {
        self.with(vars, |g| {
            g.indices.push((i.to_owned(), Size::var("")));
            g.repeated(times, |g| g.expr(ty, fuel))
        })
    }

    fn for_loop(&mut self, ty: &Ty, fuel: u32) -> String {
        let start = self.expr(ty, fuel / 2);
        let (trips, times) = self.trips();
        if !self.affordable(times * ty.cells()) {
            return start;
        }
        let [v, i] = [self.fresh("v"), self.fresh("ix")];
        let body = self.iterated(&i, &[(&v, ty)], times, ty, fuel);
        let attribute = self.attribute();
        format!("({attribute}loop {} = {start} for {i} < {trips} do {body})", self.typed(&v, ty))
    }

    fn attribute(&mut self) -> &'static str {
        match self.c.below(10) {
            8 => "#[stripmine(2)] ",
            9 => "#[unroll] ",
            _ => "",
        }
    }

    /// A loop with a second parameter, which the iterations exchange where types allow.
    fn two_parameters(&mut self, ty: &Ty, fuel: u32) -> String {
        let other = if self.c.once_in(3) { ty.clone() } else { self.ty() };
        let (trips, times) = self.trips();
        if !self.affordable(times * (ty.cells() + other.cells())) {
            return self.expr(ty, fuel);
        }
        let starts = [self.expr(ty, fuel / 2), self.expr(&other, fuel / 2)];
        let [v, w, i] = ["v", "w", "ix"].map(|start| self.fresh(start));
        let vars = [(&*v, ty), (&*w, &other)];
        let mut bodies =
            [self.iterated(&i, &vars, times, ty, fuel), self.iterated(&i, &vars, times, &other, fuel / 2)];
        if other == *ty && self.c.once_in(2) {
            bodies = [w.clone(), bodies[0].clone()];
        }
        format!(
            "(loop ({}, {}) = ({}, {}) for {i} < {trips} do ({}, {})).0",
            self.typed(&v, ty),
            self.typed(&w, &other),
            starts[0],
            starts[1],
            bodies[0],
            bodies[1]
        )
    }

    /// A loop over the elements of an array.
    fn over_elements(&mut self, ty: &Ty, fuel: u32) -> String {
        let size = self.size();
        if !self.affordable(size.estimate() * ty.cells()) {
            return self.expr(ty, fuel);
        }
        let start = self.expr(ty, fuel / 2);
        let element = if self.c.once_in(3) { Ty::floats(&[self.size()]) } else { Ty::Float };
        let xs = self.expr(&Ty::array(&size, element.clone()), fuel / 2);
        let [v, x] = [self.fresh("v"), self.fresh("x")];
        let times = size.estimate();
        let body = self.with(&[(&v, ty), (&x, &element)], |g| g.repeated(times, |g| g.expr(ty, fuel)));
        format!("(loop {} = {start} for {x} in {xs} do {body})", self.typed(&v, ty))
    }

    /// A loop with a bounded number of iterations.
    fn while_loop(&mut self, ty: &Ty, fuel: u32) -> String {
        let start = self.expr(ty, fuel / 2);
        let most = self.c.below(5);
        if !self.affordable(4 * ty.cells()) {
            return start;
        }
        let [v, i] = [self.fresh("v"), self.fresh("ix")];
        let body = self.iterated(&i, &[(&v, ty)], 3, ty, fuel);
        let cond = match self.c.below(3) {
            0 => String::new(),
            1 => format!(" && {}", self.passive_condition()),
            _ => self.with(&[(&v, ty)], |g| format!(" && {}", g.condition(0))),
        };
        let attribute = if self.c.once_in(4) { format!("#[bound({})] ", most + 1) } else { String::new() };
        format!(
            "({attribute}loop ({i}: i64, {v}: {}) = (0, {start}) while {i} < {most}{cond} do ({i} + 1, {body})).1",
            self.text(ty)
        )
    }
}

/// A type as a constructor's payload.
fn of_argument(ty: &str) -> String {
    if ty.starts_with('[') { format!("({ty})") } else { ty.to_owned() }
}
