//! Helpers for writing imperative programs by hand and running them.

pub mod cases;
pub mod memory;
pub mod vectors;

use imp::{
    Access, Check, CheckId, CodePlacement, Entry, EntryType, Expr, For, FunId, Function, Launch, LoopMode,
    Program, Signature, Stmt, Var, VarInfo, VarType, Verified,
};
use llvm::{Jit, Options};
use prim::{BinOp, CmpOp, PrimType, ScalarType};
use runtime::abi::{ABI_VERSION, EntryFn};
use runtime::{Config, Context, Image, Output};
use std::sync::Arc;
use value::Value;

/// A function under construction.
#[derive(Default)]
pub struct Fun {
    pub vars: Vec<VarInfo>,
    pub params: Vec<Var>,
    pub results: Vec<Var>,
    pub owned: Vec<Var>,
}

impl Fun {
    pub fn var(&mut self, hint: &str, ty: VarType) -> Var {
        self.vars.push(VarInfo { ty, hint: hint.into() });
        Var::new(self.vars.len() - 1)
    }
    pub fn scalar(&mut self, hint: &str, ty: PrimType) -> Var {
        self.var(hint, VarType::Scalar(ty))
    }
    pub fn int(&mut self, hint: &str) -> Var {
        self.scalar(hint, PrimType::I64)
    }
    pub fn buffer(&mut self, hint: &str) -> Var {
        self.var(hint, VarType::HOST)
    }
    pub fn param(&mut self, hint: &str, ty: VarType) -> Var {
        let var = self.var(hint, ty);
        self.params.push(var);
        var
    }
    /// Adds an array parameter of rank 1: buffer and size.
    pub fn array(&mut self, hint: &str) -> (Var, Var) {
        let buffer = self.param(hint, VarType::HOST);
        (buffer, self.param("n", VarType::Scalar(PrimType::I64)))
    }
    pub fn owned(&mut self, hint: &str) -> Var {
        let var = self.buffer(hint);
        self.owned.push(var);
        var
    }
    pub fn finish(self, name: &str, body: Vec<Stmt>) -> Function {
        Function {
            name: name.into(),
            params: self.params,
            results: self.results,
            owned: self.owned,
            distinct: vec![],
            vars: self.vars,
            body,
            code: CodePlacement::OneModule,
            recursive: false,
        }
    }
}

pub fn v(var: Var) -> Expr {
    Expr::Var(var)
}
pub fn c(x: i64) -> Expr {
    Expr::i64(x)
}
pub fn bin(op: BinOp, ty: PrimType, x: Expr, y: Expr) -> Expr {
    Expr::binary(op, ty, x, y)
}
pub fn add(x: Expr, y: Expr) -> Expr {
    bin(BinOp::Add, PrimType::I64, x, y)
}
pub fn sub(x: Expr, y: Expr) -> Expr {
    bin(BinOp::Sub, PrimType::I64, x, y)
}
pub fn mul(x: Expr, y: Expr) -> Expr {
    bin(BinOp::Mul, PrimType::I64, x, y)
}
pub fn less(x: Expr, y: Expr) -> Expr {
    Expr::compare(CmpOp::SLt, PrimType::I64, x, y)
}
/// Element `index` of a row-major vector.
pub fn at(buffer: Var, elem: PrimType, index: Expr) -> Access {
    Access { buffer, elem, offset: c(0), dims: vec![(index, c(1))] }
}
pub fn tasks(id: u32, var: Var, to: Expr, launch: Launch, body: Vec<Stmt>) -> Stmt {
    let launch = Launch { id, ..launch };
    Stmt::For(For { mode: LoopMode::Tasks(launch), var, from: c(0), to, body })
}
pub fn seq(independent: bool, var: Var, from: Expr, to: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::For(For { mode: LoopMode::Seq { independent }, var, from, to, body })
}
/// A launch whose cost always justifies its threads.
pub fn launch() -> Launch {
    Launch {
        id: 0,
        name: "test".into(),
        provenance: "".into(),
        cost: c(1_000_000_000),
        slices: None,
        owned: vec![],
        locals: vec![],
        // Filled in by [`program`].
        captures: vec![],
        distinct: vec![],
        scattered: vec![],
        shared_buffers: Vec::new(),
    }
}
/// A tile whose pitch is one element more than its side.
pub fn tile(side: u32) -> imp::Tile {
    imp::Tile { extent: side, pitch: side + 1 }
}
pub fn check(cond: Expr, values: Vec<Expr>) -> Stmt {
    Stmt::Check { cond, check: CheckId(0), values }
}

