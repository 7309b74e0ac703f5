//! The level of second-order array combinators.
//!
//! All fused forms are one combinator, [`Screma`]: `map`, `reduce`, `scan`, `redomap` and
//! `scanomap` are its special cases, printed by those names. Inputs and results of accumulator type
//! have no outer dimension: they are passed to and returned by every iteration as a whole.

use crate::name::{Name, NameTable};
use crate::scan_reduce::ScanReduce;
use crate::syntax::{Atom, BasicOp, Exp, Lambda, Level, Stm};
use crate::types::{Dim, Shape, Type};
use crate::walk::{Substitution, refresh_lambda};
use prim::{BinOp, ScalarOp};

/// The level whose operations are second-order array combinators.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Soacs;

impl Level for Soacs {
    type Op = Soac;
    type Ann = ();
}

/// A scan or reduction operator: for `k` neutral elements, `op` has `2k` parameters and `k`
/// results.
#[derive(Clone, PartialEq, Debug)]
pub struct Operator<L: Level> {
    /// The associative operator.
    pub op: Lambda<L>,
    /// Its neutral elements.
    pub neutral: Vec<Atom>,
    /// True if the operator commutes.
    pub comm: bool,
}

impl<L: Level> Operator<L> {
    /// Returns true if it adds `i64` operands, one by one, from 0 on.
    pub fn adds(&self) -> bool {
        let op = &self.op;
        let n = op.ret.len();
        let sum = |at: usize| {
            let operands = [at, at + n].map(|at| op.params.get(at).map(|param| Atom::Var(param.name)));
            let result = op.body.result.get(at).and_then(|result| result.var());
            let defines =
                |stm: &&Stm<L>| result.is_some_and(|result| stm.pat.iter().any(|param| param.name == result));
            match op.body.stms.iter().find(defines).map(|stm| &stm.exp) {
                Some(Exp::Basic(BasicOp::Scalar(ScalarOp::Binary(BinOp::Add, _, x, y)))) => {
                    operands == [Some(*x), Some(*y)] || operands == [Some(*y), Some(*x)]
                }
                _ => false,
            }
        };
        let zero = |neutral: &Atom| *neutral == Atom::i64(0);
        op.ret.iter().all(|ty| *ty == Type::I64) && self.neutral.iter().all(zero) && (0..n).all(sum)
    }

    /// Returns true if it works on scalars only. Other operators are applied sequentially.
    pub fn is_scalar(&self) -> bool {
        self.op.ret.iter().all(Type::is_prim)
    }

    /// Returns a copy whose lambda binds fresh names.
    #[must_use]
    pub fn refreshed(&self, names: &mut NameTable) -> Self {
        Self {
            op: refresh_lambda(&self.op, names, &mut Substitution::default()),
            neutral: self.neutral.clone(),
            comm: self.comm,
        }
    }
}

/// A combinator that scans, reduces and maps in one pass: `map` is applied to each row of the
/// inputs; `scan_reduce` scans and reduces some of its results.
#[derive(Clone, PartialEq, Debug)]
pub struct Screma {
    /// Size of the outer dimension.
    pub width: Dim,
    /// Arrays of that outer size, or accumulators.
    pub inputs: Vec<Name>,
    /// The function of one row of each input.
    pub map: Lambda<Soacs>,
    /// Scans and reductions of the function's results.
    pub scan_reduce: ScanReduce<Soacs>,
}

impl Screma {
    /// A map without scans and reductions.
    pub fn map(width: Dim, inputs: Vec<Name>, map: Lambda<Soacs>) -> Self {
        Self { width, inputs, map, scan_reduce: ScanReduce::default() }
    }

    /// Its name in IR text, by the parts that it has.
    pub fn keyword(&self) -> &'static str {
        let Self { map, scan_reduce, .. } = self;
        let plain = map.is_identity() && scan_reduce.n_accumulated() == map.ret.len();
        match (scan_reduce.scans.is_empty(), scan_reduce.reduces.is_empty(), scan_reduce.post.is_none()) {
            (true, true, true) => "map",
            (true, false, true) if plain => "reduce",
            (true, false, true) => "redomap",
            (false, true, true) if plain => "scan",
            (false, true, true) => "scanomap",
            _ => "screma",
        }
    }

    /// For each result of the map function, the input of which it is the element, if it is one.
    pub fn forwarded_inputs(&self) -> impl Iterator<Item = Option<Name>> + '_ {
        self.map.body.result.iter().map(|atom| {
            let name = atom.var()?;
            let at = self.map.params.iter().position(|p| p.name == name)?;
            self.inputs.get(at).copied()
        })
    }
}

