//! The order of iterations that may run in any order: shuffled, but the same for the same seed.

/// A generator of orders.
pub(super) struct Orders {
    state: u64,
}

/// A permutation of a range: steps of a length coprime to the number of elements, from any start.
/// It takes no memory.
pub(super) struct Order {
    first: i64,
    count: u64,
    step: u64,
    at: u64,
    left: u64,
}

impl Orders {
    /// The orders of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn random(&mut self) -> u64 {
        // The generator `splitmix64`.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A random number below `end`, 0 if that is 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.random()) * u128::from(end)) >> u64::BITS) as u64
    }

    /// A random order of the numbers from `first` to below `end`.
    pub(super) fn next(&mut self, first: i64, end: i64) -> Order {
        let mut order = Order::given(first, end);
        let count = order.count;
        if count > 1 {
            order.step = 1 + self.random() % (count - 1);
            while gcd(order.step, count) > 1 {
                order.step = order.step % count + 1;
            }
            order.at = self.random() % count;
        }
        order
    }
}

impl Order {
    /// The numbers in ascending order.
    pub(super) fn given(first: i64, end: i64) -> Self {
        let count = if first < end { end.abs_diff(first) } else { 0 };
        Self { first, count, step: 1, at: 0, left: count }
    }
}

impl Iterator for Order {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        let now = self.at;
        let to_end = self.count - self.step;
        self.at = if now < to_end { now + self.step } else { now - to_end };
        Some(self.first.wrapping_add(now as i64))
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::{Order, Orders};

    #[test]
    fn each_number_comes_once() {
        assert!(Order::given(-3, 5).eq(-3..5));
        for seed in 0..20 {
            let mut orders = Orders::new(seed);
            for count in -1..40 {
                let mut numbers: Vec<i64> = orders.next(-3, count - 3).collect();
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(-3..count - 3), "{seed}, {count}");
            }
        }
    }

    #[test]
    fn a_few_seeds_give_all_orders_of_three() {
        let orders = (0..40).map(|seed| Orders::new(seed).next(0, 3).collect::<Vec<_>>());
        let mut orders: Vec<_> = orders.collect();
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 6);
    }
}
