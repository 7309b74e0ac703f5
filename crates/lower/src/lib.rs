//! From the typed tree to the core IR, by specialising evaluation.
//!
//! Before: a typed program with polymorphism, higher-order functions, tuples
//! and records. After: core functions over scalars and arrays of scalars that
//! pass the verifier.
//!
//! One pass does the work of several. The typed tree is *evaluated* with
//! lowering-time values ([`value`]): scalars are core operands, functions are
//! closures, a tuple is its components, an array of tuples a core array per
//! component. Operations on core operands emit statements into the function
//! under construction ([`state`]). So
//! - type variables are looked up in an environment of concrete types
//!   (monomorphisation),
//! - a function value never becomes a core value: it is applied where it is
//!   called (defunctionalisation),
//! - sizes are taken from the core arrays at hand. Where two sizes have to be
//!   equal and are not the same operand, a check and a coercion are emitted
//!   ([`size`]).
//!
//! Functions that take or give functions, that are local or tiny, or that ask for
//! it are evaluated in place; others become core functions, one for each structure
//! of types that they are used at ([`function`]). When copies have made a program
//! much larger, those that come to much are shared too ([`copies`]). Nothing is
//! optimised, apart from folding that keeps sizes canonical.

mod acc;
mod apply;
mod array;
mod attrs;
mod blank;
mod branch;
mod callee;
mod closure;
mod constant;
mod copies;
mod entry;
mod exp;
mod flat;
mod flat_map;
mod fold;
mod function;
mod index;
mod loops;
mod opaque;
mod order;
mod pattern;
mod payload;
mod place;
mod range;
mod scalar;
mod signature;
mod size;
mod soac;
mod state;
mod sum;
mod tree;
mod types;
mod value;

use check::tast::{Def, Program, VarId};
use constant::Constant;
use copies::Copies;
pub use copies::Limits;
use function::Instance;
use ir::decision::{Decision, Kind};
use ir::walk::VisitMut;
use ir::{Function, Soacs, Stack};
use opaque::Opaques;
use place::Places;
use rustc_hash::{FxHashMap, FxHashSet};
use state::Fun;
use std::rc::Rc;
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::span::{SourceMap, Span};
use value::Env;

/// What a part of the work comes to: an error is reported once, for the entry
/// point that needs the part.
type Res<T> = Result<T, Box<Diagnostic>>;

/// How large a definition is.
#[derive(Clone, Copy)]
struct Weight {
    /// Nodes of its tree, up to a limit.
    nodes: usize,
    /// Whether it mentions itself.
    recursive: bool,
}

/// The state of lowering one program.
struct Lower<'a> {
    program: &'a Program,
    places: Places<'a>,
    defs: FxHashMap<VarId, Arc<Def>>,
    /// The empty environment, of global definitions.
    root: Rc<Env>,
    /// The core function that is being made.
    f: Fun,
    /// Finished core functions.
    functions: Vec<Function<Soacs>>,
    instances: FxHashMap<String, Rc<Instance>>,
    constants: FxHashMap<VarId, Rc<Constant>>,
    /// Small constants that are a few scalar operations.
    plain: FxHashSet<VarId>,
    /// Values of constants in the function that is being made.
    loaded: FxHashMap<VarId, value::Value>,
    /// Whether all is checked, whatever the source says.
    safe: bool,
    /// How often each name has been given to a core function.
    fun_names: FxHashMap<Arc<str>, u32>,
    weights: FxHashMap<VarId, Weight>,
    /// How often each definition is being evaluated in place.
    entered: FxHashMap<VarId, u32>,
    /// How many core functions are being made of each recursive definition.
    making: FxHashMap<VarId, u32>,
    /// How many functions of combinators are around the expression.
    lambdas: u32,
    /// What definitions came to where they were evaluated in place.
    copies: Copies,
    /// The types of entry points.
    opaques: Opaques,
    /// The span of the expression that is being evaluated.
    span: Span,
    /// The calls around it, the outermost first.
    calls: Vec<Span>,
    /// What messages call the argument of an entry point that is being checked.
    argument: String,
    /// What was decided about functions, where somebody wants to know.
    decided: Option<Vec<Decision>>,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How much evaluation in place may copy.
    pub copies: Limits,
    /// Whether all is checked, though the source says that it is safe without (`#[unsafe]`).
    pub safe: bool,
}

