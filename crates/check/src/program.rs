//! From a root file to a checked program: finds imports and checks the files in order, the prelude
//! first.

use crate::analysis::Analysis;
use crate::builtins::{SIGNATURES, signatures};
use crate::context::Context;
use crate::decl_site::{DeclSite, FileKind, strip_local};
use crate::env::{Entry, Module, ModuleExports, Target};
use crate::modules::{Elaborator, Imports};
use crate::tast::{Program, VarInfo};
use prim::ScalarType;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::ast::{Decl, DeclKind, Import, ModExp, ModExpKind, Prog};
use syntax::diag::Diagnostic;
use syntax::span::Span;
use syntax::span::{FileId, SourceMap};
use syntax::symbol::Interner;

/// The prelude, as source files under `/prelude/`.
const PRELUDE: &[(&str, &str)] = &[
    ("/prelude/prelude", include_str!("../../../prelude/prelude.fut")),
    ("/prelude/ad", include_str!("../../../prelude/ad.fut")),
    ("/prelude/array", include_str!("../../../prelude/array.fut")),
    ("/prelude/derivatives", include_str!("../../../prelude/derivatives.fut")),
    ("/prelude/functional", include_str!("../../../prelude/functional.fut")),
    ("/prelude/libm32", include_str!("../../../prelude/libm32.fut")),
    ("/prelude/libm64", include_str!("../../../prelude/libm64.fut")),
    ("/prelude/math", include_str!("../../../prelude/math.fut")),
    ("/prelude/soacs", include_str!("../../../prelude/soacs.fut")),
    ("/prelude/special32", include_str!("../../../prelude/special32.fut")),
    ("/prelude/special64", include_str!("../../../prelude/special64.fut")),
    ("/prelude/zip", include_str!("../../../prelude/zip.fut")),
];

/// The root definition that is an entry point even without the keyword `entry`.
const MAIN: &str = "main";

/// The prelude file with the modules of the scalar types.
const MATH: &str = "/prelude/math";

/// A source of files.
pub trait Loader {
    /// Reads the file at `path`: the `root` of [`check_program`], or a path resolved from an
    /// importing file and its import. It always ends in `.fut`.
    ///
    /// # Errors
    /// The reason, without the name of the file.
    fn load(&mut self, path: &str) -> Result<Vec<u8>, String>;
}

