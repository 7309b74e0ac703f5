//! The level of second-order array combinators.
//!
//! One fused form, [`Screma`]: `map`, `reduce`, `scan`, `redomap` and
//! `scanomap` are its special cases, printed by those names. An input or result
//! of accumulator type is passed to (taken from) every iteration as it is: it
//! has no outer dimension.

use crate::folds::Folds;
use crate::name::{Name, NameTable};
use crate::syntax::{Atom, Lambda, Level};
use crate::types::{Dim, Shape, Type};
use crate::walk::{Substitution, refresh_lambda};

/// The level whose operations are second-order array combinators.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Soacs;

impl Level for Soacs {
    type Op = Soac;
    type Ann = ();
    const NAME: &'static str = "soacs";
}

/// A scan or reduction operator: `op` takes `2k` parameters and gives `k`
/// results for the `k` neutral elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Operator<L: Level> {
    /// The associative operator.
    pub op: Lambda<L>,
    /// Its neutral elements.
    pub neutral: Vec<Atom>,
    /// Whether the operator commutes.
    pub comm: bool,
}

impl<L: Level> Operator<L> {
    /// Whether it works on scalars alone; others run one after the other.
    pub fn is_scalar(&self) -> bool {
        self.op.ret.iter().all(Type::is_prim)
    }

    /// A copy whose lambda binds fresh names.
    #[must_use]
    pub fn refreshed(&self, names: &mut NameTable) -> Self {
        Self {
            op: refresh_lambda(&self.op, names, &mut Substitution::default()),
            neutral: self.neutral.clone(),
            comm: self.comm,
        }
    }
}

/// A combinator that scans, reduces and maps in one pass: `map` is applied to each
/// row of the inputs, and the folds say what becomes of its results.
#[derive(Clone, PartialEq, Debug)]
pub struct Screma {
    /// Size of the outer dimension.
    pub width: Dim,
    /// Arrays of that outer size, or accumulators.
    pub inputs: Vec<Name>,
    /// What is done for one index.
    pub map: Lambda<Soacs>,
    /// What is done with what it gives.
    pub folds: Folds<Soacs>,
}

impl Screma {
    /// A map.
    pub fn map(width: Dim, inputs: Vec<Name>, map: Lambda<Soacs>) -> Self {
        Self { width, inputs, map, folds: Folds::default() }
    }

    /// The input behind each of the map's results that is an element of one.
    pub fn given(&self) -> impl Iterator<Item = Option<Name>> + '_ {
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
    /// The arrays that are updated; consumed. Outer dimensions are `shape`.
    pub dests: Vec<Name>,
    /// How values meet; its operator always commutes.
    pub op: Operator<L>,
}

/// An array group that a `withacc` turns into an accumulator.
#[derive(Clone, PartialEq, Debug)]
pub struct AccInput<L: Level> {
    /// Index space: the leading dimensions of each array.
    pub shape: Shape,
    /// The arrays; consumed.
    pub arrays: Vec<Name>,
    /// How values meet; without one they are written (scatter).
    pub op: Option<Operator<L>>,
}

/// A second-order array combinator.
#[derive(Clone, PartialEq, Debug)]
pub enum Soac {
    /// Scan, reduce and map in one pass.
    Screma(Screma),
    /// Generalised histograms. `map` yields for each histogram its indices (one
    /// per dimension of its shape), then for each histogram its values.
    /// Out-of-bounds indices are ignored. Results: the updated arrays.
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
    /// Arrays as accumulators in the lambda. Its parameters: the tokens (type
    /// `cert`), then the accumulators; its results: the accumulators, then
    /// anything. Results: the arrays, then the rest.
    WithAcc {
        /// The arrays.
        inputs: Vec<AccInput<Soacs>>,
        /// What is done with them.
        lambda: Lambda<Soacs>,
    },
    /// A sequential fold over chunks: the lambda takes a chunk size, the
    /// accumulators and chunks of the inputs; it gives new accumulators and
    /// chunks of the mapped results.
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
    /// A map whose iterations give arrays of different sizes, concatenated: the
    /// lambda's first result is the size, `?0` in its other results. Those that have
    /// this size are concatenated, the rest is mapped. Results: the sum of the sizes,
    /// then arrays in the order of the lambda's results.
    FlatMap {
        /// Size of the outer dimension.
        width: Dim,
        /// Arrays of that outer size.
        inputs: Vec<Name>,
        /// The function.
        lambda: Lambda<Soacs>,
    },
    /// Forward derivative of the lambda at `args` in direction `tangents`.
    Jvp {
        /// The function.
        lambda: Lambda<Soacs>,
        /// Where.
        args: Vec<Atom>,
        /// Direction.
        tangents: Vec<Atom>,
    },
    /// Reverse derivative of the lambda at `args` with result adjoints.
    Vjp {
        /// The function.
        lambda: Lambda<Soacs>,
        /// Where.
        args: Vec<Atom>,
        /// Adjoints of the results.
        adjoints: Vec<Atom>,
    },
}
