//! The expected results of generated programs: an evaluator of expressions by the language's
//! scoping rules, in which arrays have lengths and there are no types. A size parameter is the
//! length of the argument that has it as a size.

use super::exp::{Builtin, Cond, Exp, Iter, Name, Op, Pat, Step, Test};
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(super) enum ModelValue {
    Int(i64),
    /// An array, or a value of an abstract type, represented by the array it was made of.
    Array(Rc<Array>),
    /// A tuple or record.
    Parts(Vec<Self>),
    /// Constructor and payload.
    Constr(usize, Vec<Self>),
    /// A local function by number, with its captures.
    Fun(usize, Rc<Vec<(Name, Self)>>),
}

/// An array of `i64`: its shape, and its elements in row-major order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Array {
    pub shape: Vec<i64>,
    pub data: Vec<i64>,
}

/// A declared function.
#[derive(Clone, Debug)]
pub(super) struct Def {
    /// Size parameters: the name, the index of a parameter, the index of a size in it.
    pub sizes: Vec<(Name, usize, usize)>,
    pub params: Vec<Name>,
    pub body: Exp,
    /// The declaration.
    pub text: String,
}

/// The evaluator gives up: the program takes too long or fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitExceeded;

/// The largest number of elements of an array.
const LARGEST: i64 = 3000;
/// The largest number of steps.
const STEPS: u64 = 200_000;
/// The largest call depth.
const DEEPEST: u32 = 40;

type Res = Result<ModelValue, LimitExceeded>;
type Env = Vec<(Name, ModelValue)>;

pub(super) struct Eval<'d> {
    defs: &'d [Def],
    steps: u64,
    depth: u32,
}

/// An array of one dimension as a value.
fn vector(data: Vec<i64>) -> ModelValue {
    let shape = vec![data.len() as i64];
    ModelValue::Array(Rc::new(Array { shape, data }))
}

fn matrix(n: i64, m: i64, data: Vec<i64>) -> ModelValue {
    let shape = vec![n, m];
    ModelValue::Array(Rc::new(Array { shape, data }))
}

impl ModelValue {
    fn int(&self) -> Result<i64, LimitExceeded> {
        match self {
            Self::Int(n) => Ok(*n),
            _ => Err(LimitExceeded),
        }
    }

    fn array(&self) -> Result<&Array, LimitExceeded> {
        match self {
            Self::Array(array) => Ok(array),
            _ => Err(LimitExceeded),
        }
    }
}

impl ModelValue {
    /// The sizes of an array, or of the arrays in a tuple or record, in order.
    fn sizes(&self) -> Vec<i64> {
        match self {
            Self::Array(array) => array.shape.clone(),
            Self::Parts(parts) => parts.iter().flat_map(Self::sizes).collect(),
            _ => Vec::new(),
        }
    }
}

impl Array {
    fn dim(&self, at: usize) -> i64 {
        self.shape.get(at).copied().unwrap_or(0)
    }

    /// The rows of a matrix.
    fn rows(&self) -> impl Iterator<Item = &[i64]> {
        let m = self.dim(1) as usize;
        (0..self.dim(0) as usize).map(move |i| &self.data[i * m..(i + 1) * m])
    }

    fn transposed(&self) -> ModelValue {
        let (n, m) = (self.dim(0), self.dim(1));
        let at = |j: i64, i: i64| self.data[(i * m + j) as usize];
        let data = (0..m).flat_map(|j| (0..n).map(move |i| (j, i)));
        matrix(m, n, data.map(|(j, i)| at(j, i)).collect())
    }

    fn sum(&self) -> i64 {
        self.data.iter().fold(0, |sum, x| sum.wrapping_add(*x))
    }

    fn row_sums(&self) -> Vec<i64> {
        let sum = |row: &[i64]| row.iter().fold(0i64, |sum, x| sum.wrapping_add(*x));
        self.rows().map(sum).collect()
    }

