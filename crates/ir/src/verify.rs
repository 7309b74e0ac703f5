//! The verifier: the invariants of well-formed programs, at each level.
//!
//! Scope (`scope`; if violated, the function is not checked further):
//! 1. A name is bound once in its function and is in the function's name table.
//! 2. A name is used only after its binding and inside of its scope. The names around lambdas and
//!    bodies are in scope in them; names bound in a body are not in scope outside of it.
//! 3. Provenances are in the function's provenance table.
//!
//! Types (`types`, `basic`, `ops`):
//! 4. Operands have the types that the operation requires (the table in `prim`), arities agree,
//!    array operands are arrays, certificates are certificates.
//! 5. A dimension is a non-negative constant or a name of type `i64`; [`Dim::Ext`](crate::Dim::Ext)
//!    occurs only in function results (and in the results of a `flatmap`'s lambda) and refers to an
//!    `i64` result.
//! 6. A pattern has the types of its expression. Shapes are equal if their dimensions are, and
//!    names only equal themselves: where two sizes are equal for another reason, a `coerce` says
//!    so.
//! 7. Telescopes: types are equal after substitution of the results of a branch, of a loop's
//!    initial or next values, or of a call's arguments for the names that the pattern or the
//!    parameters bind.
//! 8. Operators have twice as many parameters as results, neutral elements have the types of the
//!    results; inputs have the outer size of the operation.
//! 9. Accumulators carry the token of their `withacc`, its shape and element types.
//! 10. Called functions are functions of the program, constants have no parameters, function names
//!     are unique, entry points have the signatures of their functions. Opaque types satisfy the
//!     invariants of their table ([`value::interface`]), and their names are unique.
//!
//! Consumption (`consume`, with aliases recomputed):
//! 11. Nothing is used after it, or anything that it may alias, was consumed.
//! 12. Consumed are neither parameters that are not declared so, nor names from outside of a body
//!     that may run more than once.
//! 13. A function's result aliases only the parameters that it declares.
//! 14. The next value of a consumed loop parameter aliases nothing from outside of the loop.
//!
//! Levels (`ops`):
//! 15. Segops: levels are nested as those of the target machine ([`target::levels`]); `lane` is a
//!     dimension; decompositions have `grain`, `max_chunks`, `width` and `streams` of at least 1
//!     and a power of two as `depth`; `width` is above 1 only with commutative operators, `streams`
//!     only with a `width` of 1, as a multiple of `depth`.
//! 16. Memory: exactly the bound arrays have a block and an index function; the block is a memory
//!     block; the index function has the array's rank and extents.
//!
//! Tuning parameters (`types`, `basic`):
//! 17. Those of a function have different names; a comparison or decomposition refers to one of its
//!     function.
//!
//! Mathematical functions (`basic`, `math`):
//! 18. An operation that stands for a definition has one in the program. A definition has the
//!     function's parameters and result; it consists of scalar operations, of which none is a
//!     mathematical function, and conditionals, without certificates.
//!
//! Memory (`memory`):
//! 19. Operands and results of basic operations are in the memory of the function's machine, or in
//!     one of the executing thread or its block; a transfer connects two memories on the heap.
//!
//! Not checked: that results of a call do not alias each other (if they may, they name a common
//! parameter); that a `coerce` without a certificate was proven; that the two shapes of a `reshape`
//! have equally many elements; that index functions stay inside of blocks and agree between
//! branches and pattern; that constants are in an order in which they can be computed; that
//! operators are associative; that facts are true (only that they are on operations that can have
//! them).
//!
//! The time is linear in the size of the program (times the nesting of conditionals, for
//! consumption). All errors are collected; [`listing`] shows them inside of the program.

mod basic;
mod consume;
mod math;
mod memory;
mod ops;
mod scope;
mod types;

pub use consume::{Callees, Conflict, conflicts};
pub use types::Checker;

use crate::facts::{DimOrder, FactFlag};
use crate::mem::Mems;
use crate::name::{FunName, Name};
use crate::seg::Segs;
use crate::soac::Soacs;
use crate::syntax::{EntryPoint, EntryValue, FunKind, Function, Level, OpaqueTypes, Program, Signature};
use crate::text::{self, Note, TextLevel};
use crate::types::Type;
use crate::version;
use rustc_hash::FxHashSet;
use std::fmt;
use target::memories::MemoryId;

/// The invariants of a level's operations.
pub trait Rules<L: Level> {
    /// Checks the operation and all bodies in it. The pattern is compared with the result types by
    /// the caller.
    fn verify(&self, c: &mut Checker<'_, L>);

    /// Returns true if the operation can have this fact.
    fn allows_fact(&self, mark: FactFlag) -> bool {
        let _ = mark;
        false
    }

    /// Returns true if the operation's results can have this dimension order.
    fn allows_layout(&self, order: &DimOrder) -> bool {
        let _ = order;
        false
    }
}

/// The invariants of a level's annotations.
pub trait AnnotationRules {
    /// Checks the annotation of a name of this type; `mem_type` returns the type of a block. The
    /// error is the message.
    fn verify(&self, ty: &Type, mem_type: &dyn Fn(crate::mem::Block) -> Option<Type>) -> Result<(), String>;
}

impl AnnotationRules for () {
    fn verify(&self, _: &Type, _: &dyn Fn(crate::mem::Block) -> Option<Type>) -> Result<(), String> {
        Ok(())
    }
}

/// A level with invariants.
pub trait VerifyLevel: Level<Op: Rules<Self>, Ann: AnnotationRules> {
    /// True if statements may carry facts. No pass rewrites them afterwards.
    const FACTS: bool = false;
    /// True if statements may carry preferred dimension orders of their results.
    const LAYOUTS: bool = false;

