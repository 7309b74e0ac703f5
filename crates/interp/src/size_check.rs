//! Size checks: values are compared with the sizes in their types.
//!
//! Sizes in types are claims of the checker. The evaluator takes sizes from values where these
//! determine them, so a wrong claim goes unnoticed here, while the compiler relies on it. With
//! [`crate::Interp::set_check_sizes`] claims are checked; a wrong one is a failure of
//! [`Class::Unsound`], a compiler bug.
//!
//! The rule:
//! 1. The type of an *expression* describes that expression's own value, so a difference is always
//!    a bug.
//! 2. Where a value *meets* a type from elsewhere (parameters and arguments, patterns, loop
//!    parameters in each iteration, function results), the evaluator's own checks come first. A
//!    failing one is an error of the program if the checker could not have compared the two types:
//!    one has an unknown size ([`Dim::Any`]) or a size that is not a polynomial in variables
//!    ([`Dim::Exp`]). Otherwise the checker compares exactly and has accepted sizes that differ: a
//!    bug. Arguments that built-in functions pass are not distinguished: a failing check is an
//!    error of the program.
//! 3. Sizes that the evaluator's own checks omit (computed sizes, type arguments, size arguments of
//!    calls) are compared afterwards; a difference is a bug, since compiled code does not check
//!    them either. Coercions (`:>`) and arguments from outside are explicit checks of the program:
//!    their failures are errors of the program.
//! 4. A size variable has one value per call of the function, and per iteration of the innermost
//!    loop around its binding: the first value that binds it determines it; every other value that
//!    lists it in `existential_sizes` is compared.
//! 5. A size accepts any value if it is [`Dim::Any`], if a variable in it is unbound, or if its
//!    evaluation fails. In sum types only the constructor of the value is compared; arrays of
//!    tuples and other non-scalars are sampled; the row sizes of an empty array are not compared if
//!    the array does not record them, and a negative size argument is equal to 0: only an array
//!    without rows can have it, since making a row fails.

use crate::binding_site::binding_site;
use crate::failure::{Class, Failure, Res};
use crate::machine::Machine;
use crate::shape::{push_shape, push_type};
use crate::tree::{Function, SizeCheck, SizeExpr, SizedType, Slot, Subject};
use crate::value::{Array, Data, Dims, RunType, RunValue, UNKNOWN};
use check::tast::{Dim, Exp, ExpKind, Ty, VarId};
use std::fmt::Write as _;
use std::rc::Rc;
use syntax::span::Span;

/// The number of elements of an array that are compared.
const SAMPLES: usize = 32;

/// A traversal of a type and a value.
struct Traversal<'c> {
    /// Size variables that the value may bind.
    binds: &'c [Slot],
    /// The path to the current part: the numbers of components, of constructors and their payloads,
    /// and 0 for an array's elements.
    path: Vec<u32>,
}

/// A size that differs.
struct SizeMismatch {
    /// The path to the array dimension.
    path: Vec<u32>,
    /// The size in the type.
    wanted: i64,
    /// The shape of the array.
    shape: Dims,
    /// The number of the dimension.
    dimension: usize,
}

type Outcome = Option<SizeMismatch>;

