//! Tests every scalar operator at every type, compiled, against `prim::eval`: bit for bit but for
//! the payload of NaNs. Compiled for the host and for the baseline processor, whose missing
//! instructions become calls.

use crate::common::cases::{cases, is_nan};
use crate::common::{Fun, add_entry, entry_fn, entry_type, jit};
use imp::{Expr, FunId, Program, Stmt, VarType};
use prim::Scalar;

fn all_operators(cpu: &str) {
    let cases = cases();
    let mut program = Program { source_name: "operators".into(), ..Program::default() };
    for (i, case) in cases.iter().enumerate() {
        let mut f = Fun::default();
        let params: Vec<_> = case.params.iter().map(|ty| f.param("x", VarType::Scalar(*ty))).collect();
        let result = f.scalar("r", case.result);
        f.results = vec![result];
        let constants = case.constants.iter().map(|x| Expr::Const(*x));
        let expr = case.expr(params.iter().map(|x| Expr::Var(*x)).chain(constants));
        program.functions.push(f.finish(&case.name, vec![Stmt::Set(result, expr)]));
        let params: Vec<_> = case.params.iter().map(|ty| entry_type(*ty)).collect();
        add_entry(&mut program, &case.name, FunId::new(i), &params, &[entry_type(case.result)]);
    }
    let jit = jit(&program, cpu);
    let (mut failures, mut compared) = (Vec::new(), 0);
    for case in &cases {
        let code = entry_fn(&jit, &case.name);
        for args in case.arguments() {
            let words: Vec<u64> = args.iter().map(|x| x.bits()).collect();
            let mut result = 0;
            // SAFETY: scalar code does not access its context; the words are as described.
            let status = unsafe { code(std::ptr::dangling_mut(), words.as_ptr(), &raw mut result) };
            assert_eq!(status, 0);
            let Some(wanted) = case.meaning(&args) else {
                continue;
            };
            compared += 1;
            let got = Scalar::from_bits(case.result, result);
            if got.bits() != result {
                failures.push(format!("{} {args:?}: word {result:x}", case.name));
            } else if got != wanted && !(is_nan(got) && is_nan(wanted)) {
                failures.push(format!("{} {args:?} = {got:?}, not {wanted:?}", case.name));
            }
        }
    }
    assert!(compared > 200_000, "only {compared} comparisons");
    let shown: Vec<_> = failures.iter().take(40).cloned().collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), shown.join("\n"));
}

#[test]
fn operators_on_this_machine() {
    all_operators("native");
}

#[test]
fn operators_on_any_machine() {
    all_operators("generic");
}