    /// The rows whose sums are greater than `least`.
    fn keep_rows(&self, least: i64) -> ModelValue {
        let sums = self.row_sums();
        let rows = self.rows().zip(&sums).filter(|(_, sum)| **sum > least);
        let data: Vec<i64> = rows.flat_map(|(row, _)| row.iter().copied()).collect();
        let count = sums.iter().filter(|sum| **sum > least).count();
        matrix(count as i64, self.dim(1), data)
    }

    fn with_data(&self, data: Vec<i64>) -> ModelValue {
        let shape = self.shape.clone();
        ModelValue::Array(Rc::new(Self { shape, data }))
    }
}

impl<'d> Eval<'d> {
    /// An evaluation of a program with these functions.
    pub fn new(defs: &'d [Def]) -> Self {
        Self { defs, steps: 0, depth: 0 }
    }

    /// The value of an expression.
    pub fn exp(&mut self, e: &Exp, env: &mut Env) -> Res {
        self.steps += 1;
        if self.steps > STEPS {
            return Err(LimitExceeded);
        }
        let mark = env.len();
        let value = self.step(e, env);
        env.truncate(mark);
        let value = value?;
        if let ModelValue::Array(array) = &value {
            self.steps += array.data.len() as u64;
            if array.shape.iter().any(|n| *n > LARGEST) || array.data.len() as i64 > LARGEST {
                return Err(LimitExceeded);
            }
        }
        Ok(value)
    }

    fn all(&mut self, exps: &[Exp], env: &mut Env) -> Result<Vec<ModelValue>, LimitExceeded> {
        exps.iter().map(|e| self.exp(e, env)).collect()
    }

    fn step(&mut self, e: &Exp, env: &mut Env) -> Res {
        Ok(match e {
            Exp::Var(name) => lookup(name, env)?,
            Exp::Int(n) => ModelValue::Int(*n),
            Exp::Array(elements) => vector(elements.clone()),
            Exp::Prim(prim, _, args) => {
                let args = self.all(args, env)?;
                self.prim(prim, &args, env)?
            }
            Exp::Op(op, _, _, args) => {
                let args = self.all(args, env)?;
                operation(*op, &args)?
            }
            Exp::Each(x, e, xs) => {
                let xs = self.exp(xs, env)?;
                let mut results = Vec::new();
                for element in &xs.array()?.data {
                    env.push((x.clone(), ModelValue::Int(*element)));
                    results.push(self.exp(e, env)?.int()?);
                    env.pop();
                }
                vector(results)
            }
            Exp::Boxed(_, e) | Exp::Typed(e, ..) => self.exp(e, env)?,
            Exp::Call(fun, _, args) => {
                let args = self.all(args, env)?;
                self.call(*fun, args, Vec::new())?
            }
            Exp::Local(name, args) => {
                let args = self.all(args, env)?;
                let ModelValue::Fun(fun, captured) = lookup(name, env)? else {
                    return Err(LimitExceeded);
                };
                self.call(fun, args, captured.to_vec())?
            }
            Exp::If(cond, yes, no) => {
                let branch = if self.cond(cond, env)? { yes } else { no };
                self.exp(branch, env)?
            }
            Exp::Let(pat, e, body) => {
                let value = self.exp(e, env)?;
                bind(pat, value, env)?;
                self.exp(body, env)?
            }
            Exp::LetFun(fun, name, rest) => {
                let closure = ModelValue::Fun(*fun, Rc::new(env.clone()));
                env.push((name.clone(), closure));
                self.exp(rest, env)?
            }
            Exp::Loop(pat, init, iter, body) => self.run_loop(pat, init, iter, body, env)?,
            Exp::Tuple(parts) => ModelValue::Parts(self.all(parts, env)?),
            Exp::Record(fields) => {
                let values = fields.iter().map(|(_, e)| self.exp(e, env));
                ModelValue::Parts(values.collect::<Result<_, _>>()?)
            }
            Exp::Field(e, _, at) => match self.exp(e, env)? {
                ModelValue::Parts(parts) => parts.get(*at).cloned().ok_or(LimitExceeded)?,
                _ => return Err(LimitExceeded),
            },
            Exp::Constr(at, _, payload) => ModelValue::Constr(*at, self.all(payload, env)?),
            Exp::Match(e, cases) => {
                let ModelValue::Constr(at, payload) = self.exp(e, env)? else {
                    return Err(LimitExceeded);
                };
                let case = cases.iter().find(|(other, ..)| *other == at);
                let (_, _, names, body) = case.ok_or(LimitExceeded)?;
                env.extend(names.iter().cloned().zip(payload));
                self.exp(body, env)?
            }
        })
    }

