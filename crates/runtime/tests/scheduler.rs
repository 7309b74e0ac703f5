//! Stress tests of the scheduler: every chunk once, nesting, failure, more threads than processors,
//! sleeping and waking.

#![allow(clippy::cast_ptr_alignment, reason = "environments and blocks are aligned for their types")]

use runtime::abi::{Ctx, TaskFn};
use runtime::heap::{br_alloc, br_slots, br_unref};
use runtime::sched::{br_tasks, br_tasks_coarse};
use runtime::{Config, Context, Counter, Error, Image, ProgramSpec, Progress, ProgressHook};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use value::Value;
use value::interface::{EntryType, Interface, OpaqueTypes, Signature};

/// A runtime function that runs the chunks of an operation.
type Tasks = unsafe extern "C" fn(*mut Ctx, TaskFn, *mut u8, i64, i64) -> i32;

/// A cost that always justifies sharing.
const MUCH: i64 = 1 << 40;

/// Runs `fun` on `env` as the body of an entry point of a context of `threads`.
fn with_tasks(threads: usize, n: i64, cost: i64, fun: TaskFn, env: *mut u8) -> (Result<(), Error>, Context) {
    with_tasks_by(br_tasks, threads, n, cost, fun, env)
}

/// As `with_tasks`, by the given function of the runtime.
fn with_tasks_by(
    by: Tasks,
    threads: usize,
    n: i64,
    cost: i64,
    fun: TaskFn,
    env: *mut u8,
) -> (Result<(), Error>, Context) {
    with_progress(None, by, threads, n, cost, fun, env)
}

/// As `with_tasks_by`, with reports on progress.
fn with_progress(
    progress: Option<ProgressHook>,
    by: Tasks,
    threads: usize,
    n: i64,
    cost: i64,
    fun: TaskFn,
    env: *mut u8,
) -> (Result<(), Error>, Context) {
    unsafe extern "C" fn entry(ctx: *mut Ctx, args: *const u64, _: *mut u64) -> i32 {
        // SAFETY: `with_progress` passes these five words.
        unsafe {
            let fun = std::mem::transmute::<usize, TaskFn>(*args as usize);
            let by = std::mem::transmute::<usize, Tasks>(*args.add(4) as usize);
            by(ctx, fun, *args.add(1) as usize as *mut u8, *args.add(2) as i64, *args.add(3) as i64)
        }
    }
    let mut opaques = OpaqueTypes::default();
    let unit = opaques.tuple(&[]).expect("a type");
    let params = ["fun", "env", "n", "cost", "by"];
    let params = params.map(|name| opaques.value(name, EntryType::scalar(prim::ScalarType::I64)));
    let entries = vec![Signature::new("main", params.into(), opaques.value("", unit))];
    let spec = ProgramSpec {
        interface: Interface { opaques, entries },
        entries: vec![entry],
        ..ProgramSpec::default()
    };
    // SAFETY: the entry point takes five words and has no results.
    let image = unsafe { Image::from_spec(spec, Arc::new(())) };
    let config = Config { num_threads: Some(threads), progress, ..Config::default() };
    let mut context = Context::new(&config, image).expect("context");
    let (code, by) = (fun as usize as i64, by as usize as i64);
    let args = [code, env as usize as i64, n, cost, by];
    let args = args.map(|word| Value::scalar(word).expect("scalar"));
    let outcome = context.call("main", args.into()).map(|_| ());
    (outcome, context)
}

struct Counts(Vec<AtomicU32>);

unsafe extern "C" fn count(_: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: the environment is a `Counts` that outlives the operation.
    let counts = unsafe { &*env.cast::<Counts>() };
    for chunk in lo..hi {
        counts.0[chunk as usize].fetch_add(1, Ordering::Relaxed);
    }
    0
}

