//! Outlining: a region becomes a function of its own, called in its place.
//!
//! A region is a run of statements of one list. Variables that it reads before it sets them are
//! parameters; variables that it sets and other code reads are results. A region is not outlined
//! where a call cannot replace it: where it sets a borrowed buffer that is used outside, or releases
//! a block that it does not own. A variable that a region sets on some paths only is passed
//! through, and initialised to 0 at the start of its frame (the function, or a task loop).

mod live;

use imp::def_use::DefUse;
use imp::rename::each_var_mut;
use imp::{Arg, CodePlacement, Expr, FunId, Function, Launch, Stmt, Var, VarInfo, VarType};
use live::LiveInOut;
use prim::Scalar;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The largest number of parameters and results of an outlined function.
const MOST_VALUES: usize = 256;

/// A function, or a task loop, that regions are outlined from.
#[derive(Clone, Default)]
pub(crate) struct Frame {
    owned: FxHashSet<Var>,
    /// Buffers whose block no other buffer variable of the frame denotes.
    distinct: Vec<Var>,
    /// Variables that now belong to outlined functions.
    moved: FxHashSet<Var>,
    /// Variables that must be 0 at the start.
    zero: BTreeSet<Var>,
}

impl Frame {
    /// The frame of a function.
    pub(crate) fn of_function(function: &Function) -> Self {
        Self {
            owned: function.owned.iter().copied().collect(),
            distinct: function.distinct.clone(),
            ..Self::default()
        }
    }

    /// The frame of a task loop.
    pub(crate) fn of_launch(launch: &Launch) -> Self {
        Self {
            owned: launch.owned.iter().copied().collect(),
            distinct: launch.distinct.clone(),
            ..Self::default()
        }
    }

    /// The body after the initialisation of variables.
    pub(crate) fn started(&self, body: Vec<Stmt>, vars: &[VarInfo]) -> Vec<Stmt> {
        let start = self.zero.iter();
        let start = start.filter_map(|var| Some(Stmt::Set(*var, zero(vars.get(var.index())?.ty)?)));
        start.chain(body).collect()
    }

    /// Removes the variables that moved to outlined functions from a function's lists.
    pub(crate) fn trim_function(&self, function: &mut Function) {
        for list in [&mut function.owned, &mut function.distinct] {
            list.retain(|var| !self.moved.contains(var));
        }
    }

    /// Removes the variables that moved to outlined functions from a launch's lists.
    pub(crate) fn trim_launch(&self, launch: &mut Launch) {
        for list in [&mut launch.owned, &mut launch.locals, &mut launch.distinct, &mut launch.scattered] {
            list.retain(|var| !self.moved.contains(var));
        }
    }

    /// Records that a region was outlined.
    pub(crate) fn record(&mut self, outlined: &Outlined) {
        for var in &outlined.moved {
            self.moved.insert(*var);
            self.zero.remove(var);
        }
        self.zero.extend(&outlined.zero);
    }
}

/// The initial value of a variable at the start of its frame.
fn zero(ty: VarType) -> Option<Expr> {
    match ty {
        VarType::Scalar(ty) => Some(Expr::Const(Scalar::zero(ty))),
        VarType::Vector(ty, lanes) => {
            let zero = Expr::Const(Scalar::zero(ty));
            Some(Expr::Splat(lanes, Box::new(zero)))
        }
        VarType::Buffer(_) => None,
    }
}

/// The numbers of a region's statements: the first, and the one after the last.
pub(crate) type Span = (u32, u32);

/// An outlined region.
pub(crate) struct Outlined {
    /// The function, without a name.
    pub(crate) function: Function,
    /// The arguments of the call that replaces the region.
    args: Vec<Arg>,
    /// The variables that get the call's results.
    results: Vec<Var>,
    /// The variables that the frame no longer has.
    moved: Vec<Var>,
    /// The variables that must be 0 at the start of the frame.
    zero: Vec<Var>,
}

impl Outlined {
    /// Adds an argument to the call; the function has a parameter for it.
    pub(crate) fn add_argument(&mut self, value: Expr) {
        self.args.push(Arg::Scalar(value));
    }

    /// The call that replaces the region.
    pub(crate) fn call(&self, fun: FunId) -> Stmt {
        Stmt::Call { fun, args: self.args.clone(), results: self.results.clone(), location: None }
    }
}

/// A function whose regions are outlined.
#[derive(Clone, Copy)]
pub(crate) struct Outliner<'f> {
    pub(crate) vars: &'f [VarInfo],
    pub(crate) def_use: &'f DefUse,
}

