//! Sizes of payloads of sums whose constructor is not known statically.
//!
//! A sum value that is not an element of an array has a core array for each payload array of each
//! constructor. Those of the value's own constructor have the sizes of its type; the others are
//! empty ([`Lower::absent`]), so sizes that only make sense for a constructor are never used
//! without it. The sizes of the core arrays are therefore sizes of the value's own (results of the
//! conditional that made it, say); in addition the value keeps its *claims*: the sizes in its type,
//! which each payload has if it is present ([`Value::claims`]). A pattern that binds a payload
//! coerces it to the claims where the constructor is known, under a check that holds there
//! ([`crate::pattern`]). Where a type has other sizes than the claims, they are checked for that
//! constructor only ([`Lower::coerce_sum`]).
//!
//! Elements of arrays have one shape. A sum that becomes one gets arrays of the claimed sizes,
//! blank where they are absent ([`Lower::shaped`]).
//!
//! A size variable that occurs only in payloads is the size of the first one present, and 0 if none
//! is ([`Lower::bind_payload_sizes`]).

use crate::size::{Mismatch, mismatch_message};
use crate::types::{LTy, Size, size_of};
use crate::value::{ArrayVal, Env, Value};
use crate::{Lower, Res};
use check::tast::{self, Ty, VarId};
use ir::syntax::ENTRY_SIZES_MESSAGE;
use ir::{Atom, Body, Dim, Exp};
use prim::{BinOp, CmpOp, PrimType, Scalar};
use std::rc::Rc;

/// The largest number of elements of absent payloads with constant sizes; larger ones are empty.
const MAX_ABSENT_ELEMENTS: i64 = 4096;

/// The constructors around a payload that are not known statically: each tag, and its value if the
/// payload is present.
type Path = Vec<(Atom, i8)>;

/// A size variable's occurrence in a payload.
struct Occurrence {
    var: VarId,
    path: Path,
    /// The size of the core arrays, and the claimed size.
    own: Size,
    claim: Size,
}

/// The presence of a constructor.
enum Presence {
    Present,
    Absent,
    Unknown(Atom),
}

