//! Reductions, and floats computed from arrays.

use super::Gen;
use super::operators::{Operator, matrix};
use super::types::{Size, Ty};

impl Gen<'_> {
    /// An array of operands for an operator.
    pub(super) fn operands(&mut self, size: &Size, row: &Ty, op: &Operator, fuel: u32) -> String {
        let ty = Ty::array(size, row.clone());
        let array = self.expr(&ty, fuel);
        let Some(scale) = op.scale else {
            return array;
        };
        let (f, scale) = (self.float, self.literal(scale));
        let fun = [format!("{f}.sin"), "ratio".to_owned()][self.c.below(2)].clone();
        self.exact = false;
        self.mapped(&ty, &array, &|x| format!("({scale} * {fun} {x})"))
    }

    /// A value of any floats with small floats.
    pub(super) fn small(&mut self, ty: &Ty, value: &str) -> String {
        self.exact = false;
        let f = self.float;
        let fun = ["ratio".to_owned(), format!("{f}.tanh"), format!("{f}.atan")][self.c.below(3)].clone();
        self.mapped(ty, value, &|x| format!("({fun} {x})"))
    }

    /// A reduction of an array of rows of this type, before its floats are made small.
    fn reduction(&mut self, row: &Ty, fuel: u32) -> Option<String> {
        let size = self.size();
        if !self.affordable(size.estimate() * row.cells()) {
            return None;
        }
        let commutative = self.c.once_in(4);
        let op = self.operator(row, commutative)?;
        let operands = self.operands(&size, row, &op, fuel);
        let fun = if commutative { "reduce_comm" } else { "reduce" };
        Some(format!("({fun} {} {} {operands})", op.text, op.neutral))
    }

    /// A float folded from arrays.
    pub(super) fn folded(&mut self, fuel: u32) -> String {
        let made = match self.c.below(14) {
            0..=2 => self.reduction(&Ty::Float, fuel),
            3 => {
                let fold = self.reduction(&Ty::pair(Ty::Float, Ty::Float), fuel);
                fold.map(|fold| format!("({fold}).{}", self.c.below(2)))
            }
            4 => self.reduction(&matrix(), fuel).map(|fold| format!("({fold}).{}", self.c.below(4))),
            5 => self.reduction(&Ty::pair(Ty::Float, Ty::Int), fuel).map(|fold| format!("({fold}).0")),
            6 => {
                let k = 1 + self.c.below(3) as i64;
                let row = Ty::floats(&[Size::Const(k)]);
                self.reduction(&row, fuel).map(|fold| {
                    let v = self.fresh("v");
                    format!("(let {v} = {fold} in {v}[{}])", self.c.below(k as usize))
                })
            }
            7 => self.product(fuel),
            8 => self.filtered(fuel),
            9 => self.irregular(fuel),
            10 => self.sliced(fuel),
            11 => self.element(&Ty::Float),
            _ => self.called(&Ty::Float, fuel),
        };
        match made {
            Some(text) => self.small(&Ty::Float, &text),
            None => self.float(fuel),
        }
    }

    /// A tuple of floats folded from arrays, if there is an operator.
    pub(super) fn folded_tuple(&mut self, ty: &Ty, fuel: u32) -> Option<String> {
        if self.c.once_in(3)
            && let Some(call) = self.called(ty, fuel)
        {
            return Some(call);
        }
        let fold = self.reduction(ty, fuel)?;
        Some(self.small(ty, &fold))
    }

    /// The product of two vectors.
    fn product(&mut self, fuel: u32) -> Option<String> {
        let size = self.size();
        if !self.affordable(size.estimate()) {
            return None;
        }
        self.exact = false;
        let ty = Ty::floats(&[size]);
        let (x, y) = (self.expr(&ty, fuel), self.expr(&ty, fuel));
        Some(format!("({}.sum (map2 (*) {x} {y}))", self.float))
    }

    /// The sum of a function of some elements of an array.
    fn filtered(&mut self, fuel: u32) -> Option<String> {
        let size = self.size();
        if !self.affordable(size.estimate()) {
            return None;
        }
        let ty = Ty::floats(std::slice::from_ref(&size));
        let xs = self.expr(&ty, fuel);
        let [v, w, i] = ["v", "v", "ix"].map(|start| self.fresh(start));
        let body =
            self.with(&[(&w, &Ty::Float)], |g| g.repeated(size.estimate(), |g| g.expr(&Ty::Float, fuel / 2)));
        let f = self.float;
        self.exact = false;
        Some(if self.c.once_in(2) {
            self.smooth = false;
            format!("({f}.sum (map (\\({w}: {f}) -> {body}) (filter (\\{v} -> {v} > 0.1) {xs})))")
        } else {
            let n = size.text();
            let some = format!("(filter (\\({i}: i64, _: {f}) -> {i} % 3 != 1) (zip (iota {n}) {xs}))");
            format!("({f}.sum (map (\\(_: i64, {w}: {f}) -> {body}) {some}))")
        })
    }

    /// The sum of reductions of arrays of several sizes.
    fn irregular(&mut self, fuel: u32) -> Option<String> {
        let size = self.size();
        if !self.affordable(size.estimate() * 3) {
            return None;
        }
        self.exact = false;
        let [i, j] = [self.fresh("ix"), self.fresh("ix")];
        let body = self.with_index(&i, &size, |g| {
            let mark = g.mark();
            g.indices.push((j.clone(), Size::var(&format!("({i} % 3 + 1)"))));
            let body = g.repeated(2, |g| g.expr(&Ty::Float, fuel));
            g.restore(&mark);
            body
        });
        let f = self.float;
        let op = self.scalar_fold();
        Some(format!(
            "({f}.sum (map (\\{i} -> {op} (map (\\{j} -> {body}) (iota ({i} % 3 + 1)))) (iota {})))",
            size.text()
        ))
    }

    /// A library function from an array to a float.
    fn scalar_fold(&mut self) -> String {
        let fun = ["sum", "maximum", "minimum"][self.c.below(5).saturating_sub(2)];
        self.smooth &= fun == "sum";
        self.exact = false;
        format!("{}.{fun}", self.float)
    }

    /// The sum of part of an array, or of two arrays.
    fn sliced(&mut self, fuel: u32) -> Option<String> {
        let size = self.size();
        if !self.affordable(size.estimate()) {
            return None;
        }
        self.exact = false;
        let (f, n) = (self.float, size.text());
        let ty = Ty::floats(std::slice::from_ref(&size));
        let xs = self.expr(&ty, fuel);
        let v = self.fresh("v");
        let k = self.int(1);
        Some(match self.c.below(5) {
            0 => format!("(let {v} = {xs} in {f}.sum {v}[{k} % ({n} + 1):])"),
            1 => format!("(let {v} = {xs} in {f}.sum {v}[::2])"),
            2 => {
                let other = self.size();
                let ys = self.expr(&Ty::floats(&[other]), fuel);
                format!("({f}.sum ({xs} ++ {ys}))")
            }
            3 => {
                let rows = Ty::floats(&[Size::Const(2), size]);
                let rows = self.expr(&rows, fuel);
                format!("(let {v} = {rows} in {f}.sum (map2 (*) {xs} {v}[{}]))", self.c.below(2))
            }
            _ => {
                let rows = Ty::floats(&[size, Size::Const(2)]);
                let rows = self.expr(&rows, fuel);
                format!("({f}.sum (flatten {rows}))")
            }
        })
    }
}
