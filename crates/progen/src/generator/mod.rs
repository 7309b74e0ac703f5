//! The generator of programs: expressions of a required type, over the variables in scope, so that
//! they are well typed by construction.
//!
//! Rules that make results comparable:
//! - Expressions cannot fail, though they contain checks: indices are reduced to their range,
//!   divisors made odd. Fallible expressions are made only by [`checks`], and their value is always
//!   a result.
//! - The value of every float expression is a multiple of 1/4 below 64 ([`floats`] explains how),
//!   so sums and products of floats are exact in any order.
//! - Operators of reductions, scans and histograms are associative, with a true neutral element;
//!   those of histograms commute. Writes of one `scatter` to one location are equal.
//! - Consumed arrays are fresh: they have no aliases.
//! - Programs do not run long: `work` estimates how often the current expression is evaluated, and
//!   expressions that repeat it further are made while that is below `cap`.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "programs are concatenated from small texts; generation takes little time"
)]

mod arrays;
mod checks;
mod control;
mod entries;
mod existential;
mod floats;
mod functions;
mod helpers;
mod modules;
mod operators;
mod rows;
mod scalars;
mod statements;
mod types;

pub use entries::{Call, Precision, Program, generate};

use crate::choices::Choices;
use prim::ScalarType;
use std::collections::BTreeSet;
use std::rc::Rc;
use types::{I64, Size, Sum, Ty};

#[derive(Clone, Debug)]
struct Var {
    name: Rc<str>,
    ty: Ty,
    /// True if it can be used: not consumed, not hidden.
    usable: bool,
}

/// A variable of type `i64` that is a size, not negative.
#[derive(Clone, Debug)]
struct SizeVar {
    name: Rc<str>,
    /// The estimated value.
    estimate: i64,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
struct Param {
    name: Rc<str>,
    ty: Ty,
    /// True if it is consumed.
    unique: bool,
}

/// A function that can be called.
#[derive(Clone, Debug)]
struct Fun {
    name: Rc<str>,
    /// The sizes that a call instantiates: size parameters, and parameters that are sizes of the
    /// result.
    open: Vec<Rc<str>>,
    params: Vec<Param>,
    ret: Ty,
}

/// The state of the generator.
struct Gen<'a> {
    c: &'a mut Choices,
    vars: Vec<Var>,
    sizes: Vec<SizeVar>,
    funs: Vec<Fun>,
    sums: Vec<Rc<Sum>>,
    helpers: BTreeSet<usize>,
    next: u32,
    /// The estimated number of evaluations of the current expression.
    work: i64,
    /// The upper limit of `work`.
    cap: i64,
    /// The number of choices after which everything is simple.
    limit: usize,
}

/// The extent of the scope, to return to.
struct Mark {
    vars: usize,
    sizes: usize,
    funs: usize,
}

/// Constant sizes.
const SMALL_SIZES: [i64; 6] = [1, 2, 3, 4, 5, 0];

