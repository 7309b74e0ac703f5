//! Expressions of array types of a known size.

use super::Gen;
use super::types::{BOOL, I64, Size, Ty};
use prim::ScalarType;
use std::rc::Rc;

impl Gen<'_> {
    /// An operation with an array result.
    pub(super) fn array(&mut self, size: &Size, row: &Rc<Ty>, fuel: u32) -> String {
        let whole = Ty::Array(size.clone(), row.clone());
        let (n, estimate) = (size.text(), self.estimate(size));
        if !self.affordable_array(size, row) {
            return self.leaf(&whole);
        }
        match self.c.below(24) {
            0..=3 => self.mapped(size, row, fuel),
            4 | 5 => {
                let i = self.fresh("ix");
                let mark = self.mark();
                self.bind(&i, I64);
                let body = self.repeated(estimate, |g| g.expr(row, fuel));
                self.restore(mark);
                format!("(tabulate {n} (\\{i} -> {body}))")
            }
            6 => {
                let fun = self.pick_text(&["replicate", "rep"]);
                let x = self.expr(row, fuel);
                match fun {
                    "rep" => format!("(rep {x} : {})", whole.text()),
                    _ => format!("(replicate {n} {x})"),
                }
            }
            7 | 8 => self.scanned(&whole, row, fuel),
            9 => {
                let xs = self.expr(&whole, fuel);
                if self.c.once_in(2) {
                    format!("(rotate {} {xs})", self.expr(&I64, fuel / 2))
                } else {
                    format!("(reverse {xs})")
                }
            }
            10 | 11 => self.updated(&whole, fuel),
            12 => self.scattered(size, row, fuel),
            13 => self.histogram(size, row, fuel),
            14 => match &**row {
                Ty::Array(inner, elem) => {
                    let flipped = Ty::array(inner.clone(), Ty::Array(size.clone(), elem.clone()));
                    format!("(transpose {})", self.expr(&flipped, fuel))
                }
                _ => self.mapped(size, row, fuel),
            },
            15 | 16 => {
                let (xs, _) = self.existential(row, fuel);
                let fun = self.pick_text(&["resize", "cycled"]);
                format!("({} {n} {} {xs})", self.helper(fun), self.leaf(row))
            }
            17 => self.zipped(size, row, fuel),
            18 => match size {
                Size::Const(k @ 1..) => {
                    let elements: Vec<String> = (0..*k).map(|_| self.expr(row, fuel / 2)).collect();
                    format!("[{}]", elements.join(", "))
                }
                _ => self.mapped(size, row, fuel),
            },
            19 if **row == I64 => format!("(iota {n})"),
            19 => match &**row {
                Ty::Array(inner, elem) => {
                    let (m, default) = (inner.text(), self.leaf(elem));
                    let (xs, _) = self.existential(elem, fuel);
                    let resize = self.helper("resize");
                    format!("(unflatten ({resize} ({n} * {m}) {default} {xs}) : {})", whole.text())
                }
                _ => self.mapped(size, row, fuel),
            },
            20 => self.element(&whole, fuel),
            21 => self.reduced(&whole, fuel),
            22 => {
                let i = self.fresh("ix");
                let x = self.fresh("x");
                let mark = self.mark();
                self.bind(&i, I64);
                self.bind(&x, (**row).clone());
                let body = self.repeated(estimate, |g| g.expr(row, fuel));
                self.restore(mark);
                let xs = self.expr(&whole, fuel);
                let mapi = self.helper("mapi");
                format!("({mapi} (\\{i} ({x}: {}) -> {body}) {xs})", row.text())
            }
            _ => {
                let x = self.fresh("x");
                let y = self.fresh("x");
                let mark = self.mark();
                self.bind(&x, (**row).clone());
                self.bind(&y, (**row).clone());
                let body = self.repeated(estimate, |g| g.expr(row, fuel));
                self.restore(mark);
                let (ty, xs) = (row.text(), self.expr(&whole, fuel));
                let stencil = self.helper("stencil");
                format!("({stencil} (\\({x}: {ty}) ({y}: {ty}) -> {body}) {xs})")
            }
        }
    }

    /// A function with parameters of these types, as an argument.
    pub(super) fn lambda(&mut self, params: &[Ty], ret: &Ty, fuel: u32) -> String {
        let mark = self.mark();
        let mut text = String::from("(\\");
        for ty in params {
            match ty {
                Ty::Tuple(parts) if self.c.once_in(2) => {
                    let names: Vec<String> = parts
                        .iter()
                        .map(|ty| {
                            let x = self.fresh("x");
                            self.bind(&x, ty.clone());
                            format!("{x}: {}", ty.text())
                        })
                        .collect();
                    text.push_str(&format!("({}) ", names.join(", ")));
                }
                Ty::Scalar(_) if self.c.once_in(3) => {
                    let x = self.fresh("x");
                    self.bind(&x, ty.clone());
                    text.push_str(&format!("{x} "));
                }
                _ => {
                    let x = self.fresh("x");
                    self.bind(&x, ty.clone());
                    text.push_str(&format!("({x}: {}) ", ty.text()));
                }
            }
        }
        let body = self.expr(ret, fuel);
        self.restore(mark);
        format!("{text}-> {body})")
    }

    /// A map over one to three arrays.
    fn mapped(&mut self, size: &Size, row: &Ty, fuel: u32) -> String {
        let estimate = self.estimate(size);
        let count = 1 + self.c.below(4).saturating_sub(1);
        let tys: Vec<Ty> = (0..count).map(|_| self.repeated(estimate, |g| g.ty(2))).collect();
        if count == 1
            && let [Ty::Scalar(ty)] = tys[..]
            && Ty::Scalar(ty) == *row
            && !ty.is_float()
            && ty != ScalarType::Bool
            && self.c.once_in(3)
        {
            let xs = self.expr(&Ty::array(size.clone(), row.clone()), fuel);
            let (op, y) = (self.pick_text(&["+", "*", "^"]), self.leaf(row));
            return format!("(map ({op} {y}) {xs})");
        }
        let f = self.repeated(estimate, |g| g.lambda(&tys, row, fuel));
        let arrays: String = tys
            .into_iter()
            .map(|ty| format!(" {}", self.expr(&Ty::array(size.clone(), ty), fuel / 2)))
            .collect();
        let name = ["map", "map2", "map3"][count - 1];
        format!("({name} {f}{arrays})")
    }

    fn scanned(&mut self, whole: &Ty, row: &Ty, fuel: u32) -> String {
        let Some(op) = self.operator(row) else {
            return self.leaf(whole);
        };
        let fun = self.pick_text(&["scan", "scan", "exscan"]);
        let text = format!("({fun} {} {} {})", op.fun, op.neutral, self.expr(whole, fuel));
        self.small(whole, text)
    }

    /// An array without aliases.
    pub(super) fn fresh_array(&mut self, ty: &Ty, fuel: u32) -> String {
        let text = self.expr(ty, fuel);
        let fresh = ["(map ", "(map2 ", "(map3 ", "(tabulate ", "(scan ", "(replicate "];
        if fresh.iter().any(|start| text.starts_with(start)) { text } else { format!("(copy {text})") }
    }

    /// An array with one of its parts replaced; it is consumed, and hidden in the new value unless
    /// that is a scalar.
    pub(super) fn update(&mut self, name: &str, ty: &Ty, fuel: u32) -> String {
        let Ty::Array(size, row) = ty else {
            return name.to_owned();
        };
        let (n, index) = (size.text(), self.expr(&I64, fuel / 2));
        let kind = self.c.below(8);
        let (guard, part, value) = match (&**row, kind) {
            (_, 6) => {
                self.set_live(name, false);
                let value = self.expr(ty, fuel);
                return format!("({name} with [:] = copy {value})");
            }
            (_, 7) => {
                self.set_live(name, false);
                let half = self.fresh("k");
                let (default, xs) = (self.leaf(row), self.existential(row, fuel).0);
                let resize = self.helper("resize");
                return format!(
                    "(let {half} = {n} / 2 in {name} with [:{half}] = {resize} {half} {default} {xs})"
                );
            }
            (Ty::Array(inner, elem), 0..=2) => {
                let m = inner.text();
                let second = self.expr(&I64, fuel / 2);
                self.hide_unless_scalar(name, elem);
                let value = self.expr(elem, fuel);
                let value = if elem.scalar().is_some() { value } else { format!("copy {value}") };
                (format!("{n} == 0 || {m} == 0"), format!("[{index} % {n}, {second} % {m}]"), value)
            }
            (Ty::Array(inner, elem), 3) => {
                // A column.
                self.set_live(name, false);
                let column = Ty::Array(size.clone(), elem.clone());
                let value = self.expr(&column, fuel);
                let m = inner.text();
                (format!("{m} == 0"), format!("[:, {index} % {m}]"), format!("copy {value}"))
            }
            _ => {
                self.hide_unless_scalar(name, row);
                let value = self.expr(row, fuel);
                let value = if row.scalar().is_some() { value } else { format!("copy {value}") };
                (format!("{n} == 0"), format!("[{index} % {n}]"), value)
            }
        };
        self.set_live(name, false);
        format!("(if {guard} then {name} else {name} with {part} = {value})")
    }

    fn hide_unless_scalar(&mut self, name: &str, value: &Ty) {
        if value.scalar().is_none() {
            self.set_live(name, false);
        }
    }

    /// A fresh array, updated once or twice.
    fn updated(&mut self, whole: &Ty, fuel: u32) -> String {
        let mark = self.mark();
        let first = self.fresh("up");
        let mut text = format!("(let {first} = {}", self.fresh_array(whole, fuel));
        self.bind(&first, whole.clone());
        let mut last = first;
        for _ in 0..=self.c.below(2) {
            let update = if self.c.once_in(6) {
                self.set_live(&last, false);
                let (i, j) = (self.expr(&I64, 1), self.expr(&I64, 1));
                format!("{} {i} {j} {last}", self.helper("swap"))
            } else {
                self.update(&last, whole, fuel)
            };
            let next = self.fresh("up");
            text.push_str(&format!(" let {next} = {update}"));
            self.bind(&next, whole.clone());
            last = next;
        }
        self.restore(mark);
        format!("{text} in {last})")
    }

    fn scattered(&mut self, size: &Size, row: &Ty, fuel: u32) -> String {
        let whole = Ty::array(size.clone(), row.clone());
        let dest = self.fresh_array(&whole, fuel);
        let other = self.size();
        let k = other.text();
        if !self.affordable_array(&other, row) {
            return dest;
        }
        if self.c.once_in(3) {
            // The same value repeatedly, at any index.
            let (value, indices) = (self.expr(row, fuel), Ty::array(other, I64));
            let indices = self.expr(&indices, fuel);
            let v = self.fresh("v");
            return format!("(let {v} = {value} in scatter {dest} {indices} (replicate {k} {v}))");
        }
        if other == *size && self.c.once_in(3) {
            // The written values are computed from the array's.
            let (d, x) = (self.fresh("d"), self.fresh("x"));
            let mark = self.mark();
            self.bind(&x, row.clone());
            let value = self.repeated(self.estimate(size), |g| g.expr(row, fuel));
            self.restore(mark);
            // The function precedes its argument, so its rows' sizes are only known if its
            // parameter has a type.
            let ty = row.text();
            return format!(
                "(let {d} = {dest} in scatter {d} (reverse (iota {k})) (map (\\({x}: {ty}) -> {value}) {d}))"
            );
        }
        let values = self.expr(&Ty::array(other, row.clone()), fuel);
        let offset = self.expr(&I64, fuel / 2);
        // All indices are distinct.
        let indices = match self.c.below(4) {
            0 => format!("(iota {k})"),
            1 => format!("(map (+ {offset}) (iota {k}))"),
            2 => format!("(map (\\i -> 2 * i - 1) (iota {k}))"),
            _ => format!("(reverse (iota {k}))"),
        };
        format!("(scatter {dest} {indices} {values})")
    }

    fn histogram(&mut self, size: &Size, row: &Ty, fuel: u32) -> String {
        let whole = Ty::array(size.clone(), row.clone());
        let Some(op) = self.commuting(row) else {
            return self.updated(&whole, fuel);
        };
        let other = self.size();
        if !self.affordable_array(&other, row) {
            return self.updated(&whole, fuel);
        }
        let values = self.expr(&Ty::array(other.clone(), row.clone()), fuel);
        let indices = self.expr(&Ty::array(other, I64), fuel);
        let bound = 1 + self.c.below(7);
        let indices = format!("(map (% {bound}) {indices})");
        let text = if self.c.once_in(2) {
            format!("(hist {} {} {} {indices} {values})", op.fun, op.neutral, size.text())
        } else {
            let dest = self.fresh_array(&whole, fuel);
            format!("(reduce_by_index {dest} {} {} {indices} {values})", op.fun, op.neutral)
        };
        self.small(&whole, text)
    }

    fn zipped(&mut self, size: &Size, row: &Ty, fuel: u32) -> String {
        if let Ty::Tuple(parts) = row
            && parts.len() <= 3
        {
            let name = if parts.len() == 2 { "zip" } else { "zip3" };
            let arrays: String = parts
                .iter()
                .map(|ty| format!(" {}", self.expr(&Ty::array(size.clone(), ty.clone()), fuel)))
                .collect();
            return format!("({name}{arrays})");
        }
        let estimate = self.estimate(size);
        let other = self.repeated(estimate, |g| g.ty(1));
        let pairs = Ty::array(size.clone(), Ty::Tuple(vec![row.clone(), other]));
        format!("(unzip {}).0", self.expr(&pairs, fuel))
    }

    pub(super) fn predicate(&mut self, ty: &Ty, fuel: u32) -> String {
        self.lambda(std::slice::from_ref(ty), &BOOL, fuel)
    }
}
