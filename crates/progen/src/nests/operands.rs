//! Operands: arrays that are parameters, views of these, or computed from them.

use super::Gen;
use super::scalars::{convert, literal};
use super::sizes::{Dim, Values};
use prim::ScalarType;

/// A matrix whose rows are vectors of a fold.
#[derive(Clone)]
pub(super) struct Matrix {
    pub(super) name: String,
    /// True if its first dimension is that of the fold.
    pub(super) by_depth: bool,
    pub(super) ty: ScalarType,
}

impl Matrix {
    /// The array of rows.
    pub(super) fn rows(&self) -> String {
        if self.by_depth { format!("(transpose {})", self.name) } else { self.name.clone() }
    }

    /// The row at an index, whose elements are read by indices.
    pub(super) fn row_at(&self, index: &str) -> Vector {
        let name = &self.name;
        if self.by_depth {
            return Vector {
                array: Some(format!("{name}[:, {index}]")),
                element: format!("{name}[@, {index}]"),
                ty: self.ty,
            };
        }
        Vector {
            array: Some(format!("{name}[{index}]")),
            element: format!("{name}[{index}, @]"),
            ty: self.ty,
        }
    }
}

/// A vector of a fold.
#[derive(Clone)]
pub(super) struct Vector {
    /// The vector as an array, if it is one.
    pub(super) array: Option<String>,
    /// The element at index `@`.
    pub(super) element: String,
    pub(super) ty: ScalarType,
}

impl Vector {
    /// The vector of a variable.
    pub(super) fn of(name: &str, ty: ScalarType) -> Self {
        Self { array: Some(name.to_owned()), element: format!("{name}[@]"), ty }
    }

    /// The element at an index.
    pub(super) fn at(&self, index: &str) -> String {
        self.element.replace('@', index)
    }
}