/// The parameters and results of a region.
pub(crate) struct Signature {
    inputs: Vec<Var>,
    outputs: Vec<Var>,
    /// The variables that must be 0 at the start of the frame.
    zero: Vec<Var>,
}

impl Outliner<'_> {
    /// The parameters and results of a region; `None` where a call cannot replace it. Blocks in
    /// `released` are released after the call.
    pub(crate) fn signature<'s>(
        self,
        region: impl IntoIterator<Item = &'s Stmt>,
        (from, to): Span,
        released: &[Var],
        frame: &Frame,
    ) -> Option<Signature> {
        let local = |var: Var| self.def_use.is_local(var, from, to);
        let mut flow = LiveInOut::new(&local);
        region.into_iter().for_each(|stmt| flow.stmt(stmt));
        let mut inputs = flow.live_in()?;
        let mut zero = Vec::new();
        for &var in flow.live_out() {
            let certain = flow.is_certain(var);
            if self.vars.get(var.index())?.ty.is_buffer() {
                let fits = certain
                    && frame.owned.contains(&var)
                    && !inputs.contains(&var)
                    && !released.contains(&var);
                if !fits {
                    return None;
                }
            } else if !certain && !inputs.contains(&var) {
                inputs.push(var);
                zero.push(var);
            }
        }
        let outputs = flow.live_out().to_vec();
        if inputs.len() + outputs.len() > MOST_VALUES {
            return None;
        }
        // A parameter has a value from the start.
        zero.retain(|var| !self.def_use.is_param(*var));
        Some(Signature { inputs, outputs, zero })
    }

    /// Makes a function of a region.
    pub(crate) fn function(
        self,
        mut body: Vec<Stmt>,
        (from, to): Span,
        signature: Signature,
        frame: &Frame,
    ) -> Outlined {
        let Signature { inputs, outputs, zero: uncertain } = signature;
        let mut renaming = Renaming::new(self.vars);
        let params = inputs.iter().map(|var| renaming.var(*var)).collect();
        let results: Vec<Var> = outputs.iter().map(|var| renaming.var(*var)).collect();
        let outside: FxHashSet<Var> = inputs.iter().chain(&outputs).copied().collect();
        each_var_mut(&mut body, &mut |var| *var = renaming.var(*var));
        let mut owned: Vec<Var> = Vec::new();
        let mut moved = Vec::new();
        let mut start: Vec<Stmt> = Vec::new();
        for (new, &old) in renaming.old.iter().enumerate() {
            let new = Var::new(new);
            if frame.owned.contains(&old) && !inputs.contains(&old) {
                owned.push(new);
            }
            if !outside.contains(&old) && self.def_use.is_local(old, from, to) {
                moved.push(old);
                // Its initialisation moves with it.
                if frame.zero.contains(&old) {
                    let value = zero(self.vars[old.index()].ty);
                    start.extend(value.map(|value| Stmt::Set(new, value)));
                }
            }
        }
        start.append(&mut body);
        let args = inputs.iter().map(|var| match self.vars[var.index()].ty {
            VarType::Buffer(_) => Arg::Buffer(*var),
            VarType::Scalar(_) | VarType::Vector(..) => Arg::Scalar(Expr::Var(*var)),
        });
        let mut distinct: Vec<Var> =
            frame.distinct.iter().filter_map(|var| renaming.new.get(var).copied()).collect();
        distinct.sort_unstable();
        let function = Function {
            name: Arc::from(""),
            params,
            results,
            owned,
            distinct,
            vars: renaming.into_vars(),
            body: start,
            code: CodePlacement::NoInline,
            recursive: true,
        };
        Outlined { function, args: args.collect(), results: outputs, moved, zero: uncertain }
    }
}

/// The new variables of an outlined function, numbered in order of appearance.
struct Renaming<'f> {
    from: &'f [VarInfo],
    new: FxHashMap<Var, Var>,
    /// The old variables, by the numbers of the new ones.
    old: Vec<Var>,
}

impl<'f> Renaming<'f> {
    fn new(from: &'f [VarInfo]) -> Self {
        Self { from, new: FxHashMap::default(), old: Vec::new() }
    }

    fn into_vars(self) -> Vec<VarInfo> {
        let info = |var: &Var| self.from[var.index()].clone();
        self.old.iter().map(info).collect()
    }

    /// The new variable for an old one.
    fn var(&mut self, var: Var) -> Var {
        *self.new.entry(var).or_insert_with(|| {
            self.old.push(var);
            Var::new(self.old.len() - 1)
        })
    }
}
