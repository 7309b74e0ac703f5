//! Expressions of any type: conditionals, bindings, loops, matches, calls.

use super::Gen;
use super::functions::apply_text;
use super::scalars::INTS;
use super::types::{BOOL, I64, Size, Ty};

impl Gen<'_> {
    /// An expression form that every type has.
    pub(super) fn control(&mut self, ty: &Ty, fuel: u32) -> String {
        match self.c.below(18) {
            0..=2 => {
                let c = self.expr(&BOOL, fuel);
                let (x, y) = (self.expr(ty, fuel), self.expr(ty, fuel));
                format!("(if {c} then {x} else {y})")
            }
            3..=5 => self.block(ty, 1, fuel),
            6 | 7 => self.counting_loop(ty, fuel),
            8 => self.while_loop(ty, fuel),
            9 => self.loop_over(ty, fuel),
            10 | 11 => self.call(ty, fuel),
            12 | 13 => self.higher_order(ty, fuel),
            14 | 15 => self.matched(ty, fuel),
            16 => {
                let (other, position) = (self.ty(1), self.c.below(2));
                let (x, y) = (self.expr(ty, fuel), self.expr(&other, fuel / 2));
                let parts = if position == 0 { [x, y] } else { [y, x] };
                format!("({}, {}).{position}", parts[0], parts[1])
            }
            _ => {
                let other = self.ty(1);
                let f = self.lambda(std::slice::from_ref(&other), ty, fuel);
                let x = self.expr(&other, fuel / 2);
                match self.c.below(3) {
                    0 => format!("({f} {x})"),
                    1 => format!("({x} |> {f})"),
                    _ => format!("({f} <| {x})"),
                }
            }
        }
    }

    /// The trip count of a loop: text with its type's suffix, estimate, the type.
    fn trips(&mut self) -> (String, i64, Ty) {
        let small = 1 + self.c.below(4) as i64;
        if self.c.once_in(3) {
            let size = self.size();
            if self.affordable(self.estimate(&size)) {
                return (size.text(), self.estimate(&size), I64);
            }
        }
        let ty = *self.c.pick(&INTS).unwrap_or(&INTS[0]);
        (format!("{small}{}", ty.name()), small, Ty::Scalar(ty))
    }

    fn counting_loop(&mut self, ty: &Ty, fuel: u32) -> String {
        let (bound, estimate, counter) = self.trips();
        if !self.affordable(estimate) {
            return self.leaf(ty);
        }
        let (acc, i) = (self.fresh("acc"), self.fresh("ix"));
        if matches!(ty, Ty::Array(..)) && self.c.once_in(2) {
            let init = self.fresh_array(ty, fuel);
            let mark = self.mark();
            self.bind(&i, counter);
            self.bind(&acc, ty.clone());
            let body = self.repeated(estimate, |g| g.update(&acc, ty, fuel));
            self.restore(mark);
            return format!("(loop {acc}: *{} = {init} for {i} < {bound} do {body})", ty.text());
        }
        let init = self.expr(ty, fuel / 2);
        let attribute = if self.c.once_in(8) { "#[unroll] " } else { "" };
        let mark = self.mark();
        self.bind(&i, counter);
        let pattern = match ty {
            Ty::Tuple(parts) => {
                let names: Vec<String> = parts
                    .iter()
                    .map(|ty| {
                        let x = self.fresh("acc");
                        self.bind(&x, ty.clone());
                        format!("{x}: {}", ty.text())
                    })
                    .collect();
                format!("({})", names.join(", "))
            }
            _ => {
                self.bind(&acc, ty.clone());
                format!("({acc}: {})", ty.text())
            }
        };
        let body = self.repeated(estimate, |g| g.expr(ty, fuel));
        self.restore(mark);
        format!("({attribute}loop {pattern} = {init} for {i} < {bound} do {body})")
    }

    fn while_loop(&mut self, ty: &Ty, fuel: u32) -> String {
        let most = 1 + self.c.below(5);
        if !self.affordable(most as i64) {
            return self.leaf(ty);
        }
        let (acc, k) = (self.fresh("acc"), self.fresh("k"));
        let init = self.expr(ty, fuel / 2);
        let mark = self.mark();
        self.bind(&acc, ty.clone());
        self.bind(&k, Ty::Scalar(prim::ScalarType::I32));
        let (c, body) = self.repeated(most as i64, |g| (g.expr(&BOOL, fuel / 2), g.expr(ty, fuel)));
        self.restore(mark);
        let ty = ty.text();
        format!("(loop ({acc}: {ty}, {k}) = ({init}, 0i32) while {k} < {most} && {c} do ({body}, {k} + 1)).0")
    }

    fn loop_over(&mut self, ty: &Ty, fuel: u32) -> String {
        let size = self.size();
        let estimate = self.estimate(&size);
        if !self.affordable(estimate) {
            return self.leaf(ty);
        }
        let row = self.repeated(estimate, |g| g.ty(1));
        let xs = self.expr(&Ty::array(size, row.clone()), fuel / 2);
        let init = self.expr(ty, fuel / 2);
        let (acc, x) = (self.fresh("acc"), self.fresh("x"));
        let mark = self.mark();
        self.bind(&acc, ty.clone());
        self.bind(&x, row.clone());
        let body = self.repeated(estimate, |g| g.expr(ty, fuel));
        self.restore(mark);
        if self.c.once_in(3) {
            let folded = self.helper("folded");
            return format!(
                "({folded} (\\({acc}: {}) ({x}: {}) -> {body}) {init} {xs})",
                ty.text(),
                row.text()
            );
        }
        format!("(loop {acc}: {} = {init} for {x} in {xs} do {body})", ty.text())
    }

    /// A match on a sum, on numbers or on truth values.
    fn matched(&mut self, ty: &Ty, fuel: u32) -> String {
        if let Some(sum) = self.c.pick(&self.sums).cloned()
            && self.c.once_in(2)
        {
            let mut text = format!("(match {}", self.expr(&Ty::Sum(sum.clone()), fuel));
            for (name, payload) in &sum.cases {
                let mark = self.mark();
                text.push_str(&format!(" case #{name}"));
                for ty in payload {
                    if self.c.once_in(5) {
                        text.push_str(" _");
                        continue;
                    }
                    let x = self.fresh("x");
                    text.push_str(&format!(" {x}"));
                    self.bind(&x, ty.clone());
                }
                text.push_str(&format!(" -> {}", self.expr(ty, fuel)));
                self.restore(mark);
            }
            return text + ")";
        }
        if self.c.once_in(3) {
            let (b, c) = (self.expr(&BOOL, fuel), self.expr(&BOOL, fuel));
            let (x, y, z) = (self.expr(ty, fuel), self.expr(ty, fuel), self.leaf(ty));
            return format!(
                "(match ({b}, {c}) case (true, _) -> {x} case (false, false) -> {y} case _ -> {z})"
            );
        }
        let int = *self.c.pick(&INTS).unwrap_or(&INTS[0]);
        let x = self.expr(&Ty::Scalar(int), fuel);
        let first = self.expr(ty, fuel);
        let second = self.expr(ty, fuel);
        let k = self.fresh("k");
        let mark = self.mark();
        self.bind(&k, Ty::Scalar(int));
        let rest = self.expr(ty, fuel);
        self.restore(mark);
        let name = int.name();
        format!("(match {x} % 4{name} case 0{name} -> {first} case 3 -> {second} case {k} -> {rest})")
    }

    /// A call of a function of the program, if one has this result type.
    pub(super) fn call(&mut self, ty: &Ty, fuel: u32) -> String {
        let fitting: Vec<usize> = (0..self.funs.len())
            .filter(|at| self.funs[*at].ret.fit(ty, &self.funs[*at].open, &mut Vec::new()))
            .collect();
        let Some(fun) = self.c.pick(&fitting).map(|at| self.funs[*at].clone()) else {
            return self.expr(ty, fuel);
        };
        // Functions are made for this amount of work around them.
        if self.work > self.cap / 64 {
            return self.leaf(ty);
        }
        let mut sizes = Vec::new();
        fun.ret.fit(ty, &fun.open, &mut sizes);
        for name in &fun.open {
            if !sizes.iter().any(|(known, _)| known == name) {
                sizes.push((name.clone(), self.size()));
            }
        }
        if sizes.iter().any(|(_, size)| self.estimate(size) > 16) {
            return self.leaf(ty);
        }
        let mut text = format!("({}", fun.name);
        for param in &fun.params {
            let is_size = sizes.iter().find(|(name, _)| *name == param.name);
            let arg = match is_size {
                Some((_, size)) => size.text(),
                None => {
                    let ty = param.ty.with_sizes(&sizes);
                    if param.unique { self.fresh_array(&ty, fuel / 2) } else { self.expr(&ty, fuel / 2) }
                }
            };
            text.push_str(&format!(" {arg}"));
        }
        text + ")"
    }

    /// A call of a higher-order function.
    fn higher_order(&mut self, ty: &Ty, fuel: u32) -> String {
        match self.c.below(6) {
            0 => {
                let f = self.lambda(std::slice::from_ref(ty), ty, fuel);
                format!("({} {f} {})", self.helper("twice"), self.expr(ty, fuel / 2))
            }
            1 if self.affordable(3) => {
                let f = self.repeated(3, |g| g.lambda(std::slice::from_ref(ty), ty, fuel));
                let trips = self.c.below(4);
                let x = self.expr(ty, fuel / 2);
                match self.c.below(2) {
                    0 => format!("({} {trips} {f} {x})", self.helper("times")),
                    _ => format!("(iterate {trips} {f} {x})"),
                }
            }
            2 => {
                let (first, second) = (self.ty(1), self.ty(1));
                let f = self.lambda(std::slice::from_ref(&first), &second, fuel);
                let g = self.lambda(std::slice::from_ref(&second), ty, fuel);
                let x = self.expr(&first, fuel / 2);
                match self.c.below(2) {
                    0 => format!("({} {f} {g} {x})", self.helper("chain")),
                    _ => format!("(({f} >-> {g}) {x})"),
                }
            }
            3 => {
                let other = self.ty(1);
                let c = self.expr(&BOOL, fuel / 2);
                let f = self.lambda(std::slice::from_ref(&other), ty, fuel);
                let g = self.lambda(std::slice::from_ref(&other), ty, fuel);
                let x = self.expr(&other, fuel / 2);
                format!("({} {c} {f} {g} {x})", self.helper("choose"))
            }
            4 => match ty {
                Ty::Array(n, row) => match &**row {
                    Ty::Array(m, elem)
                        if self.affordable(self.estimate(n).saturating_mul(self.estimate(m))) =>
                    {
                        let other = Ty::Scalar(self.scalar_type());
                        let times = self.estimate(n).saturating_mul(self.estimate(m));
                        let f = self.repeated(times, |g| g.lambda(std::slice::from_ref(&other), elem, fuel));
                        let rows = Ty::array(n.clone(), Ty::array(m.clone(), other));
                        let rows = self.expr(&rows, fuel / 2);
                        format!("({} {f} {rows})", self.helper("map_rows"))
                    }
                    _ => self.expr(ty, fuel),
                },
                _ => {
                    let other = self.ty(1);
                    let f = self.lambda(std::slice::from_ref(&other), ty, fuel);
                    let (x, y) = (self.expr(&other, fuel / 2), self.expr(&other, fuel / 2));
                    format!("({} {f} ({x}, {y})).{}", self.helper("both"), self.c.below(2))
                }
            },
            _ => {
                // A local function that captures variables.
                let f = self.fresh("fn");
                let params = [self.ty(1), self.ty(1)];
                let lambda = self.lambda(&params, ty, fuel);
                let args: Vec<String> = params.iter().map(|ty| self.expr(ty, fuel / 2)).collect();
                format!("(let {f} = {lambda} in {})", apply_text(&f, &args))
            }
        }
    }

    /// Binds a size that is not known statically, and an array of it.
    pub(super) fn bind_varying(&mut self, fuel: u32) -> String {
        let row = self.ty(1);
        let (xs, estimate) = self.existential(&row, fuel);
        let (k, x) = (self.fresh("n"), self.fresh("x"));
        self.sizes.push(super::SizeVar { name: k.clone(), estimate });
        self.bind(&x, Ty::array(Size::Var(k.clone()), row.clone()));
        format!("let [{k}] ({x}: [{k}]{}) = {xs}", row.text())
    }
}
