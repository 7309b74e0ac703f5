//! The function `f`, and the entry points that return its derivatives.
//!
//! - `reverse`, `forward`: the result of `f` with its adjoint and its tangent.
//! - `adjoints`, `tangents`: the same with several seeds.
//! - `agreement`: `seed * (jvp f x dx)` and `(vjp f x seed) * dx`, and central differences if `f` is
//!   smooth, extrapolated from two distances, with an error bound.
//! - `second`: the derivative of the gradient of `seed * f x` along `dx`, by two or three nestings of
//!   `vjp` and `jvp`.

use super::Gen;
use super::arguments::Param;
use super::types::{Size, Ty};
use crate::compare::Relation;
use crate::generator::{Call, Precision};
use std::fmt::Write as _;

/// The function whose derivatives are taken.
struct Function {
    arg: Ty,
    result: Ty,
    /// The parameters before the argument.
    free: Vec<Param>,
    /// The size parameters.
    sizes: Vec<&'static str>,
}

/// The body of an entry point: bindings, results, and the relations between these.
struct Body {
    name: &'static str,
    /// True if it takes a seed for the result, and a change of the argument.
    takes: [bool; 2],
    bindings: String,
    results: Vec<String>,
    exact: usize,
    relations: Vec<Relation>,
}

/// Returns true if a text contains a name.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.split(|c| !of_name(c)).any(|word| word == name || word.split('.').next() == Some(name))
}

