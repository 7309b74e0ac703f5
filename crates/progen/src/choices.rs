//! The choices that determine a program: a sequence of small numbers, drawn from a seed or given.
//! The same sequence makes the same program, so a program is shrunk by shrinking its sequence: 0 is
//! always the simplest choice, and past the end of a given sequence all choices are 0.

use harness::random::Random;

/// A source of choices, and the choices made.
pub struct Choices {
    random: Option<Random>,
    given: Vec<u64>,
    made: Vec<u64>,
}

impl Choices {
    /// Choices drawn from a seed.
    pub fn random(seed: u64) -> Self {
        Self { random: Some(Random::new(seed)), given: Vec::new(), made: Vec::new() }
    }

    /// Choices from a given sequence.
    pub fn replay(given: Vec<u64>) -> Self {
        Self { random: None, given, made: Vec::new() }
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n.max(1) as u64;
        let choice = match (self.given.get(self.made.len()), &mut self.random) {
            (Some(&choice), _) => choice.min(n - 1),
            (None, Some(random)) => random.below(n),
            (None, None) => 0,
        };
        self.made.push(choice);
        choice as usize
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        n > 0 && self.below(n) == n - 1
    }

    /// A random element; `None` if there is none.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        if things.is_empty() {
            return None;
        }
        let at = self.below(things.len());
        things.get(at)
    }

    /// The number of choices made so far.
    pub fn count(&self) -> usize {
        self.made.len()
    }

    /// The choices made so far.
    pub fn into_made(self) -> Vec<u64> {
        self.made
    }
}
