//! Programs with derivatives: a function `f` of floats, and entry points that return its derivatives
//! in forward and reverse mode, with several seeds, and derivatives of derivatives.
//!
//! Rules that make results comparable:
//! - Every float that an expression yields is *small*, at most [`floats::BOUND`] in magnitude, and
//!   mathematical functions stay away from their poles ([`floats`] explains how).
//! - Operators of reductions, scans and histograms are associative up to rounding, with a true neutral
//!   element for small elements; those of histograms commute. Indices of one `scatter` differ.
//! - Expressions cannot fail: indices are reduced to their range, and guarded where an array may be
//!   empty. Consumed arrays are fresh.
//! - Integers that become floats do not depend on the argument of `f`, as truncated derivatives have
//!   no transposes.
//!
//! The results of one call are related: forward and reverse mode agree, and central differences where
//! `f` is smooth ([`entries`]).

#![allow(
    clippy::format_push_string,
    reason = "programs are concatenated from small texts; generation takes little time"
)]

mod arguments;
mod arrays;
mod control;
mod entries;
mod floats;
mod folds;
mod functions;
mod operators;
mod scatters;
mod types;

use crate::choices::Choices;
use crate::generator::Program;
use functions::Fun;
use types::{Size, Ty};

/// A variable.
#[derive(Clone)]
struct Var {
    name: String,
    ty: Ty,
}

/// The state of the generator.
struct Gen<'c> {
    c: &'c mut Choices,
    /// The type of all floats.
    float: &'static str,
    vars: Vec<Var>,
    /// The size variables in scope.
    sizes: Vec<Size>,
    /// The indices in scope, which are below a size.
    indices: Vec<(String, Size)>,
    funs: Vec<Fun>,
    next: u32,
    /// The estimated number of evaluations of the current expression.
    work: i64,
    /// The upper limit of `work`.
    cap: i64,
    /// The number of choices after which everything is simple.
    limit: usize,
    /// True if the function has all derivatives everywhere.
    smooth: bool,
    /// True if results have the same bits in any order of evaluation.
    exact: bool,
}

/// The extent of the scope, to return to.
struct Mark {
    vars: usize,
    indices: usize,
    sizes: usize,
}

/// Functions on floats `T`, declared where a program uses them.
const HELPERS: [(&str, &str); 4] = [
    ("ratio", "def ratio (x: T) : T = x / (1 + x * x)\n"),
    ("root", "def root (x: T) : T = T.sqrt (1 + x * x)\n"),
    ("logarithm", "def logarithm (x: T) : T = T.log (1 + x * x)\n"),
    ("bell", "def bell (x: T) : T = T.exp (0 - x * x)\n"),
];

/// The program of a sequence of choices; `size` bounds it, 100 is ordinary.
pub fn generate(c: &mut Choices, size: usize) -> Program {
    let float = if c.once_in(6) { "f32" } else { "f64" };
    let budget = (size * (1 + c.below(6))).div_ceil(3);
    let mut g = Gen {
        c,
        float,
        vars: Vec::new(),
        sizes: Vec::new(),
        indices: Vec::new(),
        funs: Vec::new(),
        next: 0,
        work: 1,
        cap: 30 * size as i64,
        limit: 0,
        smooth: true,
        exact: true,
    };
    let mut text = String::new();
    let functions = g.c.below(4).saturating_sub(1);
    for _ in 0..functions {
        g.limit = g.c.count() + budget / 4;
        text.push_str(&g.declare());
    }
    g.limit = g.c.count() + budget;
    let mut calls = Vec::new();
    text.push_str(&g.entries(&mut calls));
    let helpers = HELPERS.iter().filter(|(name, _)| entries::mentions(&text, name));
    let helpers: String = helpers.map(|(_, text)| text.replace('T', float)).collect();
    Program { text: helpers + &text, calls }
}

