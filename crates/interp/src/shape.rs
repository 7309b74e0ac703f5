//! Shapes: evaluation of types with the sizes of a frame, and comparison of values with them.
//!
//! A size variable without a value is bound to the size of the value compared; one with a value is
//! compared. For an empty array, its recorded element type is compared.

use crate::failure::{Class, Failure, Res};
use crate::machine::Machine;
use crate::tree::{SizeExpr, SizedType, Slot};
use crate::value::{Array, Data, RunType, RunValue, UNKNOWN};
use std::fmt::Write as _;
use std::rc::Rc;
use syntax::span::Span;

/// The purpose of a comparison with a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Sizes are bound; differences are ignored.
    BindSizes,
    /// Sizes that are numbers or variables must agree.
    Check,
    /// All sizes must agree, including sizes of type parameters.
    Strict,
}

impl Machine<'_> {
    /// The type with the values of its sizes.
    pub fn rty(&mut self, ty: &SizedType) -> Res<Rc<RunType>> {
        Ok(match ty {
            SizedType::Static(ty) => Rc::clone(ty),
            SizedType::Var(slot) => match self.peek(*slot) {
                RunValue::Type(ty) => Rc::clone(ty),
                _ => Rc::new(RunType::Unknown),
            },
            SizedType::Array(dim, elem) => {
                let dim = self.dim(dim)?.unwrap_or(UNKNOWN);
                Rc::new(RunType::Array(dim, self.rty(elem)?))
            }
            SizedType::Tuple(parts) => Rc::new(RunType::Tuple(self.rtys(parts)?)),
            SizedType::Record(names, parts) => Rc::new(RunType::Record(Rc::clone(names), self.rtys(parts)?)),
            SizedType::Sum(names, parts) => {
                let parts = parts.iter().map(|tys| self.rtys(tys)).collect::<Res<_>>()?;
                Rc::new(RunType::Sum(Rc::clone(names), parts))
            }
        })
    }

    /// Several types with the values of their sizes.
    pub fn rtys(&mut self, types: &[SizedType]) -> Res<Vec<Rc<RunType>>> {
        types.iter().map(|ty| self.rty(ty)).collect()
    }

    /// The value of a size, if it is known.
    pub fn dim(&mut self, dim: &SizeExpr) -> Res<Option<i64>> {
        Ok(match dim {
            SizeExpr::Any => None,
            SizeExpr::Const(n) => Some(*n),
            SizeExpr::Slot(slot) => self.peek(*slot).as_i64(),
            SizeExpr::Exp(node) => match self.eval(node) {
                Ok(value) => value.as_i64(),
                // A size may mention variables that are unbound here.
                Err(failure) if failure.class == Class::Unbound => None,
                Err(failure) => return Err(failure),
            },
        })
    }

    /// Fails unless the value has the shape of the type. Size variables without a value are bound.
    pub fn check_shape(&mut self, ty: &SizedType, value: &RunValue, mode: Mode, span: Span) -> Res<()> {
        match (ty, value) {
            (SizedType::Static(ty), value) if mode != Mode::BindSizes && !static_fit(ty, value) => {
                return Err(mismatch(value, ty, span));
            }
            (SizedType::Array(..), RunValue::Array(array)) => {
                let fits = self.fit_array(ty, array, 0, mode)? || mode == Mode::BindSizes;
                if fits {
                    return Ok(());
                }
                let wanted = self.rty(ty)?;
                return Err(mismatch(value, &wanted, span));
            }
            (SizedType::Tuple(tys) | SizedType::Record(_, tys), RunValue::Tuple(parts)) => {
                for (ty, part) in tys.iter().zip(parts.iter()) {
                    self.check_shape(ty, part, mode, span)?;
                }
            }
            (SizedType::Sum(_, constrs), RunValue::Sum(sum)) => {
                if let Some(tys) = constrs.get(sum.0 as usize) {
                    for (ty, part) in tys.iter().zip(&sum.1) {
                        self.check_shape(ty, part, mode, span)?;
                    }
                }
            }
            (SizedType::Var(slot), value) if mode == Mode::Strict => {
                if let RunValue::Type(ty) = self.peek(*slot).clone()
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
    fn fit_array(&mut self, ty: &SizedType, array: &Array, at: usize, mode: Mode) -> Res<bool> {
        let Some(actual) = array.shape.get(at).copied() else {
            return self.fit_elements(ty, array, mode);
        };
        Ok(match ty {
            SizedType::Array(dim, elem) => {
                self.fit_dim(dim, actual, mode)? && self.fit_array(elem, array, at + 1, mode)?
            }
            SizedType::Static(ty) => mode == Mode::BindSizes || fit_known(ty, array, at),
            SizedType::Var(slot) if mode == Mode::Strict => match self.peek(*slot).clone() {
                RunValue::Type(ty) => fit_known(&ty, array, at),
                _ => true,
            },
            _ => true,
        })
    }

    fn fit_elements(&mut self, ty: &SizedType, array: &Array, mode: Mode) -> Res<bool> {
        let Data::Other(elements, known) = &array.data else {
            return Ok(true);
        };
        match elements.first() {
            Some(first) => match self.check_shape(ty, first, mode, crate::machine::NO_SPAN) {
                Ok(()) => Ok(true),
                Err(failure) if failure.class == Class::Program => Ok(false),
                Err(failure) => Err(failure),
            },
            None => self.fit_type(ty, known, mode),
        }
    }

    /// Returns true if the recorded type of absent elements fits.
    pub fn fit_type(&mut self, ty: &SizedType, known: &RunType, mode: Mode) -> Res<bool> {
        match (ty, known) {
            (SizedType::Array(dim, elem), RunType::Array(actual, inner)) => {
                let fits = *actual == UNKNOWN || self.fit_dim(dim, *actual, mode)?;
                Ok(fits && self.fit_type(elem, inner, mode)?)
            }
            (
                SizedType::Tuple(tys) | SizedType::Record(_, tys),
                RunType::Tuple(parts) | RunType::Record(_, parts),
            ) => self.fit_types(tys, parts, mode),
            (SizedType::Sum(_, constrs), RunType::Sum(_, parts)) => {
                let mut all = true;
                for (tys, parts) in constrs.iter().zip(parts) {
                    all &= self.fit_types(tys, parts, mode)?;
                }
                Ok(all)
            }
            (SizedType::Static(ty), known) => Ok(mode == Mode::BindSizes || types_fit(ty, known)),
            _ => Ok(true),
        }
    }

    fn fit_types(&mut self, tys: &[SizedType], parts: &[Rc<RunType>], mode: Mode) -> Res<bool> {
        let mut all = true;
        for (ty, part) in tys.iter().zip(parts) {
            all &= self.fit_type(ty, part, mode)?;
        }
        Ok(all)
    }

    fn fit_dim(&mut self, dim: &SizeExpr, actual: i64, mode: Mode) -> Res<bool> {
        Ok(match dim {
            SizeExpr::Any => true,
            SizeExpr::Const(n) => *n == actual || mode == Mode::BindSizes,
            SizeExpr::Slot(slot) => match self.peek(*slot) {
                RunValue::Unbound => {
                    self.set(*slot, RunValue::i64(actual));
                    true
                }
                size => size.as_i64().is_none_or(|n| n == actual || mode == Mode::BindSizes),
            },
            SizeExpr::Exp(_) if mode == Mode::Strict => self.dim(dim)?.is_none_or(|wanted| wanted == actual),
            SizeExpr::Exp(_) => true,
        })
    }

    /// Binds sizes to the sizes of a value. A size that occurs only in expressions of the type
    /// keeps its former value.
    pub fn bind_sizes(&mut self, slots: &[Slot], ty: &SizedType, value: &RunValue) -> Res<()> {
        let before: Vec<RunValue> = slots.iter().map(|slot| self.peek(*slot).clone()).collect();
        self.unbind(slots);
        self.check_shape(ty, value, Mode::BindSizes, crate::machine::NO_SPAN)?;
        for (slot, before) in slots.iter().zip(before) {
            if matches!(self.peek(*slot), RunValue::Unbound) {
                self.set(*slot, before);
            }
        }
        let mut payload = crate::resolve::payload_sizes(Some(ty));
        payload.retain(|slot| slots.contains(slot));
        self.zero_unbound_sizes(&payload);
        Ok(())
    }

    /// Sets payload sizes that are still unbound to 0.
    pub fn zero_unbound_sizes(&mut self, payload: &[Slot]) {
        for slot in payload {
            if matches!(self.peek(*slot), RunValue::Unbound) {
                self.set(*slot, RunValue::i64(0));
            }
        }
    }
}

/// Returns true if a value has the known sizes of a type.
fn static_fit(ty: &RunType, value: &RunValue) -> bool {
    match (ty, value) {
        (RunType::Array(..), RunValue::Array(array)) => fit_known(ty, array, 0),
        (RunType::Tuple(tys) | RunType::Record(_, tys), RunValue::Tuple(parts)) => {
            tys.iter().zip(parts.iter()).all(|(ty, v)| static_fit(ty, v))
        }
        (RunType::Sum(_, constrs), RunValue::Sum(sum)) => constrs
            .get(sum.0 as usize)
            .is_none_or(|tys| tys.iter().zip(&sum.1).all(|(ty, v)| static_fit(ty, v))),
        _ => true,
    }
}

fn fit_known(ty: &RunType, array: &Array, at: usize) -> bool {
    match (ty, array.shape.get(at)) {
        (RunType::Array(dim, elem), Some(actual)) => {
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

fn types_fit(wanted: &RunType, found: &RunType) -> bool {
    match (wanted, found) {
        (RunType::Array(x, a), RunType::Array(y, b)) => {
            (*x == UNKNOWN || *y == UNKNOWN || x == y) && types_fit(a, b)
        }
        (RunType::Tuple(xs) | RunType::Record(_, xs), RunType::Tuple(ys) | RunType::Record(_, ys)) => {
            xs.iter().zip(ys).all(|(x, y)| types_fit(x, y))
        }
        (RunType::Sum(_, xs), RunType::Sum(_, ys)) => {
            xs.iter().zip(ys).all(|(xs, ys)| xs.iter().zip(ys).all(|(x, y)| types_fit(x, y)))
        }
        _ => true,
    }
}

/// The failure of a value that does not fit its type. For a tuple, it shows the component that does
/// not fit.
pub fn mismatch(value: &RunValue, ty: &RunType, span: Span) -> Box<Failure> {
    match (value, ty) {
        (RunValue::Tuple(parts), RunType::Tuple(tys) | RunType::Record(_, tys)) => {
            let mut pairs = parts.iter().zip(tys);
            match pairs.find(|(part, ty)| !static_fit(ty, part)) {
                Some((part, ty)) => mismatch(part, ty, span),
                None => Failure::at(span, "sizes differ"),
            }
        }
        (RunValue::Sum(sum), RunType::Sum(_, constrs)) => {
            let tys = constrs.get(sum.0 as usize).into_iter().flatten();
            let mut pairs = sum.1.iter().zip(tys);
            match pairs.find(|(part, ty)| !static_fit(ty, part)) {
                Some((part, ty)) => mismatch(part, ty, span),
                None => Failure::at(span, "sizes differ"),
            }
        }
        (RunValue::Array(array), _) => shapes_differ(&array.shape, ty, span),
        _ => Failure::at(span, "sizes differ"),
    }
}

/// The failure of an array of shape `found` where the type `wanted` is required.
pub fn shapes_differ(found: &[i64], wanted: &RunType, span: Span) -> Box<Failure> {
    mismatch_message("Value", found, wanted, span)
}

/// The failure of an entry-point argument whose shape contradicts the other arguments or its type.
pub fn invalid_sizes(argument: &str, found: &[i64], wanted: &RunType, span: Span) -> Box<Failure> {
    let what = format!("{INVALID_SIZES}: {argument}");
    mismatch_message(&what, found, wanted, span)
}

/// The beginning of messages about arguments with inconsistent sizes.
pub const INVALID_SIZES: &str = "entry point arguments have invalid sizes";

fn mismatch_message(what: &str, found: &[i64], wanted: &RunType, span: Span) -> Box<Failure> {
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
pub fn push_type(ty: &RunType, out: &mut String) {
    match ty {
        RunType::Scalar(ty) => out.push_str(ty.name()),
        RunType::Array(dim, elem) => {
            if *dim == UNKNOWN {
                out.push_str("[]");
            } else {
                push_shape(&[*dim], out);
            }
            push_type(elem, out);
        }
        RunType::Tuple(parts) => {
            out.push('(');
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                push_type(part, out);
            }
            out.push(')');
        }
        RunType::Record(names, parts) => {
            out.push('{');
            for (i, (name, part)) in names.iter().zip(parts).enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                out.push_str(name);
                out.push_str(": ");
                push_type(part, out);
            }
            out.push('}');
        }
        RunType::Sum(names, parts) => {
            for (i, (name, tys)) in names.iter().zip(parts).enumerate() {
                out.push_str(if i > 0 { " | #" } else { "#" });
                out.push_str(name);
                for ty in tys {
                    out.push(' ');
                    push_type(ty, out);
                }
            }
        }
        RunType::Fun => out.push_str("function"),
        RunType::Unknown => out.push('_'),
    }
}
