//! Random testing of properties: entry points that return `true` for every argument.
//!
//! [`check_property`] calls the property with random arguments, made by a generator in the program
//! (`#[prop(gen(f))]`) or from the parameter's type. A counterexample is shrunk while smaller
//! arguments are counterexamples too, and reported.

use crate::oracle::Oracle;
use crate::programs::{Outcome, first_line};
use crate::random::Random;
use crate::script::same_shape_of_type;
use check::tast::{Attr, Dim, Entry, Ty, VarId};
use interp::{Interp, RunValue, show};
use prim::{Scalar, ScalarType};

/// The number of random arguments.
const TESTS: u64 = 100;
/// The largest size of generated arrays, unless the property sets another.
const SIZE: i64 = 50;
/// The number of smaller arguments tried while shrinking.
const SHRINKS: u64 = 1000;

/// The arguments of a property's attribute.
#[derive(Default)]
struct Settings {
    generator: Option<String>,
    shrinker: Option<String>,
    size: Option<i64>,
}

/// Tests a property. The error reports a counterexample.
pub fn check_property(oracle: &Oracle<'_>, name: &str, seed: u64) -> Result<(), String> {
    let entry = oracle.entry(name)?;
    let [param] = entry.params.as_slice() else {
        return Err("a property must take exactly one argument".to_owned());
    };
    let settings = settings(oracle, entry)?;
    let size = settings.size.unwrap_or(SIZE);
    let mut random = Random::new(seed);
    for number in 0..TESTS {
        // Sizes grow from test to test.
        let size = size.saturating_mul(number as i64 + 1) / TESTS as i64 + 1;
        let candidate = match &settings.generator {
            Some(generator) => {
                let args = vec![RunValue::i64(size), word(random.bits())];
                let types = [SIZE_TYPE, SEED_TYPE];
                call_helper(oracle, generator, args, &types, &param.ty.ty)?
            }
            None => make(&param.ty.ty, size, &mut random, &mut Vec::new())
                .ok_or("cannot generate arguments of this type; specify a generator: `#[prop(gen(f))]`")?,
        };
        if let Some(why) = counterexample(oracle, entry, &candidate)? {
            let (small, why) = shrink(oracle, entry, &settings, candidate, why, &mut random)?;
            let ty = Interp::plain_type(&param.ty.ty);
            let text: String = show(&small, &ty).chars().take(1000).collect();
            return Err(format!("{why} for {text} (candidate {number}, seed {seed})"));
        }
    }
    Ok(())
}

fn word(bits: u64) -> RunValue {
    RunValue::Scalar(Scalar::I64(bits.cast_signed()))
}

fn settings(oracle: &Oracle<'_>, entry: &Entry) -> Result<Settings, String> {
    let def = oracle.program().defs.iter().find(|def| def.var == entry.var);
    let prop = def.and_then(|def| def.attrs.iter().find(|attr| &*attr.name == "prop"));
    let mut settings = Settings::default();
    for attr in prop.into_iter().flat_map(|attr| &attr.args) {
        let arg = attr.args.first().map(|arg: &Attr| arg.name.to_string());
        match (&*attr.name, arg) {
            ("gen", arg @ Some(_)) => settings.generator = arg,
            ("shrink", arg @ Some(_)) => settings.shrinker = arg,
            ("size", Some(arg)) => {
                let size = arg.parse().map_err(|_| format!("`{arg}` is not a valid size"))?;
                settings.size = Some(size);
            }
            (name, _) => return Err(format!("unknown or incomplete attribute `{name}` of a property")),
        }
    }
    Ok(settings)
}

/// The type of a generator's size parameter.
const SIZE_TYPE: Ty = Ty::I64;
/// The type of the seed parameter of generators and shrinkers.
const SEED_TYPE: Ty = Ty::Scalar(ScalarType::U64);

