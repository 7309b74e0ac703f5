//! Expressions of generated programs, and their text. Names follow the scoping of the text, so an
//! expression has the meaning of its text.

use std::rc::Rc;

pub(super) type Name = Rc<str>;

/// A function of one element, as it is written.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// `(+ k)`
    Plus(i64),
    /// `(\x -> x * k)`
    Times(Name, i64),
    /// `(\x -> x + y)`
    PlusVar(Name, Name),
}

/// A predicate on an element, as it is written.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// `(> k)`
    Above(i64),
    /// `(\x -> x % 2 == 0)`
    Even(Name),
    /// `(\x -> x < y)`
    BelowVar(Name, Name),
}

/// The syntax of an application to an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `f a xs`
    Plain,
    /// `xs |> f a`
    Pipe,
    /// `f a <| xs`
    Back,
    /// `app (f a) xs`, through a higher-order function
    App,
}

/// A built-in operation, or a call of a helper function.
#[derive(Clone, Debug)]
pub(super) enum Builtin {
    Add,
    Sub,
    Mul,
    Mod(i64),
    Length,
    Sum,
    /// The size parameter of the argument.
    Len,
    /// Both size parameters of a matrix.
    Dims,
    Iota,
    Replicate,
    Map(Step),
    Filter(Test),
    /// One result of a partition.
    Side(Test, bool),
    Concat,
    /// The sum of two arrays of one size.
    Map2,
    /// The same by a map over the zipped arrays.
    Zipped,
    Reverse,
    Scan,
    /// The first half.
    Half,
    /// All but the first element, if there is one.
    Rest,
    Resize,
    Flatten,
    RowSums,
    ColumnSums,
    Outer,
    Transpose,
    /// Each element `x` as the row `[x, x + 1]`.
    Pairs(Name),
    KeepRows(Name, i64),
}

/// An operation of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Of,
    To,
    Make,
    Cat,
    Both,
    Pick(i64),
    Len,
    Sum,
    Flip,
    Sums,
}

/// A comparison.
#[derive(Clone, Debug)]
pub(super) struct Cond {
    pub left: Exp,
    pub op: &'static str,
    pub right: Exp,
}

/// The pattern of a binding or a loop.
#[derive(Clone, Debug)]
pub(super) enum Pat {
    /// A name, with a type in parentheses if there is one.
    Name(Name, Option<String>),
    Tuple(Vec<Self>),
    /// `[k] (x: t)`, as in `let [k] (x: t) = e`: names of the sizes of an array or of a value of an
    /// abstract type.
    Sized(Vec<Name>, Name, String),
}

/// The form of a loop.
#[derive(Clone, Debug)]
pub(super) enum Iter {
    For(Name, Exp),
    In(Name, Exp),
    /// `while i < n`, where `i` is the loop's first parameter.
    While(Name, i64),
}

