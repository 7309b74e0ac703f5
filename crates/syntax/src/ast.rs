//! The syntax tree.
//!
//! The tree mirrors the source: names are not resolved, types are not known, parentheses are kept,
//! and every node carries its [`Span`]. Operators are already grouped by precedence. Shapes that
//! are long in real programs are flat: a run of operators of one precedence is one
//! [`ExpKind::BinOp`], a sequence of `let`s is one [`ExpKind::Let`], all arguments of a call are in
//! one [`ExpKind::Apply`]. Everything else nests, at most [`crate::MAX_NESTING`] levels of
//! brackets, branches or bodies deep, with at most [`crate::MAX_SUFFIXES`] suffixes on a path. A
//! recursive walk must still grow its stack (crate `stacker`), as dropping an [`Exp`] does.

use prim::ScalarType;

use crate::span::Span;
use crate::symbol::Symbol;

/// An unqualified name, field name (`x`, `0`) or operator name (`+`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The text, without `#` or backticks.
    pub name: Symbol,
    /// The source span.
    pub span: Span,
}

/// `M.N.x` or `x`. In expressions `x.y` may be a projection of field `y` from the value `x`:
/// modules and values share one name space, and only name resolution can tell them apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QualName {
    /// The module path, outermost first; mostly empty.
    pub quals: Vec<Ident>,
    /// The last name.
    pub name: Ident,
}

impl QualName {
    /// The span from the first qualifier to the name.
    pub fn span(&self) -> Span {
        match self.quals.first() {
            Some(first) => first.span.to(self.name.span),
            None => self.name.span,
        }
    }
}

impl From<Ident> for QualName {
    fn from(name: Ident) -> Self {
        Self { quals: Vec::new(), name }
    }
}

/// A whole file.
#[derive(Debug)]
pub struct Prog {
    /// The documentation comment of the file: one that opens it and is followed by another
    /// documentation comment or by an empty line.
    pub doc: Option<Doc>,
    /// The declarations, in source order. A declaration that could not be parsed is absent, or
    /// present with a body that is not complete.
    pub decls: Vec<Decl>,
}

/// `-- | text`, with all lines that continue it.
#[derive(Clone, Debug)]
pub struct Doc {
    /// The text, without the dashes and the bar, lines joined by newlines.
    pub text: String,
    /// The span of the whole comment.
    pub span: Span,
}

/// `#[attr]`.
#[derive(Clone, Debug)]
pub struct Attr {
    /// The content.
    pub kind: AttrKind,
    /// The span of the attribute, without `#[` and `]`.
    pub span: Span,
}

/// The content of an attribute.
#[derive(Clone, Debug)]
pub enum AttrKind {
    /// `name`
    Name(Ident),
    /// `42`
    Int(u128),
    /// `name(attr, ...)`
    Compound(Ident, Vec<Attr>),
}

// ---------------------------------------------------------------- declarations

/// A declaration with its attributes and its documentation.
#[derive(Debug)]
pub struct Decl {
    /// The form.
    pub kind: DeclKind,
    /// `#[attr]`s in front, outermost first.
    pub attrs: Vec<Attr>,
    /// The documentation comment in front.
    pub doc: Option<Doc>,
    /// The span of the declaration, with attributes, without documentation.
    pub span: Span,
}

/// The forms of a declaration.
#[derive(Debug)]
pub enum DeclKind {
    /// `def f 't (x: t): t = e`, `entry ...`, `let ...`
    Val(Box<ValBind>),
    /// `type t [n] 'a = ...`
    Type(TypeBind),
    /// `module M (P: MT): MT = me`
    Mod(ModBind),
    /// `module type MT = mte`
    ModType(ModTypeBind),
    /// `open me`
    Open(ModExp),
    /// `import "path"`
    Import(Import),
    /// `local dec`
    Local(Box<Decl>),
}

/// `import "path"`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The path, as written, without `.fut`.
    pub path: String,
    /// The span of the string literal.
    pub path_span: Span,
}

/// The keyword of a value declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValKeyword {
    /// `def`
    Def,
    /// `let`, the deprecated spelling of `def`
    Let,
    /// `entry`
    Entry,
}