/// The result of checking.
#[derive(Debug)]
pub struct Checked {
    /// The program, if there were no errors.
    pub program: Option<Program>,
    /// The errors of the parser and the checker, in the order in which they were found, or, if
    /// there are none, the warnings. At most 30, and then one with the number of the others.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads `root` (a path that ends in `.fut`) with all its imports, and checks it. The files,
/// including the prelude's, are added to `sources`.
pub fn check_program(
    sources: &mut SourceMap,
    interner: &Interner,
    loader: &mut dyn Loader,
    root: &str,
) -> Checked {
    check_with_entries(sources, interner, loader, root, &[])
}

/// Checks a program as [`check_program`] does; the root's definitions with these names are entry
/// points, too.
pub fn check_with_entries(
    sources: &mut SourceMap,
    interner: &Interner,
    loader: &mut dyn Loader,
    root: &str,
    entries: &[String],
) -> Checked {
    let (files, errors) = read(sources, interner, loader, root);
    let cx = Context::new(interner, sources, errors);
    let Elaborator { tables, cx, defs, entries, .. } = check_files(&files, cx, entries);
    let diagnostics = cx.reports.all();
    let failed = diagnostics.iter().any(Diagnostic::is_error);
    let program = (!failed).then(|| Program {
        defs,
        entries,
        vars: tables.vars.into_iter().map(|v| VarInfo { name: v.name }).collect(),
        ty_vars: tables.ty_vars.into_iter().map(|v| v.name).collect(),
    });
    Checked { program, diagnostics }
}

/// Checks a program as [`check_program`] does, and returns its typed tree and the index of its
/// names, whether it has errors or not.
pub fn analyse(
    sources: &mut SourceMap,
    interner: &Interner,
    loader: &mut dyn Loader,
    root: &str,
) -> Analysis {
    let (files, errors) = read(sources, interner, loader, root);
    let mut cx = Context::new(interner, sources, errors);
    cx.recorder = Some(Box::default());
    let Elaborator { tables, cx, .. } = check_files(&files, cx, &[]);
    let index = cx.recorder.map(|recorder| recorder.index).unwrap_or_default();
    Analysis::new(cx.reports.all(), tables, index)
}

/// Reads the prelude and a program. Returns the files and the errors found.
fn read(
    sources: &mut SourceMap,
    interner: &Interner,
    loader: &mut dyn Loader,
    root: &str,
) -> (Files, Vec<Diagnostic>) {
    let mut reader = ImportReader {
        sources,
        interner,
        loader,
        files: Files::default(),
        state: FxHashMap::default(),
        diags: Vec::new(),
    };
    if let Some((file, prog)) = reader.add_text(SIGNATURES, signatures()) {
        reader.files.list.push((SIGNATURES.to_owned(), file, prog));
    }
    reader.visit("/prelude/prelude", None);
    reader.files.prelude = reader.files.list.len();
    reader.visit(root.strip_suffix(".fut").unwrap_or(root), None);
    (reader.files, reader.diags)
}

/// Checks files in order.
fn check_files<'a>(files: &'a Files, cx: Context<'a>, entries: &[String]) -> Elaborator<'a> {
    let mut elaborator = Elaborator::new(cx, &files.imports);
    let names = std::iter::once(MAIN).chain(entries.iter().map(String::as_str));
    elaborator.extra_entries = names.map(|name| elaborator.cx.symbols.symbol(name)).collect();
    let mut base = elaborator.cx.env.snapshot();
    for (i, (path, file, prog)) in files.list.iter().enumerate() {
        if path == SIGNATURES {
            elaborator.load_signatures(prog);
            continue;
        }
        let kind = if i < files.prelude {
            FileKind::Prelude
        } else if i + 1 == files.list.len() {
            FileKind::Root
        } else {
            FileKind::Import
        };
        elaborator.cx.site = DeclSite::top(kind);
        elaborator.cx.env = base.clone();
        elaborator.cx.scope = elaborator.cx.reports.whole_file(*file);
        elaborator.record_file(*file, path, prog.doc.as_ref());
        let exports = Rc::new(elaborator.decls(&prog.decls));
        elaborator.files.insert(path.clone(), (*file, Rc::clone(&exports)));
        if path == MATH {
            elaborator.record_float_powers(&exports);
        }
        if i + 1 == files.prelude {
            elaborator.cx.builtins.prelude = Some(Rc::clone(&exports));
            elaborator.cx.env = base;
            elaborator.cx.env.open(&exports);
            base = elaborator.cx.env.snapshot();
        }
    }
    elaborator
}

impl<'a> Elaborator<'a> {
    /// Records the functions `**` of the float modules as the meaning of the built-in `**` on
    /// floats, so that both yield the same bits.
    fn record_float_powers(&mut self, math: &ModuleExports<'a>) {
        let power = self.cx.symbols.symbol("**");
        for ty in ScalarType::ALL.iter().filter(|ty| ty.is_float()) {
            let module = math.terms.get(&self.cx.symbols.symbol(ty.name()));
            if let Some(Entry::Module(Module::Struct(module), _)) = module
                && let Some(Entry::Value(value)) = module.terms.get(&power)
                && let Target::Var(id) = value.target
            {
                self.tables.float_powers.insert(*ty, id);
            }
        }
    }
}

/// The state of a file that is being read, or was read.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Done,
}

/// The files of a program.
#[derive(Default)]
struct Files {
    /// The files with their paths, each after its imports.
    list: Vec<(String, FileId, Prog)>,
    /// The number of files of the prelude, which are first.
    prelude: usize,
    imports: Imports,
}

/// Reads files, each once, imported ones before the files that import them.
struct ImportReader<'s> {
    sources: &'s mut SourceMap,
    interner: &'s Interner,
    loader: &'s mut dyn Loader,
    files: Files,
    state: FxHashMap<String, State>,
    diags: Vec<Diagnostic>,
}

