//! Reuse: folds in the loops of a segop that read what other iterations read as well.
//!
//! ```text
//! segmap (i < n) { let r = a[i]
//!                  in map (c <- b) { reduce (+) 0 (map2 (*) r c) } }
//! ```
//!
//! `r` depends on the segop's iteration alone, `c` on the inner one. Such a segop leaves vector lanes
//! to iterations, and its reductions remain loops: nests of iterations around a fold are tiled later,
//! and an element that was loaded once is used by several of them, which reductions in lanes do not
//! allow.

use crate::nest::Nest;
use ir::Soacs;
use ir::name::Name;
use ir::soac::{Screma, Soac};
use ir::syntax::{BasicOp, Body, Exp, Lambda, LoopForm, Stm};
use ir::types::Dim;
use ir::walk::{binders, free_names_exp, with_stack};
use rustc_hash::FxHashMap;
use target::chunks::MIN_COLUMNS;

/// A set of the iterations that a value depends on: the segop's, and one bit for each combinator or
/// loop inside.
type Iterations = u64;

/// The segop's own iteration.
const SEGOP: Iterations = 1;
/// The number of nested combinators and loops that are distinguished.
const MAX_DEPTH: usize = 60;

/// The widths of the inner iterations around folds that read one array by these and another one by the
/// segop's iteration or an outer loop, in a segop's body over a nest.
fn tiled_folds(nest: &Nest<'_>, body: &Body<Soacs>) -> Vec<Dim> {
    let mut walk = Walk { nest, known: FxHashMap::default(), widths: Vec::new(), found: Vec::new() };
    walk.body(body);
    walk.found
}

/// Whether a segop's iterations leave vector lanes to tiles.
pub(crate) enum Tiled {
    Never,
    Always,
    /// Where any of these sizes, known before the segop, is at least [`MIN_COLUMNS`].
    IfWide(Vec<Name>),
}

/// Decides for a segop over a nest with this body, which contains no other segops.
pub(crate) fn tiled(nest: &Nest<'_>, body: &Body<Soacs>) -> Tiled {
    let folds = tiled_folds(nest, body);
    if folds.is_empty() {
        return Tiled::Never;
    }
    let inside = binders(body);
    let mut sizes = Vec::new();
    for width in folds {
        match width {
            Dim::Const(n) if n < MIN_COLUMNS => {}
            Dim::Var(size) if !nest.is_variant(size) && !inside.contains(&size) => {
                if !sizes.contains(&size) {
                    sizes.push(size);
                }
            }
            Dim::Const(_) | Dim::Var(_) | Dim::Ext(_) => return Tiled::Always,
        }
    }
    if sizes.is_empty() { Tiled::Never } else { Tiled::IfWide(sizes) }
}

/// The width of the one combinator of a segop's body, known before the segop, where it contains a tiled
/// fold: its iterations may be divided in place of the segop's own.
pub(crate) fn columns(nest: &Nest<'_>, body: &Body<Soacs>) -> Option<Dim> {
    let mut others = body.stms.iter().filter(|stm| !matches!(stm.exp, Exp::Basic(_)));
    let (Some(only), None) = (others.next(), others.next()) else {
        return None;
    };
    let Exp::Op(Soac::Screma(s)) = &only.exp else {
        return None;
    };
    let is_known = match s.width {
        Dim::Const(_) => true,
        Dim::Var(size) => !nest.is_variant(size) && !binders(body).contains(&size),
        Dim::Ext(_) => false,
    };
    let is_map = s.scan_reduce.scans.is_empty() && s.scan_reduce.is_map();
    (is_map && is_known && !tiled_folds(nest, body).is_empty()).then_some(s.width)
}

struct Walk<'n, 'p> {
    nest: &'n Nest<'p>,
    known: FxHashMap<Name, Iterations>,
    /// The widths of the combinators and loops around.
    widths: Vec<Dim>,
    found: Vec<Dim>,
}

impl Walk<'_, '_> {
    fn of(&self, name: Name) -> Iterations {
        let outside = || if self.nest.is_variant(name) { SEGOP } else { 0 };
        self.known.get(&name).copied().unwrap_or_else(outside)
    }

