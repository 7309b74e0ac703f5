//! FutharkScript: the small language in which inputs are computed by a program's
//! own entry points.
//!
//! [`evaluate`] parses and evaluates an expression. Entry points are called in the
//! interpreter, so values of any type can go from one to the next.

use check::tast::Entry;
use interp::{Class, Interp, RTy, Val};
use prim::{Scalar, ScalarType};
use std::path::Path;
use std::rc::Rc;
use syntax::span::SourceMap;
use value::Reader;

/// A value with its type.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The value.
    pub val: Val,
    /// Its type; sizes do not count.
    pub ty: Rc<RTy>,
    /// Whether it is a number without a suffix, which takes the type of where it goes.
    plain: bool,
}

impl Typed {
    /// The value as one of this type, if it is.
    pub fn at(&self, ty: &RTy) -> Option<Val> {
        if self.plain
            && let (RTy::Scalar(wanted), Val::Scalar(x)) = (ty, &self.val)
        {
            let number = match x {
                Scalar::F64(x) if wanted.is_float() => {
                    return Some(Val::Scalar(match wanted {
                        ScalarType::F16 => Scalar::F16(prim::f16_from_f64(*x)),
                        ScalarType::F32 => Scalar::F32(*x as f32),
                        _ => Scalar::F64(*x),
                    }));
                }
                x => x.as_i64()?,
            };
            return (wanted.is_int() || wanted.is_float())
                .then(|| Val::Scalar(Scalar::int(wanted.prim(), number)));
        }
        alike(&self.ty, ty).then(|| self.val.clone())
    }
}

/// Whether two types are the same apart from sizes.
pub(crate) fn alike(x: &RTy, y: &RTy) -> bool {
    let all = |xs: &[Rc<RTy>], ys: &[Rc<RTy>]| {
        xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| alike(x, y))
    };
    match (x, y) {
        (RTy::Scalar(x), RTy::Scalar(y)) => x == y,
        (RTy::Array(_, x), RTy::Array(_, y)) => alike(x, y),
        (RTy::Tuple(xs), RTy::Tuple(ys)) => all(xs, ys),
        (RTy::Record(a, xs), RTy::Record(b, ys)) => a == b && all(xs, ys),
        (RTy::Sum(a, xs), RTy::Sum(b, ys)) => {
            a == b && xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| all(x, y))
        }
        (RTy::Unknown, _) | (_, RTy::Unknown) | (RTy::Fun, RTy::Fun) => true,
        _ => false,
    }
}

/// What an expression is evaluated with.
pub struct Context<'a> {
    /// The program.
    pub interp: &'a Interp,
    /// Its sources, for messages.
    pub sources: &'a SourceMap,
    /// The folder that files are looked for in.
    pub folder: &'a Path,
}

/// The value of an expression.
pub fn evaluate(text: &str, context: &Context<'_>) -> Result<Typed, String> {
    let mut parser = Parser { text, at: 0 };
    let exp = parser.exp(0)?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(format!("`{}` was not expected", parser.shown()));
    }
    context.eval(&exp, &mut Vec::new())
}

/// The value spread over the parameters of an entry point, as their types.
pub fn arguments(value: &Typed, entry: &Entry) -> Result<Vec<Val>, String> {
    let types: Vec<Rc<RTy>> = entry
        .params
        .iter()
        .map(|param| Interp::plain_type(&param.ty.ty))
        .collect();
    let parts = spread(value);
    let given = match &parts {
        Some(parts) if parts.len() == types.len() && types.len() != 1 => parts.as_slice(),
        _ => std::slice::from_ref(value),
    };
    if given.len() != types.len() {
        return Err(format!(
            "`{}` takes {} arguments, the script gives {}",
            entry.name,
            types.len(),
            given.len()
        ));
    }
    given
        .iter()
        .zip(&types)
        .map(|(value, ty)| value.at(ty).ok_or_else(|| wrong_type(value, ty)))
        .collect()
}

fn wrong_type(value: &Typed, ty: &RTy) -> String {
    let (mut found, mut wanted) = (String::new(), String::new());
    interp::push_type(&value.ty, &mut found);
    interp::push_type(ty, &mut wanted);
    format!("a value of type {wanted} was expected, found one of type {found}")
}

/// The components of a tuple.
fn spread(value: &Typed) -> Option<Vec<Typed>> {
    match (&value.val, &*value.ty) {
        (Val::Tuple(parts), RTy::Tuple(tys)) => Some(
            parts
                .iter()
                .zip(tys)
                .map(|(val, ty)| Typed {
                    val: val.clone(),
                    ty: Rc::clone(ty),
                    plain: false,
                })
                .collect(),
        ),
        _ => None,
    }
}