#[test]
fn every_chunk_runs_exactly_once() {
    for threads in [1, 2, 4, 9] {
        for n in [0, 1, 2, 3, 7, 100, 12345, 300_000] {
            let mut counts = Counts((0..n).map(|_| AtomicU32::new(0)).collect());
            let (outcome, _) = with_tasks(threads, n, MUCH, count, (&raw mut counts).cast());
            assert_eq!(outcome, Ok(()));
            assert!(counts.0.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{threads} {n}");
        }
    }
}

#[test]
fn progress_of_the_outermost_operation_is_reported() {
    unsafe extern "C" fn nested(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
        for _ in lo..hi {
            // SAFETY: the chunks of the inner operation count in the same environment.
            if unsafe { br_tasks(ctx, count, env, 10, MUCH) } != 0 {
                return 1;
            }
        }
        0
    }
    for threads in [1, 2, 4] {
        let mut counts = Counts((0..10).map(|_| AtomicU32::new(0)).collect());
        let reports = Arc::new(Mutex::new(Vec::new()));
        let hook = ProgressHook::new({
            let reports = Arc::clone(&reports);
            move |report| reports.lock().expect("a report").push(report)
        });
        let env = (&raw mut counts).cast();
        let (outcome, _) = with_progress(Some(hook), br_tasks, threads, 300, MUCH, nested, env);
        assert_eq!(outcome, Ok(()));
        let mut done: Vec<i64> = Vec::new();
        for report in reports.lock().expect("the reports").iter() {
            let Progress::Chunks { done: count, total: 300 } = report else { panic!("{report:?}") };
            done.push(*count);
        }
        done.sort_unstable();
        assert!(done.len() > 1 && done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
        assert_eq!(done.last(), Some(&300));
    }
}

/// The number of times each chunk ran, and the number of ranges.
struct Ranges(Counts, AtomicI64);

unsafe extern "C" fn count_ranges(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: the environment is a `Ranges` that outlives the operation.
    let ranges = unsafe { &*env.cast::<Ranges>() };
    ranges.1.fetch_add(1, Ordering::Relaxed);
    // SAFETY: its first field is the environment of `count`.
    unsafe { count(ctx, (&raw const ranges.0).cast_mut().cast(), lo, hi) }
}

#[test]
fn coarse_ranges_are_few_and_cover_every_chunk_once() {
    for threads in [1, 2, 3, 4, 9] {
        for (n, cost) in [(0, MUCH), (1, MUCH), (5, MUCH), (512, MUCH), (512, 1000)] {
            let counts = Counts((0..n).map(|_| AtomicU32::new(0)).collect());
            let mut ranges = Ranges(counts, AtomicI64::new(0));
            let env = (&raw mut ranges).cast();
            let (outcome, _) = with_tasks_by(br_tasks_coarse, threads, n, cost, count_ranges, env);
            assert_eq!(outcome, Ok(()));
            let once = |c: &AtomicU32| c.load(Ordering::Relaxed) == 1;
            assert!(ranges.0.0.iter().all(once), "{threads} {n}");
            let most = if cost == MUCH { 2 * threads as i64 } else { 1 };
            let ran = ranges.1.into_inner();
            assert!(ran <= most.min(n), "{threads} {n}: {ran} ranges");
        }
    }
}

/// The end of the last range, and the number of ranges.
type InOrder = (AtomicI64, AtomicI64);

unsafe extern "C" fn in_order(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: the environment is an `InOrder` that outlives the operation.
    let (end, ranges) = unsafe { &*env.cast::<InOrder>() };
    ranges.fetch_add(1, Ordering::Relaxed);
    i32::from(ctx.is_null() || end.swap(hi, Ordering::Relaxed) != lo)
}

#[test]
fn cheap_operations_run_on_the_caller() {
    for (threads, cost) in [(4, 1000), (1, 1000), (1, MUCH)] {
        let mut seen: InOrder = (AtomicI64::new(0), AtomicI64::new(0));
        let (outcome, context) = with_tasks(threads, 1000, cost, in_order, (&raw mut seen).cast());
        assert_eq!(outcome, Ok(()));
        assert_eq!(seen.0.into_inner(), 1000);
        // Expensive ones can be cancelled between chunks.
        assert_eq!(seen.1.into_inner(), if cost == MUCH { 1000 } else { 1 });
        assert_eq!(context.counter(Counter::Operations), 0);
    }
}

unsafe extern "C" fn slow(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    std::thread::sleep(Duration::from_micros(200 * (hi - lo) as u64));
    // SAFETY: as for `count`.
    unsafe { count(ctx, env, lo, hi) }
}

#[test]
fn operations_of_unknown_cost_are_shared_if_slow() {
    for (fun, n) in [(count as TaskFn, 1000), (slow, 50)] {
        for threads in [1, 2, 4] {
            let mut counts = Counts((0..n).map(|_| AtomicU32::new(0)).collect());
            let (outcome, context) = with_tasks(threads, n, -1, fun, (&raw mut counts).cast());
            assert_eq!(outcome, Ok(()));
            let once = |c: &AtomicU32| c.load(Ordering::Relaxed) == 1;
            assert!(counts.0.iter().all(once), "{threads} {n}");
            let shared = context.counter(Counter::Operations);
            assert!(n == 1000 || shared == u64::from(threads > 1));
        }
    }
}

/// A block of slots that keeps blocks for later.
struct Kept(AtomicPtr<u8>);

unsafe extern "C" fn keep(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: the environment is a `Kept` that outlives the operation; each chunk has
    // a slot of its own.
    unsafe {
        let slots = (*env.cast::<Kept>()).0.load(Ordering::Relaxed);
        for chunk in lo..hi {
            let block = br_alloc(ctx, 100 + chunk % 7000, std::ptr::null());
            if block.is_null() {
                return 1;
            }
            *slots.cast::<*mut u8>().add(chunk as usize) = block;
        }
        0
    }
}

unsafe extern "C" fn keep_all(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: as above; there are more slots than are filled.
    unsafe {
        let kept = &*env.cast::<Kept>();
        for _ in lo..hi {
            let slots = br_slots(ctx, 20_100, std::ptr::null());
            kept.0.store(slots, Ordering::Relaxed);
            let status = br_tasks(ctx, keep, env, 20_000, MUCH);
            br_unref(ctx, slots);
            if slots.is_null() || status != 0 {
                return 1;
            }
        }
        0
    }
}

#[test]
fn blocks_in_slots_are_freed_with_the_slots() {
    for threads in [1, 2, 4] {
        let mut kept = Kept(AtomicPtr::default());
        let (outcome, context) = with_tasks(threads, 1, MUCH, keep_all, (&raw mut kept).cast());
        assert_eq!(outcome, Ok(()));
        let peak = context.peak_bytes();
        assert!(peak > 20_000 * 3_000, "{peak}");
        assert_eq!(context.finish(), 0, "all memory is released");
    }
}

/// A tree of operations: sums the leaves, allocates at every level.
struct Node {
    depth: u32,
    sum: AtomicI64,
    fail_at: i64,
}

unsafe extern "C" fn grow(ctx: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: the environment is a `Node` that outlives the operation; blocks
    // are written within their size and released once.
    unsafe {
        let node = &*env.cast::<Node>();
        for chunk in lo..hi {
            let block = br_alloc(ctx, 16 + chunk * 40 + i64::from(node.depth) * 20_000, std::ptr::null());
            if block.is_null() {
                return 1;
            }
            *block.cast::<i64>() = chunk;
            let mut child =
                Node { depth: node.depth.saturating_sub(1), sum: AtomicI64::new(0), fail_at: node.fail_at };
            let status = if node.depth == 0 {
                child.sum = AtomicI64::new(1);
                i32::from(chunk == node.fail_at)
            } else {
                br_tasks(ctx, grow, (&raw mut child).cast(), 10, MUCH)
            };
            node.sum.fetch_add(child.sum.into_inner(), Ordering::Relaxed);
            let kept = *block.cast::<i64>() == chunk;
            br_unref(ctx, block);
            if status != 0 || !kept {
                return 1;
            }
        }
        0
    }
}

#[test]
fn operations_nest_and_allocate() {
    for threads in [1, 2, 4] {
        for _ in 0..5 {
            let mut root = Node { depth: 3, sum: AtomicI64::new(0), fail_at: -1 };
            let (outcome, context) = with_tasks(threads, 10, MUCH, grow, (&raw mut root).cast());
            assert_eq!(outcome, Ok(()));
            assert_eq!(root.sum.into_inner(), 10_000);
            assert_eq!(context.finish(), 0, "all memory is released");
        }
    }
}

#[test]
fn failure_reaches_the_caller_and_frees_everything() {
    for threads in [1, 2, 4] {
        for fail_at in [0, 9] {
            let mut root = Node { depth: 2, sum: AtomicI64::new(0), fail_at };
            let (outcome, context) = with_tasks(threads, 10, MUCH, grow, (&raw mut root).cast());
            assert!(matches!(outcome, Err(Error::Program(_))));
            assert_eq!(context.finish(), 0, "all memory is released");
        }
    }
}

unsafe extern "C" fn nap(_: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: the environment is an atomic that outlives the operation.
    let done = unsafe { &*env.cast::<AtomicI64>() };
    for _ in lo..hi {
        std::thread::sleep(Duration::from_millis(2));
        done.fetch_add(1, Ordering::Relaxed);
    }
    0
}

unsafe extern "C" fn repeat(ctx: *mut Ctx, env: *mut u8, _: i64, _: i64) -> i32 {
    for round in 0..20 {
        // SAFETY: the environment is passed on unchanged.
        if unsafe { br_tasks(ctx, nap, env, 8, MUCH) } != 0 {
            return 1;
        }
        // Long enough for every worker to fall asleep in some of the rounds.
        std::thread::sleep(Duration::from_micros(200 * (round % 3)));
    }
    0
}

#[test]
fn sleeping_workers_wake_up_and_waiters_are_notified() {
    let mut done = AtomicI64::new(0);
    let (outcome, context) = with_tasks(4, 1, MUCH, repeat, (&raw mut done).cast());
    assert_eq!(outcome, Ok(()));
    assert_eq!(done.into_inner(), 160);
    assert!(context.counter(Counter::Steals) > 0, "other threads took ranges");
}

#[test]
fn contexts_run_concurrently() {
    std::thread::scope(|scope| {
        for threads in [2, 3, 4] {
            scope.spawn(move || {
                for n in [10, 1000, 100_000] {
                    let mut counts = Counts((0..n).map(|_| AtomicU32::new(0)).collect());
                    let (outcome, _) = with_tasks(threads, n, MUCH, count, (&raw mut counts).cast());
                    assert_eq!(outcome, Ok(()));
                    assert!(counts.0.iter().all(|c| c.load(Ordering::Relaxed) == 1));
                }
            });
        }
    });
}
