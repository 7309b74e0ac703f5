//! Source attributes, as statements and functions carry them.

use smallvec::SmallVec;
use std::sync::Arc;

/// Source attributes: names such as `inline` or `sequential`, with arguments
/// kept in their written form.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attrs(pub SmallVec<[Arc<str>; 1]>);

impl Attrs {
    /// Asks for a full copy of a loop's body for each iteration.
    pub const UNROLL: &str = "unroll";
    /// Asks for a warning where a check remains.
    pub const WARN_CHECKS: &str = "warn(safety_checks)";

    /// Whether an attribute is there, in its written form.
    pub fn has(&self, attr: &str) -> bool {
        self.0.iter().any(|own| &**own == attr)
    }

    /// Adds an attribute unless it is there.
    pub fn add(&mut self, attr: &str) {
        if !self.has(attr) {
            self.0.push(Arc::from(attr));
        }
    }
}
