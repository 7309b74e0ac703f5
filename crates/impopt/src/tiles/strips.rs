//! Strips: independent iterations that contain several nests run a strip of them at a time, each
//! statement for all iterations of the strip.
//!
//! ```text
//! for i in lo .. hi independent {        ss = alloc of the arrays of all iterations of a strip
//!   s = alloc ..                         for each strip {
//!   for j independent { fold; s[j] = .. }  for i in the strip independent { for j .. { fold; ss[j, i] = .. } }
//!   x = ..                          =>     for i in the strip independent { x = ..; xs[i] = x }
//!   for j independent { fold of s, x }     for i in the strip independent { x = xs[i]; for j { fold of ss[.., i], x } }
//! }                                      }
//! ```
//!
//! Then each nest shares its reads with all iterations of the strip, and is tiled. Arrays that belong
//! to an iteration have one copy for each iteration of a strip, interleaved, so that vector lanes may
//! run iterations; so have scalars, unless they are cheap to compute again. A strip is so short that
//! these copies stay in the second-level cache. Loops that combine the results of folds are split
//! before ([`fission`](super::fission)).
//!
//! Needs: independent iterations. No statement is executed more often than before, and each
//! iteration executes its statements in the same order.

use super::emit::{Emit, Names};
use imp::build::{Operand, max, min};
use imp::def_use::DefUse;
use imp::rename::each_var_mut;
use imp::walk::{Use, divides, each_stmt, each_stmt_mut, each_use, each_var, scalar_type};
use imp::{CheckId, Expr, For, LoopMode, Stmt, Var, VarInfo, VarType, bind, expr};
use prim::PrimType;
use rustc_hash::{FxHashMap, FxHashSet};

/// The bytes of the arrays of a strip: they stay in the second-level cache.
const STRIP_BYTES: i64 = 512 * 1024;
/// The iterations of a strip: a multiple of the unit, a few vectors.
const STRIP_UNIT: i64 = 32;
const MAX_STRIP: i64 = 256;
/// The largest size of the arrays of an iteration, and of one dimension of them.
const MAX_BYTES: i64 = 1 << 20;
/// The fewest iterations that run in strips.
const MIN_ITERATIONS: i64 = 4;
/// The largest number of statements of an iteration.
const MAX_STATEMENTS: usize = 160;

/// An array that belongs to one iteration.
struct Private {
    buffer: Var,
    bytes: Expr,
    check: Option<CheckId>,
}

/// A part of an iteration: one nest, or the statements between nests.
struct Group<'f> {
    stmts: Vec<&'f Stmt>,
    /// The variables that it sets, with repetitions.
    sets: Vec<Var>,
    names: FxHashSet<Var>,
}

/// The components of an iteration.
struct Parts<'f> {
    /// Sets of values that are the same in all iterations.
    invariant: Vec<&'f Stmt>,
    private: Vec<Private>,
    /// Sets that every group repeats.
    repeated: Vec<&'f Stmt>,
    groups: Vec<Group<'f>>,
    /// Scalars that a group sets for others.
    kept: Vec<(Var, PrimType)>,
}

/// Returns true if iterations may run in strips, as far as the loop with number `at` shows before it is split.
pub(super) fn is_candidate(f: &For, at: u32, vars: &[VarInfo], def_use: &DefUse) -> bool {
    let nested = |stmt: &Stmt| stmt.blocks()[0].iter().any(|stmt| matches!(stmt, Stmt::For(_)));
    f.mode == (LoopMode::Seq { independent: true })
        && vars[f.var.index()].ty == VarType::Scalar(PrimType::I64)
        && imp::walk::is_at_most(&f.body, MAX_STATEMENTS)
        && f.body.iter().any(nested)
        && is_local(f, at, def_use)
        && have_one_size(f)
}

/// The condition under which a candidate's iterations run in strips, and the strips. No other buffer denotes the
/// block of a `distinct` one.
pub(super) fn strips(
    g: &mut Emit<'_>,
    f: &For,
    at: u32,
    (def_use, distinct): (&DefUse, &[Var]),
) -> Option<(Expr, Vec<Stmt>)> {
    let whole = [Stmt::For(with_splits(g, f, at, (def_use, distinct)))];
    let [Stmt::For(f)] = &whole else {
        return None;
    };
    let folds = f.body.iter().filter(|stmt| has_fold(stmt)).count();
    if folds == 0 || f.body.iter().filter(|stmt| !is_pure(stmt)).count() < 2 {
        return None;
    }
    let def_use = DefUse::of_stmts(&whole, g.vars().len());
    let parts = Parts::of(f, g.vars(), &def_use)?;
    Some(parts.emit(g, f))
}

