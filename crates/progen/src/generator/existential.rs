//! Arrays of existential size: filters, slices, concatenations, flat maps, branches and loops whose
//! results differ in size.

use super::Gen;
use super::types::{BOOL, I64, Size, Ty};

impl Gen<'_> {
    /// An array with elements of this type, and its estimated size.
    pub(super) fn existential(&mut self, row: &Ty, fuel: u32) -> (String, i64) {
        let size = self.size();
        let estimate = self.estimate(&size);
        if !self.affordable_array(&size, row) {
            return (self.leaf(&Ty::array(Size::Const(1), row.clone())), 1);
        }
        let array = Ty::array(size, row.clone());
        let xs = self.expr(&array, fuel / 2);
        if fuel == 0 {
            return (xs, estimate);
        }
        match self.c.below(13) {
            0 | 1 => {
                let p = self.repeated(estimate, |g| g.predicate(row, fuel - 1));
                (format!("(filter {p} {xs})"), estimate)
            }
            2 => {
                let p = self.repeated(estimate, |g| g.predicate(row, fuel - 1));
                let side = self.c.below(2);
                (format!("(partition {p} {xs}).{side}"), estimate)
            }
            3 => {
                let (ys, more) = self.existential(row, fuel - 1);
                (format!("({xs} ++ {ys})"), estimate + more)
            }
            4 | 5 => {
                let slice = self.pick_text(&["1:", "::2", "::-1", "::-2", ":2", "2:", "1:3", "-1:"]);
                let x = self.fresh("s");
                // Slices are in bounds of an array that is long enough.
                let whole = Ty::array(Size::Const(3), row.clone());
                let more = self.leaf(&whole);
                let bounded = match slice {
                    "-1:" => format!("(let {x} = {xs} in {x}[length {x} / 2:])"),
                    slice => format!("(let {x} = {xs} ++ {more} in {x}[{slice}])"),
                };
                (bounded, estimate + 3)
            }
            6 => {
                let c = self.expr(&BOOL, fuel - 1);
                let (ys, more) = self.existential(row, fuel - 1);
                let text = format!("(if {c} then {xs} :> []{0} else {ys} :> []{0})", row.text());
                (text, estimate.max(more))
            }
            7 => {
                // A loop that grows and shrinks its array.
                let (a, i) = (self.fresh("a"), self.fresh("ix"));
                let mark = self.mark();
                self.bind(&i, Ty::Scalar(prim::ScalarType::I32));
                let more = self.leaf(row);
                let c = self.repeated(4, |g| g.expr(&BOOL, fuel / 2));
                self.restore(mark);
                let trips = self.c.below(4);
                let text = format!(
                    "(loop ({a}: []{}) = {xs} for {i} < {trips}i32 do \
                     if {c} then {a} ++ [{more}] else if length {a} > 0 then {a}[1:] else {a})",
                    row.text()
                );
                (text, estimate + 3)
            }
            8 => match row {
                Ty::Scalar(_) if self.affordable(estimate * 4) => {
                    let rows = Ty::array(Size::Const(3), array);
                    (format!("(flatten {})", self.expr(&rows, fuel - 1)), estimate * 3)
                }
                _ => (format!("({} {xs})", self.helper("evens")), estimate),
            },
            9 => (format!("({} {xs})", self.helper("evens")), estimate),
            10 | 11 if self.affordable(estimate.saturating_mul(8 * self.cells(row))) => {
                self.flat_mapped(&xs, row, estimate, fuel - 1)
            }
            _ => {
                let trips = 1 + self.c.below(3);
                let p = self.repeated(estimate, |g| g.predicate(row, fuel - 1));
                let (a, i) = (self.fresh("a"), self.fresh("ix"));
                let text =
                    format!("(loop {a}: []{} = {xs} for {i} < {trips}i64 do filter {p} {a})", row.text());
                (text, estimate)
            }
        }
    }

    /// One of the results of a flat map over elements of this type, with its estimated size.
    fn flat_mapped(&mut self, xs: &str, row: &Ty, estimate: i64, fuel: u32) -> (String, i64) {
        let x = self.fresh("x");
        let mark = self.mark();
        self.bind(&x, row.clone());
        let (part, more) = self.repeated(estimate, |g| g.existential(row, fuel));
        let row_result = self.repeated(estimate, |g| g.expr(row, fuel / 2));
        self.restore(mark);
        let total = estimate.saturating_mul(more.max(1));
        let flat = format!("flatmap (\\({x}: {}) -> ({part}, {row_result})) {xs}", row.text());
        match (self.c.below(6), row) {
            (0, _) => (format!("(({flat}).4)"), estimate),
            (1, row) if *row == BOOL => (format!("(({flat}).1)"), total),
            (1, row) if *row == I64 => (format!("(({flat}).0)"), estimate),
            (2, row) if *row == I64 => (format!("(({flat}).2)"), estimate),
            _ => (format!("(({flat}).3)"), total),
        }
    }
}
