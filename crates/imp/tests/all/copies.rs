//! The plans of copies: the chosen ones, and invalid ones, which the verifier refuses.

use imp::{CopyPlan, Expr, Region, Stmt, Tile, Var, parse, verify};
use prim::PrimType;

fn region(buffer: u32, strides: Vec<Expr>) -> Region {
    Region { buffer: Var(buffer), offset: Expr::i64(0), strides }
}

/// The plan for a copy with these extents and strides; `None` is not constant.
fn plan(extents: &[Option<i64>], to: &[Option<i64>], from: &[Option<i64>]) -> CopyPlan {
    let exprs = |list: &[Option<i64>]| -> Vec<Expr> {
        let expr = |x: &Option<i64>| x.map_or(Expr::Var(Var(2)), Expr::i64);
        list.iter().map(expr).collect()
    };
    let (to, from) = (region(0, exprs(to)), region(1, exprs(from)));
    match Stmt::copy(to, from, PrimType::F32, exprs(extents)) {
        Stmt::Copy { plan, .. } => plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn plans_depend_on_constant_extents_and_strides() {
    let (n, one) = (None, Some(1));
    let tiles = CopyPlan::Dynamic(Some(Tile { extent: 32, pitch: 33 }));
    assert_eq!(plan(&[], &[], &[]), CopyPlan::Memory);
    assert_eq!(plan(&[n], &[one], &[one]), CopyPlan::Memory);
    assert_eq!(plan(&[n], &[one], &[n]), CopyPlan::Dynamic(None));
    assert_eq!(plan(&[n], &[Some(2)], &[one]), CopyPlan::Elements);
    assert_eq!(plan(&[n], &[one], &[Some(-3)]), CopyPlan::Elements);
    assert_eq!(plan(&[n, n], &[n, one], &[n, one]), tiles);
    assert_eq!(plan(&[n, n, n], &[n, n, one], &[n, n, one]), tiles);
    assert_eq!(plan(&[n, n], &[n, one], &[one, n]), tiles);
    assert_eq!(plan(&[n, n], &[n, n], &[n, one]), tiles);
    assert_eq!(plan(&[n, n], &[n, one], &[one, one]), tiles);
    // Squares.
    let side = |n: i64, pitch: Option<i64>| {
        let n = Some(n);
        plan(&[n, n], &[one, pitch], &[None, one])
    };
    assert_eq!(side(8, Some(8)), CopyPlan::InRegister(8));
    assert_eq!(side(16, Some(64)), CopyPlan::InRegister(16));
    assert_eq!(side(32, Some(32)), tiles);
    assert_eq!(side(6, Some(8)), tiles);
    assert_eq!(side(8, Some(4)), tiles);
    assert_eq!(side(8, n), tiles);
}

#[test]
fn impossible_plans_are_rejected() {
    let verdict = |copy: &str| {
        let text =
            format!("imp file \"a\" fun f(a_0: buffer, b_1: buffer, n_2: i64) -> () {{ copy {copy} }}");
        let program = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let errors = verify(&program).err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let good = [
        "[n_2]f32 a_0[0 strides 1] <- b_1[n_2 strides 1] as memory",
        "[n_2]f32 a_0[0 strides 1] <- b_1[n_2 strides 1] by strides",
        "[n_2]f32 a_0[0 strides 2] <- b_1[0 strides n_2] one by one",
        "[4, 4]f32 a_0[0 strides 1, 4] <- b_1[0 strides n_2, 1] in registers 4",
        "[n_2, 3]f32 a_0[0 strides 1, 4] <- b_1[0 strides n_2, 1] by strides tiles 64 pitch 64",
    ];
    for copy in good {
        assert_eq!(verdict(copy), [""; 0], "{copy}");
    }
    let bad = [
        "[n_2]f32 a_0[0 strides 2] <- b_1[n_2 strides 1] as memory",
        "[n_2, 3]f32 a_0[0 strides 3, 1] <- b_1[0 strides n_2, 1] one by one",
        "[n_2, n_2]f32 a_0[0 strides 1, 1] <- b_1[n_2 strides 1, 1] as memory",
        "[4, 4]f32 a_0[0 strides 1, 4] <- b_1[0 strides n_2, 1] in registers 8",
        "[4, n_2]f32 a_0[0 strides 1, 4] <- b_1[0 strides n_2, 1] in registers 4",
        "[4, 4]f32 a_0[0 strides 4, 1] <- b_1[0 strides n_2, 1] in registers 4",
        "[n_2, 3]f32 a_0[0 strides 1, 4] <- b_1[0 strides n_2, 1] by strides tiles 64 pitch 63",
        "[n_2, 3]f32 a_0[0 strides 1, 4] <- b_1[0 strides n_2, 1] by strides tiles 1 pitch 2",
        "[n_2, 3]f32 a_0[0 strides 1, 4] <- b_1[0 strides n_2, 1] by strides tiles 64 pitch 65",
    ];
    for copy in bad {
        let errors = verdict(copy);
        let found = errors.iter().any(|e| e.contains("the copy does not allow the plan"));
        assert!(found, "{copy}: {errors:?}");
    }
}
