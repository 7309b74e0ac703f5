//! Expressions of integer and boolean types, and the expressions common to all scalars: elements,
//! reductions, conversions.

use super::Gen;
use super::types::{BOOL, I64, Size, Ty};
use prim::ScalarType;

/// The integer types.
pub(super) const INTS: [ScalarType; 8] = [
    ScalarType::I64,
    ScalarType::I32,
    ScalarType::I8,
    ScalarType::I16,
    ScalarType::U8,
    ScalarType::U16,
    ScalarType::U32,
    ScalarType::U64,
];

/// Wrapping integer operators that never fail.
const OPERATORS: [&str; 6] = ["+", "-", "*", "&", "|", "^"];
/// Operators whose right operand must not be 0.
const DIVISIONS: [&str; 4] = ["/", "%", "//", "%%"];
pub(super) const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

impl Gen<'_> {
    /// A random one of these texts.
    pub(super) fn pick_text(&mut self, words: &[&'static str]) -> &'static str {
        self.c.pick(words).copied().unwrap_or_default()
    }

    pub(super) fn literal(&mut self, ty: ScalarType) -> String {
        let name = ty.name();
        if ty == ScalarType::Bool {
            return self.pick_text(&["false", "true"]).to_owned();
        }
        if ty.is_float() {
            return self.float_literal(ty);
        }
        match self.c.below(40) {
            38 => format!("{name}.highest"),
            39 => format!("{name}.lowest"),
            37 => format!("{}{name}", 100 + self.c.below(28)),
            n if n > 24 && ty.is_signed() => format!("(-{}{name})", n - 24),
            n => format!("{}{name}", n % 25),
        }
    }

    /// An operation with a scalar result.
    pub(super) fn scalar(&mut self, ty: ScalarType, fuel: u32) -> String {
        match self.c.below(10) {
            0..=4 if ty == ScalarType::Bool => self.boolean(fuel),
            0..=4 if ty.is_float() => self.float(ty, fuel),
            0..=4 => self.int(ty, fuel),
            5 | 6 => self.element(&Ty::Scalar(ty), fuel),
            7 => self.reduced(&Ty::Scalar(ty), fuel),
            8 => self.converted(ty, fuel),
            _ => self.aggregate(ty, fuel),
        }
    }

    fn int(&mut self, ty: ScalarType, fuel: u32) -> String {
        let name = ty.name();
        let x = self.expr(&Ty::Scalar(ty), fuel);
        match self.c.below(16) {
            0..=6 => {
                let op = self.pick_text(&OPERATORS);
                let y = self.expr(&Ty::Scalar(ty), fuel);
                format!("({x} {op} {y})")
            }
            7 | 8 => {
                let op = self.pick_text(&DIVISIONS);
                let y = self.expr(&Ty::Scalar(ty), fuel);
                format!("({x} {op} ({y} | 1{name}))")
            }
            9 => {
                let op = self.pick_text(&["<<", ">>", ">>>"]);
                let y = self.expr(&Ty::Scalar(ty), fuel);
                // Sometimes by more than the width.
                if self.c.once_in(4) {
                    format!("({x} {op} ({y} & 63{name}))")
                } else {
                    format!("({x} {op} ({y} & 7{name}))")
                }
            }
            10 => {
                let op = self.pick_text(&["min", "max"]);
                let y = self.expr(&Ty::Scalar(ty), fuel);
                format!("({name}.{op} {x} {y})")
            }
            11 => {
                let op = self.pick_text(&["abs", "sgn", "neg", "not"]);
                format!("({name}.{op} {x})")
            }
            12 => format!("({x} ** ({} & 3{name}))", self.expr(&Ty::Scalar(ty), fuel)),
            13 => {
                let op = self.pick_text(&["popc", "clz", "ctz"]);
                format!("({name}.i32 ({name}.{op} {x}))")
            }
            14 => {
                let y = self.expr(&Ty::Scalar(ty), fuel);
                match self.c.below(3) {
                    0 => format!("({name}.mul_hi {x} {y})"),
                    1 => {
                        let z = self.leaf(&Ty::Scalar(ty));
                        format!("({name}.mad_hi {x} {y} {z})")
                    }
                    _ => {
                        let bit = self.c.below(8);
                        format!("({name}.set_bit {bit}i32 {x} ({name}.get_bit {bit}i32 {y}))")
                    }
                }
            }
            _ if ty.is_signed() => format!("(-{x})"),
            _ => format!("(!{x})"),
        }
    }

    /// A boolean expression.
    pub(super) fn boolean(&mut self, fuel: u32) -> String {
        match self.c.below(8) {
            0..=3 => {
                let ty = Ty::Scalar(self.scalar_type());
                let op = self.pick_text(&COMPARISONS);
                let (x, y) = (self.expr(&ty, fuel), self.expr(&ty, fuel));
                format!("({x} {op} {y})")
            }
            4 | 5 => {
                let op = self.pick_text(&["&&", "||"]);
                let (x, y) = (self.expr(&BOOL, fuel), self.expr(&BOOL, fuel));
                format!("({x} {op} {y})")
            }
            6 => format!("(!{})", self.expr(&BOOL, fuel)),
            _ => {
                let ty = self.ty(2);
                let (x, y) = (self.expr(&ty, fuel / 2), self.expr(&ty, fuel / 2));
                format!("(({x} : {}) {} {y})", ty.text(), self.pick_text(&["==", "!="]))
            }
        }
    }

    /// An element (or row) of an array, in bounds.
    pub(super) fn element(&mut self, ty: &Ty, fuel: u32) -> String {
        let known = self.candidates(|other| matches!(other, Ty::Array(_, row) if **row == *ty));
        let (array, size) = match self.c.pick(&known).cloned() {
            Some((array, Ty::Array(size, _))) => (array, size),
            _ => {
                let size = self.size();
                if !self.affordable_array(&size, ty) {
                    return self.leaf(ty);
                }
                let array = Ty::array(size.clone(), ty.clone());
                (self.expr(&array, fuel / 2), size)
            }
        };
        let default = self.leaf(ty);
        let (n, index) = (size.text(), self.expr(&I64, fuel / 2));
        let simple = array.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
        let array = if simple { array } else { format!("({array})") };
        match (&size, self.c.below(3)) {
            (Size::Const(0), _) => default,
            (Size::Const(n), 0 | 1) => format!("{array}[{index} % {n}]"),
            (_, 0 | 1) => format!("(if {n} == 0 then {default} else {array}[{index} % {n}])"),
            _ => {
                let i = self.fresh("ix");
                format!("(let {i} = {index} in if {i} >= 0 && {i} < {n} then {array}[{i}] else {default})")
            }
        }
    }

    /// A reduction to a value of this type.
    pub(super) fn reduced(&mut self, ty: &Ty, fuel: u32) -> String {
        let size = self.size();
        let Some(op) = self.operator(ty) else {
            return self.leaf(ty);
        };
        if !self.affordable_array(&size, ty) {
            return self.leaf(ty);
        }
        let array = self.expr(&Ty::array(size.clone(), ty.clone()), fuel);
        let form = self.c.below(8);
        let name = ty.scalar().map_or("", |ty| ty.name());
        let is_number = ty.scalar().is_some_and(|ty| ty != ScalarType::Bool);
        let text = match form {
            4 if op.commutes => format!("(reduce_comm {} {} {array})", op.fun, op.neutral),
            5 if is_number => {
                // Sums of many halves would not be exact.
                let fun = if ty.scalar() == Some(ScalarType::F16) {
                    self.pick_text(&["maximum", "minimum"])
                } else {
                    self.pick_text(&["sum", "maximum", "minimum"])
                };
                format!("({name}.{fun} {array})")
            }
            6 => format!("(foldl {} {} {array})", op.fun, op.neutral),
            7 => {
                let size = size.text();
                let scanned = format!("scan {} {} {array}", op.fun, op.neutral);
                format!("(if {size} == 0 then {} else last ({scanned}))", op.neutral)
            }
            _ => format!("(reduce {} {} {array})", op.fun, op.neutral),
        };
        self.small(ty, text)
    }

    /// A value of another type, converted.
    pub(super) fn converted(&mut self, ty: ScalarType, fuel: u32) -> String {
        let from = self.scalar_type();
        let x = self.expr(&Ty::Scalar(from), fuel);
        match ty {
            ScalarType::Bool => {
                let zero = if from == ScalarType::Bool { "false" } else { "0" };
                format!("({x} != {zero})")
            }
            ty if ty.is_float() => match from {
                ScalarType::Bool => format!("({}.bool {x})", ty.name()),
                from if from.is_float() => {
                    let text = format!("({}.{} {x})", ty.name(), from.name());
                    // A conversion to a narrower type.
                    if ty == ScalarType::F16 && from != ty { self.small(&Ty::Scalar(ty), text) } else { text }
                }
                from => super::floats::convert(&x, from, ty),
            },
            ty => format!("({}.{} {x})", ty.name(), from.name()),
        }
    }

    /// A property of a whole array.
    fn aggregate(&mut self, ty: ScalarType, fuel: u32) -> String {
        let size = self.size();
        let row = self.ty(1);
        if !self.affordable_array(&size, &row) {
            return self.leaf(&Ty::Scalar(ty));
        }
        match ty {
            ScalarType::Bool => {
                let array = Ty::array(size, row.clone());
                let fun = self.pick_text(&["all", "any"]);
                let predicate = self.lambda(&[row], &BOOL, fuel);
                format!("({fun} {predicate} {})", self.expr(&array, fuel))
            }
            ScalarType::I64 => {
                let (array, _) = self.existential(&row, fuel);
                format!("(length {array})")
            }
            ty => {
                let row = Ty::Scalar(ty);
                let (array, _) = self.existential(&row, fuel);
                let Some(op) = self.operator(&row) else {
                    return self.leaf(&row);
                };
                let text = format!("(reduce {} {} {array})", op.fun, op.neutral);
                self.small(&row, text)
            }
        }
    }
}
