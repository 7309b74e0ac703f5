//! Exhaustiveness and reachability: the cases of a `match` must cover all values, a case covered by
//! earlier ones is reported, and patterns of bindings and parameters must be irrefutable.
//!
//! The algorithm works on pattern matrices (Maranget, "Warnings for pattern matching", 2007). If
//! every constructor of the type occurs in the first column, the rows of each constructor are
//! searched further; otherwise some value matches only rows with a wildcard in that column, and
//! these decide. A value that no row matches is shown as a witness. With one more row, which the
//! value must match, the same search determines if a case is reachable.
//!
//! Needs a finished definition. Guarantees nothing but the errors and warnings.

use crate::context::Context;
use crate::tast::{Bind, Case, Def, Exp, ExpKind, LoopForm, Name, Pat, PatKind, Ty};
use crate::visit::children;
use prim::{Scalar, ScalarType};
use rustc_hash::FxHashSet;
use std::fmt::Write as _;
use std::sync::Arc;
use syntax::diag::Diagnostic;

/// The maximum number of rows visited for one `match`.
const MAX_ROWS: usize = 1_000_000;

/// Reports the non-exhaustive matches of a definition, and refutable patterns where only
/// irrefutable ones are allowed.
pub(crate) fn check(def: &Def, cx: &mut Context<'_>) {
    for pat in &def.params {
        irrefutable(pat, cx);
    }
    matches_in(&def.body, cx);
}

fn matches_in(exp: &Exp, cx: &mut Context<'_>) {
    stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
        match &exp.kind {
            ExpKind::Lambda(lambda) => {
                for pat in &lambda.params {
                    irrefutable(pat, cx);
                }
            }
            ExpKind::Let { binds, body: _ } => {
                for bind in binds {
                    match bind {
                        Bind::Pat { pat, .. } => irrefutable(pat, cx),
                        Bind::Fun(def) => check(def, cx),
                    }
                }
            }
            ExpKind::Loop { pat, form, .. } => {
                irrefutable(pat, cx);
                if let LoopForm::ForIn(pat, _) = form {
                    irrefutable(pat, cx);
                }
            }
            ExpKind::Match { scrutinee, cases } => {
                let pats = cases.iter().map(|case| &case.pat);
                if let Some(missing) = unmatched(&scrutinee.ty, pats) {
                    let message = format!("Unmatched cases in this `match`: \"{missing}\"");
                    cx.report(
                        Diagnostic::error("unmatched-cases", message)
                            .at(exp.span, "")
                            .hint("add a case, or `case _` for all other values"),
                    );
                }
                if !cx.site.is_prelude() {
                    unreachable(&scrutinee.ty, cases, cx);
                }
            }
            _ => {}
        }
        children(exp, &mut |child| matches_in(child, cx));
    });
}

/// Warns of unreachable cases.
fn unreachable(ty: &Ty, cases: &[Case], cx: &mut Context<'_>) {
    let mut search = Search { fuel: MAX_ROWS };
    let mut before: Vec<Row<'_>> = Vec::new();
    for case in cases {
        let row = vec![Some(strip_attrs(&case.pat))];
        let found = search.uncovered(&before, &row, &[ty]);
        if found.is_none() && search.fuel > 0 {
            cx.warn(
                Diagnostic::warning("unreachable-case", "This case is never reached")
                    .at(case.pat.span, "")
                    .note("earlier cases match every value that it matches"),
            );
        }
        before.push(row);
    }
}

fn irrefutable(pat: &Pat, cx: &mut Context<'_>) {
    if let Some(missing) = unmatched(&pat.ty, std::iter::once(pat)) {
        let message = format!("Refutable pattern: it does not match \"{missing}\"");
        cx.report(
            Diagnostic::error("refutable-pattern", message)
                .at(pat.span, "")
                .hint("only the patterns of a `match` may be refutable"),
        );
    }
}

/// A value of the type that no pattern matches, as a pattern.
fn unmatched<'p>(ty: &Ty, pats: impl Iterator<Item = &'p Pat>) -> Option<String> {
    let rows: Vec<Row<'_>> = pats.map(|pat| vec![Some(strip_attrs(pat))]).collect();
    let mut search = Search { fuel: MAX_ROWS };
    let found = search.uncovered(&rows, &vec![None], &[ty])?;
    let mut out = String::new();
    for witness in &found {
        witness.show(false, &mut out);
    }
    Some(out)
}

/// Patterns for several values; `None` matches every value.
type Row<'p> = Vec<Option<&'p Pat>>;

