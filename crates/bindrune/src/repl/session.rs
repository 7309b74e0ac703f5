//! What was declared at the prompt, and what comes of the next line.
//!
//! Each line is checked together with all declarations before it, as one program
//! that imports the loaded file; so types, errors and modules are those of the
//! language. A line with errors changes nothing.

use crate::interpret::tracer;
use check::Loader;
use check::tast::{Def, Program, Ty};
use interp::{Class, Interp, show};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use syntax::diag::Diagnostic;
use syntax::render::render;
use syntax::span::{FileId, SourceMap};
use syntax::symbol::Interner;

/// The name of what is entered, in messages.
const NAME: &str = "[prompt].fut";
/// What an expression is bound to; a prime keeps it from users' ways.
const RESULT: &str = "result'of'prompt";

/// What was entered so far.
pub struct Session {
    file: Option<PathBuf>,
    declarations: Vec<String>,
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// One declaration or several.
    Declarations,
    /// An expression.
    Expression,
    /// Neither, but the beginning of one.
    Unfinished,
    /// Neither.
    Neither,
}

/// What a text is. If it can be both it is a declaration.
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
        let places = errors.iter().filter_map(|e| e.primary.as_ref());
        places
            .map(|label| label.span.start as usize)
            .any(|place| place >= end)
    };
    if at_end(&declarations.errors) || at_end(&errors) {
        Input::Unfinished
    } else {
        Input::Neither
    }
}

/// Gives the program that a line makes, and files.
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

/// A program that was checked.
struct Checked {
    program: Option<Arc<Program>>,
    sources: Arc<SourceMap>,
    /// Errors, and warnings about what was entered last, as text.
    messages: String,
}

impl Session {
    /// Nothing entered yet.
    pub const fn new() -> Self {
        Self {
            file: None,
            declarations: Vec::new(),
        }
    }

    /// Checks what there is with something new behind it.
    fn check(&self, new: &str) -> Checked {
        self.check_as(new, "", None).0
    }

    /// Checks an expression. Nobody depends on its type, so that defaults are not
    /// worth a word.
    fn check_expression(&self, input: &str) -> Checked {
        let new = format!("def {RESULT} =\n{input}");
        self.check_as(&new, "", Some("defaulted-type")).0
    }

    /// As `check`, with the type of a module and without one kind of warning.
    fn check_as(&self, new: &str, module: &str, silent: Option<&str>) -> (Checked, Option<String>) {
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
        let root = root.to_string_lossy();
        let (mut sources, interner) = (SourceMap::new(), Interner::new());
        let mut files = Files {
            root: &root,
            text: &text,
        };
        let (checked, described) =
            check::describe_module(&mut sources, &interner, &mut files, &root, module);
        let is_new = |d: &&Diagnostic| {
            d.is_error()
                || Some(d.id) != silent
                    && d.primary.as_ref().is_some_and(|label| {
                        let file = sources.get(label.span.file);
                        file.is_some_and(|file| *file.name() == *root)
                            && label.span.start as usize >= start
                    })
        };
        let mut messages = String::new();
        for diagnostic in checked.diagnostics.iter().filter(is_new) {
            messages.push_str(render(diagnostic, &sources, false).trim_end());
            messages.push('\n');
        }
        let checked = Checked {
            program: checked.program.map(Arc::new),
            sources: Arc::new(sources),
            messages,
        };
        (checked, described)
    }

    /// Evaluates an expression, keeps a declaration.
    pub fn enter(&mut self, input: &str) -> Result<String, String> {
        if classify(input) != Input::Declarations {
            return self.evaluate(input);
        }
        let checked = self.check(input);
        if checked.program.is_none() {
            return Err(checked.messages);
        }
        self.declarations.push(input.to_owned());
        Ok(checked.messages)
    }

    fn evaluate(&self, input: &str) -> Result<String, String> {
        let checked = self.check_expression(input);
        let Some(program) = checked.program else {
            return Err(checked.messages);
        };
        let Some(def) = result(&program) else {
            return Err("there is nothing to evaluate\n".to_owned());
        };
        if !def.ty_params.is_empty() || matches!(def.ret.ty, Ty::Arrow(_)) || !def.params.is_empty()
        {
            return Ok(format!(
                "{}a function of type {}\n",
                checked.messages,
                type_text(&program, &def)
            ));
        }
        let interp = Interp::new(Arc::clone(&program));
        interp.set_tracer(tracer(Arc::clone(&checked.sources)));
        match interp.value_of(def.var) {
            Ok(value) => {
                let ty = Interp::plain_type(&def.ret.ty);
                Ok(format!("{}{}\n", checked.messages, show(&value, &ty)))
            }
            Err(failure) if failure.class == Class::Program => {
                Err(format!("{}\n", failure.render(&checked.sources)))
            }
            Err(failure) => Err(format!("{}\n", failure.message)),
        }
    }

    /// The type of an expression.
    pub fn type_of(&self, input: &str) -> Result<String, String> {
        let checked = self.check_expression(input);
        let Some(program) = checked.program else {
            return Err(checked.messages);
        };
        match result(&program) {
            Some(def) => Ok(format!("{input} : {}\n", type_text(&program, &def))),
            None => Err("there is nothing that has a type\n".to_owned()),
        }
    }

    /// The type of a module.
    pub fn module_type(&self, input: &str) -> Result<String, String> {
        let new = format!("module {RESULT} =\n{input}");
        match self.check_as(&new, RESULT, None) {
            (_, Some(text)) => Ok(format!("{input} : {text}\n")),
            (checked, None) => Err(checked.messages),
        }
    }

    /// Loads a program; what was declared is forgotten if it has no errors.
    pub fn load(&mut self, file: PathBuf) -> Result<String, String> {
        if file.extension().is_none_or(|ext| ext != "fut") {
            return Err(format!(
                "{} is no Futhark program: its name does not end in `.fut`\n",
                file.display()
            ));
        }
        if let Err(e) = std::fs::metadata(&file) {
            return Err(format!("cannot read {}: {e}\n", file.display()));
        }
        let new = Self {
            file: Some(file),
            declarations: Vec::new(),
        };
        let checked = new.check("");
        if checked.program.is_none() {
            return Err(checked.messages);
        }
        *self = new;
        Ok(checked.messages)
    }

    /// Loads the program again.
    pub fn reload(&mut self) -> Result<String, String> {
        match self.file.clone() {
            Some(file) => self.load(file),
            None => Err("nothing was loaded\n".to_owned()),
        }
    }
}

/// The definition of what was entered.
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
