//! Whole programs: declarations, entry points, and their arguments.

use super::types::{I64, Size, Ty};
use super::{Gen, SizeVar};
use crate::choices::Choices;
use crate::compare::Relation;
use prim::ScalarType;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;

/// A program and its calls.
#[derive(Clone, Debug)]
pub struct Program {
    /// The source.
    pub text: String,
    /// The calls.
    pub calls: Vec<Call>,
}

/// A call of an entry point.
#[derive(Clone, Debug)]
pub struct Call {
    /// The entry point.
    pub entry: String,
    /// The arguments as text.
    pub args: String,
    /// True if it may fail.
    pub may_fail: bool,
    /// How its results are compared.
    pub precision: Precision,
    /// The results as text, where they are known beforehand.
    pub expected: Option<String>,
}

/// How results are compared.
#[derive(Clone, Debug)]
pub enum Precision {
    /// Floats may differ by this many units in the last place.
    Ulps(u64),
    /// Results of functions and derivatives, whose floats are approximately equal.
    Derivatives {
        /// The number of leading results that are equal bit for bit if floats are strict.
        exact: usize,
        /// The relations between the results.
        relations: Vec<Relation>,
    },
}

impl Precision {
    /// Equal bits.
    pub(crate) const EXACT: Self = Self::Ulps(0);
}

/// Mathematical functions of one argument, whose last bits are unspecified.
const MATH: [&str; 28] = [
    "sin", "cos", "tan", "exp", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "recip", "sinh",
    "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sinpi", "cospi", "tanpi", "erf",
    "erfc", "gamma", "asinpi",
];

/// Functions and operators whose float result is fixed by the standard.
const EXACT: [&str; 22] = [
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "x % y",
    "T.min x y",
    "T.max x y",
    "-x",
    "T.abs x",
    "T.sgn x",
    "T.floor x",
    "T.ceil x",
    "T.round x",
    "T.trunc x",
    "T.sqrt x",
    "T.copysign x y",
    "T.nextafter x y",
    "T.fma x y x",
    "T.ldexp x 3",
    "T.from_bits (T.to_bits x)",
    "if x < y then x else y",
    "if x == y then 1 else if x >= y then 2 else 3",
];

/// The program of a sequence of choices; `size` bounds it, 100 is ordinary.
pub fn generate(c: &mut Choices, size: usize) -> Program {
    let mut g = Gen {
        c,
        vars: Vec::new(),
        sizes: Vec::new(),
        funs: Vec::new(),
        sums: Vec::new(),
        helpers: BTreeSet::new(),
        next: 0,
        work: 1,
        cap: 4096,
        limit: usize::MAX,
    };
    let fuel = 2 + g.c.below(3) as u32;
    let budget = size * (1 + g.c.below(8));
    g.limit = budget;
    let mut text = String::new();
    for _ in 0..g.c.below(3) {
        let sum = g.declare_sum();
        text.push_str(&sum);
    }
    if g.c.once_in(4) {
        let constant = g.declare_constant();
        text.push_str(&constant);
    }
    if g.c.once_in(4) {
        let modules = g.declare_modules(2);
        text.push_str(&modules);
    }
    for _ in 0..g.c.below(4) {
        let function = g.declare_function(fuel - 1);
        text.push_str(&function);
    }
    let mut calls = Vec::new();
    g.limit = g.c.count() + budget;
    if g.c.once_in(12) {
        g.big_entry(&mut text, &mut calls);
    } else {
        g.main_entry(fuel, &mut text, &mut calls);
    }
    g.limit = g.c.count() + budget / 2;
    match g.c.below(4) {
        0 | 1 => g.check_entry(fuel, &mut text, &mut calls),
        2 => g.float_entry(&mut text, &mut calls),
        _ if g.c.once_in(2) => g.rows_entry(&mut text, &mut calls),
        _ => {}
    }
    let helpers = g.helper_declarations();
    Program { text: format!("{helpers}{text}"), calls }
}

/// A parameter of an entry point: its name and type.
type Parameter = (Rc<str>, Ty);

