//! The core IR: A-normal form over arrays, at three levels.
//!
//! A program is a list of functions; a function has a body; a body is a list of statements followed
//! by results. A statement binds a pattern to an expression. The constructs that all levels share
//! ([`syntax`]) are defined once and take the level as their one parameter ([`Level`]):
//!
//! | level | operations | annotation of a bound name |
//! |---|---|---|
//! | [`Soacs`] | second-order array combinators ([`soac`]) | none |
//! | [`Segs`] | segmented operations at hardware levels ([`seg`]) | none |
//! | [`Mems`] | the same, and allocation ([`mem`]) | block and index function |
//!
//! Arrays are values; their types carry exact shapes. Names are small integers, unique and dense
//! within a function, so that facts about them are kept in side tables. [`syntax`] has the
//! telescope rule by which later results mention earlier ones.

#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod accumulators;
mod aliasing;
pub mod attrs;
pub mod basic;
pub mod build;
pub mod error;
pub mod eval;
pub mod facts;
pub mod forest;
pub mod fuel;
mod functions;
pub mod kernels;
pub mod math;
pub mod mem;
pub mod metrics;
pub mod name;
pub mod operator_map;
pub mod pass;
pub mod poly;
pub mod prov;
pub mod remark;
pub mod scan_reduce;
pub mod seg;
pub mod sequential;
pub mod soac;
pub mod syntax;
pub mod text;
pub mod tunable;
pub mod types;
pub mod typing;
pub mod verify;
pub mod version;
pub mod walk;

pub use build::Builder;
pub use error::PassError;
pub use facts::{FactFlag, Facts};
pub use fuel::Fuel;
pub use math::{MathDefinition, MathDefinitions};
pub use mem::Mems;
pub use name::{FunId, FunName, Name, NameTable};
pub use pass::{Context, Flatten, Options, VectorLanes};
pub use prov::{Prov, ProvTable, SrcLoc};
pub use remark::Remark;
pub use scan_reduce::ScanReduce;
pub use seg::Segs;
pub use soac::Soacs;
pub use syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Lambda, Level, LoopForm, Param, Program, Stm};
pub use target::levels::Stack;
pub use tunable::{Settings, Tunable, TunableId};
pub use types::{Dim, Shape, Type};
pub use typing::TypeEnv;