/// Returns true if all variables that a loop sets belong to one iteration.
fn is_local(f: &For, at: u32, def_use: &DefUse) -> bool {
    let end = def_use.end(at);
    f.body.iter().flat_map(super::reuse::sets).all(|var| {
        def_use.is_local(var, at, end) && def_use.dominating_def(var).is_some_and(|first| first > at)
    })
}

/// The loop, with loops around folds split.
fn with_splits(g: &mut Emit<'_>, f: &For, at: u32, (def_use, distinct): (&DefUse, &[Var])) -> For {
    let (mut body, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = at + 1;
    let private: FxHashSet<Var> = f
        .body
        .iter()
        .filter_map(|stmt| {
            let (Stmt::Alloc(buffer, ..) | Stmt::Frame { buffer, .. }) = stmt else {
                return None;
            };
            Some(*buffer)
        })
        .collect();
    for stmt in &f.body {
        let split = if let Stmt::For(inner) = stmt {
            super::fission::split(g, (inner, at), (&private, distinct), def_use)
        } else {
            None
        };
        at = def_use.end(at);
        let Some(split) = split else {
            body.push(stmt.clone());
            continue;
        };
        for (array, bytes) in split.arrays {
            before.push(Stmt::Alloc(array, bytes, None));
            after.push(Stmt::Release(array));
        }
        body.extend(split.loops);
    }
    before.append(&mut body);
    before.append(&mut after);
    For { body: before, ..f.clone() }
}

/// Returns true for an independent loop that contains a loop.
fn has_fold(stmt: &Stmt) -> bool {
    if let Stmt::For(f) = stmt {
        f.mode == (LoopMode::Seq { independent: true })
            && f.body.iter().any(|stmt| matches!(stmt, Stmt::For(_)))
    } else {
        false
    }
}

fn is_pure(stmt: &Stmt) -> bool {
    if let Stmt::Set(_, value) = stmt { !divides(value) } else { false }
}

impl<'f> Parts<'f> {
    fn of(f: &'f For, vars: &[VarInfo], def_use: &DefUse) -> Option<Self> {
        let own: FxHashSet<Var> =
            f.body.iter().flat_map(super::reuse::sets).chain(std::iter::once(f.var)).collect();
        let mut fits = true;
        let mut parts = Self {
            invariant: Vec::new(),
            private: Vec::new(),
            repeated: Vec::new(),
            groups: Vec::new(),
            kept: Vec::new(),
        };
        // What varies from iteration to iteration.
        let mut varying = own.clone();
        let mut repeatable = FxHashSet::from_iter([f.var]);
        let mut rest: Vec<&Stmt> = Vec::new();
        let mut buffers: FxHashSet<Var> = FxHashSet::default();
        for stmt in &f.body {
            if let Stmt::Set(var, value) = stmt
                && is_pure(stmt)
                && def_use.is_set_once(*var)
            {
                let (mut same, mut again) = (true, true);
                each_var(value, &mut |var, _| {
                    same &= !varying.contains(&var);
                    again &= !varying.contains(&var) || repeatable.contains(&var);
                });
                if same {
                    varying.remove(var);
                    parts.invariant.push(stmt);
                } else if again {
                    repeatable.insert(*var);
                    parts.repeated.push(stmt);
                } else {
                    rest.push(stmt);
                }
            } else if let Stmt::Alloc(buffer, bytes, check) = stmt {
                each_var(bytes, &mut |var, _| fits &= !varying.contains(&var));
                buffers.insert(*buffer);
                parts.private.push(Private { buffer: *buffer, bytes: bytes.clone(), check: *check });
            } else if let Stmt::Frame { buffer, elem, count } = stmt {
                let bytes = Expr::i64((count * elem.size()) as i64);
                buffers.insert(*buffer);
                parts.private.push(Private { buffer: *buffer, bytes, check: None });
            } else if let Stmt::Release(buffer) = stmt {
                fits &= buffers.contains(buffer);
            } else {
                rest.push(stmt);
            }
        }
        for stmt in &rest {
            each_stmt(std::slice::from_ref(*stmt), &mut |stmt| fits &= can_be_in_strip(stmt, &buffers, vars));
        }
        if !fits {
            return None;
        }
        let mut before = false;
        for stmt in rest {
            let alone = has_fold(stmt);
            if alone || before || parts.groups.is_empty() {
                parts.groups.push(Group { stmts: Vec::new(), sets: Vec::new(), names: FxHashSet::default() });
            }
            before = alone;
            let group = parts.groups.last_mut()?;
            group.stmts.push(stmt);
            each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
                each_use(stmt, &mut |var, used| {
                    group.names.insert(var);
                    if used == Use::Sets {
                        group.sets.push(var);
                    }
                });
            });
        }
        let mut owners: FxHashMap<Var, usize> = FxHashMap::default();
        for (at, group) in parts.groups.iter().enumerate() {
            for var in &group.sets {
                owners.entry(*var).or_insert(at);
            }
        }
        let others_name = |var: &Var| {
            let owner = owners.get(var);
            parts.groups.iter().enumerate().any(|(at, group)| Some(&at) != owner && group.names.contains(var))
        };
        let mut kept: Vec<Var> =
            parts.groups.iter().flat_map(|group| &group.sets).copied().filter(others_name).collect();
        kept.sort_unstable_by_key(|var| var.index());
        kept.dedup();
        for var in kept {
            parts.kept.push((var, scalar_type(vars, var)?));
        }
        Some(parts)
    }

    fn emit(self, g: &mut Emit<'_>, f: &For) -> (Expr, Vec<Stmt>) {
        bind!(count = g(f.to.clone() - f.from.clone()));
        let mut shared = Names::default();
        g.open();
        for stmt in &self.invariant {
            g.copy(stmt, &mut shared);
        }
        let renamed = |expr: &Expr, names: &Names| {
            let mut stmt = [Stmt::Set(f.var, expr.clone())];
            each_var_mut(&mut stmt, &mut |var| {
                if let Some(new) = names.get(var) {
                    *var = *new;
                }
            });
            let [Stmt::Set(_, expr)] = stmt else {
                return expr.clone();
            };
            expr
        };
        let mut each = Expr::i64(0);
        let mut sizes = Vec::new();
        for private in &self.private {
            // A size that no memory has remains one.
            let bytes = min(renamed(&private.bytes, &shared), MAX_BYTES);
            bind!(bytes = g(bytes));
            each = each + max(bytes, 0);
            sizes.push(bytes);
        }
        for (_, ty) in &self.kept {
            each = each + ty.size() as i64;
        }
        bind!(each = g(max(each, 1)));
        let before = g.close();
        g.emit_all(before);
        let fits = expr!(MIN_ITERATIONS <= count && each < MAX_BYTES);
        let fits = sizes.iter().fold(fits, |fits, bytes| expr!(fits && -1 < bytes));
        g.open();
        bind!(strip = g(min(max(Expr::i64(STRIP_BYTES / STRIP_UNIT) / each, 1) * STRIP_UNIT, MAX_STRIP)));
        bind!(strip = g(min(strip, count)));
        let mut blocks = Vec::new();
        for (private, bytes) in self.private.iter().zip(&sizes) {
            let block = g.buffer("strip");
            g.emit(Stmt::Alloc(block, strip * bytes, private.check));
            blocks.push((private.buffer, block));
        }
        let arrays: Vec<(Var, PrimType, Var)> =
            self.kept.iter().map(|(var, ty)| (*var, *ty, g.block(*ty, strip.into(), "kept"))).collect();
        bind!(strips = g((count + (strip - 1)) / strip));
        let number = g.counter("strip");
        g.open();
        bind!(first = g(number * strip));
        bind!(some = g(min(count - first, strip)));
        for (at, group) in self.groups.iter().enumerate() {
            let mut names = shared.clone();
            let r = g.counter("r");
            g.open();
            let index = g.like(f.var, &mut names);
            g.emit(Stmt::Set(index, f.from.clone() + (first + r)));
            for stmt in self.repeated_for(group) {
                g.copy(stmt, &mut names);
            }
            for (var, ty, array) in &arrays {
                let set_before = self.groups[..at].iter().any(|group| group.sets.contains(var));
                if set_before && group.names.contains(var) {
                    let new = g.like(*var, &mut names);
                    g.emit(Stmt::Load(new, super::emit::element(*array, *ty, r)));
                }
            }
            g.open();
            for stmt in &group.stmts {
                g.copy(stmt, &mut names);
            }
            let mut stmts = g.close();
            for (buffer, block) in &blocks {
                interleave(&mut stmts, (*buffer, *block), strip, r);
            }
            g.emit_all(stmts);
            for (var, ty, array) in &arrays {
                let read_later = self.groups[at + 1..].iter().any(|group| group.names.contains(var));
                if read_later && group.sets.contains(var) {
                    let new = g.like(*var, &mut names);
                    g.emit(Stmt::Store(super::emit::element(*array, *ty, r), new.into()));
                }
            }
            let body = g.close();
            g.emit_loop(true, (r, Expr::i64(0), some.into()), body);
        }
        let body = g.close();
        g.emit_loop(false, (number, Expr::i64(0), strips.into()), body);
        for block in blocks.iter().map(|(_, block)| *block).chain(arrays.iter().map(|(_, _, array)| *array)) {
            g.emit(Stmt::Release(block));
        }
        (fits, g.close())
    }

    /// The repeated statements that a group needs.
    fn repeated_for(&self, group: &Group<'f>) -> Vec<&'f Stmt> {
        let mut needed = group.names.clone();
        let mut all: Vec<&Stmt> = Vec::new();
        for stmt in self.repeated.iter().rev() {
            if let Stmt::Set(var, value) = stmt
                && needed.contains(var)
            {
                each_var(value, &mut |var, _| {
                    needed.insert(var);
                });
                all.push(stmt);
            }
        }
        all.reverse();
        all
    }
}