/// An expression.
#[derive(Debug)]
enum Exp {
    Value(Vec<u8>, bool),
    String(String),
    Name(String),
    Builtin(String),
    Apply(Box<Exp>, Vec<Exp>),
    Let(Vec<String>, Box<(Exp, Exp)>),
    Tuple(Vec<Exp>),
    Array(Vec<Exp>),
    Record(Vec<(String, Exp)>),
    Field(Box<Exp>, String),
    Index(Box<Exp>, Vec<Exp>),
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// How deeply expressions may nest.
const MAX_DEPTH: usize = 200;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn shown(&self) -> String {
        match self.rest().split_whitespace().next() {
            Some(word) => word.chars().take(20).collect(),
            None => "the end".to_owned(),
        }
    }

    fn blanks(&mut self) {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            if !self.rest().starts_with("--") {
                return;
            }
            let line = self.rest().split('\n').next().unwrap_or_default();
            self.at += line.len();
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) {
            Ok(())
        } else {
            Err(format!("`{token}` was expected, found `{}`", self.shown()))
        }
    }

    /// A name, not taken.
    fn peek_name(&mut self) -> &'a str {
        self.blanks();
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return "";
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_'".contains(c)));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn name(&mut self) -> Result<String, String> {
        let name = self.peek_name();
        if name.is_empty() {
            return Err(format!("a name was expected, found `{}`", self.shown()));
        }
        self.at += name.len();
        Ok(name.to_owned())
    }

    fn exp(&mut self, depth: usize) -> Result<Exp, String> {
        if depth > MAX_DEPTH {
            return Err("the script nests too deeply".to_owned());
        }
        if self.peek_name() == "let" {
            self.at += "let".len();
            let names = if self.take("(") {
                self.separated(")", Self::name)?
            } else {
                vec![self.name()?]
            };
            self.expect("=")?;
            let value = self.exp(depth + 1)?;
            if self.peek_name() != "in" {
                return Err(format!("`in` was expected, found `{}`", self.shown()));
            }
            self.at += "in".len();
            let body = self.exp(depth + 1)?;
            return Ok(Exp::Let(names, Box::new((value, body))));
        }
        let fun = self.atom(depth)?;
        let mut args = Vec::new();
        while self.begins_atom() {
            args.push(self.atom(depth)?);
        }
        Ok(if args.is_empty() {
            fun
        } else {
            Exp::Apply(Box::new(fun), args)
        })
    }

    fn separated<T>(
        &mut self,
        close: &str,
        mut one: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        if self.take(close) {
            return Ok(all);
        }
        loop {
            all.push(one(self)?);
            if self.take(close) {
                return Ok(all);
            }
            self.expect(",")?;
        }
    }

    fn begins_atom(&mut self) -> bool {
        let name = self.peek_name();
        if !name.is_empty() {
            return name != "in";
        }
        self.rest()
            .starts_with(|c: char| c.is_ascii_digit() || "([{\"$-".contains(c))
    }

    fn atom(&mut self, depth: usize) -> Result<Exp, String> {
        let mut exp = self.simple(depth)?;
        loop {
            // Fields and indices follow without a blank.
            let is_name = matches!(exp, Exp::Name(_) | Exp::Field(..) | Exp::Index(..));
            let rest = self.rest();
            if let Some(after) = rest.strip_prefix('.')
                && !matches!(exp, Exp::Value(..))
            {
                let end = after.find(|c: char| !(c.is_alphanumeric() || "_'".contains(c)));
                let field = &after[..end.unwrap_or(after.len())];
                if field.is_empty() {
                    return Err("a field was expected after `.`".to_owned());
                }
                self.at += 1 + field.len();
                exp = Exp::Field(Box::new(exp), field.to_owned());
            } else if is_name && rest.starts_with('[') {
                self.at += 1;
                let indices = self.separated("]", |s| s.exp(depth + 1))?;
                exp = Exp::Index(Box::new(exp), indices);
            } else {
                return Ok(exp);
            }
        }
    }

    fn simple(&mut self, depth: usize) -> Result<Exp, String> {
        self.blanks();
        if self.take("(") {
            let mut parts = self.separated(")", |s| s.exp(depth + 1))?;
            return Ok(if parts.len() == 1 {
                parts.remove(0)
            } else {
                Exp::Tuple(parts)
            });
        }
        if self.take("[") {
            return Ok(Exp::Array(self.separated("]", |s| s.exp(depth + 1))?));
        }
        if self.take("{") {
            let fields = self.separated("}", |s| {
                let name = s.name()?;
                s.expect("=")?;
                Ok((name, s.exp(depth + 1)?))
            })?;
            return Ok(Exp::Record(fields));
        }
        if self.take("$") {
            return Ok(Exp::Builtin(self.name()?));
        }
        if self.take("\"") {
            let (text, length) = value::read_string(self.rest())?;
            self.at += length;
            return Ok(Exp::String(text));
        }
        let name = self.peek_name();
        let special = matches!(name, "empty" | "true" | "false")
            || name.starts_with("f16")
            || name.starts_with("f32")
            || name.starts_with("f64");
        let is_value = special && self.value_length() > 0;
        if !name.is_empty() && !is_value {
            self.at += name.len();
            return Ok(Exp::Name(name.to_owned()));
        }
        let length = self.value_length();
        if length == 0 {
            return Err(format!(
                "an expression was expected, found `{}`",
                self.shown()
            ));
        }
        let text = &self.rest()[..length];
        self.at += length;
        let digits = text.trim_start_matches('-');
        let plain = digits.starts_with(|c: char| c.is_ascii_digit())
            && ScalarType::ALL.iter().all(|ty| !text.ends_with(ty.name()));
        Ok(Exp::Value(text.as_bytes().to_vec(), plain))
    }

    /// The length of the value of the text format that comes next, or 0.
    fn value_length(&self) -> usize {
        let rest = self.rest();
        let end = if rest.starts_with("empty") {
            rest.find(')').map_or(0, |at| at + 1)
        } else {
            rest.find(|c: char| !(c.is_alphanumeric() || "_.+-".contains(c)))
                .unwrap_or(rest.len())
        };
        let text = &rest.as_bytes()[..end];
        let mut reader = Reader::from_slice(text);
        match reader.read_any() {
            Ok(Some(_)) if reader.at_end() == Ok(true) => end,
            _ => 0,
        }
    }
}

