//! Execution of counting loops: sequentially, or in any order with race detection.

use super::expr::Slot;
use super::frame::Frame;
use super::machine::Machine;
use super::order::Order;
use super::races::{Label, Running};
use super::{Result, bug};
use crate::{For, Launch, LoopMode, Slices, Stmt};
use prim::Scalar;

impl<'p> Machine<'p> {
    pub(super) fn for_loop(&mut self, frame: &mut Frame<'p>, f: &'p For) -> Result<()> {
        let (from, to) = (frame.values().scalar(&f.from)?, frame.values().scalar(&f.to)?);
        let (Some(first), Some(end)) = (from.as_i64(), to.as_i64()) else {
            return bug("a loop's bounds are no integers");
        };
        if let LoopMode::Grid(launch) = &f.mode {
            return self.kernel(frame, f, launch);
        }
        if let Some(pieces) = f.slices() {
            return self.pieces(frame, f, pieces, end);
        }
        let order = match &f.mode {
            LoopMode::Seq { independent: false } | LoopMode::Scheduled => {
                for i in first..end {
                    self.iteration(frame, f, Scalar::int(from.ty(), i))?;
                }
                return Ok(());
            }
            LoopMode::Seq { independent: true } if self.carried.of(frame.function, f).is_some() => {
                Order::given(first, end)
            }
            LoopMode::Lanes(_) if let Some(var) = self.carried.of(frame.function, f) => {
                let var = frame.label(var);
                return bug(format!("iterations in lanes share the variable {var}"));
            }
            LoopMode::Grid(_) | LoopMode::Threads(_) => return bug("threads outside of a kernel"),
            LoopMode::Seq { independent: true } | LoopMode::Lanes(_) | LoopMode::Tasks(_) => {
                self.orders.next(first, end)
            }
        };
        let running = if let LoopMode::Tasks(launch) = &f.mode {
            tasks(frame, launch)
        } else {
            Running { label: frame.label(f.var), scattered: Vec::new() }
        };
        self.memory.races.begin(running)?;
        for i in order {
            self.memory.races.next(i)?;
            self.iteration(frame, f, Scalar::int(from.ty(), i))?;
        }
        self.memory.races.end();
        Ok(())
    }

    /// Runs tasks over slices of a range.
    fn pieces(&mut self, frame: &mut Frame<'p>, f: &'p For, pieces: &Slices, n: i64) -> Result<()> {
        let LoopMode::Tasks(launch) = &f.mode else {
            return bug("a loop without tasks has pieces");
        };
        let count = frame.values().i64(&pieces.count)?;
        if n <= 0 {
            return Ok(());
        }
        if count < 1 {
            return bug(format!("a range falls apart into {count} pieces"));
        }
        let bound = |k: i64| {
            let bound = i128::from(k) * i128::from(n) / i128::from(count);
            Scalar::I64(bound as i64)
        };
        let running = tasks(frame, launch);
        self.memory.races.begin(running)?;
        for k in self.orders.next(0, count) {
            self.memory.races.next(k)?;
            frame.set(pieces.end, Slot::Scalar(bound(k + 1)))?;
            self.iteration(frame, f, bound(k))?;
        }
        self.memory.races.end();
        Ok(())
    }

    fn iteration(&mut self, frame: &mut Frame<'p>, f: &'p For, i: Scalar) -> Result<()> {
        self.charge(1)?;
        frame.set(f.var, Slot::Scalar(i))?;
        match &f.mode {
            LoopMode::Tasks(launch) => self.task(frame, launch, &f.body),
            LoopMode::Seq { independent: _ }
            | LoopMode::Scheduled
            | LoopMode::Lanes(_)
            | LoopMode::Grid(_)
            | LoopMode::Threads(_) => self.block(frame, &f.body),
        }
    }

    /// Runs one task: variables that belong to it are unset before.
    fn task(&mut self, frame: &mut Frame<'p>, launch: &Launch, body: &'p [Stmt]) -> Result<()> {
        frame.clear(&launch.owned, &launch.locals)?;
        let mark = frame.blocks.len();
        self.block(frame, body)?;
        self.release_all(frame, &launch.owned)?;
        for (_, at) in frame.blocks.split_off(mark.min(frame.blocks.len())) {
            self.memory.end_frame(at);
        }
        Ok(())
    }
}

/// A task loop that begins; variables without a block are not accessed.
fn tasks(frame: &Frame<'_>, launch: &Launch) -> Running {
    let blocks = launch.scattered.iter();
    let blocks = blocks.filter_map(|var| frame.values().pointer(*var).ok());
    Running { label: Label::Tasks(launch.name.clone(), launch.id), scattered: blocks.collect() }
}
