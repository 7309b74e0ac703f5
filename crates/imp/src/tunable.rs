//! The tuning parameters of a program, in one numbering.
//!
//! The core IR has a table in each function ([`ir::tunable`]); this table has the parameters that
//! remain in comparisons, under their full names. The context holds the values.

pub use ir::tunable::Class as TunableClass;
use std::sync::Arc;

prim::dense_ids! {
    /// An index into [`Program::tunables`](crate::Program::tunables).
    pub struct TunableId;
}

/// A tuning parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tunable {
    /// Function, rule and ordinal: `main.inner_lanes_0`.
    pub name: Arc<str>,
    /// The kind of number.
    pub class: TunableClass,
    /// Its value unless another one is given.
    pub default: i64,
}
