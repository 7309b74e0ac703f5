//! Folds over two vectors, in many forms: reductions and loops, nested, triangular, with conditions,
//! of several values.

use super::Gen;
use super::operands::Vector;
use super::scalars::{Element, FoldOp, convert, literal};
use super::sizes::{Dim, Values};
use prim::ScalarType::{self, Bool, F32, F64, I32, I64};

/// A fold: its operator, and what is folded.
struct Fold<'v> {
    op: FoldOp,
    element: Element,
    ty: ScalarType,
    /// The number of elements, as text.
    depth: String,
    x: &'v Vector,
    y: &'v Vector,
}

impl Fold<'_> {
    /// The function of two elements, converted to the result's type.
    fn value(&self, x: &str, y: &str) -> String {
        self.value_of(self.element, x, y)
    }

    fn value_of(&self, element: Element, x: &str, y: &str) -> String {
        element.apply(self.ty, &convert(x, self.x.ty, self.ty), &convert(y, self.y.ty, self.ty))
    }

    /// What is folded at an index.
    fn at(&self, k: &str) -> String {
        let (x, y) = (self.x.at(k), self.y.at(k));
        if self.element.reads_twice() {
            return format!("(let xe = {x} let ye = {y} in {})", self.value("xe", "ye"));
        }
        self.value(&x, &y)
    }

    fn neutral(&self) -> String {
        self.op.neutral(self.ty)
    }

    fn apply(&self, x: &str, y: &str) -> String {
        self.op.apply(self.ty, x, y)
    }
}

