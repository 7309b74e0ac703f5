//! Decompositions: chunks are consecutive and cover all iterations, and so do a chunk's sub-chunks.

use ir::seg::{Decomp, SubChunks};

fn decomps() -> Vec<Decomp> {
    let mut all = Vec::new();
    for (width, streams, depth) in [(1, 1, 1), (32, 1, 1), (1, 32, 16), (1, 8, 8), (16, 1, 16)] {
        for (grain, max_chunks) in [(1, 512), (7, 3), (1000, 512), (64, 1)] {
            all.push(Decomp {
                updates_per_iteration: 0,
                grain_size: grain,
                tunable: None,
                max_chunks,
                width,
                accumulators: streams,
                scan_block: depth,
                cost: 1,
            });
        }
    }
    all
}

/// Small sizes, and some around powers of two.
fn sizes() -> impl Iterator<Item = i64> {
    let near = |n: i64| (n - 3)..(n + 4);
    (0..700).chain((10..40).step_by(5).flat_map(move |k| near(1 << k)))
}

#[test]
fn chunks_cover_all_iterations() {
    for decomp in decomps() {
        for n in sizes() {
            let bounds: Vec<_> = decomp.bounds(n).collect();
            assert_eq!(bounds.len() as i64, decomp.chunks(n), "{decomp:?} of {n}");
            assert!(decomp.chunks(n) <= decomp.max_chunks, "{decomp:?} of {n}");
            let mut at = 0;
            for chunk in &bounds {
                assert_eq!(chunk.start, at, "{decomp:?} of {n}");
                assert!(chunk.start <= chunk.end, "{decomp:?} of {n}");
                at = chunk.end;
            }
            assert_eq!(at, n, "{decomp:?} of {n}");
        }
    }
}

#[test]
fn chunks_fill_their_accumulators() {
    for decomp in decomps() {
        let whole = decomp.full_group();
        for n in [whole * 16, whole * 16 + 5, whole * 1000 + 1] {
            let bounds: Vec<_> = decomp.bounds(n).collect();
            for chunk in &bounds[..bounds.len() - 1] {
                let iterations = chunk.end - chunk.start;
                assert_eq!(iterations % whole, 0, "{decomp:?} of {n}");
                assert!(iterations >= decomp.grain_size.min(n) / 2, "{decomp:?} of {n}");
            }
        }
    }
}

/// Tests that only `make test-all` runs.
mod all_tier {
    use super::*;

    #[test]
    fn sub_chunks_leave_few_iterations() {
        for decomp in decomps() {
            for n in sizes() {
                let mut left = n;
                let side = i64::from(decomp.scan_block);
                for sub_chunks in decomp.sub_chunks(n) {
                    let SubChunks { count, length } = sub_chunks;
                    let whole = length % side == 0;
                    // A square of the last sub-chunk reads up to this position.
                    let reach = (count - 1) * length + side;
                    assert!(whole || reach <= left, "{decomp:?} of {n}");
                    left -= count * length;
                }
                assert!(left >= 0, "{decomp:?} of {n}");
                assert!(decomp.accumulators == 1 || left < 2 * side, "{decomp:?} of {n}");
            }
        }
    }
}
