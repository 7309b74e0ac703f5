//! Counts of operations in a program, by name and nesting, for `structure` blocks of test programs;
//! and the number of statements of a program.
//!
//! Names are those of test blocks: the kinds of expressions (`Screma`, `Hist`, `WithAcc`, `Loop`,
//! `If`, `Apply`; after flattening `SegMap`, `SegRed`, `SegScan`, `SegHist`, with operators as
//! `SegBinOp`) with the operations nested in them, and the basic operations (`BasicOp` for each,
//! and `BinOp`, `Index`, `Replicate`, ..). A segmap of one iteration, executed by one thread of a
//! device, is a `GPUBody`. A copy counts as a `Replicate` over no dimensions, a selection as an
//! `If`, a function of the mathematical library (including square roots) as an `Apply`, a fused
//! multiply-add as two `BinOp`. An `iota` that is only an input of combinators is not materialised
//! and not counted, nor are checks of the sizes of an entry point's arguments, which test blocks
//! regard as outside of the program. Types, sizes and results are no operations; functions added by
//! flattening are ignored.

use crate::seg::{SegKind, SegOp};
use crate::soac::{Screma, Soac, Soacs};
use crate::syntax::{
    BasicOp, Body, ENTRY_SIZES_MESSAGE, Exp, FunKind, Lambda, Level, LoopForm, MsgPart, Param, Stm,
};
use crate::walk::{Fields, Visit};
use crate::{Name, Program, Segs};
use prim::{ScalarOp, UnClass, UnOp};

/// A pattern of operations: a name, optionally preceded by names of the operations around it
/// (`Screma/BinOp`). With a leading `/`, the first one must be outermost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    anchored: bool,
    names: Vec<String>,
}

impl Pattern {
    /// Parses a pattern.
    pub fn new(text: &str) -> Self {
        let (anchored, rest) = text.strip_prefix('/').map_or((false, text), |rest| (true, rest));
        Self { anchored, names: rest.split('/').map(str::to_owned).collect() }
    }

    /// Returns true if the path matches: an operation, preceded by those around it, outermost
    /// first.
    fn matches(&self, path: &[&str]) -> bool {
        let skipped = path.len().checked_sub(self.names.len());
        skipped.is_some_and(|skipped| {
            (!self.anchored || skipped == 0)
                && path[skipped..].iter().zip(&self.names).all(|(a, b)| *a == b.as_str())
        })
    }
}

/// Properties of a level's operations needed to count them.
pub trait Counted {
    /// The operation's name in patterns.
    fn pattern_name(&self) -> &'static str;

    /// The arrays that it reads element by element.
    fn inputs(&self) -> &[Name];
}

impl Counted for Soac {
    fn pattern_name(&self) -> &'static str {
        match self {
            Self::Screma(_) => "Screma",
            Self::Hist { .. } => "Hist",
            Self::WithAcc { .. } => "WithAcc",
            Self::Stream { .. } => "Stream",
            Self::FlatMap { .. } => "FlatMap",
            Self::Jvp { .. } => "JVP",
            Self::Vjp { .. } => "VJP",
            Self::WithVjp { .. } => "WithVJP",
        }
    }

    fn inputs(&self) -> &[Name] {
        match self {
            Self::Screma(Screma { inputs, .. }) | Self::Hist { inputs, .. } => inputs,
            Self::WithAcc { .. } | Self::Stream { .. } | Self::FlatMap { .. } | crate::derivative_op!() => {
                &[]
            }
        }
    }
}

impl Counted for SegOp<Segs> {
    fn pattern_name(&self) -> &'static str {
        match self {
            Self::Seg(seg) => match &seg.kind {
                SegKind::ScanReduce(scan_reduce) if !scan_reduce.scans.is_empty() => "SegScan",
                SegKind::ScanReduce(scan_reduce) if !scan_reduce.reduces.is_empty() => "SegRed",
                SegKind::ScanReduce(_) if seg.is_single_iteration() => "GPUBody",
                SegKind::ScanReduce(_) => "SegMap",
                SegKind::Hist(_) => "SegHist",
                SegKind::FlatMap => "SegFlatMap",
            },
            Self::WithAcc { .. } => "WithAcc",
        }
    }

    fn inputs(&self) -> &[Name] {
        &[]
    }
}

