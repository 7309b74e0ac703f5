//! Sizes: parameters of entry points, constants, and sizes derived from others; their values and
//! those of arrays in calls.

use super::scalars::literal;
use super::{Gen, Param};
use harness::random::Random;
use prim::ScalarType;
use std::collections::BTreeSet;

/// A size, by its number in the entry point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Dim(pub(super) usize);

/// The kinds of sizes.
#[derive(Clone, Debug)]
pub(super) enum SizeKind {
    /// Any size, long in some calls.
    Fold,
    /// Any size.
    Free,
    /// A size from 1 to 4: a kernel of a convolution.
    Window,
    /// A constant.
    Const(i64),
    /// The product of sizes, times a number, plus another size and a number.
    Derived { factors: Vec<Dim>, times: i64, plus: Option<Dim>, and: i64 },
}

/// A size of an entry point.
#[derive(Clone, Debug)]
pub(super) struct SizeVar {
    name: String,
    kind: SizeKind,
}

/// The values of a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values {
    /// From -3 to 3, or from 0 to 3 for types without a sign.
    Small,
    /// Indices of this dimension, and -1.
    Index(Dim),
}

/// Sizes at which loops, vectors and tiles change.
const BOUNDARIES: [usize; 10] = [4, 1, 0, 14, 16, 28, 32, 96, 8, 5];
/// The largest size that is usual.
const USUAL: usize = 40;