impl Gen<'_> {
    /// A fold of two vectors as a scalar of a type; `row` is an index of type `i64`, if there is one,
    /// that may bound a triangular fold.
    pub(super) fn fold(
        &mut self,
        depth: Dim,
        (x, y): (&Vector, &Vector),
        ty: ScalarType,
        row: Option<&str>,
    ) -> String {
        let op = self.fold_op(ty);
        let element = self.element(ty, op);
        self.fold_of(depth, (x, y), ty, row, (op, element))
    }

    /// A fold with this operator and this function of two elements.
    pub(super) fn fold_of(
        &mut self,
        depth: Dim,
        (x, y): (&Vector, &Vector),
        ty: ScalarType,
        row: Option<&str>,
        (op, element): (FoldOp, Element),
    ) -> String {
        let fold = Fold { op, element, ty, depth: self.dim(depth), x, y };
        match self.c.below(24) {
            0..=5 => self.reduction(&fold),
            6 => self.element_loop(&fold),
            7 => self.conditional_loop(&fold),
            8 => self.triangular_loop(&fold, row),
            9 => self.loop_of_two(&fold),
            10 if [I32, I64, F32, F64].contains(&ty) => self.argument_of_best(&fold),
            11 => self.reduction_of_pairs(&fold),
            12 => self.loop_of_halves(&fold),
            13 => self.nested_loop(&fold),
            14..=17 => self.reduction(&fold),
            _ => self.index_loop(&fold),
        }
    }

    /// The array of the values that are folded.
    fn elements(&mut self, fold: &Fold<'_>) -> String {
        if let (Some(x), Some(y)) = (&fold.x.array, &fold.y.array)
            && !self.c.once_in(4)
        {
            let [a, b] = self.fresh_all(["x", "y"]);
            return format!("(map2 (\\{a} {b} -> {}) {x} {y})", fold.value(&a, &b));
        }
        let k = self.fresh("k");
        format!("(map (\\{k} -> {}) (iota {}))", fold.at(&k), fold.depth)
    }

    fn reduction(&mut self, fold: &Fold<'_>) -> String {
        let elements = self.elements(fold);
        let (section, neutral) = (fold.op.section(fold.ty), fold.neutral());
        match self.c.below(8) {
            0..=4 => format!("(reduce {section} {neutral} {elements})"),
            5 => format!("(reduce_comm {section} {neutral} {elements})"),
            6 if fold.op == FoldOp::Sum && fold.ty != Bool => format!("({}.sum {elements})", fold.ty.name()),
            _ => format!("(foldl {section} {neutral} {elements})"),
        }
    }

    fn index_loop(&mut self, fold: &Fold<'_>) -> String {
        let [acc, k] = self.fresh_all(["acc", "k"]);
        let next = fold.apply(&acc, &fold.at(&k));
        format!("(loop {acc} = {} for {k} < {} do {next})", fold.neutral(), fold.depth)
    }

    fn element_loop(&mut self, fold: &Fold<'_>) -> String {
        let (Some(xs), Some(ys)) = (&fold.x.array, &fold.y.array) else {
            return self.index_loop(fold);
        };
        let [acc, x, y] = self.fresh_all(["acc", "x", "y"]);
        let next = fold.apply(&acc, &fold.value(&x, &y));
        format!("(loop {acc} = {} for ({x}, {y}) in zip {xs} {ys} do {next})", fold.neutral())
    }

    fn conditional_loop(&mut self, fold: &Fold<'_>) -> String {
        let [acc, k] = self.fresh_all(["acc", "k"]);
        let [x, y] = self.fresh_all(["x", "y"]);
        let next = fold.apply(&acc, &fold.value(&x, &y));
        let (at_x, at_y) = (fold.x.at(&k), fold.y.at(&k));
        let positive = if fold.x.ty == Bool { x.clone() } else { format!("{x} > {}", literal(fold.x.ty, 0)) };
        let condition = match self.c.below(4) {
            0 => positive,
            1 => format!("{y} != {}", literal(fold.y.ty, 1)),
            2 => format!("{k} % 3 != 1"),
            _ => format!("{k} > 2 && {positive}"),
        };
        format!(
            "(loop {acc} = {} for {k} < {} do \
             let {x} = {at_x} let {y} = {at_y} in if {condition} then {next} else {acc})",
            fold.neutral(),
            fold.depth
        )
    }

    fn triangular_loop(&mut self, fold: &Fold<'_>, row: Option<&str>) -> String {
        let Some(row) = row else {
            return self.index_loop(fold);
        };
        let [acc, k] = self.fresh_all(["acc", "k"]);
        let (neutral, depth) = (fold.neutral(), &fold.depth);
        match self.c.below(3) {
            0 => {
                let next = fold.apply(&acc, &fold.at(&k));
                format!("(loop {acc} = {neutral} for {k} < i64.min {depth} {row} do {next})")
            }
            1 => {
                let next = fold.apply(&acc, &fold.at(&k));
                format!("(loop {acc} = {neutral} for {k} in (i64.min {row} {depth})..<{depth} do {next})")
            }
            _ => {
                let at = self.fresh("at");
                let next = fold.apply(&acc, &fold.at(&at));
                format!(
                    "(loop {acc} = {neutral} for {k} < i64.max 0 ({depth} - {row}) do let {at} = {row} + {k} in {next})"
                )
            }
        }
    }

    /// A loop that carries two values.
    fn loop_of_two(&mut self, fold: &Fold<'_>) -> String {
        let [s, t, k] = self.fresh_all(["s", "t", "k"]);
        let (op, ty) = (self.fold_op(fold.ty), fold.ty);
        let second = self.element(ty, op);
        let (x, y) = (fold.x.at(&k), fold.y.at(&k));
        let first = fold.apply(&s, &fold.at(&k));
        let next = op.apply(ty, &t, &fold.value_of(second, &x, &y));
        let both = if ty == Bool { format!("{s} != {t}") } else { format!("{s} - {t}") };
        format!(
            "(let ({s}, {t}) = loop ({s}, {t}) = ({}, {}) for {k} < {} do ({first}, {next}) in {both})",
            fold.neutral(),
            op.neutral(ty),
            fold.depth
        )
    }

    /// The best element and its index, as one number.
    fn argument_of_best(&mut self, fold: &Fold<'_>) -> String {
        let [v, i, w, j, k] = self.fresh_all(["a", "ix", "b", "j", "k"]);
        let ty = fold.ty;
        let best = if self.c.once_in(2) { FoldOp::Max } else { FoldOp::Min };
        let less = if best == FoldOp::Max { ">" } else { "<" };
        let element = if ty.is_float() && fold.element == Element::Mul { Element::Sub } else { fold.element };
        let fold = Fold { op: best, element, ty, depth: fold.depth.clone(), x: fold.x, y: fold.y };
        let (first, value) = (fold.neutral(), fold.at(&k));
        let sum = format!("in {v} + {}.i64 {i})", ty.name());
        if self.c.once_in(2) {
            return format!(
                "(let ({v}, {i}) = loop ({v}, {i}) = ({first}, -1) for {k} < {} do \
                 let {w} = {value} in if {w} {less} {v} then ({w}, {k}) else ({v}, {i}) {sum}",
                fold.depth
            );
        }
        let elements = self.elements(&fold);
        format!(
            "(let ({v}, {i}) = reduce (\\({v}, {i}) ({w}, {j}) -> \
             if {w} {less} {v} || ({w} == {v} && {j} < {i}) then ({w}, {j}) else ({v}, {i})) \
             ({first}, 1000000) (zip {elements} (iota {})) {sum}",
            fold.depth
        )
    }

    /// A reduction of pairs by two operators.
    fn reduction_of_pairs(&mut self, fold: &Fold<'_>) -> String {
        let [a, b, c, d, k] = self.fresh_all(["a", "b", "c", "d", "k"]);
        let (op, ty) = (self.fold_op(fold.ty), fold.ty);
        let second = self.element(ty, op);
        let (x, y) = (fold.x.at(&k), fold.y.at(&k));
        let (first, next) = (fold.at(&k), fold.value_of(second, &x, &y));
        let both = if ty == Bool { format!("{a} != {b}") } else { format!("{a} - {b}") };
        format!(
            "(let ({a}, {b}) = reduce (\\({a}, {b}) ({c}, {d}) -> ({}, {})) ({}, {}) \
             (map (\\{k} -> ({first}, {next})) (iota {})) in {both})",
            fold.apply(&a, &c),
            op.apply(ty, &b, &d),
            fold.neutral(),
            op.neutral(ty),
            fold.depth
        )
    }

    /// A loop that folds two elements at a time, and the last one of an odd number.
    fn loop_of_halves(&mut self, fold: &Fold<'_>) -> String {
        let [acc, k] = self.fresh_all(["acc", "k"]);
        let depth = &fold.depth;
        let [even, odd, last] =
            [format!("(2 * {k})"), format!("(2 * {k} + 1)"), format!("({depth} - 1)")].map(|k| fold.at(&k));
        let next = fold.apply(&fold.apply(&acc, &even), &odd);
        format!(
            "(let {acc} = loop {acc} = {} for {k} < {depth} / 2 do {next} in if {depth} % 2 == 1 then {} else {acc})",
            fold.neutral(),
            fold.apply(&acc, &last)
        )
    }

    /// A loop in a loop.
    fn nested_loop(&mut self, fold: &Fold<'_>) -> String {
        let [acc, k, q] = self.fresh_all(["acc", "k", "q"]);
        let (x, y) = (fold.x.at(&k), fold.y.at(&k));
        let (x, y) = (convert(&x, fold.x.ty, fold.ty), convert(&y, fold.y.ty, fold.ty));
        let index = convert(&q, I64, fold.ty);
        let shifted = if fold.ty == Bool { format!("({y} != {index})") } else { format!("({y} + {index})") };
        let value = fold.element.apply(fold.ty, &x, &shifted);
        let inner = self.pick_text(&["2", "1", "0"]);
        format!(
            "(loop {acc} = {} for {k} < {} do loop {acc} for {q} < {inner} do {})",
            fold.neutral(),
            fold.depth,
            fold.apply(&acc, &value)
        )
    }

    /// A function of a fold's result; `column` is its index in a row of this size.
    pub(super) fn epilogue(&mut self, value: &str, ty: ScalarType, column: Option<(&str, Dim)>) -> String {
        if ty == Bool || !self.c.once_in(3) {
            return value.to_owned();
        }
        let s = self.fresh("s");
        let body = match self.c.below(5) {
            0 => {
                let zero = literal(ty, 0);
                format!("if {s} > {zero} then {s} else {zero}")
            }
            1 => format!("{s} + {s} + {}", literal(ty, 3)),
            2 => match column {
                Some((j, dim)) => format!("{s} + {}[{j}]", self.param(&[dim], ty, Values::Small)),
                None => format!("{s} + {}", self.param(&[], ty, Values::Small)),
            },
            3 => format!("{}.min {s} {}", ty.name(), literal(ty, 20)),
            _ => format!("if {s} == {} then {} else {s}", literal(ty, 1), literal(ty, 7)),
        };
        format!("(let {s} = {value} in {body})")
    }
}
