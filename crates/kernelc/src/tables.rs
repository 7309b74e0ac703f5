//! A program's constant data, checks, and the description that the runtime reads (`br_program` in
//! the prelude).

use crate::dialect::{self, Dialect};
use crate::error::{Error, Res};
use crate::function::TranslationUnit;
use crate::literal;
use crate::names;
use imp::{Check, CheckId, Data, DataId, Entry, EntryType, EntryValue, Signature, VarType};
use prim::{PrimType, Scalar, ScalarType};
use std::fmt::Write as _;

/// The number of elements in a line of constant data.
const PER_LINE: usize = 16;

/// A block of constant data with its header.
pub fn data(at: usize, data: &Data, dialect: &Dialect) -> String {
    let name = names::data(DataId::new(at));
    let size = data.elem.size() as usize;
    let elements: Vec<Scalar> = (data.bytes.chunks_exact(size))
        .map(|bytes| {
            let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            Scalar::from_bits(data.elem, bits)
        })
        .collect();
    // Infinities and NaNs are not constant expressions in C, so all elements are printed as bits.
    let is_finite = |x: &Scalar| match x {
        Scalar::F32(x) => x.is_finite(),
        Scalar::F64(x) => x.is_finite(),
        Scalar::I8(_)
        | Scalar::I16(_)
        | Scalar::I32(_)
        | Scalar::I64(_)
        | Scalar::F16(_)
        | Scalar::Bool(_) => true,
    };
    let as_bits = !elements.iter().all(is_finite);
    let ty = match data.elem {
        PrimType::Bool => "u8",
        elem if as_bits => dialect::unsigned(elem),
        PrimType::I8
        | PrimType::I16
        | PrimType::I32
        | PrimType::I64
        | PrimType::F16
        | PrimType::F32
        | PrimType::F64 => dialect::scalar(data.elem),
    };
    let mut text = format!(
        "static const struct {{ br_header header; {ty} values[{}]; }} {name} = {{BR_CONSTANT, {{",
        elements.len().max(1)
    );
    for (i, x) in elements.iter().enumerate() {
        text.push_str(if i % PER_LINE == 0 { "\n    " } else { " " });
        let _ = match x {
            _ if as_bits => write!(text, "0x{:x}U{},", x.bits(), dialect.suffix_64),
            Scalar::Bool(b) => write!(text, "{},", u8::from(*b)),
            Scalar::I8(_)
            | Scalar::I16(_)
            | Scalar::I32(_)
            | Scalar::I64(_)
            | Scalar::F16(_)
            | Scalar::F32(_)
            | Scalar::F64(_) => write!(text, "{},", literal::scalar(*x, dialect)),
        };
    }
    text.push_str(if elements.is_empty() { "0}};\n" } else { "\n}};\n" });
    text
}

/// The description of a check: message and location.
pub fn check(at: usize, check: &Check) -> String {
    let name = names::check(CheckId::new(at));
    let (format, location) = (literal::text(&check.format), literal::text(&check.location));
    format!("static const br_check {name} = {{{format}, {location}}};\n")
}

/// The function that unpacks words, calls an entry point's code and packs its results.
pub fn entry(unit: &TranslationUnit<'_>, at: usize, entry: &Entry) -> Res<String> {
    let (function, callee) = unit.function(entry.fun.index());
    let word = |var: &imp::Var| match function.vars[var.index()].ty {
        VarType::Scalar(ty) => Ok((dialect::scalar(ty), format!("as_{ty}"))),
        VarType::Buffer(_) => Ok(("u8 *", "block".to_owned())),
        VarType::Vector(..) => Err(Error::bug("a parameter or result of an entry point is a vector")),
    };
    let mut args = vec!["ctx".to_owned()];
    for (i, var) in function.params.iter().enumerate() {
        args.push(format!("args[{i}].{}", word(var)?.1));
    }
    let (mut declared, mut stored) = (String::new(), String::new());
    for (i, var) in function.results.iter().enumerate() {
        let (ty, field) = word(var)?;
        args.push(format!("&got{i}"));
        let _ = writeln!(declared, "    {ty} got{i};");
        let _ = writeln!(stored, "    results[{i}].{field} = got{i};");
    }
    Ok(format!(
        "static int {}(br_ctx *ctx, const br_word *args, br_word *results) {{\n\
         {declared}    (void)args;\n    (void)results;\n    if ({callee}({}) != 0) return 1;\n{stored}    return 0;\n}}\n",
        names::entry(at),
        args.join(", ")
    ))
}

