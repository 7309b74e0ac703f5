//! The work of parallel nests: operations, and the bytes that must at least be moved between memory
//! and processor, as polynomials in the sizes around a nest. Both bound its time from below (the
//! roofline model).
//!
//! ```text
//! segmap (i < n) { .. segmap (j < m) { loop for l < k { s + xs[i, l] * ys[l, j] } } }
//!
//! operations   2*n*m*k
//! bytes read   4*n*k + 4*k*m: an element counts once
//! written      4*n*m
//! ```
//!
//! Operations. An operation on scalars counts as much as an addition that takes the same time
//! ([`target::time`]), a fused multiply-add as two. Integers count up to 32 bits: wider ones are mostly
//! indices. Selections, conversions, checks and whatever computes positions do not count. Of a branch the
//! more expensive arm counts.
//!
//! Bytes. Of each memory block from outside of the nest, the distinct elements that the nest reads or
//! writes: at most all, and at most those of all values of the counters on which an index depends.
//! Arrays made within an iteration do not count.
//!
//! Loops with an unknown number of iterations, which depends on data, count as one iteration, and
//! arrays read in them as a whole. Numbers of iterations that are quotients by constants count as exact: the
//! remainder is mostly the number of iterations of another loop. Of a minimum of two numbers, that of the last
//! chunk of a range, the known one counts.

mod count;
mod walk;

pub use count::Count;

use crate::affine::{Values, Widths};
use ir::mem::{Block, Blocks, MemAnn, MemOp};
use ir::poly::Poly;
use ir::seg::{Seg, SegOp};
use ir::syntax::{Atom, BasicOp, Exp, Function, Lambda, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::Visit;
use ir::{Mems, Name};
use prim::{BinClass, BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// The largest number of quotients in a number of iterations.
const MAX_QUOTIENTS: usize = 4;

/// The work of one execution of a nest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Work {
    /// Operations.
    pub operations: Operations,
    /// Reads from memory, by block.
    pub read: Vec<Traffic>,
    /// Writes to memory, by block.
    pub written: Vec<Traffic>,
    /// How the number of operations depends on data.
    pub dependence: DataDependence,
}

/// How the operations of a nest depend on data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataDependence {
    /// True if loops of an unknown number of iterations count as one iteration: there may be more operations.
    pub loops: bool,
    /// True if the more expensive arm of a branch counts: there may be less operations.
    pub branches: bool,
}

impl Work {
    /// The names of sizes, in the order of their numbers.
    pub fn names(&self) -> Vec<Name> {
        let Self { operations: Operations { single, double, integer }, read, written, dependence: _ } = self;
        let traffic = read.iter().chain(written);
        let bytes = traffic.flat_map(|traffic| {
            std::iter::once(&traffic.all).chain(traffic.touched.as_ref().map(Count::poly))
        });
        let polys = [single, double, integer].map(Count::poly).into_iter().chain(bytes);
        let mut names: Vec<Name> = polys.flat_map(Poly::names).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The work with each size replaced by a polynomial.
    #[must_use]
    pub fn substituted(&self, value: impl Fn(Name) -> Poly) -> Self {
        let Self { operations: Operations { single, double, integer }, read, written, dependence } = self;
        let [single, double, integer] = [single, double, integer].map(|count| count.substituted(&value));
        let [read, written] = [read, written].map(|all| {
            let renamed = all.iter().map(|traffic| Traffic {
                all: traffic.all.substitute(&value),
                touched: traffic.touched.as_ref().map(|touched| touched.substituted(&value)),
            });
            renamed.collect()
        });
        Self { operations: Operations { single, double, integer }, read, written, dependence: *dependence }
    }
}

/// Numbers of operations by the type of the operands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Operations {
    /// On floats of up to 32 bits.
    pub single: Count,
    /// On floats of 64 bits.
    pub double: Count,
    /// On integers of up to 32 bits.
    pub integer: Count,
}

/// The bytes of a block that a nest reads, or writes: the lesser of two numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    /// The bytes of all elements.
    pub all: Poly,
    /// The bytes of the elements at all values of the counters on which indices depend; `None` if
    /// their number is unknown.
    pub touched: Option<Count>,
}

impl Traffic {
    /// The lesser of the numbers for large sizes; `None` if that depends on the sizes.
    pub fn least(&self) -> Option<Count> {
        let all = Count::from(self.all.clone());
        let Some(touched) = &self.touched else {
            return Some(all);
        };
        let lesser = is_lesser(touched, &all)?;
        Some(if lesser { touched.clone() } else { all })
    }
}

/// The context of the nests of a function.
pub struct Nests {
    values: Values,
    types: FxHashMap<Name, Type>,
    blocks: Blocks,
    /// The bytes of the largest array in each block from outside of nests.
    sizes: FxHashMap<Name, Poly>,
    /// The operators of accumulators, by token.
    operators: FxHashMap<Name, Lambda<Mems>>,
    /// Quotients of sizes by positive constants.
    quotients: FxHashMap<Name, (Poly, i64)>,
    /// Minima of two numbers.
    minima: FxHashMap<Name, [Atom; 2]>,
    /// True while the walk is in a nest.
    in_nest: bool,
}

impl Nests {
    /// The context of a function's nests.
    pub fn of(function: &Function<Mems>) -> Self {
        let mut nests = Self {
            values: Values::of_body(Widths::Exact, &function.body),
            types: FxHashMap::default(),
            blocks: Blocks::new(function),
            sizes: FxHashMap::default(),
            operators: FxHashMap::default(),
            quotients: FxHashMap::default(),
            minima: FxHashMap::default(),
            in_nest: false,
        };
        for param in &function.params {
            nests.param(&param.param);
        }
        nests.body(&function.body);
        nests
    }

