//! Types and sizes as text, for messages.

use crate::infer::{Constraint, FreeVars, InferTables, Scalars, TyState, arrow, simple_name};
use crate::intrinsics::Intrinsic;

use crate::tast::{
    AbstractTypeId, Def, Dim, Exp, ExpKind, Index, OverloadedOp, Program, RetType, Ty, TyVarId, Uniq, VarId,
};
use prim::{BinOp, ScalarType};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// A source of the names of variables and abstract types.
trait Names {
    fn var(&self, var: VarId) -> &str;
    fn ty_var(&self, var: TyVarId) -> &str;
    /// The path of the module that the type comes from, and its name there.
    fn abstract_ty(&self, id: AbstractTypeId) -> (&str, &str);
}

impl Names for InferTables {
    fn var(&self, var: VarId) -> &str {
        self.vars.get(var.index()).map_or("?", |v| &v.name)
    }

    fn ty_var(&self, var: TyVarId) -> &str {
        let Some(data) = self.ty_vars.get(var.index()) else {
            return "?";
        };
        match (&data.state, &data.constraint) {
            (TyState::Open, Constraint::Scalars(Scalars::INTS)) => "int",
            (TyState::Open, Constraint::Scalars(Scalars::FLOATS)) => "float",
            _ => &data.name,
        }
    }

    fn abstract_ty(&self, id: AbstractTypeId) -> (&str, &str) {
        self.abstracts.get(id.index()).map_or(("", "?"), |data| (&data.path, &data.name))
    }
}

/// The names of a table without the module paths of abstract types.
struct UnqualifiedNames<'t>(&'t InferTables);

impl Names for UnqualifiedNames<'_> {
    fn var(&self, var: VarId) -> &str {
        Names::var(self.0, var)
    }

    fn ty_var(&self, var: TyVarId) -> &str {
        Names::ty_var(self.0, var)
    }

    fn abstract_ty(&self, id: AbstractTypeId) -> (&str, &str) {
        ("", Names::abstract_ty(self.0, id).1)
    }
}

impl Names for Program {
    fn var(&self, var: VarId) -> &str {
        self.name(var)
    }

    fn ty_var(&self, var: TyVarId) -> &str {
        self.ty_vars.get(var.index()).map_or("?", |name| name)
    }

    fn abstract_ty(&self, _: AbstractTypeId) -> (&'static str, &'static str) {
        ("", "acc")
    }
}

impl Program {
    /// A type as text.
    pub fn show(&self, ty: &Ty) -> String {
        let mut printer = Printer { names: self, out: String::new(), limit: usize::MAX };
        printer.ty(ty, Prec::Any);
        printer.out
    }

    /// The name, parameters and type of a definition, as a module type would specify it:
    /// `f [n] 'a : [n]a -> a`.
    pub fn show_def(&self, def: &Def) -> String {
        let mut out = self.name(def.var).to_owned();
        for size in &def.size_params {
            let _ = write!(out, " [{}]", self.name(*size));
        }
        for var in &def.ty_params {
            let _ = write!(out, " '{}", Names::ty_var(self, *var));
        }
        let params: Vec<_> =
            def.params.iter().map(|p| (simple_name(p), p.ty.clone(), p.consumes.clone())).collect();
        let mut printer = Printer { names: self, out: out + " : ", limit: usize::MAX };
        if params.is_empty() {
            printer.ret(&def.ret);
        } else {
            printer.ty(&arrow(&params, def.ret.clone()), Prec::Any);
        }
        printer.out
    }
}

/// The approximate number of bytes of a type that messages show.
const MAX_SHOWN: usize = 200;

/// Prints types with the names of a table.
struct Printer<'t> {
    names: &'t dyn Names,
    out: String,
    /// The number of bytes after which parts are left out.
    limit: usize,
}

/// The precedence of the context of a type.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Prec {
    Any,
    Param,
    Atom,
}

