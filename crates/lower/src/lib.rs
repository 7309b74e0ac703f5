//! Lowering: from the typed tree to the core IR, by specialising evaluation.
//!
//! Before: a typed program with polymorphism, higher-order functions, tuples and records. After:
//! core functions over scalars and arrays of scalars that pass the verifier.
//!
//! One pass does the work of several. The typed tree is *evaluated* with lowering-time values
//! ([`value`]): scalars are core operands, functions are closures, a tuple is its components, an
//! array of tuples is a core array per component. Operations on core operands emit statements into
//! the function under construction ([`state`]). So
//! - type variables are looked up in an environment of concrete types (monomorphisation),
//! - a function value never becomes a core value: it is applied where it is called
//!   (defunctionalisation),
//! - sizes are taken from the core arrays. Where two sizes have to be equal and are not the same
//!   operand, a check and a coercion are emitted ([`size`]).
//!
//! Functions that take or return functions, that are local or tiny, or that have the attribute
//! `inline` are inlined; others become core functions, one for each structure of types that they
//! are used at ([`function`]). When copies have made a program much larger, large inlined functions
//! are shared, too ([`inline_budget`]). Nothing is optimised, apart from folding that keeps sizes
//! canonical.

mod acc;
mod apply;
mod array;
mod attrs;
mod blank;
mod branch;
mod closure;
mod constant;
mod constant_fold;
mod derivative;
mod entry;
mod eval_order;
mod exp;
mod flat_map;
mod function;
mod index;
mod inline;
mod inline_budget;
mod lmad;
mod location;
mod loops;
mod math;
mod opaque;
mod pattern;
mod payload;
mod queries;
mod range;
mod scalar;
mod signature;
mod size;
mod soac;
mod state;
mod sum;
mod types;
mod value;

use check::tast::{Def, Program, VarId};
use constant::Constant;
use function::Instance;
use inline_budget::Copies;
pub use inline_budget::Limits;
use ir::remark::{Remark, RemarkKind};
use ir::walk::VisitMut;
use ir::{FunId, Function, Soacs, Stack};
use location::SpanLocations;
use opaque::Opaques;
use rustc_hash::{FxHashMap, FxHashSet};
use state::FunctionBuilder;
use std::rc::Rc;
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::span::{SourceMap, Span};
use value::Env;

/// The result of lowering a part of the program. An error is reported once, for the entry point
/// that needs the part.
type Res<T> = Result<T, Box<Diagnostic>>;

/// The size of a definition.
#[derive(Clone, Copy)]
struct DefinitionSize {
    /// The number of nodes of its tree, up to a limit.
    nodes: usize,
    /// True if it mentions itself.
    recursive: bool,
}

/// The state of lowering one program.
struct Lower<'a> {
    program: &'a Program,
    locations: SpanLocations<'a>,
    defs: FxHashMap<VarId, Arc<Def>>,
    /// The empty environment, of global definitions.
    root: Rc<Env>,
    /// The core function that is being made.
    f: FunctionBuilder,
    /// Finished core functions, with the ids by which calls name them until all are finished.
    functions: Vec<(FunId, Function<Soacs>)>,
    /// The number of ids of functions so far.
    n_functions: usize,
    instances: FxHashMap<String, Rc<Instance>>,
    constants: FxHashMap<VarId, Rc<Constant>>,
    /// Small constants that are a few scalar operations.
    scalar_constants: FxHashSet<VarId>,
    /// Values of constants in the function that is being made.
    loaded: FxHashMap<VarId, value::Value>,
    /// True if all checks are made, even where the source has `#[unsafe]`.
    safe: bool,
    /// The number of core functions with each base name.
    fun_names: FxHashMap<Arc<str>, u32>,
    weights: FxHashMap<VarId, DefinitionSize>,
    /// The number of nested inlined evaluations of each definition.
    inline_depth: FxHashMap<VarId, u32>,
    /// The number of core functions being made of each recursive definition.
    making: FxHashMap<VarId, u32>,
    /// The number of combinators' functions around the expression.
    combinator_depth: u32,
    /// The statistics of inlining.
    copies: Copies,
    /// The definitions of mathematical functions.
    definitions: math::Definitions,
    /// The opaque types of entry points.
    opaques: Opaques,
    /// The span of the expression that is being evaluated.
    span: Span,
    /// The calls around it, outermost first.
    calls: Vec<Span>,
    /// The name, in messages, of the entry point's argument that is being checked.
    argument: String,
    /// The decisions about functions; `None` if no remarks are requested.
    remarks: Option<Vec<Remark>>,
}

/// Options of lowering.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Limits of code growth by inlining.
    pub copies: Limits,
    /// True if all checks are made, even where the source has `#[unsafe]`.
    pub safe: bool,
}

