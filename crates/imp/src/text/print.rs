//! The printer of programs and functions.

use super::part::{Part, Rows};
use crate::{CodePlacement, Data, Expr, FunId, Function, Program, Stmt, Var, VarInfo, VarType};
use ir::text::{MAX_INDENT, is_identifier, is_plain_hint, quote, show_entry_point, show_opaque_types};
use ir::walk::with_stack;
use std::fmt::{Display, Write as _};

/// The number of bytes of constant data in a line.
const DATA_LINE: usize = 64;

/// Prints a program.
pub fn print(program: &Program) -> String {
    let mut p = Printer::new(program, &[]);
    p.put(format_args!("imp file {}\n", quote(&program.source_name)));
    p.section("check", " =", &program.checks);
    for (i, data) in program.data.iter().enumerate() {
        p.put(format_args!("data#{i}"));
        p.data(data);
    }
    p.section("global", ":", &program.globals);
    p.section("tunable", ":", &program.tunables);
    if let Some(init) = program.init {
        p.put("init ");
        init.print_part(&mut p);
        p.put("\n");
    }
    p.put(show_opaque_types(&program.opaques));
    for entry in &program.entries {
        p.put(show_entry_point(&entry.signature, &function_name(program, entry.fun)));
    }
    for function in &program.functions {
        let mut own = Printer::new(program, &function.vars);
        own.head(function);
        let head = std::mem::take(&mut own.out);
        own.stmts(&function.body);
        let body = std::mem::take(&mut own.out);
        own.other_vars();
        p.put(format_args!("\n{head}{}{body}\n}}\n", own.out));
    }
    p.out
}

/// The first line of a statement.
pub(crate) fn show_stmt(program: &Program, function: &Function, stmt: &Stmt) -> String {
    let mut p = Printer { is_nested_shown: false, ..Printer::new(program, &function.vars) };
    stmt.print_row(&mut p);
    p.out.trim_end().to_owned()
}

/// The printed name of a function.
pub(super) fn function_name(program: &Program, id: FunId) -> String {
    match program.functions.get(id.index()) {
        Some(function) => own_name(function),
        None => format!("?fun#{}", id.0),
    }
}

fn own_name(function: &Function) -> String {
    // A function named `fun` would look like the head of another.
    let is_plain = is_identifier(&function.name) && &*function.name != "fun";
    if is_plain { function.name.to_string() } else { quote(&function.name) }
}

/// The part of a variable's declaration that the text has shown.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Shown {
    Nowhere,
    Name,
    Type,
}

/// Output for a program or a function.
pub(crate) struct Printer<'a> {
    pub(super) program: &'a Program,
    vars: &'a [VarInfo],
    shown: Vec<Shown>,
    /// Scalar arguments of calls that appeared before their type.
    early: Vec<Var>,
    out: String,
    depth: usize,
    /// False if nested statements are left out.
    is_nested_shown: bool,
}

impl<'a> Printer<'a> {
    fn new(program: &'a Program, vars: &'a [VarInfo]) -> Self {
        let shown = vec![Shown::Nowhere; vars.len()];
        Self { program, vars, shown, early: Vec::new(), out: String::new(), depth: 1, is_nested_shown: true }
    }

