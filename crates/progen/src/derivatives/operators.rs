//! Associative operators with their neutral elements.

use super::Gen;
use super::types::{Size, Ty};

/// An operator of a reduction, scan or histogram.
pub(super) struct Operator {
    pub text: String,
    pub neutral: String,
    /// The magnitude of operands that keeps results of some dozen operations representable; `None`
    /// where any small operands do.
    pub scale: Option<f64>,
}

/// Components of operators on tuples of floats `T`: parameters, results, neutral elements, scale, and
/// whether it commutes.
type OnTuple = (&'static str, &'static str, &'static str, f64, bool);

/// Operators on pairs.
const PAIRS: [OnTuple; 6] = [
    // The composition of linear functions.
    ("P0: T, P1: T) (Q0: T, Q1: T", "P0 * Q0, P1 * Q0 + Q1", "1, 0", 1.0, false),
    // The product of complex numbers.
    ("P0: T, P1: T) (Q0: T, Q1: T", "P0 * Q0 - P1 * Q1, P0 * Q1 + P1 * Q0", "1, 0", 0.7, true),
    // The product of dual numbers.
    ("P0: T, P1: T) (Q0: T, Q1: T", "P0 * Q1 + P1 * Q0, P1 * Q1", "0, 1", 1.0, true),
    ("P0: T, P1: T) (Q0: T, Q1: T", "P0 + Q0, P1 * Q1", "0, 1", 1.1, true),
    ("P0: T, P1: T) (Q0: T, Q1: T", "P0 + Q0, T.max P1 Q1", "0, -9", 4.0, true),
    ("P0: T, P1: T) (Q0: T, Q1: T", "T.min P0 Q0, P1 + Q1", "9, 0", 4.0, true),
];

/// The product of 2x2 matrices.
const MATRICES: OnTuple = (
    "P0: T, P1: T, P2: T, P3: T) (Q0: T, Q1: T, Q2: T, Q3: T",
    "P0 * Q0 + P1 * Q2, P0 * Q1 + P1 * Q3, P2 * Q0 + P3 * Q2, P2 * Q1 + P3 * Q3",
    "1, 0, 0, 1",
    0.6,
    false,
);

/// The type of operands of [`MATRICES`].
pub(super) fn matrix() -> Ty {
    Ty::Tuple(vec![Ty::Float; 4])
}

impl Gen<'_> {
    /// An operator on values of a type, if there is one.
    pub(super) fn operator(&mut self, ty: &Ty, commutative: bool) -> Option<Operator> {
        match ty {
            Ty::Float => Some(self.scalar_operator()),
            Ty::Tuple(parts) if parts.iter().all(|part| *part == Ty::Float) => match parts.len() {
                2 => {
                    let known: Vec<OnTuple> =
                        PAIRS.into_iter().filter(|(.., commutes)| *commutes || !commutative).collect();
                    let chosen = self.c.pick(&known).copied()?;
                    Some(self.on_tuple(chosen))
                }
                4 if !commutative => Some(self.on_tuple(MATRICES)),
                _ => None,
            },
            Ty::Tuple(parts) if parts[..] == [Ty::Float, Ty::Int] => Some(self.first_extreme()),
            Ty::Array(size, row) => self.vectorised(size, row, commutative),
            Ty::Int | Ty::Bool | Ty::Tuple(_) | Ty::Record(_) => None,
        }
    }

    fn scalar_operator(&mut self) -> Operator {
        let f = self.float;
        let (text, neutral, scale) = match self.c.below(8) {
            0..=2 => ("(+)".to_owned(), "0".to_owned(), None),
            3 => ("(*)".to_owned(), "1".to_owned(), Some(1.1)),
            kind @ (4 | 5) => {
                self.smooth = false;
                let (fun, neutral) = [("min", "9"), ("max", "(-9)")][kind - 4];
                (format!("{f}.{fun}"), neutral.to_owned(), None)
            }
            6 => {
                let [a, b] = [self.fresh("p"), self.fresh("q")];
                (format!("(\\({a}: {f}) ({b}: {f}) -> {a} + {b} + {a} * {b})"), "0".to_owned(), Some(0.2))
            }
            _ => {
                let [a, b] = [self.fresh("p"), self.fresh("q")];
                // The addition of hyperbolic tangents.
                let sum = format!("({a} + {b}) / (1 + {a} * {b})");
                (format!("(\\({a}: {f}) ({b}: {f}) -> {sum})"), "0".to_owned(), Some(0.7))
            }
        };
        let exact = text.ends_with("min") || text.ends_with("max");
        self.exact &= exact;
        let neutral = if let Some(x) = neutral.strip_prefix("(-") {
            format!("(-{}{f})", x.trim_end_matches(')'))
        } else {
            format!("{neutral}{f}")
        };
        Operator { text, neutral, scale }
    }

    fn on_tuple(&mut self, (params, results, neutral, scale, _): OnTuple) -> Operator {
        self.exact = false;
        self.smooth &= !(results.contains("min") || results.contains("max"));
        let (p, q) = (self.fresh("p"), self.fresh("q"));
        // Component by component, so that names differ.
        let named = |text: &str| text.replace('P', &format!("{p}_")).replace('Q', &format!("{q}_"));
        let text = format!("(\\({}) -> ({}))", named(params), named(results)).replace('T', self.float);
        Operator { text, neutral: format!("({neutral})"), scale: (scale < 4.0).then_some(scale) }
    }

    /// The extreme with its index, the first among equals.
    fn first_extreme(&mut self) -> Operator {
        self.smooth = false;
        let [a, i, b, j] = ["p", "i", "q", "j"].map(|start| self.fresh(start));
        let (op, neutral) = [(">", "-9"), ("<", "9")][self.c.below(2)];
        let f = self.float;
        let first = format!("{a} {op} {b} || ({a} == {b} && {i} < {j})");
        Operator {
            text: format!(
                "(\\({a}: {f}, {i}: i64) ({b}: {f}, {j}: i64) -> if {first} then ({a}, {i}) else ({b}, {j}))"
            ),
            neutral: format!("({neutral}, i64.highest)"),
            scale: None,
        }
    }

    /// An operator on rows, element by element.
    fn vectorised(&mut self, size: &Size, row: &Ty, commutative: bool) -> Option<Operator> {
        let Operator { text, neutral, scale } = self.operator(row, commutative)?;
        let neutral = format!("(replicate {} {neutral})", size.text());
        Some(Operator { text: format!("(map2 {text})"), neutral, scale })
    }
}
