//! Declarations of functions, constants and sum types.

use super::types::{I64, Size, Sum, Ty};
use super::{Fun, Gen, Param, SizeVar};
use std::fmt::Write as _;
use std::rc::Rc;

/// The assumed value of functions' size parameters.
const ASSUMED_SIZE: i64 = 8;

/// A call as text.
pub(super) fn apply_text(fun: &str, args: &[String]) -> String {
    format!("({fun} {})", args.join(" "))
}

impl Gen<'_> {
    /// Declares a sum type.
    pub(super) fn declare_sum(&mut self) -> String {
        let name = format!("sum{}", self.sums.len());
        let cases: Vec<(String, Vec<Ty>)> = (0..2 + self.c.below(3))
            .map(|at| {
                let payload = (0..self.c.below(3)).map(|_| match self.c.below(4) {
                    0 => Ty::Tuple(vec![Ty::Scalar(self.scalar_type()), Ty::Scalar(self.scalar_type())]),
                    1 => {
                        let size = Size::Const(1 + self.c.below(3) as i64);
                        Ty::array(size, Ty::Scalar(self.scalar_type()))
                    }
                    _ => Ty::Scalar(self.scalar_type()),
                });
                (format!("c{at}"), payload.collect())
            })
            .collect();
        let shown: Vec<String> = cases
            .iter()
            .map(|(name, payload)| {
                let payload: String = payload
                    .iter()
                    .map(|ty| match ty {
                        Ty::Array(..) => format!(" ({})", ty.text()),
                        _ => format!(" {}", ty.text()),
                    })
                    .collect();
                format!("#{name}{payload}")
            })
            .collect();
        let text = format!("type {name} = {}\n\n", shown.join(" | "));
        self.sums.push(Rc::new(Sum { name, cases }));
        text
    }

    /// Declares a constant.
    pub(super) fn declare_constant(&mut self) -> String {
        let ty = self.ty(2);
        let value = self.expr(&ty, 2);
        let name = self.fresh("g");
        // Results of functions must not alias constants.
        self.bind(&format!("(copy {name})").into(), ty.clone());
        format!("def {name} : {} = {value}\n\n", ty.text())
    }

    /// Declares a function.
    pub(super) fn declare_function(&mut self, fuel: u32) -> String {
        let name = self.fresh("fn");
        let mark = self.mark();
        let work = self.work;
        self.work = (self.cap / 64).max(1);
        let mut open = Vec::new();
        let mut params = Vec::new();
        for _ in 0..self.c.below(3) {
            let n = self.fresh("n");
            self.sizes.push(SizeVar { name: n.clone(), estimate: ASSUMED_SIZE });
            open.push(n);
        }
        // A size parameter occurs in the type of a parameter.
        for n in &open {
            let mut row = Ty::Scalar(self.scalar_type());
            if self.c.once_in(4) {
                row = Ty::array(Size::Var(n.clone()), row);
            }
            params.push(Param {
                name: self.fresh("x"),
                ty: Ty::array(Size::Var(n.clone()), row),
                unique: self.c.once_in(4),
            });
        }
        for _ in 0..self.c.below(3) {
            params.push(Param { name: self.fresh("x"), ty: self.ty(2), unique: false });
        }
        let sized = self.c.once_in(4);
        if sized || params.is_empty() {
            let k = self.fresh("k");
            params.push(Param { name: k.clone(), ty: I64, unique: false });
            if sized {
                self.sizes.push(SizeVar { name: k.clone(), estimate: ASSUMED_SIZE });
            }
        }
        let ret = match (sized, params.last().cloned()) {
            (true, Some(k)) => {
                open.push(k.name.clone());
                let row = self.ty(1);
                Ty::array(Size::Var(k.name), row)
            }
            _ => self.ty(2),
        };
        let mut body = String::new();
        let mut result = None;
        for param in &params {
            // A parameter that is not updated here is only read.
            if param.unique && result.is_none() {
                self.bind(&param.name, param.ty.clone());
                let update = self.update(&param.name, &param.ty, fuel);
                let u = self.fresh("up");
                let _ = write!(body, "let {u} = {update}\n  ");
                self.set_live(&param.name, false);
                result = Some((u, param.ty.clone()));
            } else if !(sized && params.last().is_some_and(|k| k.name == param.name)) {
                self.bind(&param.name, param.ty.clone());
            }
        }
        if let Some((u, ty)) = result {
            self.bind(&u, ty);
        }
        for _ in 0..self.c.below(2) {
            let statement = self.statement(fuel);
            let _ = write!(body, "{statement}\n  ");
        }
        let value = self.expr(&ret, fuel);
        self.restore(mark);
        self.work = work;
        if body.is_empty() {
            body = value;
        } else {
            let _ = write!(body, "in {value}");
        }
        let sizes: String = open
            .iter()
            .filter(|n| params.iter().all(|param| param.name != **n))
            .map(|n| format!(" [{n}]"))
            .collect();
        let shown: String = params
            .iter()
            .map(|param| {
                let star = if param.unique { "*" } else { "" };
                format!(" ({}: {star}{})", param.name, param.ty.text())
            })
            .collect();
        let attribute = self.pick_text(&["", "", "", "#[noinline]\n", "#[inline]\n"]);
        let text = format!("{attribute}def {name}{sizes}{shown} : {} =\n  {body}\n\n", ret.text());
        self.funs.push(Fun { name, open, params, ret });
        text
    }
}
