//! Coverage of IR operations by programs, at each level: collected from the keywords of the text
//! forms.

use driver::{Ir, Observer, PassInfo, Remark};
use prim::{BinOp, CmpOp, ConvOp, MathFun, UnOp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

/// Operations of the first level, besides scalar operators.
const SOACS: [&str; 26] = [
    "map",
    "reduce",
    "scan",
    "redomap",
    "scanomap",
    "screma",
    "post",
    "hist",
    "flatmap",
    "withacc",
    "loop",
    "while",
    "if",
    "assert",
    "concat",
    "replicate",
    "iota",
    "scratch",
    "rearrange",
    "reshape",
    "coerce",
    "copy",
    "manifest",
    "with",
    "constarray",
    "updateacc",
];

/// Operations that flattening introduces.
const SEGS: [&str; 6] = ["segmap", "segred", "segscan", "seghist", "segflatmap", "size_at_least"];

/// Statements and expressions of the imperative IR.
const IMP: [&str; 30] = [
    "tasks",
    "independent",
    "for",
    "while",
    "if",
    "alloc",
    "frame",
    "share",
    "slots",
    "keep",
    "kept",
    "borrow",
    "release",
    "copy",
    "data",
    "check",
    "global",
    "lanes",
    "mask",
    "strides",
    "splat",
    "any",
    "all",
    "extract",
    "insert",
    "shift",
    "pack",
    "count",
    "tunable",
    "compared",
];

/// Remarks about loops.
const REMARKS: [&str; 2] = ["tiled", "lanes"];
/// What calls do.
const CALLS: [&str; 1] = ["tiled"];

/// A mathematical function in the table; one name is also that of an operator on integers.
const fn math_word(fun: MathFun) -> &'static str {
    if matches!(fun, MathFun::Pow) { "math.pow" } else { fun.name() }
}

/// Scalar operators as the text forms spell them.
fn scalar_operators() -> Vec<&'static str> {
    let binary = BinOp::ALL.iter().map(|op| op.name());
    let unary = UnOp::ALL.iter().map(|op| op.name());
    let compare = CmpOp::ALL.iter().map(|op| op.name());
    let convert = ConvOp::ALL.iter().map(|op| op.name());
    let math = MathFun::ALL.iter().map(|fun| math_word(*fun));
    binary.chain(unary).chain(compare).chain(convert).chain(math).chain(["select", "fma"]).collect()
}

/// The number of programs with each operation.
#[derive(Clone, Default, Debug)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
}

/// The operations of one program.
#[derive(Default)]
pub struct Seen {
    words: BTreeSet<String>,
}

impl Seen {
    /// Records the operations in a program's text form.
    pub fn add(&mut self, ir: &Ir) {
        let level = level(ir);
        let text = ir.print();
        // Messages and names with special characters are quoted.
        for unquoted in text.split('"').step_by(2) {
            let words = unquoted.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
            for word in words {
                let word = MathFun::from_spelling(word)
                    .map_or_else(|| word.split('.').next().unwrap_or_default(), |(fun, _)| math_word(fun));
                if word.len() > 1 && word.starts_with(|c: char| c.is_ascii_lowercase()) {
                    self.words.insert(format!("{level} {word}"));
                }
            }
        }
    }

    /// Records that a call ran tiles.
    pub(crate) fn add_tiles(&mut self) {
        self.words.insert("calls tiled".to_owned());
    }
}

impl Observer for Seen {
    fn decisions(&mut self, _: &PassInfo, decisions: &[Remark]) {
        let names = decisions.iter().map(|remark| remark.kind.name());
        self.words.extend(names.map(|name| format!("remarks {name}")));
    }

    fn pass(&mut self, pass: &PassInfo, _: Duration, ir: &Ir) {
        // The last state of each level, and the fused program.
        if ["fuse", "simplify-2", "lanes"].contains(&pass.name.as_str()) {
            self.add(ir);
        }
    }
}

fn level(ir: &Ir) -> &'static str {
    match ir {
        Ir::Soacs(_) => "soacs",
        Ir::Segs(_) => "segs",
        Ir::Mems(_) => "mems",
        Ir::Imp(_) => "imp",
    }
}

impl Coverage {
    /// Counts a program.
    pub fn count(&mut self, seen: &Seen) {
        for name in names() {
            if seen.words.contains(&name) {
                *self.counts.entry(name).or_default() += 1;
            }
        }
    }

    /// Adds a number of programs to an operation.
    pub fn add(&mut self, name: &str, programs: u64) {
        *self.counts.entry(name.to_owned()).or_default() += programs;
    }

    /// The operations that occurred, with numbers of programs.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// A table: each level's operations, then the operations that did not occur.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut missing = Vec::new();
        let mut column = 0;
        let mut last = "";
        let names = names();
        for name in &names {
            let Some(count) = self.counts.get(name) else {
                missing.push(name.as_str());
                continue;
            };
            let (level, operation) = name.split_once(' ').unwrap_or((name, ""));
            if level != last {
                let gap = if last.is_empty() { "" } else { "\n\n" };
                let _ = writeln!(text, "{gap}{level}:");
                (last, column) = (level, 0);
            }
            if column == 5 {
                text.push('\n');
                column = 0;
            }
            let _ = write!(text, "  {operation:12}{count:8}");
            column += 1;
        }
        let _ = write!(text, "\n\nnever: {}\n", missing.join(", "));
        text
    }
}

/// All operations, each with its level.
fn names() -> Vec<String> {
    let scalars = scalar_operators();
    let levels = [
        ("soacs", &SOACS[..]),
        ("soacs", &scalars[..]),
        ("segs", &SEGS),
        ("imp", &IMP),
        ("remarks", &REMARKS),
        ("calls", &CALLS),
    ];
    let named =
        levels.iter().flat_map(|(level, words)| words.iter().map(move |word| format!("{level} {word}")));
    named.collect()
}