    fn cond(&mut self, cond: &Cond, env: &mut Env) -> Result<bool, LimitExceeded> {
        let a = self.exp(&cond.left, env)?.int()?;
        let b = self.exp(&cond.right, env)?.int()?;
        Ok(match cond.op {
            "<" => a < b,
            ">" => a > b,
            "<=" => a <= b,
            ">=" => a >= b,
            _ => a == b,
        })
    }

    /// Calls a function; `env` has its captures.
    fn call(&mut self, fun: usize, args: Vec<ModelValue>, mut env: Env) -> Res {
        let defs = self.defs;
        let def = defs.get(fun).ok_or(LimitExceeded)?;
        if self.depth > DEEPEST {
            return Err(LimitExceeded);
        }
        for (name, param, dim) in &def.sizes {
            let size = args.get(*param).ok_or(LimitExceeded)?.sizes().get(*dim).copied();
            let size = size.ok_or(LimitExceeded)?;
            env.push((name.clone(), ModelValue::Int(size)));
        }
        env.extend(def.params.iter().cloned().zip(args));
        self.depth += 1;
        let value = self.exp(&def.body, &mut env);
        self.depth -= 1;
        value
    }

    fn run_loop(&mut self, pat: &Pat, init: &Exp, iter: &Iter, body: &Exp, env: &mut Env) -> Res {
        let mut value = self.exp(init, env)?;
        // The index or element is bound first, so a parameter of its name hides it.
        let elements = match iter {
            Iter::For(_, n) => (0..self.exp(n, env)?.int()?).collect(),
            Iter::In(_, xs) => self.exp(xs, env)?.array()?.data.clone(),
            Iter::While(..) => Vec::new(),
        };
        let mark = env.len();
        if let Iter::For(name, _) | Iter::In(name, _) = iter {
            for element in elements {
                env.push((name.clone(), ModelValue::Int(element)));
                bind(pat, value, env)?;
                value = self.exp(body, env)?;
                env.truncate(mark);
            }
        }
        if let Iter::While(name, limit) = iter {
            loop {
                bind(pat, value.clone(), env)?;
                if lookup(name, env)?.int()? >= *limit {
                    env.truncate(mark);
                    break;
                }
                value = self.exp(body, env)?;
                env.truncate(mark);
            }
        }
        Ok(value)
    }

