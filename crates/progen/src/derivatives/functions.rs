//! Functions that `f` calls: not inlined, inlined, and recursive.

use super::Gen;
use super::types::{Size, Ty};
use std::fmt::Write as _;

/// A function that can be called.
#[derive(Clone)]
pub(super) struct Fun {
    name: String,
    params: Vec<Ty>,
    ret: Ty,
    /// True if the first parameter bounds the recursion.
    recursive: bool,
}

/// The size parameter of functions.
const SIZE: &str = "k";

impl Gen<'_> {
    /// Declares a function.
    pub(super) fn declare(&mut self) -> String {
        let recursive = self.c.once_in(3);
        let name = self.fresh("fun");
        let size = Size::var(SIZE);
        let floats = Ty::floats(std::slice::from_ref(&size));
        let mut params = Vec::new();
        for _ in 0..=self.c.below(2) {
            params.push(match self.c.below(5) {
                0 | 1 => Ty::Float,
                2 | 3 => floats.clone(),
                _ => Ty::pair(Ty::Float, Ty::Float),
            });
        }
        let sized = params.contains(&floats);
        let ret = match self.c.below(4) {
            2 if sized => floats,
            3 => Ty::pair(Ty::Float, Ty::Float),
            _ => Ty::Float,
        };
        let work = std::mem::replace(&mut self.work, 8);
        let names: Vec<String> = params.iter().map(|_| self.fresh("x")).collect();
        let mark = self.mark();
        if sized {
            self.sizes.push(size);
        }
        names.iter().zip(&params).for_each(|(name, ty)| self.bind(name, ty));
        let mut body = String::new();
        if recursive {
            let args: Vec<String> = params.iter().map(|ty| self.expr(ty, 2)).collect();
            let last = self.expr(&ret, 1);
            let y = self.fresh("y");
            let ty = self.text(&ret);
            let _ = write!(
                body,
                "if depth <= 0 then {last} else\n  let {y}: {ty} = {name} (depth - 1) {} in ",
                args.join(" ")
            );
            self.bind(&y, &ret);
        }
        body.push_str(&self.expr(&ret, 3));
        self.restore(&mark);
        self.work = work;
        let attribute = if recursive { "" } else { self.pick_text(&["#[noinline]\n", "#[noinline]\n", ""]) };
        let shown: Vec<String> = names.iter().zip(&params).map(|(name, ty)| self.typed(name, ty)).collect();
        let depth = if recursive { " (depth: i64)" } else { "" };
        let sizes = if sized { " [k]" } else { "" };
        let ty = self.text(&ret);
        self.funs.push(Fun { name: name.clone(), params, ret, recursive });
        format!("{attribute}def {name}{sizes}{depth} {} : {ty} =\n  {body}\n\n", shown.join(" "))
    }

    /// A call of a function with this result, if there is one.
    pub(super) fn called(&mut self, ty: &Ty, fuel: u32) -> Option<String> {
        if !self.affordable(8) {
            return None;
        }
        let size = match ty {
            Ty::Array(size, _) => size.clone(),
            Ty::Float | Ty::Int | Ty::Bool | Ty::Tuple(_) | Ty::Record(_) => self.size(),
        };
        let known: Vec<Fun> =
            self.funs.iter().filter(|fun| fun.ret.with_size(SIZE, &size) == *ty).cloned().collect();
        let fun = self.c.pick(&known).cloned()?;
        let mut args = String::new();
        if fun.recursive {
            let depth = self.int(0);
            let _ = write!(args, " ({depth} % 4)");
        }
        for param in &fun.params {
            let arg = self.repeated(4, |g| g.expr(&param.with_size(SIZE, &size), fuel.min(2)));
            let _ = write!(args, " {arg}");
        }
        Some(format!("({}{args})", fun.name))
    }
}
