//! Shrinks a failing program by making its choices fewer and smaller.

/// The smallest sequence found that is still `bad`, in at most `tries` attempts.
pub fn shrink(choices: Vec<u64>, tries: usize, mut bad: impl FnMut(&[u64]) -> bool) -> Vec<u64> {
    let mut best = choices;
    let mut left = tries;
    let mut attempt = |candidate: Vec<u64>, best: &mut Vec<u64>| {
        if left == 0 || candidate == *best {
            return false;
        }
        left -= 1;
        let better = bad(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let before = best.clone();
        // Removes ranges, long ones first.
        let mut length = best.len() / 2;
        while length > 0 {
            let mut at = 0;
            while at < best.len() {
                let mut candidate = best.clone();
                let end = (at + length).min(candidate.len());
                candidate.drain(at..end);
                if !attempt(candidate, &mut best) {
                    at += length;
                }
            }
            length /= 2;
        }
        // Sets ranges to 0.
        for length in [32, 8, 2, 1] {
            let mut at = 0;
            while at < best.len() {
                let mut candidate = best.clone();
                let end = (at + length).min(candidate.len());
                candidate[at..end].fill(0);
                attempt(candidate, &mut best);
                at += length;
            }
        }
        // Halves numbers.
        for at in 0..best.len() {
            while best.get(at).is_some_and(|&choice| choice > 1) {
                let mut candidate = best.clone();
                candidate[at] /= 2;
                if !attempt(candidate, &mut best) {
                    break;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn shrinks_to_the_smallest_failing_sequence() {
        let choices = vec![5, 9, 100, 3, 40, 7, 7, 7];
        let small = shrink(choices, 1000, |choices| choices.iter().any(|&c| c >= 50));
        assert_eq!(small, [50]);
    }
}
