//! The scheduler: fork-join over ranges of chunks, by work stealing.
//!
//! An operation is a [`Join`] record in its caller's stack frame and a range of chunks. A thread
//! that runs a range takes a few chunks at a time (the *grain size*) and, whenever its own deque is
//! empty, first pushes the upper half of the rest there for other threads (lazy splitting). Before
//! its first chunks it also splits the remaining half, down to a few times the grain size: however long the first
//! chunks take, as those of irregular iterations may, other threads find the rest. The caller takes
//! part; when it has no work left it helps with any other work until its operation is done.
//!
//! Generated code determines the chunks; the scheduler determines which threads run them, and when,
//! which never changes a result. Small operations are not shared at all; an operation of unknown
//! cost, as it calls recursive functions, is begun by its caller alone, and the rest is shared
//! after some time. Threads start at the first operation that is worth sharing; idle ones search
//! for work for [`SPIN`] and then sleep.

mod affinity;
mod clock;
mod deque;
mod sleep;

use crate::abi::{Ctx, TaskFn};
use crate::context::{Shared, stack_address};
use crate::control::{Progress, ProgressHook};
use crate::stats::Counter;
use deque::{Deque, Job, Steal};
use sleep::Sleepers;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work below this (in ns) runs on its caller alone.
pub const SEQUENTIAL_NS: i64 = 5_000;
/// The approximate work (in ns) of chunks of the grain size.
const GRAIN_SIZE_NS: i64 = 1_000;
/// The approximate work (in ns) that a thread does between two looks at the request to cancel, if
/// an operation is not shared.
const STEP_NS: i64 = 1_000_000;
/// The number of grain sizes below which a range is not split at first. Ranges of recursive work
/// are shorter: they are split lazily, down to the grain size (`bench/run.py irregular --case quicksort`).
const INITIAL_SPLIT: i64 = 4;
/// The time for which an idle thread searches for work before it sleeps.
const SPIN: Duration = Duration::from_micros(100);
/// The number of searches before an idle thread yields between them.
const PAUSES: u32 = 32;
/// Stack of a worker thread, in bytes (of address space; pages are committed on use).
const WORKER_STACK: usize = 16 << 20;
/// A waiting thread helps others only while it has at least this much stack.
const HELP_STACK: usize = 512 << 10;

/// One parallel operation, in the stack frame of the thread that started it. It is valid until
/// `pending` reaches 0; no other thread accesses it afterwards.
struct Join {
    fun: TaskFn,
    env: *mut u8,
    grain_size: i64,
    owner: usize,
    pending: AtomicI64,
    failed: AtomicBool,
    /// For reports on progress, if they are required and this operation is not inside of another.
    progress: Option<ChunkProgress>,
}

/// The progress of an operation, for reports.
struct ChunkProgress {
    hook: ProgressHook,
    done: AtomicI64,
    total: i64,
}

impl ChunkProgress {
    /// The progress of an operation with this number of chunks that the thread begins.
    fn of(shared: &Shared, me: usize, operations: usize, total: i64) -> Option<Self> {
        let hook = shared.progress.as_ref().filter(|_| me == 0 && operations == 0)?;
        Some(Self { hook: hook.clone(), done: AtomicI64::new(0), total })
    }

    fn report(&self, chunks: i64) {
        let done = self.done.fetch_add(chunks, Ordering::Relaxed) + chunks;
        self.hook.report(Progress::Chunks { done, total: self.total });
    }
}

/// The part of a context that the scheduler shares between threads.
pub struct Pool {
    deques: Box<[Deque]>,
    dormitory: Sleepers,
    oversubscribed: bool,
    started: AtomicBool,
    stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// A pool of `n` threads, the caller included; none is started yet.
    pub fn new(n: usize, cores: usize) -> Self {
        Self {
            deques: (0..n).map(|_| Deque::default()).collect(),
            dormitory: Sleepers::new(n),
            oversubscribed: n > cores,
            started: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
        }
    }