/// A declaration of a value or function.
#[derive(Debug)]
pub struct ValBind {
    /// `def`, `let` or `entry`.
    pub keyword: ValKeyword,
    /// The name or operator.
    pub name: Ident,
    /// True if it was written infix: `def x +^ y = e`.
    pub infix: bool,
    /// `[n]`, `'a`, ...
    pub type_params: Vec<TypeParam>,
    /// The parameters.
    pub params: Vec<Pat>,
    /// `: t`
    pub ret: Option<TypeExp>,
    /// The right-hand side.
    pub body: Exp,
    /// False if the right-hand side has a syntax error. It then consists of the bindings whose scope
    /// the error is in, with [`ExpKind::Error`] for the rest.
    pub complete: bool,
}

/// The kinds of type that a type parameter or abstract type may stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Liftedness {
    /// `'t`, `type t`: may be put in arrays.
    Unlifted,
    /// `'~t`, `type~ t`: may hide existential sizes.
    SizeLifted,
    /// `'^t`, `type^ t`: may hide functions.
    Lifted,
}

/// The two kinds of type parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeParamKind {
    /// `[n]`
    Size,
    /// `'t`, `'~t`, `'^t`
    Type(Liftedness),
}

/// A size or type parameter.
#[derive(Clone, Copy, Debug)]
pub struct TypeParam {
    /// Size or type.
    pub kind: TypeParamKind,
    /// The name.
    pub name: Ident,
    /// The span, with brackets or quote.
    pub span: Span,
}

/// `type t [n] 'a = te`, also as a specification.
#[derive(Debug)]
pub struct TypeBind {
    /// `type`, `type~` or `type^`.
    pub lifted: Liftedness,
    /// The name.
    pub name: Ident,
    /// The parameters.
    pub params: Vec<TypeParam>,
    /// The right-hand side.
    pub body: TypeExp,
}

/// `(P: MT)`.
#[derive(Debug)]
pub struct ModParam {
    /// The name.
    pub name: Ident,
    /// Its module type.
    pub ty: ModTypeExp,
    /// The span, with the parentheses.
    pub span: Span,
}

/// `module M (P: MT)...: MT = me`.
#[derive(Debug)]
pub struct ModBind {
    /// The name.
    pub name: Ident,
    /// The parameters.
    pub params: Vec<ModParam>,
    /// `: MT`
    pub ty: Option<ModTypeExp>,
    /// The right-hand side.
    pub body: ModExp,
}

/// `module type MT = mte`.
#[derive(Debug)]
pub struct ModTypeBind {
    /// The name.
    pub name: Ident,
    /// The right-hand side.
    pub body: ModTypeExp,
}

// --------------------------------------------------------------------- modules

/// A module expression.
#[derive(Debug)]
pub struct ModExp {
    /// The form.
    pub kind: ModExpKind,
    /// The source span.
    pub span: Span,
}

/// The forms of a module expression.
#[derive(Debug)]
pub enum ModExpKind {
    /// `M.N`
    Var(QualName),
    /// `(me)`
    Parens(Box<ModExp>),
    /// `import "path"`
    Import(Import),
    /// `{ dec ... }`
    Decls(Vec<Decl>),
    /// `me : MT`
    Ascript(Box<ModExp>, Box<ModTypeExp>),
    /// `\(P: MT): MT -> me`
    Lambda(Box<ModParam>, Option<Box<ModTypeExp>>, Box<ModExp>),
    /// `F me`
    Apply(Box<ModExp>, Box<ModExp>),
}

/// A module type expression.
#[derive(Debug)]
pub struct ModTypeExp {
    /// The form.
    pub kind: ModTypeExpKind,
    /// The source span.
    pub span: Span,
}

/// The forms of a module type expression.
#[derive(Debug)]
pub enum ModTypeExpKind {
    /// `M.MT`
    Var(QualName),
    /// `(mte)`
    Parens(Box<ModTypeExp>),
    /// `{ spec ... }`
    Specs(Vec<Spec>),
    /// `mte with t [n] 'a = te`
    With(Box<ModTypeExp>, Box<TypeRef>),
    /// `(P: mte) -> mte`, `mte -> mte`
    Arrow(Option<Ident>, Box<ModTypeExp>, Box<ModTypeExp>),
}

