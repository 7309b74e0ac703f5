//! Scalars of a segop as terms over what its body reads, and their tables.

use ir::Mems;
use ir::name::Name;
use ir::syntax::{Atom, BasicOp, Body, Exp, Lambda};
use ir::walk::with_stack;
use prim::{BinClass, BinOp, PrimType, Scalar, ScalarOp};
use rustc_hash::FxHashMap;

/// The largest number of operations of a term.
const MOST_OPERATIONS: usize = 24;
/// The largest number of values of a digit.
const MOST_VALUES: u64 = 16;
/// The largest number of unknown flags.
const MOST_FLAGS: usize = 3;

/// A scalar.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Term {
    Const(Scalar),
    /// A value that the body does not compute from scalars.
    Name(Name),
    Op(Box<ScalarOp<Self>>),
}

/// The definitions of a segop's scalars.
pub(super) struct Terms {
    definitions: FxHashMap<Name, ScalarOp<Atom>>,
    /// The values of the post lambda's parameters; none for parameters that are scanned.
    params: FxHashMap<Name, Option<Atom>>,
}

impl Terms {
    /// For a body with these mapped values, and a post lambda.
    pub(super) fn new(body: &Body<Mems>, post: &Lambda<Mems>, mapped: &[Atom]) -> Self {
        let scanned = post.params.len().saturating_sub(mapped.len());
        let values = std::iter::repeat_n(None, scanned).chain(mapped.iter().copied().map(Some));
        let mut definitions = FxHashMap::default();
        record(body, &mut definitions);
        record(&post.body, &mut definitions);
        Self { definitions, params: post.params.iter().map(|param| param.name).zip(values).collect() }
    }

    /// The term of an operand; `None` if it depends on a count, or is long.
    pub(super) fn of(&self, atom: Atom) -> Option<Term> {
        self.within(atom, &mut { MOST_OPERATIONS })
    }

    fn within(&self, atom: Atom, left: &mut usize) -> Option<Term> {
        let name = match atom {
            Atom::Const(value) => return Some(Term::Const(value)),
            Atom::Var(name) => name,
        };
        if let Some(value) = self.params.get(&name) {
            return self.within((*value)?, left);
        }
        let Some(op) = self.definitions.get(&name) else {
            return Some(Term::Name(name));
        };
        *left = left.checked_sub(1)?;
        let op = op.clone().try_map(|operand| self.within(operand, left).ok_or(())).ok()?;
        Some(Term::Op(Box::new(op)))
    }
}

/// Records the scalars that a body computes, those of branches included.
fn record(body: &Body<Mems>, definitions: &mut FxHashMap<Name, ScalarOp<Atom>>) {
    with_stack(|| {
        for stm in &body.stms {
            match (&stm.exp, stm.pat.as_slice()) {
                (Exp::Basic(BasicOp::Scalar(op)), [param]) => {
                    definitions.insert(param.name, op.clone());
                }
                (Exp::If { then_body, else_body, .. }, _) => {
                    record(then_body, definitions);
                    record(else_body, definitions);
                }
                _ => {}
            }
        }
    });
}

/// The table of functions of one digit and a few flags.
pub(super) struct Table<'t> {
    /// An integer, its type, and the number of its values, from 0 on.
    digit: Option<(&'t Term, PrimType, u64)>,
    flags: Vec<Name>,
}

/// A row of a table: the values of its arguments.
pub(super) struct Row<'t> {
    digit: Option<(&'t Term, Scalar)>,
    flags: Vec<(Name, bool)>,
}

impl<'t> Table<'t> {
    /// The arguments of terms whose values are truth values.
    pub(super) fn of(terms: &[&'t Term]) -> Option<Self> {
        let mut table = Self { digit: None, flags: Vec::new() };
        terms.iter().all(|term| table.add(term, PrimType::Bool)).then_some(table)
    }

    /// Adds the arguments of a term; returns false if there are others than digits and flags, or too many.
    fn add(&mut self, term: &'t Term, ty: PrimType) -> bool {
        if self.digit.is_some_and(|(digit, ..)| digit == term) {
            return true;
        }
        match term {
            Term::Const(_) => true,
            Term::Name(name) => {
                if !self.flags.contains(name) {
                    self.flags.push(*name);
                }
                ty == PrimType::Bool && self.flags.len() <= MOST_FLAGS
            }
            Term::Op(op) => {
                if let Some(values) = digit_values(op)
                    && self.digit.is_none()
                {
                    self.digit = Some((term, ty, values));
                    return true;
                }
                let types = op.operand_types();
                op.operands().into_iter().zip(types).all(|(operand, ty)| self.add(operand, ty))
            }
        }
    }

    /// Returns true if a condition holds in all rows.
    pub(super) fn holds(&self, condition: impl Fn(&Row<'t>) -> Option<bool>) -> bool {
        let values = self.digit.map_or(1, |(_, _, values)| values);
        (0..values << self.flags.len()).all(|at| {
            let flag = |(place, name): (usize, &Name)| (*name, at >> place & 1 != 0);
            let flags = self.flags.iter().enumerate().map(flag).collect();
            let value = at >> self.flags.len();
            let digit = self.digit.map(|(term, ty, _)| (term, Scalar::from_bits(ty, value)));
            condition(&Row { digit, flags }) == Some(true)
        })
    }
}

impl Row<'_> {
    /// The value of a term.
    pub(super) fn value(&self, term: &Term) -> Option<Scalar> {
        if let Some((digit, value)) = self.digit
            && digit == term
        {
            return Some(value);
        }
        match term {
            Term::Const(value) => Some(*value),
            Term::Name(name) => {
                let flag = self.flags.iter().find(|(known, _)| known == name)?;
                Some(Scalar::Bool(flag.1))
            }
            Term::Op(op) => {
                let op = op.as_ref().as_ref().try_map(|operand| self.value(operand).ok_or(())).ok()?;
                op.value(|_, _, _| None)
            }
        }
    }
}

/// The number of values, from 0 on, of an operation that has few.
fn digit_values(op: &ScalarOp<Term>) -> Option<u64> {
    let ScalarOp::Binary(op, ty, _, Term::Const(operand)) = op else {
        return None;
    };
    let operand = operand.bits();
    let values = if *op == BinOp::And && ty.is_int() {
        operand.checked_add(1)?
    } else if op.class() == BinClass::Remainder && matches!(op, BinOp::UMod | BinOp::SMod) {
        operand
    } else {
        return None;
    };
    (1..=MOST_VALUES).contains(&values).then_some(values)
}