/// The program's description, and the functions that initialise and release its globals.
pub fn description(unit: &TranslationUnit<'_>) -> Res<String> {
    let program = unit.program;
    let mut text = String::from("static void program_fini(br_ctx *ctx) {\n    (void)ctx;\n");
    for (i, ty) in program.globals.iter().enumerate() {
        if ty.is_buffer() {
            let _ = writeln!(text, "    br_unref(ctx, ctx->globals[{i}].block);");
            let _ = writeln!(text, "    ctx->globals[{i}].block = NULL;");
        }
    }
    text.push_str("}\nstatic int program_init(br_ctx *ctx) {\n    (void)ctx;\n");
    if let Some(init) = program.init {
        let (_, name) = unit.function(init.index());
        let _ = writeln!(text, "    if ({name}(ctx) != 0) {{ program_fini(ctx); return 1; }}");
    }
    text.push_str("    return 0;\n}\n");
    let mut entries = Vec::new();
    for (at, entry) in program.entries.iter().enumerate() {
        let mut sides = Vec::new();
        let Signature { name, params, result, .. } = &entry.signature;
        let results = program.opaques.components(result.ty).into_iter().map(|ty| EntryValue {
            type_name: program.opaques.name(ty),
            ty,
            ..result.clone()
        });
        let results: Vec<EntryValue> = results.collect();
        for (side, values) in [("params", params), ("results", &results)] {
            let name = format!("{}_{side}", names::entry(at));
            let mut lines = Vec::new();
            for (i, value) in values.iter().enumerate() {
                lines.push(describe(unit, &format!("{name}{i}"), value, &mut text));
            }
            sides.push(format!("{}, {name}", lines.len()));
            text += &table("br_param", &name, &lines, "{NULL, NULL, 0, 0, 0, 0, 0, 0, NULL}");
        }
        let (name, code) = (literal::text(name), names::entry(at));
        entries.push(format!("{{{name}, {code}, {}}}", sides.join(", ")));
    }
    text += &table("br_entry", "program_entries", &entries, "{NULL, NULL, 0, NULL, 0, NULL}");
    let tunables = program.tunables.iter().map(|tunable| {
        format!(
            "{{{}, {}, {}}}",
            literal::text(&tunable.name),
            literal::text(tunable.class.name()),
            literal::wide(tunable.default, unit.dialect)
        )
    });
    let tunables: Vec<String> = tunables.collect();
    text += &table("br_tunable", "program_tunables", &tunables, "{NULL, NULL, 0}");
    let _ = writeln!(
        text,
        "static const br_program program = {{{}, program_entries, {}, {}, program_tunables, program_init, program_fini}};",
        entries.len(),
        program.globals.len(),
        tunables.len()
    );
    Ok(text)
}

/// A constant array; if empty, with the placeholder element `none`.
fn table(ty: &str, name: &str, lines: &[String], none: &str) -> String {
    let lines = if lines.is_empty() { none.to_owned() } else { lines.join(",\n    ") };
    format!("static const {ty} {name}[] = {{\n    {lines}\n}};\n")
}

/// The description of a parameter or result; tables that it refers to are appended to `text`.
fn describe(unit: &TranslationUnit<'_>, name: &str, value: &EntryValue, text: &mut String) -> String {
    let index = |ty: ScalarType| format!("BR_{}", ty.name().to_uppercase());
    // An array's block precedes its sizes.
    let (mut words, mut blocks) = (0, Vec::new());
    for leaf in unit.program.opaques.leaves(value.ty) {
        if leaf.rank > 0 {
            blocks.push(words.to_string());
        }
        words += leaf.n_words();
    }
    let (kind, scalar, rank) = match value.ty {
        EntryType::Value(ty) if ty.rank == 0 => ("BR_SCALAR", index(ty.scalar), 0),
        EntryType::Value(ty) => ("BR_ARRAY", index(ty.scalar), ty.rank),
        ty if unit.program.opaques.is_unit(ty) => ("BR_UNIT", "0".to_owned(), 0),
        EntryType::Opaque(_) => ("BR_OPAQUE", "0".to_owned(), 0),
    };
    let offsets = if blocks.is_empty() {
        "NULL".to_owned()
    } else {
        let _ = writeln!(text, "static const int {name}_blocks[] = {{{}}};", blocks.join(", "));
        format!("{name}_blocks")
    };
    format!(
        "{{{}, {}, {kind}, {scalar}, {rank}, {}, {words}, {}, {offsets}}}",
        literal::text(&value.name),
        literal::text(&value.type_name),
        u8::from(value.unique),
        blocks.len()
    )
}
