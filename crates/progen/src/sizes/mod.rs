//! Programs about sizes: modules with abstract types, sums with arrays, loops, branches and
//! functions whose results have existential sizes, and few names, which shadow each other.
//!
//! A program is made as expressions ([`exp`]) with types that record which sizes are equal by the
//! language's rules ([`types`]), and its results are computed while it is made ([`model`]), by
//! evaluating the expressions without types. So a call has expected results that depend neither on
//! the checker nor on the interpreter.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "programs are concatenated from small texts; generation takes little time"
)]

mod control;
mod exp;
mod functions;
mod model;
mod modules;
mod scope;
mod types;
mod values;

use crate::choices::Choices;
use crate::generator::{Call, Precision, Program};
use exp::{Exp, Name};
use model::{Eval, ModelValue};
use scope::{Abbreviation, Binding, Gen};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;
use types::{Kind, Size, Ty};

/// Helper functions of expressions. Variables do not have their names.
const HELPERS: &str = "\
def size_of [n] 'a (_: [n]a) : i64 = n
def sizes_of [n] [m] (_: [n][m]i64) : i64 = n * 100 + m
def half [n] (xs: [n]i64) = take (n / 2) xs
def rest [n] (xs: [n]i64) : []i64 = if n > 0 then xs[1:] else xs
def resize [n] (k: i64) (xs: [n]i64) : [k]i64 = tabulate k (\\i -> if i < n then xs[i] else 0)
def outer [n] [m] (xs: [n]i64) (ys: [m]i64) : [n][m]i64 = map (\\x -> map (+ x) ys) xs
def app '^a '^b (f: a -> b) (x: a) : b = f x

module boxes : {
  type~ box '~a
  val mk '~a : a -> box a
  val get '~a : box a -> a
} = {
  type~ box '~a = {x: a}
  def mk '~a (x: a) : box a = {x}
  def get '~a (x: box a) : a = x.x
}
";

/// The program of a sequence of choices; `size` bounds it, 100 is ordinary.
pub fn generate(c: &mut Choices, size: usize) -> Program {
    let mut g = Gen {
        c,
        scope: Vec::new(),
        next: 0,
        defs: Vec::new(),
        funs: Vec::new(),
        abbreviations: Vec::new(),
        anonymous_sizes: BTreeSet::new(),
        unified: BTreeSet::new(),
        limit: usize::MAX,
    };
    let fuel = 2 + g.c.below(3) as u32;
    let budget = size * (1 + g.c.below(4));
    g.limit = budget;
    let mut text = HELPERS.to_owned();
    g.abbreviations = plain_abbreviations();
    text.push_str(&g.declare_abbreviations(&g.abbreviations));
    let modules = g.declare_modules(fuel - 1);
    text.push_str(&modules);
    let more = g.module_abbreviations();
    text.push_str(&g.declare_abbreviations(&more));
    g.abbreviations.extend(more);
    g.limit = g.c.count() + budget;
    for at in 0..g.c.below(4) {
        let result = g.goal(1);
        let name: Name = format!("fun{at}").into();
        let fun = g.declare("def", &name, &result, fuel, false);
        let _ = writeln!(text, "\n{}", g.defs[g.funs[fun].def].text);
        g.push(&name, Binding::Fun(fun));
    }
    g.limit = g.c.count() + budget;
    let calls = g.entry(fuel, &mut text);
    Program { text, calls }
}

/// Abbreviations over arrays.
fn plain_abbreviations() -> Vec<Abbreviation> {
    let xs = || Ty::rank(1);
    let option = |ty: Ty| Ty::Sum(vec![("none", Vec::new()), ("some", vec![ty])]);
    let pair = Ty::Record(vec![("a", xs()), ("b", xs())]);
    let new = |name, ty| Abbreviation { name, ty, equal: false };
    vec![
        new("opt", option(xs())),
        new("core", pair.clone()),
        Abbreviation { name: "same", ty: pair.clone(), equal: true },
        new(
            "res",
            Ty::Sum(vec![("err", vec![Ty::Int]), ("ok", vec![xs(), xs()]), ("rows", vec![Ty::rank(2)])]),
        ),
        new("nest", Ty::Sum(vec![("bare", vec![xs(), Ty::Int]), ("deep", vec![option(xs()), pair])])),
    ]
}

