//! The printer. Operations implement their own printing.

use super::entry::{show_entry_point, show_opaque_types};
use super::lex::{is_identifier, is_plain_hint, quote};
use super::part::{Part, Rows};
use super::{DEFINITION, MAX_INDENT, TextLevel};
use crate::facts::{FactFlag, Facts, Filter, Partition, SharedRead};
use crate::math::MathDefinition;
use crate::name::{FunId, FunName, Name, NameTable};
use crate::prov::{Prov, ProvEntry, ProvTable};
use crate::syntax::{Atom, Attrs, Aux, Body, FunKind, FunParam, Function, Program, Stm};
use crate::types::{Dim, Type};
use crate::walk::with_stack;
use prim::Scalar;
use rustc_hash::FxHashMap;
use std::fmt::{Display, Write as _};
use target::levels::Stack;

/// A note, printed as a comment after the statement that binds a name or, without a name, before
/// the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The function.
    pub function: FunName,
    /// A name that the statement binds.
    pub name: Option<Name>,
    /// The text of the note.
    pub text: String,
}

/// Output for one function.
pub struct Printer<'a> {
    out: String,
    indent: usize,
    names: &'a NameTable,
    /// The names of the program's functions, as printed.
    functions: &'a [String],
    mentioned: Vec<bool>,
    notes: FxHashMap<Name, Vec<&'a str>>,
}

pub(super) fn program<L: TextLevel>(program: &Program<L>, notes: &[Note]) -> String {
    let Program { levels: stack, files, opaques, entries, functions, math } = program;
    let mut out = format!("{}\n", L::NAME);
    if *stack != Stack::default() {
        let _ = writeln!(out, "machine {}", stack.name);
    }
    for file in files {
        let _ = writeln!(out, "file {}", quote(file));
    }
    out.push_str(&show_opaque_types(opaques));
    let fun_names = fun_names(program);
    for entry in entries {
        out.push_str(&show_entry_point(&entry.signature, &fun_names[entry.fun.index()]));
    }
    for function in functions {
        out.push('\n');
        let notes = notes.iter().filter(|note| note.function == function.name);
        let keyword = match function.kind {
            FunKind::Function => "fun",
            FunKind::Constant => "const",
        };
        out.push_str(&print_function(function, keyword, &fun_names, notes));
    }
    for MathDefinition { function, .. } in math.iter() {
        out.push('\n');
        let notes = notes.iter().filter(|note| note.function == function.name);
        out.push_str(&print_function(function, DEFINITION, &[], notes));
    }
    out
}

/// The names of a program's functions, as printed.
pub(super) fn fun_names<L: TextLevel>(program: &Program<L>) -> Vec<String> {
    program.functions.iter().map(|function| fun_name(&function.name)).collect()
}

pub(super) fn fun_name(name: &FunName) -> String {
    if is_identifier(&name.0) { name.0.to_string() } else { quote(&name.0) }
}

fn print_function<'a, L: TextLevel>(
    function: &'a Function<L>,
    keyword: &str,
    functions: &'a [String],
    notes: impl Iterator<Item = &'a Note>,
) -> String {
    let Function { name, kind: _, version, attrs, params, ret, body, tunables, names, provs } = function;
    let mut p = Printer::new(names, functions);
    for note in notes {
        match note.name {
            Some(name) => p.notes.entry(name).or_default().push(&note.text),
            None => p.comment(&note.text),
        }
    }
    p.put(format_args!("{keyword} {}", fun_name(name)));
    p.attrs(attrs);
    let p = &mut p;
    crate::text_row!(print p ~ params ":" ret);
    for FunParam { param, .. } in params {
        p.notes_for(param.name);
    }
    if let Some(version) = version {
        p.line();
        p.put("version ");
        version.print_part(p);
    }
    for (i, tunable) in tunables.iter().enumerate() {
        p.line();
        p.put(format_args!("tunable#{i} "));
        tunable.print_part(p);
    }
    p.line();
    p.body(body);
    let unused: Vec<Name> = (0..names.len()).map(Name::new).filter(|n| !p.mentioned[n.index()]).collect();
    if !unused.is_empty() {
        p.line();
        p.put("unused ");
        unused.print_part(p);
    }
    p.provs(provs);
    p.line();
    std::mem::take(&mut p.out)
}

impl<'a> Printer<'a> {
    fn new(names: &'a NameTable, functions: &'a [String]) -> Self {
        Self {
            out: String::new(),
            indent: 0,
            names,
            functions,
            mentioned: vec![false; names.len()],
            notes: FxHashMap::default(),
        }
    }

