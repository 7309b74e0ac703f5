//! FutharkScript: the small language in which inputs are computed by a program's own entry points.
//!
//! [`evaluate`] parses and evaluates an expression. The interpreter calls entry points, so values
//! of any type can be passed between them.

mod parser;

use check::tast::Entry;
use interp::{Class, Interp, RunType, RunValue};
use parser::Exp;
use prim::{Scalar, ScalarType};
use std::path::Path;
use std::rc::Rc;
use syntax::span::SourceMap;
use value::Reader;

/// A value with its type.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The value.
    pub val: RunValue,
    /// The type; its sizes are irrelevant.
    pub ty: Rc<RunType>,
    origin: TypeFlexibility,
}

/// The origin of a value, which determines if its type can be converted.
#[derive(Clone, Debug)]
enum TypeFlexibility {
    /// A value of a fixed type.
    Fixed,
    /// A number or an array of numbers, which takes the type of its context.
    Number,
    /// The origins of a tuple's components or a record's fields.
    Parts(Vec<TypeFlexibility>),
}

impl Typed {
    fn fixed(val: RunValue, ty: Rc<RunType>) -> Self {
        Self { val, ty, origin: TypeFlexibility::Fixed }
    }

    /// Converts the value to this type, if possible.
    pub fn convert_to(&self, ty: &RunType) -> Option<RunValue> {
        converted(&self.val, &self.ty, &self.origin, ty)
    }

    /// Returns a component of a tuple, or a field of a record.
    fn part(&self, at: usize) -> Option<Self> {
        let (RunValue::Tuple(vals), RunType::Tuple(tys) | RunType::Record(_, tys)) = (&self.val, &*self.ty)
        else {
            return None;
        };
        let origin = match &self.origin {
            TypeFlexibility::Parts(parts) => parts.get(at)?.clone(),
            TypeFlexibility::Fixed | TypeFlexibility::Number => TypeFlexibility::Fixed,
        };
        Some(Self { val: vals.get(at)?.clone(), ty: Rc::clone(tys.get(at)?), origin })
    }
}

/// Converts a value from type `from` to type `to`, if its origin permits it.
fn converted(val: &RunValue, from: &RunType, origin: &TypeFlexibility, to: &RunType) -> Option<RunValue> {
    match (origin, val, from, to) {
        (_, _, _, RunType::Unknown) => Some(val.clone()),
        (TypeFlexibility::Number, RunValue::Scalar(x), _, RunType::Scalar(to)) => {
            Some(RunValue::Scalar(number(*x, *to)?))
        }
        (TypeFlexibility::Number, RunValue::Array(array), ..) if !same_shape_of_type(from, to) => {
            let (mut rank, mut elem) = (0, to);
            while let RunType::Array(_, inner) = elem {
                (rank, elem) = (rank + 1, inner);
            }
            let RunType::Scalar(elem) = elem else { return None };
            let elements = (rank == array.shape.len()).then(|| 0..array.data.len())?;
            let mut bytes = Vec::new();
            for at in elements {
                let RunValue::Scalar(x) = array.data.get(at) else {
                    return None;
                };
                let value = value::Value::from_scalar(*elem, number(x, *elem)?)?;
                bytes.extend(value.bytes());
            }
            let value = value::Value::from_bytes(*elem, array.shape.to_vec(), &bytes).ok()?;
            Some(interp::import(&value))
        }
        (TypeFlexibility::Parts(origins), RunValue::Tuple(vals), _, _) => {
            let (froms, tos) = match (from, to) {
                (RunType::Tuple(froms), RunType::Tuple(tos)) => (froms, tos),
                (RunType::Record(xs, froms), RunType::Record(ys, tos)) if xs == ys => (froms, tos),
                _ => return None,
            };
            let parts = vals.iter().zip(origins).zip(froms.iter().zip(tos));
            let parts = parts.map(|((val, origin), (from, to))| converted(val, from, origin, to));
            let parts: Vec<RunValue> = parts.collect::<Option<_>>()?;
            (parts.len() == tos.len()).then(|| RunValue::tuple(parts))
        }
        _ => same_shape_of_type(from, to).then(|| val.clone()),
    }
}