    fn of_all(&self, names: impl IntoIterator<Item = Name>) -> Iterations {
        names.into_iter().fold(0, |all, name| all | self.of(name))
    }

    fn body(&mut self, body: &Body<Soacs>) {
        with_stack(|| body.stms.iter().for_each(|stm| self.stm(stm)));
    }

    fn stm(&mut self, stm: &Stm<Soacs>) {
        let all = self.of_all(free_names_exp(&stm.exp));
        match &stm.exp {
            Exp::Basic(_) | Exp::Apply { .. } => {}
            Exp::If { then_body, else_body, .. } => {
                self.body(then_body);
                self.body(else_body);
            }
            Exp::Loop { params, form, body } => {
                let mut bound: Vec<(Name, Iterations)> =
                    params.iter().map(|param| (param.param.name, all)).collect();
                let mut width = Dim::Const(0);
                if let LoopForm::For { var, bound: trips, .. } = form {
                    bound.push((*var, 0));
                    width = Dim::from_atom(*trips).unwrap_or(width);
                }
                self.inside(width, bound, |walk| walk.body(body));
            }
            Exp::Op(op) => self.soac(op, all),
        }
        self.known.extend(stm.pat.iter().map(|param| (param.name, all)));
    }

    fn soac(&mut self, op: &Soac, all: Iterations) {
        let (width, inputs, lambda): (Dim, &[Name], &Lambda<Soacs>) = match op {
            Soac::Screma(s) => {
                let folds = s.scan_reduce.scans.is_empty() && !s.scan_reduce.is_map();
                if folds && self.reads_by_rows_and_columns(s) {
                    self.found.extend(self.widths.last());
                }
                (s.width, &s.inputs, &s.map)
            }
            Soac::Hist { width, inputs, map, .. } => (*width, inputs, map),
            Soac::Stream { width, inputs, lambda, .. } | Soac::FlatMap { width, inputs, lambda } => {
                (*width, inputs, lambda)
            }
            Soac::WithAcc { lambda, .. }
            | Soac::Jvp { lambda, .. }
            | Soac::Vjp { lambda, .. }
            | Soac::WithVjp { lambda, .. } => (Dim::Const(1), &[], lambda),
        };
        let elements = inputs.iter().map(|input| self.of(*input));
        let own = elements.chain(std::iter::repeat(all));
        let bound = lambda.params.iter().map(|param| param.name).zip(own).collect();
        self.inside(width, bound, |walk| walk.body(&lambda.body));
    }

    /// Walks a body that binds these names once in each of its iterations.
    fn inside(&mut self, width: Dim, bound: Vec<(Name, Iterations)>, f: impl FnOnce(&mut Self)) {
        if self.widths.len() >= MAX_DEPTH {
            return;
        }
        self.widths.push(width);
        let own = SEGOP << self.widths.len();
        self.known.extend(bound.into_iter().map(|(name, all)| (name, all | own)));
        f(self);
        self.widths.pop();
    }

    /// Returns true if two arrays that a fold reads depend on different iterations around it.
    fn reads_by_rows_and_columns(&self, s: &Screma) -> bool {
        let mut reads: Vec<Iterations> = s.inputs.iter().map(|input| self.of(*input)).collect();
        let mut inside: FxHashMap<Name, Iterations> = FxHashMap::default();
        let inputs = s.inputs.iter().map(|input| self.of(*input)).chain(std::iter::repeat(0));
        inside.extend(s.map.params.iter().map(|param| param.name).zip(inputs));
        for stm in &s.map.body.stms {
            let names = free_names_exp(&stm.exp);
            let all = names
                .iter()
                .fold(0, |all, name| all | inside.get(name).copied().unwrap_or_else(|| self.of(*name)));
            if let Exp::Basic(BasicOp::Index { .. }) = &stm.exp {
                reads.push(all);
            }
            inside.extend(stm.pat.iter().map(|param| (param.name, all)));
        }
        let differ = |x: Iterations, y: Iterations| x & !y != 0 && y & !x != 0;
        reads.iter().enumerate().any(|(at, x)| reads[at + 1..].iter().any(|y| differ(*x, *y)))
    }
}