/// The pattern without attributes.
fn strip_attrs(mut pat: &Pat) -> &Pat {
    while let PatKind::Attr(_, inner) = &pat.kind {
        pat = inner;
    }
    pat
}

/// The head of a pattern: its form without its components.
#[derive(Clone, PartialEq)]
enum Head {
    /// A wildcard or variable.
    Any,
    /// The only form of its type: a tuple or record.
    Only,
    /// A constructor of a sum type.
    Constr(Name),
    Bool(bool),
    /// A literal of a type with many values.
    Literal(Scalar),
}

fn head(cell: Option<&Pat>) -> Head {
    match cell.map(|pat| &pat.kind) {
        None | Some(PatKind::Var(_) | PatKind::Wildcard | PatKind::Attr(..)) => Head::Any,
        Some(PatKind::Tuple(_) | PatKind::Record(_)) => Head::Only,
        Some(PatKind::Constr(label, _)) => Head::Constr(Arc::clone(label)),
        Some(PatKind::Lit(Scalar::Bool(value), _)) => Head::Bool(*value),
        Some(PatKind::Lit(value, _)) => Head::Literal(*value),
    }
}

/// The components of a cell, in the order of the type's; for a wildcard, `n` wildcards.
fn components<'p>(cell: Option<&'p Pat>, ty: &Ty, n: usize) -> Row<'p> {
    match cell.map(|pat| &pat.kind) {
        Some(PatKind::Tuple(parts) | PatKind::Constr(_, parts)) => {
            parts.iter().map(|pat| Some(strip_attrs(pat))).collect()
        }
        Some(PatKind::Record(fields)) => {
            let find = |label: &Name| fields.iter().find(|(l, _)| l == label);
            match ty {
                Ty::Record(tys) => {
                    tys.iter().map(|(label, _)| find(label).map(|(_, pat)| strip_attrs(pat))).collect()
                }
                _ => fields.iter().map(|(_, pat)| Some(strip_attrs(pat))).collect(),
            }
        }
        _ => vec![None; n],
    }
}

/// A pattern matrix, split at its first column.
struct PatternMatrix<'c, 'p> {
    rows: &'c [Row<'p>],
    heads: Vec<Head>,
    /// The row that the value must match.
    must: &'c Row<'p>,
    /// The type of the first column.
    ty: &'c Ty,
    /// The types of the other columns.
    rest: &'c [&'c Ty],
}

struct Search {
    fuel: usize,
}