impl Gen<'_> {
    /// A new name with this prefix.
    fn fresh(&mut self, start: &str) -> String {
        self.next += 1;
        format!("{start}{}", self.next)
    }

    /// One of some texts.
    fn pick_text(&mut self, texts: &[&'static str]) -> &'static str {
        self.c.pick(texts).copied().unwrap_or_default()
    }

    fn mark(&self) -> Mark {
        Mark { vars: self.vars.len(), indices: self.indices.len(), sizes: self.sizes.len() }
    }

    fn restore(&mut self, mark: &Mark) {
        self.vars.truncate(mark.vars);
        self.indices.truncate(mark.indices);
        self.sizes.truncate(mark.sizes);
    }

    fn bind(&mut self, name: &str, ty: &Ty) {
        self.vars.push(Var { name: name.to_owned(), ty: ty.clone() });
    }

    /// Makes something with variables in scope.
    fn with<R>(&mut self, vars: &[(&str, &Ty)], make: impl FnOnce(&mut Self) -> R) -> R {
        let mark = self.mark();
        vars.iter().for_each(|(name, ty)| self.bind(name, ty));
        let made = make(self);
        self.restore(&mark);
        made
    }

    /// Makes something with an index below a size in scope.
    fn with_index<R>(&mut self, name: &str, size: &Size, make: impl FnOnce(&mut Self) -> R) -> R {
        let mark = self.mark();
        self.indices.push((name.to_owned(), size.clone()));
        let made = self.repeated(size.estimate(), make);
        self.restore(&mark);
        made
    }

    fn affordable(&self, times: i64) -> bool {
        self.work.saturating_mul(times.max(1)) <= self.cap
    }

    /// Makes something that is evaluated `times` times.
    fn repeated<R>(&mut self, times: i64, make: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.work;
        self.work = before.saturating_mul(times.max(1));
        let made = make(self);
        self.work = before;
        made
    }

    /// A size for a new array.
    fn size(&mut self) -> Size {
        let at = self.c.below(self.sizes.len() * 2 + 1);
        match at.checked_sub(1).and_then(|at| self.sizes.get(at / 2)) {
            Some(size) if self.affordable(size.estimate()) => size.clone(),
            _ => Size::Const([2, 3, 1, 4, 5, 0][self.c.below(6)]),
        }
    }

    /// A type of values within `f`.
    fn ty(&mut self) -> Ty {
        match self.c.below(12) {
            0..=4 => Ty::Float,
            5 | 6 => Ty::floats(&[self.size()]),
            7 => Ty::pair(Ty::Float, Ty::Float),
            8 => {
                let size = self.size();
                Ty::array(&size, Ty::pair(Ty::Float, Ty::Float))
            }
            9 => Ty::pair(Ty::Float, Ty::floats(&[self.size()])),
            10 => Ty::Record(vec![("a", Ty::Float), ("b", Ty::floats(&[self.size()]))]),
            _ => {
                let sizes = [self.size(), self.size()];
                Ty::floats(&sizes)
            }
        }
    }

    /// An expression of a type, in parentheses where they may be needed; its floats are small.
    fn expr(&mut self, ty: &Ty, fuel: u32) -> String {
        if fuel == 0 || self.c.count() > self.limit {
            return self.leaf(ty);
        }
        match self.c.below(12) {
            0 | 1 => self.leaf(ty),
            2..=8 => self.specific(ty, fuel - 1),
            _ => self.control(ty, fuel - 1),
        }
    }

    /// An expression that is specific to this kind of type.
    fn specific(&mut self, ty: &Ty, fuel: u32) -> String {
        match ty {
            Ty::Float if self.c.once_in(3) => self.folded(fuel),
            Ty::Float => self.float(fuel),
            Ty::Int => self.int(fuel),
            Ty::Bool => self.condition(fuel),
            Ty::Array(size, row) => self.array(size, row, fuel),
            Ty::Tuple(parts) => {
                if self.c.once_in(3)
                    && let Some(fold) = self.folded_tuple(ty, fuel)
                {
                    return fold;
                }
                let parts: Vec<String> = parts.iter().map(|ty| self.expr(ty, fuel)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, ty)| format!("{name} = {}", self.expr(ty, fuel))).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }

    /// The parts of variables that have a required type, as text.
    fn candidates(&self, wanted: impl Fn(&Ty) -> bool) -> Vec<(String, Ty)> {
        let mut found = Vec::new();
        for var in self.vars.iter().rev().take(20) {
            parts(var.name.clone(), &var.ty, &wanted, &mut found);
        }
        found
    }

    /// A variable, part of one, something simple made of one, or a constant.
    fn leaf(&mut self, ty: &Ty) -> String {
        let known = self.candidates(|other| other == ty);
        let at = self.c.below(known.len() * 4 + 2);
        if let Some((text, _)) = at.checked_sub(2).and_then(|at| known.get(at / 4)) {
            return text.clone();
        }
        match ty {
            Ty::Float if at == 1 => self.element(&Ty::Float).unwrap_or_else(|| self.constant()),
            Ty::Float => self.constant(),
            Ty::Int => self.passive_int(),
            Ty::Bool => ["true", "false"][self.c.below(2)].to_owned(),
            Ty::Array(size, row) if row.is_plain() && at == 1 && self.affordable(ty.cells()) => {
                let i = self.fresh("ix");
                let body = self.with_index(&i, size, |g| g.leaf(row));
                format!("(tabulate {} (\\{i} -> {body}))", size.text())
            }
            Ty::Array(size, row) => format!("(replicate {} {})", size.text(), self.leaf(row)),
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.leaf(ty)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, ty)| format!("{name} = {}", self.leaf(ty))).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }

    /// An element of a variable that is a plain array of this scalar type, at a computed index.
    fn element(&mut self, scalar: &Ty) -> Option<String> {
        let arrays = self.candidates(|ty| {
            let (element, dims) = ty.plain();
            element == scalar && !dims.is_empty() && !dims.contains(&Size::Const(0))
        });
        let (array, ty) = self.c.pick(&arrays).cloned()?;
        let (_, dims) = ty.plain();
        let mut guards = Vec::new();
        let mut at = Vec::new();
        for size in dims {
            at.push(self.index(&size, &mut guards));
        }
        let read = format!("{array}[{}]", at.join(", "));
        if guards.is_empty() {
            return Some(read);
        }
        let other = if *scalar == Ty::Int { "1".to_owned() } else { self.constant() };
        Some(format!("(if {} then {read} else {other})", guards.join(" && ")))
    }

    /// An index below a size, and the condition that there is one.
    fn index(&mut self, size: &Size, guards: &mut Vec<String>) -> String {
        let known: Vec<String> =
            self.indices.iter().filter(|(_, of)| of == size).map(|(name, _)| name.clone()).collect();
        if !known.is_empty() && !self.c.once_in(3) {
            return self.c.pick(&known).cloned().unwrap_or_default();
        }
        if let Size::Var(name) = size
            && known.is_empty()
        {
            let guard = format!("{name} > 0");
            if !guards.contains(&guard) {
                guards.push(guard);
            }
        }
        format!("{} % {}", self.int(1), size.text())
    }
}

/// Adds the parts of a value that have a required type.
fn parts(text: String, ty: &Ty, wanted: &impl Fn(&Ty) -> bool, found: &mut Vec<(String, Ty)>) {
    for (part, ty) in ty.parts() {
        parts(format!("{text}.{part}"), ty, wanted, found);
    }
    if wanted(ty) {
        found.push((text, ty.clone()));
    }
}