impl Gen<'_> {
    fn push_size(&mut self, kind: SizeKind) -> Dim {
        let name = if let SizeKind::Const(n) = kind { n.to_string() } else { self.fresh("n") };
        self.sizes.push(SizeVar { name, kind });
        Dim(self.sizes.len() - 1)
    }

    /// A new size; sometimes a constant.
    pub(super) fn size(&mut self) -> Dim {
        let kind = if self.c.once_in(8) { SizeKind::Const(self.any_size()) } else { SizeKind::Free };
        self.push_size(kind)
    }

    /// A new size of a fold, which is long in some calls; sometimes a constant.
    pub(super) fn fold_size(&mut self) -> Dim {
        let kind = if self.c.once_in(8) { SizeKind::Const(self.any_size()) } else { SizeKind::Fold };
        self.push_size(kind)
    }

    /// A new size of a convolution's kernel.
    pub(super) fn window(&mut self) -> Dim {
        let kind = if self.c.once_in(2) { SizeKind::Const(3) } else { SizeKind::Window };
        self.push_size(kind)
    }

    /// A size that depends on others: `size * times + and`.
    pub(super) fn scaled(&mut self, size: Dim, times: i64, and: i64) -> Dim {
        self.push_size(SizeKind::Derived { factors: vec![size], times, plus: None, and })
    }

    /// The size of what a window of a convolution is moved over: `(size - 1) * stride + window`.
    pub(super) fn padded(&mut self, size: Dim, stride: i64, window: Dim) -> Dim {
        let kind = SizeKind::Derived { factors: vec![size], times: stride, plus: Some(window), and: -stride };
        self.push_size(kind)
    }

    /// The product of sizes.
    pub(super) fn multiplied(&mut self, factors: &[Dim]) -> Dim {
        self.push_size(SizeKind::Derived { factors: factors.to_vec(), times: 1, plus: None, and: 0 })
    }

    /// A size as text.
    pub(super) fn dim(&self, dim: Dim) -> String {
        self.sizes[dim.0].name.clone()
    }

    /// A type as text.
    pub(super) fn type_text(&self, dims: &[Dim], ty: ScalarType) -> String {
        let dims: String = dims.iter().map(|dim| format!("[{}]", self.dim(*dim))).collect();
        format!("{dims}{}", ty.name())
    }

    /// The named sizes that parameters have.
    fn inferred(&self) -> BTreeSet<Dim> {
        let dims = self.params.iter().flat_map(|param| param.dims.iter().copied());
        dims.filter(|dim| !matches!(self.sizes[dim.0].kind, SizeKind::Const(_))).collect()
    }

    /// The names of the sizes that are inferred from arguments.
    pub(super) fn implicit_sizes(&self) -> Vec<String> {
        self.inferred().into_iter().map(|dim| self.dim(dim)).collect()
    }

    /// The sizes that are parameters.
    pub(super) fn explicit_sizes(&self) -> Vec<Dim> {
        let inferred = self.inferred();
        let named = |dim: &Dim| !matches!(self.sizes[dim.0].kind, SizeKind::Const(_));
        (0..self.sizes.len()).map(Dim).filter(|dim| named(dim) && !inferred.contains(dim)).collect()
    }

    /// A size from 0 to some dozen.
    fn any_size(&mut self) -> i64 {
        let n = match self.c.below(8) {
            0..=4 => 1 + self.c.below(USUAL),
            5 | 6 => self.c.pick(&BOUNDARIES).copied().unwrap_or(4),
            _ => (self.c.pick(&BOUNDARIES).copied().unwrap_or(4) + self.c.below(3)).saturating_sub(1),
        };
        n as i64
    }

    /// The values of all sizes in a call; no index space has more than `cap` points.
    pub(super) fn draw_sizes(&mut self, cap: i64) -> Vec<i64> {
        let mut values = Vec::new();
        for at in 0..self.sizes.len() {
            let value = match self.sizes[at].kind {
                SizeKind::Fold if self.c.once_in(8) => 300 + self.c.below(4700) as i64,
                SizeKind::Fold | SizeKind::Free => self.any_size(),
                SizeKind::Window => 1 + self.c.below(4) as i64,
                SizeKind::Const(n) => n,
                SizeKind::Derived { .. } => 0,
            };
            values.push(value);
        }
        while let Some(space) = self.work.iter().find(|space| volume(space, &values) > cap) {
            let free = space.iter().filter(|dim| self.is_bounded(**dim));
            // The longest that is not a long fold; that if the others are short.
            let key = |dim: &&Dim| if values[dim.0] >= 300 { 8 } else { values[dim.0] };
            let Some(longest) = free.max_by_key(key) else {
                break;
            };
            let at = longest.0;
            if values[at] <= 1 {
                break;
            }
            values[at] /= 2;
        }
        for at in 0..self.sizes.len() {
            if let SizeKind::Derived { factors, times, plus, and } = &self.sizes[at].kind {
                let product: i64 = factors.iter().map(|dim| values[dim.0]).product();
                let value = product * times + plus.map_or(0, |dim| values[dim.0]) + and;
                values[at] = value.max(0);
            }
        }
        values
    }

    /// Returns true if a call may choose the size.
    fn is_bounded(&self, dim: Dim) -> bool {
        matches!(self.sizes[dim.0].kind, SizeKind::Fold | SizeKind::Free)
    }
}

fn volume(space: &[Dim], values: &[i64]) -> i64 {
    space.iter().fold(1, |all, dim| all.saturating_mul(values[dim.0]))
}

/// Writes the value of a parameter.
pub(super) fn write_values(param: &Param, sizes: &[i64], seed: u64, text: &mut String) {
    let dims: Vec<i64> = param.dims.iter().map(|dim| sizes[dim.0]).collect();
    if dims.contains(&0) {
        let dims: String = dims.iter().map(|n| format!("[{n}]")).collect();
        text.push_str(&format!("empty({dims}{})", param.ty.name()));
        return;
    }
    let mut random = (seed > 0).then(|| Random::new(seed));
    let signed = param.ty.is_signed() || param.ty.is_float();
    let mut element = || {
        let mut below = |n: u64| random.as_mut().map_or(1.min(n - 1), |random| random.below(n));
        let n = match param.values {
            Values::Small if param.ty == ScalarType::Bool => below(2) as i64,
            Values::Small if signed => below(7) as i64 - if seed == 0 { 0 } else { 3 },
            Values::Small => below(4) as i64,
            Values::Index(dim) => below(sizes[dim.0] as u64 + 1) as i64 - 1,
        };
        literal(param.ty, n).trim_matches(['(', ')']).to_owned()
    };
    write_elements(&dims, &mut element, text);
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
