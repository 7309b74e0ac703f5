//! Scalar expressions. Each float expression has a bound on its magnitude; one that exceeds
//! [`BOUND`] is made small by a bounded function. Arguments of functions with poles are made of squares.

use super::Gen;
use super::types::Ty;

/// The largest magnitude of small floats.
pub(super) const BOUND: f64 = 4.0;

/// A float expression and a bound on its magnitude.
struct Bounded {
    text: String,
    bound: f64,
}

impl Bounded {
    fn new(text: String, bound: f64) -> Self {
        Self { text, bound }
    }
}

impl Gen<'_> {
    /// A literal of the float type.
    pub(super) fn literal(&self, x: f64) -> String {
        if x < 0.0 { format!("(-{}{})", -x, self.float) } else { format!("{x}{}", self.float) }
    }

    pub(super) fn constant(&mut self) -> String {
        let x = [0.5, 1.0, -0.75, 1.25, 0.0, -1.0, 2.0, 0.3][self.c.below(8)];
        self.literal(x)
    }

    /// A small float.
    pub(super) fn float(&mut self, fuel: u32) -> String {
        let x = self.bounded(fuel);
        self.within(x, BOUND)
    }

    /// A float of at most this magnitude, at least 1.
    fn within(&mut self, x: Bounded, bound: f64) -> String {
        if x.bound <= bound {
            return x.text;
        }
        self.exact = false;
        let calm = if x.bound <= 40.0 { 6 } else { 3 };
        let fun = ["F.tanh", "ratio", "F.atan", "F.sin", "F.cos", "F.erf"][self.c.below(calm)];
        // The arc tangent is at most pi / 2.
        let fun = if fun == "F.atan" && bound < 1.6 { "F.tanh" } else { fun };
        format!("({} {})", fun.replace('F', self.float), x.text)
    }

    fn math(&mut self, fun: &str, arg: &str) -> String {
        self.exact = false;
        format!("({}.{fun} {arg})", self.float)
    }

    fn bounded(&mut self, fuel: u32) -> Bounded {
        if fuel == 0 || self.c.once_in(4) {
            return Bounded::new(self.expr(&Ty::Float, fuel.saturating_sub(1)), BOUND);
        }
        let x = self.bounded(fuel - 1);
        match self.c.below(18) {
            0..=7 => self.arithmetic(x, fuel - 1),
            8..=13 => self.mathematical(x, fuel - 1),
            14 => self.kink(x, fuel - 1),
            15 => {
                let n = self.passive_int();
                Bounded::new(format!("({}.i64 ({n} % 5) * {})", self.float, x.text), 4.0 * x.bound)
            }
            16 => {
                let x = self.within(x, 1.0);
                self.exact = false;
                let f = self.float;
                let (bound, text) = match self.c.below(4) {
                    0 => (
                        2.6,
                        format!(
                            "(with_vjp (\\(q: {f}) -> {f}.exp q / 2) (\\(r: {f}) (a: {f}) -> r * a) {x})"
                        ),
                    ),
                    1 => {
                        (2.0, format!("(with_vjp (\\(q: {f}) -> 2 * q) (\\(_: {f}) (a: {f}) -> 2 * a) {x})"))
                    }
                    2 => (
                        1.0,
                        format!(
                            "(with_vjp (\\(q: {f}) -> {f}.tanh q) (\\(r: {f}) (a: {f}) -> (1 - r * r) * a) {x})"
                        ),
                    ),
                    _ => (
                        2.0,
                        format!(
                            "(with_vjp (\\(q: {f}) -> {f}.sqrt q) (\\(r: {f}) (a: {f}) -> a / (2 * r)) (2 + {x}))"
                        ),
                    ),
                };
                Bounded::new(text, bound)
            }
            _ => {
                if self.float == "f64" {
                    return x;
                }
                let fun = self.pick_text(&["sin", "exp", "atan"]);
                let x = self.within(x, 1.0);
                self.exact = false;
                Bounded::new(format!("(f32.f64 (f64.{fun} (f64.f32 {x})))"), 3.0)
            }
        }
    }

    fn arithmetic(&mut self, x: Bounded, fuel: u32) -> Bounded {
        let kind = self.c.below(8);
        if kind == 7 {
            let text = format!("({} * {})", self.constant(), x.text);
            return Bounded::new(text, x.bound * 2.0);
        }
        let y = self.bounded(fuel);
        let (sum, product) = (x.bound + y.bound, x.bound * y.bound);
        match kind {
            0 | 1 => Bounded::new(format!("({} + {})", x.text, y.text), sum),
            2 => Bounded::new(format!("({} - {})", x.text, y.text), sum),
            3..=5 => Bounded::new(format!("({} * {})", x.text, y.text), product),
            _ => {
                self.exact = false;
                let z = self.expr(&Ty::Float, 0);
                let text = format!("({}.fma {} {} {z})", self.float, x.text, y.text);
                Bounded::new(text, product + BOUND)
            }
        }
    }

    /// A mathematical function.
    fn mathematical(&mut self, x: Bounded, fuel: u32) -> Bounded {
        self.exact = false;
        let bound = x.bound;
        match self.c.below(18) {
            0 => Bounded::new(self.math("sin", &x.text), 1.0),
            1 => Bounded::new(self.math("cos", &x.text), 1.0),
            2 => Bounded::new(self.math("tanh", &x.text), 1.0),
            3 => {
                let x = self.within(x, 2.0);
                Bounded::new(self.math("exp", &x), 7.4)
            }
            4 => Bounded::new(format!("(root {})", x.text), 1.0 + bound),
            5 => Bounded::new(format!("(logarithm {})", x.text), bound),
            6 => Bounded::new(format!("(ratio {})", x.text), 0.5),
            7 => Bounded::new(format!("(bell {})", x.text), 1.0),
            8 => Bounded::new(self.math("atan", &x.text), 1.6),
            9 => Bounded::new(self.math("erf", &x.text), 1.0),
            10 => {
                let y = self.bounded(fuel);
                Bounded::new(format!("({} / root {})", x.text, y.text), bound)
            }
            11 => {
                // The base is at least 1/2.
                let (x, y) = (self.within(x, 1.0), self.bounded(fuel));
                let y = self.within(y, 2.0);
                let f = self.float;
                Bounded::new(format!("((1.5{f} + {x}) ** {y})"), 6.25)
            }
            12 => {
                let power = self.pick_text(&["2", "3"]);
                Bounded::new(format!("({} ** {power})", x.text), bound.powi(3).max(1.0))
            }
            13 => {
                let y = self.bounded(fuel);
                Bounded::new(format!("({}.atan2 {} (root {}))", self.float, x.text, y.text), 1.6)
            }
            14 => Bounded::new(format!("({}.hypot {} 1)", self.float, x.text), 1.0 + bound),
            15 => {
                let x = self.within(x, 1.0);
                Bounded::new(self.math("sinh", &x), 1.2)
            }
            16 => Bounded::new(self.math("asinh", &x.text), bound),
            _ => {
                let f = self.float;
                Bounded::new(format!("({f}.recip (1.5{f} + {f}.sin {}))", x.text), 2.0)
            }
        }
    }

    /// An operation without a derivative at some points.
    fn kink(&mut self, x: Bounded, fuel: u32) -> Bounded {
        self.smooth = false;
        let f = self.float;
        match self.c.below(5) {
            0 => {
                let y = self.bounded(fuel);
                let bound = x.bound.max(y.bound);
                Bounded::new(format!("({f}.max {} {})", x.text, y.text), bound)
            }
            1 => {
                let y = self.bounded(fuel);
                let bound = x.bound.max(y.bound);
                Bounded::new(format!("({f}.min {} {})", x.text, y.text), bound)
            }
            2 => Bounded::new(format!("({f}.abs {})", x.text), x.bound),
            3 => Bounded::new(format!("({f}.max (-0.7{f}) ({f}.min 0.9{f} {}))", x.text), 0.9),
            _ => {
                let fun = self.pick_text(&["floor", "trunc", "round"]);
                Bounded::new(
                    format!("({} * {f}.{fun} (1.7{f} * {}))", x.text, x.text),
                    2.0 * x.bound * x.bound + 4.0,
                )
            }
        }
    }

    /// An integer that does not depend on the argument of `f`.
    pub(super) fn passive_int(&mut self) -> String {
        let sizes = self.sizes.iter().map(super::types::Size::text);
        let known: Vec<String> =
            self.indices.iter().rev().map(|(name, _)| name.clone()).chain(sizes).collect();
        let at = self.c.below(known.len() * 2 + 4);
        match at.checked_sub(4).and_then(|at| known.get(at / 2)) {
            Some(name) => name.clone(),
            None => format!("{at}"),
        }
    }

    /// An integer, without floats made of it.
    pub(super) fn int(&mut self, fuel: u32) -> String {
        match self.c.below(8) {
            3 => {
                let known = self.candidates(|ty| *ty == Ty::Int);
                match self.c.pick(&known) {
                    Some((text, _)) => text.clone(),
                    None => self.passive_int(),
                }
            }
            4 => self.element(&Ty::Int).unwrap_or_else(|| self.passive_int()),
            kind @ (5 | 6) if fuel > 0 => {
                let (x, y) = (self.int(fuel - 1), self.int(fuel - 1));
                format!("({x} {} {y})", ["+", "*"][kind - 5])
            }
            7 if fuel > 0 && self.c.once_in(2) => {
                self.smooth = false;
                let x = self.expr(&Ty::Float, fuel - 1);
                format!("(i64.{} (2.7{} * {x}))", self.float, self.float)
            }
            _ => self.passive_int(),
        }
    }

    /// A condition on integers.
    pub(super) fn passive_condition(&mut self) -> String {
        let known = self.candidates(|ty| *ty == Ty::Bool);
        if self.c.once_in(3)
            && let Some((text, _)) = self.c.pick(&known)
        {
            return text.clone();
        }
        let (x, y) = (self.int(1), self.int(0));
        match self.c.below(3) {
            0 => format!("({x} % 2 == 0)"),
            1 => format!("({x} < {y})"),
            _ => format!("({x} != {y})"),
        }
    }

    /// A condition, perhaps on floats.
    pub(super) fn condition(&mut self, fuel: u32) -> String {
        if self.c.once_in(2) {
            self.smooth = false;
            let (x, y) = (self.expr(&Ty::Float, fuel), self.expr(&Ty::Float, 0));
            let op = self.pick_text(&["<", ">", ">="]);
            return format!("({x} {op} {y})");
        }
        self.passive_condition()
    }
}
