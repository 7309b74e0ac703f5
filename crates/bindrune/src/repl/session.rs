//! The declarations of the prompt, and evaluation of the next input.
//!
//! Each input is checked together with all earlier declarations as one program that imports the
//! loaded file, so types, errors and modules are those of the language. An input with errors
//! changes nothing.
//!
//! While an evaluation is stopped, expressions see the variables of one of its calls: they are
//! checked as the body of a function with these parameters, which is called with their values.

use crate::interpret::tracer;
use check::tast::{Def, Program, Ty};
use check::{Item, ItemKind, Loader, Position};
use interp::{Call, Class, Debugger, Interp, Local, show};
use prim::ScalarType;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use syntax::diag::Diagnostic;
use syntax::render::render;
use syntax::span::{FileId, SourceMap};
use syntax::symbol::Interner;

/// The file name of the input in messages.
const NAME: &str = "[prompt].fut";
/// The name that an expression is bound to; the primes avoid clashes with users' names.
const RESULT: &str = "result'of'prompt";

/// The state of a prompt.
#[derive(Clone, PartialEq, Default)]
pub struct Session {
    file: Option<PathBuf>,
    declarations: Vec<String>,
    /// The variables of a call in progress.
    locals: Locals,
    interrupt: Flag,
    /// True if the interpreter checks sizes.
    check_sizes: bool,
}

/// An interrupt flag that ends an evaluation. All flags compare equal.
#[derive(Clone, Default)]
struct Flag(Arc<AtomicBool>);

impl PartialEq for Flag {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Variables; equal if they have the same names and types.
#[derive(Clone, Default)]
struct Locals(Vec<Local>);

impl PartialEq for Locals {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && (self.0.iter().zip(&other.0)).all(|(x, y)| x.name == y.name && x.ty == y.ty)
    }
}

/// The reason why an expression has no value.
pub enum Failed {
    /// An error with this message.
    Message(String),
    /// The user interrupted the evaluation.
    Interrupted,
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

/// The result of an expression.
pub struct Evaluated {
    pub messages: String,
    /// The value as text, or the type if it is a function.
    pub text: String,
    /// The elements if the value is an array of `u8`.
    pub bytes: Option<Vec<u8>>,
}

/// The syntactic class of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// One or more declarations.
    Declarations,
    /// An expression.
    Expression,
    /// A prefix of an expression or of declarations.
    Unfinished,
    /// A syntax error.
    Neither,
}

/// Classifies an input. A text that is both an expression and a declaration is a declaration.
pub fn classify(text: &str) -> Input {
    let interner = Interner::new();
    let declarations = syntax::parse(text, FileId(0), &interner);
    if declarations.errors.is_empty() {
        return Input::Declarations;
    }
    let (_, errors) = syntax::parse_expr(text, FileId(0), &interner);
    if errors.is_empty() {
        return Input::Expression;
    }
    let end = text.trim_end().len();
    let at_end = |errors: &[Diagnostic]| {
        let labels = errors.iter().filter_map(|e| e.primary.as_ref());
        labels.map(|label| label.span.start as usize).any(|start| start >= end)
    };
    if at_end(&declarations.errors) || at_end(&errors) { Input::Unfinished } else { Input::Neither }
}

/// Loads the text of the prompt for its name, and other files from the file system.
struct Files<'a> {
    root: &'a str,
    text: &'a str,
}

impl Loader for Files<'_> {
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if path == self.root {
            return Ok(self.text.as_bytes().to_vec());
        }
        std::fs::read(path).map_err(|e| e.to_string())
    }
}

/// The result of type checking.
struct Checked {
    program: Option<Arc<Program>>,
    sources: Arc<SourceMap>,
    /// Errors, and warnings about the last input, as text.
    messages: String,
}

impl Session {
    /// Creates an empty session. Setting the flag ends evaluations.
    pub fn new(interrupt: Arc<AtomicBool>, check_sizes: bool) -> Self {
        Self { interrupt: Flag(interrupt), check_sizes, ..Self::default() }
    }

    /// Clears the interrupt flag.
    pub fn begin(&self) {
        self.interrupt.0.store(false, Ordering::Relaxed);
    }

    /// Returns the session with the variables of a call in progress in scope.
    pub fn in_frame(&self, call: &Call) -> Self {
        Self { locals: Locals(call.locals.clone()), ..self.clone() }
    }