/// Converts a number to another type.
fn number(x: Scalar, to: ScalarType) -> Option<Scalar> {
    match x {
        Scalar::F64(x) => match to {
            ScalarType::F16 => Some(Scalar::F16(prim::f16_from_f64(x))),
            ScalarType::F32 => Some(Scalar::F32(x as f32)),
            ScalarType::F64 => Some(Scalar::F64(x)),
            _ => None,
        },
        x => {
            let x = x.as_i64()?;
            (to.is_int() || to.is_float()).then(|| Scalar::int(to.prim(), x))
        }
    }
}

/// Returns true if two types are equal apart from sizes.
pub(crate) fn same_shape_of_type(x: &RunType, y: &RunType) -> bool {
    let all = |xs: &[Rc<RunType>], ys: &[Rc<RunType>]| {
        xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| same_shape_of_type(x, y))
    };
    match (x, y) {
        (RunType::Scalar(x), RunType::Scalar(y)) => x == y,
        (RunType::Array(_, x), RunType::Array(_, y)) => same_shape_of_type(x, y),
        (RunType::Tuple(xs), RunType::Tuple(ys)) => all(xs, ys),
        (RunType::Record(a, xs), RunType::Record(b, ys)) => a == b && all(xs, ys),
        (RunType::Sum(a, xs), RunType::Sum(b, ys)) => {
            a == b && xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| all(x, y))
        }
        (RunType::Unknown, _) | (_, RunType::Unknown) | (RunType::Fun, RunType::Fun) => true,
        _ => false,
    }
}

/// The context of an evaluation.
pub struct Context<'a> {
    /// The interpreter of the program.
    pub interp: &'a Interp,
    /// The program's sources, for messages.
    pub sources: &'a SourceMap,
    /// The directory that file names are relative to.
    pub folder: &'a Path,
}

/// Evaluates an expression.
pub fn evaluate(text: &str, context: &Context<'_>) -> Result<Typed, String> {
    let exp = parser::parse(text)?;
    context.eval(&exp, &mut Vec::new())
}

/// Converts a value to the arguments of an entry point. A tuple is spread over several parameters.
pub fn arguments(value: &Typed, entry: &Entry) -> Result<Vec<RunValue>, String> {
    let types: Vec<Rc<RunType>> = entry.params.iter().map(|param| Interp::plain_type(&param.ty.ty)).collect();
    let parts = spread(value);
    let given = match &parts {
        Some(parts) if parts.len() == types.len() && types.len() != 1 => parts.as_slice(),
        _ => std::slice::from_ref(value),
    };
    if given.len() != types.len() {
        return Err(format!(
            "`{}` takes {} arguments, but the script returns {}",
            entry.name,
            types.len(),
            given.len()
        ));
    }
    given
        .iter()
        .zip(&types)
        .map(|(value, ty)| value.convert_to(ty).ok_or_else(|| wrong_type(value, ty)))
        .collect()
}

fn wrong_type(value: &Typed, ty: &RunType) -> String {
    let (mut found, mut expected) = (String::new(), String::new());
    interp::push_type(&value.ty, &mut found);
    interp::push_type(ty, &mut expected);
    format!("expected a value of type {expected}, found {found}")
}

/// The components of a tuple; `None` for other types.
fn spread(value: &Typed) -> Option<Vec<Typed>> {
    match &*value.ty {
        RunType::Tuple(tys) => (0..tys.len()).map(|at| value.part(at)).collect(),
        _ => None,
    }
}