    /// A part of a function as text.
    pub(super) fn show(names: &'a NameTable, functions: &'a [String], f: impl FnOnce(&mut Self)) -> String {
        let mut p = Self::new(names, functions);
        f(&mut p);
        p.out
    }

    /// Appends text.
    pub fn put(&mut self, text: impl Display) {
        let _ = write!(self.out, "{text}");
    }

    /// Begins a new line.
    pub fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent.min(MAX_INDENT) {
            self.out.push_str("  ");
        }
    }

    fn comment(&mut self, text: &str) {
        for line in text.lines() {
            self.put("// ");
            self.put(line);
            self.line();
        }
    }

    fn notes_for(&mut self, name: Name) {
        for note in self.notes.remove(&name).unwrap_or_default() {
            for line in note.lines() {
                self.line();
                self.put("// ");
                self.put(line);
            }
        }
    }

    /// `(a, b, c)`.
    pub fn list<'t, T: 't>(&mut self, items: impl IntoIterator<Item = &'t T>, item: impl Fn(&mut Self, &T)) {
        self.put("(");
        self.separated(items, item);
        self.put(")");
    }

    /// `a, b, c`.
    pub fn separated<'t, T: 't>(
        &mut self,
        items: impl IntoIterator<Item = &'t T>,
        item: impl Fn(&mut Self, &T),
    ) {
        for (i, x) in items.into_iter().enumerate() {
            self.put(if i > 0 { ", " } else { "" });
            item(self, x);
        }
    }

    /// A name.
    pub fn name(&mut self, name: Name) {
        if name.index() >= self.names.len() {
            // Reached only with invalid IR.
            let _ = write!(self.out, "\"?\"_{}", name.0);
            return;
        }
        self.mentioned[name.index()] = true;
        let hint = self.names.hint(name);
        if is_plain_hint(hint) {
            let _ = write!(self.out, "{hint}_{}", name.0);
        } else {
            let _ = write!(self.out, "{}_{}", quote(hint), name.0);
        }
    }

    /// The function of a call. Calls in definitions, which the verifier rejects, have no names.
    pub(super) fn fun(&mut self, fun: FunId) {
        self.put(self.functions.get(fun.index()).map_or("?", |name| name));
    }

    /// An operand.
    pub fn atom(&mut self, atom: Atom) {
        match atom {
            Atom::Var(name) => self.name(name),
            Atom::Const(value) => self.put(scalar(value)),
        }
    }

    /// A dimension.
    pub fn dim(&mut self, dim: Dim) {
        match dim {
            Dim::Const(n) => self.put(n),
            Dim::Var(name) => self.name(name),
            Dim::Ext(i) => self.put(format_args!("?{i}")),
        }
    }

    /// `[n][m]`; `[]` for no dimensions.
    pub fn shape(&mut self, shape: &[Dim]) {
        if shape.is_empty() {
            self.put("[]");
        }
        self.dims(shape);
    }

    fn dims(&mut self, shape: &[Dim]) {
        for dim in shape {
            self.put("[");
            self.dim(*dim);
            self.put("]");
        }
    }

    /// A type.
    pub fn ty(&mut self, ty: &Type) {
        with_stack(|| match ty {
            Type::Prim(prim) => self.put(prim),
            Type::Array { elem, shape } => {
                self.dims(shape);
                self.put(elem);
            }
            Type::Acc { token, shape, elems } => {
                self.put("acc ");
                self.name(*token);
                self.put(" ");
                self.shape(shape);
                self.put(" ");
                self.list(elems, Self::ty);
            }
            Type::Cert => self.put("cert"),
            Type::Mem(memory) => {
                self.put("mem ");
                self.put(memory.name);
            }
        });
    }

    fn attrs(&mut self, attrs: &Attrs) {
        for attr in attrs.iter() {
            let written = attr.to_string();
            let text = if is_identifier(&written) { written } else { quote(&written) };
            self.put(format_args!(" #[{text}]"));
        }
    }

    /// A body in braces.
    pub fn body<L: TextLevel>(&mut self, body: &Body<L>) {
        with_stack(|| {
            let Body { stms, result } = body;
            if stms.is_empty() {
                self.put("{ in ");
                result.print_part(self);
                self.put(" }");
                return;
            }
            self.put("{");
            self.indent += 1;
            for stm in stms {
                self.line();
                self.stm(stm);
            }
            self.line();
            self.put("in ");
            result.print_part(self);
            self.indent -= 1;
            self.line();
            self.put("}");
        });
    }

    /// Parts behind a word, each on a new line, one level deeper.
    pub(super) fn clauses<'t, T: Part + 't>(&mut self, word: &str, parts: impl IntoIterator<Item = &'t T>) {
        for part in parts {
            self.indent += 1;
            self.line();
            self.put(word);
            self.put(" ");
            part.print_part(self);
            self.indent -= 1;
        }
    }

    pub(super) fn stm<L: TextLevel>(&mut self, stm: &Stm<L>) {
        let Stm { pat, aux, exp } = stm;
        self.put("let ");
        if let [param] = pat.as_slice() {
            param.print_part(self);
        } else {
            pat.print_part(self);
        }
        let Aux { certs, attrs, prov, facts } = aux;
        if !certs.is_empty() {
            self.put(" <");
            self.separated(certs, |p, cert| p.name(*cert));
            self.put(">");
        }
        self.attrs(attrs);
        if *prov != Prov::NONE {
            self.put(format_args!(" ^{}", prov.0));
        }
        self.facts(facts);
        self.put(" = ");
        exp.print_row(self);
        for param in pat {
            self.notes_for(param.name);
        }
    }

    /// ` {independent, filter 0 (1, 2) -1, order 0 (1, 0)}`.
    fn facts(&mut self, facts: &Facts) {
        if facts.is_empty() {
            return;
        }
        let marks = FactFlag::ALL.into_iter().filter(|mark| facts.has(*mark));
        let mut all: Vec<String> = marks.map(|mark| mark.name().to_owned()).collect();
        if let Some(Filter { flag, values, offset: added }) = facts.filter() {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            all.push(format!("filter {flag} ({}) {added}", values.join(", ")));
        }
        for (result, order) in facts.layouts() {
            let dims: Vec<String> = order.iter().map(ToString::to_string).collect();
            all.push(format!("order {result} ({})", dims.join(", ")));
        }
        self.put(format_args!(" {{{}", all.join(", ")));
        if let Some(Partition { values, offsets, complete }) = facts.partition() {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            let before = if all.is_empty() { "" } else { ", " };
            let whole = if *complete { "complete " } else { "" };
            self.put(format_args!("{before}{whole}partition ({}) (", values.join(", ")));
            for (at, offset) in offsets.iter().enumerate() {
                self.put(if at == 0 { "" } else { ", " });
                offset.print_part(self);
            }
            self.put(")");
        }
        if let Some(SharedRead { by, block, offset }) = facts.shared() {
            self.put(if all.is_empty() { "shared " } else { ", shared " });
            self.put(by.name());
            self.put(" ");
            self.name(*block);
            self.put(" at ");
            offset.print_part(self);
        }
        self.put("}");
    }

    fn provs(&mut self, provs: &ProvTable) {
        for i in 1..=provs.len() as u32 {
            let Some(entry) = provs.entry(Prov(i)) else {
                continue;
            };
            self.line();
            self.put(format_args!("where ^{i} = "));
            match entry {
                ProvEntry::At(loc, outer) => {
                    loc.print_part(self);
                    if *outer != Prov::NONE {
                        self.put(format_args!(" in ^{}", outer.0));
                    }
                }
                ProvEntry::Stacks(stacks) => {
                    self.separated(stacks, |p, stack| p.put(format_args!("^{}", stack.0)));
                }
            }
        }
    }
}

/// A scalar constant with its type.
pub fn scalar(value: Scalar) -> String {
    let ty = value.ty();
    let special = |x: f64, is_plain_nan: bool, finite: String| {
        if x.is_finite() {
            format!("{finite}{ty}")
        } else if is_plain_nan {
            format!("nan.{ty}")
        } else if x.is_nan() {
            format!("bits.{ty} {}", value.bits())
        } else {
            format!("{}inf.{ty}", if x < 0.0 { "-" } else { "" })
        }
    };
    match value {
        Scalar::I8(x) => format!("{x}i8"),
        Scalar::I16(x) => format!("{x}i16"),
        Scalar::I32(x) => format!("{x}i32"),
        Scalar::I64(x) => format!("{x}i64"),
        Scalar::F16(x) => {
            let plain = x.to_bits() == half::f16::NAN.to_bits();
            special(x.to_f64(), plain, format!("{:?}", x.to_f32()))
        }
        Scalar::F32(x) => special(f64::from(x), x.to_bits() == f32::NAN.to_bits(), format!("{x:?}")),
        Scalar::F64(x) => special(x, x.to_bits() == f64::NAN.to_bits(), format!("{x:?}")),
        Scalar::Bool(x) => x.to_string(),
    }
}