impl Lower<'_> {
    /// The presence, in a sum value, of constructor `number` of `count`.
    fn presence(&self, tag: &Value, number: i8, count: usize) -> Res<Presence> {
        Ok(match tag {
            _ if count == 1 => Presence::Present,
            Value::Scalar(Atom::Const(tag), _) if *tag == Scalar::I8(number) => Presence::Present,
            Value::Scalar(Atom::Const(_), _) => Presence::Absent,
            Value::Scalar(tag, _) => Presence::Unknown(*tag),
            _ => return self.bug("a sum value has no constructor"),
        })
    }

    fn has_tag(&mut self, tag: Atom, number: i8) -> Atom {
        let number = Atom::Const(Scalar::I8(number));
        self.f.compare(CmpOp::Eq, PrimType::I8, tag, number)
    }

    /// The condition, or true if the value has another constructor.
    pub(crate) fn or_absent(&mut self, tag: &Value, number: i8, truth: Atom) -> Res<Atom> {
        let tag = self.as_scalar(tag)?;
        let present = self.has_tag(tag, number);
        let absent = self.f.not(present);
        Ok(self.f.or(absent, truth))
    }

    fn is_on_path(&mut self, path: &Path) -> Atom {
        let mut all = Atom::Const(Scalar::Bool(true));
        for (tag, number) in path {
            let one = self.has_tag(*tag, *number);
            all = self.f.and(all, one);
        }
        all
    }

    /// The value with the sizes of a type as claims, which are checked for the payload that is
    /// present.
    pub(crate) fn coerce_sum(&mut self, value: &Value, target: &LTy, why: Mismatch) -> Res<Value> {
        self.coerce_claims(value, &value.claims(), target, &Vec::new(), why)
    }

    fn coerce_claims(
        &mut self,
        value: &Value,
        claims: &LTy,
        target: &LTy,
        path: &Path,
        why: Mismatch,
    ) -> Res<Value> {
        if !differ(target, claims) || value.has_fun() {
            return Ok(value.clone());
        }
        let parts = |values: &[&Value], s: &mut Self| -> Res<Vec<Value>> {
            let claims = claims.parts().unwrap_or_default();
            let targets = target.parts().unwrap_or_default();
            let types = claims.into_iter().zip(targets);
            let values = values.iter().zip(types);
            values.map(|(value, (claim, target))| s.coerce_claims(value, claim, target, path, why)).collect()
        };
        match value {
            Value::Array(array) if path.is_empty() => self.coerce(Value::Array(array.clone()), target, why),
            Value::Array(array) => self.require_array(array, claims, target, path, why),
            Value::Tuple(values) => {
                let values: Vec<&Value> = values.iter().collect();
                Ok(Value::Tuple(parts(&values, self)?.into()))
            }
            Value::Record(fields) => {
                let values: Vec<&Value> = fields.iter().map(|(_, value)| value).collect();
                let labels = fields.iter().map(|(label, _)| label.clone());
                let values = parts(&values, self)?;
                Ok(Value::Record(labels.zip(values).collect()))
            }
            Value::Sum(values, _) => {
                let (LTy::Sum(own), LTy::Sum(expected)) = (claims, target) else {
                    return self.bug("the type of a sum value is not a sum");
                };
                let mut values = values.iter();
                let Some(tag) = values.next() else {
                    return self.bug("a sum value has no constructor");
                };
                let mut out = vec![tag.clone()];
                for (((_, own), (_, expected)), number) in own.iter().zip(expected.iter()).zip(0i8..) {
                    let presence = self.presence(tag, number, n_constructors(claims))?;
                    let mut inner = path.clone();
                    if let Presence::Unknown(tag) = presence {
                        inner.push((tag, number));
                    }
                    for ((own, expected), value) in own.iter().zip(expected.iter()).zip(&mut values) {
                        out.push(match presence {
                            Presence::Absent => value.clone(),
                            _ => self.coerce_claims(value, own, expected, &inner, why)?,
                        });
                    }
                }
                Ok(Value::Sum(out.into(), claims.clone()).with_claims(target))
            }
            Value::Scalar(..) | Value::Fun(_) | Value::Acc(..) => Ok(value.clone()),
        }
    }

    /// The array, under a check that its sizes are those of the target or that it is absent.
    fn require_array(
        &mut self,
        array: &ArrayVal,
        claims: &LTy,
        target: &LTy,
        path: &Path,
        why: Mismatch,
    ) -> Res<Value> {
        let mut same = Atom::Const(Scalar::Bool(true));
        for (expected, claim) in target.sizes().into_iter().zip(claims.sizes()) {
            if let (Some(x), Some(y)) = (expected.and_then(Dim::atom), claim.and_then(Dim::atom))
                && x != y
            {
                let one = self.f.cmp(CmpOp::Eq, x, y);
                same = self.f.and(same, one);
            }
        }
        let value = Value::Array(array.clone());
        if same.constant() == Some(Scalar::Bool(true)) {
            return Ok(value);
        }
        let present = self.is_on_path(path);
        let absent = self.f.not(present);
        let ok = self.f.or(absent, same);
        let what = match why {
            Mismatch::Type => "Value".to_owned(),
            Mismatch::Entry => format!("{ENTRY_SIZES_MESSAGE}: {}", self.argument),
        };
        let expected = target.zip_sizes(claims, &mut |expected, claim| expected.or(claim));
        let msg = mismatch_message(&what, claims, &expected);
        let cert = self.f.assert(ok, msg);
        self.under(cert, &value)
    }

    /// The value with exactly these sizes, as an element of an array.
    pub(crate) fn shaped(&mut self, value: Value, target: &LTy, why: Mismatch) -> Res<Value> {
        if !target.has_payload_sizes() {
            return self.coerce(value, target, why);
        }
        Ok(match (&value, target) {
            (Value::Tuple(parts), LTy::Tuple(tys)) => Value::Tuple(
                parts
                    .iter()
                    .zip(tys.iter())
                    .map(|(v, ty)| self.shaped(v.clone(), ty, why))
                    .collect::<Res<_>>()?,
            ),
            (Value::Record(fields), LTy::Record(tys)) => Value::Record(
                fields
                    .iter()
                    .zip(tys.iter())
                    .map(|((l, v), (_, ty))| Ok((l.clone(), self.shaped(v.clone(), ty, why)?)))
                    .collect::<Res<_>>()?,
            ),
            (Value::Sum(parts, own), LTy::Sum(constrs)) => {
                let mut parts = parts.iter();
                let Some(tag) = parts.next() else {
                    return self.bug("a sum value has no constructor");
                };
                let mut out = vec![tag.clone()];
                for ((_, tys), number) in constrs.iter().zip(0i8..) {
                    let presence = self.presence(tag, number, n_constructors(own))?;
                    for (ty, part) in tys.iter().zip(parts.by_ref()) {
                        let actual = part.ty();
                        let expected = ty.zip_sizes(&actual, &mut |expected, own| expected.or(own));
                        out.push(match presence {
                            _ if expected == actual || part.has_fun() => part.clone(),
                            Presence::Present => self.shaped(part.clone(), &expected, why)?,
                            Presence::Absent => self.blank(&expected)?,
                            Presence::Unknown(tag) => {
                                let cond = self.has_tag(tag, number);
                                self.shaped_if(cond, part, &expected, why)?
                            }
                        });
                    }
                }
                let ty = target.zip_sizes(own, &mut |expected, own| expected.or(own));
                Value::Sum(out.into(), ty)
            }
            _ => value,
        })
    }

    /// The value in the shape of a type if `cond` holds, else a blank one.
    fn shaped_if(&mut self, cond: Atom, value: &Value, target: &LTy, why: Mismatch) -> Res<Value> {
        self.f.enter(false);
        let yes = self.shaped(value.clone(), target, why)?.atoms();
        let then_body = Body { stms: self.f.leave(), result: yes.clone() };
        self.f.enter(false);
        let no = self.blank(target)?.atoms();
        let else_body = Body { stms: self.f.leave(), result: no };
        let types = target.leaves().iter().map(crate::types::Leaf::core).collect();
        let exp = Exp::If { cond, then_body, else_body };
        let names = self.f.bind_all("payload", types, exp);
        for (name, yes) in names.iter().zip(&yes) {
            self.f.alias_outer(*name, &[*yes]);
        }
        let atoms: Vec<Atom> = names.into_iter().map(Atom::Var).collect();
        self.value_of(target, &atoms)
    }

    /// The type of values as elements of one array; `claim` is the element type of the array's
    /// type. Sizes of payloads are the claimed ones, or the largest.
    pub(crate) fn element_type(&mut self, values: &[Value], claim: Option<&LTy>) -> Res<LTy> {
        let Some(first) = values.first() else {
            return self.bug("the element type of no elements");
        };
        let ty = first.ty();
        if !first.has_payload_sizes() {
            return Ok(ty);
        }
        let payload = ty.payload_sizes();
        let claims: Vec<Vec<Size>> = values.iter().map(|v| v.claims().sizes()).collect();
        let own: Vec<Vec<Size>> = values.iter().map(|v| v.ty().sizes()).collect();
        let claim_sizes = claim.map(LTy::sizes).filter(|s| s.len() == payload.len());
        let mut at = 0;
        Ok(ty.map_sizes(&mut |size| {
            let i = at;
            at += 1;
            if !payload[i] {
                return size;
            }
            let claimed = claims.iter().zip(&own).find_map(|(claims, own)| {
                let claim = claims.get(i).copied().flatten();
                claim.filter(|_| claim != own.get(i).copied().flatten())
            });
            let claim_sizes = || claim_sizes.as_ref().and_then(|sizes| sizes[i]);
            claimed.or_else(claim_sizes).or_else(|| {
                let mut sizes = own.iter().filter_map(|own| own.get(i)?.and_then(Dim::atom));
                let first = sizes.next()?;
                size_of(sizes.fold(first, |x, y| {
                    if x == y { x } else { self.f.binary(BinOp::SMax, PrimType::I64, x, y) }
                }))
            })
        }))
    }

    /// The type of an absent payload: sizes that are not constant are 0; constant ones, too, if the
    /// payload is large. In functions of combinators the sizes of parameters are kept, so that the
    /// payloads of all iterations have one shape.
    pub(crate) fn absent(&self, ty: &LTy) -> LTy {
        let zero = Some(Dim::Const(0));
        let small = ty.map_sizes(&mut |size| match size {
            Some(Dim::Const(n)) if n >= 0 => size,
            Some(Dim::Var(name)) if self.combinator_depth > 0 && self.f.is_size(name.into()) => size,
            _ => zero,
        });
        let large = small.leaves().iter().any(|leaf| {
            let sizes = leaf.dims.iter().map(|dim| match dim {
                Some(Dim::Const(n)) => *n,
                _ => 1,
            });
            let product = sizes.fold(1i64, i64::saturating_mul);
            product > MAX_ABSENT_ELEMENTS
        });
        if large { ty.map_sizes(&mut |_| zero) } else { small }
    }

    /// Binds the unbound size variables of a type that occur in payloads of the value.
    pub(crate) fn bind_payload_sizes(&mut self, ty: &Ty, value: &Value, env: &Rc<Env>) -> Res<()> {
        if !value.has_payload_sizes() {
            return Ok(());
        }
        let mut found = Vec::new();
        self.occurrences(ty, value, &value.claims(), Some(&Vec::new()), env, &mut found)?;
        let mut vars: Vec<VarId> = found.iter().map(|one| one.var).collect();
        vars.dedup();
        for var in vars {
            if self.size_var(var, env)?.is_some() {
                continue;
            }
            let own = found.iter().filter(|one| one.var == var);
            let size = self.first_present(own.collect());
            env.bind(var, Value::size(size));
        }
        Ok(())
    }

    /// The size of the first payload present, or 0.
    fn first_present(&mut self, all: Vec<&Occurrence>) -> Dim {
        let claimed = all.iter().find(|one| one.claim != one.own);
        if let Some(claim) = claimed.and_then(|one| one.claim) {
            return claim;
        }
        // Outside of combinators' functions, absent payloads are empty.
        let simple = self.combinator_depth == 0;
        let mut size = Dim::Const(0);
        for (i, one) in all.into_iter().enumerate().rev() {
            let Some(own) = one.own else { continue };
            if own == size || one.path.is_empty() || (simple && i == 0 && size == Dim::Const(0)) {
                size = own;
                continue;
            }
            let present = self.is_on_path(&one.path);
            if let (Some(x), Some(y)) = (own.atom(), size.atom())
                && let Some(chosen) = size_of(self.f.select(PrimType::I64, present, x, y))
            {
                size = chosen;
            }
        }
        size
    }

    /// Collects the occurrences of unbound size variables in payloads. `path` is `None` if the
    /// payload is absent.
    fn occurrences(
        &mut self,
        ty: &Ty,
        value: &Value,
        claims: &LTy,
        path: Option<&Path>,
        env: &Rc<Env>,
        out: &mut Vec<Occurrence>,
    ) -> Res<()> {
        match (ty, value) {
            (Ty::Tuple(tys), Value::Tuple(values)) => {
                let claims = claims.parts().unwrap_or_default();
                for ((ty, value), claims) in tys.iter().zip(values.iter()).zip(claims) {
                    self.occurrences(ty, value, claims, path, env, out)?;
                }
            }
            (Ty::Record(fields), Value::Record(values)) => {
                let claims = claims.parts().unwrap_or_default();
                for (((_, ty), (_, value)), claims) in fields.iter().zip(values.iter()).zip(claims) {
                    self.occurrences(ty, value, claims, path, env, out)?;
                }
            }
            (Ty::Sum(constrs), Value::Sum(values, _)) => {
                let LTy::Sum(claims) = claims else {
                    return Ok(());
                };
                let mut values = values.iter();
                let Some(tag) = values.next() else {
                    return Ok(());
                };
                let of_claims = claims.iter().map(|(_, tys)| tys);
                for (((_, tys), claims), number) in constrs.iter().zip(of_claims).zip(0i8..) {
                    let presence = self.presence(tag, number, constrs.len())?;
                    let inner = match presence {
                        Presence::Absent => None,
                        Presence::Present => path.cloned(),
                        Presence::Unknown(tag) => path.map(|path| {
                            let mut path = path.clone();
                            path.push((tag, number));
                            path
                        }),
                    };
                    for ((ty, claims), value) in tys.iter().zip(claims.iter()).zip(&mut values) {
                        self.occurrences(ty, value, claims, inner.as_ref(), env, out)?;
                    }
                }
            }
            (Ty::Array(_), Value::Array(_)) => {
                let mut vars = Vec::new();
                dim_vars(ty, &value.ty(), &mut vars);
                let sizes = value.ty().sizes().into_iter().zip(claims.sizes());
                for (var, (own, claim)) in vars.into_iter().zip(sizes) {
                    let Some(var) = var else { continue };
                    if self.size_var(var, env)?.is_some() {
                        continue;
                    }
                    out.push(Occurrence {
                        var,
                        path: path.cloned().unwrap_or_default(),
                        own: own.filter(|_| path.is_some()),
                        claim: claim.filter(|_| path.is_some() || claim != own),
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Appends, for each size of a type, the variable that it is.
fn dim_vars(ty: &Ty, actual: &LTy, out: &mut Vec<Option<VarId>>) {
    match (ty, actual) {
        (Ty::Array(array), LTy::Array(found)) => {
            out.push(match &array.dim {
                tast::Dim::Var(var) => Some(*var),
                _ => None,
            });
            dim_vars(&array.elem, &found.1, out);
        }
        (Ty::Tuple(tys), LTy::Tuple(found)) => {
            let pairs = tys.iter().zip(found.iter());
            pairs.for_each(|(ty, found)| dim_vars(ty, found, out));
        }
        (Ty::Record(fields), LTy::Record(found)) => {
            let pairs = fields.iter().zip(found.iter());
            pairs.for_each(|((_, ty), (_, found))| dim_vars(ty, found, out));
        }
        (Ty::Sum(constrs), LTy::Sum(found)) => {
            for ((_, tys), (_, found)) in constrs.iter().zip(found.iter()) {
                let pairs = tys.iter().zip(found.iter());
                pairs.for_each(|(ty, found)| dim_vars(ty, found, out));
            }
        }
        _ => out.extend(actual.sizes().iter().map(|_| None)),
    }
}

/// The value without the claims that its type cannot determine: those of `sizes`, which only the
/// value determines, and those of unknown sizes.
pub(crate) fn unclaimed(value: Value, ty: &Ty, sizes: &[VarId]) -> Value {
    if !value.has_payload_sizes() {
        return value;
    }
    let own = value.ty();
    let mut known = Vec::new();
    known_dims(ty, &own, sizes, &mut known);
    let mut known_flags = known.into_iter();
    let claims = own.map_sizes(&mut |own| own.filter(|_| known_flags.next() == Some(false)));
    value.with_claims(&claims)
}

/// Appends, for each size of a type, true if it is known independently of the value.
fn known_dims(ty: &Ty, actual: &LTy, unknown: &[VarId], out: &mut Vec<bool>) {
    match (ty, actual) {
        (Ty::Array(array), LTy::Array(found)) => {
            out.push(match &array.dim {
                tast::Dim::Var(var) => !unknown.contains(var),
                tast::Dim::Any => false,
                _ => true,
            });
            known_dims(&array.elem, &found.1, unknown, out);
        }
        (Ty::Tuple(tys), LTy::Tuple(found)) => {
            let pairs = tys.iter().zip(found.iter());
            pairs.for_each(|(ty, found)| known_dims(ty, found, unknown, out));
        }
        (Ty::Record(fields), LTy::Record(found)) => {
            let pairs = fields.iter().zip(found.iter());
            pairs.for_each(|((_, ty), (_, found))| known_dims(ty, found, unknown, out));
        }
        (Ty::Sum(constrs), LTy::Sum(found)) => {
            for ((_, tys), (_, found)) in constrs.iter().zip(found.iter()) {
                let pairs = tys.iter().zip(found.iter());
                pairs.for_each(|(ty, found)| known_dims(ty, found, unknown, out));
            }
        }
        _ => out.extend(actual.sizes().iter().map(|_| true)),
    }
}

/// Returns true if the type has another size than the claimed one.
fn differ(target: &LTy, claims: &LTy) -> bool {
    let pairs = target.sizes().into_iter().zip(claims.sizes());
    pairs.into_iter().any(|(x, y)| x.is_some() && x != y)
}

/// The number of constructors of a sum type.
fn n_constructors(ty: &LTy) -> usize {
    match ty {
        LTy::Sum(constrs) => constrs.len(),
        _ => 0,
    }
}