impl ImportReader<'_> {
    fn add_text(&mut self, path: &str, text: impl Into<Arc<str>>) -> Option<(FileId, Prog)> {
        let text: Arc<str> = text.into();
        match self.sources.add(format!("{path}.fut"), Arc::clone(&text)) {
            Ok(file) => {
                let parsed = syntax::parse(&text, file, self.interner);
                self.diags.extend(parsed.errors);
                Some((file, parsed.prog))
            }
            Err(diag) => {
                self.diags.push(*diag);
                None
            }
        }
    }

    fn visit(&mut self, path: &str, from: Option<Span>) {
        stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || {
            self.visit_inner(path, from);
        });
    }

    fn visit_inner(&mut self, path: &str, from: Option<Span>) {
        match self.state.get(path) {
            Some(State::Done) => return,
            Some(State::Open) => {
                let message = format!("the file \"{path}.fut\" imports itself");
                let diag = Diagnostic::error("import-cycle", message);
                self.diags.push(match from {
                    Some(span) => diag.at(span, "this import closes the cycle"),
                    None => diag,
                });
                return;
            }
            None => {}
        }
        self.state.insert(path.to_owned(), State::Open);
        let found = if let Some((_, text)) = PRELUDE.iter().find(|(name, _)| *name == path) {
            self.add_text(path, *text)
        } else {
            let name = format!("{path}.fut");
            match self.loader.load(&name) {
                Ok(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => self.add_text(path, text),
                    Err(error) => {
                        // `add_bytes` reports the invalid bytes.
                        if let Err(diag) = self.sources.add_bytes(name, error.into_bytes()) {
                            self.diags.push(*diag);
                        }
                        None
                    }
                },
                Err(why) => {
                    let diag = Diagnostic::error(
                        "unknown-import",
                        format!("cannot read the file \"{name}\": {why}"),
                    );
                    self.diags.push(match from {
                        Some(span) => diag.at(span, ""),
                        None => diag,
                    });
                    None
                }
            }
        };
        if let Some((file, prog)) = found {
            let mut imports = Vec::new();
            find_imports(&prog.decls, &mut imports);
            for (target, span) in imports {
                let resolved = resolve(path, &target);
                self.files.imports.insert((file, target), resolved.clone());
                self.visit(&resolved, Some(span));
            }
            self.files.list.push((path.to_owned(), file, prog));
        }
        self.state.insert(path.to_owned(), State::Done);
    }
}

fn find_imports(decls: &[Decl], out: &mut Vec<(String, Span)>) {
    for decl in decls {
        match &strip_local(decl).kind {
            DeclKind::Import(import) => note_import(import, out),
            DeclKind::Open(me) => imports_of(me, out),
            DeclKind::Mod(bind) => imports_of(&bind.body, out),
            DeclKind::Val(_) | DeclKind::Type(_) | DeclKind::ModType(_) | DeclKind::Local(_) => {}
        }
    }
}

fn imports_of(me: &ModExp, out: &mut Vec<(String, Span)>) {
    stacker::maybe_grow(crate::STACK_RED_ZONE, crate::STACK_GROWTH, || match &me.kind {
        ModExpKind::Var(_) => {}
        ModExpKind::Parens(inner) | ModExpKind::Ascript(inner, _) | ModExpKind::Lambda(_, _, inner) => {
            imports_of(inner, out);
        }
        ModExpKind::Import(import) => note_import(import, out),
        ModExpKind::Decls(decls) => find_imports(decls, out),
        ModExpKind::Apply(fun, arg) => {
            imports_of(fun, out);
            imports_of(arg, out);
        }
    });
}

fn note_import(import: &Import, out: &mut Vec<(String, Span)>) {
    out.push((import.path.clone(), import.path_span));
}

/// The path, without extension, that an import in the file at `from` refers to.
fn resolve(from: &str, target: &str) -> String {
    if target.starts_with('/') {
        return target.to_owned();
    }
    let mut parts: Vec<&str> = match from.rsplit_once('/') {
        Some((dir, _)) => dir.split('/').collect(),
        None => Vec::new(),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| !p.is_empty() && *p != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}
