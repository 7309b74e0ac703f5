//! Checks loops: bounds, counters, slices, the variables of task loops, and captures.

use super::FunctionCheck;
use crate::walk::each_var;
use crate::{Expr, For, Launch, LoopMode, Slices, Var, VarType};
use prim::PrimType;
use rustc_hash::FxHashSet;

impl<'a> FunctionCheck<'_, 'a> {
    pub(super) fn for_loop(&mut self, f: &'a For) {
        let For { mode: how, var, from, to, body } = f;
        let (from, to) = (self.expr(from), self.expr(to));
        if let Some(launch) = how.launch() {
            self.typed(&launch.cost, PrimType::I64);
            for shared in &launch.shared_buffers {
                self.typed(&shared.bytes, PrimType::I64);
            }
        }
        if let Some(launch) = how.launch()
            && let Some(slices) = &launch.slices
        {
            self.slices(f, launch, slices);
        }
        match self.var_type(*var) {
            Some(VarType::Scalar(ty)) if ty.is_int() => {
                let other = |bound: &VarType| *bound != VarType::Scalar(ty);
                if [from, to].iter().flatten().any(other) {
                    self.error(format!("the bounds of {} do not have its type", self.name(*var)));
                }
            }
            Some(_) => self.error(format!("counter {} is not an integer", self.name(*var))),
            None => {
                self.error(format!("variable {} does not exist", var.0));
                return;
            }
        }
        // Missing variables have been reported.
        let counters: Vec<Var> = f.counters().filter(|v| self.var_type(*v).is_some()).collect();
        for var in &counters {
            if self.counter[var.index()] {
                self.error(format!("{} is the counter of two nested loops", self.name(*var)));
            }
        }
        let around = self.frame;
        let homes: Vec<u32> = counters.iter().map(|var| self.frame_of[var.index()]).collect();
        let mut moved = Vec::new();
        match how {
            LoopMode::Seq { independent: _ } | LoopMode::Scheduled | LoopMode::Lanes(_) => {}
            LoopMode::Tasks(launch) | LoopMode::Grid(launch) => {
                self.open_frame();
                self.launch(launch, &mut moved);
            }
            LoopMode::Threads(locals) => {
                self.open_frame();
                self.distinct(locals, "locals of threads");
                self.move_in(locals, &mut moved);
            }
        }
        for var in &counters {
            self.frame_of[var.index()] = self.frame;
            self.counter[var.index()] = true;
        }
        self.block(body);
        for (var, home) in counters.iter().zip(homes) {
            self.counter[var.index()] = false;
            self.frame_of[var.index()] = home;
        }
        if self.frame != around {
            self.open[self.frame as usize] = false;
            // The loop's variables now belong to a closed frame, unless an enclosing loop had them
            // in its list.
            for (var, before) in moved {
                if before != 0 {
                    self.frame_of[var.index()] = before;
                }
            }
            self.frame = around;
        }
    }

    fn slices(&mut self, f: &For, launch: &Launch, slices: &Slices) {
        self.typed(&slices.count, PrimType::I64);
        for var in f.counters() {
            match self.var_type(var) {
                None => self.error(format!("variable {} does not exist", var.0)),
                Some(VarType::Scalar(PrimType::I64)) => {}
                Some(_) => self.error(format!("{} bounds slices, but is not an i64", self.name(var))),
            }
        }
        // Each task evaluates them again.
        let own: FxHashSet<Var> =
            (launch.owned.iter().chain(&launch.locals).copied()).chain(f.counters()).collect();
        for bound in [&f.to, &slices.count] {
            each_var(bound, &mut |var, _| {
                if own.contains(&var) {
                    self.error(format!("the bounds of a loop depend on its own variable {}", self.name(var)));
                }
            });
        }
        if f.from != Expr::i64(0) {
            self.error(format!("slices of {} do not begin at 0", self.name(f.var)));
        }
        if f.var == slices.end {
            self.error(format!("{} is both bounds of a slice", self.name(f.var)));
        }
    }

    fn open_frame(&mut self) {
        self.frame = self.open.len() as u32;
        self.open.push(true);
    }

    fn launch(&mut self, launch: &'a Launch, moved: &mut Vec<(Var, u32)>) {
        self.captures(launch);
        if !(self.tables.launches).insert((launch.name.clone(), launch.id)) {
            let Launch { id, name, .. } = launch;
            self.error(format!("two loops have the launch id {id} and name \"{name}\""));
        }
        self.distinct(&launch.locals, "locals of a loop");
        self.distinct(&launch.scattered, "scattered buffers of a loop");
        for var in launch.distinct.iter().chain(&launch.scattered) {
            self.read_buffer(*var);
        }
        let both = |var: &&Var| launch.distinct.contains(var);
        if let Some(var) = launch.scattered.iter().find(both) {
            self.error(format!("{} is both distinct and scattered", self.name(*var)));
        }
        self.move_in(&launch.owned, moved);
        self.move_in(&launch.locals, moved);
        for var in &launch.locals {
            if self.owned.get(var.index()) == Some(&true) {
                self.error(format!("owned variable {} is a local", self.name(*var)));
            }
        }
    }

    /// Moves variables to the innermost frame; `moved` gets their previous frames.
    fn move_in(&mut self, vars: &[Var], moved: &mut Vec<(Var, u32)>) {
        for var in vars {
            let Some(home) = self.frame_of.get_mut(var.index()) else {
                continue;
            };
            moved.push((*var, std::mem::replace(home, self.frame)));
        }
    }

    fn captures(&mut self, launch: &Launch) {
        let named = self.captures.next().unwrap_or_default();
        if launch.captures == named {
            return;
        }
        let loop_ = format!("loop {}", launch.id);
        self.distinct(&launch.captures, &format!("captures of {loop_}"));
        let [has, used] = [&launch.captures, &named].map(|list| {
            let list = list.iter().copied();
            list.collect::<FxHashSet<Var>>()
        });
        let more = launch.captures.iter().find(|var| !used.contains(var));
        let less = named.iter().find(|var| !has.contains(var));
        let name = |var: &Var| self.name(*var);
        let message = match (more.map(name), less.map(name)) {
            (Some(more), _) => format!("{loop_} captures {more}, which its body does not use"),
            (_, Some(less)) => format!("{loop_} does not capture {less}"),
            (None, None) => format!("the captures of {loop_} are in another order"),
        };
        self.error(message);
    }
}
