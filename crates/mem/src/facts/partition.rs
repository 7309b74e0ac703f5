//! Partitions: scans that count several flags, of which each iteration has at most one, followed by a post lambda
//! that scatters the elements to the count of their flag.
//!
//! ```text
//! segscan (i < n) (+, 0) { (btoi (d == 0), .., btoi (d == 3), v) }              where d = v & 3
//!   post (s0, .., s3, v) { out with [if d == 0 then s0 - 1 else .. s3 + k - 1] <- v }
//! ```
//!
//! The passes of a radix sort are such scans. The indices of elements with the same flag are consecutive. That each
//! element is counted by the flag that chooses its index follows from a table: conditions and flags are functions of
//! a digit with few values ([`terms`]) and of flags.

mod terms;

use super::filter::definition;
use analysis::affine::{Values, Widths};
use ir::Mems;
use ir::facts::Partition;
use ir::name::Name;
use ir::poly::Poly;
use ir::scan_reduce::ScanReduce;
use ir::soac::Operator;
use ir::syntax::{Atom, BasicOp, Body, Exp};
use ir::walk::binders;
use prim::{ConvOp, ScalarOp};
use rustc_hash::FxHashSet;
use terms::{Table, Term, Terms};

/// The largest number of counts: vectors of values are packed once for each.
const MOST_COUNTS: usize = 8;
/// The largest number of leaves of the tree that chooses an index.
const MOST_LEAVES: usize = 16;

/// The count that an index is derived from; none if nothing is written.
struct Leaf {
    count: Option<usize>,
}

/// The choice of an index.
enum Tree {
    Leaf(Leaf),
    Branch(Term, Box<[Self; 2]>),
}

/// Returns the partition that a scan over this body and its scatter implement, if they do.
pub(super) fn partition(body: &Body<Mems>, scan_reduce: &ScanReduce<Mems>) -> Option<Partition> {
    let post = scan_reduce.post.as_ref()?;
    let groups = scan_reduce.values(&body.result);
    let counted = groups.scanned.len();
    let sums = scan_reduce.reduces.is_empty() && scan_reduce.scans.iter().all(Operator::adds);
    if !sums || !(2..=MOST_COUNTS).contains(&counted) {
        return None;
    }
    let (counts, params) = post.params.split_at_checked(counted)?;
    let Exp::Basic(BasicOp::UpdateAcc { index, values, .. }) = &post.body.stms.last()?.exp else {
        return None;
    };
    let among = |atom: &Atom| {
        let name = atom.var()?;
        params.iter().position(|param| param.name == name)
    };
    let written = values.iter().map(among).collect::<Option<_>>()?;
    let mut inside: FxHashSet<Name> = binders(&post.body).into_iter().chain(binders(body)).collect();
    inside.extend(post.params.iter().map(|param| param.name));
    let mut choice = Choice {
        terms: Terms::new(body, post, groups.mapped),
        integers: Values::of_body(Widths::Exact, &post.body),
        counts: counts.iter().map(|param| param.name).collect(),
        inside,
        offsets: vec![None; counted],
        leaves: 0,
    };
    let tree = choice.tree(&post.body, *index.first()?)?;
    let flag = |atom: &Atom| {
        let definition = definition(body, *atom)?;
        let BasicOp::Scalar(ScalarOp::Convert { op: ConvOp::BToI, arg, .. }) = definition else {
            return None;
        };
        choice.terms.of(*arg)
    };
    let flags: Vec<Term> = groups.scanned.iter().map(flag).collect::<Option<_>>()?;
    let mut all: Vec<&Term> = flags.iter().collect();
    conditions(&tree, &mut all);
    let table = Table::of(&all)?;
    let agrees = table.holds(|row| {
        let chosen = chosen(&tree, row)?;
        flags.iter().enumerate().try_fold(true, |all, (at, flag)| {
            Some(all && row.value(flag)?.as_bool()? == (chosen.count == Some(at)))
        })
    });
    let complete = table.holds(|row| Some(chosen(&tree, row)?.count.is_some()));
    let offsets = choice.offsets.into_iter().collect::<Option<_>>()?;
    agrees.then_some(Partition { values: written, offsets, complete })
}

struct Choice {
    terms: Terms,
    integers: Values,
    counts: Vec<Name>,
    /// The names that the segop binds.
    inside: FxHashSet<Name>,
    /// The offset of the index from each count.
    offsets: Vec<Option<Poly>>,
    leaves: usize,
}

impl Choice {
    /// The tree of an operand of a body of the post lambda.
    fn tree(&mut self, body: &Body<Mems>, atom: Atom) -> Option<Tree> {
        let found = body.stms.iter().find_map(|stm| {
            let at = stm.pat.iter().position(|param| atom.var() == Some(param.name))?;
            Some((&stm.exp, at))
        });
        match found {
            Some((Exp::If { cond, then_body, else_body }, at)) => {
                let cond = self.terms.of(*cond)?;
                let yes = self.tree(then_body, *then_body.result.get(at)?)?;
                let no = self.tree(else_body, *else_body.result.get(at)?)?;
                Some(Tree::Branch(cond, Box::new([yes, no])))
            }
            Some((Exp::Basic(BasicOp::Scalar(ScalarOp::Select { cond, if_true, if_false, .. })), _)) => {
                let cond = self.terms.of(*cond)?;
                let yes = self.tree(body, *if_true)?;
                let no = self.tree(body, *if_false)?;
                Some(Tree::Branch(cond, Box::new([yes, no])))
            }
            _ => self.leaf(atom),
        }
    }

    fn leaf(&mut self, atom: Atom) -> Option<Tree> {
        self.leaves += 1;
        if self.leaves > MOST_LEAVES {
            return None;
        }
        let index = self.integers.value(atom);
        if index.as_constant().is_some_and(|index| index < 0) {
            return Some(Tree::Leaf(Leaf { count: None }));
        }
        let count = self.counts.iter().position(|count| index.names().any(|name| name == *count))?;
        let offset = index.sub(&Poly::var(self.counts[count]));
        if offset.names().any(|name| self.inside.contains(&name)) {
            return None;
        }
        let known = self.offsets[count].get_or_insert_with(|| offset.clone());
        (*known == offset).then_some(Tree::Leaf(Leaf { count: Some(count) }))
    }
}

/// Appends the conditions of a tree.
fn conditions<'t>(tree: &'t Tree, all: &mut Vec<&'t Term>) {
    if let Tree::Branch(cond, arms) = tree {
        all.push(cond);
        arms.iter().for_each(|arm| conditions(arm, all));
    }
}

/// The leaf that a row of the table chooses.
fn chosen<'t>(tree: &'t Tree, row: &terms::Row<'_>) -> Option<&'t Leaf> {
    match tree {
        Tree::Leaf(leaf) => Some(leaf),
        Tree::Branch(cond, arms) => chosen(&arms[usize::from(!row.value(cond)?.as_bool()?)], row),
    }
}