fn param_type(entry: &Entry) -> Result<Ty, String> {
    let param = entry.params.first().ok_or("a property must take exactly one argument")?;
    Ok(param.ty.ty.clone())
}

/// Calls a generator or shrinker of the property that takes parameters of these types and returns a
/// `result`.
fn call_helper(
    oracle: &Oracle<'_>,
    name: &str,
    args: Vec<RunValue>,
    types: &[Ty],
    result: &Ty,
) -> Result<RunValue, String> {
    let entry = oracle.entry(name)?;
    if entry.params.len() != args.len() {
        let s = if args.len() == 1 { "" } else { "s" };
        return Err(format!("`{name}` must take {} argument{s}", args.len()));
    }
    let same = |x: &Ty, y: &Ty| same_shape_of_type(&Interp::plain_type(x), &Interp::plain_type(y));
    let mut params = entry.params.iter().zip(types);
    if let Some((param, ty)) = params.find(|(param, ty)| !same(&param.ty.ty, ty)) {
        let program = oracle.program();
        let (found, expected) = (program.show(&param.ty.ty), program.show(ty));
        return Err(format!("`{name}` must take a value of type {expected}, not {found}"));
    }
    if !same(&entry.result.ty, result) {
        let expected = oracle.program().show(result);
        return Err(format!("`{name}` must return a value of type {expected}"));
    }
    oracle.call_raw(entry, args).map_err(|why| format!("`{name}`: {why}"))
}

/// Returns the reason why the property does not hold for an argument, if it does not.
fn counterexample(
    oracle: &Oracle<'_>,
    entry: &Entry,
    candidate: &RunValue,
) -> Result<Option<String>, String> {
    match oracle.call(entry, vec![candidate.clone()]) {
        Outcome::Values(values) => match values.first().and_then(value::Value::as_scalar) {
            Some(Scalar::Bool(true)) => Ok(None),
            Some(Scalar::Bool(false)) => Ok(Some("does not hold".to_owned())),
            _ => Err("a property must return `bool`".to_owned()),
        },
        Outcome::Failure(message) => Ok(Some(format!("run-time error ({})", first_line(&message)))),
        Outcome::Opaque(why) | Outcome::Abnormal(why) => Err(why),
    }
}

/// Returns the smallest counterexample found, and the reason why the property does not hold for it.
fn shrink(
    oracle: &Oracle<'_>,
    entry: &Entry,
    settings: &Settings,
    candidate: RunValue,
    why: String,
    random: &mut Random,
) -> Result<(RunValue, String), String> {
    let (mut small, mut why) = (candidate, why);
    let mut tries = 0;
    'smaller: while tries < SHRINKS {
        let next: Vec<RunValue> = match &settings.shrinker {
            Some(shrinker) => {
                let args = vec![small.clone(), word(random.bits())];
                let ty = &param_type(entry)?;
                vec![call_helper(oracle, shrinker, args, &[ty.clone(), SEED_TYPE], ty)?]
            }
            // A generator may guarantee more than the type does, so its values are not shrunk by
            // type.
            None if settings.generator.is_some() => break,
            None => smaller(&small),
        };
        let has_shrinker = next.len() == 1 && settings.shrinker.is_some();
        for candidate in next {
            tries += 1;
            // Shrinking may break sizes that must be equal.
            if let Some(reason) = counterexample(oracle, entry, &candidate)?
                && !reason.contains("invalid sizes")
            {
                (small, why) = (candidate, reason);
                continue 'smaller;
            }
        }
        if !has_shrinker {
            break;
        }
    }
    Ok((small, why))
}

