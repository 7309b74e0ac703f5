//! Whether the cases of every `match` fit every value, and whether the patterns
//! of bindings and parameters always fit.
//!
//! By matrices of patterns (Maranget, "Warnings for pattern matching", 2007):
//! of the first column, either every constructor of the type occurs, and the
//! rows that fit each are looked at further, or some value fits the rows with a
//! wildcard only, so that these alone decide. What no row fits is shown.
//!
//! Needs a finished definition. Guarantees nothing but the errors.

use crate::checker::Checker;
use crate::tast::{Bind, Def, Exp, ExpKind, LoopForm, Name, Pat, PatKind, Ty};
use crate::visit::children;
use prim::{Scalar, ScalarType};
use rustc_hash::FxHashSet;
use std::fmt::Write as _;
use std::sync::Arc;
use syntax::diag::Diagnostic;

/// How many rows may be looked at for one `match`.
const MAX_ROWS: usize = 1_000_000;

impl Checker<'_> {
    /// Reports the matches of a definition that some value does not fit, and
    /// patterns that may fail where they must not.
    pub(crate) fn check_matches(&mut self, def: &Def) {
        for pat in &def.params {
            self.irrefutable(pat);
        }
        self.matches_in(&def.body);
    }

    fn matches_in(&mut self, exp: &Exp) {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
            match &exp.kind {
                ExpKind::Lambda(lambda) => {
                    for pat in &lambda.params {
                        self.irrefutable(pat);
                    }
                }
                ExpKind::Let { binds, body: _ } => {
                    for bind in binds {
                        match bind {
                            Bind::Pat { pat, .. } => self.irrefutable(pat),
                            Bind::Fun(def) => self.check_matches(def),
                        }
                    }
                }
                ExpKind::Loop { pat, form, .. } => {
                    self.irrefutable(pat);
                    if let LoopForm::ForIn(pat, _) = form {
                        self.irrefutable(pat);
                    }
                }
                ExpKind::Match { scrutinee, cases } => {
                    let pats = cases.iter().map(|case| &case.pat);
                    if let Some(missing) = unmatched(&scrutinee.ty, pats) {
                        let message = format!("Unmatched cases in this `match`: \"{missing}\"");
                        self.report(
                            Diagnostic::error("unmatched-cases", message)
                                .at(exp.span, "")
                                .hint("add a case, or `case _` for all that is left"),
                        );
                    }
                }
                _ => {}
            }
            children(exp, &mut |child| self.matches_in(child));
        });
    }

    fn irrefutable(&mut self, pat: &Pat) {
        if let Some(missing) = unmatched(&pat.ty, std::iter::once(pat)) {
            let message = format!("Refutable pattern: it does not fit \"{missing}\"");
            self.report(
                Diagnostic::error("refutable-pattern", message)
                    .at(pat.span, "")
                    .hint("only the patterns of a `match` may fail"),
            );
        }
    }
}

/// A value of the type that none of the patterns fits, as a pattern.
fn unmatched<'p>(ty: &Ty, pats: impl Iterator<Item = &'p Pat>) -> Option<String> {
    let rows: Vec<Row<'_>> = pats.map(|pat| vec![Some(bare(pat))]).collect();
    let mut search = Search { fuel: MAX_ROWS };
    let found = search.missing(&rows, &[ty])?;
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
    Literal,
}

fn head(cell: Option<&Pat>) -> Head {
    match cell.map(|pat| &pat.kind) {
        None | Some(PatKind::Var(_) | PatKind::Wildcard | PatKind::Attr(..)) => Head::Any,
        Some(PatKind::Tuple(_) | PatKind::Record(_)) => Head::Only,
        Some(PatKind::Constr(label, _)) => Head::Constr(Arc::clone(label)),
        Some(PatKind::Lit(Scalar::Bool(value), _)) => Head::Bool(*value),
        Some(PatKind::Lit(..)) => Head::Literal,
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
                Ty::Record(tys) => tys
                    .iter()
                    .map(|(label, _)| find(label).map(|(_, pat)| bare(pat)))
                    .collect(),
                _ => fields.iter().map(|(_, pat)| Some(bare(pat))).collect(),
            }
        }
        _ => vec![None; n],
    }
}

struct Search {
    fuel: usize,
}

