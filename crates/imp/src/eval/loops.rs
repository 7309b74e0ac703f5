//! Counting loops: in order, or in any order with an eye on iterations that meet.

use super::expr::Slot;
use super::machine::{Frame, Machine};
use super::order::Order;
use super::races::{Label, Running};
use super::{Result, bug};
use crate::{For, How, Launch, Stmt};
use prim::Scalar;

impl<'p> Machine<'p> {
    /// Runs a loop.
    pub(super) fn for_loop(&mut self, frame: &mut Frame<'p>, f: &'p For) -> Result<()> {
        let (from, to) = (
            frame.values().scalar(&f.from)?,
            frame.values().scalar(&f.to)?,
        );
        let (Some(first), Some(end)) = (from.as_i64(), to.as_i64()) else {
            return bug("a loop's bounds are no integers");
        };
        let order = match &f.how {
            How::Seq { independent: false } | How::Scheduled => {
                for i in first..end {
                    self.iteration(frame, f, Scalar::int(from.ty(), i))?;
                }
                return Ok(());
            }
            How::Seq { independent: true } if self.carried.of(frame.function, f).is_some() => {
                Order::given(first, end)
            }
            How::Lanes(_) if let Some(var) = self.carried.of(frame.function, f) => {
                let var = frame.label(var);
                return bug(format!("iterations in lanes share the variable {var}"));
            }
            How::Seq { independent: true } | How::Lanes(_) | How::Tasks(_) => {
                self.orders.next(first, end)
            }
        };
        let running = if let How::Tasks(launch) = &f.how {
            // What has no block is not used.
            let blocks = launch.distinct.iter();
            let blocks = blocks.filter_map(|var| frame.values().pointer(*var).ok());
            Running {
                label: Label::Tasks(launch.name.clone(), launch.id),
                tasks: true,
                distinct: blocks.collect(),
            }
        } else {
            Running {
                label: frame.label(f.var),
                tasks: false,
                distinct: Vec::new(),
            }
        };
        self.memory.races.begin(running)?;
        for i in order {
            self.memory.races.next(i)?;
            self.iteration(frame, f, Scalar::int(from.ty(), i))?;
        }
        self.memory.races.end();
        Ok(())
    }

    fn iteration(&mut self, frame: &mut Frame<'p>, f: &'p For, i: Scalar) -> Result<()> {
        self.charge(1)?;
        frame.set(f.var, Slot::Scalar(i))?;
        match &f.how {
            How::Tasks(launch) => self.task(frame, launch, &f.body),
            How::Seq { independent: _ } | How::Scheduled | How::Lanes(_) => {
                self.block(frame, &f.body)
            }
        }
    }

    /// One run of a task: nothing that belongs to it has a value before.
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