    /// The number of threads, the caller included.
    pub fn size(&self) -> usize {
        self.deques.len()
    }

    fn has_work(&self) -> bool {
        self.deques.iter().any(|deque| !deque.is_empty())
    }

    /// Starts the worker threads, once. If the system refuses some, there are fewer.
    fn start(&self, shared: &Arc<Shared>) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if self.started.swap(true, Ordering::AcqRel) {
            return;
        }
        let home = affinity::current_cpu();
        for index in 1..self.size() {
            let shared = Arc::clone(shared);
            let thread = std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .stack_size(WORKER_STACK)
                .spawn(move || work(shared, index, home));
            match thread {
                Ok(thread) => threads.push(thread),
                Err(_) => break,
            }
        }
    }

    /// Stops the worker threads and waits until they have ended. No operation may be running.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.dormitory.wake_all();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A worker panics only because of a bug, which cannot be reported here.
            let _ = thread.join();
        }
    }
}

/// The main function of a worker thread; `home` is its creator's processor.
fn work(shared: Arc<Shared>, index: usize, home: Option<usize>) {
    if let Some(home) = home {
        affinity::spread_to(home, index);
    }
    let limit = stack_address().saturating_sub(WORKER_STACK) + crate::context::STACK_MARGIN;
    let mut ctx = Ctx::new(Arc::clone(&shared), index);
    ctx.set_stack_limit(limit);
    let ctx: *mut Ctx = &raw mut *ctx;
    let pool = &shared.pool;
    let mut search = Search::new(pool, index);
    while !pool.stopping.load(Ordering::Relaxed) {
        if let Some(job) = search.find() {
            // SAFETY: a job that was taken counts in its join's `pending`, so the join is alive;
            // `ctx` is this thread's own.
            unsafe { run(ctx, &shared, index, job) };
        } else if !search.backoff() {
            pool.dormitory.sleep(index, || pool.stopping.load(Ordering::SeqCst) || pool.has_work());
            search.reset();
        }
    }
    // SAFETY: `ctx` came from the box's allocation, which lives to the end of this function, and
    // nothing else uses it now.
    unsafe { (*ctx).release_caches() };
}

/// One thread's search for work.
struct Search<'a> {
    pool: &'a Pool,
    me: usize,
    seed: u32,
    since: Option<Instant>,
    polls: u32,
}

impl<'a> Search<'a> {
    fn new(pool: &'a Pool, me: usize) -> Self {
        Self { pool, me, seed: (me as u32).wrapping_mul(0x9e37_79b9) | 1, since: None, polls: 0 }
    }

    /// Takes own work first, then steals from others, starting with a random one.
    fn find(&mut self) -> Option<Job> {
        let job = self.pool.deques[self.me].pop().or_else(|| self.steal());
        if job.is_some() {
            self.reset();
        }
        job
    }

    fn steal(&mut self) -> Option<Job> {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 17;
        self.seed ^= self.seed << 5;
        let n = self.pool.size();
        let first = self.seed as usize % n;
        for i in 0..n {
            let victim = (first + i) % n;
            if victim == self.me {
                continue;
            }
            loop {
                match self.pool.deques[victim].steal() {
                    Steal::Job(job) => return Some(job),
                    Steal::Retry => std::hint::spin_loop(),
                    Steal::Empty => break,
                }
            }
        }
        None
    }

