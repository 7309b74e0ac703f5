//! Functions: signature, declarations, entry and exits.
//!
//! A function takes the context, its parameters and the address of each result, and returns 0 or,
//! on failure, 1. Owned variables (those of its task loops included) are declared at its top as
//! null, followed by frame arrays; failures jump to its end, which releases owned blocks. Results
//! are stored when nothing can fail any more, so callers may pass uninitialised variables.

use crate::dialect::Dialect;
use crate::error::Res;
use crate::expr::Expressions;
use crate::names;
use crate::scope::{self, Declared, Scopes};
use imp::{Function, LoopMode, Program, Stmt, Var, VarType};
use prim::PrimType;
use rustc_hash::FxHashSet;
use std::fmt::Write as _;

/// Deeper blocks are not indented further: generated programs can be nested very deeply.
const MOST_INDENTED: usize = 24;

/// State shared by all functions of a text.
pub struct TranslationUnit<'p> {
    pub program: &'p Program,
    pub dialect: &'p Dialect,
    /// The functions' identifiers.
    pub names: Vec<String>,
}

/// Prints the body of a function or kernel.
pub struct Printer<'a, 'p> {
    pub unit: &'a TranslationUnit<'p>,
    pub exprs: Expressions<'a>,
    pub scopes: Scopes,
    /// The text printed so far.
    out: String,
    indent: usize,
    /// The number of blocks begun so far.
    blocks: usize,
    /// The frame arrays named so far, which are declared at the top.
    frames: Vec<(Var, PrimType, u64)>,
    /// The target of failure exits.
    pub leaves: Leaves,
    /// True if the function contains a failure exit.
    pub has_failure_exit: bool,
    /// True if a check of the kernel can fail.
    pub kernel_can_fail: bool,
}

/// The target of code whose check fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    /// The end of the function, which releases what it owns.
    Function,
    /// A return from the function, which owns nothing.
    Empty,
    /// A return from the kernel.
    Kernel,
    /// The label with this number before the next barrier; the thread executes nothing more but
    /// barriers.
    Segment(usize),
}

impl<'p> TranslationUnit<'p> {
    /// Collects the state that functions of a program share.
    pub fn new(program: &'p Program, dialect: &'p Dialect) -> Self {
        Self { program, dialect, names: names::functions(program) }
    }

    /// The function at a position, and its name.
    pub fn function(&self, at: usize) -> (&'p Function, &str) {
        (&self.program.functions[at], &self.names[at])
    }

    /// A function's signature, without terminator.
    pub fn signature(&self, at: usize) -> Res<String> {
        let (function, name) = self.function(at);
        let vars = names::variables(function);
        let exprs = Expressions { dialect: self.dialect, vars: &function.vars, names: &vars };
        let Dialect { function_prefix: before, context_param: context, .. } = self.dialect;
        let mut text = format!("{before}int {name}({context}");
        for var in &function.params {
            let ty = exprs.spelled(*var)?;
            // Writing to a string cannot fail.
            let _ = write!(text, ", {}{}", declarator(&ty), exprs.name(*var));
        }
        for (i, var) in function.results.iter().enumerate() {
            let ty = exprs.spelled(*var)?;
            let _ = write!(text, ", {}*to{i}", declarator(&ty));
        }
        text.push(')');
        Ok(text)
    }

    /// A function's whole text.
    pub fn definition(&self, at: usize) -> Res<String> {
        let (function, _) = self.function(at);
        let vars = names::variables(function);
        let mut owned = function.owned.clone();
        let mut frames = FxHashSet::default();
        imp::walk::each_stmt(&function.body, &mut |stmt| {
            if let Stmt::For(f) = stmt
                && let LoopMode::Tasks(launch) = &f.mode
            {
                owned.extend(&launch.owned);
            }
            if let Stmt::Frame { buffer, .. } = stmt {
                frames.insert(*buffer);
            }
        });
        let others: FxHashSet<Var> =
            (function.params.iter()).chain(&owned).chain(&frames).chain(&function.results).copied().collect();
        let scopes = scope::of(&function.body, function.vars.len(), &others);
        let mut writer = Printer::new(self, (function, &vars), scopes);
        if owned.is_empty() {
            writer.leaves = Leaves::Empty;
        }
        if function.recursive {
            writer.line("if (br_stack_low(ctx)) return 1;");
        }
        writer.statements(&function.body)?;
        writer.exits(function, &owned);
        let (body, top) = (std::mem::take(&mut writer.out), writer.top(function, &owned)?);
        Ok(format!("{} {{\n{top}{body}}}\n", self.signature(at)?))
    }
}

/// A type and the space, if any, before a declared name.
pub fn declarator(ty: &str) -> String {
    if ty.ends_with('*') { ty.to_owned() } else { format!("{ty} ") }
}

impl<'a, 'p> Printer<'a, 'p> {
    /// Creates a writer for a function's code, with no text.
    pub fn new(
        unit: &'a TranslationUnit<'p>,
        (function, names): (&'a Function, &'a [String]),
        scopes: Scopes,
    ) -> Self {
        Self {
            unit,
            exprs: Expressions { dialect: unit.dialect, vars: &function.vars, names },
            scopes,
            out: String::new(),
            indent: 1,
            blocks: 0,
            frames: Vec::new(),
            leaves: Leaves::Function,
            has_failure_exit: false,
            kernel_can_fail: false,
        }
    }

