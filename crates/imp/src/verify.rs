//! The verifier of the imperative IR. Back ends take [`Verified`] programs and rely on every invariant
//! listed here.
//!
//! Checked, in time linear in the program:
//! 1. Ids (variables, functions, checks, data, globals, tuning parameters) are in range; function
//!    names, launch ids and names of tuning parameters are unique.
//! 2. Operators are applied at types of their domain, to operands of those types; sizes, indices,
//!    strides, byte counts and costs are `i64`, conditions `bool`; a loop's counter and bounds have
//!    one integer type, `i64` where tasks take slices of its range.
//! 3. A variable is used as its kind: scalar, owned buffer or borrowed buffer. Owned are the
//!    variables in the list of a function or of a task loop, each in one list, once, and no
//!    parameter; `alloc`, `slots`, `share`, `release`, `keep` and results of calls go to owned
//!    variables, `borrow`, `kept`, `frame`, constant data and global reads to others.
//! 4. A function's parameters are distinct, and so are its results; its result buffers are in its
//!    list of owned variables.
//! 5. Inside a task loop, every variable that is set is a local or owned variable of that same loop
//!    or the counter of a loop in it; variables that belong to the loops around are only read, and
//!    variables that belong to a loop are not named outside it. A counter, or the end of a slice,
//!    is set by its loop alone. The captures of a task loop are the result of
//!    [`captures`](crate::captures), in that order.
//! 6. Calls match the callee's parameters and results, and no variable gets two results. The
//!    initialiser is never called, has no parameters and no results, and alone writes globals.
//! 7. Every call cycle goes through a function that is marked recursive.
//! 8. A check's values match the placeholders of its format.
//! 9. An entry's words are its function's parameters and results; constant data is a whole number
//!    of elements; no global is a vector.
//! 10. Vectors have 1 to [`MAX_LANES`](crate::MAX_LANES) lanes. The operands of an operator on
//!     vectors have equal lanes; masks are vectors of `bool` with the lanes of what they mask.
//!     Conditions, bounds, checks' values and everything else is scalar.
//! 11. A copy's plan is possible, by the constants in it (see [`CopyPlan`](crate::CopyPlan)).
//! 12. Memory is accessed only where it is reachable: host memory by the host; device, shared and
//!     private memory by threads. Blocks are made in the space of their variables' types: `alloc`
//!     by the host, in host or device memory, `frame` by the host, by a thread block in shared
//!     memory, by a thread in private memory. `share`, `borrow`, arguments and globals keep the
//!     space. The host copies to and from a device only between regions that are contiguous on both
//!     sides.
//! 13. A kernel ([`device`](crate::device)) is outside of tasks and other kernels. It owns nothing,
//!     and consists of scalars, arrays in shared memory (those of constant size fit) and threads,
//!     counted from 0, whose number depends on captures only.
//! 14. Threads, and functions that they call, do not allocate, share or release blocks, use slots,
//!     vectors or constant data, launch kernels, or read globals or tuning parameters; these
//!     functions neither call themselves nor have barriers or signals. Atomic operations are at
//!     types and with operators that support them; signals are in device memory.
//! 15. Barriers are in code that is uniform over the thread block.
//!
//! Not checked: that variables are set before they are read, that accesses stay in their block,
//! that lanes are within bounds, that `independent` and `distinct` are true, that lanes share no
//! variables, that the block of a borrowed variable lives as long as it is used.

mod function;
mod kernels;
mod uniform;

use crate::kernels::has_device_memory;
use crate::syntax::Space;
use crate::walk::callees_first;
use crate::{Entry, FunId, Program, Signature, VarType};
use function::FunctionCheck;
pub use kernels::has_kernels;
use prim::{PrimType, ScalarType};
use rustc_hash::FxHashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function it is in; empty for the program's tables.
    pub function: Arc<str>,
    /// The message.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.function.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "in {}: {}", self.function, self.message)
        }
    }
}

impl std::error::Error for VerifyError {}

/// A program that [`verify`] accepts: the input of back ends.
#[derive(Clone, PartialEq, Debug)]
pub struct Verified(Program);

impl Verified {
    /// Verifies a program.
    ///
    /// # Errors
    ///
    /// The [`listing`] of all violations.
    pub fn new(program: Program) -> Result<Self, String> {
        match verify(&program) {
            Ok(()) => Ok(Self(program)),
            Err(errors) => Err(listing(&program, &errors)),
        }
    }
}

impl Deref for Verified {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.0
    }
}

/// The violations, one a line, and the program's text.
pub fn listing(program: &Program, errors: &[VerifyError]) -> String {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    format!("{}\n{}", errors.join("\n"), crate::print(program))
}

