//! Attributes: what is done about them here, and which go on to core statements.
//!
//! An attribute before an expression is in force for all that is evaluated for it
//! in the same body, in branches and loops inside of it (`unroll` goes no further
//! than the first loop), and in functions of the program that are evaluated in
//! place as far as their bodies inherit it ([`ir::attrs`]). Inside of a combinator's
//! function none is: what acts on a combinator acts on what is in it. `unsafe` and
//! `warn(safety_checks)` are in force everywhere inside.
//!
//! `blank`, `scratch`, `opaque` and `param` are done with here; `trace` and `break` are the
//! interpreter's. None of these stands on a statement.

use crate::blank::Filler;
use crate::state::Fun;
use crate::value::{Env, Value};
use crate::{Lower, Res};
use check::tast::{Attr as SourceAttr, Exp};
use ir::attrs::Heir;
use ir::syntax::{Attr, Attrs};
use ir::{BasicOp, Exp as CoreExp, Soacs};
use prim::ScalarType;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

/// Those that no statement carries.
const DONE: [&str; 6] = ["blank", "scratch", "opaque", "trace", "break", "param"];

impl Lower<'_> {
    /// An expression under attributes.
    pub(crate) fn attributed(&mut self, attrs: &[SourceAttr], exp: &Exp, env: &Rc<Env>) -> Res<Value> {
        let (unchecked, warned) = (self.f.unchecked, self.f.warned);
        let mut all = self.f.attrs();
        for attr in attrs.iter().filter(|attr| !DONE.contains(&&*attr.name)) {
            match core_attr(attr) {
                Attr::Unsafe => self.f.unchecked |= !self.safe,
                Attr::WarnChecks => self.f.warned = true,
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
        (self.f.unchecked, self.f.warned) = (unchecked, warned);
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

    /// The value of the tuning parameter that an attribute names, if it is one and the
    /// value an `i64`; others stay what they are.
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

impl Fun {
    /// Has only those attributes in force that the body of a called function
    /// inherits; those that were.
    pub(crate) fn enter_callee(&mut self) -> Attrs {
        let inherited = self.attrs().heritage(Heir::Operation);
        self.set_attrs(inherited)
    }

    /// Has those attributes in force that the body of a loop inherits.
    pub(crate) fn enter_loop(&mut self, mut attrs: Attrs) {
        attrs.remove(&Attr::Unroll);
        self.set_attrs(attrs);
    }

    /// What is in force about checks, for a statement that is or makes checks.
    pub(crate) fn note_checks(&self, attrs: &mut Attrs, exp: &CoreExp<Soacs>) {
        let call = matches!(exp, CoreExp::Apply { .. });
        if self.unchecked && call {
            attrs.add(Attr::Unsafe);
        }
        if self.warned && (call || matches!(exp, CoreExp::Basic(BasicOp::Assert { .. }))) {
            attrs.add(Attr::WarnChecks);
        }
    }
}

fn core_attr(attr: &SourceAttr) -> Attr {
    let mut text = String::new();
    write_attr(attr, &mut text);
    Attr::of(&text)
}

/// Writes an attribute as the source does.
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
