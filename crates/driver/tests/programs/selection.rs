//! The selection of checks and of passes to evaluate after, from environment variables.

use crate::checks::{CHECKS, Check, Tier};
use driver::PassInfo;
use std::sync::OnceLock;

/// The selected checks and passes.
pub struct Selection {
    tier: Tier,
    names: Option<Vec<String>>,
    changed: Vec<String>,
    /// True if no outcome of an earlier run is used.
    pub no_cache: bool,
}

/// The comma-separated parts of a variable's value; `None` if it is unset or empty.
fn parts(variable: &str) -> Option<Vec<String>> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty())?;
    Some(value.split(',').map(str::to_owned).collect())
}

impl Selection {
    /// The selection of this process.
    ///
    /// # Panics
    ///
    /// If a variable names an unknown tier or check.
    pub fn get() -> &'static Self {
        static SELECTION: OnceLock<Selection> = OnceLock::new();
        SELECTION.get_or_init(|| {
            let tier = match std::env::var("BINDRUNE_TESTS").as_deref() {
                Err(_) | Ok("" | "test") => Tier::Test,
                Ok("all") => Tier::All,
                Ok(other) => panic!("BINDRUNE_TESTS={other}: `test` or `all` is expected"),
            };
            let names = parts("BINDRUNE_CHECKS");
            for name in names.iter().flatten() {
                let known = CHECKS.iter().any(|check| check.name == name);
                assert!(known, "BINDRUNE_CHECKS: there is no check `{name}`");
            }
            Self {
                tier,
                names,
                changed: parts("BINDRUNE_CHANGED").unwrap_or_default(),
                no_cache: std::env::var_os("BINDRUNE_NO_CACHE").is_some_and(|value| value != "0"),
            }
        })
    }

    /// The tier of this run.
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// Returns true if all checks of the tier are selected.
    pub const fn is_whole(&self) -> bool {
        self.names.is_none()
    }

    /// The selected checks, in order. Checks selected by name are of any tier.
    pub fn checks(&self) -> impl Iterator<Item = &'static Check> {
        CHECKS.iter().filter(|check| match &self.names {
            Some(names) => names.iter().any(|name| name == check.name),
            None => check.tier <= self.tier,
        })
    }

    /// Returns true if code that only this crate determines is evaluated: in the tier `all`, and if
    /// the crate has changed.
    pub fn evaluates_code_of(&self, crate_name: &str) -> bool {
        self.tier == Tier::All || self.changed.iter().any(|name| name == crate_name)
    }

    /// Returns true if programs are evaluated after this pass, not only at the end of its level:
    /// in the tier `all`, and if the pass's crate has changed.
    pub fn evaluates_after(&self, pass: &PassInfo) -> bool {
        self.evaluates_code_of(pass.crate_name)
    }
}