impl Gen<'_> {
    /// Declares `f` and entry points; adds their calls.
    pub(super) fn entries(&mut self, calls: &mut Vec<Call>) -> String {
        let (mut text, function) = self.function();
        let mut kinds: Vec<usize> = Vec::new();
        for _ in 0..=self.c.below(3) {
            let kind = [0, 1, 4, 5, 2, 3, 4, 5][self.c.below(8)];
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for kind in kinds {
            let body = match kind {
                0 => self.reverse(&function),
                1 => self.forward(&function),
                2 => self.adjoints(&function),
                3 => self.tangents(&function),
                4 => self.agreement(&function),
                _ => self.second(&function),
            };
            self.entry(&function, body, &mut text, calls);
        }
        text
    }

    /// Declares `f`.
    fn function(&mut self) -> (String, Function) {
        let sizes = ["n", "m"];
        let [n, m] = sizes.map(Size::var);
        let arg = self.argument(&n, &m);
        let mut free = Param::all(&n, &m);
        let mark = self.mark();
        self.sizes.extend([n.clone(), m.clone()]);
        free.iter().for_each(|param| self.bind(&param.name, &param.ty));
        self.bind("x", &arg);
        self.bind("x", &arg);
        let result = self.result(&n, &m);
        let mut body = String::new();
        for _ in 0..self.c.below(4) {
            let of = self.ty();
            let value = self.expr(&of, 4);
            let v = self.fresh("v");
            let _ = write!(body, "let {v}: {} = {value}\n  ", self.text(&of));
            self.bind(&v, &of);
        }
        let value = self.expr(&result, 4);
        if body.is_empty() {
            body = value;
        } else {
            let _ = write!(body, "in {value}");
        }
        self.restore(&mark);
        let types = [self.text(&arg), self.text(&result)];
        let size_used = |name: &str| mentions(&body, name) || types.iter().any(|ty| mentions(ty, name));
        let mut used: Vec<&str> = sizes.into_iter().filter(|name| size_used(name)).collect();
        free.retain(|param| mentions(&body, &param.name) || used.contains(&&*param.name));
        for param in &free {
            let ty = self.text(&param.ty);
            used.extend(sizes.iter().filter(|size| mentions(&ty, size)));
        }
        used.sort_unstable_by_key(|name| usize::from(*name == "m"));
        used.dedup();
        // Each size occurs in the type of a parameter.
        for size in &used {
            let known =
                mentions(&types[0], size) || free.iter().any(|param| mentions(&self.text(&param.ty), size));
            if !known {
                free.extend(
                    Param::all(&n, &m).into_iter().find(|param| param.ty == Ty::floats(&[Size::var(size)])),
                );
            }
        }
        let function = Function { arg, result, free, sizes: used };
        let sizes: String =
            function.sizes.iter().map(|size| format!(" [{size}]")).collect::<Vec<_>>().concat();
        let params: String = function
            .free
            .iter()
            .map(|param| format!(" {}", self.typed(&param.name, &param.ty)))
            .collect::<Vec<_>>()
            .concat();
        let text = format!("def f{sizes}{params} (x: {}) : {} =\n  {body}\n\n", types[0], types[1]);
        (text, function)
    }

    /// An entry point, and its calls.
    fn entry(&mut self, function: &Function, body: Body, text: &mut String, calls: &mut Vec<Call>) {
        let mut params = function.free.clone();
        let mut made = String::new();
        let values = [
            ("x", &function.arg, true),
            ("s", &function.result, body.takes[0]),
            ("d", &function.arg, body.takes[1]),
        ];
        for (name, ty, taken) in values {
            if !taken {
                continue;
            }
            let mut leaves = Vec::new();
            for (at, leaf) in ty.leaves().into_iter().enumerate() {
                // Changes of integers are zero.
                if name != "x" && !leaf.has_floats() {
                    leaves.push(zero(&leaf));
                    continue;
                }
                let leaf_name = format!("{name}_{at}");
                leaves.push(leaf_name.clone());
                params.push(Param { name: leaf_name, ty: leaf });
            }
            let value = self.assembled(ty, &mut leaves.iter());
            let _ = writeln!(made, "  let {name}: {} = {value}", self.text(ty));
        }
        let f: String =
            function.free.iter().map(|param| format!(" {}", param.name)).collect::<Vec<_>>().concat();
        let f = if f.is_empty() { "f".to_owned() } else { format!("(f{f})") };
        let sizes: String =
            function.sizes.iter().map(|size| format!(" [{size}]")).collect::<Vec<_>>().concat();
        let shown: String = params
            .iter()
            .map(|param| format!(" {}", self.typed(&param.name, &param.ty)))
            .collect::<Vec<_>>()
            .concat();
        let _ = write!(
            text,
            "entry {}{sizes}{shown} =\n{made}{}  in ({})\n\n",
            body.name,
            body.bindings.replace("FUN", &f),
            body.results.join(", ").replace("FUN", &f)
        );
        let times = 1 + self.c.below(2);
        for _ in 0..times {
            calls.push(Call {
                entry: body.name.to_owned(),
                args: self.arguments(&params),
                may_fail: false,
                precision: Precision::Derivatives { exact: body.exact, relations: body.relations.clone() },
                expected: None,
            });
        }
    }

    /// The number of results that have the same bits if floats are strict.
    fn exact_results(&self, function: &Function) -> usize {
        if self.exact { function.result.leaves().len() } else { 0 }
    }

    fn reverse(&mut self, function: &Function) -> Body {
        let [result, arg] = [self.text(&function.result), self.text(&function.arg)];
        let mut results = self.leaf_texts(&function.result, "y");
        results.extend(self.leaf_texts(&function.arg, "a"));
        Body {
            name: "reverse",
            takes: [true, false],
            bindings: format!("  let (y, a): ({result}, {arg}) = vjp2 FUN x s\n"),
            results,
            exact: self.exact_results(function),
            relations: Vec::new(),
        }
    }

    fn forward(&mut self, function: &Function) -> Body {
        let result = self.text(&function.result);
        let mut results = self.leaf_texts(&function.result, "y");
        results.extend(self.leaf_texts(&function.result, "t"));
        Body {
            name: "forward",
            takes: [false, true],
            bindings: format!("  let (y, t): ({result}, {result}) = jvp2 FUN x d\n"),
            results,
            exact: self.exact_results(function),
            relations: Vec::new(),
        }
    }

    /// An array of seeds made of a value.
    fn seeds(&mut self, ty: &Ty, value: &str) -> (usize, String) {
        let count = [2, 3, 1][self.c.below(3)];
        let mut seeds = vec![value.to_owned()];
        for at in 1..count {
            let f = self.float;
            seeds.push(self.mapped(ty, value, &|v| format!("({f}.sin ({v} * 5 + {at}))")));
        }
        (count, format!("[{}]", seeds.join(", ")))
    }

    fn adjoints(&mut self, function: &Function) -> Body {
        let (count, seeds) = self.seeds(&function.result, "s");
        let several = Ty::array(&Size::Const(count as i64), function.arg.clone());
        let types = [self.text(&function.result), self.text(&several)].join(", ");
        let mut results = self.leaf_texts(&function.result, "y");
        results.extend(self.leaf_texts(&several, "a"));
        Body {
            name: "adjoints",
            takes: [true, false],
            bindings: format!("  let (y, a): ({types}) = mjp2 FUN x {seeds}\n"),
            results,
            exact: self.exact_results(function),
            relations: Vec::new(),
        }
    }

    fn tangents(&mut self, function: &Function) -> Body {
        let (count, seeds) = self.seeds(&function.arg, "d");
        let several = Ty::array(&Size::Const(count as i64), function.result.clone());
        let types = [self.text(&function.result), self.text(&several)].join(", ");
        let mut results = self.leaf_texts(&function.result, "y");
        results.extend(self.leaf_texts(&several, "t"));
        Body {
            name: "tangents",
            takes: [false, true],
            bindings: format!("  let (y, t): ({types}) = jmp2 FUN x {seeds}\n"),
            results,
            exact: self.exact_results(function),
            relations: Vec::new(),
        }
    }

    fn product_of(&mut self, ty: &Ty, x: &str, y: &str) -> String {
        self.dot(ty, x, y).unwrap_or_else(|| self.literal(0.0))
    }

    /// `g`, the product of the seed and the function's result.
    fn scalar_function(&mut self, function: &Function) -> String {
        let product = self.product_of(&function.result, "s", "y");
        let [arg, result] = [self.text(&function.arg), self.text(&function.result)];
        format!("  let g (x: {arg}) : {} = let y: {result} = FUN x in {product}\n", self.float)
    }

    fn agreement(&mut self, function: &Function) -> Body {
        let [arg, result] = [self.text(&function.arg), self.text(&function.result)];
        let mut bindings = format!("  let t: {result} = jvp FUN x d\n  let a: {arg} = vjp FUN x s\n");
        let mut results =
            vec![self.product_of(&function.result, "s", "t"), self.product_of(&function.arg, "a", "d")];
        let mut relations = vec![Relation::Equal(0, 1)];
        if self.smooth && self.float == "f64" {
            let moved = self.zipped(&function.arg, "x", "d", &|x, d| format!("({x} + h * {d})"));
            bindings.push_str(&self.scalar_function(function));
            bindings.push_str(&format!(
                "  let g_at (h: f64) = g ({moved})\n  \
                 let central (h: f64) = (g_at h - g_at (-h)) / (2 * h)\n  \
                 let better (h: f64) = (4 * central (h / 2) - central h) / 3\n  \
                 let (coarse, fine) = (better 1e-3, better 5e-4)\n"
            ));
            results.push("fine".to_owned());
            results.push("f64.abs (coarse - fine)".to_owned());
            relations.push(Relation::Near(0, 2, 3));
        }
        Body { name: "agreement", takes: [true, true], bindings, results, exact: 0, relations }
    }

    fn second(&mut self, function: &Function) -> Body {
        let [arg, f] = [self.text(&function.arg), self.float.to_owned()];
        let one = self.literal(1.0);
        let product = self.product_of(&function.arg, "b", "d");
        let ways = [
            format!("vjp (\\(x: {arg}) -> jvp g x d) x {one}"),
            format!("jvp (\\(x: {arg}) -> vjp g x {one}) x d"),
            format!("vjp (\\(x: {arg}) : {f} -> let b: {arg} = vjp g x {one} in {product}) x {one}"),
        ];
        let mut chosen: Vec<usize> = vec![self.c.below(3)];
        let other = self.c.below(3);
        if !chosen.contains(&other) {
            chosen.push(other);
        }
        let mut bindings = self.scalar_function(function);
        let mut results = Vec::new();
        let leaves = function.arg.leaves();
        for way in &chosen {
            bindings.push_str(&format!("  let h{way}: {arg} = {}\n", ways[*way]));
            results.extend(self.leaf_texts(&function.arg, &format!("h{way}")));
        }
        // Integers have no second derivatives, and changes of changes may be truncated.
        let mut relations = Vec::new();
        if self.smooth && chosen.len() == 2 {
            let floats = leaves.iter().enumerate().filter(|(_, leaf)| leaf.has_floats());
            relations.extend(floats.map(|(at, _)| Relation::Equal(at, leaves.len() + at)));
        }
        Body { name: "second", takes: [true, true], bindings, results, exact: 0, relations }
    }
}

/// The zero of a plain type without floats.
fn zero(ty: &Ty) -> String {
    match ty {
        Ty::Bool => "false".to_owned(),
        Ty::Array(size, row) => format!("(replicate {} {})", size.text(), zero(row)),
        Ty::Float | Ty::Int | Ty::Tuple(_) | Ty::Record(_) => "0".to_owned(),
    }
}