    /// Appends text.
    pub(crate) fn put(&mut self, text: impl Display) {
        let _ = write!(self.out, "{text}");
    }

    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.depth.min(MAX_INDENT) {
            self.out.push_str("  ");
        }
    }

    /// Numbered items of the program, each in a line.
    fn section(&mut self, word: &str, after: &str, items: &[impl Part]) {
        for (i, item) in items.iter().enumerate() {
            self.put(format_args!("{word}#{i}{after} "));
            item.print_part(self);
            self.put("\n");
        }
    }

    fn data(&mut self, Data { elem, bytes }: &Data) {
        self.put(format_args!(": {elem} ="));
        for line in bytes.chunks(DATA_LINE) {
            self.put(if bytes.len() > DATA_LINE { "\n  \"" } else { " \"" });
            for byte in line {
                self.put(format_args!("{byte:02x}"));
            }
            self.put("\"");
        }
        self.put("\n");
    }

    /// The first line of a function, its owned and its distinct variables.
    fn head(&mut self, f: &Function) {
        self.put(match f.code {
            CodePlacement::OneModule => "",
            CodePlacement::Inline => "inline ",
            CodePlacement::NoInline => "noinline ",
            CodePlacement::EachModule => "each ",
        });
        self.put(if f.recursive { "recursive " } else { "" });
        self.put(format_args!("fun {}", own_name(f)));
        self.typed_vars(&f.params);
        self.put(" -> ");
        self.typed_vars(&f.results);
        self.put(" {");
        for (word, vars) in [("owned", &f.owned), ("distinct", &f.distinct)] {
            if !vars.is_empty() {
                self.put(format_args!("\n  {word} "));
                self.separated(vars);
            }
        }
    }

    /// The variables whose type the text so far does not give.
    fn other_vars(&mut self) {
        let other = |(shown, info): (&Shown, &VarInfo)| match info.ty {
            VarType::HOST => *shown < Shown::Name,
            VarType::Scalar(_) | VarType::Vector(..) | VarType::Buffer(_) => *shown < Shown::Type,
        };
        let others = (0..).zip(self.shown.iter().zip(self.vars)).filter(|(_, pair)| other(*pair));
        let mut vars: Vec<Var> = others.map(|(i, _)| Var(i)).collect();
        vars.append(&mut self.early);
        vars.sort_unstable();
        vars.dedup();
        for (i, var) in vars.into_iter().enumerate() {
            self.put(if i > 0 { ", " } else { "\n  vars " });
            self.typed_var(var);
        }
    }

    fn show(&mut self, var: Var, shown: Shown) {
        if let Some(before) = self.shown.get_mut(var.index())
            && *before < shown
        {
            *before = shown;
        }
    }

    /// Records a scalar argument of a call.
    pub(super) fn early(&mut self, arg: &Expr) {
        if let Expr::Var(var) = arg
            && self.shown.get(var.index()).is_some_and(|shown| *shown < Shown::Type)
        {
            self.early.push(*var);
        }
    }

    /// The name of a variable.
    pub(super) fn var(&mut self, var: Var) {
        self.show(var, Shown::Name);
        match self.vars.get(var.index()) {
            Some(info) if is_plain_hint(&info.hint) => self.put(format_args!("{}_{}", info.hint, var.0)),
            Some(info) => self.put(format_args!("{}_{}", quote(&info.hint), var.0)),
            None => self.put(format_args!("?_{}", var.0)),
        }
    }

    /// The name and the type of a variable.
    pub(super) fn typed_var(&mut self, var: Var) {
        self.var(var);
        self.show(var, Shown::Type);
        match self.vars.get(var.index()) {
            Some(info) => self.put(format_args!(": {}", info.ty)),
            None => self.put(": ?"),
        }
    }

    /// Variables with their types, in parentheses.
    pub(super) fn typed_vars(&mut self, vars: &[Var]) {
        for (i, var) in vars.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "(" });
            self.typed_var(*var);
        }
        self.put(if vars.is_empty() { "()" } else { ")" });
    }

    /// Items with commas between them.
    pub(super) fn separated(&mut self, items: &[impl Part]) {
        for (i, item) in items.iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            item.print_part(self);
        }
    }

    /// Statements in braces.
    pub(super) fn block(&mut self, before: &str, stmts: &[Stmt]) {
        if !self.is_nested_shown {
            return;
        }
        self.put(before);
        self.put("{");
        self.depth += 1;
        self.stmts(stmts);
        self.depth -= 1;
        self.line();
        self.put("}");
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        with_stack(|| {
            for stmt in stmts {
                self.line();
                stmt.print_row(self);
            }
        });
    }
}