impl Search {
    /// Values of the types that no row fits.
    fn missing(&mut self, rows: &[Row<'_>], types: &[&Ty]) -> Option<Vec<Witness>> {
        stacker::maybe_grow(crate::RED_ZONE, crate::STACK_STEP, || {
            self.missing_inner(rows, types)
        })
    }

    fn missing_inner(&mut self, rows: &[Row<'_>], types: &[&Ty]) -> Option<Vec<Witness>> {
        let Some((ty, rest)) = types.split_first() else {
            return rows.is_empty().then(Vec::new);
        };
        self.fuel = self.fuel.checked_sub(rows.len() + 1)?;
        let heads: Vec<Head> = rows.iter().map(|row| head(first(row))).collect();
        match ty {
            _ if heads.iter().all(|head| *head == Head::Any) => {}
            Ty::Tuple(parts) => {
                let parts: Vec<&Ty> = parts.iter().collect();
                let found = self.inside(rows, &heads, &Head::Only, ty, &parts, rest)?;
                return Some(folded(found, parts.len(), Witness::Tuple));
            }
            Ty::Record(fields) => {
                let parts: Vec<&Ty> = fields.iter().map(|(_, ty)| ty).collect();
                let found = self.inside(rows, &heads, &Head::Only, ty, &parts, rest)?;
                return Some(folded(found, parts.len(), |parts| {
                    let labels = fields.iter().map(|(label, _)| Arc::clone(label));
                    Witness::Record(labels.zip(parts).collect())
                }));
            }
            Ty::Sum(constrs) => {
                let used: FxHashSet<&Name> = heads
                    .iter()
                    .filter_map(|head| match head {
                        Head::Constr(label) => Some(label),
                        Head::Any | Head::Only | Head::Bool(_) | Head::Literal => None,
                    })
                    .collect();
                if let Some((label, payload)) = constrs.iter().find(|(l, _)| !used.contains(l)) {
                    let mut found = self.others(rows, &heads, rest)?;
                    let any = vec![Witness::Any; payload.len()];
                    found.insert(0, Witness::Constr(Arc::clone(label), any));
                    return Some(found);
                }
                return constrs.iter().find_map(|(label, payload)| {
                    let parts: Vec<&Ty> = payload.iter().collect();
                    let wanted = Head::Constr(Arc::clone(label));
                    let found = self.inside(rows, &heads, &wanted, ty, &parts, rest)?;
                    Some(folded(found, parts.len(), |parts| {
                        Witness::Constr(Arc::clone(label), parts)
                    }))
                });
            }
            Ty::Scalar(ScalarType::Bool) => {
                return [false, true].into_iter().find_map(|value| {
                    let wanted = Head::Bool(value);
                    let mut found = self.inside(rows, &heads, &wanted, ty, &[], rest)?;
                    found.insert(0, Witness::Bool(value));
                    Some(found)
                });
            }
            Ty::Scalar(_) | Ty::Array(_) | Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => {}
        }
        let mut found = self.others(rows, &heads, rest)?;
        found.insert(0, Witness::Any);
        Some(found)
    }

    /// Values that no row fits, with the first of this form: its components, of
    /// types `parts`, then the rest.
    fn inside(
        &mut self,
        rows: &[Row<'_>],
        heads: &[Head],
        wanted: &Head,
        ty: &Ty,
        parts: &[&Ty],
        rest: &[&Ty],
    ) -> Option<Vec<Witness>> {
        let mut inner = Vec::new();
        for (row, head) in rows.iter().zip(heads) {
            if head == wanted || *head == Head::Any {
                let mut cells = components(first(row), ty, parts.len());
                // Of another length only where an error was reported.
                cells.resize(parts.len(), None);
                cells.extend(row.iter().skip(1));
                inner.push(cells);
            }
        }
        let types: Vec<&Ty> = parts.iter().chain(rest).copied().collect();
        self.missing(&inner, &types)
    }

    /// Values that no row fits, with the first one that no pattern but `_` fits:
    /// the rest.
    fn others(&mut self, rows: &[Row<'_>], heads: &[Head], rest: &[&Ty]) -> Option<Vec<Witness>> {
        let rows = rows.iter().zip(heads);
        let rows = rows.filter(|(_, head)| **head == Head::Any);
        let rows: Vec<Row<'_>> = rows
            .map(|(row, _)| row.iter().skip(1).copied().collect())
            .collect();
        self.missing(&rows, rest)
    }
}

fn first<'p>(row: &Row<'p>) -> Option<&'p Pat> {
    row.first().copied().flatten()
}

/// The first `n` as one.
fn folded(
    mut found: Vec<Witness>,
    n: usize,
    make: impl FnOnce(Vec<Witness>) -> Witness,
) -> Vec<Witness> {
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
