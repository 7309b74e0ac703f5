//! An entry point that reduces and scans the rows of a matrix, whole or truncated to individual
//! lengths: the length from which on vector lanes share a row is a tuning parameter. The values are
//! small, so the sums are exact; zeros have no sign.

use super::Gen;
use super::entries::Precision;
use crate::generator::Call;
use prim::ScalarType;
use std::fmt::Write as _;

impl Gen<'_> {
    pub(super) fn rows_entry(&mut self, text: &mut String, calls: &mut Vec<Call>) {
        let types = [ScalarType::F32, ScalarType::F32, ScalarType::F64];
        let ty = self.c.pick(&types).copied().unwrap_or(ScalarType::F64);
        let name = ty.name();
        let (mut results, mut shown) = (Vec::new(), Vec::new());
        for _ in 0..=self.c.below(3) {
            let (result, of_rows) = self.rows_result(name);
            results.push(result);
            shown.push(if of_rows { "[n][m]" } else { "[n]" });
        }
        let shown: Vec<String> = shown.iter().map(|dims| format!("{dims}{name}")).collect();
        let _ = write!(
            text,
            "entry rows [n][m] (xss: [n][m]{name}) (ks: [n]i64) : ({}) =\n  ({})\n\n",
            shown.join(", "),
            results.join(",\n   ")
        );
        // Also around the usual thresholds.
        let long = self.c.pick(&[4, 20, 40, 70, 150]).copied().unwrap_or(4);
        let (n, m) = (self.c.below(5), self.c.below(long));
        let row = |g: &mut Self| {
            let row: Vec<String> = (0..m).map(|_| g.float_literal(ty)).collect();
            // Literals of arguments have no parentheses.
            format!("[{}]", row.join(", ").replace(['(', ')'], ""))
        };
        let rows: Vec<String> = (0..n).map(|_| row(self)).collect();
        let rows =
            if n * m == 0 { format!("empty([{n}][{m}]{name})") } else { format!("[{}]", rows.join(", ")) };
        let cuts: Vec<String> = (0..n).map(|_| format!("{}i64", self.c.below(200))).collect();
        let cuts = if n == 0 { "empty([0]i64)".to_owned() } else { format!("[{}]", cuts.join(", ")) };
        calls.push(Call {
            entry: "rows".to_owned(),
            args: format!("{rows}\n{cuts}\n"),
            may_fail: false,
            precision: Precision::EXACT,
            expected: None,
        });
    }

    /// A result for each row, and true if that is a row.
    fn rows_result(&mut self, name: &str) -> (String, bool) {
        let (op, neutral) = *self
            .c
            .pick(&[("+", "0"), ("+", "0"), ("T.max", "T.lowest"), ("T.min", "T.highest")])
            .unwrap_or(&("+", "0"));
        let op = if op == "+" { "(+)" } else { op };
        let (op, neutral) = (op.replace('T', name), neutral.replace('T', name));
        let f = self.pick_text(&["(* 2)", "(+ 1)", "(\\x -> x * x)", "(\\x -> 1 - x)"]);
        let reduce = format!("reduce {op} {neutral}");
        let scan = format!("scan {op} {neutral}");
        match self.c.below(8) {
            0 | 1 => (format!("map (\\xs -> {reduce} (map {f} xs)) xss"), false),
            2 => (format!("map ({scan}) xss"), true),
            3 => (format!("map (\\xs -> map {f} ({scan} (map {f} xs))) xss"), true),
            4 => {
                let cut = format!("{reduce} (map {f} xs[:k % (m + 1)])");
                (format!("map2 (\\xs k -> {cut}) xss ks"), false)
            }
            5 => {
                let cut = format!("{reduce} ({scan} xs[k % (m + 1):])");
                (format!("map2 (\\xs k -> {cut}) xss ks"), false)
            }
            6 => {
                let twice = format!("{reduce} xs + reduce_comm {op} {neutral} (map {f} xs)");
                (format!("map (\\xs -> {twice}) xss"), false)
            }
            _ => {
                let body = "(map2 (+) acc (map (reduce (+) 0) xss))";
                let few = self.c.below(3);
                let start = format!("loop acc = replicate n 0{name}");
                (format!("({start} for _i < {few} do {body})"), false)
            }
        }
    }
}