impl InferTables {
    /// The type as text; large types are cut.
    pub(crate) fn show(&self, ty: &Ty) -> String {
        let ty = self.resolve(ty);
        let mut printer = Printer { names: self, out: String::new(), limit: MAX_SHOWN };
        printer.ty(&ty, Prec::Any);
        printer.out
    }

    /// As [`InferTables::show`], with abstract types named as in their modules.
    pub(crate) fn show_inside(&self, ty: &Ty) -> String {
        let ty = self.resolve(ty);
        let mut printer = Printer { names: &UnqualifiedNames(self), out: String::new(), limit: MAX_SHOWN };
        printer.ty(&ty, Prec::Any);
        printer.out
    }

    /// The size as text.
    pub(crate) fn show_dim(&self, dim: &Dim) -> String {
        let mut printer = Printer { names: self, out: String::new(), limit: MAX_SHOWN };
        printer.dim(&self.resolve_dim(dim), 0);
        printer.out
    }
}

/// Names for messages in which sizes with the same name must be distinguished.
pub(crate) struct DistinctNames<'t> {
    tables: &'t InferTables,
    /// Names for sizes that share theirs with another.
    names: FxHashMap<VarId, String>,
}

impl<'t> DistinctNames<'t> {
    /// Names for the variables that these sizes mention.
    pub(crate) fn of(tables: &'t InferTables, dims: &[&Dim]) -> Self {
        let mut mentions = FreeVars::default();
        for dim in dims {
            crate::subst::map_dim(&tables.resolve_dim(dim), &mut mentions);
        }
        let mut shared: FxHashMap<&str, (usize, usize)> = FxHashMap::default();
        for var in &mentions.dims {
            shared.entry(&tables.var(*var).name).or_default().0 += 1;
        }
        let mut names = FxHashMap::default();
        for var in &mentions.dims {
            let name = &*tables.var(*var).name;
            if let Some((count, number)) = shared.get_mut(name)
                && *count > 1
            {
                *number += 1;
                // The first keeps its name.
                if *number > 1 {
                    names.insert(*var, format!("{name}{}", subscript(*number)));
                }
            }
        }
        Self { tables, names }
    }

    /// As [`InferTables::show`].
    pub(crate) fn show(&self, ty: &Ty) -> String {
        let ty = self.tables.resolve(ty);
        let mut printer = Printer { names: self, out: String::new(), limit: MAX_SHOWN };
        printer.ty(&ty, Prec::Any);
        printer.out
    }

    /// As [`InferTables::show_dim`].
    pub(crate) fn show_dim(&self, dim: &Dim) -> String {
        let mut printer = Printer { names: self, out: String::new(), limit: MAX_SHOWN };
        printer.dim(&self.tables.resolve_dim(dim), 0);
        printer.out
    }

    /// The name of a size.
    pub(crate) fn name(&self, var: VarId) -> &str {
        Names::var(self, var)
    }
}

impl Names for DistinctNames<'_> {
    fn var(&self, var: VarId) -> &str {
        let distinct = self.names.get(&var).map(String::as_str);
        distinct.unwrap_or_else(|| Names::var(self.tables, var))
    }

    fn ty_var(&self, var: TyVarId) -> &str {
        Names::ty_var(self.tables, var)
    }

    fn abstract_ty(&self, id: AbstractTypeId) -> (&str, &str) {
        Names::abstract_ty(self.tables, id)
    }
}

fn subscript(number: usize) -> String {
    let digits = number.to_string();
    let digits = digits.bytes().map(|digit| u32::from(digit - b'0'));
    digits.filter_map(|digit| char::from_u32('₀' as u32 + digit)).collect()
}

/// A set of scalar types as text.
pub(crate) fn show_scalars(set: Scalars) -> String {
    match set {
        Scalars::INTS => "an integer type".to_owned(),
        Scalars::FLOATS => "a float type".to_owned(),
        Scalars::NUMBERS => "a number type".to_owned(),
        Scalars::BITS => "an integer type or `bool`".to_owned(),
        Scalars::ALL => "a scalar type".to_owned(),
        Scalars(_) => {
            let names: Vec<String> = ScalarType::ALL
                .iter()
                .filter(|ty| set.contains(**ty))
                .map(|ty| format!("\"{ty}\""))
                .collect();
            format!("one of {}", names.join(", "))
        }
    }
}

