//! The types of `f`, and arguments of entry points.

use super::Gen;
use super::types::{Size, Ty};
use harness::random::Random;

/// A parameter of a plain type.
#[derive(Clone)]
pub(super) struct Param {
    pub name: String,
    pub ty: Ty,
}

/// The sizes of arguments.
const SIZES: [i64; 10] = [3, 2, 1, 4, 5, 0, 7, 6, 3, 33];

impl Param {
    /// The parameters of `f` before its argument, of which those are kept that it uses.
    pub(super) fn all(n: &Size, m: &Size) -> Vec<Self> {
        let new = |name: &str, ty| Self { name: name.to_owned(), ty };
        vec![
            new("cs", Ty::floats(std::slice::from_ref(n))),
            new("ds", Ty::floats(std::slice::from_ref(m))),
            new("is", Ty::array(n, Ty::Int)),
            new("js", Ty::array(m, Ty::Int)),
            new("flag", Ty::Bool),
            new("c0", Ty::Float),
        ]
    }
}

impl Gen<'_> {
    /// The type of the argument of `f`.
    pub(super) fn argument(&mut self, n: &Size, m: &Size) -> Ty {
        let floats = |sizes: &[&Size]| {
            let sizes: Vec<Size> = sizes.iter().map(|size| (*size).clone()).collect();
            Ty::floats(&sizes)
        };
        let pair = || Ty::pair(Ty::Float, Ty::Float);
        match self.c.below(14) {
            0 | 1 => floats(&[n]),
            2 => Ty::Float,
            3 => pair(),
            4 => Ty::pair(floats(&[n]), Ty::Float),
            5 | 6 => floats(&[n, m]),
            7 => Ty::Record(vec![("a", Ty::Float), ("b", floats(&[n]))]),
            8 => Ty::array(n, pair()),
            9 => Ty::pair(floats(&[n]), floats(&[m])),
            10 => floats(&[n, m, &Size::Const(2)]),
            11 => Ty::Tuple(vec![floats(&[m]), Ty::Int, Ty::Bool, Ty::Float]),
            12 => Ty::Tuple(vec![Ty::Record(vec![("c", Ty::Float), ("d", floats(&[m, n]))]), floats(&[n])]),
            _ => floats(&[&Size::Const(3)]),
        }
    }

    /// The type of the result of `f`.
    pub(super) fn result(&mut self, n: &Size, m: &Size) -> Ty {
        let floats = |size: &Size| Ty::floats(std::slice::from_ref(size));
        match self.c.below(12) {
            0..=3 => Ty::Float,
            4 | 5 => floats(n),
            6 => Ty::pair(Ty::Float, Ty::Float),
            7 => Ty::pair(Ty::Float, floats(m)),
            8 => Ty::floats(&[n.clone(), m.clone()]),
            9 => Ty::Record(vec![("a", floats(n)), ("b", Ty::Float)]),
            10 => Ty::array(n, Ty::pair(Ty::Float, Ty::Float)),
            _ => Ty::Tuple(vec![Ty::Float, Ty::Int, floats(&Size::Const(2))]),
        }
    }

    /// Arguments of random sizes.
    pub(super) fn arguments(&mut self, params: &[Param]) -> String {
        let sizes = [SIZES[self.c.below(SIZES.len())], SIZES[self.c.below(SIZES.len() - 1)]];
        let mut text = String::new();
        for param in params {
            let seed = self.c.below(64) as u64;
            self.write(&param.ty, sizes, seed, &mut text);
            text.push('\n');
        }
        text
    }

    fn write(&self, ty: &Ty, sizes: [i64; 2], seed: u64, text: &mut String) {
        let (scalar, dims) = ty.plain();
        let dims: Vec<i64> = dims
            .iter()
            .map(|size| match size {
                Size::Const(n) => *n,
                Size::Var(name) => sizes[usize::from(&**name == "m")],
            })
            .collect();
        if dims.contains(&0) {
            let dims: String = dims.iter().map(|n| format!("[{n}]")).collect::<Vec<_>>().concat();
            text.push_str(&format!("empty({dims}{})", self.text(scalar)));
            return;
        }
        let mut random = Random::new(seed);
        let mut element = || match scalar {
            Ty::Bool => ["true", "false"][random.below(2) as usize].to_owned(),
            Ty::Int => format!("{}i64", random.below(7) as i64 - 1),
            // Some zeros; other magnitudes are rarely equal.
            Ty::Float | Ty::Array(..) | Ty::Tuple(_) | Ty::Record(_) => {
                if random.below(12) == 0 {
                    return format!("0.0{}", self.float);
                }
                let n = random.below(40_000) as i64 - 20_000;
                format!("{}{}", n as f64 / 10_000.0 + 0.000_03, self.float)
            }
        };
        write_elements(&dims, &mut element, text);
    }
}

fn write_elements(dims: &[i64], element: &mut impl FnMut() -> String, text: &mut String) {
    let Some((n, inner)) = dims.split_first() else {
        text.push_str(&element());
        return;
    };
    text.push('[');
    for at in 0..*n {
        if at > 0 {
            text.push_str(", ");
        }
        write_elements(inner, element, text);
    }
    text.push(']');
}
