//! Programs that are nests with reuse: products, convolutions, stencils and distances of odd
//! shapes, whose folds read what other iterations read as well. The compiler tiles such nests, packs
//! operands, splits loops and index sets; general programs rarely contain them.
//!
//! An entry point is made by one of the families ([`products`], [`chains`], [`stencils`],
//! [`distances`]) of operands ([`operands`]) and folds ([`folds`]), with sizes as parameters
//! ([`sizes`]).
//!
//! Results are comparable: all values are small integers in all types, so sums of floats are exact
//! in any order; where sums feed other sums, floats are made small again ([`scalars::tame`]).
//! Elements of minima and maxima are no zeros with a sign.

#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "programs are concatenated from small texts; generation takes little time"
)]

mod chains;
mod distances;
mod folds;
mod operands;
mod products;
mod scalars;
mod sizes;
mod stencils;
mod updates;

use crate::choices::Choices;
use crate::generator::{Call, Precision, Program};
use prim::ScalarType;
use sizes::{Dim, SizeVar, Values};
use std::fmt::Write as _;

/// The number of iterations per unit of the programs' size.
const WORK: i64 = 800;
/// The number of calls of an entry point.
const CALLS: usize = 2;

/// A parameter of an entry point; an array unless it has no dimensions.
struct Param {
    name: String,
    dims: Vec<Dim>,
    ty: ScalarType,
    values: Values,
}

/// An expression and its type.
#[derive(Clone)]
struct Typed {
    text: String,
    dims: Vec<Dim>,
    ty: ScalarType,
}

/// The state of the generator: the current entry point.
struct Gen<'c> {
    c: &'c mut Choices,
    next: u32,
    sizes: Vec<SizeVar>,
    params: Vec<Param>,
    /// The bindings before the results.
    bindings: String,
    results: Vec<Typed>,
    /// Index spaces, whose sizes are bounded.
    work: Vec<Vec<Dim>>,
}

/// The program of a sequence of choices; `size` bounds it, 100 is ordinary.
pub fn generate(c: &mut Choices, size: usize) -> Program {
    let mut g = Gen {
        c,
        next: 0,
        sizes: Vec::new(),
        params: Vec::new(),
        bindings: String::new(),
        results: Vec::new(),
        work: Vec::new(),
    };
    let mut program = Program { text: String::new(), calls: Vec::new() };
    let entries = 1 + usize::from(g.c.once_in(2));
    for at in 0..entries {
        let name = ["main", "other"][at];
        g.entry(name, &mut program.text);
        g.calls(name, WORK * size as i64, &mut program.calls);
    }
    program
}

impl Gen<'_> {
    /// A new name with this prefix.
    fn fresh(&mut self, start: &str) -> String {
        self.next += 1;
        format!("{start}{}", self.next)
    }

    /// Several new names.
    fn fresh_all<const N: usize>(&mut self, starts: [&str; N]) -> [String; N] {
        starts.map(|start| self.fresh(start))
    }

    /// One of some texts.
    fn pick_text(&mut self, texts: &[&'static str]) -> &'static str {
        self.c.pick(texts).copied().unwrap_or_default()
    }

    /// Binds an expression before the results; returns its name.
    fn bind(&mut self, value: &str) -> String {
        let name = self.fresh("v");
        let _ = writeln!(self.bindings, "  let {name} = {value}");
        name
    }

    /// A parameter.
    fn param(&mut self, dims: &[Dim], ty: ScalarType, values: Values) -> String {
        let name = self.fresh("p");
        self.params.push(Param { name: name.clone(), dims: dims.to_vec(), ty, values });
        name
    }

    /// Adds a result.
    fn result(&mut self, text: impl Into<String>, dims: &[Dim], ty: ScalarType) {
        self.results.push(Typed { text: text.into(), dims: dims.to_vec(), ty });
    }

    /// An entry point of a family.
    fn entry(&mut self, name: &str, text: &mut String) {
        self.sizes.clear();
        self.params.clear();
        self.bindings.clear();
        self.results.clear();
        self.work.clear();
        match self.c.below(18) {
            0..=6 => self.product_entry(),
            7 => self.vector_entry(),
            8 => self.shared_entry(),
            9..=11 => self.chain_entry(),
            12 => self.update_entry(),
            13 | 14 => self.convolution_entry(),
            15 => self.stencil_entry(),
            _ => self.distance_entry(),
        }
        let _ = write!(text, "entry {name}");
        for size in self.implicit_sizes() {
            let _ = write!(text, " [{size}]");
        }
        for size in self.explicit_sizes() {
            let _ = write!(text, " ({}: i64)", self.dim(size));
        }
        for param in &self.params {
            let _ = write!(text, " ({}: {})", param.name, self.type_text(&param.dims, param.ty));
        }
        if self.c.once_in(2) {
            let types: Vec<String> = self.results.iter().map(|r| self.type_text(&r.dims, r.ty)).collect();
            let _ = write!(text, " : ({})", types.join(", "));
        }
        let results: Vec<&str> = self.results.iter().map(|result| result.text.as_str()).collect();
        let start = if self.bindings.is_empty() { "" } else { "in " };
        let _ = write!(text, " =\n{}  {start}({})\n\n", self.bindings, results.join(",\n   "));
    }

    /// Calls with sizes and values of their own.
    fn calls(&mut self, entry: &str, cap: i64, calls: &mut Vec<Call>) {
        for _ in 0..CALLS {
            let sizes = self.draw_sizes(cap);
            let mut args = String::new();
            for size in self.explicit_sizes() {
                let _ = writeln!(args, "{}i64", sizes[size.0]);
            }
            for param in &self.params {
                let seed = self.c.below(64) as u64;
                sizes::write_values(param, &sizes, seed, &mut args);
                args.push('\n');
            }
            calls.push(Call {
                entry: entry.to_owned(),
                args,
                may_fail: false,
                precision: Precision::EXACT,
                expected: None,
            });
        }
    }
}