/// Returns true if a statement of an iteration can be executed for a strip of iterations, with these
/// private arrays.
fn can_be_in_strip(stmt: &Stmt, private: &FxHashSet<Var>, vars: &[VarInfo]) -> bool {
    let element = matches!(stmt, Stmt::Load(..) | Stmt::Store(..) | Stmt::Copy { .. });
    let mut names_private = false;
    let mut sets_buffer = false;
    each_use(stmt, &mut |var, used| {
        names_private |= private.contains(&var);
        sets_buffer |= used == Use::Sets && vars[var.index()].ty.is_buffer();
    });
    let sequential = if let Stmt::For(f) = stmt { matches!(f.mode, LoopMode::Seq { .. }) } else { true };
    let simple = matches!(
        stmt,
        Stmt::Set(..)
            | Stmt::If(..)
            | Stmt::While(..)
            | Stmt::For(_)
            | Stmt::Check { .. }
            | Stmt::RecordComparison(..)
    );
    (element || simple && !names_private) && sequential && !sets_buffer
}

/// Turns the accesses of a private array into accesses of its copy for iteration `r` of a strip.
fn interleave(stmts: &mut [Stmt], (buffer, block): (Var, Var), strip: Operand, r: Var) {
    let times = |e: &mut Expr| *e = std::mem::replace(e, Expr::i64(0)) * strip;
    let at = |offset: &mut Expr| *offset = std::mem::replace(offset, Expr::i64(0)) * strip + r;
    each_stmt_mut(stmts, &mut |stmt| {
        if let Stmt::Load(_, access) | Stmt::Store(access, _) = stmt {
            if access.buffer == buffer {
                access.buffer = block;
                at(&mut access.offset);
                access.dims.iter_mut().for_each(|(_, stride)| times(stride));
            }
        } else if let Stmt::Copy { to, from, elem, extents, .. } = stmt {
            if to.buffer != buffer && from.buffer != buffer {
                return;
            }
            for side in [&mut *to, &mut *from] {
                if side.buffer == buffer {
                    side.buffer = block;
                    at(&mut side.offset);
                    side.strides.iter_mut().for_each(times);
                }
            }
            *stmt = Stmt::copy(to.clone(), from.clone(), *elem, extents.clone());
        }
    });
}

/// Returns true if all accesses of each array have the same element size.
fn have_one_size(f: &For) -> bool {
    let mut sizes: FxHashMap<Var, u64> = FxHashMap::default();
    let mut fits = true;
    each_stmt(&f.body, &mut |stmt| {
        let mut accessed = |buffer: Var, elem: PrimType| {
            fits &= *sizes.entry(buffer).or_insert(elem.size()) == elem.size();
        };
        if let Stmt::Load(_, access) | Stmt::Store(access, _) = stmt {
            accessed(access.buffer, access.elem);
        } else if let Stmt::Copy { to, from, elem, .. } = stmt {
            accessed(to.buffer, *elem);
            accessed(from.buffer, *elem);
        }
    });
    fits
}