impl Printer<'_> {
    fn var(&mut self, var: VarId) {
        let name = self.names.var(var);
        self.out.push_str(name);
    }

    fn separated<T>(&mut self, items: &[T], mut f: impl FnMut(&mut Self, &T)) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            if self.is_full() {
                return;
            }
            f(self, item);
        }
    }

    /// Returns true if the limit is reached, and then appends an ellipsis.
    fn is_full(&mut self) -> bool {
        let full = self.out.len() > self.limit;
        if full && !self.out.ends_with("...") {
            self.out.push_str("...");
        }
        full
    }

    fn ty(&mut self, ty: &Ty, prec: Prec) {
        if self.is_full() {
            return;
        }
        match ty {
            Ty::Scalar(scalar) => self.out.push_str(scalar.name()),
            Ty::Array(array) => {
                self.out.push('[');
                self.dim(&array.dim, 0);
                self.out.push(']');
                self.ty(&array.elem, Prec::Atom);
            }
            Ty::Tuple(parts) => {
                self.out.push('(');
                self.separated(parts, |p, ty| p.ty(ty, Prec::Any));
                self.out.push(')');
            }
            Ty::Record(fields) => {
                self.out.push('{');
                self.separated(fields, |p, (label, ty)| {
                    let _ = write!(p.out, "{label}: ");
                    p.ty(ty, Prec::Any);
                });
                self.out.push('}');
            }
            Ty::Sum(constrs) => {
                self.open(prec > Prec::Any);
                for (i, (label, payload)) in constrs.iter().enumerate() {
                    if self.is_full() {
                        break;
                    }
                    let _ = write!(self.out, "{}#{label}", if i > 0 { " | " } else { "" });
                    for ty in payload.iter() {
                        self.out.push(' ');
                        self.ty(ty, Prec::Atom);
                    }
                }
                self.close(prec > Prec::Any);
            }
            Ty::Arrow(arrow) => {
                self.open(prec > Prec::Any);
                if let Some(name) = arrow.name {
                    self.out.push('(');
                    self.var(name);
                    self.out.push_str(if arrow.consumes.any() { ": *" } else { ": " });
                    self.ty(&arrow.param, Prec::Any);
                    self.out.push(')');
                } else {
                    self.out.push_str(if arrow.consumes.any() { "*" } else { "" });
                    self.ty(&arrow.param, Prec::Param);
                }
                self.out.push_str(" -> ");
                self.ret(&arrow.ret);
                self.close(prec > Prec::Any);
            }
            Ty::Var(var) => self.out.push_str(self.names.ty_var(*var)),
            Ty::Abstract(id, args) => {
                let compound = !(args.types.is_empty() && args.dims.is_empty());
                self.open(compound && prec == Prec::Atom);
                let (path, name) = self.names.abstract_ty(*id);
                self.out.push_str(path);
                self.out.push_str(name);
                for dim in &args.dims {
                    self.out.push_str(" [");
                    self.dim(dim, 0);
                    self.out.push(']');
                }
                for ty in &args.types {
                    self.out.push(' ');
                    self.ty(ty, Prec::Atom);
                }
                self.close(compound && prec == Prec::Atom);
            }
        }
    }

    fn ret(&mut self, ret: &RetType) {
        if !ret.existential_sizes.is_empty() {
            self.out.push('?');
            for ext in &ret.existential_sizes {
                self.out.push('[');
                self.var(*ext);
                self.out.push(']');
            }
            self.out.push('.');
        }
        if ret.unique == Uniq::All {
            self.out.push('*');
            return self.ty(&ret.ty, Prec::Atom);
        }
        self.ty(&ret.ty, Prec::Any);
    }

    fn open(&mut self, yes: bool) {
        if yes {
            self.out.push('(');
        }
    }

    fn close(&mut self, yes: bool) {
        if yes {
            self.out.push(')');
        }
    }

    /// Prints a size; `prec` 0 allows any form, 1 products, 2 atoms.
    fn dim(&mut self, dim: &Dim, prec: u8) {
        if self.is_full() {
            return;
        }
        match dim {
            Dim::Any => {}
            Dim::Const(n) => {
                let _ = write!(self.out, "{n}");
            }
            Dim::Var(var) => self.var(*var),
            Dim::Op(op, args) => {
                let (text, own_prec) = match op {
                    BinOp::Add => ("+", 0),
                    BinOp::Sub => ("-", 0),
                    BinOp::Mul => ("*", 1),
                    other => (other.name(), 1),
                };
                self.open(prec > own_prec);
                self.dim(&args.0, own_prec);
                let _ = write!(self.out, " {text} ");
                self.dim(&args.1, own_prec + 1);
                self.close(prec > own_prec);
            }
            Dim::Exp(exp) => self.exp(exp, prec),
        }
    }

    /// Prints a size expression, approximately as it was written.
    fn exp(&mut self, exp: &Exp, prec: u8) {
        if self.is_full() {
            return;
        }
        match &exp.kind {
            ExpKind::Lit(value, ty) => {
                let value = if ty.is_float() { None } else { value.as_i64() };
                match value {
                    Some(n) => {
                        let _ = write!(self.out, "{n}");
                    }
                    None => self.out.push_str("..."),
                }
            }
            ExpKind::Var { id, .. } => self.var(*id),
            ExpKind::Project(e, label) => {
                self.exp(e, 2);
                let _ = write!(self.out, ".{label}");
            }
            ExpKind::Index { array, indices } => {
                self.exp(array, 2);
                self.out.push('[');
                self.separated(indices, |p, index| match index {
                    Index::At(e) => p.exp(e, 0),
                    Index::Slice { .. } => p.out.push(':'),
                });
                self.out.push(']');
            }
            ExpKind::Apply { fun, args, .. } => {
                self.open(prec > 1);
                if let (Some(op), [a, b]) = (operator(fun), args.as_slice()) {
                    self.exp(a, 2);
                    let _ = write!(self.out, " {op} ");
                    self.exp(b, 2);
                } else {
                    self.exp(fun, 2);
                    for arg in args {
                        self.out.push(' ');
                        self.exp(arg, 2);
                    }
                }
                self.close(prec > 1);
            }
            ExpKind::Attr(_, e) => self.exp(e, prec),
            _ => self.out.push_str("..."),
        }
    }
}

