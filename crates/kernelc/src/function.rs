//! Functions: signature, declarations, entry and exits.
//!
//! A function takes the context, its parameters and the address of each result, and
//! returns whether it failed. What it owns (loops of tasks in it too) is null at first
//! and declared at its top, like arrays in its frame; where something fails, it goes to
//! its end, which gives back what is owned. Results are stored when nothing can fail any
//! more, so callers may pass anything.

use crate::dialect::Dialect;
use crate::error::{Error, Res};
use crate::expr::Expressions;
use crate::names;
use crate::scope::{self, Declared, Scopes};
use imp::{Function, How, Program, Stmt, Var, VarType};
use prim::PrimType;
use rustc_hash::FxHashSet;
use std::fmt::Write as _;

/// Blocks nested deeper are indented no further: programs that others generate are.
const MOST_INDENTED: usize = 24;

/// What all functions of a text share.
pub struct Unit<'p> {
    pub program: &'p Program,
    pub dialect: &'p Dialect,
    /// The functions' names.
    pub names: Vec<String>,
}

/// Writes the body of a function.
pub struct Writer<'a, 'p> {
    pub unit: &'a Unit<'p>,
    pub exprs: Expressions<'a>,
    pub scopes: Scopes,
    /// The text so far.
    out: String,
    indent: usize,
    /// How many blocks have begun.
    blocks: usize,
    /// What is declared at the top because statements name it there.
    frames: Vec<(Var, PrimType, u64)>,
    /// Where something goes that fails.
    pub leaves: Leaves,
    /// Whether anything can fail.
    pub fails: bool,
    /// Whether a check of the kernel can.
    pub stops: bool,
}

/// Where code goes whose check fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    /// To the end of the function, which gives back what it owns.
    Function,
    /// Out of the function, which owns nothing.
    Empty,
    /// Out of the kernel.
    Kernel,
    /// To the next barrier, before which this label stands; the thread does no more then.
    Stretch(usize),
}

impl<'p> Unit<'p> {
    /// The names and all else that functions of a program share.
    pub fn new(program: &'p Program, dialect: &'p Dialect) -> Self {
        Self { program, dialect, names: names::functions(program) }
    }

    /// The function at a position, and its name.
    pub fn function(&self, at: usize) -> Res<(&'p Function, &str)> {
        let found = self.program.functions.get(at).zip(self.names.get(at));
        let (function, name) = found.ok_or_else(|| Error::bug("a function does not exist"))?;
        Ok((function, name))
    }

