//! Whether the cases of every `match` fit every value, and each of them one that
//! no case before it fits; whether the patterns of bindings and parameters always
//! fit.
//!
//! By matrices of patterns (Maranget, "Warnings for pattern matching", 2007):
//! of the first column, either every constructor of the type occurs, and the
//! rows that fit each are looked at further, or some value fits the rows with a
//! wildcard only, so that these alone decide. What no row fits is shown. With one
//! more row, which the value must fit, the same search tells whether a case is
//! ever reached.
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

/// How many rows may be looked at for one `match`.
const MAX_ROWS: usize = 1_000_000;

/// Reports the matches of a definition that some value does not fit, and
/// patterns that may fail where they must not.
pub(crate) fn check(def: &Def, cx: &mut Context<'_>) {
    for pat in &def.params {
        irrefutable(pat, cx);
    }
    matches_in(&def.body, cx);
}

fn matches_in(exp: &Exp, cx: &mut Context<'_>) {
    stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
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
                            .hint("add a case, or `case _` for all that is left"),
                    );
                }
                if !cx.place.is_prelude() {
                    unreachable(&scrutinee.ty, cases, cx);
                }
            }
            _ => {}
        }
        children(exp, &mut |child| matches_in(child, cx));
    });
}

/// Warns of cases that no value reaches.
fn unreachable(ty: &Ty, cases: &[Case], cx: &mut Context<'_>) {
    let mut search = Search { fuel: MAX_ROWS };
    let mut before: Vec<Row<'_>> = Vec::new();
    for case in cases {
        let row = vec![Some(bare(&case.pat))];
        let found = search.missing(&before, &row, &[ty]);
        if found.is_none() && search.fuel > 0 {
            cx.warn(
                Diagnostic::warning("unreachable-case", "This case is never reached")
                    .at(case.pat.span, "")
                    .note("the cases before it fit every value that it fits"),
            );
        }
        before.push(row);
    }
}

fn irrefutable(pat: &Pat, cx: &mut Context<'_>) {
    if let Some(missing) = unmatched(&pat.ty, std::iter::once(pat)) {
        let message = format!("Refutable pattern: it does not fit \"{missing}\"");
        cx.report(
            Diagnostic::error("refutable-pattern", message)
                .at(pat.span, "")
                .hint("only the patterns of a `match` may fail"),
        );
    }
}

/// A value of the type that none of the patterns fits, as a pattern.
fn unmatched<'p>(ty: &Ty, pats: impl Iterator<Item = &'p Pat>) -> Option<String> {
    let rows: Vec<Row<'_>> = pats.map(|pat| vec![Some(bare(pat))]).collect();
    let mut search = Search { fuel: MAX_ROWS };
    let found = search.missing(&rows, &vec![None], &[ty])?;
    let mut out = String::new();
    for witness in &found {
        witness.show(false, &mut out);
    }
    Some(out)
}

/// Patterns for some values side by side; `None` fits everything.
type Row<'p> = Vec<Option<&'p Pat>>;

/// The pattern without attributes.
fn bare(mut pat: &Pat) -> &Pat {
    while let PatKind::Attr(_, inner) = &pat.kind {
        pat = inner;
    }
    pat
}

/// What one pattern looks like to the search, apart from its components.
#[derive(Clone, PartialEq)]
enum Head {
    /// Anything.
    Any,
    /// The only form of its type.
    Only,
    /// One of a sum type's constructors.
    Constr(Name),
    Bool(bool),
    /// One of very many.
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

/// The components of a cell, in the order of the type's; of one that fits
/// everything, as many that do.
fn components<'p>(cell: Option<&'p Pat>, ty: &Ty, n: usize) -> Row<'p> {
    match cell.map(|pat| &pat.kind) {
        Some(PatKind::Tuple(parts) | PatKind::Constr(_, parts)) => {
            parts.iter().map(|pat| Some(bare(pat))).collect()
        }
        Some(PatKind::Record(fields)) => {
            let find = |label: &Name| fields.iter().find(|(l, _)| l == label);
            match ty {
                Ty::Record(tys) => {
                    tys.iter().map(|(label, _)| find(label).map(|(_, pat)| bare(pat))).collect()
                }
                _ => fields.iter().map(|(_, pat)| Some(bare(pat))).collect(),
            }
        }
        _ => vec![None; n],
    }
}

/// Rows to look at by their first cells.
struct Column<'c, 'p> {
    rows: &'c [Row<'p>],
    heads: Vec<Head>,
    /// What the value must fit.
    must: &'c Row<'p>,
    /// The type of the first cells.
    ty: &'c Ty,
    /// The types of the others.
    rest: &'c [&'c Ty],
}

struct Search {
    fuel: usize,
}

