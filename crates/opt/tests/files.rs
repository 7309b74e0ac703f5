//! Every file in `files/PASS` is a program and, below a line `==== after`,
//! what the pass makes of it. With `BLESS` set, the latter is written anew.
//!
//! Before and after, the program verifies, prints and parses back, and its
//! entry points give the same results for some arguments (or both fail). A
//! file without entry points gets one for each function.

use ir::eval::{Array, EvalValue, eval_entry};
use ir::syntax::{EntryPoint, EntryType, EntryValue, FunKind, Function};
use ir::types::Type;
use ir::{Context, Options};
use ir::{Level, Program, Segs, Soacs, text, verify};
use opt::Pass;
use prim::{PrimType, Scalar, ScalarType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AFTER: &str = "==== after\n";

fn scalar_type(ty: PrimType) -> ScalarType {
    ty.name().parse().unwrap()
}

/// Entry values for core types: sizes go with the arrays that follow them.
fn group(types: &[&Type]) -> Vec<EntryValue> {
    let mut rest = types;
    let mut values = Vec::new();
    while let Some(first) = rest.first() {
        let sizes = rest.iter().take_while(|ty| ***ty == Type::I64).count();
        let array = (1..=sizes).find(|k| rest.get(*k).is_some_and(|ty| ty.rank() == *k));
        let (ty, used) = match array {
            Some(rank) => {
                let elem = scalar_type(rest[rank].elem().unwrap());
                (EntryType::Array { elem, rank }, rank + 1)
            }
            None => (EntryType::Scalar(scalar_type(first.elem().unwrap())), 1),
        };
        values.push(EntryValue {
            name: Arc::from("x"),
            type_name: Arc::from("t"),
            ty,
            unique: true,
        });
        rest = &rest[used..];
    }
    values
}

fn entry_of<L: Level>(function: &Function<L>) -> EntryPoint {
    let params: Vec<&Type> = function.params.iter().map(|p| &p.param.ty).collect();
    let results: Vec<&Type> = function.ret.iter().map(|r| &r.ty).collect();
    EntryPoint {
        name: function.name.0.clone(),
        fun: function.name.clone(),
        params: group(&params),
        results: group(&results),
    }
}

/// Arguments: small numbers, `width` in each dimension of arrays.
fn arguments(entry: &EntryPoint, width: usize, seed: i64) -> Vec<EvalValue> {
    let scalar = |ty: ScalarType, i: i64| match ty.prim() {
        PrimType::F16 | PrimType::F32 | PrimType::F64 => {
            let value = prim::eval::convert(prim::ConvOp::SToF, Scalar::I64(i * 3 - 4), ty.prim());
            value.unwrap()
        }
        PrimType::Bool => Scalar::Bool(i % 2 == 0),
        int => Scalar::int(int, i * 5 % 7 - 1),
    };
    let value = |(p, value): (usize, &EntryValue)| match &value.ty {
        EntryType::Scalar(ty) => EvalValue::Scalar(scalar(*ty, seed + p as i64)),
        EntryType::Array { elem, rank } => {
            let count = width.pow(*rank as u32);
            let mut bytes = Vec::new();
            for i in 0..count {
                let bits = scalar(*elem, seed + i as i64).bits().to_le_bytes();
                bytes.extend_from_slice(&bits[..elem.size() as usize]);
            }
            let shape = vec![width as i64; *rank];
            EvalValue::Array(Array::from_bytes(elem.prim(), &shape, &bytes).unwrap())
        }
        EntryType::Opaque { .. } => panic!("opaque entry values are not made here"),
    };
    entry.params.iter().enumerate().map(value).collect()
}

fn results<L: Level>(program: &Program<L>) -> Vec<Option<Vec<EvalValue>>> {
    let mut all = Vec::new();
    for entry in &program.entries {
        for (width, seed) in [(4, 1), (1, 3), (0, 2)] {
            let args = arguments(entry, width, seed);
            all.push(eval_entry(program, &entry.name, args).ok());
        }
    }
    all
}

fn check<L: Level>(program: &Program<L>, what: &str) -> Result<(), String> {
    verify::verify(program).map_err(|errors| {
        let listing = verify::listing(program, &errors);
        format!("{what} the pass, invalid:\n{listing}")
    })?;
    if text::parse::<L>(&text::print(program)).as_ref() != Ok(program) {
        return Err(format!("{what} the pass, does not parse back"));
    }
    Ok(())
}

/// What the pass makes of a program, checked.
fn apply<L: Level>(pass: &Pass<L>, source: &str) -> Result<String, String> {
    let mut program = text::parse::<L>(source).map_err(|e| e.to_string())?;
    let made_entries = program.entries.is_empty();
    if made_entries {
        let functions = program
            .functions
            .iter()
            .filter(|f| f.kind == FunKind::Function);
        program.entries = functions.map(entry_of).collect();
    }
    check(&program, "before")?;
    let before = results(&program);
    let mut context = Context::default();
    let mut after = (pass.run)(program, &mut context).map_err(|e| e.to_string())?;
    check(&after, "after")?;
    if before != results(&after) {
        return Err(format!(
            "other results after the pass:\n{}",
            text::print(&after)
        ));
    }
    if made_entries {
        after.entries.clear();
    }
    Ok(text::print(&after))
}

fn apply_named(name: &str, source: &str) -> Result<String, String> {
    match text::level_of(source) {
        Some("soacs") => {
            apply::<Soacs>(opt::SOACS.iter().find(|p| p.name == name).unwrap(), source)
        }
        Some("segs") => apply::<Segs>(opt::SEGS.iter().find(|p| p.name == name).unwrap(), source),
        other => Err(format!("level {other:?}")),
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn passes_do_what_the_files_say() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut failures = Vec::new();
    for folder in files(&root) {
        let pass = folder.file_name().unwrap().to_string_lossy().into_owned();
        for path in files(&folder) {
            let content = std::fs::read_to_string(&path).unwrap();
            let (source, want) = content.split_once(AFTER).unwrap_or((&content, ""));
            match apply_named(&pass, source) {
                Err(message) => failures.push(format!("{}: {message}", path.display())),
                Ok(got) if got == want => {}
                Ok(got) if std::env::var_os("BLESS").is_some() => {
                    std::fs::write(&path, format!("{source}{AFTER}{got}")).unwrap();
                }
                Ok(got) => failures.push(format!("{}:\n{got}", path.display())),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Any amount of fuel leaves a right program, and no fuel the program itself.
#[test]
fn fuel_may_run_out_anywhere() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    for path in files(&root.join("fuse")) {
        let content = std::fs::read_to_string(&path).unwrap();
        let (source, _) = content.split_once(AFTER).unwrap_or((&content, ""));
        let mut program = text::parse::<Soacs>(source).unwrap();
        program.entries = program.functions.iter().map(entry_of).collect();
        let before = results(&program);
        for units in 0.. {
            let options = Options {
                strict_fp: true,
                ..Options::default()
            };
            let mut context = Context::new(Some(units), options);
            let after = opt::run(opt::SOACS, program.clone(), &mut context).unwrap();
            let at = format!("{} with {units} units", path.display());
            check(&after, &at).unwrap();
            assert!(before == results(&after), "{at}: other results");
            if context.fuel.left != Some(0) {
                break;
            }
        }
    }
}
