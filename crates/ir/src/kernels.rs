//! Refusals of kernels, the reasons for which an operation cannot be a device kernel, and the
//! functions that device threads can call.
//!
//! A device thread can call a function that works on scalars, is not recursive, and uses neither
//! constants nor tuning parameters. Segops are checked by `mem::offload`, which moves operations that
//! cannot be kernels to the host; all later passes rely on that.

use crate::name::FunId;
use crate::seg::Segs;
use crate::syntax::{Exp, FunKind, Function, Param, Program};
use crate::walk::{Visit, with_stack};
use std::fmt;

/// The reason for which an operation cannot be a device kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A reduction or scan updates accumulators.
    AccumulatorInScanReduce,
    /// A scan passes arrays to its post lambda.
    MappedArraysOfScan,
    /// The values of operators, of all threads of a block, exceed shared memory.
    LargeOperator,
    /// An operator takes arrays.
    ArrayOperator,
    /// An operator creates arrays that are not in registers.
    AllocatingOperator,
    /// An array's size is unknown before the kernel, and it is not built in place.
    VariantArray,
    /// A flat map.
    FlatMap,
    /// An update of an accumulator whose operator devices do not apply atomically.
    NotAtomic,
    /// A constant array that is not in registers.
    LargeConstant,
    /// A tuning parameter of the source program whose default is a variable.
    ComputedParameter,
    /// A `withacc` returns further arrays.
    ReturnedBlocks,
    /// A call that threads cannot make.
    Call(CallRefusal),
}

/// The reason for which device threads cannot call a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallRefusal {
    /// It calls itself, directly or indirectly.
    Recursive,
    /// Its parameters or results are arrays.
    OnArrays,
    /// It uses arrays.
    Arrays,
    /// It contains segops.
    Parallel,
    /// It compares sizes with thresholds or reads tuning parameters of the source program.
    Tuned,
    /// It is a constant, or reads one.
    Constant,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::AccumulatorInScanReduce => "accumulators in reductions and scans",
            Self::MappedArraysOfScan => "scans that return mapped arrays",
            Self::LargeOperator => "operators whose values exceed shared memory",
            Self::ArrayOperator => "operators on arrays",
            Self::AllocatingOperator => "operators that allocate arrays",
            Self::VariantArray => "arrays whose sizes differ between threads",
            Self::FlatMap => "flat maps",
            Self::NotAtomic => "accumulators whose operator is not atomic",
            Self::LargeConstant => "large constant arrays",
            Self::ComputedParameter => "tuning parameters whose default is computed",
            Self::ReturnedBlocks => "memory blocks passed through control flow",
            Self::Call(CallRefusal::Recursive) => "recursive functions",
            Self::Call(CallRefusal::OnArrays) => "functions on arrays",
            Self::Call(CallRefusal::Arrays) => "functions with arrays",
            Self::Call(CallRefusal::Parallel) => "functions with parallel operations",
            Self::Call(CallRefusal::Tuned) => "functions that read tuning parameters",
            Self::Call(CallRefusal::Constant) => "functions that read constants",
        };
        write!(f, "{what} in device kernels")
    }
}

/// The functions of a program, as callees of device threads.
#[derive(Default)]
pub struct ThreadCallees(Vec<(FunKind, Option<CallRefusal>)>);

impl ThreadCallees {
    /// Analyses the functions of a program.
    pub fn of(program: &Program<Segs>) -> Self {
        let mut walk =
            Walk { functions: &program.functions, states: vec![State::Unseen; program.functions.len()] };
        let each = program.functions.iter().enumerate();
        Self(each.map(|(at, f)| (f.kind, walk.visit(FunId::new(at)))).collect())
    }

    /// The reason for which kernels cannot call a function, if there is one. The values of constants
    /// are read before the kernel.
    pub fn refusal(&self, fun: FunId) -> Option<CallRefusal> {
        self.0.get(fun.index()).filter(|(kind, _)| *kind == FunKind::Function)?.1
    }

    /// Returns true if threads can call a function.
    pub fn allow(&self, fun: FunId) -> bool {
        self.0.get(fun.index()) == Some(&(FunKind::Function, None))
    }
}

#[derive(Clone, Copy)]
enum State {
    Unseen,
    /// Its callees are being visited.
    Open,
    Seen(Option<CallRefusal>),
}

/// A depth-first walk of the call graph.
struct Walk<'a> {
    functions: &'a [Function<Segs>],
    states: Vec<State>,
}

impl Walk<'_> {
    fn visit(&mut self, id: FunId) -> Option<CallRefusal> {
        match self.states[id.index()] {
            State::Seen(refusal) => return refusal,
            State::Open => return Some(CallRefusal::Recursive),
            State::Unseen => {}
        }
        self.states[id.index()] = State::Open;
        let function = &self.functions[id.index()];
        let mut uses = Uses::default();
        Visit::<Segs>::body(&mut uses, &function.body);
        let arrays = function.params.iter().any(|p| p.param.ty.is_array())
            || function.ret.iter().any(|ret| ret.ty.is_array());
        let constant = (function.kind == FunKind::Constant).then_some(CallRefusal::Constant);
        let mut refusal = constant.or(arrays.then_some(CallRefusal::OnArrays)).or(uses.refusal);
        for called in uses.calls {
            let of_callee = with_stack(|| self.visit(called));
            refusal = refusal.or(of_callee);
        }
        self.states[id.index()] = State::Seen(refusal);
        refusal
    }
}

/// The properties of a function by itself.
#[derive(Default)]
struct Uses {
    refusal: Option<CallRefusal>,
    calls: Vec<FunId>,
}

impl Visit<Segs> for Uses {
    fn param(&mut self, param: &Param<Segs>) {
        if param.ty.is_array() {
            self.refusal = self.refusal.or(Some(CallRefusal::Arrays));
        }
    }

    fn exp(&mut self, exp: &Exp<Segs>) {
        match exp {
            Exp::Op(_) => self.refusal = self.refusal.or(Some(CallRefusal::Parallel)),
            Exp::Basic(crate::parameter_op!()) => {
                self.refusal = self.refusal.or(Some(CallRefusal::Tuned));
            }
            Exp::Apply { fun, .. } => self.calls.push(*fun),
            Exp::Basic(_) | Exp::If { .. } | Exp::Loop { .. } => {}
        }
        self.walk_exp(exp);
    }
}
