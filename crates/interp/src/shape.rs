//! Shapes: evaluation of types with the sizes of a frame, and comparison of values with them.
//!
//! A size variable without a value is bound to the size of the value compared; one with a value is
//! compared. For an empty array, its recorded element type is compared.

use crate::failure::{Class, Failure, Res};
use crate::machine::Machine;
use crate::tree::{CDim, CTy, Slot};
use crate::value::{Array, Data, RTy, UNKNOWN, Val};
use prim::Scalar;
use std::fmt::Write as _;
use std::rc::Rc;
use syntax::span::Span;

/// The purpose of a comparison with a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Sizes are bound; differences are ignored.
    Bind,
    /// Sizes that are numbers or variables must agree.
    Check,
    /// All sizes must agree, including sizes of type parameters.
    Strict,
}

impl Machine<'_> {
    /// The type with the values of its sizes.
    pub fn rty(&mut self, ty: &CTy) -> Res<Rc<RTy>> {
        Ok(match ty {
            CTy::Static(ty) => Rc::clone(ty),
            CTy::Var(slot) => match self.peek(*slot) {
                Val::Type(ty) => Rc::clone(ty),
                _ => Rc::new(RTy::Unknown),
            },
            CTy::Array(dim, elem) => {
                let dim = self.dim(dim)?.unwrap_or(UNKNOWN);
                Rc::new(RTy::Array(dim, self.rty(elem)?))
            }
            CTy::Tuple(parts) => Rc::new(RTy::Tuple(self.rtys(parts)?)),
            CTy::Record(names, parts) => Rc::new(RTy::Record(Rc::clone(names), self.rtys(parts)?)),
            CTy::Sum(names, parts) => {
                let parts = parts.iter().map(|tys| self.rtys(tys)).collect::<Res<_>>()?;
                Rc::new(RTy::Sum(Rc::clone(names), parts))
            }
        })
    }

    /// Several types with the values of their sizes.
    pub fn rtys(&mut self, types: &[CTy]) -> Res<Vec<Rc<RTy>>> {
        types.iter().map(|ty| self.rty(ty)).collect()
    }

    /// The value of a size, if it is known.
    pub fn dim(&mut self, dim: &CDim) -> Res<Option<i64>> {
        Ok(match dim {
            CDim::Any => None,
            CDim::Const(n) => Some(*n),
            CDim::Slot(slot) => match self.peek(*slot) {
                Val::Scalar(Scalar::I64(n)) => Some(*n),
                _ => None,
            },
            CDim::Exp(node) => match self.eval(node) {
                Ok(Val::Scalar(Scalar::I64(n))) => Some(n),
                Ok(_) => None,
                // A size may mention variables that are unbound here.
                Err(failure) if failure.class == Class::Unbound => None,
                Err(failure) => return Err(failure),
            },
        })
    }

    /// Fails unless the value has the shape of the type. Size variables without a value are bound.
    pub fn conform(&mut self, ty: &CTy, value: &Val, mode: Mode, span: Span) -> Res<()> {
        match (ty, value) {
            (CTy::Static(ty), value) if mode != Mode::Bind && !static_fit(ty, value) => {
                return Err(mismatch(value, ty, span));
            }
            (CTy::Array(..), Val::Array(array)) => {
                let fits = self.fit_array(ty, array, 0, mode)? || mode == Mode::Bind;
                if fits {
                    return Ok(());
                }
                let wanted = self.rty(ty)?;
                return Err(mismatch(value, &wanted, span));
            }
            (CTy::Tuple(tys) | CTy::Record(_, tys), Val::Tuple(parts)) => {
                for (ty, part) in tys.iter().zip(parts.iter()) {
                    self.conform(ty, part, mode, span)?;
                }
            }
            (CTy::Sum(_, constrs), Val::Sum(sum)) => {
                if let Some(tys) = constrs.get(sum.0 as usize) {
                    for (ty, part) in tys.iter().zip(&sum.1) {
                        self.conform(ty, part, mode, span)?;
                    }
                }
            }
            (CTy::Var(slot), value) if mode == Mode::Strict => {
                if let Val::Type(ty) = self.peek(*slot).clone()
                    && !static_fit(&ty, value)
                {
                    return Err(mismatch(value, &ty, span));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns true if an array without its first `at` dimensions fits.
    fn fit_array(&mut self, ty: &CTy, array: &Array, at: usize, mode: Mode) -> Res<bool> {
        let Some(actual) = array.shape.get(at).copied() else {
            return self.fit_elements(ty, array, mode);
        };
        Ok(match ty {
            CTy::Array(dim, elem) => {
                self.fit_dim(dim, actual, mode)? && self.fit_array(elem, array, at + 1, mode)?
            }
            CTy::Static(ty) => mode == Mode::Bind || fit_known(ty, array, at),
            CTy::Var(slot) if mode == Mode::Strict => match self.peek(*slot).clone() {
                Val::Type(ty) => fit_known(&ty, array, at),
                _ => true,
            },
            _ => true,
        })
    }

    fn fit_elements(&mut self, ty: &CTy, array: &Array, mode: Mode) -> Res<bool> {
        let Data::Other(elements, known) = &array.data else {
            return Ok(true);
        };
        match elements.first() {
            Some(first) => match self.conform(ty, first, mode, crate::machine::NOWHERE) {
                Ok(()) => Ok(true),
                Err(failure) if failure.class == Class::Program => Ok(false),
                Err(failure) => Err(failure),
            },
            None => self.fit_type(ty, known, mode),
        }
    }

    /// Returns true if the recorded type of absent elements fits.
    pub fn fit_type(&mut self, ty: &CTy, known: &RTy, mode: Mode) -> Res<bool> {
        match (ty, known) {
            (CTy::Array(dim, elem), RTy::Array(actual, inner)) => {
                let fits = *actual == UNKNOWN || self.fit_dim(dim, *actual, mode)?;
                Ok(fits && self.fit_type(elem, inner, mode)?)
            }
            (CTy::Tuple(tys) | CTy::Record(_, tys), RTy::Tuple(parts) | RTy::Record(_, parts)) => {
                self.fit_types(tys, parts, mode)
            }
            (CTy::Sum(_, constrs), RTy::Sum(_, parts)) => {
                let mut all = true;
                for (tys, parts) in constrs.iter().zip(parts) {
                    all &= self.fit_types(tys, parts, mode)?;
                }
                Ok(all)
            }
            (CTy::Static(ty), known) => Ok(mode == Mode::Bind || types_fit(ty, known)),
            _ => Ok(true),
        }
    }

    fn fit_types(&mut self, tys: &[CTy], parts: &[Rc<RTy>], mode: Mode) -> Res<bool> {
        let mut all = true;
        for (ty, part) in tys.iter().zip(parts) {
            all &= self.fit_type(ty, part, mode)?;
        }
        Ok(all)
    }

    fn fit_dim(&mut self, dim: &CDim, actual: i64, mode: Mode) -> Res<bool> {
        Ok(match dim {
            CDim::Any => true,
            CDim::Const(n) => *n == actual || mode == Mode::Bind,
            CDim::Slot(slot) => match self.peek(*slot) {
                Val::Scalar(Scalar::I64(n)) => *n == actual || mode == Mode::Bind,
                Val::Unbound => {
                    self.set(*slot, Val::i64(actual));
                    true
                }
                _ => true,
            },
            CDim::Exp(_) if mode == Mode::Strict => self.dim(dim)?.is_none_or(|wanted| wanted == actual),
            CDim::Exp(_) => true,
        })
    }

    /// Binds sizes to the sizes of a value. A size that occurs only in expressions of the type
    /// keeps its former value.
    pub fn bind_sizes(&mut self, slots: &[Slot], ty: &CTy, value: &Val) -> Res<()> {
        let before: Vec<Val> = slots.iter().map(|slot| self.peek(*slot).clone()).collect();
        self.forget(slots);
        self.conform(ty, value, Mode::Bind, crate::machine::NOWHERE)?;
        for (slot, before) in slots.iter().zip(before) {
            if matches!(self.peek(*slot), Val::Unbound) {
                self.set(*slot, before);
            }
        }
        let mut payload = crate::resolve::payload_sizes(Some(ty));
        payload.retain(|slot| slots.contains(slot));
        self.absent_sizes(&payload);
        Ok(())
    }

    /// Sets payload sizes that are still unbound to 0.
    pub fn absent_sizes(&mut self, payload: &[Slot]) {
        for slot in payload {
            if matches!(self.peek(*slot), Val::Unbound) {
                self.set(*slot, Val::i64(0));
            }
        }
    }
}

/// Returns true if a value has the known sizes of a type.
fn static_fit(ty: &RTy, value: &Val) -> bool {
    match (ty, value) {
        (RTy::Array(..), Val::Array(array)) => fit_known(ty, array, 0),
        (RTy::Tuple(tys) | RTy::Record(_, tys), Val::Tuple(parts)) => {
            tys.iter().zip(parts.iter()).all(|(ty, v)| static_fit(ty, v))
        }
        (RTy::Sum(_, constrs), Val::Sum(sum)) => constrs
            .get(sum.0 as usize)
            .is_none_or(|tys| tys.iter().zip(&sum.1).all(|(ty, v)| static_fit(ty, v))),
        _ => true,
    }
}

fn fit_known(ty: &RTy, array: &Array, at: usize) -> bool {
    match (ty, array.shape.get(at)) {
        (RTy::Array(dim, elem), Some(actual)) => {
            (*dim == UNKNOWN || dim == actual) && fit_known(elem, array, at + 1)
        }
        (_, Some(_)) => true,
        (ty, None) => match &array.data {
            Data::Other(elements, known) => match elements.first() {
                Some(first) => static_fit(ty, first),
                None => types_fit(ty, known),
            },
            _ => true,
        },
    }
}

fn types_fit(wanted: &RTy, found: &RTy) -> bool {
    match (wanted, found) {
        (RTy::Array(x, a), RTy::Array(y, b)) => (*x == UNKNOWN || *y == UNKNOWN || x == y) && types_fit(a, b),
        (RTy::Tuple(xs) | RTy::Record(_, xs), RTy::Tuple(ys) | RTy::Record(_, ys)) => {
            xs.iter().zip(ys).all(|(x, y)| types_fit(x, y))
        }
        (RTy::Sum(_, xs), RTy::Sum(_, ys)) => {
            xs.iter().zip(ys).all(|(xs, ys)| xs.iter().zip(ys).all(|(x, y)| types_fit(x, y)))
        }
        _ => true,
    }
}

/// The failure of a value that does not fit its type. For a tuple, it shows the component that does
/// not fit.
pub fn mismatch(value: &Val, ty: &RTy, span: Span) -> Box<Failure> {
    match (value, ty) {
        (Val::Tuple(parts), RTy::Tuple(tys) | RTy::Record(_, tys)) => {
            let mut pairs = parts.iter().zip(tys);
            match pairs.find(|(part, ty)| !static_fit(ty, part)) {
                Some((part, ty)) => mismatch(part, ty, span),
                None => Failure::at(span, "sizes differ"),
            }
        }
        (Val::Sum(sum), RTy::Sum(_, constrs)) => {
            let tys = constrs.get(sum.0 as usize).into_iter().flatten();
            let mut pairs = sum.1.iter().zip(tys);
            match pairs.find(|(part, ty)| !static_fit(ty, part)) {
                Some((part, ty)) => mismatch(part, ty, span),
                None => Failure::at(span, "sizes differ"),
            }
        }
        (Val::Array(array), _) => shapes_differ(&array.shape, ty, span),
        _ => Failure::at(span, "sizes differ"),
    }
}

/// The failure of an array of shape `found` where the type `wanted` is required.
pub fn shapes_differ(found: &[i64], wanted: &RTy, span: Span) -> Box<Failure> {
    misfit("Value", found, wanted, span)
}

/// The failure of an entry-point argument whose shape contradicts the other arguments or its type.
pub fn invalid_sizes(argument: &str, found: &[i64], wanted: &RTy, span: Span) -> Box<Failure> {
    let what = format!("{INVALID_SIZES}: {argument}");
    misfit(&what, found, wanted, span)
}

/// The beginning of messages about arguments with inconsistent sizes.
pub const INVALID_SIZES: &str = "entry point arguments have invalid sizes";

fn misfit(what: &str, found: &[i64], wanted: &RTy, span: Span) -> Box<Failure> {
    let mut text = format!("{what} of shape ");
    push_shape(found, &mut text);
    text.push_str(" cannot match shape of type \"");
    push_type(wanted, &mut text);
    text.push_str("\".");
    Failure::at(span, text)
}

/// Appends `[n][m]`.
pub fn push_shape(dims: &[i64], out: &mut String) {
    for dim in dims {
        // Writing to a string cannot fail.
        let _ = write!(out, "[{dim}]");
    }
}

/// Appends a type as text; unknown sizes are left empty.
pub fn push_type(ty: &RTy, out: &mut String) {
    match ty {
        RTy::Scalar(ty) => out.push_str(ty.name()),
        RTy::Array(dim, elem) => {
            if *dim == UNKNOWN {
                out.push_str("[]");
            } else {
                push_shape(&[*dim], out);
            }
            push_type(elem, out);
        }
        RTy::Tuple(parts) => {
            out.push('(');
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                push_type(part, out);
            }
            out.push(')');
        }
        RTy::Record(names, parts) => {
            out.push('{');
            for (i, (name, part)) in names.iter().zip(parts).enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                out.push_str(name);
                out.push_str(": ");
                push_type(part, out);
            }
            out.push('}');
        }
        RTy::Sum(names, parts) => {
            for (i, (name, tys)) in names.iter().zip(parts).enumerate() {
                out.push_str(if i > 0 { " | #" } else { "#" });
                out.push_str(name);
                for ty in tys {
                    out.push(' ');
                    push_type(ty, out);
                }
            }
        }
        RTy::Fun => out.push_str("function"),
        RTy::Unknown => out.push('_'),
    }
}