    /// Takes the text printed so far.
    pub fn written(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Adds a line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.indent.min(MOST_INDENTED) {
            self.out.push_str("    ");
        }
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    /// Adds a line and indents the following ones.
    pub fn begin_block(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.indent += 1;
    }

    /// Indents the following lines.
    pub fn indent(&mut self) {
        self.indent += 1;
    }

    /// Ends an indented block with a line.
    pub fn end_block(&mut self, text: &str) {
        self.indent -= 1;
        self.line(text);
    }

    /// Exits if a condition holds, after the statements in `before`.
    pub fn fail_if(&mut self, cond: &str, before: &str) {
        self.has_failure_exit = true;
        let leave = match self.leaves {
            Leaves::Function => "goto fail;".to_owned(),
            Leaves::Empty => "return 1;".to_owned(),
            Leaves::Kernel => "return;".to_owned(),
            Leaves::Segment(label) => format!("BR_LEAVE goto next{label};"),
        };
        let several = matches!(self.leaves, Leaves::Segment(_));
        let action = if before.is_empty() && !several {
            leave
        } else {
            format!("{{ {before} {leave} }}").replacen("{  ", "{ ", 1)
        };
        self.line(format!("if (BR_UNLIKELY({cond})) {action}"));
    }

    /// Records a frame array, for its declaration at the top.
    pub fn frame(&mut self, var: Var, elem: PrimType, count: u64) {
        self.frames.push((var, elem, count));
    }

    /// Prints the statements of a block, with its declarations.
    pub fn statements(&mut self, stmts: &'a [Stmt]) -> Res<()> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut declared = self.declare_variables().into_iter().peekable();
            for (at, stmt) in stmts.iter().enumerate() {
                let mut own = false;
                while let Some((_, var)) = declared.next_if(|(position, _)| *position == at) {
                    if sets(stmt) == Some(var) {
                        own = true;
                    } else {
                        let declaration = self.declaration(var)?;
                        self.line(format!("{declaration};"));
                    }
                }
                self.stmt(stmt, own)?;
            }
            Ok(())
        })
    }

    /// Counts the block that begins and returns its declarations.
    pub fn declare_variables(&mut self) -> Declared {
        let number = self.blocks;
        self.blocks += 1;
        let declared = self.scopes.blocks.get_mut(number);
        declared.map(std::mem::take).unwrap_or_default()
    }

    /// A variable's declarator with its type.
    pub fn declaration(&self, var: Var) -> Res<String> {
        let ty = self.exprs.spelled(var)?;
        Ok(format!("{}{}", declarator(&ty), self.exprs.name(var)))
    }

    /// The left-hand side of an assignment to a variable: its declaration if `declares`.
    pub fn target(&self, var: Var, declares: bool) -> Res<String> {
        if declares { self.declaration(var) } else { Ok(self.exprs.name(var).to_owned()) }
    }

    /// The declarations at the top of the function.
    fn top(&mut self, function: &Function, owned: &[Var]) -> Res<String> {
        let mut known: FxHashSet<Var> = owned.iter().chain(&function.params).copied().collect();
        for &var in &function.results {
            if !known.insert(var) {
                continue;
            }
            let declaration = self.declaration(var)?;
            let zero = match self.exprs.var_type(var) {
                VarType::Buffer(_) => "NULL",
                VarType::Scalar(_) | VarType::Vector(..) => "0",
            };
            self.line(format!("{declaration} = {zero};"));
        }
        for var in owned {
            let name = self.exprs.name(*var);
            self.line(format!("u8 *{name} = NULL;"));
        }
        self.declare_frames()?;
        Ok(self.written())
    }

    /// Declares the frame arrays recorded so far.
    pub fn declare_frames(&mut self) -> Res<()> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.sort_by_key(|(var, ..)| *var);
        frames.dedup_by_key(|(var, ..)| *var);
        for (var, elem, count) in frames {
            let (name, space) = (self.exprs.name(var), self.exprs.space(var));
            // In shared memory the array has the space qualifier, but pointers to it may need
            // another.
            let shared = self.exprs.is_shared(var);
            let qualifier = if shared { "BR_SHARED " } else { space };
            self.line(format!("{qualifier}{elem}_m {name}_storage[{}];", count.max(1)));
            self.line(format!("{space}u8 *{name} = ({space}u8 *){name}_storage;"));
        }
        Ok(())
    }

    /// The exits of the function: results, and the failure exit.
    fn exits(&mut self, function: &Function, owned: &[Var]) {
        let results: FxHashSet<Var> = function.results.iter().copied().collect();
        for var in function.owned.iter().filter(|var| !results.contains(var)) {
            self.release(*var);
        }
        for (i, var) in function.results.iter().enumerate() {
            let name = self.exprs.name(*var);
            self.line(format!("*to{i} = {name};"));
        }
        self.line("return 0;");
        if self.has_failure_exit && self.leaves == Leaves::Function {
            self.out.push_str("fail:\n");
            for var in owned {
                self.release(*var);
            }
            self.line("return 1;");
        }
    }

    fn release(&mut self, var: Var) {
        let name = self.exprs.name(var);
        self.line(format!("br_unref(ctx, {name});"));
    }
}

/// The variable that a statement sets by a plain assignment, which may declare it.
fn sets(stmt: &Stmt) -> Option<Var> {
    if let Stmt::Set(v, _)
    | Stmt::Load(v, _)
    | Stmt::Borrow(v, _)
    | Stmt::ConstData(v, _)
    | Stmt::ReadGlobal(v, _)
    | Stmt::Slots(imp::Slots::Get { var: v, .. }) = stmt
    {
        Some(*v)
    } else {
        None
    }
}