impl Context<'_> {
    fn eval(&self, exp: &Exp, scope: &mut Vec<(String, Typed)>) -> Result<Typed, String> {
        Ok(match exp {
            Exp::Value(text) => read_values(Reader::from_slice(text))?,
            Exp::Number(text) => {
                Typed { origin: TypeFlexibility::Number, ..read_values(Reader::from_slice(text))? }
            }
            Exp::String(text) => {
                let value = value::Value::from_string(text).map_err(|e| e.to_string())?;
                from_value(&value)
            }
            Exp::Builtin(name) => return Err(format!("`${name}` needs an argument")),
            Exp::Name(name) => match scope.iter().rev().find(|(n, _)| n == name) {
                Some((_, value)) => value.clone(),
                None => self.call(name, Vec::new())?,
            },
            Exp::Let(bindings, body) => {
                let depth = scope.len();
                let result = self.bind(bindings, scope).and_then(|()| self.eval(body, scope));
                scope.truncate(depth);
                result?
            }
            Exp::Tuple(parts) => {
                let parts = self.all(parts, scope)?;
                let tys = parts.iter().map(|part| Rc::clone(&part.ty)).collect();
                aggregate(parts, RunType::Tuple(tys))
            }
            Exp::Record(fields) => {
                let mut all = Vec::new();
                for (name, exp) in fields {
                    all.push((name, self.eval(exp, scope)?));
                }
                all.sort_by_key(|(name, _)| *name);
                let names = all.iter().map(|(name, _)| name.as_str().into()).collect();
                let tys = all.iter().map(|(_, part)| Rc::clone(&part.ty)).collect();
                let parts = all.into_iter().map(|(_, part)| part).collect();
                aggregate(parts, RunType::Record(names, tys))
            }
            Exp::Array(parts) => {
                let parts = self.all(parts, scope)?;
                let elem = parts.first().map(|part| Rc::clone(&part.ty));
                let elem = elem.ok_or("cannot infer the type of an empty array; write `empty([0]t)`")?;
                let n = parts.len() as i64;
                let is_number = |part: &Typed| matches!(part.origin, TypeFlexibility::Number);
                let origin = if parts.iter().all(is_number) {
                    TypeFlexibility::Number
                } else {
                    TypeFlexibility::Fixed
                };
                let vals: Option<Vec<RunValue>> = parts.iter().map(|part| part.convert_to(&elem)).collect();
                let val = vals.and_then(RunValue::rows).ok_or("array elements differ in shape or type")?;
                let ty = Rc::new(RunType::Array(n, elem));
                Typed { val, ty, origin }
            }
            Exp::Field(record, field) => {
                let record = self.eval(record, scope)?;
                let at = match &*record.ty {
                    RunType::Record(names, _) => names.iter().position(|name| **name == **field),
                    RunType::Tuple(_) => field.parse().ok(),
                    _ => None,
                };
                at.and_then(|at| record.part(at)).ok_or_else(|| format!("there is no field `{field}`"))?
            }
            Exp::Index(array, indices) => {
                let mut value = self.eval(array, scope)?;
                for index in indices {
                    let index = self.eval(index, scope)?;
                    let RunValue::Scalar(i) = &index.val else {
                        return Err("an index is not a number".to_owned());
                    };
                    let row = i.as_i64().and_then(|i| value.val.row_at(i));
                    let (Some(val), RunType::Array(_, ty)) = (row, &*value.ty) else {
                        return Err("index out of bounds".to_owned());
                    };
                    let ty = Rc::clone(ty);
                    value = Typed { val, ty, ..value };
                }
                value
            }
            Exp::Apply(fun, args) => match &**fun {
                Exp::Builtin(name) => self.builtin(name, args)?,
                Exp::Name(name) if scope.iter().any(|(bound, _)| bound == name) => {
                    return Err(format!("`{name}` is a variable, not an entry point"));
                }
                Exp::Name(name) => {
                    let args = self.all(args, scope)?;
                    self.call(name, args)?
                }
                _ => return Err("only entry points can be applied".to_owned()),
            },
        })
    }

    /// Adds the variables of bindings to the scope.
    fn bind(&self, bindings: &[(Vec<String>, Exp)], scope: &mut Vec<(String, Typed)>) -> Result<(), String> {
        for (names, exp) in bindings {
            let value = self.eval(exp, scope)?;
            if let [name] = names.as_slice() {
                scope.push((name.clone(), value));
            } else {
                let parts = spread(&value).filter(|parts| parts.len() == names.len());
                let parts = parts.ok_or("tuple pattern does not match the value")?;
                scope.extend(names.iter().cloned().zip(parts));
            }
        }
        Ok(())
    }

    fn all(&self, exps: &[Exp], scope: &mut Vec<(String, Typed)>) -> Result<Vec<Typed>, String> {
        exps.iter().map(|exp| self.eval(exp, scope)).collect()
    }

    fn call(&self, name: &str, args: Vec<Typed>) -> Result<Typed, String> {
        let entry = self.interp.entry(name).ok_or_else(|| format!("there is no entry point `{name}`"))?;
        let types: Vec<Rc<RunType>> =
            entry.params.iter().map(|param| Interp::plain_type(&param.ty.ty)).collect();
        // A single tuple can supply all arguments.
        let args = match args.as_slice() {
            [one] if types.len() > 1 => spread(one).unwrap_or(args),
            _ => args,
        };
        if args.len() != types.len() {
            return Err(format!("`{name}` takes {} arguments, not {}", types.len(), args.len()));
        }
        let vals: Result<Vec<RunValue>, String> = args
            .iter()
            .zip(&types)
            .map(|(arg, ty)| arg.convert_to(ty).ok_or_else(|| wrong_type(arg, ty)))
            .collect();
        let result = self.interp.call(entry, vals?).map_err(|failure| match failure.class {
            Class::Program => failure.render(self.sources),
            _ => failure.message,
        })?;
        Ok(Typed::fixed(result, Interp::plain_type(&entry.result.ty)))
    }

    fn builtin(&self, name: &str, args: &[Exp]) -> Result<Typed, String> {
        let [Exp::String(file)] = args else {
            return Err(format!("`${name}` takes a file name in double quotes"));
        };
        let path = self.folder.join(file);
        let shown = path.display();
        let bytes = crate::data::read_file(&path).map_err(|e| format!("{shown}: {e}"))?;
        match name {
            "loaddata" => read_values(Reader::from_slice(&bytes)).map_err(|e| format!("{shown}: {e}")),
            "loadbytes" => {
                let shape = [bytes.len() as i64];
                let value = value::Value::from_slice(&shape, &bytes).map_err(|e| e.to_string())?;
                Ok(from_value(&value))
            }
            _ => Err(format!("not supported yet: the script function `${name}`")),
        }
    }
}

