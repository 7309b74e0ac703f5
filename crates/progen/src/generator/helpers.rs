//! Helper functions of programs: polymorphic and higher-order functions, functions that keep floats
//! small, and functions that resize arrays. A program declares the ones that it uses.

use super::Gen;

/// Name and declaration.
const HELPERS: [(&str, &str); 17] = [
    ("small_f16", "def small_f16 (x: f16) : f16 = f16.i64 (i64.f16 (x * 2f16) % 15 - 7) * 0.5f16"),
    ("small_f32", "def small_f32 (x: f32) : f32 = f32.i64 (i64.f32 (x * 4f32) % 255 - 127) * 0.25f32"),
    ("small_f64", "def small_f64 (x: f64) : f64 = f64.i64 (i64.f64 (x * 4f64) % 255 - 127) * 0.25f64"),
    (
        "resize",
        "def resize [n] 'a (s: i64) (d: a) (xs: [n]a) : [s]a =\n  \
         tabulate s (\\i -> if i < n then xs[i] else d)",
    ),
    (
        "cycled",
        "def cycled [n] 'a (s: i64) (d: a) (xs: [n]a) : [s]a =\n  \
         map (\\i -> if n == 0 then d else xs[i % n]) (iota s)",
    ),
    ("twice", "def twice 'a (f: a -> a) (x: a) : a = f (f x)"),
    ("times", "def times 'a (k: i32) (f: a -> a) (x: a) : a = loop x for _i < k do f x"),
    ("chain", "def chain 'a 'b 'c (f: a -> b) (g: b -> c) (x: a) : c = g (f x)"),
    ("mapi", "def mapi [n] 'a 'b (f: i64 -> a -> b) (xs: [n]a) : [n]b = map2 f (iota n) xs"),
    ("map_rows", "def map_rows [n] [m] 'a 'b (f: a -> b) (xss: [n][m]a) : [n][m]b = map (map f) xss"),
    ("choose", "def choose 'a 'b (c: bool) (f: a -> b) (g: a -> b) (x: a) : b = if c then f x else g x"),
    ("both", "def both 'a 'b (f: a -> b) (x: a, y: a) : (b, b) = (f x, f y)"),
    (
        "stencil",
        "def stencil [n] 'a (f: a -> a -> a) (xs: [n]a) : [n]a =\n  \
         tabulate n (\\i -> f xs[i64.max 0 (i - 1)] xs[i64.min (n - 1) (i + 1)])",
    ),
    ("folded", "def folded [n] 'a 'b (f: b -> a -> b) (z: b) (xs: [n]a) : b = loop z for x in xs do f z x"),
    (
        "set",
        "def set [n] 'a (i: i64) (x: a) (xs: *[n]a) : *[n]a =\n  \
         if i >= 0 && i < n then xs with [i] = x else xs",
    ),
    (
        "swap",
        "def swap [n] 'a (i: i64) (j: i64) (xs: *[n]a) : *[n]a =\n  \
         if n == 0 then xs else\n  \
         let (x, y) = (copy xs[i % n], copy xs[j % n])\n  \
         let xs[i % n] = y\n  let xs[j % n] = x\n  in xs",
    ),
    ("evens", "def evens [n] 'a (xs: [n]a) : []a = if n % 2 == 0 then xs[::2] else xs[1:]"),
];

impl Gen<'_> {
    /// The name of a helper, which is then declared.
    pub(super) fn helper(&mut self, name: &'static str) -> &'static str {
        if let Some(at) = HELPERS.iter().position(|(other, _)| *other == name) {
            self.helpers.insert(at);
        }
        name
    }

    /// The declarations of the helpers in use.
    pub(super) fn helper_declarations(&self) -> String {
        let texts = self.helpers.iter().filter_map(|at| HELPERS.get(*at));
        texts.map(|(_, text)| format!("{text}\n\n")).collect()
    }
}
