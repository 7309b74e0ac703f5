//! Expressions of array types.

use super::Gen;
use super::types::{Size, Ty};

impl Gen<'_> {
    pub(super) fn array(&mut self, size: &Size, row: &Ty, fuel: u32) -> String {
        let ty = Ty::array(size, row.clone());
        if !self.affordable(ty.cells()) {
            return self.leaf(&ty);
        }
        let made = match self.c.below(26) {
            0..=3 => None,
            4..=8 => self.mapped_arrays(size, row, fuel),
            9..=11 => self.scan(size, row, fuel),
            12 | 13 => self.rearranged(&ty, size, row, fuel),
            14 => self.transposed(size, row, fuel),
            15 => self.scatter(size, row, fuel),
            16..=18 => self.histogram(size, row, fuel),
            19 | 20 => self.updated(&ty, size, row, fuel),
            21 => self.gathered(size, row, fuel),
            22 => self.flat(size, row, fuel),
            23 => self.custom(size, row, fuel),
            24 => self.literal_array(size, row, fuel),
            _ => self.called(&ty, fuel),
        };
        made.unwrap_or_else(|| self.tabulated(size, row, fuel))
    }

    /// An array from a function of its index.
    fn tabulated(&mut self, size: &Size, row: &Ty, fuel: u32) -> String {
        let i = self.fresh("ix");
        let body = self.with_index(&i, size, |g| g.expr(row, fuel));
        let attribute = if self.c.once_in(12) { "#[sequential] " } else { "" };
        format!("({attribute}tabulate {} (\\{i} -> {body}))", size.text())
    }

    /// A map over arrays.
    fn mapped_arrays(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let count = 1 + self.c.below(4).saturating_sub(1).min(2);
        let mut names = Vec::new();
        let mut types = Vec::new();
        let mut arrays = Vec::new();
        for _ in 0..count {
            let element = match self.c.below(6) {
                0..=2 => Ty::Float,
                3 => Ty::floats(&[self.size()]),
                4 => Ty::pair(Ty::Float, Ty::Float),
                _ => Ty::Int,
            };
            let ty = Ty::array(size, element.clone());
            if !self.affordable(ty.cells()) {
                return None;
            }
            arrays.push(if element == Ty::Int { self.ints(size) } else { self.expr(&ty, fuel) });
            names.push(self.fresh("v"));
            types.push(element);
        }
        let vars: Vec<(&str, &Ty)> = names.iter().map(String::as_str).zip(&types).collect();
        let body = self.with(&vars, |g| g.repeated(size.estimate(), |g| g.expr(row, fuel)));
        let params: Vec<String> = vars.iter().map(|(name, ty)| self.typed(name, ty)).collect();
        Some(format!("(map{count} (\\{} -> {body}) {})", params.join(" "), arrays.join(" ")))
    }

    /// An array of integers, some of which are not indices of small arrays.
    pub(super) fn ints(&mut self, size: &Size) -> String {
        let known = self.candidates(|ty| *ty == Ty::array(size, Ty::Int));
        if !known.is_empty() && self.c.once_in(2) {
            return self.c.pick(&known).map(|(text, _)| text.clone()).unwrap_or_default();
        }
        if self.c.once_in(3) {
            return format!("(iota {})", size.text());
        }
        let i = self.fresh("ix");
        let body = self.with_index(&i, size, |g| g.int(2));
        format!("(tabulate {} (\\{i} -> {body}))", size.text())
    }

    fn scan(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let op = self.operator(row, false)?;
        let operands = self.operands(size, row, &op, fuel);
        let scan = format!("(scan {} {} {operands})", op.text, op.neutral);
        Some(self.small(&Ty::array(size, row.clone()), &scan))
    }

    /// The elements of an array in another order.
    fn rearranged(&mut self, ty: &Ty, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let xs = self.expr(ty, fuel);
        let (n, v) = (size.text(), self.fresh("v"));
        let k = self.int(1);
        let whole = self.text(ty);
        Some(match self.c.below(8) {
            0 => format!("(reverse {xs})"),
            1 => format!("(rotate ({k}) {xs})"),
            2 => {
                let ys = self.expr(ty, fuel);
                let w = self.fresh("v");
                format!(
                    "(let {v} = {xs} let {w} = {ys} in (take ({k} % ({n} + 1)) {v} ++ drop ({k} % ({n} + 1)) {w}) :> {whole})"
                )
            }
            3 => format!("(let {v} = {xs} in {v}[::-1] :> {whole})"),
            4 if *size != Size::Const(0) => {
                let more = Size::Const(size.estimate());
                if *size != more {
                    return Some(format!("(copy {xs})"));
                }
                let Size::Const(n) = size else {
                    return None;
                };
                let longer = Ty::array(&Size::Const(n + 2), row.clone());
                let ys = self.expr(&longer, fuel);
                format!("(let {v} = {ys} in {v}[1:{}] :> {whole})", n + 1)
            }
            5 => format!("(map2 (\\({v}: {}) _ -> {v}) {xs} (iota {n}))", self.text(row)),
            6 => {
                let pair = Ty::pair(row.clone(), Ty::Int);
                format!("(map (\\({v}: {}) -> {v}.0) (zip {xs} (iota {n})))", self.text(&pair))
            }
            _ => format!("(copy {xs})"),
        })
    }

    fn transposed(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let Ty::Array(inner, element) = row else {
            return None;
        };
        let other = Ty::array(inner, Ty::array(size, (**element).clone()));
        let xs = self.expr(&other, fuel);
        Some(format!("(transpose {xs})"))
    }

    /// Elements of another array at computed indices.
    fn gathered(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let from = Size::Const(1 + self.c.below(5) as i64);
        let xs = self.expr(&Ty::array(&from, row.clone()), fuel);
        let is = self.ints(size);
        let [v, i] = [self.fresh("v"), self.fresh("i")];
        Some(format!("(let {v} = {xs} in map (\\{i} -> {v}[{i} % {}]) {is})", from.text()))
    }

    /// A matrix as rows of an array.
    fn flat(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let Ty::Array(inner, element) = row else {
            return None;
        };
        let (n, m) = (size.text(), inner.text());
        let ty = Ty::array(size, row.clone());
        let xs = self.expr(&ty, fuel);
        let v = self.fresh("v");
        let cells = size.estimate() * inner.estimate();
        let body = self.with(&[(&v, element)], |g| g.repeated(cells, |g| g.expr(element, fuel / 2)));
        let param = self.typed(&v, element);
        Some(format!(
            "(unflatten (map (\\{param} -> {body}) (flatten {xs}) :> [{n} * {m}]{}))",
            self.text(element)
        ))
    }

    /// A map with an adjoint of its own.
    fn custom(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        if *row != Ty::Float {
            return None;
        }
        let ty = Ty::floats(std::slice::from_ref(size));
        let xs = self.expr(&ty, fuel);
        let (f, t) = (self.float, self.text(&ty));
        self.exact = false;
        let [q, r, a] = ["q", "r", "a"].map(|start| self.fresh(start));
        let (fun, adjoint) = match self.c.below(3) {
            0 => (format!("map {f}.tanh {q}"), format!("map2 (\\r a -> (1 - r * r) * a) {r} {a}")),
            1 => (format!("reverse {q}"), format!("reverse ({a} :> {t})")),
            _ => (
                format!("map2 (\\i x -> {f}.i64 (i % 3) * x) (iota {}) {q}", size.text()),
                format!("map2 (\\i x -> {f}.i64 (i % 3) * x) (iota {}) {a}", size.text()),
            ),
        };
        let text = format!(
            "(with_vjp (\\({q}: {t}) : {t} -> {fun}) (\\({r}: {t}) ({a}: {t}) : {t} -> {adjoint}) {xs})"
        );
        let v = self.fresh("v");
        Some(format!("(map (\\({v}: {f}) -> 0.5 * {v}) {text})"))
    }

    fn literal_array(&mut self, size: &Size, row: &Ty, fuel: u32) -> Option<String> {
        let Size::Const(n @ 1..=4) = *size else {
            return None;
        };
        let elements: Vec<String> = (0..n).map(|_| self.expr(row, fuel.min(2))).collect();
        Some(format!("[{}]", elements.join(", ")))
    }
}