impl Search {
    /// Values of the types that `must` fits and no row does. None too once too
    /// much was looked at: then no fuel is left.
    fn missing(&mut self, rows: &[Row<'_>], must: &Row<'_>, types: &[&Ty]) -> Option<Vec<Witness>> {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || self.missing_inner(rows, must, types))
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
            Column { rows, heads: rows.iter().map(|row| head(first(row))).collect(), must, ty, rest };
        let wanted = head(first(must));
        match ty {
            _ if wanted == Head::Any && column.heads.iter().all(|head| *head == Head::Any) => {}
            Ty::Tuple(parts) => {
                let parts: Vec<&Ty> = parts.iter().collect();
                let found = self.inside(&column, &Head::Only, &parts)?;
                return Some(folded(found, parts.len(), Witness::Tuple));
            }
            Ty::Record(fields) => {
                let parts: Vec<&Ty> = fields.iter().map(|(_, ty)| ty).collect();
                let found = self.inside(&column, &Head::Only, &parts)?;
                return Some(folded(found, parts.len(), |parts| {
                    let labels = fields.iter().map(|(label, _)| Arc::clone(label));
                    Witness::Record(labels.zip(parts).collect())
                }));
            }
            Ty::Sum(constrs) => {
                let used: FxHashSet<&Name> = column
                    .heads
                    .iter()
                    .chain([&wanted])
                    .filter_map(|head| match head {
                        Head::Constr(label) => Some(label),
                        Head::Any | Head::Only | Head::Bool(_) | Head::Literal(_) => None,
                    })
                    .collect();
                if wanted == Head::Any
                    && let Some((label, payload)) = constrs.iter().find(|(l, _)| !used.contains(l))
                {
                    let mut found = self.others(&column)?;
                    let any = vec![Witness::Any; payload.len()];
                    found.insert(0, Witness::Constr(Arc::clone(label), any));
                    return Some(found);
                }
                return constrs.iter().find_map(|(label, payload)| {
                    let parts: Vec<&Ty> = payload.iter().collect();
                    let constr = Head::Constr(Arc::clone(label));
                    let found = self.inside(&column, &constr, &parts)?;
                    Some(folded(found, parts.len(), |parts| Witness::Constr(Arc::clone(label), parts)))
                });
            }
            Ty::Scalar(ScalarType::Bool) => {
                return [false, true].into_iter().find_map(|value| {
                    let mut found = self.inside(&column, &Head::Bool(value), &[])?;
                    found.insert(0, Witness::Bool(value));
                    Some(found)
                });
            }
            Ty::Scalar(_) | Ty::Array(_) | Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => {}
        }
        let mut found = match wanted {
            Head::Literal(_) => self.inside(&column, &wanted, &[])?,
            _ => self.others(&column)?,
        };
        found.insert(0, Witness::Any);
        Some(found)
    }

    /// Values with the first of this form: its components, of types `parts`, then
    /// the rest.
    fn inside<'p>(&mut self, column: &Column<'_, 'p>, wanted: &Head, parts: &[&Ty]) -> Option<Vec<Witness>> {
        let inner = |row: &Row<'p>, head: &Head| {
            (head == wanted || *head == Head::Any).then(|| {
                let mut cells = components(first(row), column.ty, parts.len());
                // Of another length only where an error was reported.
                cells.resize(parts.len(), None);
                cells.extend(row.iter().skip(1));
                cells
            })
        };
        let must = inner(column.must, &head(first(column.must)))?;
        let rows = column.rows.iter().zip(&column.heads);
        let rows: Vec<Row<'_>> = rows.filter_map(|(row, head)| inner(row, head)).collect();
        let types: Vec<&Ty> = parts.iter().chain(column.rest).copied().collect();
        self.missing(&rows, &must, &types)
    }

    /// Values with a first that no pattern but `_` fits: the rest.
    fn others<'p>(&mut self, column: &Column<'_, 'p>) -> Option<Vec<Witness>> {
        let rest = |row: &Row<'p>| -> Row<'p> { row.iter().skip(1).copied().collect() };
        let rows = column.rows.iter().zip(&column.heads);
        let rows = rows.filter(|(_, head)| **head == Head::Any);
        let rows: Vec<Row<'_>> = rows.map(|(row, _)| rest(row)).collect();
        self.missing(&rows, &rest(column.must), column.rest)
    }
}

fn first<'p>(row: &Row<'p>) -> Option<&'p Pat> {
    row.first().copied().flatten()
}

/// The first `n` as one.
fn folded(mut found: Vec<Witness>, n: usize, make: impl FnOnce(Vec<Witness>) -> Witness) -> Vec<Witness> {
    let rest = found.split_off(n.min(found.len()));
    std::iter::once(make(found)).chain(rest).collect()
}

/// A value that no pattern fits, as far as it matters.
#[derive(Clone)]
enum Witness {
    Any,
    Bool(bool),
    Constr(Name, Vec<Witness>),
    Tuple(Vec<Witness>),
    Record(Vec<(Name, Witness)>),
}

impl Witness {
    /// Writes it as a pattern, in parentheses where it is an argument.
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
