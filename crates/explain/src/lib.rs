//! Optimisation remarks and tuning reports.
//!
//! [`RemarkCollector`] collects the decisions of a compilation; [`RemarkCollector::remarks`] turns
//! them into outcomes by source operation, as data ([`Remarks`]), which [`text`], [`json`] and
//! [`page`] (HTML) render. [`forest`] renders a program's versions, [`tuning`] the versions that a
//! tuning file selects. Nothing here reads files or writes to a terminal.

pub mod forest;
mod html;
mod json;
mod lines;
mod names;
mod remark;
mod remarks;
mod text;
pub mod tuning;

pub use html::page;
pub use json::json;
pub use remark::{Group, Rating, ShownRemark};
pub use remarks::{File, Filter, Function, Line, RemarkCollector, Remarks, Summary};
pub use text::text;