    /// Waits a moment; returns false when it is time to sleep.
    fn backoff(&mut self) -> bool {
        self.polls += 1;
        if self.polls <= PAUSES {
            for _ in 0..8 {
                std::hint::spin_loop();
            }
            return true;
        }
        // On a busy machine the awaited thread may need this very processor.
        std::thread::yield_now();
        if self.pool.oversubscribed {
            return self.polls < PAUSES + 8;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() < SPIN
    }

    /// Resets the duration of the search.
    fn reset(&mut self) {
        self.since = None;
        self.polls = 0;
    }
}

/// Runs the chunks of a job, and shares them by lazy splitting.
///
/// # Safety
/// The job's join must be alive and count the job's chunks as pending; `ctx`
/// must be the calling thread's own, with index `me`.
unsafe fn run(ctx: *mut Ctx, shared: &Shared, me: usize, job: Job) {
    let pool = &shared.pool;
    let deque = &pool.deques[me];
    // SAFETY: by the caller's promise. The reference is not used after the last `fetch_sub` below,
    // with which the join may end.
    let join = unsafe { &*(job.join as *const Join) };
    let Job { mut lo, mut hi, .. } = job;
    let (grain_size, owner) = (join.grain_size, join.owner);
    let mut done = 0;
    let mut calls = 0;
    let mut all = deque.is_empty();
    while lo < hi {
        let before = hi;
        while hi - lo > grain_size
            && (deque.is_empty() || all && hi - lo > grain_size.saturating_mul(INITIAL_SPLIT))
        {
            let mid = lo + (hi - lo + 1) / 2;
            if !deque.push(Job { lo: mid, hi, ..job }) {
                break;
            }
            hi = mid;
        }
        all = false;
        if hi < before {
            pool.dormitory.wake_one(me);
        }
        let end = hi.min(lo.saturating_add(grain_size));
        if !join.failed.load(Ordering::Relaxed) {
            let cancelled = shared.cancellation.is_requested();
            // SAFETY: generated code fulfils the contract of `TaskFn`.
            if cancelled || unsafe { (join.fun)(ctx, join.env, lo, end) } != 0 {
                join.failed.store(true, Ordering::Relaxed);
            }
            if let Some(progress) = &join.progress {
                progress.report(end - lo);
            }
        }
        done += end - lo;
        calls += 1;
        lo = end;
    }
    shared.stats.add(me, Counter::TaskCalls, calls);
    if owner != me {
        shared.stats.add(me, Counter::Steals, 1);
    }
    let was = join.pending.fetch_sub(done, Ordering::SeqCst);
    if was == done && owner != me {
        pool.dormitory.wake(owner);
    }
}

/// Runs chunks `0..n` of a parallel operation; see [`crate::abi`].
///
/// # Safety
/// `ctx` must be the calling thread's view of a live context, and `fun` must be
/// safe to call with `env` from any thread for any range within `0..n`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_tasks(ctx: *mut Ctx, fun: TaskFn, env: *mut u8, n: i64, cost: i64) -> i32 {
    if n <= 0 {
        return 0;
    }
    // SAFETY: `ctx` is valid; only fields that no callee changes are borrowed.
    let shared = unsafe { (*ctx).shared() };
    let least = cost.saturating_abs();
    let alone = n == 1 || shared.pool.size() == 1;
    if alone || least < SEQUENTIAL_NS && cost >= 0 {
        // SAFETY: by the caller's promise.
        return unsafe { run_alone(ctx, (fun, env), n, cost) };
    }
    let mut first = 0;
    if least < SEQUENTIAL_NS {
        // The cost is only a lower bound: the actual cost is measured.
        let begin = clock::now();
        while first == 0 || clock::now().wrapping_sub(begin) < clock::SEQUENTIAL {
            // SAFETY: by the caller's promise.
            if unsafe { fun(ctx, env, first, first + 1) } != 0 {
                return 1;
            }
            first += 1;
            if first == n {
                return 0;
            }
        }
    }
    // Each single chunk may be expensive if the cost is only a lower bound.
    let ranges = if cost < 0 { n - first } else { (cost / GRAIN_SIZE_NS).max(1) };
    let grain_size = ((n - first) / ranges).max(1);
    // SAFETY: by the caller's promise.
    unsafe { share(ctx, (fun, env), first..n, grain_size) }
}

