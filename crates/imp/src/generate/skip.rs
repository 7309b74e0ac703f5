//! Rounds of a reduction that change no accumulator.
//!
//! Operators that choose between their operands, such as the position of the
//! greatest element, soon change hardly anything: once an accumulator is great,
//! few elements are greater. Where an operator says by a condition that its
//! result is its left operand, a round first asks whether that holds in all
//! lanes, and only goes on if it does not:
//!
//! ```text
//! for w < W: changes[w] = !(<condition on acc[w], x>)
//! if any changes: for w < W: acc[w] = op acc[w] x
//! ```

use super::expr::{add, and};
use super::fold::Fold;
use super::function::Gen;
use super::reduce::at;
use crate::syntax::{Expr, LaneAccess, LanePositions, Off, Stmt, Var, VarType};
use ir::name::Name;
use ir::soac::Operator;
use ir::syntax::{Atom, BasicOp, Exp, Lambda};
use ir::{Mems, PassError};
use prim::{BinOp, CmpOp, PrimType, Scalar, UnOp};
use rustc_hash::FxHashMap;

/// Cost of a point (as decompositions estimate it) above which it is not worth
/// computing what a point maps to twice.
const CHEAP: i64 = 16;
/// Conditions of one operand above which it is not worth asking.
const MOST_CONDITIONS: usize = 8;

/// What has to hold for an operator to leave its left operands as they are: all
/// of these.
type Conditions = Vec<Condition>;

#[derive(Clone, PartialEq)]
enum Condition {
    /// A truth value in the operator, as it is or not.
    Is(Atom, bool),
    /// A comparison of operands.
    Compare(CmpOp, PrimType, Atom, Atom),
}

/// When an operator of scalars changes nothing, if it says so.
fn unchanged(op: &Lambda<Mems>) -> Option<Conditions> {
    let mut all = Vec::new();
    for (&result, param) in op.body.result.iter().zip(&op.params) {
        for condition in keeps(op, result, Atom::Var(param.name))? {
            if !all.contains(&condition) {
                all.push(condition);
            }
        }
    }
    Some(all)
}