    fn prim(&self, prim: &Builtin, args: &[ModelValue], env: &Env) -> Res {
        let int = |at: usize| args.get(at).ok_or(LimitExceeded)?.int();
        let arr = |at: usize| args.get(at).ok_or(LimitExceeded)?.array();
        let added = || {
            let (a, b) = (arr(0)?, arr(1)?);
            let sums = a.data.iter().zip(&b.data).map(|(x, y)| x.wrapping_add(*y));
            if a.shape == b.shape { Ok(vector(sums.collect())) } else { Err(LimitExceeded) }
        };
        Ok(match prim {
            Builtin::Add => ModelValue::Int(int(0)?.wrapping_add(int(1)?)),
            Builtin::Sub => ModelValue::Int(int(0)?.wrapping_sub(int(1)?)),
            Builtin::Mul => ModelValue::Int(int(0)?.wrapping_mul(int(1)?)),
            Builtin::Mod(k) => ModelValue::Int(int(0)?.rem_euclid(*k)),
            Builtin::Length | Builtin::Len => ModelValue::Int(arr(0)?.dim(0)),
            Builtin::Sum => ModelValue::Int(arr(0)?.sum()),
            Builtin::Dims => {
                let a = arr(0)?;
                ModelValue::Int(a.dim(0) * 100 + a.dim(1))
            }
            Builtin::Iota => {
                let n = int(0)?;
                if !(0..=LARGEST).contains(&n) {
                    return Err(LimitExceeded);
                }
                vector((0..n).collect())
            }
            Builtin::Replicate => {
                let n = int(0)?;
                if !(0..=LARGEST).contains(&n) {
                    return Err(LimitExceeded);
                }
                match args.get(1).ok_or(LimitExceeded)? {
                    ModelValue::Int(x) => vector(vec![*x; n as usize]),
                    ModelValue::Array(row) => {
                        if n * row.data.len() as i64 > LARGEST {
                            return Err(LimitExceeded);
                        }
                        matrix(n, row.dim(0), row.data.repeat(n as usize))
                    }
                    _ => return Err(LimitExceeded),
                }
            }
            Builtin::Map(step) => {
                let a = arr(0)?;
                let f = applied(step, env)?;
                a.with_data(a.data.iter().map(|x| f(*x)).collect())
            }
            Builtin::Filter(test) | Builtin::Side(test, _) => {
                let accepts = accepted(test, env)?;
                let wanted = !matches!(prim, Builtin::Side(_, true));
                let data = arr(0)?.data.iter().copied();
                vector(data.filter(|x| accepts(*x) == wanted).collect())
            }
            Builtin::Concat => vector([&arr(0)?.data[..], &arr(1)?.data[..]].concat()),
            Builtin::Map2 | Builtin::Zipped => added()?,
            Builtin::Reverse => vector(arr(0)?.data.iter().rev().copied().collect()),
            Builtin::Scan => {
                let mut sum = 0i64;
                let sums = arr(0)?.data.iter().map(|x| {
                    sum = sum.wrapping_add(*x);
                    sum
                });
                vector(sums.collect())
            }
            Builtin::Half => {
                let data = &arr(0)?.data;
                vector(data[..data.len() / 2].to_vec())
            }
            Builtin::Rest => vector(arr(0)?.data.iter().skip(1).copied().collect()),
            Builtin::Resize => {
                let (n, data) = (int(0)?, &arr(1)?.data);
                if !(0..=LARGEST).contains(&n) {
                    return Err(LimitExceeded);
                }
                let padded = data.iter().copied().chain(std::iter::repeat(0));
                vector(padded.take(n as usize).collect())
            }
            Builtin::Flatten => vector(arr(0)?.data.clone()),
            Builtin::RowSums => vector(arr(0)?.row_sums()),
            Builtin::ColumnSums => vector(arr(0)?.transposed().array()?.row_sums()),
            Builtin::Outer => {
                let (a, b) = (&arr(0)?.data, &arr(1)?.data);
                let sums = a.iter().flat_map(|x| b.iter().map(move |y| x.wrapping_add(*y)));
                matrix(a.len() as i64, b.len() as i64, sums.collect())
            }
            Builtin::Transpose => arr(0)?.transposed(),
            Builtin::Pairs(_) => {
                let data = &arr(0)?.data;
                let pairs = data.iter().flat_map(|x| [*x, x.wrapping_add(1)]);
                matrix(data.len() as i64, 2, pairs.collect())
            }
            Builtin::KeepRows(_, k) => arr(0)?.keep_rows(*k),
        })
    }
}

