//! No-op predicates of operators that select one of their operands, such as the position of the
//! greatest element: the condition under which an operator's result is its left operand identifies
//! iterations without effect.
//!
//! ```text
//! \(a, x) -> smax a x          identity \(a, x) -> sle x a
//! \(a, i, x, j) ->             identity \(a, i, x, j) -> slt x a
//!   let c = slt x a
//!   in (if c then a else x, if c then i else j)
//! ```

use ir::mem::MemAnn;
use ir::name::Name;
use ir::scan_reduce::ScanReduce;
use ir::soac::Operator;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Lambda, Param, Stm};
use ir::walk::{Substitution, free_names_exp, refresh_lambda};
use ir::{Mems, NameTable, Prov, Type};
use prim::{BinClass, BinOp, CmpOp, PrimType, Scalar, ScalarOp, UnOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of conditions of one operand for which a predicate pays.
const MOST_CONDITIONS: usize = 8;

/// Returns true if each operator is straight-line code and shows when its left operands stay
/// unchanged.
pub(super) fn has_noop_predicate(scan_reduce: &ScanReduce<Mems>) -> bool {
    let straight = |op: &Operator<Mems>| {
        let mut stms = op.op.body.stms.iter();
        stms.all(|stm| matches!(stm.exp, Exp::Basic(_)))
    };
    let mut operators = scan_reduce.operators();
    operators.all(|op| straight(op) && unchanged(&op.op).is_some())
}

/// Builds the predicate that is true if all operators leave their left operands unchanged, given
/// [`has_noop_predicate`].
pub(super) fn noop_predicate(scan_reduce: &ScanReduce<Mems>, names: &mut NameTable) -> Option<Lambda<Mems>> {
    let (mut held, mut values, mut stms) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = Atom::Const(Scalar::Bool(true));
    for op in scan_reduce.operators() {
        let own = refresh_lambda(&op.op, names, &mut Substitution::default());
        let conditions = unchanged(&own)?;
        let needed = needed(&own.body, &conditions);
        let mut params = own.params;
        values.extend(params.split_off(op.neutral.len()));
        held.extend(params);
        let own = own.body.stms.into_iter();
        stms.extend(own.filter(|stm| stm.pat.iter().any(|param| needed.contains(&param.name))));
        for condition in conditions {
            let holds = bind(names, &mut stms, condition.op());
            let both = BasicOp::binary(BinOp::And, PrimType::Bool, all, holds);
            all = match all {
                Atom::Const(_) => holds,
                Atom::Var(_) => bind(names, &mut stms, both),
            };
        }
    }
    held.extend(values);
    Some(Lambda { params: held, body: Body { stms, result: vec![all] }, ret: vec![Type::BOOL] })
}

/// The names that conditions depend on, transitively.
fn needed(body: &Body<Mems>, conditions: &[Condition]) -> FxHashSet<Name> {
    let mut needed: FxHashSet<Name> = FxHashSet::default();
    for condition in conditions {
        match condition {
            Condition::Is(x, _) => needed.extend(x.var()),
            Condition::Compare(_, _, x, y) => needed.extend(x.var().into_iter().chain(y.var())),
        }
    }
    for stm in body.stms.iter().rev() {
        if stm.pat.iter().any(|param| needed.contains(&param.name)) {
            needed.extend(free_names_exp(&stm.exp));
        }
    }
    needed
}

/// Binds a condition to a fresh name.
fn bind(names: &mut NameTable, stms: &mut Vec<Stm<Mems>>, op: BasicOp) -> Atom {
    let name = names.fresh("identity");
    stms.push(Stm {
        pat: vec![Param { name, ty: Type::BOOL, ann: MemAnn::None }],
        aux: Aux::at(Prov::NONE),
        exp: Exp::Basic(op),
    });
    name.into()
}

/// A conjunction of conditions under which an operator leaves its left operands unchanged.
type Conditions = Vec<Condition>;

#[derive(Clone, PartialEq)]
enum Condition {
    /// A boolean in the operator, with the value that it must have.
    Is(Atom, bool),
    /// A comparison of operands.
    Compare(CmpOp, PrimType, Atom, Atom),
}

/// The conditions under which an operator of scalars has no effect, if they can be derived.
fn unchanged(op: &Lambda<Mems>) -> Option<Conditions> {
    let mut all = Vec::new();
    for (&result, param) in op.body.result.iter().zip(&op.params) {
        for condition in selects(op, result, Atom::Var(param.name))? {
            if !all.contains(&condition) {
                all.push(condition);
            }
        }
    }
    Some(all)
}

/// The conditions under which a value of the operator's body is this operand.
fn selects(op: &Lambda<Mems>, value: Atom, operand: Atom) -> Option<Conditions> {
    let mut known = FxHashMap::default();
    for stm in &op.body.stms {
        if let ([param], Exp::Basic(basic)) = (stm.pat.as_slice(), &stm.exp)
            && let Some(conditions) = chooses(basic, operand, &known)
        {
            known.insert(param.name, conditions);
        }
    }
    is_operand(value, operand, &known)
}

/// The conditions under which a value is the operand, given those of earlier names.
fn is_operand(value: Atom, operand: Atom, known: &FxHashMap<Name, Conditions>) -> Option<Conditions> {
    if value == operand {
        return Some(Vec::new());
    }
    known.get(&value.var()?).cloned()
}

/// The conditions under which an operation's result is the operand. Chains with more than a few
/// conditions are not followed.
fn chooses(basic: &BasicOp, operand: Atom, known: &FxHashMap<Name, Conditions>) -> Option<Conditions> {
    if let BasicOp::Scalar(ScalarOp::Select { ty: _, cond, if_true, if_false }) = basic {
        let (mut conditions, holds) = match is_operand(*if_true, operand, known) {
            Some(conditions) => (conditions, true),
            None => (is_operand(*if_false, operand, known)?, false),
        };
        conditions.push(Condition::Is(*cond, holds));
        return (conditions.len() <= MOST_CONDITIONS).then_some(conditions);
    }
    let BasicOp::Scalar(ScalarOp::Binary(binary, ty, x, y)) = basic else {
        return None;
    };
    let other = if *x == operand {
        *y
    } else if *y == operand {
        *x
    } else {
        return None;
    };
    let (cmp, small, great) = if let BinClass::Max(cmp) = binary.class() {
        (cmp, other, operand)
    } else if let BinClass::Min(cmp) = binary.class() {
        (cmp, operand, other)
    } else {
        return None;
    };
    (!ty.is_float()).then(|| vec![Condition::Compare(cmp, *ty, small, great)])
}

impl Condition {
    /// The operation that computes it.
    fn op(self) -> BasicOp {
        match self {
            Self::Is(atom, true) => BasicOp::Atom(atom),
            Self::Is(atom, false) => BasicOp::unary(UnOp::Not, PrimType::Bool, atom),
            Self::Compare(op, ty, x, y) => BasicOp::compare(op, ty, x, y),
        }
    }
}
