//! Tests of the allocator with programs: reuse, limits, peak.

#![allow(clippy::cast_ptr_alignment, reason = "environments and blocks are aligned for their types")]

mod programs;

use runtime::{Config, Context, Counter, Error, Output};
use value::Value;

fn context(memory_limit: Option<u64>) -> Context {
    let config = Config { num_threads: Some(1), memory_limit, ..Config::default() };
    Context::new(&config, programs::image()).expect("context")
}

fn big(context: &mut Context, n: i64) -> Result<usize, Error> {
    let n = Value::scalar(n).expect("scalar");
    let outputs = context.call("big", vec![n])?;
    match &outputs[..] {
        [Output::Value(value)] => Ok(value.len()),
        other => panic!("unexpected results {other:?}"),
    }
}

#[test]
fn freed_blocks_are_reused() {
    let mut context = context(None);
    for n in [1 << 20, 100, 4000] {
        assert_eq!(big(&mut context, n), Ok(n as usize));
        let before = context.counter(Counter::CacheHits);
        assert_eq!(big(&mut context, n), Ok(n as usize));
        assert_eq!(context.counter(Counter::CacheHits), before + 1, "{n}");
    }
    assert_eq!(context.counter(Counter::Allocations), 7);
    assert_eq!(context.finish(), 0);
}

#[test]
fn small_blocks_count_for_the_peak() {
    let mut context = context(None);
    assert_eq!(big(&mut context, 1000), Ok(1000));
    let peak = context.peak_bytes();
    assert!((8_000..20_000).contains(&peak), "{peak}");
    // The peak does not decrease.
    assert_eq!(big(&mut context, 10), Ok(10));
    assert_eq!(context.peak_bytes(), peak);
    assert_eq!(big(&mut context, 4000), Ok(4000));
    assert!(context.peak_bytes() >= 32_000);
}

#[test]
fn a_cache_never_raises_the_peak() {
    let mut context = context(None);
    let mut largest = 0;
    for n in [100_000, 1_000_000, 300_000, 2_000_000, 1_700_000, 50_000] {
        largest = largest.max(n);
        assert_eq!(big(&mut context, n), Ok(n as usize));
        let slack = 128 << 10;
        assert!(context.peak_bytes() <= largest as u64 * 8 + slack);
    }
}

#[test]
fn the_limit_is_an_error_and_the_context_lives_on() {
    let mut context = context(Some(1_000_000));
    let message = big(&mut context, 1_000_000).expect_err("too much").to_string();
    assert!(message.contains("8000000 bytes") && message.contains("limit is 1000000 bytes"), "{message}");
    let message = big(&mut context, i64::MAX / 2).expect_err("too much").to_string();
    assert!(message.contains("63 bits"), "{message}");
    let message = big(&mut context, 1 << 59).expect_err("too much").to_string();
    assert!(message.contains("out of memory"), "{message}");
    assert_eq!(big(&mut context, 100_000), Ok(100_000));
    // Arguments count, too.
    let xs = Value::from_slice(&[400_000], &vec![1i32; 400_000]).expect("value");
    assert!(matches!(context.call("main", vec![xs]), Err(Error::Program(_))));
    assert_eq!(context.finish(), 0);
}