/// Lowers a program. `sources` are the files that its spans point into.
///
/// # Errors
/// What is not supported yet, by name and place, one error per entry point at
/// most.
pub fn lower(
    program: &Program,
    sources: &SourceMap,
    options: Options,
) -> Result<ir::Program<Soacs>, Vec<Diagnostic>> {
    run(program, sources, options, None).map(|(program, _)| program)
}

/// As [`lower`], and what was decided about functions: which are evaluated where they
/// are called, and which become functions of the program.
///
/// # Errors
/// As those of [`lower`].
pub fn with_account(
    program: &Program,
    sources: &SourceMap,
    options: Options,
) -> Result<(ir::Program<Soacs>, Vec<Decision>), Vec<Diagnostic>> {
    run(program, sources, options, Some(Vec::new()))
}

fn run(
    program: &Program,
    sources: &SourceMap,
    options: Options,
    decided: Option<Vec<Decision>>,
) -> Result<(ir::Program<Soacs>, Vec<Decision>), Vec<Diagnostic>> {
    let defs: FxHashMap<VarId, Arc<Def>> =
        program.defs.iter().map(|def| (def.var, Arc::clone(def))).collect();
    let mut lower = Lower {
        program,
        places: Places::new(sources),
        defs,
        root: Env::root(),
        f: Fun::new(),
        functions: Vec::new(),
        instances: FxHashMap::default(),
        constants: FxHashMap::default(),
        plain: FxHashSet::default(),
        loaded: FxHashMap::default(),
        safe: options.safe,
        fun_names: FxHashMap::default(),
        weights: FxHashMap::default(),
        entered: FxHashMap::default(),
        making: FxHashMap::default(),
        lambdas: 0,
        copies: Copies::new(options.copies),
        opaques: Opaques::default(),
        span: Span::new(syntax::span::FileId(0), 0, 0),
        calls: Vec::new(),
        argument: String::new(),
        decided,
    };
    let mut entries = Vec::new();
    let mut errors: Vec<Diagnostic> = Vec::new();
    for entry in &program.entries {
        lower.fun_names.insert(Arc::clone(&entry.name), 0);
    }
    for entry in &program.entries {
        match lower.entry(entry) {
            Ok(entry) => entries.push(entry),
            Err(error) if errors.contains(&error) => {}
            Err(error) => errors.push(*error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let files = sources.ids().filter_map(|id| sources.get(id).map(|file| Arc::from(file.name()))).collect();
    let mut functions = lower.functions;
    for function in &mut functions {
        VisitMut::<Soacs>::walk_function(&mut NotNegative, function);
    }
    let program =
        ir::Program { stack: Stack::default(), files, opaques: lower.opaques.table, entries, functions };
    Ok((program, lower.decided.unwrap_or_default()))
}

/// Makes constant sizes that are negative zero: their checks fail.
struct NotNegative;

impl VisitMut<Soacs> for NotNegative {
    fn dim(&mut self, dim: &mut ir::Dim) {
        *dim = dim.not_negative();
    }
}

impl Lower<'_> {
    /// Notes what becomes of a call of a function, where somebody wants to know.
    fn decide(&mut self, def: &Def, kind: impl FnOnce(Arc<str>) -> Kind) {
        if self.decided.is_none() {
            return;
        }
        let function: Arc<str> = Arc::from(self.program.name(def.var));
        let prov = self.f.prov();
        let decision =
            Decision { function: function.clone(), places: self.f.provs.stack(prov), kind: kind(function) };
        self.decided.get_or_insert_default().push(decision);
    }

    /// An error: something that is not supported yet, here. Inside of the
    /// standard library, the place is that of the call that led there.
    fn unsupported<T>(&self, what: impl AsRef<str>) -> Res<T> {
        let message = format!("not supported yet: {}", what.as_ref());
        let error = Diagnostic::error("not-supported-yet", message);
        let user = |span: &&Span| !self.places.is_prelude(**span);
        let mut places = std::iter::once(&self.span).chain(self.calls.iter().rev());
        Err(Box::new(match places.find(user) {
            Some(span) if *span != self.span => {
                let text = "called from here in the standard library";
                error.at(*span, "").also(self.span, text)
            }
            _ => error.at(self.span, ""),
        }))
    }

    /// An error: a broken promise of an earlier stage or of this one.
    fn bug<T>(&self, what: impl AsRef<str>) -> Res<T> {
        let message = format!("compiler bug (please report it): lowering: {}", what.as_ref());
        Err(Box::new(Diagnostic::error("compiler-bug", message).at(self.span, "")))
    }
}