/// The part after `with` in a module type: `M.t [n] 'a = te`.
#[derive(Debug)]
pub struct TypeRef {
    /// The type that is given a definition.
    pub name: QualName,
    /// Its parameters.
    pub params: Vec<TypeParam>,
    /// The definition.
    pub body: TypeExp,
    /// The span of the whole part.
    pub span: Span,
}

/// A specification in a module type.
#[derive(Debug)]
pub struct Spec {
    /// The form.
    pub kind: SpecKind,
    /// `#[attr]`s in front, outermost first.
    pub attrs: Vec<Attr>,
    /// The documentation comment in front.
    pub doc: Option<Doc>,
    /// The span of the specification, without documentation.
    pub span: Span,
}

/// The forms of a specification.
#[derive(Debug)]
pub enum SpecKind {
    /// `val f [n] 'a : te`, `val (+) : te`, `val + : te`
    Val {
        /// The name or operator.
        name: Ident,
        /// `[n]`, `'a`, ...
        type_params: Vec<TypeParam>,
        /// The type.
        ty: TypeExp,
    },
    /// `type t [n] 'a = te`
    TypeAbbr(TypeBind),
    /// `type t [n] 'a`
    Type {
        /// `type`, `type~` or `type^`.
        lifted: Liftedness,
        /// The name.
        name: Ident,
        /// Its parameters.
        params: Vec<TypeParam>,
    },
    /// `module M : mte`
    Mod(Ident, ModTypeExp),
    /// `include mte`
    Include(ModTypeExp),
}

// ----------------------------------------------------------------------- types

/// A type expression.
#[derive(Debug)]
pub struct TypeExp {
    /// The form.
    pub kind: TypeExpKind,
    /// The source span.
    pub span: Span,
}

/// The forms of a type expression.
#[derive(Debug)]
pub enum TypeExpKind {
    /// `i32`, `M.t`
    Var(QualName),
    /// `(te)`
    Parens(Box<TypeExp>),
    /// `()`, `(a, b)`
    Tuple(Vec<TypeExp>),
    /// `{x: a, 0: b}`
    Record(Vec<(Ident, TypeExp)>),
    /// `[n]te`, `[]te`
    Array(SizeExp, Box<TypeExp>),
    /// `#a t1 t2 | #b`
    Sum(Vec<TypeConstr>),
    /// `a -> b`, `(x: a) -> b`
    Arrow(Option<Ident>, Box<TypeExp>, Box<TypeExp>),
    /// `t [n] a`: head, then at least one argument
    Apply(Box<TypeExp>, Vec<TypeArg>),
    /// `*te`
    Unique(Box<TypeExp>),
    /// `?[n][m].te`
    Exists(Vec<Ident>, Box<TypeExp>),
}

/// `[e]` or `[]` in a type.
#[derive(Debug)]
pub struct SizeExp {
    /// The size; `None` if anonymous.
    pub size: Option<Box<Exp>>,
    /// The span, with the brackets.
    pub span: Span,
}

/// One alternative of a sum type: `#c t1 t2`.
#[derive(Debug)]
pub struct TypeConstr {
    /// The name, without `#`; its span includes the `#`.
    pub name: Ident,
    /// The payload.
    pub payload: Vec<TypeExp>,
    /// The span of the whole alternative.
    pub span: Span,
}

/// An argument of a type abbreviation.
#[derive(Debug)]
pub enum TypeArg {
    /// `[n]`, `[]`
    Size(SizeExp),
    /// `i32`
    Type(TypeExp),
}

// -------------------------------------------------------------------- patterns

/// A pattern.
#[derive(Debug)]
pub struct Pat {
    /// The form.
    pub kind: PatKind,
    /// The source span.
    pub span: Span,
}

/// The forms of a pattern.
#[derive(Debug)]
pub enum PatKind {
    /// `x`, `(+)`
    Id(Ident),
    /// `_`
    Wild,
    /// `(p)`
    Parens(Box<Pat>),
    /// `()`, `(p, q)`
    Tuple(Vec<Pat>),
    /// `{x, y = p, z: t}`
    Record(Vec<PatField>),
    /// `p: te`
    Ascript(Box<Pat>, Box<TypeExp>),
    /// `1`, `-1.0f32`, `true`, `'c'`; the flag is true if a minus precedes the literal
    Lit(bool, Lit),
    /// `#c p q`
    Constr(Ident, Vec<Pat>),
    /// `#[attr] p`
    Attr(Box<Attr>, Box<Pat>),
}