#[derive(Clone, Debug)]
pub(super) enum Exp {
    Var(Name),
    Int(i64),
    Array(Vec<i64>),
    Prim(Builtin, Form, Vec<Self>),
    /// An operation of a module, with the module's name; `M.(f a)` if the flag is set.
    Op(Op, Name, bool, Vec<Self>),
    /// `map (\x -> e) xs`
    Each(Name, Box<Self>, Box<Self>),
    /// `boxes.mk e`, `boxes.get e`
    Boxed(&'static str, Box<Self>),
    /// A call of a function at top level or in a module, by number.
    Call(usize, Name, Vec<Self>),
    /// A call of a local function.
    Local(Name, Vec<Self>),
    If(Box<Cond>, Box<Self>, Box<Self>),
    Let(Pat, Box<Self>, Box<Self>),
    /// A local function by number: its name, and the expression in its scope.
    LetFun(usize, Name, Box<Self>),
    /// Parameters, initial values, iteration, body.
    Loop(Pat, Box<Self>, Box<Iter>, Box<Self>),
    Tuple(Vec<Self>),
    Record(Vec<(&'static str, Self)>),
    /// A component: its name and index.
    Field(Box<Self>, Name, usize),
    Constr(usize, &'static str, Vec<Self>),
    /// Cases: the constructor's index and name, names of the payload, result.
    Match(Box<Self>, Vec<(usize, &'static str, Vec<Name>, Self)>),
    /// `e : t`, or `e :> t` if the flag is set.
    Typed(Box<Self>, bool, String),
}

impl Exp {
    /// A built-in operation in plain form.
    pub fn prim(prim: Builtin, args: Vec<Self>) -> Self {
        Self::Prim(prim, Form::Plain, args)
    }

    /// The text, in parentheses where they may be needed; `funs` returns the text of local
    /// functions by number.
    pub fn text(&self, funs: &dyn Fn(usize) -> String) -> String {
        let all = |exps: &[Self]| exps.iter().map(|e| e.text(funs)).collect::<Vec<_>>();
        match self {
            Self::Var(name) => name.to_string(),
            Self::Int(n) if *n < 0 => format!("({n}i64)"),
            Self::Int(n) => format!("{n}i64"),
            Self::Array(elements) => {
                let texts: Vec<String> = elements.iter().map(|x| format!("{x}i64")).collect();
                format!("[{}]", texts.join(", "))
            }
            Self::Prim(prim, form, args) => prim.text(*form, &all(args)),
            Self::Op(op, module, opened, args) => {
                let args = all(args).join(" ");
                let (op, dot) = (op.text(), if *opened { ".(" } else { "." });
                let end = if *opened { "))" } else { ")" };
                format!("({module}{dot}{op} {args}{end}")
            }
            Self::Each(x, e, xs) => {
                format!("(map (\\{x} -> {}) {})", e.text(funs), xs.text(funs))
            }
            Self::Boxed(op, e) => format!("(boxes.{op} {})", e.text(funs)),
            Self::Call(_, name, args) | Self::Local(name, args) => {
                format!("({name} {})", all(args).join(" "))
            }
            Self::If(cond, yes, no) => {
                format!("(if {} then {} else {})", cond.text(funs), yes.text(funs), no.text(funs))
            }
            Self::Let(pat, e, body) => {
                format!("(let {} = {}\n  in {})", pat.text(), e.text(funs), body.text(funs))
            }
            Self::LetFun(fun, _, rest) => format!("({}\n  in {})", funs(*fun), rest.text(funs)),
            Self::Loop(pat, init, iter, body) => {
                let iter = match &**iter {
                    Iter::For(i, n) => format!("for {i} < {}", n.text(funs)),
                    Iter::In(x, xs) => format!("for {x} in {}", xs.text(funs)),
                    Iter::While(i, n) => format!("while {i} < {n}"),
                };
                let (init, body) = (init.text(funs), body.text(funs));
                format!("(loop {} = {init} {iter} do {body})", pat.text())
            }
            Self::Tuple(parts) => format!("({})", all(parts).join(", ")),
            Self::Record(fields) => {
                let field = |(name, e): &(&str, Self)| match e {
                    Self::Var(x) if **x == **name => (*name).to_owned(),
                    e => format!("{name} = {}", e.text(funs)),
                };
                let fields: Vec<String> = fields.iter().map(field).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Self::Field(e, name, _) => format!("{}.{name}", e.text(funs)),
            Self::Constr(_, name, payload) if payload.is_empty() => format!("#{name}"),
            Self::Constr(_, name, payload) => format!("(#{name} {})", all(payload).join(" ")),
            Self::Match(e, cases) => {
                let case = |(_, name, names, body): &(usize, &str, Vec<Name>, Self)| {
                    let names: String = names.iter().map(|x| format!(" {x}")).collect();
                    format!("case #{name}{names} -> {}", body.text(funs))
                };
                let cases: Vec<String> = cases.iter().map(case).collect();
                format!("(match {} {})", e.text(funs), cases.join(" "))
            }
            Self::Typed(e, coerced, ty) => {
                let sign = if *coerced { ":>" } else { ":" };
                format!("({} {sign} {ty})", e.text(funs))
            }
        }
    }
}

impl Cond {
    fn text(&self, funs: &dyn Fn(usize) -> String) -> String {
        format!("{} {} {}", self.left.text(funs), self.op, self.right.text(funs))
    }
}

impl Pat {
    fn text(&self) -> String {
        match self {
            Self::Name(name, None) => name.to_string(),
            Self::Name(name, Some(ty)) => format!("({name}: {ty})"),
            Self::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(Self::text).collect();
                format!("({})", parts.join(", "))
            }
            Self::Sized(sizes, name, ty) => {
                let sizes: String = sizes.iter().map(|k| format!("[{k}]")).collect();
                format!("{sizes} ({name}: {ty})")
            }
        }
    }
}

impl Step {
    fn text(&self) -> String {
        match self {
            Self::Plus(k) => format!("(+ {k})"),
            Self::Times(x, k) => format!("(\\{x} -> {x} * {k})"),
            Self::PlusVar(x, y) => format!("(\\{x} -> {x} + {y})"),
        }
    }
}

impl Test {
    fn text(&self) -> String {
        match self {
            Self::Above(k) => format!("(> {k})"),
            Self::Even(x) => format!("(\\{x} -> {x} % 2 == 0)"),
            Self::BelowVar(x, y) => format!("(\\{x} -> {x} < {y})"),
        }
    }
}

impl Op {
    fn text(self) -> String {
        match self {
            Self::Of => "of".to_owned(),
            Self::To => "to".to_owned(),
            Self::Make => "make".to_owned(),
            Self::Cat => "cat".to_owned(),
            Self::Both => "both".to_owned(),
            Self::Pick(k) => format!("pick {k}"),
            Self::Len => "len".to_owned(),
            Self::Sum => "sum".to_owned(),
            Self::Flip => "flip".to_owned(),
            Self::Sums => "sums".to_owned(),
        }
    }
}

impl Builtin {
    fn text(&self, form: Form, args: &[String]) -> String {
        let a = args.first().map_or("", String::as_str);
        let b = args.get(1).map_or("", String::as_str);
        let (fun, last) = match self {
            Self::Add => return format!("({a} + {b})"),
            Self::Sub => return format!("({a} - {b})"),
            Self::Mul => return format!("({a} * {b})"),
            Self::Mod(k) => return format!("({a} % {k})"),
            Self::Concat => return format!("({a} ++ {b})"),
            Self::Side(test, right) => {
                return format!("(partition {} {a}).{}", test.text(), u8::from(*right));
            }
            Self::Zipped => {
                return match form {
                    Form::Plain => format!("(map (\\(a, b) -> a + b) (zip {a} {b}))"),
                    _ => format!("(zip {a} {b} |> map (\\(a, b) -> a + b))"),
                };
            }
            Self::Length => ("length".to_owned(), a),
            Self::Sum => ("i64.sum".to_owned(), a),
            Self::Len => ("size_of".to_owned(), a),
            Self::Dims => ("sizes_of".to_owned(), a),
            Self::Iota => ("iota".to_owned(), a),
            Self::Replicate => (format!("replicate {a}"), b),
            Self::Map(step) => (format!("map {}", step.text()), a),
            Self::Filter(test) => (format!("filter {}", test.text()), a),
            Self::Map2 => (format!("map2 (+) {a}"), b),
            Self::Reverse => ("reverse".to_owned(), a),
            Self::Scan => ("scan (+) 0".to_owned(), a),
            Self::Half => ("half".to_owned(), a),
            Self::Rest => ("rest".to_owned(), a),
            Self::Resize => (format!("resize {a}"), b),
            Self::Flatten => ("flatten".to_owned(), a),
            Self::RowSums => ("map i64.sum".to_owned(), a),
            Self::ColumnSums => return format!("(map i64.sum (transpose {a}))"),
            Self::Outer => (format!("outer {a}"), b),
            Self::Transpose => ("transpose".to_owned(), a),
            Self::Pairs(x) => (format!("map (\\{x} -> [{x}, {x} + 1])"), a),
            Self::KeepRows(x, k) => (format!("filter (\\{x} -> i64.sum {x} > {k})"), a),
        };
        match form {
            Form::Plain => format!("({fun} {last})"),
            Form::Pipe => format!("({last} |> {fun})"),
            Form::Back => format!("({fun} <| {last})"),
            Form::App if fun.contains(' ') => format!("(app ({fun}) {last})"),
            Form::App => format!("(app {fun} {last})"),
        }
    }
}