/// For each pattern, the number of matching operations in the program.
pub fn count<L: Level<Op: Counted>>(program: &Program<L>, patterns: &[Pattern]) -> Vec<u64> {
    let kinds = program.functions.iter().map(|function| function.kind);
    let mut counter = Counter {
        patterns,
        counts: vec![0; patterns.len()],
        path: Vec::new(),
        uses: Vec::new(),
        kinds: kinds.collect(),
    };
    let own = |function: &&crate::syntax::Function<L>| !function.name.is_added();
    for function in program.functions.iter().filter(own) {
        let mut uses = Uses(vec![0; function.names.len()]);
        Visit::<L>::body(&mut uses, &function.body);
        counter.uses = uses.0;
        Visit::<L>::body(&mut counter, &function.body);
    }
    counter.counts
}

/// The number of statements in a program of any level, nested ones included: the measure of program
/// growth.
pub fn statements<L: Level>(program: &Program<L>) -> usize {
    let definitions =
        program.math.iter().map(|definition| body_statements::<Soacs>(&definition.function.body));
    program.functions.iter().map(|function| body_statements(&function.body)).chain(definitions).sum()
}

/// The number of statements in a body, nested ones included.
pub fn body_statements<L: Level>(body: &Body<L>) -> usize {
    struct Statements(usize);
    impl<L: Level> Visit<L> for Statements {
        fn stm(&mut self, stm: &Stm<L>) {
            self.0 += 1;
            self.walk_stm(stm);
        }
    }
    let mut counter = Statements(0);
    Visit::<L>::body(&mut counter, body);
    counter.0
}

/// Numbers of uses of names, except as inputs of combinators.
struct Uses(Vec<u32>);

impl<L: Level<Op: Counted>> Visit<L> for Uses {
    fn name(&mut self, name: &Name) {
        self.0[name.index()] += 1;
    }

    fn exp(&mut self, exp: &Exp<L>) {
        self.walk_exp(exp);
        if let Exp::Op(op) = exp {
            for input in op.inputs() {
                self.0[input.index()] -= 1;
            }
        }
    }
}

struct Counter<'a> {
    patterns: &'a [Pattern],
    counts: Vec<u64>,
    /// The operations around the current one, outermost first.
    path: Vec<&'static str>,
    /// Numbers of uses of the function's names, except as inputs of combinators.
    uses: Vec<u32>,
    /// The kinds of the program's functions: constants are read and not called.
    kinds: Vec<FunKind>,
}

impl Counter<'_> {
    /// Counts an operation; `parts` visits the operations nested in it.
    fn count_nested(&mut self, name: &'static str, parts: impl FnOnce(&mut Self)) {
        self.path.push(name);
        for (pattern, count) in self.patterns.iter().zip(&mut self.counts) {
            *count += u64::from(pattern.matches(&self.path));
        }
        parts(self);
        self.path.pop();
    }

    fn count_leaf(&mut self, name: &'static str) {
        self.count_nested(name, |_| ());
    }
}

impl<L: Level<Op: Counted>> Visit<L> for Counter<'_> {
    fn stm(&mut self, stm: &Stm<L>) {
        let unused = |param: &Param<L>| self.uses[param.name.index()] == 0;
        let counts = matches!(stm.exp, Exp::Basic(BasicOp::Iota { .. }));
        if !(counts && stm.pat.iter().all(unused) || checks_arguments(&stm.exp)) {
            self.exp(&stm.exp);
        }
    }

    fn lambda(&mut self, lambda: &Lambda<L>) {
        // In segops, lambdas are the operators.
        if self.path.last().is_some_and(|around| around.starts_with("Seg")) {
            self.count_nested("SegBinOp", |counter| counter.walk_lambda(lambda));
        } else {
            self.walk_lambda(lambda);
        }
    }

    fn exp(&mut self, exp: &Exp<L>) {
        match exp {
            Exp::Basic(op) => {
                // A fused multiply-add counts twice.
                let fused = matches!(op, BasicOp::Scalar(ScalarOp::Fma(..)));
                for _ in 0..=usize::from(fused) {
                    self.count_leaf("BasicOp");
                    self.count_leaf(basic(op));
                }
            }
            Exp::If { cond: _, then_body, else_body } => self.count_nested("If", |counter| {
                counter.count_nested("True", |counter| counter.body(then_body));
                counter.count_nested("False", |counter| counter.body(else_body));
            }),
            Exp::Loop { form, body, .. } => self.count_nested("Loop", |counter| {
                counter.count_leaf(match form {
                    LoopForm::For { .. } => "ForLoop",
                    LoopForm::While { .. } => "WhileLoop",
                });
                counter.body(body);
            }),
            Exp::Apply { fun, args: _ } => {
                if self.kinds[fun.index()] == FunKind::Function {
                    self.count_leaf("Apply");
                }
            }
            Exp::Op(op) => self.count_nested(op.pattern_name(), |counter| op.visit(counter)),
        }
    }
}