/// A field of a record pattern.
#[derive(Debug)]
pub struct PatField {
    /// The field.
    pub name: Ident,
    /// The pattern that the field is matched with: for `{x}` the name `x`, for `{x: t}` the
    /// ascription `x: t`.
    pub pat: Pat,
    /// True if the pattern was left out (`{x}`, `{x: t}`).
    pub punned: bool,
}

// ----------------------------------------------------------------- expressions

/// An expression.
#[derive(Debug)]
pub struct Exp {
    /// The form.
    pub kind: ExpKind,
    /// The source span.
    pub span: Span,
}

/// A literal.
#[derive(Clone, PartialEq, Debug)]
pub enum Lit {
    /// `42`, `0xFFi64`, `0b1_0u8`, `0rXIV`: the value, not yet checked against the range of its
    /// type.
    Int(u128, Option<ScalarType>),
    /// `1.5`, `1e3f32`, `2f64`, `0x1.8p3`. A decimal value is rounded once, to `f64`, or to `f32`
    /// if that is the suffix; a hexadecimal one is rounded to `f64` whatever its suffix.
    Float(f64, Option<ScalarType>),
    /// `true`, `false`
    Bool(bool),
    /// `'c'`: an integer, the code point
    Char(char),
    /// `"text"`: an array of the bytes, in UTF-8
    String(Box<str>),
}

/// A use of an infix operator: `+`, `M.+`, `` `f` ``, `` `M.f` ``.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The name, without backticks.
    pub name: QualName,
    /// The span, with backticks.
    pub span: Span,
    /// True if it was written in backticks.
    pub backtick: bool,
}

/// The forms of an expression.
#[derive(Debug)]
pub enum ExpKind {
    /// `1`, `true`, `"s"`
    Lit(Lit),
    /// `x`, `M.x` (possibly a projection; see [`QualName`])
    Var(QualName),
    /// `???`
    Hole,
    /// `(e)`
    Parens(Box<Exp>),
    /// `M.(e)`
    QualParens(QualName, Box<Exp>),
    /// `()`, `(a, b)`
    Tuple(Vec<Exp>),
    /// `{x = e, y}`
    Record(Vec<Field>),
    /// `[a, b]`
    Array(Vec<Exp>),
    /// `e.x`, `e.0`, where `e` is not a plain name or the field is a number
    Project(Box<Exp>, Ident),
    /// `e[i, j:k]`
    Index(Box<Exp>, Vec<DimIndex>),
    /// `e with [i].x = v`: base, path, value
    Update(Box<Exp>, Vec<PathStep>, Box<Exp>),
    /// `f a b`: function, then at least one argument
    Apply(Box<Exp>, Vec<Exp>),
    /// `#c a b`
    Constr(Ident, Vec<Exp>),
    /// `a + b - c`: first operand, then at least one operator with its right operand; groups to the
    /// left: `(a + b) - c`
    BinOp(Box<Exp>, Vec<(Operator, Exp)>),
    /// `-e`; the span is the operator's
    Negate(Span, Box<Exp>),
    /// `!e`; the span is the operator's
    Not(Span, Box<Exp>),
    /// `(+)`
    OpSection(Operator),
    /// `(e +)`
    OpSectionLeft(Box<Exp>, Operator),
    /// `(+ e)`
    OpSectionRight(Operator, Box<Exp>),
    /// `(.x.y)`, `(.[i])`
    PathSection(Vec<PathStep>),
    /// `e : te`
    Ascript(Box<Exp>, Box<TypeExp>),
    /// `e :> te`
    Coerce(Box<Exp>, Box<TypeExp>),
    /// `a..b...c`, `a..<c`: first element, second element, end
    Range(Box<Exp>, Option<Box<Exp>>, RangeEnd, Box<Exp>),
    /// `if c then a else b`
    If(Box<Exp>, Box<Exp>, Box<Exp>),
    /// `let ... let ... in e`: at least one binding
    Let(Vec<LetBind>, Box<Exp>),
    /// `\p q: te -> e`
    Lambda(Vec<Pat>, Option<Box<TypeExp>>, Box<Exp>),
    /// `loop p = e for i < n do b`
    Loop(Box<Loop>),
    /// `match e case p -> a case q -> b`: at least one case
    Match(Box<Exp>, Vec<Case>),
    /// `assert c e`
    Assert(Box<Exp>, Box<Exp>),
    /// `#[attr] e`
    Attr(Box<Attr>, Box<Exp>),
    /// Stands for text that could not be parsed; an error was reported.
    Error,
}