/// As [`br_tasks`], for ranges with work of their own: there are about as many ranges as threads.
///
/// # Safety
/// As [`br_tasks`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn br_tasks_coarse(ctx: *mut Ctx, fun: TaskFn, env: *mut u8, n: i64, cost: i64) -> i32 {
    if n <= 0 {
        return 0;
    }
    // SAFETY: as in `br_tasks`.
    let threads = unsafe { (*ctx).shared() }.pool.size() as i64;
    if n == 1 || threads == 1 || cost < SEQUENTIAL_NS {
        // SAFETY: by the caller's promise.
        return unsafe { fun(ctx, env, 0, n) };
    }
    let grain_size = (n + threads - 1) / threads;
    // SAFETY: by the caller's promise.
    unsafe { share(ctx, (fun, env), 0..n, grain_size) }
}

/// Runs the chunks `0..n` of an operation on the calling thread, in steps between which it can be
/// cancelled.
///
/// # Safety
/// As [`br_tasks`].
unsafe fn run_alone(ctx: *mut Ctx, (fun, env): (TaskFn, *mut u8), n: i64, cost: i64) -> i32 {
    if (0..STEP_NS).contains(&cost) {
        // SAFETY: by the caller's promise.
        return unsafe { fun(ctx, env, 0, n) };
    }
    // SAFETY: as in `br_tasks`.
    let (shared, me, operations) = unsafe { ((*ctx).shared(), (*ctx).index(), (*ctx).operations) };
    let progress = ChunkProgress::of(shared, me, operations, n);
    let step = if cost < 0 { 1 } else { (n / (cost / STEP_NS)).max(1) };
    let mut status = 0;
    let mut at = 0;
    // SAFETY: the context is this thread's own.
    unsafe { (*ctx).operations += 1 };
    while at < n && status == 0 {
        let end = n.min(at + step);
        // SAFETY: by the caller's promise.
        status = if shared.cancellation.is_requested() { 1 } else { unsafe { fun(ctx, env, at, end) } };
        if let Some(progress) = &progress {
            progress.report(end - at);
        }
        at = end;
    }
    // SAFETY: as above.
    unsafe { (*ctx).operations -= 1 };
    status
}

/// Runs the chunks of an operation, `grain_size` at a time, shared with other threads.
///
/// # Safety
/// As [`br_tasks`].
unsafe fn share(ctx: *mut Ctx, (fun, env): (TaskFn, *mut u8), chunks: Range<i64>, grain_size: i64) -> i32 {
    // SAFETY: as in `br_tasks`.
    let (shared, me) = unsafe { ((*ctx).shared(), (*ctx).index()) };
    let n = chunks.end - chunks.start;
    let pool = &shared.pool;
    if !pool.started.load(Ordering::Acquire) {
        pool.start(shared);
    }
    shared.stats.add(me, Counter::Operations, 1);
    // SAFETY: as in `br_tasks`.
    let operations = unsafe { (*ctx).operations };
    let join = Join {
        fun,
        env,
        grain_size,
        owner: me,
        pending: AtomicI64::new(n),
        failed: AtomicBool::new(false),
        progress: ChunkProgress::of(shared, me, operations, n),
    };
    let job = Job { join: (&raw const join) as u64, lo: chunks.start, hi: chunks.end };
    // SAFETY: the context is this thread's own.
    unsafe { (*ctx).operations += 1 };
    // SAFETY: the join lives until this function returns, which is after `pending` has reached 0.
    unsafe { run(ctx, shared, me, job) };
    // SAFETY: reads one word of a valid context.
    let helps = unsafe { (*ctx).stack_left() } >= HELP_STACK;
    let mut search = Search::new(pool, me);
    while join.pending.load(Ordering::SeqCst) != 0 {
        // Own jobs are always taken, as no other thread may take them; a deep stack only keeps the
        // thread from stealing.
        let job = if helps { search.find() } else { pool.deques[me].pop() };
        if let Some(job) = job {
            // SAFETY: as in `work`.
            unsafe { run(ctx, shared, me, job) };
        } else if !search.backoff() {
            pool.dormitory
                .sleep(me, || join.pending.load(Ordering::SeqCst) == 0 || (helps && pool.has_work()));
            search.reset();
        }
    }
    // SAFETY: as above.
    unsafe { (*ctx).operations -= 1 };
    i32::from(join.failed.load(Ordering::Relaxed))
}