/// Builds a tuple or record of this type.
fn aggregate(parts: Vec<Typed>, ty: RunType) -> Typed {
    let origins = parts.iter().map(|part| part.origin.clone()).collect();
    Typed {
        val: RunValue::tuple(parts.into_iter().map(|part| part.val)),
        ty: Rc::new(ty),
        origin: TypeFlexibility::Parts(origins),
    }
}

fn from_value(value: &value::Value) -> Typed {
    let dims = value.shape().iter().rev();
    let elem = Rc::new(RunType::Scalar(value.scalar_type()));
    let ty = dims.fold(elem, |ty, dim| Rc::new(RunType::Array(*dim, ty)));
    Typed::fixed(interp::import(value), ty)
}

/// Reads all values: one, or a tuple of them.
fn read_values(mut reader: Reader<&[u8]>) -> Result<Typed, String> {
    let mut all = Vec::new();
    while let Some(value) = reader.read_any().map_err(|e| e.to_string())? {
        let elem = value.scalar_type();
        let mut typed = from_value(&value);
        // As in the reference compiler, signed integers take any numeric type.
        if elem.is_int() && elem.is_signed() {
            typed.origin = TypeFlexibility::Number;
        }
        all.push(typed);
    }
    if all.len() == 1 {
        return Ok(all.remove(0));
    }
    let tys = all.iter().map(|part| Rc::clone(&part.ty)).collect();
    Ok(aggregate(all, RunType::Tuple(tys)))
}