    /// Returns the program text with `new` appended, its file name, and the offset of `new`.
    fn text(&self, new: &str) -> (String, String, usize) {
        let mut text = String::new();
        let mut root = PathBuf::from(NAME);
        if let Some(file) = &self.file {
            root = file.with_file_name(NAME);
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "open import \"{stem}\"");
        }
        for declaration in &self.declarations {
            text.push_str(declaration);
            text.push('\n');
        }
        let start = text.len();
        text.push_str(new);
        text.push('\n');
        let root = root.to_string_lossy().into_owned();
        (text, root, start)
    }

    /// Checks the declarations with `new` appended.
    fn check(&self, new: &str) -> Checked {
        self.check_as(new, 0, None)
    }

    /// Checks an expression. Warnings about defaulted types are suppressed, as no other code
    /// depends on its type.
    fn check_expression(&self, input: &str) -> Checked {
        let mut new = format!("def {RESULT}");
        for local in &self.locals.0 {
            // Writing to a string cannot fail.
            let _ = write!(new, " ({}: {})", local.name, local.ty);
        }
        new.push_str(" =\n");
        let generated = new.len();
        new.push_str(input);
        self.check_as(&new, generated, Some("defaulted-type"))
    }

    /// As `check`, but suppresses warnings with the identifier `silent` and warnings in the first
    /// `generated` bytes, which the user did not enter.
    fn check_as(&self, new: &str, generated: usize, silent: Option<&str>) -> Checked {
        let (text, root, start) = self.text(new);
        let start = start + generated;
        let (mut sources, interner) = (SourceMap::new(), Interner::new());
        let mut files = Files { root: &root, text: &text };
        let checked = check::check_program(&mut sources, &interner, &mut files, &root);
        let is_new = |d: &&Diagnostic| {
            d.is_error()
                || Some(d.id) != silent
                    && d.primary.as_ref().is_some_and(|label| {
                        let file = sources.get(label.span.file);
                        file.is_some_and(|file| *file.name() == *root) && label.span.start as usize >= start
                    })
        };
        let mut messages = String::new();
        for diagnostic in checked.diagnostics.iter().filter(is_new) {
            messages.push_str(render(diagnostic, &sources, false).trim_end());
            messages.push('\n');
        }
        Checked { program: checked.program.map(Arc::new), sources: Arc::new(sources), messages }
    }

    /// The names in scope after the declarations and `new`.
    fn names_after(&self, new: &str) -> Vec<Item> {
        let (text, root, _) = self.text(new);
        let (mut sources, interner) = (SourceMap::new(), Interner::new());
        let mut files = Files { root: &root, text: &text };
        let analysis = check::analyse(&mut sources, &interner, &mut files, &root);
        let mut ids = sources.ids();
        let file = ids.find(|id| sources.get(*id).is_some_and(|file| *file.name() == *root));
        let end = file.map(|file| Position { file, offset: text.len() as u32 });
        end.map(|end| analysis.names_in_scope(end)).unwrap_or_default()
    }

    /// Adds a declaration. Returns warnings, or the errors.
    pub fn declare(&mut self, input: &str) -> Result<String, String> {
        let checked = self.check(input);
        if checked.program.is_none() {
            return Err(checked.messages);
        }
        self.declarations.push(input.to_owned());
        Ok(checked.messages)
    }

    /// Evaluates an expression. `watch` is called at breakpoints, and at new NaNs if
    /// `break_on_nan` is set; it returns if the evaluation continues.
    pub fn evaluate(
        &self,
        input: &str,
        break_on_nan: bool,
        watch: Option<&mut dyn FnMut(&interp::Stop, &SourceMap) -> interp::Resume>,
    ) -> Result<Evaluated, Failed> {
        let checked = self.check_expression(input);
        let Some(program) = checked.program else {
            return Err(checked.messages.into());
        };
        let Some(def) = result(&program) else {
            return Err("there is no expression to evaluate\n".to_owned().into());
        };
        let evaluated = |text: String, bytes: Option<Vec<u8>>| Evaluated {
            messages: checked.messages.clone(),
            text,
            bytes,
        };
        let locals = self.locals.0.len();
        if !def.ty_params.is_empty() || matches!(def.ret.ty, Ty::Arrow(_)) || def.params.len() != locals {
            let text = self.type_text(&program, &def);
            return Ok(evaluated(format!("a function of type {text}"), None));
        }
        let interp = Interp::new(Arc::clone(&program));
        interp.set_check_sizes(self.check_sizes);
        interp.set_tracer(tracer(Arc::clone(&checked.sources)));
        let flag = Arc::clone(&self.interrupt.0);
        interp.set_interrupt(flag);
        let args = self.locals.0.iter().map(|local| local.value.clone());
        let args = args.collect();
        let value = match watch {
            Some(watch) if break_on_nan || interp::has_breakpoints(&program) => {
                let mut watcher = |stop: &interp::Stop| watch(stop, &checked.sources);
                let watcher: &mut Debugger<'_> = &mut watcher;
                interp.evaluate_watched(def.var, args, break_on_nan, watcher)
            }
            _ => interp.value_of(def.var, args),
        };
        match value {
            Ok(value) => {
                let ty = Interp::plain_type(&def.ret.ty);
                let bytes = bytes(&value, &def.ret.ty);
                Ok(evaluated(show(&value, &ty), bytes))
            }
            Err(failure) => Err(match failure.class {
                Class::Interrupted => Failed::Interrupted,
                Class::Program | Class::Unsound => format!("{}\n", failure.render(&checked.sources)).into(),
                _ => format!("{}\n", failure.message).into(),
            }),
        }
    }

    /// The names in scope and those in modules, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        add_names(&self.names_after(""), "", &mut names);
        names.extend(self.locals.0.iter().map(|local| local.name.to_string()));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The type of an expression.
    pub fn type_of(&self, input: &str) -> Result<String, String> {
        let checked = self.check_expression(input);
        let Some(program) = checked.program else {
            return Err(checked.messages);
        };
        match result(&program) {
            Some(def) => Ok(format!("{input} : {}\n", self.type_text(&program, &def))),
            None => Err("there is no expression\n".to_owned()),
        }
    }

    /// The type of a module.
    pub fn module_type(&self, input: &str) -> Result<String, String> {
        let new = format!("module {RESULT} =\n{input}");
        let checked = self.check(&new);
        let module = self.names_after(&new).into_iter().find(|item| *item.name == *RESULT);
        match module.and_then(|module| module.module_type()) {
            Some(ty) if checked.program.is_some() => Ok(format!("{input} : {ty}\n")),
            _ => Err(checked.messages),
        }
    }

    /// Loads a program. If it has no errors, earlier declarations are dropped.
    pub fn load(&mut self, file: PathBuf) -> Result<String, String> {
        if file.extension().is_none_or(|ext| ext != "fut") {
            return Err(format!(
                "{} is not a Futhark program: its name does not end in `.fut`\n",
                file.display()
            ));
        }
        if let Err(e) = std::fs::metadata(&file) {
            return Err(format!("cannot read {}: {e}\n", file.display()));
        }
        let new = Self { file: Some(file), ..Self::new(Arc::clone(&self.interrupt.0), self.check_sizes) };
        let checked = new.check("");
        if checked.program.is_none() {
            return Err(checked.messages);
        }
        *self = new;
        Ok(checked.messages)
    }

    /// Returns true if a program is loaded.
    pub const fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Changes the working directory. The path of the loaded program is made absolute first.
    pub fn change_folder(&mut self, folder: &str) -> Result<String, String> {
        if let Some(file) = &self.file
            && let Ok(absolute) = std::path::absolute(file)
        {
            self.file = Some(absolute);
        }
        let changed = std::env::set_current_dir(folder);
        changed.map_err(|e| format!("cannot change to {folder}: {e}\n"))?;
        Ok(String::new())
    }

    /// Loads the current program again.
    pub fn reload(&mut self) -> Result<String, String> {
        match self.file.clone() {
            Some(file) => self.load(file),
            None => Err("no program is loaded\n".to_owned()),
        }
    }

    /// The type of a definition, without the parameters for variables of a call in progress.
    fn type_text(&self, program: &Program, def: &Def) -> String {
        let locals = self.locals.0.len();
        if locals > 0 {
            let mut rest = def.clone();
            rest.params = def.params.get(locals..).unwrap_or_default().to_vec();
            return type_text(program, &rest);
        }
        type_text(program, def)
    }
}

