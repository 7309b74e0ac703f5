//! Sequences of bindings before an expression.

use super::types::Ty;
use super::{Gen, Param};
use std::fmt::Write as _;

impl Gen<'_> {
    /// Some bindings, then an expression.
    pub(super) fn block(&mut self, ty: &Ty, bindings: usize, fuel: u32) -> String {
        let mark = self.mark();
        let mut text = String::from("(");
        for _ in 0..bindings {
            let statement = self.statement(fuel);
            text.push_str(&statement);
            text.push_str("\n  ");
        }
        let result = self.expr(ty, fuel);
        self.restore(mark);
        format!("{text}in {result})")
    }

    /// A binding, which is then in scope.
    pub(super) fn statement(&mut self, fuel: u32) -> String {
        match self.c.below(12) {
            0..=4 => {
                let ty = self.ty(2);
                let value = self.expr(&ty, fuel);
                let x = self.fresh("x");
                self.bind(&x, ty.clone());
                match self.c.below(2) {
                    0 => format!("let {x} : {} = {value}", ty.text()),
                    _ => format!("let {x} = {value}"),
                }
            }
            5 | 6 => self.bind_varying(fuel),
            7 => {
                let parts = [self.ty(2), self.ty(1)];
                let value = self.expr(&Ty::Tuple(parts.to_vec()), fuel);
                let names = parts.map(|ty| {
                    let x = self.fresh("x");
                    self.bind(&x, ty);
                    x
                });
                format!("let ({}, {}) = {value}", names[0], names[1])
            }
            8 => {
                let size = self.size();
                let estimate = self.estimate(&size);
                let parts = self.repeated(estimate, |g| [g.ty(1), g.ty(1)]);
                let pairs = Ty::array(size.clone(), Ty::Tuple(parts.to_vec()));
                let value = self.expr(&pairs, fuel);
                let names = parts.map(|ty| {
                    let x = self.fresh("x");
                    self.bind(&x, Ty::array(size.clone(), ty));
                    x
                });
                format!("let ({}, {}) = unzip {value}", names[0], names[1])
            }
            9 | 10 => self.consumption(fuel),
            _ => self.local_function(fuel),
        }
    }

    /// Makes a fresh array, reads it, then consumes it.
    fn consumption(&mut self, fuel: u32) -> String {
        let ty = self.plain_array();
        let value = self.fresh_array(&ty, fuel);
        let first = self.fresh("up");
        let mut text = format!("let {first} : {} = {value}", ty.text());
        self.bind(&first, ty.clone());
        for _ in 0..self.c.below(3) {
            // A scalar does not alias the array.
            let scalar = Ty::Scalar(self.scalar_type());
            let (x, value) = (self.fresh("x"), self.expr(&scalar, fuel));
            let _ = write!(text, "\n  let {x} = {value}");
            self.bind(&x, scalar);
        }
        let update = self.update(&first, &ty, fuel);
        let second = self.fresh("up");
        let _ = write!(text, "\n  let {second} = {update}");
        self.bind(&second, ty);
        text
    }

    /// A local function that captures variables.
    fn local_function(&mut self, fuel: u32) -> String {
        let f = self.fresh("fn");
        let mark = self.mark();
        let work = self.work;
        // It may be called a few times.
        self.work = work.saturating_mul(4);
        let params: Vec<Param> = (0..=self.c.below(2))
            .map(|_| Param { name: self.fresh("x"), ty: self.ty(1), unique: false })
            .collect();
        let ret = self.ty(1);
        for param in &params {
            self.bind(&param.name, param.ty.clone());
        }
        let body = self.expr(&ret, fuel);
        self.restore(mark);
        self.work = work;
        let typed: String =
            params.iter().map(|param| format!(" ({}: {})", param.name, param.ty.text())).collect();
        let text = format!("let {f}{typed} : {} = {body}", ret.text());
        self.funs.push(super::Fun { name: f, open: Vec::new(), params, ret });
        text
    }
}
