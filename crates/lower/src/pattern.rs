//! Patterns: binding their variables, and matching tests.

use crate::size::Mismatch;
use crate::types::LTy;
use crate::value::{Env, Value};
use crate::{Lower, Res};
use check::tast::{Pat, PatKind};
use ir::{Atom, Type};
use prim::{CmpOp, PrimType, Scalar};
use std::rc::Rc;

impl Lower<'_> {
    /// Binds the variables of a pattern that matches the value, and the size variables of its type.
    /// Core names from `mark` on get the variables' names as hints.
    pub(crate) fn bind_pattern(&mut self, pat: &Pat, value: Value, env: &Rc<Env>, mark: usize) -> Res<()> {
        if value.has_payload_sizes() {
            self.bind_sizes(&pat.ty, &value, env)?;
        }
        let value = self.conform_pattern(pat, value, env)?;
        self.destructure(pat, value, env, mark)
    }

    /// The value with the sizes of the pattern's type. Payloads that the pattern binds get theirs
    /// where they are bound.
    fn conform_pattern(&mut self, pat: &Pat, value: Value, env: &Rc<Env>) -> Res<Value> {
        if !value.has_payload_sizes() {
            return self.conform(&pat.ty, value, env, false, Mismatch::Type);
        }
        Ok(match (&pat.kind, value) {
            (PatKind::Constr(..), value) => value,
            (PatKind::Attr(_, pat), value) => self.conform_pattern(pat, value, env)?,
            (PatKind::Tuple(pats), Value::Tuple(parts)) => {
                let parts = pats.iter().zip(parts.iter());
                let parts = parts.map(|(pat, v)| self.conform_pattern(pat, v.clone(), env));
                Value::Tuple(parts.collect::<Res<_>>()?)
            }
            (PatKind::Record(pats), Value::Record(fields)) => {
                let mut out = Vec::with_capacity(fields.len());
                for (label, part) in fields.iter() {
                    let part = match pats.iter().find(|(l, _)| l == label) {
                        Some((_, pat)) => self.conform_pattern(pat, part.clone(), env)?,
                        None => part.clone(),
                    };
                    out.push((label.clone(), part));
                }
                Value::Record(out.into())
            }
            (_, value) => self.conform(&pat.ty, value, env, false, Mismatch::Type)?,
        })
    }

    pub(crate) fn destructure(&mut self, pat: &Pat, value: Value, env: &Rc<Env>, mark: usize) -> Res<()> {
        match &pat.kind {
            PatKind::Var(var) => {
                if let Some(info) = self.program.vars.get(var.index()) {
                    for atom in value.atoms() {
                        if let Atom::Var(name) = atom
                            && name.index() >= mark
                        {
                            self.f.rename(name, &info.name);
                        }
                    }
                }
                env.bind(*var, value);
            }
            PatKind::Wildcard | PatKind::Lit(..) => {}
            PatKind::Tuple(pats) => {
                for (i, pat) in pats.iter().enumerate() {
                    let Some(part) = value.field(&i.to_string()) else {
                        return self.bug("a tuple pattern for a value of another type");
                    };
                    self.destructure(pat, part, env, mark)?;
                }
            }
            PatKind::Record(pats) => {
                for (label, pat) in pats {
                    let Some(part) = value.field(label) else {
                        return self.bug("a record pattern for a value of another type");
                    };
                    self.destructure(pat, part, env, mark)?;
                }
            }
            PatKind::Constr(label, pats) => {
                for (pat, (part, claims)) in pats.iter().zip(self.payload(&value, label)?) {
                    if matches!(pat.kind, PatKind::Wildcard) {
                        continue;
                    }
                    let part = self.coerce(part, &claims, Mismatch::Type)?;
                    let part = self.conform_pattern(pat, part, env)?;
                    self.destructure(pat, part, env, mark)?;
                }
            }
            PatKind::Attr(_, pat) => self.destructure(pat, value, env, mark)?,
        }
        Ok(())
    }

    /// The condition that the pattern matches.
    pub(crate) fn matches(&mut self, pat: &Pat, value: &Value) -> Res<Atom> {
        let yes = Atom::Const(Scalar::Bool(true));
        Ok(match &pat.kind {
            PatKind::Var(_) | PatKind::Wildcard => yes,
            PatKind::Lit(literal, ty) => {
                let Value::Scalar(atom, _) = value else {
                    return self.bug("a literal pattern for a value of another type");
                };
                self.f.compare(CmpOp::Eq, ty.prim(), *atom, Atom::Const(*literal))
            }
            PatKind::Tuple(pats) => {
                let mut all = yes;
                for (i, pat) in pats.iter().enumerate() {
                    let Some(part) = value.field(&i.to_string()) else {
                        return self.bug("a tuple pattern for a value of another type");
                    };
                    let one = self.matches(pat, &part)?;
                    all = self.f.and(all, one);
                }
                all
            }
            PatKind::Record(pats) => {
                let mut all = yes;
                for (label, pat) in pats {
                    let Some(part) = value.field(label) else {
                        return self.bug("a record pattern for a value of another type");
                    };
                    let one = self.matches(pat, &part)?;
                    all = self.f.and(all, one);
                }
                all
            }
            PatKind::Constr(label, pats) => {
                let (tag, number) = self.tag(value, label)?;
                let mut all = self.f.compare(CmpOp::Eq, PrimType::I8, tag, Atom::Const(number));
                for (pat, (part, _)) in pats.iter().zip(self.payload(value, label)?) {
                    let one = self.matches(pat, &part)?;
                    all = self.f.and(all, one);
                }
                all
            }
            PatKind::Attr(_, pat) => self.matches(pat, value)?,
        })
    }

    /// Marks those of the names that are arrays as lent.
    pub(crate) fn lend_all(&mut self, names: &[ir::Name]) {
        for name in names {
            if matches!(self.f.type_of(*name), Type::Array { .. }) {
                self.f.lend(*name);
            }
        }
    }
}

/// Appends, for each leaf of a value that the pattern matches, true if the function with this
/// parameter consumes it.
pub(crate) fn consumed_leaves(pat: &Pat, ty: &LTy, outer: bool, out: &mut Vec<bool>) {
    let from = out.len();
    match (&pat.kind, ty) {
        (PatKind::Attr(_, pat), _) => consumed_leaves(pat, ty, outer, out),
        (PatKind::Tuple(pats), LTy::Tuple(tys)) => {
            for (pat, ty) in pats.iter().zip(tys.iter()) {
                consumed_leaves(pat, ty, outer, out);
            }
        }
        (PatKind::Record(pats), LTy::Record(fields)) => {
            for (label, ty) in fields.iter() {
                match pats.iter().find(|(l, _)| l == label) {
                    Some((_, pat)) => consumed_leaves(pat, ty, outer, out),
                    None => out.extend(ty.leaves().iter().map(|_| outer)),
                }
            }
        }
        _ => out.extend(ty.leaves().iter().map(|_| outer)),
    }
    // A `*` inside the pattern applies to its component only; one that is not inside applies to the
    // whole.
    if pat.consumes.any() && !out[from..].contains(&true) {
        out[from..].fill(true);
    }
}