impl Gen<'_> {
    /// A new name with this prefix.
    fn fresh(&mut self, start: &str) -> Rc<str> {
        self.next += 1;
        format!("{start}{}", self.next).into()
    }

    fn mark(&self) -> Mark {
        Mark { vars: self.vars.len(), sizes: self.sizes.len(), funs: self.funs.len() }
    }

    fn restore(&mut self, mark: Mark) {
        self.vars.truncate(mark.vars);
        self.sizes.truncate(mark.sizes);
        self.funs.truncate(mark.funs);
    }

    /// Brings a variable into scope.
    fn bind(&mut self, name: &Rc<str>, ty: Ty) {
        self.vars.push(Var { name: name.clone(), ty, usable: true });
    }

    /// Disables a variable, or enables it again.
    fn set_live(&mut self, name: &str, live: bool) {
        if let Some(var) = self.vars.iter_mut().rev().find(|var| &*var.name == name) {
            var.usable = live;
        }
    }

    /// Returns true if the current expression may be repeated this often.
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

    /// The estimated value of a size.
    fn estimate(&self, size: &Size) -> i64 {
        match size {
            Size::Const(n) => *n,
            Size::Var(name) => {
                let var = self.sizes.iter().rev().find(|var| var.name == *name);
                var.map_or(8, |var| var.estimate)
            }
        }
    }

    /// The estimated number of scalars in a value of this type.
    fn cells(&self, ty: &Ty) -> i64 {
        match ty {
            Ty::Scalar(_) | Ty::Sum(_) => 1,
            Ty::Array(size, row) => self.estimate(size).saturating_mul(self.cells(row)),
            Ty::Tuple(parts) => parts.iter().map(|ty| self.cells(ty)).sum(),
            Ty::Record(fields) => fields.iter().map(|(_, ty)| self.cells(ty)).sum(),
        }
    }

    /// Returns true if an array of this many such rows is affordable.
    fn affordable_array(&self, size: &Size, row: &Ty) -> bool {
        self.affordable(self.estimate(size).saturating_mul(self.cells(row)))
    }

    /// A size for a new array.
    fn size(&mut self) -> Size {
        let vars = self.sizes.iter().rev().take(5);
        let vars = vars.filter(|var| self.affordable(var.estimate));
        let mut sizes: Vec<Size> = vars.map(|var| Size::Var(var.name.clone())).collect();
        let at = self.c.below(sizes.len() * 2 + 1);
        if at == 0 {
            let n = *self.c.pick(&SMALL_SIZES).unwrap_or(&1);
            return Size::Const(n);
        }
        sizes.swap_remove((at - 1) / 2)
    }

    fn scalar_type(&mut self) -> ScalarType {
        use ScalarType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        const TYPES: [ScalarType; 20] = [
            I64, I64, I64, I32, I32, I32, F32, F32, F64, F64, Bool, Bool, I8, I16, U8, U16, U32, U64, F16,
            F64,
        ];
        *self.c.pick(&TYPES).unwrap_or(&I64)
    }

    /// A type; arrays and tuples are nested up to `depth` levels.
    fn ty(&mut self, depth: u32) -> Ty {
        if depth == 0 {
            return Ty::Scalar(self.scalar_type());
        }
        match self.c.below(10) {
            0..=3 => Ty::Scalar(self.scalar_type()),
            4..=6 => {
                let size = self.size();
                let estimate = self.estimate(&size);
                let row = self.repeated(estimate, |g| g.ty(depth - 1));
                Ty::array(size, row)
            }
            7 => {
                let count = 2 + self.c.below(2);
                Ty::Tuple((0..count).map(|_| self.ty(depth - 1)).collect())
            }
            8 => {
                let names = ["a", "b", "c"];
                let count = 1 + self.c.below(3);
                let fields = names.iter().take(count);
                Ty::Record(fields.map(|name| (*name, self.ty(depth - 1))).collect())
            }
            _ => match self.c.pick(&self.sums) {
                Some(sum) => Ty::Sum(sum.clone()),
                None => Ty::Scalar(self.scalar_type()),
            },
        }
    }

    /// An array type of scalars.
    fn plain_array(&mut self) -> Ty {
        let rank = 1 + self.c.below(3).saturating_sub(1);
        let mut sizes = Vec::new();
        let before = self.work;
        for _ in 0..rank {
            let size = self.size();
            self.work = self.work.saturating_mul(self.estimate(&size).max(1));
            sizes.push(size);
        }
        self.work = before;
        let scalar = Ty::Scalar(self.scalar_type());
        sizes.into_iter().rev().fold(scalar, |row, size| Ty::array(size, row))
    }

    /// An expression of a type, in parentheses where they may be needed.
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
            Ty::Scalar(scalar) => self.scalar(*scalar, fuel),
            Ty::Array(size, row) => self.array(size, row, fuel),
            Ty::Tuple(parts) => self.tuple(parts, fuel),
            Ty::Record(fields) => self.record(fields, fuel),
            Ty::Sum(sum) => self.constructor(sum, fuel),
        }
    }

    fn tuple(&mut self, parts: &[Ty], fuel: u32) -> String {
        let parts: Vec<String> = parts.iter().map(|ty| self.expr(ty, fuel)).collect();
        format!("({})", parts.join(", "))
    }

    fn record(&mut self, fields: &[(&'static str, Ty)], fuel: u32) -> String {
        if fuel > 0
            && self.c.once_in(3)
            && let Some((name, ty)) = self.c.pick(fields).cloned()
        {
            let whole = Ty::Record(fields.to_vec());
            let (old, new) = (self.expr(&whole, fuel - 1), self.expr(&ty, fuel - 1));
            return format!("(({old} : {}) with {name} = {new})", whole.text());
        }
        let field = |(name, ty): &(&'static str, Ty)| format!("{name} = {}", self.expr(ty, fuel));
        let fields: Vec<String> = fields.iter().map(field).collect();
        format!("{{{}}}", fields.join(", "))
    }

    fn constructor(&mut self, sum: &Rc<Sum>, fuel: u32) -> String {
        let at = self.c.below(sum.cases.len());
        let Some((name, payload)) = sum.cases.get(at) else {
            return String::new();
        };
        let payload: String = payload.iter().map(|ty| format!(" {}", self.expr(ty, fuel))).collect();
        format!("(#{name}{payload} : {})", sum.name)
    }

    /// The parts of variables that have a required type, as text.
    fn candidates(&self, wanted: impl Fn(&Ty) -> bool) -> Vec<(String, Ty)> {
        let mut found = Vec::new();
        let recent = self.vars.iter().rev().filter(|var| var.usable).take(24);
        for var in recent {
            parts(var.name.to_string(), &var.ty, &wanted, &mut found);
        }
        if wanted(&I64) {
            let sizes = self.sizes.iter().map(|size| (size.name.to_string(), I64));
            found.extend(sizes);
        }
        found
    }

    /// A variable, part of one, something simple made of one, or a constant.
    fn leaf(&mut self, ty: &Ty) -> String {
        let known = self.candidates(|other| other == ty);
        let at = self.c.below(known.len() * 3 + 1);
        if let Some((text, _)) = at.checked_sub(1).and_then(|at| known.get(at / 3)) {
            return text.clone();
        }
        if self.c.below(3) == 0 {
            return self.constant(ty);
        }
        match ty {
            Ty::Scalar(scalar) => {
                let known = self.candidates(|other| other.scalar().is_some_and(|ty| !ty.is_float()));
                match self.c.pick(&known).cloned() {
                    Some((text, Ty::Scalar(from))) => floats::convert(&text, from, *scalar),
                    _ => self.constant(ty),
                }
            }
            Ty::Array(size, row) if row.scalar().is_some() && self.affordable_array(size, row) => {
                let i = self.fresh("ix");
                let mark = self.mark();
                self.bind(&i, I64);
                let body = self.leaf(row);
                self.restore(mark);
                format!("(tabulate {} (\\{i} -> {body}))", size.text())
            }
            Ty::Array(size, row) => format!("(replicate {} {})", size.text(), self.leaf(row)),
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.leaf(ty)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(_) | Ty::Sum(_) => self.constant(ty),
        }
    }

    fn constant(&mut self, ty: &Ty) -> String {
        match ty {
            Ty::Scalar(scalar) => self.literal(*scalar),
            Ty::Array(size, row) => match size {
                Size::Const(n @ 1..=4) if row.scalar().is_some() => {
                    let elements: Vec<String> = (0..*n).map(|_| self.constant(row)).collect();
                    format!("[{}]", elements.join(", "))
                }
                _ => format!("(replicate {} {})", size.text(), self.constant(row)),
            },
            Ty::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|ty| self.constant(ty)).collect();
                format!("({})", parts.join(", "))
            }
            Ty::Record(fields) => {
                let field = |(name, ty): &(&'static str, Ty)| format!("{name} = {}", self.constant(ty));
                let fields: Vec<String> = fields.iter().map(field).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Ty::Sum(sum) => self.constructor(sum, 0),
        }
    }
}

/// Adds the parts of a value that have a required type.
fn parts(text: String, ty: &Ty, wanted: &impl Fn(&Ty) -> bool, found: &mut Vec<(String, Ty)>) {
    match ty {
        Ty::Tuple(tys) => {
            for (at, ty) in tys.iter().enumerate() {
                parts(format!("{text}.{at}"), ty, wanted, found);
            }
        }
        Ty::Record(fields) => {
            for (name, ty) in fields {
                parts(format!("{text}.{name}"), ty, wanted, found);
            }
        }
        Ty::Scalar(_) | Ty::Array(..) | Ty::Sum(_) => {}
    }
    if wanted(ty) {
        found.push((text, ty.clone()));
    }
}
