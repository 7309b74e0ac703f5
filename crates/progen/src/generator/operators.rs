//! Operators for reductions, scans and histograms: associative, with a neutral element.

use super::Gen;
use super::types::Ty;
use prim::ScalarType;

/// An operator as text.
pub(super) struct Operator {
    /// The function, as an argument.
    pub fun: String,
    /// The neutral element.
    pub neutral: String,
    /// True if it commutes.
    pub commutes: bool,
}

impl Gen<'_> {
    /// An operator on values of a type, if there is one.
    pub(super) fn operator(&mut self, ty: &Ty) -> Option<Operator> {
        match ty {
            Ty::Scalar(scalar) => Some(self.scalar_operator(*scalar)),
            Ty::Array(size, row) => {
                let inner = self.operator(row)?;
                Some(Operator {
                    fun: format!("(map2 {})", inner.fun),
                    neutral: format!("(replicate {} {})", size.text(), inner.neutral),
                    commutes: inner.commutes,
                })
            }
            Ty::Tuple(parts) => self.tuple_operator(parts),
            Ty::Record(fields) => {
                let mut commutes = true;
                let (mut results, mut neutrals) = (Vec::new(), Vec::new());
                for (name, ty) in fields {
                    let inner = self.operator(ty)?;
                    commutes &= inner.commutes;
                    results.push(format!("{name} = {} x.{name} y.{name}", inner.fun));
                    neutrals.push(format!("{name} = {}", inner.neutral));
                }
                let text = ty.text();
                Some(Operator {
                    fun: format!("(\\(x: {text}) (y: {text}) -> {{{}}})", results.join(", ")),
                    neutral: format!("{{{}}}", neutrals.join(", ")),
                    commutes,
                })
            }
            Ty::Sum(_) => None,
        }
    }

    /// An operator that commutes.
    pub(super) fn commuting(&mut self, ty: &Ty) -> Option<Operator> {
        for _ in 0..4 {
            let operator = self.operator(ty)?;
            if operator.commutes {
                return Some(operator);
            }
        }
        None
    }

    fn scalar_operator(&mut self, ty: ScalarType) -> Operator {
        let name = ty.name();
        let commuting = |fun: String, neutral: String| Operator { fun, neutral, commutes: true };
        let plain = |fun: &str, neutral: &str| commuting(fun.to_owned(), neutral.to_owned());
        if ty == ScalarType::Bool {
            return match self.c.below(4) {
                0 => plain("(&&)", "true"),
                1 => plain("(||)", "false"),
                2 => plain("(==)", "true"),
                _ => plain("(!=)", "false"),
            };
        }
        let extreme =
            |fun: &str, neutral: &str| commuting(format!("{name}.{fun}"), format!("{name}.{neutral}"));
        if ty.is_float() {
            return match self.c.below(4) {
                // Sums of many halves would not be exact.
                0 | 1 if ty != ScalarType::F16 => commuting("(+)".to_owned(), format!("0{name}")),
                0 | 2 => extreme("max", "lowest"),
                _ => extreme("min", "highest"),
            };
        }
        match self.c.below(9) {
            0 | 1 => commuting("(+)".to_owned(), format!("0{name}")),
            2 => commuting("(*)".to_owned(), format!("1{name}")),
            3 => commuting("(|)".to_owned(), format!("0{name}")),
            4 => commuting("(&)".to_owned(), format!("({name}.not 0)")),
            5 => commuting("(^)".to_owned(), format!("0{name}")),
            6 => extreme("max", "lowest"),
            7 => extreme("min", "highest"),
            // The last value that is not 0.
            _ => Operator {
                fun: format!("(\\(x: {name}) (y: {name}) -> if y == 0{name} then x else y)"),
                neutral: format!("0{name}"),
                commutes: false,
            },
        }
    }

    fn tuple_operator(&mut self, parts: &[Ty]) -> Option<Operator> {
        if let [Ty::Scalar(x), Ty::Scalar(y)] = parts
            && x == y
            && !x.is_float()
            && *x != ScalarType::Bool
            && self.c.once_in(2)
        {
            let name = x.name();
            // Composition of linear functions.
            return Some(Operator {
                fun: format!("(\\(a, b) (c: {name}, d: {name}) -> (a * c, b * c + d))"),
                neutral: format!("(1{name}, 0{name})"),
                commutes: false,
            });
        }
        if let [Ty::Scalar(x), Ty::Scalar(ScalarType::I64)] = parts
            && *x != ScalarType::Bool
            && !x.is_float()
            && self.c.once_in(2)
        {
            let name = x.name();
            // The minimum with its index.
            return Some(Operator {
                fun: format!(
                    "(\\(a: {name}, i: i64) (b: {name}, j: i64) -> \
                     if a < b || (a == b && i <= j) then (a, i) else (b, j))"
                ),
                neutral: format!("({name}.highest, i64.highest)"),
                commutes: true,
            });
        }
        let inner: Option<Vec<Operator>> = parts.iter().map(|ty| self.operator(ty)).collect();
        let inner = inner?;
        let names =
            |letter: &str| -> Vec<String> { (0..parts.len()).map(|at| format!("{letter}{at}")).collect() };
        let (xs, ys) = (names("a"), names("b"));
        let pattern = |names: &[String]| -> String {
            let typed: Vec<String> =
                names.iter().zip(parts).map(|(name, ty)| format!("{name}: {}", ty.text())).collect();
            typed.join(", ")
        };
        let results: Vec<String> =
            inner.iter().zip(xs.iter().zip(&ys)).map(|(op, (x, y))| format!("{} {x} {y}", op.fun)).collect();
        let neutrals: Vec<&str> = inner.iter().map(|op| op.neutral.as_str()).collect();
        Some(Operator {
            fun: format!("(\\({}) ({}) -> ({}))", pattern(&xs), pattern(&ys), results.join(", ")),
            neutral: format!("({})", neutrals.join(", ")),
            commutes: inner.iter().all(|op| op.commutes),
        })
    }
}