impl Gen<'_> {
    /// A matrix of rows of a fold of results of a type.
    pub(super) fn matrix(&mut self, rows: Dim, depth: Dim, result: ScalarType) -> Matrix {
        let by_depth = self.c.once_in(2);
        let ty = self.source_type(result);
        let dims = if by_depth { [depth, rows] } else { [rows, depth] };
        Matrix { name: self.array(&dims, ty), by_depth, ty }
    }

    /// The name of an array of small values.
    pub(super) fn array(&mut self, dims: &[Dim], ty: ScalarType) -> String {
        match self.c.below(8) {
            0..=3 => self.param(dims, ty, Values::Small),
            4 | 5 => {
                let view = self.view(dims, ty);
                self.bind(&view)
            }
            6 => {
                let from = self.source_type(ty);
                let view = if self.c.once_in(2) {
                    self.view(dims, from)
                } else {
                    self.param(dims, from, Values::Small)
                };
                let computed = self.computed(&view, dims, from, ty);
                self.bind(&computed)
            }
            _ => {
                let made = self.tabulated(dims, ty);
                self.bind(&made)
            }
        }
    }

    /// A view of a parameter.
    fn view(&mut self, dims: &[Dim], ty: ScalarType) -> String {
        let full = self.type_text(dims, ty);
        match self.c.below(8) {
            0 if dims.len() > 1 => {
                let mut swapped = dims.to_vec();
                swapped.swap(0, 1);
                format!("(transpose {})", self.param(&swapped, ty, Values::Small))
            }
            1 => self.sliced(dims, ty),
            2 => {
                let axis = self.axis(dims);
                let times = 2 + self.c.below(2) as i64;
                let mut larger = dims.to_vec();
                larger[axis] = self.scaled(dims[axis], times, 0);
                let x = self.param(&larger, ty, Values::Small);
                let from = self.c.below(2);
                let start = if from == 0 { String::new() } else { format!("{from}") };
                // An empty array has no element at 1.
                let range = if from == 0 {
                    format!("::{times}")
                } else {
                    self.odd_range(larger[axis], &start, times)
                };
                format!("({x}[{}] :> {full})", at_axis(axis, &range))
            }
            3 => format!("(reverse {})", self.param(dims, ty, Values::Small)),
            4 => {
                let axis = self.axis(dims);
                let x = self.param(dims, ty, Values::Small);
                format!("({x}[{}] :> {full})", at_axis(axis, "::-1"))
            }
            5 => {
                let by = match self.pick_text(&["1", "(-1)", "3", ""]) {
                    "" => self.param(&[], ScalarType::I64, Values::Small),
                    by => by.to_owned(),
                };
                let x = self.param(dims, ty, Values::Small);
                if dims.len() > 1 && self.c.once_in(2) {
                    return format!("(map (rotate {by}) {x})");
                }
                format!("(rotate {by} {x})")
            }
            6 if dims.len() > 1 => {
                let flat = self.multiplied(&dims[..2]);
                let rest = &dims[2..];
                let x = self.param(&[&[flat], rest].concat(), ty, Values::Small);
                let sizes = format!("[{} * {}]", self.dim(dims[0]), self.dim(dims[1]));
                format!("(unflatten ({x} :> {sizes}{}))", self.type_text(rest, ty))
            }
            _ if dims.len() > 1 => {
                let row = self.param(&dims[1..], ty, Values::Small);
                format!("(replicate {} {row})", self.dim(dims[0]))
            }
            _ => self.sliced(dims, ty),
        }
    }

    /// The range of the elements at odd indices.
    fn odd_range(&mut self, size: Dim, start: &str, step: i64) -> String {
        let size = self.dim(size);
        format!("i64.min {start} {size}:{size}:{step}")
    }

    fn axis(&mut self, dims: &[Dim]) -> usize {
        self.c.below(dims.len().min(2))
    }

    /// A part of a larger array.
    fn sliced(&mut self, dims: &[Dim], ty: ScalarType) -> String {
        let axis = self.axis(dims);
        let (before, after) = (self.c.below(3) as i64, self.c.below(3) as i64);
        let mut larger = dims.to_vec();
        larger[axis] = self.scaled(dims[axis], 1, before + after);
        let x = self.param(&larger, ty, Values::Small);
        let range = format!("{before}:{before} + {}", self.dim(dims[axis]));
        format!("({x}[{}] :> {})", at_axis(axis, &range), self.type_text(dims, ty))
    }

    /// An array computed from another one, element by element.
    fn computed(&mut self, x: &str, dims: &[Dim], from: ScalarType, ty: ScalarType) -> String {
        let v = self.fresh("e");
        let value = convert(&v, from, ty);
        if ty == ScalarType::Bool {
            return elementwise(x, dims.len(), &format!("\\{v} -> !{value}"));
        }
        if dims.len() > 1 && self.c.once_in(3) {
            let s = self.param(&dims[..1], ty, Values::Small);
            let [scale, row] = self.fresh_all(["s", "r"]);
            let function = format!("\\{v} -> {value} * {scale} + {}", literal(ty, 1));
            let inner = elementwise(&row, dims.len() - 1, &function);
            return format!("(map2 (\\{scale} {row} -> {inner}) {s} {x})");
        }
        let (times, plus) = (1 + self.c.below(3) as i64, self.c.below(5) as i64 - 2);
        let plus = if ty.is_unsigned() { plus.abs() } else { plus };
        elementwise(
            x,
            dims.len(),
            &format!("\\{v} -> {value} * {} + {}", literal(ty, times), literal(ty, plus)),
        )
    }

    /// An array of values computed from indices.
    fn tabulated(&mut self, dims: &[Dim], ty: ScalarType) -> String {
        let factors = [1 + self.c.below(5), 1 + self.c.below(7), 1 + self.c.below(3)];
        let modulus = 2 + self.c.below(5);
        let names: Vec<String> = dims.iter().map(|_| self.fresh("ix")).collect();
        let terms: Vec<String> =
            names.iter().zip(factors.iter().cycle()).map(|(i, factor)| format!("{i} * {factor}")).collect();
        let sum = format!("(({}) % {modulus})", terms.join(" + "));
        let value = convert(&sum, ScalarType::I64, ty);
        self.nested(dims, &names, &value)
    }

    /// Nested `tabulate`s of a value that depends on indices with these names.
    pub(super) fn nested(&self, dims: &[Dim], names: &[String], value: &str) -> String {
        let sizes: Vec<String> = dims.iter().map(|dim| self.dim(*dim)).collect();
        let function = match dims.len() {
            1 => "tabulate",
            2 => "tabulate_2d",
            3 => "tabulate_3d",
            _ => {
                let inner = self.nested(&dims[1..], &names[1..], value);
                return format!("(tabulate {} (\\{} -> {inner}))", sizes[0], names[0]);
            }
        };
        format!("({function} {} (\\{} -> {value}))", sizes.join(" "), names.join(" "))
    }
}

/// A range in the index of an axis, 0 or 1.
fn at_axis(axis: usize, range: &str) -> String {
    if axis == 0 { range.to_owned() } else { format!(":, {range}") }
}

/// A function of each element of an array of this rank.
pub(super) fn elementwise(x: &str, rank: usize, function: &str) -> String {
    let nested = (1..rank).fold(format!("({function})"), |function, _| format!("(map {function})"));
    format!("(map {nested} {x})")
}
