//! Distances between points: matrices of these, nearest centres, counts of neighbours, forces.

use super::Gen;
use super::operands::{Matrix, Vector};
use super::scalars::{Element, FoldOp, literal, tame};
use super::sizes::{Dim, Values};
use prim::ScalarType::{self, F32, F64, I32, I64};

impl Gen<'_> {
    /// The distance of two points of this number of coordinates.
    fn distance(&mut self, depth: Dim, x: &Vector, y: &Vector, ty: ScalarType) -> String {
        let element =
            self.c.pick(&[Element::SquaredDifference, Element::Difference]).copied().unwrap_or(Element::Sub);
        let op = self.c.pick(&[FoldOp::Sum, FoldOp::Sum, FoldOp::Max]).copied().unwrap_or(FoldOp::Sum);
        self.fold_of(depth, (x, y), ty, None, (op, element))
    }

    /// An entry point about distances.
    pub(super) fn distance_entry(&mut self) {
        let ty = self.c.pick(&[I32, F32, F64, I64, F32]).copied().unwrap_or(I32);
        let (points, centres, depth) = (self.size(), self.size(), self.fold_size());
        self.work.push(vec![points, centres, depth]);
        match self.c.below(7) {
            0 => {
                let (a, b) = (self.matrix(points, depth, ty), self.matrix(centres, depth, ty));
                let [x, y] = self.fresh_all(["x", "y"]);
                let value = self.distance(depth, &Vector::of(&x, a.ty), &Vector::of(&y, b.ty), ty);
                let text = format!("(map (\\{x} -> map (\\{y} -> {value}) {}) {})", b.rows(), a.rows());
                self.consumed(&text, &[points, centres], ty);
            }
            1 | 2 => {
                let (a, b) = (self.matrix(points, depth, ty), self.matrix(centres, depth, ty));
                let nearest = self.nearest(&a, &b, (centres, depth), ty);
                self.result(nearest, &[points], I64);
            }
            3 => self.clusters(points, centres, depth, ty),
            4 => self.counts(points, centres, depth, ty),
            5 => self.summaries(points, centres, depth, ty),
            _ => self.forces(points, centres, depth, ty),
        }
    }

    /// For each point the number of the nearest centre; -1 if there is none.
    fn nearest(&mut self, a: &Matrix, b: &Matrix, (centres, depth): (Dim, Dim), ty: ScalarType) -> String {
        let [x, y, best, at, c, d, e, f] = self.fresh_all(["x", "y", "best", "at", "c", "d", "e", "g"]);
        let centres = self.dim(centres);
        let start = literal(ty, 1_000_000);
        let point = Vector::of(&x, a.ty);
        match self.c.below(3) {
            0 => {
                let value = self.distance(depth, &point, &b.row_at(&c), ty);
                let (first, last) = (format!("{at} < 0 || {d} < {best}"), format!("{d} <= {best}"));
                let closer = if self.c.once_in(2) { last } else { first };
                format!(
                    "(map (\\{x} -> (loop ({best}, {at}) = ({start}, -1) for {c} < {centres} do \
                     let {d} = {value} in if {closer} then ({d}, {c}) else ({best}, {at})).1) {})",
                    a.rows()
                )
            }
            1 => {
                let value = self.distance(depth, &point, &Vector::of(&y, b.ty), ty);
                format!(
                    "(map (\\{x} -> let ({best}, {at}) = reduce (\\({d}, {c}) ({e}, {f}) -> \
                     if {e} < {d} || ({e} == {d} && {f} < {c}) then ({e}, {f}) else ({d}, {c})) ({start}, i64.highest) \
                     (zip (map (\\{y} -> {value}) {}) (iota {centres})) \
                     in if {best} < {start} then {at} else -1) {})",
                    b.rows(),
                    a.rows()
                )
            }
            _ => {
                let value = self.distance(depth, &point, &Vector::of(&y, b.ty), ty);
                format!(
                    "(map (\\{x} -> let {d} = map (\\{y} -> {value}) {} in \
                     loop {at} = -1 for {c} < {centres} do if {at} < 0 || {d}[{c}] < {d}[{at}] then {c} else {at}) {})",
                    b.rows(),
                    a.rows()
                )
            }
        }
    }

    /// For each point the largest distance and the sum of all.
    fn summaries(&mut self, points: Dim, centres: Dim, depth: Dim, ty: ScalarType) {
        let (a, b) = (self.matrix(points, depth, ty), self.matrix(centres, depth, ty));
        let [x, c, d, most, sum] = self.fresh_all(["x", "c", "d", "most", "sum"]);
        let value = self.distance(depth, &Vector::of(&x, a.ty), &b.row_at(&c), ty);
        let (name, small) = (ty.name(), tame(&d, ty));
        let both = self.bind(&format!(
            "map (\\{x} -> loop ({most}, {sum}) = ({}, {}) for {c} < {} do \
             let {d} = {value} in ({name}.max {most} {d}, {sum} + {small})) {}",
            literal(ty, -1),
            literal(ty, 0),
            self.dim(centres),
            a.rows()
        ));
        self.result(format!("(map (.0) {both})"), &[points], ty);
        self.result(format!("(map (.1) {both})"), &[points], ty);
    }

    /// Steps of k-means: centres are sums of the points that they are nearest to.
    fn clusters(&mut self, points: Dim, centres: Dim, depth: Dim, ty: ScalarType) {
        let a = Matrix { name: self.array(&[points, depth], ty), by_depth: false, ty };
        let start = self.array(&[centres, depth], ty);
        let [current, t, near, sums, x, y, e] = self.fresh_all(["cs", "t", "near", "sums", "x", "y", "e"]);
        let b = Matrix { name: current.clone(), by_depth: false, ty };
        let nearest = self.nearest(&a, &b, (centres, depth), ty);
        let (n, d) = (self.dim(centres), self.dim(depth));
        let (zero, points_name) = (literal(ty, 0), &a.name);
        let sum = if self.c.once_in(2) {
            format!(
                "transpose (map (\\{x} -> reduce_by_index (replicate {n} {zero}) (+) {zero} {near} {x}) \
                 (transpose {points_name}))"
            )
        } else {
            format!(
                "reduce_by_index (replicate {n} (replicate {d} {zero})) (\\{x} {y} -> map2 (+) {x} {y}) \
                 (replicate {d} {zero}) {near} {points_name}"
            )
        };
        let small = tame(&e, ty);
        let steps = self.pick_text(&["1", "2", "3"]);
        let text = format!(
            "(loop {current} = {start} for {t} < {steps} do let {near} = {nearest} let {sums} = {sum} \
             in map (map (\\{e} -> {small})) {sums})"
        );
        self.consumed(&text, &[centres, depth], ty);
    }

    /// For each point the number of others within a distance, or a histogram of given groups.
    fn counts(&mut self, points: Dim, centres: Dim, depth: Dim, ty: ScalarType) {
        let (a, b) = (self.matrix(points, depth, ty), self.matrix(centres, depth, ty));
        let [x, y] = self.fresh_all(["x", "y"]);
        let value = self.distance(depth, &Vector::of(&x, a.ty), &Vector::of(&y, b.ty), ty);
        let limit = literal(ty, self.c.below(30) as i64);
        if self.c.once_in(2) {
            let text = format!(
                "(map (\\{x} -> i32.sum (map (\\{y} -> i32.bool ({value} < {limit})) {})) {})",
                b.rows(),
                a.rows()
            );
            self.result(text, &[points], I32);
            return;
        }
        let groups = self.size();
        let group = self.param(&[centres], I64, Values::Index(groups));
        let small = tame(&value, ty);
        let zero = literal(ty, 0);
        let text = format!(
            "(map (\\{x} -> reduce_by_index (replicate {} {zero}) (+) {zero} {group} (map (\\{y} -> {small}) {})) {})",
            self.dim(groups),
            b.rows(),
            a.rows()
        );
        self.work.push(vec![points, groups]);
        self.result(text, &[points, groups], ty);
    }

    /// For each point a sum of functions of it and all others, by coordinate.
    fn forces(&mut self, points: Dim, centres: Dim, depth: Dim, ty: ScalarType) {
        let (a, b) = (self.array(&[points, depth], ty), self.array(&[centres, depth], ty));
        let masses = self.array(&[centres], ty);
        let [x, j, k, m, acc] = self.fresh_all(["x", "j", "k", "m", "acc"]);
        let (n, d) = (self.dim(centres), self.dim(depth));
        let term = format!("({b}[{j}, {k}] - {x}[{k}]) * {masses}[{j}]");
        let text = if self.c.once_in(2) {
            format!(
                "(map (\\{x} -> loop {acc} = replicate {d} {} for {j} < {n} do \
                 map2 (\\{m} {k} -> {m} + {term}) {acc} (iota {d})) {a})",
                literal(ty, 0)
            )
        } else {
            format!(
                "(map (\\{x} -> map (\\{k} -> reduce (+) {} (map (\\{j} -> {term}) (iota {n}))) (iota {d})) {a})",
                literal(ty, 0)
            )
        };
        self.consumed(&text, &[points, depth], ty);
    }
}