impl Traversal<'_> {
    fn inside<T>(&mut self, part: u32, f: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(part);
        let result = f(self);
        self.path.pop();
        result
    }

    /// Compares a dimension of an array.
    fn size(&self, wanted: i64, array: &Array, at: usize) -> Outcome {
        let actual = array.shape.get(at).copied()?;
        // An empty array may not record its row sizes.
        let unknown = actual == 0 && array.shape.iter().take(at).any(|n| *n == 0);
        (wanted != UNKNOWN && wanted != actual && !unknown).then(|| SizeMismatch {
            path: self.path.clone(),
            wanted,
            shape: array.shape.clone(),
            dimension: at,
        })
    }

    fn known(&mut self, ty: &RunType, value: &RunValue) -> Outcome {
        match (ty, value) {
            (RunType::Array(..), RunValue::Array(array)) => self.known_array(ty, array, 0),
            (RunType::Tuple(tys) | RunType::Record(_, tys), RunValue::Tuple(parts)) => (0u32..)
                .zip(tys.iter().zip(parts.iter()))
                .find_map(|(i, (ty, part))| self.inside(i, |walk| walk.known(ty, part))),
            (RunType::Sum(_, constrs), RunValue::Sum(sum)) => {
                let tys = constrs.get(sum.0 as usize)?;
                self.inside(sum.0, |walk| {
                    (0u32..)
                        .zip(tys.iter().zip(&sum.1))
                        .find_map(|(i, (ty, part))| walk.inside(i, |walk| walk.known(ty, part)))
                })
            }
            _ => None,
        }
    }

    fn known_array(&mut self, ty: &RunType, array: &Array, at: usize) -> Outcome {
        if at == array.shape.len() {
            return samples(array).find_map(|value| self.known(ty, value));
        }
        match ty {
            RunType::Array(dim, elem) => {
                let found = self.size(*dim, array, at);
                found.or_else(|| self.inside(0, |walk| walk.known_array(elem, array, at + 1)))
            }
            _ => None,
        }
    }
}

/// A sample of an array's elements, if they are neither scalars nor arrays.
fn samples(array: &Array) -> impl Iterator<Item = &RunValue> {
    let elements: &[RunValue] = match &array.data {
        Data::Other(elements, _) => elements,
        _ => &[],
    };
    elements.iter().step_by(elements.len().div_ceil(SAMPLES).max(1))
}