/// Lowers a program. `sources` are the files that its spans point into.
///
/// # Errors
/// Constructs that are not supported yet, with their source spans; at most one error per entry
/// point.
pub fn lower(
    program: &Program,
    sources: &SourceMap,
    options: Options,
) -> Result<ir::Program<Soacs>, Vec<Diagnostic>> {
    run(program, sources, options, None).map(|(program, _)| program)
}

/// As [`lower`], with the decisions about functions: which are inlined, and which become functions
/// of the program.
///
/// # Errors
/// As those of [`lower`].
pub fn lower_with_remarks(
    program: &Program,
    sources: &SourceMap,
    options: Options,
) -> Result<(ir::Program<Soacs>, Vec<Remark>), Vec<Diagnostic>> {
    run(program, sources, options, Some(Vec::new()))
}

fn run(
    program: &Program,
    sources: &SourceMap,
    options: Options,
    decided: Option<Vec<Remark>>,
) -> Result<(ir::Program<Soacs>, Vec<Remark>), Vec<Diagnostic>> {
    let defs: FxHashMap<VarId, Arc<Def>> =
        program.defs.iter().map(|def| (def.var, Arc::clone(def))).collect();
    let mut lower = Lower {
        program,
        locations: SpanLocations::new(sources),
        defs,
        root: Env::root(),
        f: FunctionBuilder::new(),
        functions: Vec::new(),
        n_functions: 0,
        instances: FxHashMap::default(),
        constants: FxHashMap::default(),
        scalar_constants: FxHashSet::default(),
        loaded: FxHashMap::default(),
        safe: options.safe,
        fun_names: FxHashMap::default(),
        weights: FxHashMap::default(),
        inline_depth: FxHashMap::default(),
        making: FxHashMap::default(),
        combinator_depth: 0,
        copies: Copies::new(options.copies),
        definitions: math::Definitions::default(),
        opaques: Opaques::default(),
        span: Span::new(syntax::span::FileId(0), 0, 0),
        calls: Vec::new(),
        argument: String::new(),
        remarks: decided,
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
    if lower.definitions.differentiated
        && errors.is_empty()
        && let Err(error) = lower.definitions_of_derivatives()
    {
        errors.push(*error);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let files = sources.ids().filter_map(|id| sources.get(id).map(|file| Arc::from(file.name()))).collect();
    let (mut functions, mut places) = (Vec::new(), vec![FunId::new(0); lower.n_functions]);
    for (id, mut function) in lower.functions {
        VisitMut::<Soacs>::walk_function(&mut NotNegative, &mut function);
        places[id.index()] = FunId::new(functions.len());
        functions.push(function);
    }
    let mut program = ir::Program {
        levels: Stack::default(),
        files,
        opaques: lower.opaques.table,
        entries,
        functions,
        math: lower.definitions.done.into_iter().collect(),
    };
    program.renumber(|id| places[id.index()]);
    Ok((program, lower.remarks.unwrap_or_default()))
}

/// Replaces negative constant sizes by zero: their checks fail.
struct NotNegative;

impl VisitMut<Soacs> for NotNegative {
    fn dim(&mut self, dim: &mut ir::Dim) {
        *dim = dim.clamped_at_zero();
    }
}

impl Lower<'_> {
    /// Records a decision about a call of a function, if remarks are requested.
    fn remark(&mut self, def: &Def, kind: impl FnOnce(Arc<str>) -> RemarkKind) {
        if self.remarks.is_none() {
            return;
        }
        let function: Arc<str> = Arc::from(self.program.name(def.var));
        let prov = self.f.prov();
        let decision =
            Remark { function: function.clone(), spans: self.f.provs.stack(prov), kind: kind(function) };
        self.remarks.get_or_insert_default().push(decision);
    }

    /// An error: a construct that is not supported yet, at the current span. In the standard
    /// library, it is reported at the call from the user's program.
    fn unsupported<T>(&self, what: impl AsRef<str>) -> Res<T> {
        let message = format!("not supported yet: {}", what.as_ref());
        let error = Diagnostic::error("not-supported-yet", message);
        let user = |span: &&Span| !self.locations.is_prelude(**span);
        let mut spans = std::iter::once(&self.span).chain(self.calls.iter().rev());
        Err(Box::new(match spans.find(user) {
            Some(span) if *span != self.span => {
                let text = "in the standard library, here";
                error.at(*span, "").also(self.span, text)
            }
            _ => error.at(self.span, ""),
        }))
    }

    /// An error: an invariant of an earlier stage or of this one does not hold.
    fn bug<T>(&self, what: impl AsRef<str>) -> Res<T> {
        let message = format!("compiler bug (please report it): lowering: {}", what.as_ref());
        Err(Box::new(Diagnostic::error("compiler-bug", message).at(self.span, "")))
    }
}
