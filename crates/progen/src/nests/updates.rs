//! Factorisations and closures: a matrix that each iteration of a loop updates by products of its
//! own rows and columns. Elements are integers, which wrap.

use super::Gen;
use super::scalars::literal;
use super::sizes::Dim;
use prim::ScalarType::{I8, I16, I32, I64, U8};

impl Gen<'_> {
    /// An entry point: updates of a matrix.
    pub(super) fn update_entry(&mut self) {
        let ty = self.c.pick(&[I32, I64, I8, U8, I16]).copied().unwrap_or(I32);
        let n = self.size();
        self.work.push(vec![n, n, n]);
        let a = self.array(&[n, n], ty);
        let text = match self.c.below(6) {
            0 => self.eliminated(&a, n),
            1 => self.eliminated_in_place(&a, n),
            2 => self.by_rows(&a, n),
            3 => self.by_columns(&a, n),
            4 => self.closure(&a, n, &format!("{}.min", ty.name())),
            _ => {
                let plus = literal(ty, 1);
                let row = self.by_rows(&a, n);
                format!("(map (map (+ {plus})) {row})")
            }
        };
        self.consumed(&text, &[n, n], ty);
    }

    /// Elimination: each iteration computes the whole matrix again.
    fn eliminated(&mut self, a: &str, n: Dim) -> String {
        let [b, k, i, j] = self.fresh_all(["b", "k", "ix", "j"]);
        let condition = self.pick_text(&["I > K && J > K", "I > K", "I != K", "I >= K || J == K"]);
        let condition = condition.replace('I', &i).replace('J', &j).replace('K', &k);
        let updated = format!("{b}[{i}, {j}] - {b}[{i}, {k}] * {b}[{k}, {j}]");
        let cell = format!("if {condition} then {updated} else {b}[{i}, {j}]");
        let next = self.nested(&[n, n], &[i, j], &cell);
        format!("(loop {b} = {a} for {k} < {} do {next})", self.dim(n))
    }

    /// Elimination: each iteration updates the trailing part.
    fn eliminated_in_place(&mut self, a: &str, n: Dim) -> String {
        let [b, k, i, j, m] = self.fresh_all(["b", "k", "ix", "j", "m"]);
        let size = self.dim(n);
        let offset = self.pick_text(&["1", "0"]);
        let (row, column) = (format!("{k} + {offset} + {i}"), format!("{k} + {offset} + {j}"));
        let cell = format!("{b}[{row}, {column}] - {b}[{row}, {k}] * {b}[{k}, {column}]");
        format!(
            "(loop {b} = copy {a} for {k} < {size} do let {m} = {size} - {k} - {offset} \
             let {j} = tabulate_2d {m} {m} (\\{i} {j} -> {cell}) \
             in {b} with [{k} + {offset}:, {k} + {offset}:] = {j})"
        )
    }

    /// Row by row: each element less the product of its row and column so far.
    fn by_rows(&mut self, a: &str, n: Dim) -> String {
        let [b, k, q, p, acc] = self.fresh_all(["b", "k", "q", "p", "acc"]);
        let size = self.dim(n);
        let depth = self.pick_text(&["K", "(i64.min K 3)", "(i64.max 0 (K - 1))"]).replace('K', &k);
        let term = format!("{b}[{k}, {p}] * {b}[{p}, {q}]");
        let cell = format!("(loop {acc} = {b}[{k}, {q}] for {p} < {depth} do {acc} - {term})");
        format!(
            "(loop {b} = copy {a} for {k} < {size} do \
             let {q} = tabulate {size} (\\{q} -> {cell}) in {b} with [{k}] = {q})"
        )
    }

    /// Column by column, the part below the diagonal.
    fn by_columns(&mut self, a: &str, n: Dim) -> String {
        let [b, k, i, p, acc, m] = self.fresh_all(["b", "k", "ix", "p", "acc", "m"]);
        let size = self.dim(n);
        let term = format!("{b}[{k} + {i}, {p}] * {b}[{k}, {p}]");
        let cell = format!("(loop {acc} = {b}[{k} + {i}, {k}] for {p} < {k} do {acc} - {term})");
        format!(
            "(loop {b} = copy {a} for {k} < {size} do let {m} = {size} - {k} \
             let {p} = tabulate {m} (\\{i} -> {cell}) in {b} with [{k}:, {k}] = {p})"
        )
    }

    /// Shortest paths: each iteration allows one more intermediate element.
    fn closure(&mut self, a: &str, n: Dim, min: &str) -> String {
        let [b, k, i, j] = self.fresh_all(["b", "k", "ix", "j"]);
        let size = self.dim(n);
        let cell = format!("{min} {b}[{i}, {j}] ({b}[{i}, {k}] + {b}[{k}, {j}])");
        if self.c.once_in(2) {
            // All intermediate elements at once, a few times.
            let fold =
                format!("loop {k} = {b}[{i}, {j}] for p < {size} do {min} {k} ({b}[{i}, p] + {b}[p, {j}])");
            let next = self.nested(&[n, n], &[i, j], &fold);
            return format!("(loop {b} = {a} for t < 3 do {next})");
        }
        let next = self.nested(&[n, n], &[i, j], &cell);
        format!("(loop {b} = {a} for {k} < {size} do {next})")
    }
}
