//! Fuel: the number of rewrites that the optimiser may still make.
//!
//! Every rewrite that could be wrong takes one unit first, so that a miscompilation can be bisected
//! to a single rewrite.

/// A limited or unlimited number of rewrites.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fuel {
    /// Number of remaining rewrites; `None` if unlimited.
    pub left: Option<u64>,
    /// Number of rewrites made.
    pub spent: u64,
}

impl Fuel {
    /// Unlimited fuel.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Fuel for this number of rewrites.
    pub fn limited(units: u64) -> Self {
        Self { left: Some(units), spent: 0 }
    }

    /// Returns true if no further rewrites may be made.
    pub fn is_exhausted(&self) -> bool {
        self.left == Some(0)
    }

    /// Takes one unit; returns false if there is none, in which case the rewrite must not be made.
    #[must_use]
    pub fn take(&mut self) -> bool {
        match &mut self.left {
            Some(0) => return false,
            Some(left) => *left -= 1,
            None => {}
        }
        self.spent += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Fuel;

    #[test]
    fn runs_out() {
        let mut fuel = Fuel::limited(2);
        assert!(fuel.take() && fuel.take() && !fuel.take());
        assert_eq!(fuel, Fuel { left: Some(0), spent: 2 });
        assert!(Fuel::unlimited().take());
    }
}
