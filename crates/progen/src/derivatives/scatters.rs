//! Arrays that are updated: in place, by scatters and by histograms.

use super::Gen;
use super::types::{Size, Ty};

impl Gen<'_> {
    /// An array that nothing else refers to.
    fn fresh_array(&mut self, ty: &Ty, fuel: u32) -> String {
        let xs = self.expr(ty, fuel);
        format!("(copy {xs})")
    }

    /// A scatter with different indices, some of which are out of range.
    pub(super) fn scatter(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let dest = self.fresh_array(&Ty::array(size, row.clone()), fuel);
        let count = self.size();
        if !self.affordable(count.estimate() * row.cells()) {
            return None;
        }
        let values = self.expr(&Ty::array(&count, row.clone()), fuel);
        let i = self.fresh("ix");
        let k = self.c.below(4);
        let at = match self.c.below(4) {
            0 => i.clone(),
            1 => format!("{i} + {k} - 1"),
            2 => format!("{} - {i}", size.text()),
            _ => format!("2 * {i} - {k}"),
        };
        Some(format!("(scatter {dest} (map (\\{i} -> {at}) (iota {})) {values})", count.text()))
    }

    /// A histogram with any indices.
    pub(super) fn histogram(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let count = self.size();
        if !self.affordable(count.estimate() * row.cells()) {
            return None;
        }
        let op = self.operator(row, true)?;
        let values = self.operands(&count, row, &op, fuel);
        let is = self.ints(&count);
        let n = size.text();
        let is = if self.c.once_in(2) && *size != Size::Const(0) {
            let i = self.fresh("i");
            format!("(map (\\{i} -> {i} % i64.max 1 {n}) {is})")
        } else {
            is
        };
        let made = if self.c.once_in(3) {
            format!("(hist {} {} {n} {is} {values})", op.text, op.neutral)
        } else {
            let dest = if self.c.once_in(3) {
                format!("(replicate {n} {})", op.neutral)
            } else {
                let dest = self.operands(size, row, &op, fuel);
                format!("(copy {dest})")
            };
            format!("(reduce_by_index {dest} {} {} {is} {values})", op.text, op.neutral)
        };
        Some(self.small(&Ty::array(size, row.clone()), &made))
    }

    /// An array updated in place.
    pub(super) fn updated(&mut self, ty: &Ty, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let start = self.fresh_array(ty, fuel);
        let (a, n) = (self.fresh("a"), size.text());
        let mut guards = Vec::new();
        match self.c.below(4) {
            0 => {
                if *size == Size::Const(0) {
                    return None;
                }
                let at = self.index(size, &mut guards);
                let value = self.expr(row, fuel);
                let update = format!("let {a} = {start} in {a} with [{at}] = {value}");
                Some(match guards.first() {
                    Some(guard) => {
                        let start = self.leaf(ty);
                        format!("(if {guard} then ({update}) else {start})")
                    }
                    None => format!("({update})"),
                })
            }
            1 => {
                // A part of the array.
                let k = self.c.below(3);
                let part = Size::var(&format!("k{a}"));
                let values = self.with(&[], |g| {
                    let i = g.fresh("ix");
                    let body = g.with_index(&i, &part, |g| g.expr(row, fuel));
                    format!("(tabulate {} (\\{i} -> {body}))", part.text())
                });
                let count = format!("let k{a} = i64.min {k} {n}");
                Some(format!("({count} let {a} = {start} in {a} with [0:k{a}] = {values})"))
            }
            _ => {
                // A loop over elements, which reads those already written.
                if !self.affordable(size.estimate().saturating_mul(row.cells())) {
                    return None;
                }
                let i = self.fresh("ix");
                let value = self.with(&[(&a, ty)], |g| g.with_index(&i, size, |g| g.expr(row, fuel)));
                let value = if row.is_plain() && matches!(row, Ty::Float) {
                    value
                } else {
                    format!("(copy {value})")
                };
                Some(format!(
                    "(loop ({a}: *{}) = {start} for {i} < {n} do {a} with [{i}] = {value})",
                    self.text(ty)
                ))
            }
        }
    }
}