impl Gen<'_> {
    fn declare_abbreviations(&self, abbreviations: &[Abbreviation]) -> String {
        let mut text = String::from("\n");
        for abbreviation in abbreviations {
            let ty = if abbreviation.equal {
                let sized = self.type_text(&abbreviation.ty, &mut |_| "k".to_owned());
                sized.map(|ty| format!("?[k].{ty}"))
            } else {
                self.anonymous(&abbreviation.ty)
            };
            let _ = writeln!(text, "type~ {} = {}", abbreviation.name, ty.unwrap_or_default());
        }
        text
    }

    /// Abbreviations over abstract types.
    fn module_abbreviations(&self) -> Vec<Abbreviation> {
        let mut modules = self.modules();
        modules.reverse();
        let ty =
            |(path, kind): &(Name, Kind)| Ty::Abstract(path.clone(), *kind, vec![Size::Open; kind.rank()]);
        let mut made = Vec::new();
        if let Some(module) = modules.first() {
            made.push(Abbreviation {
                name: "either",
                ty: Ty::Sum(vec![
                    ("left", vec![ty(module)]),
                    ("right", vec![Ty::rank(1), Ty::Boxed(Rc::new(ty(module)))]),
                ]),
                equal: false,
            });
        }
        if let Some(module) = modules.get(1) {
            made.push(Abbreviation {
                name: "held",
                ty: Ty::Record(vec![("a", ty(module)), ("b", ty(&modules[0]))]),
                equal: false,
            });
        }
        made
    }

    /// The entry point, with two calls whose results the model computes.
    fn entry(&mut self, fuel: u32, text: &mut String) -> Vec<Call> {
        let mut used: Vec<Name> = Vec::new();
        let mut new = |g: &mut Self| {
            let name = g.name(&used, &[]);
            used.push(name.clone());
            name
        };
        let names: [Name; 5] = std::array::from_fn(|_| new(self));
        let [n, m, x, xs, ys] = names.clone();
        let mark = self.scope.len();
        let ids = [self.fresh_id(), self.fresh_id()];
        self.push(&n, Binding::Size(ids[0]));
        self.push(&m, Binding::Size(ids[1]));
        self.bind(&x, Ty::Int);
        self.bind(&xs, Ty::Array(vec![Size::Var(ids[0])]));
        self.bind(&ys, Ty::Array(vec![Size::Var(ids[1])]));
        let mut results = Vec::new();
        let mut types = Vec::new();
        for _ in 0..=self.c.below(3) {
            if self.c.once_in(3) {
                results.push(self.synth(&Ty::rank(1), fuel).0);
                types.push("[]i64");
            } else {
                let goal = self.goal(1);
                let (e, ty) = self.synth(&goal, fuel + 1);
                let ty = self.close(&ty);
                results.push(self.checksum(e, &ty));
                types.push("i64");
            }
        }
        self.scope.truncate(mark);
        let declared = if self.c.once_in(2) {
            match &types[..] {
                [ty] => format!(" : {ty}"),
                types => format!(" : ({})", types.join(", ")),
            }
        } else {
            String::new()
        };
        let body = match <[Exp; 1]>::try_from(results) {
            Ok([single]) => single,
            Err(results) => Exp::Tuple(results),
        };
        let defs = &self.defs;
        let _ = writeln!(
            text,
            "\nentry main [{n}] [{m}] ({x}: i64) ({xs}: [{n}]i64) ({ys}: [{m}]i64){declared} =\n  {}",
            body.text(&|fun| defs[fun].text.clone())
        );
        let mut calls = Vec::new();
        for _ in 0..2 {
            let k = self.c.below(5) as i64;
            let arrays: [Vec<i64>; 2] = std::array::from_fn(|_| {
                let length = [3, 2, 4, 0, 1, 6][self.c.below(6)];
                (0..length).map(|_| self.c.below(7) as i64).collect()
            });
            let array = |data: &Vec<i64>| {
                let shape = vec![data.len() as i64];
                let data = data.clone();
                ModelValue::Array(Rc::new(model::Array { shape, data }))
            };
            let [a, b] = &arrays;
            let values = [
                ModelValue::Int(a.len() as i64),
                ModelValue::Int(b.len() as i64),
                ModelValue::Int(k),
                array(a),
                array(b),
            ];
            let mut env: Vec<(Name, ModelValue)> = names.iter().cloned().zip(values.clone()).collect();
            // A call for which the model takes too long is left out.
            let Ok(value) = Eval::new(&self.defs).exp(&body, &mut env) else {
                continue;
            };
            let mut args = String::new();
            values[2..].iter().for_each(|value| write_value(value, &mut args));
            let mut expected = String::new();
            write_value(&value, &mut expected);
            calls.push(Call {
                entry: "main".to_owned(),
                args,
                may_fail: false,
                precision: Precision::EXACT,
                expected: Some(expected),
            });
        }
        calls
    }
}

/// Writes a number, an array, or the components of a tuple, one a line.
fn write_value(value: &ModelValue, text: &mut String) {
    match value {
        ModelValue::Int(n) => {
            let _ = writeln!(text, "{n}i64");
        }
        ModelValue::Array(array) if array.data.is_empty() => text.push_str("empty([0]i64)\n"),
        ModelValue::Array(array) => {
            let elements: Vec<String> = array.data.iter().map(|x| format!("{x}i64")).collect();
            let _ = writeln!(text, "[{}]", elements.join(", "));
        }
        ModelValue::Parts(parts) => parts.iter().for_each(|part| write_value(part, text)),
        ModelValue::Constr(..) | ModelValue::Fun(..) => {}
    }
}
