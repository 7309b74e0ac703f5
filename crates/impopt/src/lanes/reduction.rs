//! Recognises loops with loop-carried variables that LLVM vectorises: reductions of integers by
//! associative operators.

use imp::walk::{Use, each_operand, each_use};
use imp::{Expr, Stmt, Var};
use prim::{BinOp, PrimType, ScalarOp, UnClass};
use rustc_hash::{FxHashMap, FxHashSet};
use target::Machine;

/// The size in bytes of a vector register of processors with AVX2.
const AVX2: u32 = 32;

/// An accumulator, and the operator that has combined it in this iteration.
type Partial = (Var, Option<BinOp>);

/// Returns true if the loop-carried variables of the body are accumulators of integers or booleans,
/// each combined by one associative operator and read by nothing else. The body consists of sets
/// and loads.
pub(super) fn is_reduction(body: &[Stmt]) -> bool {
    let mut partials = accumulators(body);
    let vars: Vec<Var> = partials.keys().copied().collect();
    for stmt in body {
        let mut reads = 0;
        each_use(stmt, &mut |var, used| {
            reads += usize::from(used == Use::Reads && partials.contains_key(&var));
        });
        let (Stmt::Set(var, _) | Stmt::Load(var, _)) = stmt else {
            return false;
        };
        if reads == 0 {
            partials.remove(var);
            continue;
        }
        let Stmt::Set(_, e) = stmt else {
            return false;
        };
        let Some(partial) = combined(e, &partials).filter(|_| reads == 1) else {
            return false;
        };
        partials.insert(*var, partial);
    }
    let is_combined = |var: &Var| matches!(partials.get(var), Some((of, Some(_))) if of == var);
    !vars.is_empty() && vars.iter().all(is_combined)
}

/// The variables that the body reads before it sets them, not yet combined.
fn accumulators(body: &[Stmt]) -> FxHashMap<Var, Partial> {
    let (mut set, mut early) = (FxHashSet::default(), FxHashSet::default());
    for stmt in body {
        each_use(stmt, &mut |var, used| {
            if used == Use::Sets {
                set.insert(var);
            } else if !set.contains(&var) {
                early.insert(var);
            }
        });
    }
    let carried = early.into_iter().filter(|var| set.contains(var));
    carried.map(|var| (var, (var, None))).collect()
}

/// The accumulator that an expression is, or combines with something else.
fn combined(e: &Expr, partials: &FxHashMap<Var, Partial>) -> Option<Partial> {
    let of = |e: &Expr| {
        let Expr::Var(var) = e else { return None };
        partials.get(var).copied()
    };
    let Expr::Scalar(ScalarOp::Binary(op, ty, x, y)) = e else {
        return of(e);
    };
    let (var, before) = of(x).or_else(|| of(y))?;
    let may = op.is_associative() && !ty.is_float() && before.is_none_or(|before| before == *op);
    may.then_some((var, Some(*op)))
}

/// Returns true if every processor of this kind has vector instructions for the body:
/// none divides, and those before AVX2 neither multiply integers of 64 bits nor count bits.
pub(super) fn has_instructions(body: &[Stmt], machine: Machine) -> bool {
    fn expr(e: &Expr, machine: Machine) -> bool {
        let is_slow = matches!(e, Expr::Scalar(ScalarOp::Binary(BinOp::Mul, PrimType::I64, ..)))
            || matches!(e, Expr::Scalar(ScalarOp::Unary(op, ..)) if op.class() == UnClass::BitCount);
        let divides = matches!(e, Expr::Scalar(ScalarOp::Binary(op, ..)) if op.is_checked());
        let mut has = !divides && (!is_slow || machine.bytes >= AVX2);
        each_operand(e, &mut |part| has &= expr(part, machine));
        has
    }
    body.iter().all(
        |stmt| {
            if let Stmt::Set(_, e) | Stmt::Store(_, e) = stmt { expr(e, machine) } else { true }
        },
    )
}