/// The result of a module's operation, which does not depend on the representation.
fn operation(op: Op, args: &[ModelValue]) -> Res {
    let int = |at: usize| args.get(at).ok_or(LimitExceeded)?.int();
    let arr = |at: usize| args.get(at).ok_or(LimitExceeded)?.array();
    Ok(match op {
        Op::Of | Op::To => args.first().cloned().ok_or(LimitExceeded)?,
        Op::Make => {
            let count = args.len();
            let shape: Vec<i64> = (0..count).map(&int).collect::<Result<_, _>>()?;
            let total: i64 = shape.iter().product();
            if shape.iter().any(|n| !(0..=LARGEST).contains(n)) || total > LARGEST {
                return Err(LimitExceeded);
            }
            let data = (0..total).collect();
            ModelValue::Array(Rc::new(Array { shape, data }))
        }
        Op::Cat => {
            let (a, b) = (arr(0)?, arr(1)?);
            let mut shape = a.shape.clone();
            shape[0] += b.dim(0);
            let data = [&a.data[..], &b.data[..]].concat();
            ModelValue::Array(Rc::new(Array { shape, data }))
        }
        Op::Both => {
            let (a, b) = (arr(0)?, arr(1)?);
            if a.shape != b.shape {
                return Err(LimitExceeded);
            }
            let sums = a.data.iter().zip(&b.data).map(|(x, y)| x.wrapping_add(*y));
            a.with_data(sums.collect())
        }
        Op::Pick(k) => {
            let a = arr(0)?;
            if a.shape.len() == 2 {
                return Ok(a.keep_rows(k));
            }
            vector(a.data.iter().copied().filter(|x| *x > k).collect())
        }
        Op::Len => {
            let a = arr(0)?;
            let dims = a.shape.iter().rev().enumerate();
            ModelValue::Int(dims.map(|(at, n)| n * [1, 100][at.min(1)]).sum())
        }
        Op::Sum => ModelValue::Int(arr(0)?.sum()),
        Op::Flip => arr(0)?.transposed(),
        Op::Sums => vector(arr(0)?.row_sums()),
    })
}

fn lookup(name: &str, env: &Env) -> Res {
    let found = env.iter().rev().find(|(other, _)| **other == *name);
    found.map(|(_, value)| value.clone()).ok_or(LimitExceeded)
}

fn bind(pat: &Pat, value: ModelValue, env: &mut Env) -> Result<(), LimitExceeded> {
    match (pat, value) {
        (Pat::Name(name, _), value) => env.push((name.clone(), value)),
        (Pat::Tuple(pats), ModelValue::Parts(parts)) => {
            for (pat, part) in pats.iter().zip(parts) {
                bind(pat, part, env)?;
            }
        }
        (Pat::Sized(sizes, name, _), value) => {
            for (at, size) in sizes.iter().enumerate() {
                env.push((size.clone(), ModelValue::Int(value.array()?.dim(at))));
            }
            env.push((name.clone(), value));
        }
        (Pat::Tuple(_), _) => return Err(LimitExceeded),
    }
    Ok(())
}

fn applied(step: &Step, env: &Env) -> Result<Box<dyn Fn(i64) -> i64>, LimitExceeded> {
    Ok(match step {
        Step::Plus(k) => {
            let k = *k;
            Box::new(move |x| x.wrapping_add(k))
        }
        Step::Times(_, k) => {
            let k = *k;
            Box::new(move |x| x.wrapping_mul(k))
        }
        Step::PlusVar(_, y) => {
            let y = lookup(y, env)?.int()?;
            Box::new(move |x| x.wrapping_add(y))
        }
    })
}

fn accepted(test: &Test, env: &Env) -> Result<Box<dyn Fn(i64) -> bool>, LimitExceeded> {
    Ok(match test {
        Test::Above(k) => {
            let k = *k;
            Box::new(move |x| x > k)
        }
        Test::Even(_) => Box::new(|x| x.rem_euclid(2) == 0),
        Test::BelowVar(_, y) => {
            let y = lookup(y, env)?.int()?;
            Box::new(move |x| x < y)
        }
    })
}