/// Returns slightly smaller values.
fn smaller(val: &RunValue) -> Vec<RunValue> {
    match val {
        RunValue::Scalar(x) => match x.as_i64() {
            Some(0) | None => Vec::new(),
            Some(n) => [0, n / 2, n - n.signum()]
                .into_iter()
                .filter(|m| *m != n)
                .map(|m| RunValue::Scalar(Scalar::int(x.ty(), m)))
                .collect(),
        },
        RunValue::Array(array) => {
            let n = array.len();
            let rows = |keep: &dyn Fn(usize) -> bool| {
                let remaining = (0..n).filter(|i| keep(*i)).map(|i| array.row(i));
                RunValue::rows(remaining)
            };
            let mut out = Vec::new();
            if n > 1 {
                out.extend(rows(&|i| i < n / 2));
                out.extend(rows(&|i| i >= n / 2));
            }
            if n > 1 && n <= 20 {
                out.extend((0..n).filter_map(|removed| rows(&|i| i != removed)));
            }
            if n <= 20 {
                for at in 0..n {
                    for row in smaller(&array.row(at)) {
                        let all = (0..n).map(|i| if i == at { row.clone() } else { array.row(i) });
                        out.extend(RunValue::rows(all));
                    }
                }
            }
            out
        }
        RunValue::Tuple(parts) => {
            let mut out = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                for one in smaller(part) {
                    let all = parts.iter().enumerate();
                    let all = all.map(|(i, part)| if i == at { &one } else { part });
                    out.push(RunValue::tuple(all.cloned()));
                }
            }
            out
        }
        _ => Vec::new(),
    }
}

/// Makes a random value of a type; `None` for function types and types without values. `sizes`
/// holds the sizes chosen so far.
fn make(ty: &Ty, size: i64, random: &mut Random, sizes: &mut Vec<(VarId, i64)>) -> Option<RunValue> {
    Some(match ty {
        Ty::Scalar(scalar) => {
            let bits = random.bits();
            let small = (bits % (2 * size.unsigned_abs() + 1)) as i64 - size;
            RunValue::Scalar(match scalar {
                ScalarType::Bool => Scalar::Bool(bits & 1 == 1),
                ty if ty.is_float() => {
                    let low = Scalar::int(ty.prim(), -size);
                    random.between(*ty, low, Scalar::int(ty.prim(), size))
                }
                ty if ty.is_signed() => Scalar::int(ty.prim(), small),
                ty => Scalar::int(ty.prim(), small.abs()),
            })
        }
        Ty::Array(array) => {
            let fresh = (random.bits() % (size.unsigned_abs() + 1)) as i64;
            let n = match &array.dim {
                Dim::Const(n) => *n,
                Dim::Var(var) => match sizes.iter().find(|(known, _)| known == var) {
                    Some((_, n)) => *n,
                    None => {
                        sizes.push((*var, fresh));
                        fresh
                    }
                },
                Dim::Any => fresh,
                Dim::Op(..) | Dim::Exp(_) => return None,
            };
            let mut rows = Vec::new();
            for _ in 0..n {
                rows.push(make(&array.elem, size, random, sizes)?);
            }
            match RunValue::rows(rows) {
                Some(array) => array,
                None => RunValue::no_rows(&Interp::plain_type(&array.elem)),
            }
        }
        Ty::Tuple(parts) => all(parts.iter(), size, random, sizes)?,
        Ty::Record(fields) => all(fields.iter().map(|(_, ty)| ty), size, random, sizes)?,
        Ty::Sum(constrs) => {
            let at = random.below(constrs.len().max(1) as u64);
            let (_, tys) = constrs.get(at as usize)?;
            let mut parts = Vec::new();
            for ty in tys.iter() {
                parts.push(make(ty, size, random, sizes)?);
            }
            RunValue::constructed(at as u32, parts)
        }
        Ty::Arrow(_) | Ty::Var(_) | Ty::Abstract(..) => return None,
    })
}

fn all<'a>(
    tys: impl Iterator<Item = &'a Ty>,
    size: i64,
    random: &mut Random,
    sizes: &mut Vec<(VarId, i64)>,
) -> Option<RunValue> {
    let mut parts = Vec::new();
    for ty in tys {
        parts.push(make(ty, size, random, sizes)?);
    }
    Some(RunValue::tuple(parts))
}