/// When a value of the operator's body is this operand.
fn keeps(op: &Lambda<Mems>, value: Atom, operand: Atom) -> Option<Conditions> {
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

/// When a value is the operand, from what is known of the names before.
fn is_operand(
    value: Atom,
    operand: Atom,
    known: &FxHashMap<Name, Conditions>,
) -> Option<Conditions> {
    if value == operand {
        return Some(Vec::new());
    }
    known.get(&value.var()?).cloned()
}

/// When an operation's result is the operand. Chains that ask for more than a
/// few things are not worth asking.
fn chooses(
    basic: &BasicOp,
    operand: Atom,
    known: &FxHashMap<Name, Conditions>,
) -> Option<Conditions> {
    match basic {
        BasicOp::Select {
            ty: _,
            cond,
            if_true,
            if_false,
        } => {
            let (mut conditions, holds) = match is_operand(*if_true, operand, known) {
                Some(conditions) => (conditions, true),
                None => (is_operand(*if_false, operand, known)?, false),
            };
            conditions.push(Condition::Is(*cond, holds));
            (conditions.len() <= MOST_CONDITIONS).then_some(conditions)
        }
        BasicOp::Binary(binary, ty, x, y) => {
            let other = if *x == operand {
                *y
            } else if *y == operand {
                *x
            } else {
                return None;
            };
            let (cmp, small, great) = match binary {
                BinOp::SMax => (CmpOp::SLe, other, operand),
                BinOp::SMin => (CmpOp::SLe, operand, other),
                BinOp::UMax => (CmpOp::ULe, other, operand),
                BinOp::UMin => (CmpOp::ULe, operand, other),
                BinOp::Add
                | BinOp::Sub
                | BinOp::Mul
                | BinOp::SDiv
                | BinOp::UDiv
                | BinOp::SMod
                | BinOp::UMod
                | BinOp::SQuot
                | BinOp::SRem
                | BinOp::Shl
                | BinOp::LShr
                | BinOp::AShr
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Pow
                | BinOp::FAdd
                | BinOp::FSub
                | BinOp::FMul
                | BinOp::FDiv
                | BinOp::FMod
                | BinOp::FMin
                | BinOp::FMax => return None,
            };
            Some(vec![Condition::Compare(cmp, *ty, small, great)])
        }
        BasicOp::Atom(_)
        | BasicOp::Unary(..)
        | BasicOp::Compare(..)
        | BasicOp::SizeAtLeast { .. }
        | BasicOp::Convert { .. }
        | BasicOp::Fma(..)
        | BasicOp::Math(..)
        | BasicOp::Assert { .. }
        | BasicOp::Index { .. }
        | BasicOp::Update { .. }
        | BasicOp::FlatIndex { .. }
        | BasicOp::FlatUpdate { .. }
        | BasicOp::Concat { .. }
        | BasicOp::Iota { .. }
        | BasicOp::Replicate { .. }
        | BasicOp::Scratch { .. }
        | BasicOp::Rearrange { .. }
        | BasicOp::Reshape { .. }
        | BasicOp::Copy(_)
        | BasicOp::Manifest { .. }
        | BasicOp::ArrayLit { .. }
        | BasicOp::ConstArray { .. }
        | BasicOp::Opaque(_)
        | BasicOp::UpdateAcc { .. } => None,
    }
}

impl Gen<'_, '_> {
    /// The conditions of all operators, if each has some and it pays to ask.
    fn skip_conditions(fold: &Fold<'_>) -> Option<Vec<Conditions>> {
        let (space, operators) = (fold.space, fold.operators);
        let straight = |op: &Operator<Mems>| {
            op.op
                .body
                .stms
                .iter()
                .all(|stm| matches!(stm.exp, Exp::Basic(_)))
        };
        let cheap = space.independent && space.decomp.cost <= CHEAP;
        if !cheap || !operators.iter().all(straight) {
            return None;
        }
        operators.iter().map(|op| unchanged(&op.op)).collect()
    }

    /// A round that takes a point to each of the accumulators in `buffers`, from
    /// `first` on, and maps nothing: not run if no accumulator would change.
    pub(crate) fn skipping_round(
        &mut self,
        fold: &Fold<'_>,
        buffers: &[Var],
        first: &Expr,
        round: impl FnOnce(&mut Self) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let conditions = Self::skip_conditions(fold).filter(|_| self.fuel.take());
        let Some(conditions) = conditions else {
            return round(self);
        };
        let (space, types) = (fold.space, fold.types);
        let lanes = space.decomp.width;
        let width = i64::from(lanes);
        let changes = self.frame_array("changes", PrimType::Bool, width);
        self.for_seq("w", Expr::i64(0), Expr::i64(width), true, |g, w| {
            let index = g.bind_index(space.index);
            g.emit(Stmt::Set(index, add(first.clone(), Expr::Var(w))));
            g.point(space.body, |g, results| {
                let accs = g.load_all(buffers, types, Expr::Var(w), "acc");
                let values = g.values(&results[..types.len()], types)?;
                g.combine(fold.operators, &accs, &values)?;
                let mut kept = Expr::Const(Scalar::Bool(true));
                for condition in conditions.iter().flatten() {
                    kept = and(kept, g.condition(condition)?);
                }
                let changed = Expr::Unary(UnOp::Not, PrimType::Bool, Box::new(kept));
                g.emit(Stmt::Store(
                    at(changes, PrimType::Bool, Expr::Var(w)),
                    changed,
                ));
                Ok(())
            })
        })?;
        let mask = self.value(VarType::Vector(PrimType::Bool, lanes), "mask");
        self.emit(Stmt::LoadLanes {
            var: mask,
            from: LaneAccess {
                buffer: changes,
                elem: PrimType::Bool,
                lanes,
                at: LanePositions::Unit(Expr::i64(0)),
                off: Off::Skip,
            },
            mask: None,
        });
        let full = self.collect(round)?;
        let any = Expr::Any(Box::new(Expr::Var(mask)));
        self.emit(Stmt::If(any, full, Vec::new()));
        Ok(())
    }

    fn condition(&self, condition: &Condition) -> Result<Expr, PassError> {
        Ok(match condition {
            Condition::Is(atom, true) => self.atom(*atom)?,
            Condition::Is(atom, false) => {
                Expr::Unary(UnOp::Not, PrimType::Bool, Box::new(self.atom(*atom)?))
            }
            Condition::Compare(op, ty, x, y) => {
                let (x, y) = (Box::new(self.atom(*x)?), Box::new(self.atom(*y)?));
                Expr::Compare(*op, *ty, x, y)
            }
        })
    }
}