impl Context<'_> {
    fn eval(&self, exp: &Exp, scope: &mut Vec<(String, Typed)>) -> Result<Typed, String> {
        let known = |val: Val, ty: RTy| Typed {
            val,
            ty: Rc::new(ty),
            plain: false,
        };
        Ok(match exp {
            Exp::Value(text, plain) => {
                let mut value = read_values(Reader::from_slice(text))?;
                value.plain = *plain;
                value
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
            Exp::Let(names, parts) => {
                let value = self.eval(&parts.0, scope)?;
                let depth = scope.len();
                if let [name] = names.as_slice() {
                    scope.push((name.clone(), value));
                } else {
                    let parts = spread(&value).filter(|parts| parts.len() == names.len());
                    let parts = parts.ok_or("a tuple pattern for another value")?;
                    scope.extend(names.iter().cloned().zip(parts));
                }
                let result = self.eval(&parts.1, scope);
                scope.truncate(depth);
                result?
            }
            Exp::Tuple(parts) => {
                let parts = self.all(parts, scope)?;
                let tys = parts.iter().map(|part| Rc::clone(&part.ty)).collect();
                let vals = parts.into_iter().map(|part| part.val);
                known(Val::tuple(vals), RTy::Tuple(tys))
            }
            Exp::Record(fields) => {
                let mut all = Vec::new();
                for (name, exp) in fields {
                    all.push((name.clone(), self.eval(exp, scope)?));
                }
                all.sort_by(|x, y| x.0.cmp(&y.0));
                let names = all.iter().map(|(name, _)| name.as_str().into()).collect();
                let tys = all.iter().map(|(_, part)| Rc::clone(&part.ty)).collect();
                let vals = all.into_iter().map(|(_, part)| part.val);
                known(Val::tuple(vals), RTy::Record(names, tys))
            }
            Exp::Array(parts) => {
                let parts = self.all(parts, scope)?;
                let elem = parts.first().map(|part| Rc::clone(&part.ty));
                let elem = elem.ok_or("empty arrays are written `empty([0]t)`")?;
                let n = parts.len() as i64;
                let val = Val::rows(parts.into_iter().map(|part| part.val))
                    .ok_or("an array of values that differ in shape or type")?;
                known(val, RTy::Array(n, elem))
            }
            Exp::Field(record, field) => {
                let record = self.eval(record, scope)?;
                let at = match &*record.ty {
                    RTy::Record(names, _) => names.iter().position(|name| **name == **field),
                    RTy::Tuple(_) => field.parse().ok(),
                    _ => None,
                };
                let tys = match &*record.ty {
                    RTy::Record(_, tys) | RTy::Tuple(tys) => tys.as_slice(),
                    _ => &[],
                };
                match (&record.val, at.and_then(|at| Some((at, tys.get(at)?)))) {
                    (Val::Tuple(parts), Some((at, ty))) if at < parts.len() => Typed {
                        val: parts[at].clone(),
                        ty: Rc::clone(ty),
                        plain: false,
                    },
                    _ => return Err(format!("there is no field `{field}`")),
                }
            }
            Exp::Index(array, indices) => {
                let mut value = self.eval(array, scope)?;
                for index in indices {
                    let index = self.eval(index, scope)?;
                    let Val::Scalar(i) = &index.val else {
                        return Err("an index that is no number".to_owned());
                    };
                    let row = i.as_i64().and_then(|i| value.val.row_at(i));
                    let (Some(val), RTy::Array(_, ty)) = (row, &*value.ty) else {
                        return Err("an index out of bounds".to_owned());
                    };
                    let ty = Rc::clone(ty);
                    value = Typed {
                        val,
                        ty,
                        plain: false,
                    };
                }
                value
            }
            Exp::Apply(fun, args) => match &**fun {
                Exp::Builtin(name) => self.builtin(name, args)?,
                Exp::Name(name) => {
                    let args = self.all(args, scope)?;
                    self.call(name, args)?
                }
                _ => return Err("only entry points can be applied".to_owned()),
            },
        })
    }

    fn all(&self, exps: &[Exp], scope: &mut Vec<(String, Typed)>) -> Result<Vec<Typed>, String> {
        exps.iter().map(|exp| self.eval(exp, scope)).collect()
    }

    /// Calls an entry point.
    fn call(&self, name: &str, args: Vec<Typed>) -> Result<Typed, String> {
        let entry = self
            .interp
            .entry(name)
            .ok_or_else(|| format!("there is no entry point `{name}`"))?;
        let types: Vec<Rc<RTy>> = entry
            .params
            .iter()
            .map(|param| Interp::plain_type(&param.ty.ty))
            .collect();
        // A tuple can stand for all arguments.
        let args = match args.as_slice() {
            [one] if types.len() > 1 => spread(one).unwrap_or(args),
            _ => args,
        };
        if args.len() != types.len() {
            return Err(format!(
                "`{name}` takes {} arguments, not {}",
                types.len(),
                args.len()
            ));
        }
        let vals: Result<Vec<Val>, String> = args
            .iter()
            .zip(&types)
            .map(|(arg, ty)| arg.at(ty).ok_or_else(|| wrong_type(arg, ty)))
            .collect();
        let results = self
            .interp
            .call(entry, vals?)
            .map_err(|failure| match failure.class {
                Class::Program => failure.render(self.sources),
                _ => failure.message,
            })?;
        let mut tys: Vec<Rc<RTy>> = entry
            .results
            .iter()
            .map(|result| Interp::plain_type(&result.ty))
            .collect();
        let mut results = results;
        let (val, ty) = if results.len() == 1 && tys.len() == 1 {
            (results.remove(0), tys.remove(0))
        } else {
            (Val::tuple(results), Rc::new(RTy::Tuple(tys)))
        };
        Ok(Typed {
            val,
            ty,
            plain: false,
        })
    }

    fn builtin(&self, name: &str, args: &[Exp]) -> Result<Typed, String> {
        let [Exp::String(file)] = args else {
            return Err(format!("`${name}` takes a file name in quotes"));
        };
        let path = self.folder.join(file);
        let shown = path.display();
        let bytes = crate::data::read_file(&path).map_err(|e| format!("{shown}: {e}"))?;
        match name {
            "loaddata" => {
                read_values(Reader::from_slice(&bytes)).map_err(|e| format!("{shown}: {e}"))
            }
            "loadbytes" => {
                let shape = [bytes.len() as i64];
                let value = value::Value::from_slice(&shape, &bytes).map_err(|e| e.to_string())?;
                Ok(from_value(&value))
            }
            _ => Err(format!("not supported yet: the script function `${name}`")),
        }
    }
}

fn from_value(value: &value::Value) -> Typed {
    let dims = value.shape().iter().rev();
    let elem = Rc::new(RTy::Scalar(value.scalar_type()));
    Typed {
        val: interp::from_value(value),
        ty: dims.fold(elem, |ty, dim| Rc::new(RTy::Array(*dim, ty))),
        plain: false,
    }
}

/// All values: one, or a tuple of them.
fn read_values(mut reader: Reader<&[u8]>) -> Result<Typed, String> {
    let mut all = Vec::new();
    while let Some(value) = reader.read_any().map_err(|e| e.to_string())? {
        all.push(from_value(&value));
    }
    if all.len() == 1 {
        return Ok(all.remove(0));
    }
    let tys = all.iter().map(|part| Rc::clone(&part.ty)).collect();
    Ok(Typed {
        val: Val::tuple(all.into_iter().map(|part| part.val)),
        ty: Rc::new(RTy::Tuple(tys)),
        plain: false,
    })
}