/// Checks every invariant that the module's header lists.
///
/// # Errors
///
/// All violations.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    let mut tables = Tables {
        program,
        formats: program.checks.iter().map(|c| placeholders(&c.format)).collect(),
        launches: FxHashSet::default(),
        errors: Vec::new(),
    };
    tables.program();
    for (i, function) in program.functions.iter().enumerate() {
        FunctionCheck::new(&mut tables, FunId::new(i), function).run();
    }
    tables.call_cycles();
    tables.kernels();
    if tables.errors.is_empty() { Ok(()) } else { Err(tables.errors) }
}

/// The types of the placeholders in a check's format, or an error message.
fn placeholders(format: &str) -> Result<Vec<PrimType>, String> {
    let mut types = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        let found = &rest[at..];
        if found.starts_with("{{") || found.starts_with("}}") {
            rest = &found[2..];
            continue;
        }
        let name = found.strip_prefix('{').and_then(|t| t.split_once('}'));
        match name.and_then(|(name, after)| Some((name.parse::<ScalarType>().ok()?, after))) {
            Some((ty, after)) => {
                types.push(ty.prim());
                rest = after;
            }
            None => return Err(format!("invalid placeholder in check format {format:?}")),
        }
    }
    Ok(types)
}

struct Tables<'a> {
    program: &'a Program,
    formats: Vec<Result<Vec<PrimType>, String>>,
    launches: FxHashSet<(Arc<str>, u32)>,
    errors: Vec<VerifyError>,
}

impl Tables<'_> {
    fn error(&mut self, message: impl Into<String>) {
        self.errors.push(VerifyError { function: "".into(), message: message.into() });
    }

    fn program(&mut self) {
        let program = self.program;
        let mut names = FxHashSet::default();
        for function in &program.functions {
            if !names.insert(&function.name) {
                self.error(format!("two functions are named {}", function.name));
            }
        }
        for bad in self.formats.clone().into_iter().filter_map(Result::err) {
            self.error(bad);
        }
        for (i, data) in program.data.iter().enumerate() {
            if !(data.bytes.len() as u64).is_multiple_of(data.elem.size()) {
                self.error(format!("data#{i} is not a whole number of elements"));
            }
        }
        for (i, ty) in program.globals.iter().enumerate() {
            if matches!(ty, VarType::Vector(..)) {
                self.error(format!("global#{i} is a vector"));
            }
        }
        if let Some(init) = program.init {
            match program.functions.get(init.index()) {
                None => self.error("the initialiser does not exist"),
                Some(f) if !f.params.is_empty() || !f.results.is_empty() => {
                    self.error("the initialiser has parameters or results");
                }
                Some(_) => {}
            }
        }
        let mut names = FxHashSet::default();
        for tunable in &program.tunables {
            if !names.insert(&tunable.name) {
                self.error(format!("two tuning parameters are named {}", tunable.name));
            }
        }
        for problem in program.opaques.problems() {
            self.error(problem);
        }
        for entry in &program.entries {
            self.entry(entry);
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let Some(function) = self.program.functions.get(entry.fun.index()) else {
            self.error(format!("the function of entry point {} does not exist", entry.signature.name));
            return;
        };
        let Signature { params, result, .. } = &entry.signature;
        let sides = [
            ("parameters", &params[..], &function.params),
            ("results", std::slice::from_ref(result), &function.results),
        ];
        let array = if has_device_memory(function) { VarType::Buffer(Space::Device) } else { VarType::HOST };
        for (what, values, vars) in sides {
            let mut words = Vec::new();
            for (leaf, _) in self.program.opaques.flatten_values(values) {
                if leaf.rank == 0 {
                    words.push(VarType::Scalar(leaf.scalar.prim()));
                } else {
                    words.push(array);
                    let size = VarType::Scalar(PrimType::I64);
                    words.extend(std::iter::repeat_n(size, leaf.rank));
                }
            }
            let types: Vec<_> = vars.iter().filter_map(|v| function.vars.get(v.index())).collect();
            let known = self.program.opaques.contains_types_of(values);
            if !known || words.len() != vars.len() || !types.iter().map(|t| t.ty).eq(words) {
                self.error(format!(
                    "the {what} of entry point {} do not match its function",
                    entry.signature.name
                ));
            }
        }
    }

    /// Reports call cycles among functions that are not marked recursive.
    fn call_cycles(&mut self) {
        let functions = &self.program.functions;
        let mut ends: Vec<bool> = functions.iter().map(|f| f.recursive).collect();
        for at in callees_first(functions) {
            ends[at] = true;
        }
        if let Some(i) = ends.iter().position(|ends| !ends) {
            let function = functions[i].name.clone();
            let message = "calls itself through functions not marked recursive".to_owned();
            self.errors.push(VerifyError { function, message });
        }
    }
}