    /// The work of a segop that is not part of another one.
    pub fn work(&self, pat: &[Param<Mems>], seg: &Seg<Mems>) -> Work {
        walk::work(self, pat, seg)
    }

    /// Records a quotient by a constant, or a minimum.
    fn define(&mut self, pat: &[Param<Mems>], op: &BasicOp) {
        let (BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)), [result]) = (op, pat) else {
            return;
        };
        if *op == BinOp::SMin {
            self.minima.insert(result.name, [*x, *y]);
        }
        let by = match (op.class(), y.constant().and_then(Scalar::as_i64)) {
            (BinClass::Quotient, Some(by)) => by,
            (BinClass::Shift, Some(by)) if *op == BinOp::LShr && by < 32 => 1 << by,
            _ => return,
        };
        if by > 0 {
            self.quotients.insert(result.name, (self.values.value(*x), by));
        }
    }

    /// A polynomial over sizes, of which none is a quotient.
    fn count(&self, poly: Poly) -> Count {
        let mut count = Count::from(self.values.resolved(poly));
        for _ in 0..MAX_QUOTIENTS {
            let mut names = count.poly().names();
            let Some((name, (size, by))) = names.find_map(|name| Some((name, self.quotients.get(&name)?)))
            else {
                break;
            };
            drop(names);
            match count.with_quotient(name, size, *by) {
                Some(substituted) => count = substituted,
                None => break,
            }
        }
        count
    }

    /// The work of an operation that copies or fills an array, and its name; `None` for others.
    pub fn copying(&self, pat: &Param<Mems>, op: &BasicOp) -> Option<(&'static str, Work)> {
        let (name, sources) = match op {
            BasicOp::Copy(array) => ("copy", vec![*array]),
            BasicOp::Manifest { array, .. } => ("manifest", vec![*array]),
            BasicOp::Concat { arrays, .. } => ("concat", arrays.clone()),
            BasicOp::ArrayLit { row, elems } if row.is_array() => {
                ("array", elems.iter().filter_map(|elem| elem.var()).collect())
            }
            BasicOp::Iota { .. } => ("iota", Vec::new()),
            BasicOp::Replicate { .. } => ("replicate", Vec::new()),
            BasicOp::Atom(_)
            | BasicOp::Scalar(_)
            | ir::parameter_op!()
            | BasicOp::Assert { .. }
            | BasicOp::Index { .. }
            | ir::update_op!()
            | ir::view_op!()
            | BasicOp::Scratch { .. }
            | BasicOp::ArrayLit { .. }
            | BasicOp::ConstArray { .. }
            | BasicOp::Opaque(_) => return None,
        };
        let traffic = |all| Traffic { all, touched: None };
        let read = sources.iter().filter_map(|array| Some(traffic(self.bytes(self.types.get(array)?))));
        let written = vec![traffic(self.bytes(&pat.ty))];
        Some((name, Work { read: read.collect(), written, ..Work::default() }))
    }

    /// The bytes of an array, or of the values at an index of an accumulator's index space.
    fn bytes(&self, ty: &Type) -> Poly {
        let all = |shape: &[Dim]| {
            let dims = shape.iter().map(|dim| self.values.resolved(Poly::dim(*dim)));
            dims.fold(Poly::constant(1), |all, dim| all.mul(&dim))
        };
        match ty {
            Type::Prim(elem) => Poly::constant(elem.size() as i64),
            Type::Array { elem, shape } => all(shape).mul(&Poly::constant(elem.size() as i64)),
            Type::Acc { elems, .. } => {
                elems.iter().fold(Poly::default(), |sum, elem| sum.add(&self.bytes(elem)))
            }
            Type::Cert | Type::Mem(_) => Poly::default(),
        }
    }
}

impl Visit<Mems> for Nests {
    fn param(&mut self, param: &Param<Mems>) {
        if let (false, MemAnn::In { block: Block::Var(block), lmad: _ }) = (self.in_nest, &param.ann) {
            let bytes = self.bytes(&param.ty);
            let known = self.sizes.entry(*block).or_insert_with(|| bytes.clone());
            if is_lesser(&Count::from(known.clone()), &Count::from(bytes.clone())) == Some(true) {
                *known = bytes;
            }
        }
        self.types.insert(param.name, param.ty.clone());
        self.walk_param(param);
    }

    fn stm(&mut self, stm: &Stm<Mems>) {
        let in_nest = self.in_nest;
        match &stm.exp {
            Exp::Op(MemOp::Seg(SegOp::Seg(_))) => self.in_nest = true,
            Exp::Op(MemOp::Seg(SegOp::WithAcc { inputs, lambda })) => {
                for (input, token) in inputs.iter().zip(&lambda.params) {
                    if let Some(operator) = &input.op {
                        self.operators.insert(token.name, operator.op.clone());
                    }
                }
            }
            Exp::Basic(op) => self.define(&stm.pat, op),
            Exp::If { .. } | Exp::Loop { .. } | Exp::Apply { .. } | Exp::Op(_) => {}
        }
        self.exp(&stm.exp);
        self.in_nest = in_nest;
        stm.pat.iter().for_each(|param| self.param(param));
    }
}

/// Returns true if the first count is less for large sizes, false if it is not; `None` if that depends on
/// the sizes.
fn is_lesser(x: &Count, y: &Count) -> Option<bool> {
    let difference = x.sub(y);
    let degree = difference.leading().0;
    let top = difference.poly().terms().iter().filter(|(monomial, _)| monomial.len() == degree);
    let mut signs = top.map(|(_, coefficient)| *coefficient < 0);
    let first = signs.next().unwrap_or(false);
    signs.all(|sign| sign == first).then_some(first)
}