/// One histogram of a [`Soac::Hist`].
#[derive(Clone, PartialEq, Debug)]
pub struct HistOp<L: Level> {
    /// Shape of the index space (usually one dimension).
    pub shape: Shape,
    /// The updated arrays; consumed. Their outer dimensions are `shape`.
    pub destinations: Vec<Name>,
    /// Combines values with bins; always commutative.
    pub op: Operator<L>,
}

/// A group of arrays that `withacc` turns into an accumulator.
#[derive(Clone, PartialEq, Debug)]
pub struct AccInput<L: Level> {
    /// Index space: the leading dimensions of each array.
    pub shape: Shape,
    /// The arrays; consumed.
    pub arrays: Vec<Name>,
    /// Combines values with elements; without an operator, values are written (scatter).
    pub op: Option<Operator<L>>,
}

/// A second-order array combinator.
#[derive(Clone, PartialEq, Debug)]
pub enum Soac {
    /// Scan, reduce and map in one pass.
    Screma(Screma),
    /// Generalised histograms. `map` returns the indices of each histogram (one per dimension of
    /// its shape), then the values of each. Out-of-bounds indices are ignored. Results: the updated
    /// arrays.
    Hist {
        /// Size of the outer dimension of the inputs.
        width: Dim,
        /// Inputs.
        inputs: Vec<Name>,
        /// Bucket function.
        map: Lambda<Soacs>,
        /// The histograms.
        ops: Vec<HistOp<Soacs>>,
    },
    /// Arrays as accumulators in the lambda. Its parameters: the tokens (type `cert`), then the
    /// accumulators; its results: the accumulators, then any others. Results: the arrays, then the
    /// others.
    WithAcc {
        /// The arrays.
        inputs: Vec<AccInput<Soacs>>,
        /// The function of the accumulators.
        lambda: Lambda<Soacs>,
    },
    /// A sequential fold over chunks: the lambda takes a chunk size, the accumulators and chunks of
    /// the inputs; it returns new accumulators and chunks of the mapped results.
    Stream {
        /// Size of the outer dimension.
        width: Dim,
        /// Arrays of that outer size.
        inputs: Vec<Name>,
        /// Initial accumulators.
        init: Vec<Atom>,
        /// The fold.
        lambda: Lambda<Soacs>,
    },
    /// A map whose iterations return arrays of different sizes, which are concatenated. The
    /// lambda's first result is the size, `?0` in the types of its other results. Results of that
    /// size are concatenated, the others mapped. Results: the sum of the sizes, then arrays in the
    /// order of the lambda's results.
    FlatMap {
        /// Size of the outer dimension.
        width: Dim,
        /// Arrays of that outer size.
        inputs: Vec<Name>,
        /// The function.
        lambda: Lambda<Soacs>,
    },
    /// Forward derivative: the lambda's results at `args`, then their tangents.
    Jvp {
        /// The point of differentiation.
        args: Vec<Atom>,
        /// Tangents of the arguments, of their types.
        seeds: Vec<Atom>,
        /// The number of directions, if there are several: then each seed and each tangent of a
        /// result is an array of this size.
        directions: Option<Dim>,
        /// The function.
        lambda: Lambda<Soacs>,
    },
    /// Reverse derivative: the lambda's results at `args`, then the adjoints of `args`.
    Vjp {
        /// The point of differentiation.
        args: Vec<Atom>,
        /// Adjoints of the results, of their types.
        seeds: Vec<Atom>,
        /// As for [`Self::Jvp`].
        directions: Option<Dim>,
        /// The function.
        lambda: Lambda<Soacs>,
    },
    /// A function with its reverse derivative: the results of `lambda` at `args`. Names that `lambda`
    /// uses from around it have no derivative.
    WithVjp {
        /// The arguments.
        args: Vec<Atom>,
        /// The function.
        lambda: Lambda<Soacs>,
        /// From the function's results and their adjoints to the adjoints of the arguments.
        adjoint: Lambda<Soacs>,
    },
}

/// The pattern for derivatives and functions with derivatives, which the pass `ad` removes.
#[macro_export]
macro_rules! derivative_op {
    () => {
        $crate::soac::Soac::Jvp { .. } | $crate::soac::Soac::Vjp { .. } | $crate::soac::Soac::WithVjp { .. }
    };
}