impl Search {
    /// Values of the types that `must` matches and no row does. Also `None` when the fuel is used
    /// up.
    fn uncovered(&mut self, rows: &[Row<'_>], must: &Row<'_>, types: &[&Ty]) -> Option<Vec<Witness>> {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            self.missing_inner(rows, must, types)
        })
    }

    fn missing_inner(&mut self, rows: &[Row<'_>], must: &Row<'_>, types: &[&Ty]) -> Option<Vec<Witness>> {
        let Some((ty, rest)) = types.split_first() else {
            return rows.is_empty().then(Vec::new);
        };
        self.fuel = self.fuel.saturating_sub(rows.len() + 1);
        if self.fuel == 0 {
            return None;
        }
        let column =
            PatternMatrix { rows, heads: rows.iter().map(|row| head(first(row))).collect(), must, ty, rest };
        let target = head(first(must));
        match ty {
            _ if target == Head::Any && column.heads.iter().all(|head| *head == Head::Any) => {}
            Ty::Tuple(parts) => {
                let parts: Vec<&Ty> = parts.iter().collect();
                let found = self.specialise(&column, &Head::Only, &parts)?;
                return Some(group_witnesses(found, parts.len(), Witness::Tuple));
            }
            Ty::Record(fields) => {
                let parts: Vec<&Ty> = fields.iter().map(|(_, ty)| ty).collect();
                let found = self.specialise(&column, &Head::Only, &parts)?;
                return Some(group_witnesses(found, parts.len(), |parts| {
                    let labels = fields.iter().map(|(label, _)| Arc::clone(label));
                    Witness::Record(labels.zip(parts).collect())
                }));
            }
            Ty::Sum(constrs) => {
                let used: FxHashSet<&Name> = column
                    .heads
                    .iter()
                    .chain([&target])
                    .filter_map(|head| match head {
                        Head::Constr(label) => Some(label),
                        Head::Any | Head::Only | Head::Bool(_) | Head::Literal(_) => None,
                    })
                    .collect();
                if target == Head::Any
                    && let Some((label, payload)) = constrs.iter().find(|(l, _)| !used.contains(l))
                {
                    let mut found = self.default_matrix(&column)?;
                    let any = vec![Witness::Any; payload.len()];
                    found.insert(0, Witness::Constr(Arc::clone(label), any));
                    return Some(found);
                }
                return constrs.iter().find_map(|(label, payload)| {
                    let parts: Vec<&Ty> = payload.iter().collect();
                    let constr = Head::Constr(Arc::clone(label));
                    let found = self.specialise(&column, &constr, &parts)?;
                    Some(group_witnesses(found, parts.len(), |parts| {
                        Witness::Constr(Arc::clone(label), parts)
                    }))
                });
            }
            Ty::Scalar(ScalarType::Bool) => {
                return [false, true].into_iter().find_map(|value| {
                    let mut found = self.specialise(&column, &Head::Bool(value), &[])?;
                    found.insert(0, Witness::Bool(value));
                    Some(found)
                });
            }
            Ty::Scalar(_) | Ty::Array(_) | Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => {}
        }
        let mut found = match target {
            Head::Literal(_) => self.specialise(&column, &target, &[])?,
            _ => self.default_matrix(&column)?,
        };
        found.insert(0, Witness::Any);
        Some(found)
    }

    /// Values whose first has the head `target`: its components, of types `parts`, then the rest.
    fn specialise<'p>(
        &mut self,
        column: &PatternMatrix<'_, 'p>,
        target: &Head,
        parts: &[&Ty],
    ) -> Option<Vec<Witness>> {
        let inner = |row: &Row<'p>, head: &Head| {
            (head == target || *head == Head::Any).then(|| {
                let mut cells = components(first(row), column.ty, parts.len());
                // The number differs only if an error was reported.
                cells.resize(parts.len(), None);
                cells.extend(row.iter().skip(1));
                cells
            })
        };
        let must = inner(column.must, &head(first(column.must)))?;
        let rows = column.rows.iter().zip(&column.heads);
        let rows: Vec<Row<'_>> = rows.filter_map(|(row, head)| inner(row, head)).collect();
        let types: Vec<&Ty> = parts.iter().chain(column.rest).copied().collect();
        self.uncovered(&rows, &must, &types)
    }

    /// Values whose first matches wildcards only: the rest.
    fn default_matrix<'p>(&mut self, column: &PatternMatrix<'_, 'p>) -> Option<Vec<Witness>> {
        let rest = |row: &Row<'p>| -> Row<'p> { row.iter().skip(1).copied().collect() };
        let rows = column.rows.iter().zip(&column.heads);
        let rows = rows.filter(|(_, head)| **head == Head::Any);
        let rows: Vec<Row<'_>> = rows.map(|(row, _)| rest(row)).collect();
        self.uncovered(&rows, &rest(column.must), column.rest)
    }
}

fn first<'p>(row: &Row<'p>) -> Option<&'p Pat> {
    row.first().copied().flatten()
}

/// Replaces the first `n` witnesses by one.
fn group_witnesses(
    mut found: Vec<Witness>,
    n: usize,
    make: impl FnOnce(Vec<Witness>) -> Witness,
) -> Vec<Witness> {
    let rest = found.split_off(n.min(found.len()));
    std::iter::once(make(found)).chain(rest).collect()
}

/// A value that no pattern matches, as far as it is determined.
#[derive(Clone)]
enum Witness {
    Any,
    Bool(bool),
    Constr(Name, Vec<Witness>),
    Tuple(Vec<Witness>),
    Record(Vec<(Name, Witness)>),
}

impl Witness {
    /// Prints it as a pattern, in parentheses if it is an argument.
    fn show(&self, argument: bool, out: &mut String) {
        let _ = match self {
            Self::Any => write!(out, "_"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Constr(label, payload) => {
                let open = argument && !payload.is_empty();
                let _ = write!(out, "{}#{label}", if open { "(" } else { "" });
                for part in payload {
                    out.push(' ');
                    part.show(true, out);
                }
                write!(out, "{}", if open { ")" } else { "" })
            }
            Self::Tuple(parts) => {
                out.push('(');
                for (i, part) in parts.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    part.show(false, out);
                }
                write!(out, ")")
            }
            Self::Record(fields) => {
                out.push('{');
                for (i, (label, part)) in fields.iter().enumerate() {
                    let _ = write!(out, "{}{label} = ", if i > 0 { ", " } else { "" });
                    part.show(false, out);
                }
                write!(out, "}}")
            }
        };
    }
}