impl Machine<'_> {
    /// Fails if a value's shape contradicts its type; binds the sizes that it determines.
    pub(crate) fn check_value(&mut self, check: &SizeCheck, value: &RunValue) -> Res<()> {
        if self.size_depth > 0 {
            // Size expressions evaluated for a check are not checked themselves.
            let binds = check.binds.iter();
            let unbound = binds.filter(|slot| matches!(self.peek(**slot), RunValue::Unbound));
            let unbound: Vec<Slot> = unbound.copied().collect();
            return self.bind_sizes(&unbound, &check.ty, value);
        }
        match self.differs(check, value)? {
            Some(found) => Err(self.contradiction(check, &found)),
            None => Ok(()),
        }
    }

    /// The failure of a value at a check of the evaluator's own: a bug of the checker if it could
    /// have compared the sizes (`check` is given and comparable), otherwise an error of the
    /// program.
    pub(crate) fn classify(
        &mut self,
        failure: Box<Failure>,
        check: Option<&SizeCheck>,
        value: &RunValue,
    ) -> Box<Failure> {
        match check {
            Some(check) if check.comparable && failure.class == Class::Program => {
                match self.differs(check, value) {
                    Ok(Some(found)) => self.contradiction(check, &found),
                    Ok(None) | Err(_) => failure,
                }
            }
            _ => failure,
        }
    }

    /// Fails if a size argument of a call differs from the size of the arguments.
    fn check_size_arg(&self, claimed: &RunValue, actual: &RunValue, var: VarId) -> Res<()> {
        match (claimed.as_scalar(), actual.as_scalar()) {
            (Some(claimed), Some(actual)) if claimed != actual => {
                let (program, claimed) = (self.interp.program(), claimed.as_i64().unwrap_or(0));
                let actual = actual.as_i64().unwrap_or(0);
                if claimed < 0 && actual == 0 {
                    return Ok(());
                }
                let name = program.name(var);
                let mut failure = Failure::unsound(format_args!(
                    "the call's size argument for `{name}` is {claimed}, but the size of the arguments is {actual}"
                ));
                if let Some(span) = binding_site(program, var) {
                    let note = format!("size `{name}` is bound");
                    failure.notes.push((note, span));
                }
                Err(failure)
            }
            _ => Ok(()),
        }
    }

    /// Checks bound arguments; the size parameters are bound by now.
    pub(crate) fn check_args(&mut self, func: &Function, inst: &[RunValue]) -> Res<()> {
        let args = self.bound_args.pop().unwrap_or_default();
        if self.size_depth > 0 {
            return Ok(());
        }
        let sizes = func.n_types as Slot..;
        for ((slot, var), claimed) in sizes.zip(&func.size_params).zip(inst.iter().skip(func.n_types)) {
            self.check_size_arg(claimed, self.peek(slot), *var)?;
        }
        for (param, arg) in func.params.iter().zip(&args) {
            if let Some(check) = &param.check {
                self.check_value(check, arg)?;
            }
        }
        Ok(())
    }

    fn differs(&mut self, check: &SizeCheck, value: &RunValue) -> Res<Outcome> {
        let mut walk = Traversal { binds: &check.binds, path: Vec::new() };
        self.compare(&check.ty, value, &mut walk)
    }

    fn compare(&mut self, ty: &SizedType, value: &RunValue, walk: &mut Traversal<'_>) -> Res<Outcome> {
        Ok(match (ty, value) {
            (SizedType::Static(ty), value) => walk.known(ty, value),
            (SizedType::Array(..), RunValue::Array(array)) => self.compare_array(ty, array, 0, walk)?,
            (SizedType::Tuple(tys) | SizedType::Record(_, tys), RunValue::Tuple(parts)) => {
                self.compare_all(tys, parts, walk)?
            }
            (SizedType::Sum(_, constrs), RunValue::Sum(sum)) => match constrs.get(sum.0 as usize) {
                Some(tys) => walk.inside(sum.0, |walk| self.compare_all(tys, &sum.1, walk))?,
                None => None,
            },
            (SizedType::Var(slot), value) => match self.peek(*slot).clone() {
                RunValue::Type(ty) => walk.known(&ty, value),
                _ => None,
            },
            _ => None,
        })
    }

    fn compare_all(
        &mut self,
        tys: &[SizedType],
        parts: &[RunValue],
        walk: &mut Traversal<'_>,
    ) -> Res<Outcome> {
        for (i, (ty, part)) in (0u32..).zip(tys.iter().zip(parts)) {
            let found = walk.inside(i, |walk| self.compare(ty, part, walk))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Compares an array without its first `at` dimensions.
    fn compare_array(
        &mut self,
        ty: &SizedType,
        array: &Array,
        at: usize,
        walk: &mut Traversal<'_>,
    ) -> Res<Outcome> {
        if at == array.shape.len() {
            for value in samples(array) {
                let found = self.compare(ty, value, walk)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            return Ok(None);
        }
        Ok(match ty {
            SizedType::Array(dim, elem) => {
                let wanted = match dim {
                    SizeExpr::Slot(slot)
                        if walk.binds.contains(slot) && matches!(self.peek(*slot), RunValue::Unbound) =>
                    {
                        self.set(*slot, RunValue::i64(array.shape[at]));
                        None
                    }
                    dim => self.size_of(dim)?,
                };
                match walk.size(wanted.unwrap_or(UNKNOWN), array, at) {
                    None => walk.inside(0, |walk| self.compare_array(elem, array, at + 1, walk))?,
                    found => found,
                }
            }
            SizedType::Static(ty) => walk.known_array(ty, array, at),
            SizedType::Var(slot) => match self.peek(*slot).clone() {
                RunValue::Type(ty) => walk.known_array(&ty, array, at),
                _ => None,
            },
            SizedType::Tuple(_) | SizedType::Record(..) | SizedType::Sum(..) => None,
        })
    }

    /// Evaluates sizes, unwatched and unchecked.
    fn without_checks<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let nans = std::mem::take(&mut self.nans);
        let watcher = self.watcher.take();
        self.size_depth += 1;
        let result = f(self);
        self.size_depth -= 1;
        self.watcher = watcher;
        self.nans = nans;
        result
    }

    /// The type with its sizes, if their evaluation does not fail.
    pub(crate) fn evaluated_type(&mut self, ty: &SizedType) -> Option<Rc<RunType>> {
        self.without_checks(|machine| machine.rty(ty)).ok()
    }

    /// The value of a size, if it is known and its evaluation does not fail.
    fn size_of(&mut self, dim: &SizeExpr) -> Res<Option<i64>> {
        let SizeExpr::Exp(_) = dim else {
            return self.dim(dim);
        };
        match self.without_checks(|machine| machine.dim(dim)) {
            Err(failure) if matches!(failure.class, Class::Timeout | Class::Interrupted) => Err(failure),
            size => Ok(size.ok().flatten()),
        }
    }

    // --------------------------------------------------------------- messages

    fn contradiction(&mut self, check: &SizeCheck, found: &SizeMismatch) -> Box<Failure> {
        let program = self.interp.program();
        let mut text = String::from("a value of shape ");
        push_shape(&found.shape, &mut text);
        let claim = program.show(&check.source);
        let _ = write!(text, " contradicts the type \"{claim}\"");
        let mut sized = String::new();
        if let Some(ty) = self.evaluated_type(&check.ty) {
            push_type(&ty, &mut sized);
        }
        if !sized.is_empty() && sized != claim {
            let _ = write!(text, ", here \"{sized}\"");
        }
        let _ = write!(text, ": dimension {} should be {}", found.dimension, found.wanted);
        if !check.comparable {
            text.push_str(" (neither the checker nor the program compares such sizes)");
        }
        let subject = match check.subject {
            Subject::Expression => "it is the value of the expression",
            Subject::Pattern => "it is bound",
            Subject::Result => "it is the result of the function's body",
        };
        let mut failure = Failure::unsound(text).with_caller(check.span);
        failure.notes.push((subject.to_owned(), check.span));
        failure.notes.extend(self.size_origins(check, found));
        failure
    }

    /// Notes on the binding sites of the size that differs.
    fn size_origins(&self, check: &SizeCheck, found: &SizeMismatch) -> Vec<(String, Span)> {
        let program = self.interp.program();
        let mut vars = Vec::new();
        match follow(&check.source, &found.path) {
            Some(Part::Size(dim)) => mentioned(dim, &mut vars),
            Some(Part::Param(ty)) => {
                let name = program.show(ty);
                let note = format!("the size comes from the type parameter {name} of the expression");
                return vec![(note, check.span)];
            }
            None => {}
        }
        if vars.is_empty() {
            let note = format!("the size {} is part of the type", found.wanted);
            return vec![(note, check.span)];
        }
        let sites = vars.into_iter().filter_map(|var| {
            let slot = check.vars.iter().find(|(known, _)| *known == var);
            let value = slot.and_then(|(_, slot)| self.peek(*slot).as_i64());
            let value = value.map_or_else(String::new, |n| format!(" ({n})"));
            let note = format!("size `{}`{value} is bound", program.name(var));
            Some((note, binding_site(program, var)?))
        });
        sites.collect()
    }
}

/// A part of a type.
enum Part<'t> {
    /// The size of an array.
    Size(&'t Dim),
    /// A type parameter.
    Param(&'t Ty),
}

/// The size at the end of a path, or the type parameter on the path.
fn follow<'t>(ty: &'t Ty, path: &[u32]) -> Option<Part<'t>> {
    match (ty, path) {
        (Ty::Array(array), []) => Some(Part::Size(&array.dim)),
        (Ty::Array(array), [0, rest @ ..]) => follow(&array.elem, rest),
        (Ty::Tuple(parts), [i, rest @ ..]) => follow(parts.get(*i as usize)?, rest),
        (Ty::Record(fields), [i, rest @ ..]) => follow(&fields.get(*i as usize)?.1, rest),
        (Ty::Sum(constrs), [i, j, rest @ ..]) => {
            let (_, tys) = constrs.get(*i as usize)?;
            follow(tys.get(*j as usize)?, rest)
        }
        (Ty::Var(_), _) => Some(Part::Param(ty)),
        _ => None,
    }
}

/// The variables in a size.
fn mentioned(dim: &Dim, out: &mut Vec<VarId>) {
    fn walk(exp: &Exp, out: &mut Vec<VarId>) {
        if let ExpKind::Var { id, .. } = &exp.kind
            && !matches!(exp.ty, Ty::Arrow(_))
            && !out.contains(id)
        {
            out.push(*id);
        }
        check::children(exp, &mut |part| walk(part, out));
    }
    match dim {
        Dim::Any | Dim::Const(_) => {}
        Dim::Var(var) => {
            if !out.contains(var) {
                out.push(*var);
            }
        }
        Dim::Op(_, args) => {
            mentioned(&args.0, out);
            mentioned(&args.1, out);
        }
        Dim::Exp(exp) => walk(exp, out),
    }
}