/// A field of a record expression.
#[derive(Debug)]
pub struct Field {
    /// The field.
    pub name: Ident,
    /// Its value; for `{x}` this is the variable `x`.
    pub value: Exp,
    /// True if the value was left out.
    pub punned: bool,
}

/// One dimension of an index.
#[derive(Debug)]
pub enum DimIndex {
    /// `i`
    Fix(Exp),
    /// `i:j:s`, each part optional; the span covers it
    Slice(Option<Box<Exp>>, Option<Box<Exp>>, Option<Box<Exp>>, Span),
}

/// One step into an array or record.
#[derive(Debug)]
pub enum PathStep {
    /// `.x`
    Field(Ident),
    /// `[i, j:k]`; the span includes the brackets
    Index(Vec<DimIndex>, Span),
}

/// The forms of a range's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeEnd {
    /// `...e`: up or down to `e`, inclusive
    Inclusive,
    /// `..<e`: up to `e`, exclusive
    UpTo,
    /// `..>e`: down to `e`, exclusive
    DownTo,
}

/// One binding of a sequence of `let`s.
#[derive(Debug)]
pub struct LetBind {
    /// The form.
    pub kind: LetKind,
    /// The span from `let` to the end of the right-hand side.
    pub span: Span,
}

/// The forms of a local binding.
#[derive(Debug)]
pub enum LetKind {
    /// `let [n] p = e`: sizes, pattern, right-hand side
    Pat(Vec<Ident>, Box<Pat>, Box<Exp>),
    /// `let f [n] x: te = e`
    Fun(Box<LetFun>),
    /// `let a[i] = e`, `let r.x = e`: variable, path, new value
    Update(Ident, Vec<PathStep>, Box<Exp>),
}

/// A local function.
#[derive(Debug)]
pub struct LetFun {
    /// The name.
    pub name: Ident,
    /// `[n]`, `'a`, ...
    pub type_params: Vec<TypeParam>,
    /// At least one parameter.
    pub params: Vec<Pat>,
    /// `: te`
    pub ret: Option<TypeExp>,
    /// The right-hand side.
    pub body: Exp,
}

/// `loop p = init form do body`.
#[derive(Debug)]
pub struct Loop {
    /// The loop parameters.
    pub pat: Pat,
    /// Their initial values; `None` means variables of the same names.
    pub init: Option<Exp>,
    /// The form: `for` or `while`.
    pub form: LoopForm,
    /// The body.
    pub body: Exp,
}

/// The forms of a loop.
#[derive(Debug)]
pub enum LoopForm {
    /// `for i < n`
    For(Ident, Exp),
    /// `for p in xs`
    ForIn(Pat, Exp),
    /// `while c`
    While(Exp),
}

/// `case p -> e`.
#[derive(Debug)]
pub struct Case {
    /// The pattern.
    pub pat: Pat,
    /// The result.
    pub body: Exp,
    /// The span from `case` to the end of the result.
    pub span: Span,
}

impl Exp {
    /// Returns the expression without the parentheses around it.
    pub fn strip_parens(&self) -> &Self {
        let mut exp = self;
        while let ExpKind::Parens(inner) = &exp.kind {
            exp = inner;
        }
        exp
    }
}

impl Drop for Exp {
    fn drop(&mut self) {
        // Most nodes are leaves; only nodes with children can be deep.
        if matches!(self.kind, ExpKind::Lit(_) | ExpKind::Var(_) | ExpKind::Hole | ExpKind::Error) {
            return;
        }
        if stacker::remaining_stack().is_none_or(|left| left < crate::STACK_RED_ZONE) {
            let kind = std::mem::replace(&mut self.kind, ExpKind::Error);
            stacker::grow(crate::STACK_GROWTH, move || drop(kind));
        }
    }
}