/// The spelling of a built-in binary operator.
fn operator(fun: &Exp) -> Option<&'static str> {
    match &fun.kind {
        ExpKind::Operator(op) => Some(op.spelling()),
        ExpKind::Intrinsic { fun: Intrinsic::Binary(op, _), .. } => Some(match op {
            BinOp::Add | BinOp::FAdd => "+",
            BinOp::Sub | BinOp::FSub => "-",
            BinOp::Mul | BinOp::FMul => "*",
            BinOp::SDiv | BinOp::UDiv | BinOp::FDiv => "/",
            BinOp::SMod | BinOp::UMod | BinOp::FMod => "%",
            BinOp::SQuot => "//",
            BinOp::SRem => "%%",
            BinOp::Shl => "<<",
            BinOp::LShr => ">>>",
            BinOp::AShr => ">>",
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Xor => "^",
            BinOp::Pow => "**",
            BinOp::SMin | BinOp::UMin | BinOp::SMax | BinOp::UMax | BinOp::FMin | BinOp::FMax => {
                return None;
            }
        }),
        _ => None,
    }
}

impl OverloadedOp {
    /// The spelling in source text.
    pub(crate) const fn spelling(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub | Self::Neg => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::Quot => "//",
            Self::Rem => "%%",
            Self::Pow => "**",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::LShr => ">>>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Not => "!",
        }
    }
}