/// Returns true if this is a check of the sizes of an entry point's arguments.
fn checks_arguments<L: Level>(exp: &Exp<L>) -> bool {
    let Exp::Basic(BasicOp::Assert { msg, .. }) = exp else {
        return false;
    };
    matches!(msg.first(), Some(MsgPart::Text(text)) if text.starts_with(ENTRY_SIZES_MESSAGE))
}

/// The name of a basic operation in patterns.
fn basic(op: &BasicOp) -> &'static str {
    match op {
        BasicOp::Atom(_) => "SubExp",
        BasicOp::Scalar(ScalarOp::Unary(op, ..)) => unary(*op),
        BasicOp::Scalar(ScalarOp::Binary(..) | ScalarOp::Fma(..)) => "BinOp",
        BasicOp::Scalar(ScalarOp::Compare(..)) | BasicOp::SizeAtLeast { .. } => "CmpOp",
        BasicOp::Param { .. } => "UserParam",
        BasicOp::Scalar(ScalarOp::Convert { .. }) => "ConvOp",
        BasicOp::Scalar(ScalarOp::Select { .. }) => "If",
        BasicOp::Scalar(ScalarOp::Math(..)) => "Apply",
        BasicOp::Assert { .. } => "Assert",
        BasicOp::Index { .. } => "Index",
        BasicOp::Update { .. } => "Update",
        BasicOp::FlatIndex { .. } => "FlatIndex",
        BasicOp::FlatUpdate { .. } => "FlatUpdate",
        BasicOp::Concat { .. } => "Concat",
        BasicOp::Iota { .. } => "Iota",
        BasicOp::Replicate { .. } | BasicOp::Copy(_) => "Replicate",
        BasicOp::Scratch { .. } => "Scratch",
        BasicOp::Rearrange { .. } => "Rearrange",
        BasicOp::Reshape { .. } => "Reshape",
        BasicOp::Manifest { .. } => "Manifest",
        BasicOp::ArrayLit { .. } => "ArrayLit",
        BasicOp::ConstArray { .. } => "ArrayVal",
        BasicOp::Opaque(_) => "Opaque",
        BasicOp::UpdateAcc { .. } => "UpdateAcc",
    }
}

/// The name of a unary operator in patterns: some are functions of the mathematical library.
fn unary(op: UnOp) -> &'static str {
    let in_library = matches!(op.class(), UnClass::Root | UnClass::Rounding);
    if in_library { "Apply" } else { "UnOp" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_one_thread_is_a_gpu_body() {
        let program: Program<Segs> = crate::text::parse(
            "segs
machine gpu

fun main(n_0: i64, xs_1: [n_0]f32) : (f32)
{
  let s_2: [1]f32 = segmap tasks (one_3 < 1) chunks (1, 1, 1, 1) : (f32) -> {
    let x_4: f32 = xs_1[0i64]
    let root_5: f32 = fsqrt.f32 x_4
    let sum_6: f32 = fma.f32 x_4 x_4 root_5
    in (sum_6)
  }
  let ys_7: [n_0]f32 = segmap tasks (i_8 < n_0) chunks (1, 1, 1, 1) : (f32) -> {
    let y_9: f32 = s_2[0i64]
    in (y_9)
  }
  let r_10: f32 = ys_7[0i64]
  in (r_10)
}
",
        )
        .expect("the text is valid");
        let names = ["/GPUBody", "/GPUBody/Index", "/GPUBody/Apply", "BinOp", "SegMap", "/Index"];
        let counts = count(&program, &names.map(Pattern::new));
        assert_eq!(counts, [1, 1, 1, 2, 1, 1]);
    }

    #[test]
    fn patterns_match_whole_keys_or_suffixes() {
        let fits = |pattern: &str, path: &[&str]| Pattern::new(pattern).matches(path);
        let path = ["If", "True", "Screma", "BinOp"];
        assert!(fits("BinOp", &path) && fits("Screma/BinOp", &path));
        assert!(fits("/If/True/Screma/BinOp", &path));
        assert!(!fits("/BinOp", &path) && !fits("If/BinOp", &path));
        assert!(!fits("Screma", &path) && !fits("Loop/If/True/Screma/BinOp", &path));
    }
}
