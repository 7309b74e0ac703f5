//! Attributes: some are handled by lowering, the others are attached to core statements.
//!
//! An attribute before an expression applies to everything that is evaluated for the expression in
//! the same body, in branches and loops inside it (`unroll`, `stripmine`, `bound` and `true_dep`
//! apply to the outermost loop only), and in inlined functions of the program as far as their bodies
//! inherit it ([`ir::attrs`]). It does not apply inside a combinator's function: attributes of a
//! combinator cover its body.
//! `unsafe` and `warn(safety_checks)` apply everywhere inside.
//!
//! `blank`, `scratch`, `opaque` and `param` are handled here; `trace` and `break` are for the
//! interpreter. None of these is attached to a statement.

use crate::blank::Filler;
use crate::state::FunctionBuilder;
use crate::types::LTy;
use crate::value::{Env, Value};
use crate::{Lower, Res};
use check::tast::{Attr as SourceAttr, Exp, Pat, PatKind};
use ir::attrs::Inheritor;
use ir::syntax::{Attr, Attrs};
use ir::{BasicOp, Exp as CoreExp, Soacs};
use prim::ScalarType;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

/// Attributes that are attached to no statement.
const HANDLED: [&str; 6] = ["blank", "scratch", "opaque", "trace", "break", "param"];

impl Lower<'_> {
    /// The value of an expression with attributes.
    pub(crate) fn attributed(&mut self, attrs: &[SourceAttr], exp: &Exp, env: &Rc<Env>) -> Res<Value> {
        let (unchecked, warned) = (self.f.omit_checks, self.f.warn_checks);
        let mut all = self.f.attrs();
        for attr in attrs.iter().filter(|attr| !HANDLED.contains(&&*attr.name)) {
            match core_attr(attr) {
                Attr::Unsafe => self.f.omit_checks |= !self.safe,
                Attr::WarnChecks => self.f.warn_checks = true,
                attr => all.add(attr),
            }
        }
        let before = self.f.set_attrs(all);
        let filler = attrs.iter().find_map(|attr| match &*attr.name {
            "blank" => Some(Filler::Zeros),
            "scratch" => Some(Filler::Scratch),
            _ => None,
        });
        let value = match filler {
            Some(filler) => self.blank_of(exp, env, filler)?,
            None => self.eval(exp, env)?,
        };
        self.f.set_attrs(before);
        (self.f.omit_checks, self.f.warn_checks) = (unchecked, warned);
        let value = attrs.iter().fold(value, |value, attr| self.param(attr, value));
        if attrs.iter().any(|attr| &*attr.name == "opaque") {
            return self.opaque(&value);
        }
        Ok(value)
    }
}

impl Lower<'_> {
    /// The attributes of a definition.
    pub(crate) fn attributes(&self, attrs: &[SourceAttr]) -> Attrs {
        let attrs = attrs.iter().map(core_attr);
        attrs.filter(|attr| !(self.safe && *attr == Attr::Unsafe)).collect()
    }

    /// The attributes of a loop: those of the expression, and `true_dep` if the pattern has it on all
    /// parameters that are arrays.
    pub(crate) fn loop_attrs(&self, pat: &Pat, ty: &LTy) -> Attrs {
        let mut attrs = self.f.attrs();
        let mut marked = Vec::new();
        true_dep_leaves(pat, ty, &mut marked);
        let mut arrays = marked.iter().zip(ty.leaves()).filter(|(_, leaf)| !leaf.dims.is_empty()).peekable();
        if arrays.peek().is_some() && arrays.all(|(marked, _)| *marked) {
            attrs.add(Attr::TrueDep);
        }
        attrs
    }

    /// The value of the tuning parameter that a `param` attribute names, if the value is an `i64`;
    /// else the value unchanged.
    fn param(&mut self, attr: &SourceAttr, value: Value) -> Value {
        match (&*attr.name, attr.args.as_slice(), value) {
            ("param", [name], Value::Scalar(default, ty @ ScalarType::I64)) => {
                let name = Arc::clone(&name.name);
                let op = BasicOp::Param { name, default };
                Value::Scalar(self.f.basic("param", op).into(), ty)
            }
            (_, _, value) => value,
        }
    }
}

impl FunctionBuilder {
    /// Keeps only the attributes that the body of a called function inherits; returns the previous
    /// ones.
    pub(crate) fn enter_callee(&mut self) -> Attrs {
        let inherited = self.attrs().inherited_by(Inheritor::Operation);
        self.set_attrs(inherited)
    }

    /// Sets the attributes that the body of a loop inherits.
    pub(crate) fn enter_loop(&mut self, mut attrs: Attrs) {
        attrs.retain(|attr| !attr.is_of_one_loop());
        self.set_attrs(attrs);
    }

    /// Adds the attributes about checks to a statement that is or contains checks.
    pub(crate) fn note_checks(&self, attrs: &mut Attrs, exp: &CoreExp<Soacs>) {
        let call = matches!(exp, CoreExp::Apply { .. });
        if self.omit_checks && call {
            attrs.add(Attr::Unsafe);
        }
        if self.warn_checks && (call || matches!(exp, CoreExp::Basic(BasicOp::Assert { .. }))) {
            attrs.add(Attr::WarnChecks);
        }
    }
}

/// Appends, for each leaf of a value that the pattern matches, true if the pattern marks it with
/// `true_dep`.
fn true_dep_leaves(pat: &Pat, ty: &LTy, out: &mut Vec<bool>) {
    match (&pat.kind, ty) {
        (PatKind::Attr(attrs, _), _) if attrs.iter().any(|attr| core_attr(attr) == Attr::TrueDep) => {
            out.extend(ty.leaves().iter().map(|_| true));
        }
        (PatKind::Attr(_, pat), _) => true_dep_leaves(pat, ty, out),
        (PatKind::Tuple(pats), LTy::Tuple(tys)) => {
            pats.iter().zip(tys.iter()).for_each(|(pat, ty)| true_dep_leaves(pat, ty, out));
        }
        (PatKind::Record(pats), LTy::Record(fields)) => {
            for (label, ty) in fields.iter() {
                match pats.iter().find(|(l, _)| l == label) {
                    Some((_, pat)) => true_dep_leaves(pat, ty, out),
                    None => out.extend(ty.leaves().iter().map(|_| false)),
                }
            }
        }
        _ => out.extend(ty.leaves().iter().map(|_| false)),
    }
}

fn core_attr(attr: &SourceAttr) -> Attr {
    Attr::of(&attribute_text(attr))
}

/// An attribute in source syntax.
pub(crate) fn attribute_text(attr: &SourceAttr) -> Arc<str> {
    let mut text = String::new();
    write_attr(attr, &mut text);
    text.into()
}

fn write_attr(attr: &SourceAttr, out: &mut String) {
    out.push_str(&attr.name);
    if !attr.args.is_empty() {
        for (i, arg) in attr.args.iter().enumerate() {
            let _ = write!(out, "{}", if i == 0 { "(" } else { ", " });
            write_attr(arg, out);
        }
        out.push(')');
    }
}
