//! Modules: a module type, modules of that type, a parametric module, and its applications. Their
//! functions are called like others.

use super::types::{I64, Size, Ty};
use super::{Fun, Gen, Param};
use std::fmt::Write as _;
use std::rc::Rc;

/// The module type.
const SIGNATURE: &str = "\
module type monoid = {
  type t
  val zero : t
  val add : t -> t -> t
  val make : i64 -> t
  val show : t -> i64
}

";

impl Gen<'_> {
    /// Declares some modules.
    pub(super) fn declare_modules(&mut self, fuel: u32) -> String {
        let mut text = SIGNATURE.to_owned();
        let mut arguments = Vec::new();
        for _ in 0..=self.c.below(2) {
            let ty = match self.c.below(5) {
                0 => I64,
                1 => Ty::Scalar(self.scalar_type()),
                2 => Ty::Tuple(vec![I64, I64]),
                3 => Ty::Record(vec![("a", I64), ("b", Ty::Scalar(self.scalar_type()))]),
                _ => Ty::array(Size::Const(2), Ty::Scalar(self.scalar_type())),
            };
            let Some(op) = self.operator(&ty) else {
                continue;
            };
            let name = self.fresh("m");
            let (k, x) = (self.fresh("k"), self.fresh("x"));
            let work = self.work;
            self.work = (self.cap / 64).max(1);
            let mark = self.mark();
            self.bind(&k, I64);
            let make = self.expr(&ty, fuel);
            self.restore(mark);
            let mark = self.mark();
            self.bind(&x, ty.clone());
            let show = self.expr(&I64, fuel);
            self.restore(mark);
            self.work = work;
            let sealed = self.pick_text(&[" : monoid", ": monoid with t = ", ""]);
            let sealed = match sealed {
                ": monoid with t = " => format!(": monoid with t = {}", ty.text()),
                other => other.to_owned(),
            };
            let _ = write!(
                text,
                "module {name} {sealed} = {{\n  type t = {}\n  def zero : t = {}\n  \
                 def add (x: t) (y: t) : t = {} x y\n  def make ({k}: i64) : t = {make}\n  \
                 def show ({x}: t) : i64 = {show}\n}}\n\n",
                ty.text(),
                op.neutral,
                op.fun,
            );
            arguments.push(name);
        }
        let Some(first) = arguments.first().cloned() else {
            return text;
        };
        let functor = self.fresh("mk");
        let forms = [
            "X.show (reduce X.add X.zero (map X.make ks))",
            "X.show (loop acc = X.zero for k in ks do X.add acc (X.make k))",
            "X.show (last ([X.zero] ++ scan X.add X.zero (map X.make ks)))",
        ];
        let total = self.c.pick(&forms).copied().unwrap_or_default();
        let _ = write!(
            text,
            "module {functor} (X: monoid) = {{\n  type u = X.t\n  \
             def total [n] (ks: [n]i64) : i64 = {total}\n  \
             def each [n] (ks: [n]i64) : [n]i64 = map X.show (scan X.add X.zero (map X.make ks))\n  \
             def pairs (k: i64) (l: i64) : (i64, i64) = \
             (X.show (X.make k), X.show (X.add (X.make k) (X.make l)))\n}}\n\n"
        );
        for argument in &arguments {
            let name = self.fresh("m");
            let _ = write!(text, "module {name} = {functor} {argument}\n\n");
            let n: Rc<str> = "n".into();
            let ks = |name: &str, unique| Param {
                name: name.into(),
                ty: Ty::array(Size::Var(n.clone()), I64),
                unique,
            };
            let k = |name: &str| Param { name: name.into(), ty: I64, unique: false };
            self.funs.push(Fun {
                name: format!("{name}.total").into(),
                open: vec![n.clone()],
                params: vec![ks("ks", false)],
                ret: I64,
            });
            self.funs.push(Fun {
                name: format!("{name}.each").into(),
                open: vec![n.clone()],
                params: vec![ks("ks", false)],
                ret: Ty::array(Size::Var(n.clone()), I64),
            });
            self.funs.push(Fun {
                name: format!("{name}.pairs").into(),
                open: Vec::new(),
                params: vec![k("k"), k("l")],
                ret: Ty::Tuple(vec![I64, I64]),
            });
        }
        if self.c.once_in(3) {
            let opened = self.fresh("opened");
            let _ = write!(text, "def {opened} (k: i64) : i64 = {first}.(show (add zero (make k)))\n\n");
            self.funs.push(Fun {
                name: opened,
                open: Vec::new(),
                params: vec![Param { name: "k".into(), ty: I64, unique: false }],
                ret: I64,
            });
        }
        text
    }
}
