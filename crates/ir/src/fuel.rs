//! Fuel: how many rewrites the optimiser may still make.
//!
//! Every rewrite that can be wrong takes one unit first, so that a wrong
//! result can be bisected to the one rewrite that made it.

/// A supply of rewrites, endless or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fuel {
    /// How many rewrites may still be made; `None` is without limit.
    pub left: Option<u64>,
    /// How many were made.
    pub spent: u64,
}

impl Fuel {
    /// Without limit.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// For this many rewrites.
    pub fn limited(units: u64) -> Self {
        Self { left: Some(units), spent: 0 }
    }

    /// Whether no rewrite may be made any more.
    pub fn is_gone(&self) -> bool {
        self.left == Some(0)
    }

    /// Takes one unit; false when there is none, and then the rewrite must not be made.
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
