//! Products: a fold for each pair of rows of two matrices, batched, with results consumed.

use super::Gen;
use super::operands::{Matrix, Vector, elementwise};
use super::scalars::{convert, literal, tame};
use super::sizes::{Dim, Values};
use prim::ScalarType::{self, Bool, I64};

/// The sizes of a product.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) rows: Dim,
    pub(super) columns: Dim,
    pub(super) depth: Dim,
}

impl Gen<'_> {
    /// New sizes of a product.
    pub(super) fn shape(&mut self) -> Shape {
        let shape = Shape { rows: self.size(), columns: self.size(), depth: self.fold_size() };
        self.work.push(vec![shape.rows, shape.columns, shape.depth]);
        shape
    }

    /// The product of two matrices, a matrix of these rows and columns.
    pub(super) fn product(&mut self, shape: Shape, a: &Matrix, b: &Matrix, ty: ScalarType) -> String {
        match self.c.below(8) {
            0..=2 => self.product_of_rows(shape, a, b, ty),
            3 => {
                let swapped = Shape { rows: shape.columns, columns: shape.rows, depth: shape.depth };
                format!("(transpose {})", self.product_of_rows(swapped, b, a, ty))
            }
            4 => self.sum_of_outer_products(shape, a, b, ty),
            _ => self.product_by_indices(shape, a, b, ty),
        }
    }

    fn product_of_rows(&mut self, shape: Shape, a: &Matrix, b: &Matrix, ty: ScalarType) -> String {
        let [x, y, i] = self.fresh_all(["x", "y", "ix"]);
        let vectors = [Vector::of(&x, a.ty), Vector::of(&y, b.ty)];
        let indexed = self.c.once_in(3);
        let row = indexed.then_some(i.as_str());
        let value = self.fold(shape.depth, (&vectors[0], &vectors[1]), ty, row);
        let value = self.epilogue(&value, ty, None);
        let inner = format!("map (\\{y} -> {value}) {}", b.rows());
        if indexed {
            return format!("(map2 (\\{i} {x} -> {inner}) (iota {}) {})", self.dim(shape.rows), a.rows());
        }
        format!("(map (\\{x} -> {inner}) {})", a.rows())
    }

    fn product_by_indices(&mut self, shape: Shape, a: &Matrix, b: &Matrix, ty: ScalarType) -> String {
        let [i, j] = self.fresh_all(["ix", "j"]);
        let (rows, columns) = (self.dim(shape.rows), self.dim(shape.columns));
        let at = match self.c.below(9) {
            0 => format!("({rows} - 1 - {i})"),
            1 => format!("(i64.max 0 ({i} - 1))"),
            2 => format!("(({i} + {rows} - 1) % {rows})"),
            3 => {
                let indices = self.param(&[shape.rows], I64, Values::Index(shape.rows));
                format!("(i64.max 0 {indices}[{i}])")
            }
            _ => i.clone(),
        };
        let (x, y) = (a.row_at(&at), b.row_at(&j));
        let bound = if self.c.once_in(2) { &j } else { &i };
        let value = self.fold(shape.depth, (&x, &y), ty, Some(bound));
        let value = self.epilogue(&value, ty, Some((&j, shape.columns)));
        match self.c.below(4) {
            0 => format!("(map (\\{i} -> map (\\{j} -> {value}) (iota {columns})) (iota {rows}))"),
            1 if ty != Bool => {
                let condition = self.pick_text(&["<", ">=", "!="]);
                let zero = literal(ty, 0);
                let value = format!("if {i} {condition} {j} then {value} else {zero}");
                self.nested(&[shape.rows, shape.columns], &[i, j], &value)
            }
            _ => self.nested(&[shape.rows, shape.columns], &[i, j], &value),
        }
    }

    /// A loop of updates of the whole result by a column and a row.
    fn sum_of_outer_products(&mut self, shape: Shape, a: &Matrix, b: &Matrix, ty: ScalarType) -> String {
        let op = self.fold_op(ty);
        let element = self.element(ty, op);
        let [c, k, i, j, x, y] = self.fresh_all(["c", "k", "ix", "j", "x", "y"]);
        let (rows, columns, depth) = (self.dim(shape.rows), self.dim(shape.columns), self.dim(shape.depth));
        let neutral = op.neutral(ty);
        let converted = |v: &str, from| convert(v, from, ty);
        let value = if self.c.once_in(2) {
            let (at_x, at_y) = (a.row_at(&i).at(&k), b.row_at(&j).at(&k));
            let value = element.apply(ty, &converted(&at_x, a.ty), &converted(&at_y, b.ty));
            let next = op.apply(ty, &format!("{c}[{i}, {j}]"), &value);
            self.nested(&[shape.rows, shape.columns], &[i, j], &next)
        } else {
            let value = element.apply(ty, &converted(&x, a.ty), &converted(&y, b.ty));
            let next = op.apply(ty, &j, &value);
            let [xs, ys] = [a, b].map(|matrix| {
                if matrix.by_depth {
                    format!("{}[{k}]", matrix.name)
                } else {
                    format!("{}[:, {k}]", matrix.name)
                }
            });
            format!("map2 (\\{x} {i} -> map2 (\\{y} {j} -> {next}) {ys} {i}) {xs} {c}")
        };
        format!("(loop {c} = replicate {rows} (replicate {columns} {neutral}) for {k} < {depth} do {value})")
    }

    /// An entry point: one product, often batched.
    pub(super) fn product_entry(&mut self) {
        let ty = self.result_type();
        match self.c.below(6) {
            0..=2 => {
                let shape = self.shape();
                let a = self.matrix(shape.rows, shape.depth, ty);
                let b = self.matrix(shape.columns, shape.depth, ty);
                let product = self.product(shape, &a, &b, ty);
                self.consumed(&product, &[shape.rows, shape.columns], ty);
            }
            3 => self.symmetric_entry(ty),
            _ => self.batched_entry(ty),
        }
    }

    /// The product of a matrix with itself.
    fn symmetric_entry(&mut self, ty: ScalarType) {
        let (rows, depth) = (self.size(), self.fold_size());
        let shape = Shape { rows, columns: rows, depth };
        self.work.push(vec![rows, rows, depth]);
        let a = self.matrix(rows, depth, ty);
        let product = self.product(shape, &a, &a, ty);
        self.consumed(&product, &[rows, rows], ty);
    }

    /// Products for one or two outer dimensions; one of the operands may be the same for all.
    fn batched_entry(&mut self, ty: ScalarType) {
        let shape = self.shape();
        let rank = 1 + usize::from(self.c.once_in(3));
        let outer: Vec<Dim> = (0..rank).map(|_| self.size()).collect();
        self.work.push([&outer[..], &[shape.rows, shape.columns, shape.depth]].concat());
        let shared = self.c.below(4);
        let (mut inputs, mut names) = (Vec::new(), Vec::new());
        let [a, b] = [(1, shape.rows), (2, shape.columns)].map(|(number, rows)| {
            if shared == number {
                return self.matrix(rows, shape.depth, ty);
            }
            let (by_depth, from) = (self.c.once_in(2), self.source_type(ty));
            let dims = if by_depth { [shape.depth, rows] } else { [rows, shape.depth] };
            inputs.push(self.array(&[&outer[..], &dims].concat(), from));
            let name = self.fresh("m");
            names.push(name.clone());
            Matrix { name, by_depth, ty: from }
        });
        let product = self.product(shape, &a, &b, ty);
        let inner = (1..rank).fold(product, |inner, _| zip_map(&names, &inner, &names));
        let product = zip_map(&names, &inner, &inputs);
        self.consumed(&product, &[&outer[..], &[shape.rows, shape.columns]].concat(), ty);
    }

    /// Results that consume an array.
    pub(super) fn consumed(&mut self, array: &str, dims: &[Dim], ty: ScalarType) {
        let rank = dims.len();
        let kind = self.c.below(9);
        if kind < 3 || rank < 2 {
            self.result(array, dims, ty);
            return;
        }
        let [v, w, r] = self.fresh_all(["e", "g", "r"]);
        let outer = &dims[..rank - 1];
        match kind {
            3 => {
                let op = self.fold_op(ty);
                let small = tame(&v, ty);
                let row = format!(
                    "\\{r} -> reduce {} {} (map (\\{v} -> {small}) {r})",
                    op.section(ty),
                    op.neutral(ty)
                );
                self.result(elementwise(array, rank - 1, &row), outer, ty);
            }
            4 if ty != Bool => {
                let row = self.arg_max(&r, dims[rank - 1]);
                self.result(elementwise(array, rank - 1, &format!("\\{r} -> {row}")), outer, I64);
            }
            5 if rank == 2 => self.result(format!("(transpose {array})"), &[dims[1], dims[0]], ty),
            6 => {
                let name = self.bind(array);
                let small = tame(&v, ty);
                let sum =
                    if ty == Bool { format!("!{small}") } else { format!("{small} + {}", literal(ty, 1)) };
                self.result(elementwise(&name, rank, &format!("\\{v} -> {sum}")), dims, ty);
                self.result(name, dims, ty);
            }
            7 if rank == 2 && ty != Bool => {
                let other = self.param(dims, ty, Values::Small);
                self.result(format!("(map2 (map2 (\\{v} {w} -> {v} - {w})) {array} {other})"), dims, ty);
            }
            8 if ty != Bool => {
                // Rows centred by their sum: the row is used twice.
                let small = tame(&v, ty);
                let row = format!(
                    "\\{r} -> let {w} = reduce (+) {} (map (\\{v} -> {small}) {r}) in map (\\{v} -> {small} - {w}) {r}",
                    literal(ty, 0)
                );
                self.result(elementwise(array, rank - 1, &row), dims, ty);
            }
            _ => self.result(array, dims, ty),
        }
    }

    /// The index of the first of the largest elements of a row; -1 if there is none.
    fn arg_max(&mut self, row: &str, size: Dim) -> String {
        let [at, j] = self.fresh_all(["at", "j"]);
        let size = self.dim(size);
        format!(
            "(loop {at} = -1 for {j} < {size} do if {at} < 0 || {row}[{j}] > {row}[{at}] then {j} else {at})"
        )
    }

    /// An entry point: products of matrices and vectors, outer products.
    pub(super) fn vector_entry(&mut self) {
        let ty = self.result_type();
        let (n, d) = (self.size(), self.fold_size());
        self.work.push(vec![n, d]);
        let kind = self.c.below(4);
        let from = self.source_type(ty);
        if kind < 3 {
            let a = self.matrix(n, d, ty);
            let v = self.array(&[d], from);
            let [x, i] = self.fresh_all(["x", "ix"]);
            let vector = Vector::of(&v, from);
            let product = if kind == 0 {
                let value = self.fold(d, (&Vector::of(&x, a.ty), &vector), ty, None);
                format!("(map (\\{x} -> {value}) {})", a.rows())
            } else {
                let value = self.fold(d, (&a.row_at(&i), &vector), ty, Some(&i));
                format!("(tabulate {} (\\{i} -> {value}))", self.dim(n))
            };
            self.result(product, &[n], ty);
            return;
        }
        let (xs, ys) = (self.array(&[n], ty), self.array(&[d], from));
        let op = self.fold_op(ty);
        let [x, y] = self.fresh_all(["x", "y"]);
        let value = self.element(ty, op).apply(ty, &x, &convert(&y, from, ty));
        let outer = format!("(map (\\{x} -> map (\\{y} -> {value}) {ys}) {xs})");
        self.consumed(&outer, &[n, d], ty);
    }

    /// An entry point: several products that share an operand.
    pub(super) fn shared_entry(&mut self) {
        let ty = self.result_type();
        let shape = self.shape();
        let a = self.matrix(shape.rows, shape.depth, ty);
        let b = self.matrix(shape.columns, shape.depth, ty);
        if self.c.once_in(2) {
            let other = if self.c.once_in(2) { self.size() } else { shape.columns };
            self.work.push(vec![shape.rows, other, shape.depth]);
            let c = self.matrix(other, shape.depth, ty);
            let (first, second) = (
                self.product(shape, &a, &b, ty),
                self.product(Shape { columns: other, ..shape }, &a, &c, ty),
            );
            self.result(first, &[shape.rows, shape.columns], ty);
            self.result(second, &[shape.rows, other], ty);
            return;
        }
        let c = self.matrix(shape.columns, shape.depth, ty);
        let [x, y, z] = self.fresh_all(["x", "y", "z"]);
        let row = Vector::of(&x, a.ty);
        let first = self.fold(shape.depth, (&row, &Vector::of(&y, b.ty)), ty, None);
        let second = self.fold(shape.depth, (&row, &Vector::of(&z, c.ty)), ty, None);
        if self.c.once_in(2) {
            // Both nests in one iteration.
            let (first, second) = (
                format!("map (\\{y} -> {first}) {}", b.rows()),
                format!("map (\\{z} -> {second}) {}", c.rows()),
            );
            let both = self.bind(&format!("map (\\{x} -> ({first}, {second})) {}", a.rows()));
            self.result(format!("(map (.0) {both})"), &[shape.rows, shape.columns], ty);
            self.result(format!("(map (.1) {both})"), &[shape.rows, shape.columns], ty);
            return;
        }
        // Both folds in one nest.
        let pair = if ty == Bool { format!("{first} != {second}") } else { format!("{first} - {second}") };
        let inner = format!("map2 (\\{y} {z} -> {pair}) {} {}", b.rows(), c.rows());
        let product = format!("(map (\\{x} -> {inner}) {})", a.rows());
        self.consumed(&product, &[shape.rows, shape.columns], ty);
    }
}

/// A function of parameters with these names, for each of the rows of one or two arrays.
fn zip_map(names: &[String], body: &str, arrays: &[String]) -> String {
    let function = if arrays.len() == 1 { "map" } else { "map2" };
    format!("({function} (\\{} -> {body}) {})", names.join(" "), arrays.join(" "))
}