/// The elements of an array of `u8`; `None` for other types.
fn bytes(value: &interp::RunValue, ty: &Ty) -> Option<Vec<u8>> {
    let (1, Ty::Scalar(ScalarType::U8)) = ty.peel() else {
        return None;
    };
    let value = interp::export(value, ty).ok()?;
    Some(value.bytes().to_vec())
}

/// Returns the definition that the entered expression is bound to.
fn result(program: &Program) -> Option<Arc<Def>> {
    let mut defs = program.defs.iter().rev();
    defs.find(|def| program.name(def.var) == RESULT).cloned()
}

/// The type of a definition, with its parameters.
fn type_text(program: &Program, def: &Def) -> String {
    let text = program.show_def(def);
    let text = text.strip_prefix(RESULT).unwrap_or(&text).trim_start();
    text.strip_prefix(": ").unwrap_or(text).to_owned()
}

/// Adds names, and those of the members of modules, without operators.
fn add_names(items: &[Item], path: &str, names: &mut Vec<String>) {
    for item in items.iter().filter(|item| item.kind != ItemKind::ModuleType) {
        if item.name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let name = format!("{path}{}", item.name);
            add_names(item.members.as_deref().unwrap_or_default(), &format!("{name}."), names);
            names.push(name);
        }
    }
}
