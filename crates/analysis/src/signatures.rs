//! Functions as their callers see them.

use crate::statements;
use ir::syntax::{Exp, Function, Stm};
use ir::walk::LevelOp;
use ir::{FunId, Level, MathDefinitions, Program};

/// The interface of a function as its callers see it.
#[derive(Clone, Debug)]
pub struct Signature {
    /// For each parameter, true if a call consumes the argument.
    pub consumed: Vec<bool>,
    /// For each result, the indices of the parameters that it may alias.
    pub aliases: Vec<Vec<u32>>,
}

/// The signatures of a program's functions, and the definitions of its mathematical functions.
#[derive(Clone, Debug, Default)]
pub struct Signatures {
    functions: Vec<Signature>,
    math: MathDefinitions,
    differentiates: bool,
}

impl Signatures {
    /// Returns the signatures of all functions of a program.
    pub fn of<L: Level>(program: &Program<L>) -> Self {
        let signature = |function: &Function<L>| Signature {
            consumed: function.params.iter().map(|p| p.consumed).collect(),
            aliases: function.ret.iter().map(|r| r.aliases.clone()).collect(),
        };
        let functions = program.functions.iter().map(signature).collect();
        let is_derivative = |stm: &Stm<L>| matches!(&stm.exp, Exp::Op(op) if op.aliased_operands().is_some());
        let differentiates =
            program.functions.iter().any(|function| statements::any(&function.body, &is_derivative));
        Self { functions, math: program.math.clone(), differentiates }
    }

    /// Returns true if the function may consume this argument; true for unknown functions.
    pub fn consumes(&self, fun: FunId, argument: usize) -> bool {
        let signature = self.get(fun);
        signature.is_none_or(|signature| signature.consumed.get(argument) != Some(&false))
    }

    /// Returns the signature of a function, if it is known.
    pub fn get(&self, fun: FunId) -> Option<&Signature> {
        self.functions.get(fun.index())
    }

    /// Returns true if the program has derivatives. Until they are statements, no operation may move out of a branch
    /// if its derivative may be infinite: the zero adjoint of the branch that does not run would be multiplied by it.
    pub fn differentiates(&self) -> bool {
        self.differentiates
    }

    /// Returns the definitions of mathematical functions.
    pub fn math(&self) -> &MathDefinitions {
        &self.math
    }
}