    /// A function's head, without what follows.
    pub fn signature(&self, at: usize) -> Res<String> {
        let (function, name) = self.function(at)?;
        let vars = names::variables(function);
        let exprs = Expressions { dialect: self.dialect, vars: &function.vars, names: &vars };
        let Dialect { function: before, context, .. } = self.dialect;
        let mut text = format!("{before}int {name}({context}");
        for var in &function.params {
            let ty = exprs.spelled(*var)?;
            // Writing to a string cannot fail.
            let _ = write!(text, ", {}{}", declarator(&ty), exprs.name(*var)?);
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
        let (function, _) = self.function(at)?;
        let vars = names::variables(function);
        let mut owned = function.owned.clone();
        let mut frames = FxHashSet::default();
        imp::walk::each_stmt(&function.body, &mut |stmt| {
            if let Stmt::For(f) = stmt
                && let How::Tasks(launch) = &f.how
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
        let mut writer = Writer::new(self, (function, &vars), scopes);
        if owned.is_empty() {
            writer.leaves = Leaves::Empty;
        }
        if function.recursive {
            writer.line("if (br_stack_low(ctx)) return 1;");
        }
        writer.statements(&function.body)?;
        writer.exits(function, &owned)?;
        let (body, top) = (std::mem::take(&mut writer.out), writer.top(function, &owned)?);
        Ok(format!("{} {{\n{top}{body}}}\n", self.signature(at)?))
    }
}

/// A type and the space before a name.
pub fn declarator(ty: &str) -> String {
    if ty.ends_with('*') { ty.to_owned() } else { format!("{ty} ") }
}

impl<'a, 'p> Writer<'a, 'p> {
    /// A writer for a function's code, with nothing written.
    pub fn new(unit: &'a Unit<'p>, (function, names): (&'a Function, &'a [String]), scopes: Scopes) -> Self {
        Self {
            unit,
            exprs: Expressions { dialect: unit.dialect, vars: &function.vars, names },
            scopes,
            out: String::new(),
            indent: 1,
            blocks: 0,
            frames: Vec::new(),
            leaves: Leaves::Function,
            fails: false,
            stops: false,
        }
    }

    /// What was written so far, which is taken out.
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

    /// Adds a line and indents what follows.
    pub fn open(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.indent += 1;
    }

    /// Indents what follows.
    pub fn open_again(&mut self) {
        self.indent += 1;
    }

    /// Ends what a line opened.
    pub fn close(&mut self, text: &str) {
        self.indent -= 1;
        self.line(text);
    }

    /// Fails if a condition holds, after what else is to be done then.
    pub fn fail_if(&mut self, cond: &str, before: &str) {
        self.fails = true;
        let leave = match self.leaves {
            Leaves::Function => "goto fail;".to_owned(),
            Leaves::Empty => "return 1;".to_owned(),
            Leaves::Kernel => "return;".to_owned(),
            Leaves::Stretch(label) => format!("BR_LEAVE goto next{label};"),
        };
        let several = matches!(self.leaves, Leaves::Stretch(_));
        let action = if before.is_empty() && !several {
            leave
        } else {
            format!("{{ {before} {leave} }}").replacen("{  ", "{ ", 1)
        };
        self.line(format!("if (BR_UNLIKELY({cond})) {action}"));
    }

    /// An array of the frame.
    pub fn frame(&mut self, var: Var, elem: PrimType, count: u64) {
        self.frames.push((var, elem, count));
    }

    /// The statements of a block.
    pub fn statements(&mut self, stmts: &'a [Stmt]) -> Res<()> {
        stacker::maybe_grow(128 * 1024, 4 * 1024 * 1024, || {
            let mut declared = self.begin_block().into_iter().peekable();
            for (at, stmt) in stmts.iter().enumerate() {
                let mut own = false;
                while let Some((_, var)) = declared.next_if(|(place, _)| *place == at) {
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

    /// Counts the block that begins; what it declares.
    pub fn begin_block(&mut self) -> Declared {
        let number = self.blocks;
        self.blocks += 1;
        let declared = self.scopes.blocks.get_mut(number);
        declared.map(std::mem::take).unwrap_or_default()
    }

    /// A variable with its type.
    pub fn declaration(&self, var: Var) -> Res<String> {
        let ty = self.exprs.spelled(var)?;
        Ok(format!("{}{}", declarator(&ty), self.exprs.name(var)?))
    }

    /// What a variable is called where it is set: with its type if that declares it.
    pub fn target(&self, var: Var, declares: bool) -> Res<String> {
        if declares { self.declaration(var) } else { Ok(self.exprs.name(var)?.to_owned()) }
    }

    /// The declarations at the top of the function.
    fn top(&mut self, function: &Function, owned: &[Var]) -> Res<String> {
        let mut known: FxHashSet<Var> = owned.iter().chain(&function.params).copied().collect();
        for &var in &function.results {
            if !known.insert(var) {
                continue;
            }
            let declaration = self.declaration(var)?;
            let zero = match self.exprs.var_type(var)? {
                VarType::Buffer(_) => "NULL",
                VarType::Scalar(_) | VarType::Vector(..) => "0",
            };
            self.line(format!("{declaration} = {zero};"));
        }
        for var in owned {
            let name = self.exprs.name(*var)?.to_owned();
            self.line(format!("u8 *{name} = NULL;"));
        }
        self.declare_frames()?;
        Ok(self.written())
    }

    /// The arrays of the frame that statements have named so far.
    pub fn declare_frames(&mut self) -> Res<()> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.sort_by_key(|(var, ..)| *var);
        frames.dedup_by_key(|(var, ..)| *var);
        for (var, elem, count) in frames {
            let (name, space) = (self.exprs.name(var)?.to_owned(), self.exprs.space(var)?);
            // Targets may say of what is shared that it is, but not of what points there.
            let shared = self.exprs.is_shared(var)?;
            let room = if shared { "BR_SHARED " } else { space };
            self.line(format!("{room}{elem}_m {name}_room[{}];", count.max(1)));
            self.line(format!("{space}u8 *{name} = ({space}u8 *){name}_room;"));
        }
        Ok(())
    }

    /// The ends of the function: results, and what happens where something failed.
    fn exits(&mut self, function: &Function, owned: &[Var]) -> Res<()> {
        let results: FxHashSet<Var> = function.results.iter().copied().collect();
        for var in function.owned.iter().filter(|var| !results.contains(var)) {
            self.give_back(*var)?;
        }
        for (i, var) in function.results.iter().enumerate() {
            let name = self.exprs.name(*var)?.to_owned();
            self.line(format!("*to{i} = {name};"));
        }
        self.line("return 0;");
        if self.fails && self.leaves == Leaves::Function {
            self.out.push_str("fail:\n");
            for var in owned {
                self.give_back(*var)?;
            }
            self.line("return 1;");
        }
        Ok(())
    }

    fn give_back(&mut self, var: Var) -> Res<()> {
        let name = self.exprs.name(var)?.to_owned();
        self.line(format!("br_unref(ctx, {name});"));
        Ok(())
    }
}

/// The variable that a statement sets by an assignment, and by nothing before it.
fn sets(stmt: &Stmt) -> Option<Var> {
    match stmt {
        Stmt::Set(v, _)
        | Stmt::Load(v, _)
        | Stmt::Borrow(v, _)
        | Stmt::ConstData(v, _)
        | Stmt::ReadGlobal(v, _)
        | Stmt::Slots(imp::Slots::Kept { var: v, .. }) => Some(*v),
        Stmt::Store(..)
        | Stmt::LoadLanes { .. }
        | Stmt::StoreLanes { .. }
        | Stmt::Alloc(..)
        | Stmt::Frame { .. }
        | Stmt::Share(..)
        | Stmt::Release(_)
        | Stmt::Slots(_)
        | Stmt::Copy { .. }
        | Stmt::If(..)
        | Stmt::While(..)
        | Stmt::For(_)
        | Stmt::Call { .. }
        | Stmt::Check { .. }
        | Stmt::Compared(..)
        | Stmt::Device(_)
        | Stmt::WriteGlobal(..) => None,
    }
}