    /// Checks the invariants of a whole function, whose arrays are in this memory.
    fn verify_function(function: &Function<Self>, home: MemoryId, errors: &mut Vec<VerifyError>) {
        let _ = (function, home, errors);
    }
}

impl VerifyLevel for Soacs {}

impl VerifyLevel for Segs {
    const LAYOUTS: bool = true;
}

impl VerifyLevel for Mems {
    const FACTS: bool = true;

    fn verify_function(function: &Function<Self>, home: MemoryId, errors: &mut Vec<VerifyError>) {
        memory::check(function, home, errors);
    }
}

/// A violated invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function.
    pub function: FunName,
    /// The first name that the statement (or parameter) binds.
    pub name: Option<Name>,
    /// Description of the violation.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {}", self.function)?;
        if let Some(name) = self.name {
            write!(f, ", at name {}", name.0)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Checks all invariants.
///
/// # Errors
///
/// All violations, in program order; at most a few hundred.
pub fn verify<L: VerifyLevel>(program: &Program<L>) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    let functions = &program.functions;
    let mut names = FxHashSet::default();
    for function in functions {
        if !names.insert(&function.name) {
            errors.push(error_in(&function.name, "two functions have this name"));
        }
    }
    math::check(&program.math, &mut errors);
    for function in &program.functions {
        let before = errors.len();
        scope::check(function, &mut errors);
        if errors.len() > before {
            continue;
        }
        let stack = version::stack(function.version.as_ref(), program.levels);
        types::check(function, functions, &program.math, stack, &mut errors);
        if errors.len() > before {
            continue;
        }
        consume::check(function, functions, &mut errors);
        L::verify_function(function, stack.memory, &mut errors);
        if errors.len() > 200 {
            break;
        }
    }
    let first = program.functions.first();
    let nobody = FunName("".into());
    for problem in program.opaques.problems() {
        let function = first.map_or(&nobody, |function| &function.name);
        errors.push(error_in(function, &problem));
    }
    for entry in &program.entries {
        match functions.get(entry.fun.index()) {
            Some(function) => check_entry(&program.opaques, entry, function, &mut errors),
            None => {
                let name = &entry.signature.name;
                errors.push(error_in(&nobody, &format!("the function of entry point {name} does not exist")));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The program's text, with the errors as comments at the statements concerned.
pub fn listing<L: TextLevel>(program: &Program<L>, errors: &[VerifyError]) -> String {
    let notes: Vec<Note> = errors
        .iter()
        .map(|error| Note {
            function: error.function.clone(),
            name: error.name,
            text: format!("error: {}", error.message),
        })
        .collect();
    text::print_with_notes(program, &notes)
}

fn error_in(function: &FunName, message: &str) -> VerifyError {
    VerifyError { function: function.clone(), name: None, message: message.to_owned() }
}

fn check_entry<L: Level>(
    opaques: &OpaqueTypes,
    entry: &EntryPoint,
    function: &Function<L>,
    errors: &mut Vec<VerifyError>,
) {
    let mut fail = |message: String| errors.push(error_in(&function.name, &message));
    if function.kind == FunKind::Constant {
        fail(format!("entry point {} is a constant", entry.signature.name));
    }
    let params: Vec<&Type> = signature(function.params.iter().map(|p| &p.param.ty));
    let results: Vec<&Type> = signature(function.ret.iter().map(|r| &r.ty));
    let Signature { params: values, result, .. } = &entry.signature;
    for (what, values, types) in
        [("parameters", &values[..], &params), ("results", std::slice::from_ref(result), &results)]
    {
        if !opaques.contains_types_of(values) || !values_fit(opaques, values, types) {
            fail(format!("the {what} of entry point {} do not match the function", entry.signature.name));
        }
    }
    let core_params = function.params.iter().filter(|p| !matches!(p.param.ty, Type::Mem(_)));
    let consumed: Vec<bool> = core_params.map(|p| p.consumed).collect();
    let mut at = 0;
    for value in &entry.signature.params {
        let end = (at + opaques.n_words(value.ty)).min(consumed.len());
        if !value.unique && consumed[at.min(end)..end].contains(&true) {
            fail(format!(
                "entry point {} consumes {}, which is not declared unique",
                entry.signature.name, value.name
            ));
        }
        at = end;
    }
}

/// The types of the values in an entry point's signature, that is, without memory blocks.
fn signature<'a>(types: impl Iterator<Item = &'a Type>) -> Vec<&'a Type> {
    types.filter(|ty| !matches!(ty, Type::Mem(_))).collect()
}

fn values_fit(opaques: &OpaqueTypes, values: &[EntryValue], mut types: &[&Type]) -> bool {
    for value in values {
        for leaf in opaques.leaves(value.ty) {
            let Some((own, rest)) = types.split_at_checked(leaf.n_words()) else {
                return false;
            };
            let Some((value, sizes)) = own.split_last() else {
                return false;
            };
            let elem = leaf.scalar.prim();
            let fits = match leaf.rank {
                0 => **value == Type::Prim(elem),
                rank => value.elem() == Some(elem) && value.rank() == rank,
            };
            if !fits || sizes.iter().any(|ty| **ty != Type::I64) {
                return false;
            }
            types = rest;
        }
    }
    types.is_empty()
}
