//! Chains: products of products, as in attention; iterations of products.

use super::Gen;
use super::operands::{Matrix, Vector, elementwise};
use super::products::Shape;
use super::scalars::{convert, literal, tame};
use super::sizes::{Dim, Values};
use prim::ScalarType::{self, Bool};

impl Gen<'_> {
    /// An entry point: a product of a product.
    pub(super) fn chain_entry(&mut self) {
        match self.c.below(8) {
            0 | 1 => self.two_products_entry(),
            2 | 3 => self.attention_entry(),
            4 => self.power_entry(),
            5 => self.centred_entry(),
            _ => self.layers_entry(),
        }
    }

    /// A small value made of an element, as an activation would be.
    fn activation(&mut self, v: &str, ty: ScalarType) -> String {
        let small = tame(v, ty);
        if ty == Bool {
            return small;
        }
        match self.c.below(4) {
            0 => small,
            1 => format!("({small} * {})", literal(ty, 2)),
            2 => format!("({}.max {small} {})", ty.name(), literal(ty, 3)),
            _ => format!("(if {v} > {} then {small} else {})", literal(ty, 2), literal(ty, 0)),
        }
    }

    /// The product of a product and a matrix, each for all rows.
    fn two_products_entry(&mut self) {
        let ty = self.result_type();
        let shape = self.shape();
        let a = self.matrix(shape.rows, shape.depth, ty);
        let b = self.matrix(shape.columns, shape.depth, ty);
        let first = self.product(shape, &a, &b, ty);
        let v = self.fresh("e");
        let small = self.activation(&v, ty);
        let first = self.bind(&elementwise(&first, 2, &format!("\\{v} -> {small}")));
        let columns = self.size();
        self.work.push(vec![shape.rows, shape.columns, columns]);
        let (shape, dims) = if self.c.once_in(3) {
            // The rows are the fold of the second product.
            self.work.push(vec![shape.columns, columns, shape.rows]);
            (Shape { rows: shape.columns, columns, depth: shape.rows }, true)
        } else {
            (Shape { rows: shape.rows, columns, depth: shape.columns }, false)
        };
        let c = self.matrix(columns, shape.depth, ty);
        let first = Matrix { name: first, by_depth: dims, ty };
        let second = self.product(shape, &first, &c, ty);
        self.consumed(&second, &[shape.rows, columns], ty);
    }

    /// For each row, scores, a function of these and their extreme, and a product with the scores.
    fn attention_entry(&mut self) {
        let ty = self.number_type();
        let Shape { rows, columns, depth } = self.shape();
        let width = self.size();
        self.work.push(vec![rows, columns, width]);
        let q = self.matrix(rows, depth, ty);
        let k = self.matrix(columns, depth, ty);
        let v = self.matrix(width, columns, ty);
        let [x, y, z, s, e, w, m, j] = self.fresh_all(["x", "y", "z", "s", "e", "w", "m", "j"]);
        let query = Vector::of(&x, q.ty);
        let score = if self.c.once_in(3) {
            let score = self.fold(depth, (&query, &k.row_at(&j)), ty, None);
            format!("(tabulate {} (\\{j} -> {score}))", self.dim(columns))
        } else {
            let score = self.fold(depth, (&query, &Vector::of(&y, k.ty)), ty, None);
            format!("(map (\\{y} -> {score}) {})", k.rows())
        };
        let score = elementwise(&score, 1, &format!("\\{e} -> {}", tame(&e, ty)));
        let extreme = self.pick_text(&["highest", "lowest"]);
        let (op, start) = if extreme == "lowest" { ("max", -30) } else { ("min", 100) };
        let start = if ty.is_unsigned() { literal(ty, start.max(0)) } else { literal(ty, start) };
        let weight = self.pick_text(&["- M", "+ M", "* M", "+ M - M"]).replace('M', &m);
        let weights = elementwise(&s, 1, &format!("\\{e} -> {}", tame(&format!("({e} {weight})"), ty)));
        let weights_vector = Vector::of(&w, ty);
        let value = if self.c.once_in(2) {
            let value = self.fold(columns, (&weights_vector, &v.row_at(&j)), ty, None);
            format!("(tabulate {} (\\{j} -> {value}))", self.dim(width))
        } else {
            let value = self.fold(columns, (&weights_vector, &Vector::of(&z, v.ty)), ty, None);
            format!("(map (\\{z} -> {value}) {})", v.rows())
        };
        let text = format!(
            "(map (\\{x} -> let {s} = {score} let {m} = reduce {}.{op} {start} {s} let {w} = {weights} in {value}) {})",
            ty.name(),
            q.rows()
        );
        self.consumed(&text, &[rows, width], ty);
    }

    /// For each row, its sum, the row less that sum, and products with it, of which the best is
    /// subtracted from all.
    fn centred_entry(&mut self) {
        let ty = self.number_type();
        let Shape { rows, columns, depth } = self.shape();
        let a = self.matrix(rows, depth, ty);
        let b = self.matrix(columns, depth, ty);
        let [x, r, s, e, y, z] = self.fresh_all(["x", "r", "s", "e", "y", "z"]);
        let (value, zero) = (convert(&e, a.ty, ty), literal(ty, 0));
        let sum = format!("(reduce (+) {zero} (map (\\{e} -> {value}) {x}))");
        let centred = tame(&format!("({value} - {s})"), ty);
        let fold = self.fold(depth, (&Vector::of(&r, ty), &Vector::of(&y, b.ty)), ty, None);
        let products = format!("map (\\{y} -> {fold}) {}", b.rows());
        let last = if self.c.once_in(2) {
            format!(
                "let {s} = reduce {}.max {} {z} in map (\\{e} -> {e} - {s}) {z}",
                ty.name(),
                literal(ty, 0)
            )
        } else {
            z.clone()
        };
        let text = format!(
            "(map (\\{x} -> let {s} = {sum} let {r} = map (\\{e} -> {centred}) {x} let {z} = {products} in {last}) {})",
            a.rows()
        );
        self.consumed(&text, &[rows, columns], ty);
    }

    /// A vector or a matrix, multiplied by a matrix in each iteration of a loop.
    fn power_entry(&mut self) {
        let ty = self.result_type();
        let n = self.size();
        self.work.push(vec![n, n, n]);
        self.work.push(vec![n, n, n]);
        let a = self.matrix(n, n, ty);
        let [v, e, t, i] = self.fresh_all(["v", "e", "t", "ix"]);
        let steps = self.pick_text(&["2", "3", "1"]);
        let small = self.activation(&e, ty);
        if self.c.once_in(2) {
            let start = self.array(&[n, n], ty);
            let current = Matrix { name: v.clone(), by_depth: self.c.once_in(2), ty };
            let shape = Shape { rows: n, columns: n, depth: n };
            let product = self.product(shape, &current, &a, ty);
            let next = elementwise(&product, 2, &format!("\\{e} -> {small}"));
            self.result(format!("(loop {v} = {start} for {t} < {steps} do {next})"), &[n, n], ty);
            return;
        }
        let start = self.array(&[n], ty);
        let value = self.fold(n, (&a.row_at(&i), &Vector::of(&v, ty)), ty, Some(&i));
        let next = format!("tabulate {} (\\{i} -> let {e} = {value} in {small})", self.dim(n));
        self.result(format!("(loop {v} = {start} for {t} < {steps} do {next})"), &[n], ty);
    }

    /// Layers: products with a bias, one after the other, for a batch of rows.
    fn layers_entry(&mut self) {
        let ty = self.number_type();
        let (batch, mut width) = (self.size(), self.fold_size());
        let from = self.source_type(ty);
        let mut input = self.array(&[batch, width], from);
        let mut input_type = from;
        let layers = 1 + self.c.below(3);
        for _ in 0..layers {
            let (next, bias) = self.layer((&input, input_type), (batch, width), ty);
            input = self.bind(&next);
            (input_type, width) = (ty, bias);
        }
        self.consumed(&input, &[batch, width], ty);
    }

    /// One layer, and the number of its outputs.
    fn layer(
        &mut self,
        (input, from): (&str, ScalarType),
        (batch, width): (Dim, Dim),
        ty: ScalarType,
    ) -> (String, Dim) {
        let outputs = self.size();
        self.work.push(vec![batch, outputs, width]);
        let weights = self.matrix(outputs, width, ty);
        let bias = self.param(&[outputs], ty, Values::Small);
        let [x, w, b, s] = self.fresh_all(["x", "w", "b", "s"]);
        let (row, column) = (Vector::of(&x, from), Vector::of(&w, weights.ty));
        let value = self.fold(width, (&row, &column), ty, None);
        let small = self.activation(&s, ty);
        let cell = format!("let {s} = {value} + {b} in {small}");
        let text = format!("(map (\\{x} -> map2 (\\{w} {b} -> {cell}) {} {bias}) {input})", weights.rows());
        (text, outputs)
    }
}
