//! Expressions that may fail at one point at most, and whose value always depends on that point: no
//! optimisation may remove the failure. So all executions of a program agree on whether it fails,
//! and with which message.

use super::Gen;
use super::types::{BOOL, I64, Size, Ty};

/// The parameter of type `i64` of entry points that may fail.
pub(super) const FAILURE_PARAM: &str = "some";

impl Gen<'_> {
    /// A value of type `i64` whose evaluation may fail.
    fn fallible(&mut self, fuel: u32) -> String {
        let (size, row) = (self.size_of_some(), I64);
        let array = Ty::array(size, row.clone());
        match self.c.below(12) {
            0 | 1 => {
                let xs = self.fallible_array(&array, fuel);
                format!("{xs}[{}]", self.index(fuel))
            }
            2 | 3 => {
                let ty = *self.c.pick(&super::scalars::INTS).unwrap_or(&prim::ScalarType::I64);
                let op = self.pick_text(&["/", "%", "//", "%%"]);
                let (x, y) = (self.expr(&Ty::Scalar(ty), fuel), self.expr(&Ty::Scalar(ty), fuel));
                let name = ty.name();
                format!("(i64.{name} ({x} {op} ({y} % 4{name})))")
            }
            4 => format!("(assert {} {})", self.expr(&BOOL, fuel), self.expr(&I64, fuel)),
            5 => {
                let xs = self.fallible_array(&array, fuel);
                let (from, to) = (self.index(fuel), self.index(fuel));
                let slice = match self.c.below(3) {
                    0 => format!("{from}:{to}"),
                    1 => format!("{from}:"),
                    _ => format!(":{to}"),
                };
                format!("(i64.sum {xs}[{slice}])")
            }
            6 => {
                let (xs, _) = self.existential(&row, fuel);
                let n = self.size_of_some();
                format!("(i64.sum ({xs} :> [{}]i64))", n.text())
            }
            7 => {
                let (xs, _) = self.existential(&row, fuel);
                let fun = self.pick_text(&["head", "last"]);
                format!("({fun} {xs})")
            }
            8 => {
                let (xs, x) = (self.fresh_array(&array, fuel), self.expr(&row, fuel));
                format!("(i64.sum ({xs} with [{}] = {x}))", self.index(fuel))
            }
            9 => {
                let ((xs, _), (ys, _)) = (self.existential(&row, fuel), self.existential(&row, fuel));
                let (n, x) = (self.fresh("n"), self.fresh("x"));
                format!(
                    "(let [{n}] ({x}: [{n}]i64) = {xs} ++ [3i64] in i64.sum (map2 (+) {x} ({ys} :> [{n}]i64)))"
                )
            }
            10 => {
                // A constant size, negative half of the time.
                let n = self.c.below(6) as i64 - 3;
                let made = if self.c.once_in(2) {
                    format!("iota ({n})")
                } else {
                    format!("replicate ({n}) {}", self.expr(&I64, fuel))
                };
                format!("(({made})[{}])", self.index(fuel))
            }
            _ => {
                let rows = Ty::array(Size::Const(3), array);
                let xss = self.fallible_array(&rows, fuel);
                format!("{xss}[{}, {}]", self.c.below(3), self.index(fuel))
            }
        }
    }

    /// A size other than the constant 0: the elements of an empty array, with their failures, may
    /// be optimised away.
    fn size_of_some(&mut self) -> Size {
        match self.size() {
            Size::Const(0) => Size::Const(1),
            size => size,
        }
    }

    /// An index that may be out of bounds and is not known statically: a slice that is known to be
    /// empty may be optimised away.
    fn index(&mut self, fuel: u32) -> String {
        let x = self.expr(&I64, fuel);
        match self.c.below(3) {
            0 => format!("({x} + {FAILURE_PARAM})"),
            1 => format!("(({x} + {FAILURE_PARAM}) % 5)"),
            _ => format!("(({x} + {FAILURE_PARAM}) % 7 - 1)"),
        }
    }

    /// An array in the position before an index.
    fn fallible_array(&mut self, ty: &Ty, fuel: u32) -> String {
        format!("({} : {})", self.expr(ty, fuel), ty.text())
    }

    /// A result that may fail, of type `i64`.
    pub(super) fn fallible_result(&mut self, fuel: u32) -> String {
        let deeper = fuel.saturating_sub(1);
        match self.c.below(9) {
            0 | 1 => self.fallible(deeper),
            2 => {
                // The other operand cannot cancel it.
                let op = self.pick_text(&["+", "-", "^"]);
                format!("({} {op} 3 * {})", self.expr(&I64, deeper), self.fallible_result(deeper))
            }
            3 => {
                let (c, x) = (self.expr(&BOOL, deeper), self.expr(&I64, deeper));
                format!("(if {c} then {} else {x})", self.fallible_result(deeper))
            }
            4 => {
                let (acc, i) = (self.fresh("acc"), self.fresh("ix"));
                let trips = 1 + self.c.below(4) as i64;
                let mark = self.mark();
                self.bind(&i, I64);
                self.bind(&acc, I64);
                let body = self.repeated(trips, |g| g.fallible_result(deeper));
                self.restore(mark);
                format!("(loop {acc} = 0i64 for {i} < {trips}i64 do {acc} + 3 * {body})")
            }
            5 | 6 => {
                let size = self.size();
                let estimate = self.estimate(&size);
                if !self.affordable(estimate) {
                    return self.fallible(deeper);
                }
                let ty = self.ty(1);
                let x = self.fresh("x");
                let mark = self.mark();
                self.bind(&x, ty.clone());
                let body = self.repeated(estimate, |g| g.fallible_result(deeper));
                self.restore(mark);
                let xs = self.expr(&Ty::array(size, ty.clone()), deeper);
                let f = format!("(\\({x}: {}) -> {body})", ty.text());
                // Equal numbers never cancel each other.
                let odd = format!("(\\({x}: {}) -> 2 * {body} + 1)", ty.text());
                match self.c.below(3) {
                    0 => format!("(i64.sum (map {f} {xs}))"),
                    1 => format!("(reduce (*) 1 (map {odd} {xs}))"),
                    _ => format!("(i64.sum (scan (+) 0 (map {f} {xs})))"),
                }
            }
            7 => {
                let x = self.fresh("x");
                let mark = self.mark();
                let ty = self.ty(1);
                let bound = self.expr(&ty, deeper);
                self.bind(&x, ty);
                let body = self.fallible_result(deeper);
                self.restore(mark);
                format!("(let {x} = {bound} in {body})")
            }
            _ => {
                let x = self.fresh("x");
                format!(
                    "((\\({x}: i64) -> 3 * {x} + {}) {})",
                    self.expr(&I64, deeper),
                    self.fallible_result(deeper)
                )
            }
        }
    }
}
