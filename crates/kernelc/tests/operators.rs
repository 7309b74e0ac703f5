//! Tests every scalar operator at every type, as C compiled by the system's compiler, against
//! `prim::eval`: bit for bit but for the payload of NaNs. Compiled without and with optimisation,
//! since optimisers exploit undefined behaviour.

#[path = "../../llvm/tests/all/common/cases.rs"]
mod cases;

use cases::{Case, cases, is_nan};
use imp::{
    CodePlacement, Entry, EntryType, EntryValue, Expr, FunId, Function, OpaqueTypes, Program, Signature,
    Stmt, Var,
};
use imp::{VarInfo, VarType, Verified};
use prim::{MathFun, PrimType, Scalar, ScalarType};
use std::io::Write;
use std::process::{Command, Stdio};

/// Calls entry points by number with words from standard input.
const CALLER: &str = r"
#undef main
int main(void) {
    static br_ctx ctx;
    u32 at;
    while (fread(&at, sizeof at, 1, stdin) == 1) {
        const br_entry *entry = &program.entries[at];
        br_word args[4], result;
        memset(&result, 0, sizeof result);
        for (int i = 0; i < entry->params_count; i++) {
            if (fread(&args[i], sizeof args[i], 1, stdin) != 1) return 2;
        }
        if (entry->fun(&ctx, args, &result) != 0) return 3;
        if (fwrite(&result, sizeof result, 1, stdout) != 1) return 4;
    }
    return 0;
}
";

/// Returns true if C's library has the function with exact results.
fn is_exact(case: &Case) -> bool {
    match case.fun() {
        Some(MathFun::Copysign | MathFun::Nextafter) => case.result != PrimType::F16,
        Some(_) => false,
        None => true,
    }
}

fn value(ty: PrimType) -> EntryValue {
    let scalar = ScalarType::ALL.iter().find(|scalar| scalar.prim() == ty);
    OpaqueTypes::default().value("", EntryType::scalar(*scalar.expect("each type has values")))
}

/// A program with an entry point for each case.
fn program(cases: &[Case]) -> Program {
    let mut program = Program { source_name: "operators".into(), ..Program::default() };
    for (at, case) in cases.iter().enumerate() {
        let count = case.params.len();
        let types = case.params.iter().chain([&case.result]);
        let vars = types.map(|ty| VarInfo { ty: VarType::Scalar(*ty), hint: "x".into() });
        let params: Vec<Var> = (0..count as u32).map(Var).collect();
        let result = Var::new(count);
        let args = params.iter().map(|var| Expr::Var(*var));
        let constants = case.constants.iter().map(|x| Expr::Const(*x));
        let expr = case.expr(args.chain(constants));
        program.functions.push(Function {
            name: case.name.as_str().into(),
            params,
            results: vec![result],
            owned: Vec::new(),
            distinct: Vec::new(),
            vars: vars.collect(),
            body: vec![Stmt::Set(result, expr)],
            code: CodePlacement::OneModule,
            recursive: false,
        });
        let params = case.params.iter().map(|ty| value(*ty)).collect();
        let signature = Signature::new(&case.name, params, value(case.result));
        program.entries.push(Entry { fun: FunId::new(at), signature });
    }
    program
}

fn all_operators(level: &str) {
    let cases: Vec<Case> = cases().into_iter().filter(is_exact).collect();
    let program = Verified::new(program(&cases)).expect("the program is valid");
    let text = kernelc::program(&program).expect("C supports all operators");
    let folder = tempfile::tempdir().expect("the folder can be created");
    let (source, made) = (folder.path().join("p.c"), folder.path().join("p"));
    std::fs::write(&source, format!("#define main program_main\n{text}{CALLER}"))
        .expect("the file can be written");
    let compiled = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
        .args(["-std=c11", "-w", level, "-o"])
        .args([&made, &source])
        .arg("-lm")
        .output()
        .expect("a C compiler is installed");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");

    let mut input = Vec::new();
    let mut calls = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        for args in case.arguments() {
            input.extend((at as u32).to_le_bytes());
            args.iter().for_each(|x| input.extend(x.bits().to_le_bytes()));
            calls.push((case, args));
        }
    }
    let mut child =
        Command::new(&made).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the process starts");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the process ends");
    writer.join().expect("the writer does not panic").expect("the process reads all input");
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(output.stdout.len(), 8 * calls.len());

    let (mut failures, mut compared) = (Vec::new(), 0);
    for ((case, args), word) in calls.iter().zip(output.stdout.chunks_exact(8)) {
        let Some(wanted) = case.meaning(args) else {
            continue;
        };
        let word = u64::from_le_bytes(word.try_into().expect("a word has eight bytes"));
        let got = Scalar::from_bits(case.result, word);
        compared += 1;
        if got != wanted && !(is_nan(got) && is_nan(wanted)) {
            failures.push(format!("{} {args:?} = {got:?}, not {wanted:?}", case.name));
        }
    }
    failures.truncate(40);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared > 190_000, "only {compared} results were compared");
}

#[test]
fn unoptimised_c_matches() {
    all_operators("-O0");
}

#[test]
fn optimised_c_matches() {
    all_operators("-O2");
}