impl Gen<'_> {
    /// Binds the parameters of an entry point; also returns the text after its name.
    fn parameters(&mut self) -> (String, Vec<Parameter>) {
        let mut sizes = Vec::new();
        for _ in 0..self.c.below(3) {
            let n = self.fresh("n");
            sizes.push(n.clone());
            self.sizes.push(SizeVar { name: n, estimate: 8 });
        }
        let mut parameters: Vec<Parameter> = Vec::new();
        for n in &sizes {
            let x = self.fresh("x");
            let mut row = Ty::Scalar(self.scalar_type());
            if self.c.once_in(4) {
                row = Ty::array(Size::Const(1 + self.c.below(3) as i64), row);
            }
            parameters.push((x, Ty::array(Size::Var(n.clone()), row)));
        }
        for _ in 0..self.c.below(4) {
            let x = self.fresh("x");
            let ty = if self.c.once_in(2) { Ty::Scalar(self.scalar_type()) } else { self.plain_array() };
            parameters.push((x, ty));
        }
        let mut text: String = sizes.iter().map(|n| format!(" [{n}]")).collect();
        for (x, ty) in &parameters {
            self.bind(x, ty.clone());
            let _ = write!(text, " ({x}: {})", ty.text());
        }
        (text, parameters)
    }

    /// Two calls with arguments of their own sizes.
    fn calls(&mut self, call: &Call, parameters: &[Parameter], calls: &mut Vec<Call>) {
        for _ in 0..2 {
            let mut sizes: Vec<(Rc<str>, i64)> = Vec::new();
            let mut args = String::new();
            for (_, ty) in parameters {
                let mut names = Vec::new();
                ty.size_names(&mut names);
                for name in names {
                    if !sizes.iter().any(|(known, _)| *known == name) {
                        let n = *self.c.pick(&[3, 4, 1, 7, 0, 8, 2, 5]).unwrap_or(&3);
                        sizes.push((name, n));
                    }
                }
                self.value(ty, &sizes, &mut args);
                args.push('\n');
            }
            calls.push(Call { args, ..call.clone() });
        }
    }

    /// A value of a type as text.
    fn value(&mut self, ty: &Ty, sizes: &[(Rc<str>, i64)], text: &mut String) {
        let Ty::Array(..) = ty else {
            let literal = ty.scalar().map(|ty| self.argument(ty));
            text.push_str(&literal.unwrap_or_default());
            return;
        };
        let mut dims = Vec::new();
        let mut elem = ty;
        while let Ty::Array(size, row) = elem {
            dims.push(match size {
                Size::Const(n) => *n,
                Size::Var(name) => {
                    let known = sizes.iter().find(|(other, _)| other == name);
                    known.map_or(0, |(_, n)| *n)
                }
            });
            elem = row;
        }
        let scalar = elem.scalar().unwrap_or(ScalarType::I64);
        if dims.contains(&0) {
            let dims: String = dims.iter().map(|n| format!("[{n}]")).collect();
            let _ = write!(text, "empty({dims}{})", scalar.name());
            return;
        }
        self.elements(&dims, scalar, text);
    }

    fn elements(&mut self, dims: &[i64], scalar: ScalarType, text: &mut String) {
        let Some((n, inner)) = dims.split_first() else {
            text.push_str(&self.argument(scalar));
            return;
        };
        text.push('[');
        for at in 0..*n {
            if at > 0 {
                text.push_str(", ");
            }
            self.elements(inner, scalar, text);
        }
        text.push(']');
    }

    fn argument(&mut self, ty: ScalarType) -> String {
        if ty == ScalarType::Bool {
            return self.pick_text(&["false", "true"]).to_owned();
        }
        if ty.is_float() {
            let literal = self.float_literal(ty);
            return literal.trim_matches(['(', ')']).to_owned();
        }
        let name = ty.name();
        match self.c.below(30) {
            n @ 20..28 if ty.is_signed() => format!("-{}{name}", n - 19),
            28 => format!("{}{name}", 100 + self.c.below(28)),
            29 if ty.is_signed() => format!("{}{name}", i64::MIN >> (64 - 8 * ty.size())),
            29 => format!("{}{name}", u64::MAX >> (64 - 8 * ty.size())),
            n => format!("{n}{name}"),
        }
    }

    /// An entry point that does not fail, with several results.
    fn main_entry(&mut self, fuel: u32, text: &mut String, calls: &mut Vec<Call>) {
        let mark = self.mark();
        let (shown, parameters) = self.parameters();
        let mut body = String::new();
        for _ in 0..self.c.below(5) {
            let statement = self.statement(fuel);
            let _ = writeln!(body, "  {statement}");
        }
        let mut results = Vec::new();
        let mut types = Vec::new();
        for _ in 0..=self.c.below(4) {
            let ty = if self.c.once_in(3) { Ty::Scalar(self.scalar_type()) } else { self.plain_array() };
            results.push(self.expr(&ty, fuel + 1));
            types.push(hidden_sizes(&ty, &parameters));
        }
        if self.c.once_in(3) {
            // A result of existential size.
            let row = Ty::Scalar(self.scalar_type());
            results.push(self.existential(&row, fuel).0);
            types.push(format!("[]{}", row.text()));
        }
        self.restore(mark);
        let (results, types) = (results.join(",\n   "), types.join(", "));
        let start = if body.is_empty() { "" } else { "in " };
        let _ = write!(text, "entry main{shown} : ({types}) =\n{body}  {start}({results})\n\n");
        let call = Call {
            entry: "main".to_owned(),
            args: String::new(),
            may_fail: false,
            precision: Precision::EXACT,
            expected: None,
        };
        self.calls(&call, &parameters, calls);
    }

    /// An entry point on arrays that are large enough for several chunks.
    fn big_entry(&mut self, text: &mut String, calls: &mut Vec<Call>) {
        let mark = self.mark();
        let (n, k) = (self.fresh("n"), self.fresh("x"));
        self.cap = 60_000;
        self.sizes.push(SizeVar { name: n.clone(), estimate: 20_000 });
        self.bind(&k, I64);
        let mut body = String::new();
        let mut results = Vec::new();
        let mut types = Vec::new();
        for _ in 0..=self.c.below(2) {
            let x = self.fresh("x");
            let row = self.repeated(20_000, |g| g.ty(1));
            let array = Ty::array(Size::Var(n.clone()), row);
            let value = self.specific(&array, 2);
            let _ = writeln!(body, "  let {x} = {value}");
            self.bind(&x, array);
        }
        for _ in 0..=self.c.below(3) {
            let scalar = Ty::Scalar(self.scalar_type());
            if self.c.once_in(2) {
                results.push(self.specific(&scalar, 2));
                types.push(scalar.text());
            } else {
                let array = Ty::array(Size::Var(n.clone()), scalar);
                results.push(self.specific(&array, 2));
                types.push(array.text());
            }
        }
        self.restore(mark);
        self.cap = 4096;
        let (results, types) = (results.join(",\n   "), types.join(", "));
        let _ = write!(text, "entry main ({n}: i64) ({k}: i64) : ({types}) =\n{body}  in ({results})\n\n");
        for _ in 0..2 {
            let size = 5_000 + self.c.below(20_000);
            calls.push(Call {
                entry: "main".to_owned(),
                args: format!("{size}i64 {}i64", self.c.below(50)),
                may_fail: false,
                precision: Precision::EXACT,
                expected: None,
            });
        }
    }

    /// An entry point that may fail.
    fn check_entry(&mut self, fuel: u32, text: &mut String, calls: &mut Vec<Call>) {
        let mark = self.mark();
        let (shown, mut parameters) = self.parameters();
        let some = super::checks::FAILURE_PARAM;
        parameters.push((some.into(), I64));
        self.bind(&some.into(), I64);
        let body = self.fallible_result(fuel);
        self.restore(mark);
        let _ = write!(text, "entry check{shown} ({some}: i64) : i64 =\n  {body}\n\n");
        let call = Call {
            entry: "check".to_owned(),
            args: String::new(),
            may_fail: true,
            precision: Precision::EXACT,
            expected: None,
        };
        self.calls(&call, &parameters, calls);
    }

    /// An entry point on arbitrary floats, without sums of them.
    fn float_entry(&mut self, text: &mut String, calls: &mut Vec<Call>) {
        let ty =
            *self.c.pick(&[ScalarType::F64, ScalarType::F32, ScalarType::F16]).unwrap_or(&ScalarType::F64);
        let name = ty.name();
        let (kind, ulps) = match self.c.below(2) {
            0 => ("exact", 0),
            _ => ("math", 4),
        };
        let mut results = Vec::new();
        for _ in 0..=self.c.below(3) {
            results.push(if ulps == 0 {
                let body = self.pick_text(&EXACT).replace('T', name);
                format!("map2 (\\(x: {name}) (y: {name}) : {name} -> {body}) xs ys")
            } else {
                let fun = self.pick_text(&MATH);
                format!("map {name}.{fun} xs")
            });
        }
        let types = vec![format!("[n]{name}"); results.len()].join(", ");
        let _ = write!(
            text,
            "entry {kind} [n] (xs: [n]{name}) (ys: [n]{name}) : ({types}) =\n  ({})\n\n",
            results.join(",\n   ")
        );
        let count = 1 + self.c.below(20);
        let mut args = String::new();
        for _ in 0..2 {
            let values: Vec<String> = (0..count).map(|_| self.any_float(ty)).collect();
            let _ = writeln!(args, "[{}]", values.join(", "));
        }
        calls.push(Call {
            entry: kind.to_owned(),
            args,
            may_fail: false,
            precision: Precision::Ulps(ulps),
            expected: None,
        });
    }

    /// A float of any kind.
    fn any_float(&mut self, ty: ScalarType) -> String {
        let name = ty.name();
        let sign = self.pick_text(&["", "-"]);
        match self.c.below(16) {
            0 => format!("{sign}0.0{name}"),
            1 => format!("{sign}{name}.inf"),
            2 => format!("{name}.nan"),
            3 => format!("{sign}1e{}{name}", self.c.below(4)),
            4 => format!("{sign}{}e-{}{name}", 1 + self.c.below(9), 3 + self.c.below(4)),
            5 => format!("{sign}{}.5{name}", self.c.below(1000)),
            _ => {
                let (whole, rest) = (self.c.below(10), self.c.below(1_000_000));
                format!("{sign}{whole}.{rest:06}{name}")
            }
        }
    }
}

/// A result's type: sizes that are not parameters' remain unknown.
fn hidden_sizes(ty: &Ty, parameters: &[Parameter]) -> String {
    let mut known = Vec::new();
    for (_, ty) in parameters {
        ty.size_names(&mut known);
    }
    match ty {
        Ty::Array(Size::Var(name), row) if !known.contains(name) => {
            format!("[]{}", hidden_sizes(row, parameters))
        }
        Ty::Array(size, row) => format!("[{}]{}", size.text(), hidden_sizes(row, parameters)),
        _ => ty.text(),
    }
}