/// Adds an entry point under this name; several results become a tuple.
pub fn add_entry(program: &mut Program, name: &str, fun: FunId, params: &[EntryType], results: &[EntryType]) {
    let result = program.opaques.tuple(results).unwrap();
    let opaques = &program.opaques;
    let params = params.iter().map(|ty| opaques.value("x", *ty)).collect();
    let signature = Signature::new(name, params, opaques.value("", result));
    program.entries.push(Entry { fun, signature });
}
/// The scalar type of an entry's parameter or result.
pub fn entry_type(ty: PrimType) -> EntryType {
    let same = ScalarType::ALL.iter().find(|t| t.name() == ty.name());
    EntryType::scalar(*same.unwrap())
}
pub fn array_of(ty: ScalarType) -> EntryType {
    EntryType::array(ty, 1)
}

/// A program of these functions; the first is the entry `main`.
pub fn program(functions: Vec<Function>, params: Vec<EntryType>, results: Vec<EntryType>) -> Program {
    let mut program = Program {
        source_name: "test.fut".into(),
        functions,
        checks: vec![Check {
            format: "index {i64} is out of bounds for size {i64}".into(),
            location: "test.fut:1:2-3".into(),
        }],
        ..Program::default()
    };
    add_entry(&mut program, "main", FunId(0), &params, &results);
    program.functions.iter_mut().for_each(imp::captures::fill);
    program
}

pub fn verified(program: &Program) -> Verified {
    Verified::new(program.clone()).unwrap_or_else(|listing| panic!("{listing}"))
}

pub fn jit(program: &Program, cpu: &str) -> Jit {
    assert_eq!(llvm::ABI_VERSION as u64, ABI_VERSION);
    let options = Options { cpu: cpu.to_owned(), ..Options::default() };
    let objects = llvm::compile(&verified(program), &options, llvm::Output::Object);
    let objects = objects.unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: the runtime's symbols have the types that its `abi` specifies.
    unsafe { Jit::new(&objects, &runtime::symbols()) }.unwrap()
}

/// The processors for which code can be compiled and run on the host.
pub fn machines() -> Vec<&'static str> {
    let mut machines = vec!["native", "generic", "x86-64-v2"];
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        machines.push("x86-64-v3");
    }
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        machines.push("x86-64-v4");
        // Not necessarily the host, but its code needs no other instructions, and it is a processor
        // on which gathers are considered fast.
        machines.push("skylake-avx512");
    }
    machines
}

/// A context with a number of threads for a program.
pub fn context(program: &Program, threads: usize) -> Context {
    let jit = Arc::new(jit(program, "native"));
    let table = jit.program().unwrap().cast::<runtime::abi::Program>();
    // SAFETY: the table is a constant of the code, which the image keeps.
    let image = unsafe { Image::new(*table, jit) };
    let config = Config { num_threads: Some(threads), ..Config::default() };
    Context::new(&config, image).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the entry `main` and checks that no block leaks.
pub fn run(program: &Program, threads: usize, args: Vec<Value>) -> Result<Vec<Value>, String> {
    let mut context = context(program, threads);
    let outputs = context.call("main", args).map_err(|error| error.to_string());
    let values = outputs.map(|outputs| {
        outputs
            .into_iter()
            .map(|output| match output {
                Output::Value(value) => value,
                other => panic!("{other:?}"),
            })
            .collect()
    });
    assert_eq!(context.finish(), 0, "bytes leaked");
    values
}

/// The code of an entry point that requires no context.
pub fn entry_fn(jit: &Jit, name: &str) -> EntryFn {
    // SAFETY: entry symbols are entry functions.
    unsafe { std::mem::transmute::<*const (), EntryFn>(jit.entry(name).unwrap()) }
}
