//! Builder, traversal and renaming services.

use ir::build::LoopInit;
use ir::name::{NameTable, ProvTable, SrcLoc};
use ir::soac::Operator;
use ir::syntax::{
    Attrs, BasicOp, Exp, FunKind, FunParam, FunResult, Function, OpaqueTypes, Param, ReshapeKind,
};
use ir::types::Shape;
use ir::walk::{Import, Substitution, free_names, import_body, refresh_body, substitute_body};
use ir::{
    Atom, Builder, Dim, FunName, MathDefinitions, Program, Prov, Soacs, Stack, Type, TypeEnv, text, verify,
};
use prim::{BinOp, CmpOp, PrimType, Scalar};

/// `f n xs` with a map, a reduction, a conditional with an existential size and a loop.
fn sample() -> Function<Soacs> {
    let mut names = NameTable::new();
    let mut types = TypeEnv::new();
    let mut provs = ProvTable::new();
    let prov = provs.push(SrcLoc { file: 0, line: 1, col: 2, end_line: 1, end_col: 5 }, Prov::NONE);
    let mut b: Builder<'_, Soacs> = Builder::new(&mut names, &mut types);
    b.prov = prov;
    let n = b.param("n", Type::I64);
    let width = Dim::Var(n.name);
    let row = Type::array(PrimType::I64, [width]);
    let xs = b.param("xs", row.clone());

    let n1 = b.add_i64(n.name.into(), Atom::i64(0));
    assert_eq!(n1, n.name.into());
    let ys = b.map("ys", width, &[xs.name], |b, x| {
        vec![b.binary(BinOp::Add, PrimType::I64, x[0].into(), n1).into()]
    });
    let op = b.binary_lambda(BinOp::Add, PrimType::I64);
    let op = Operator { op, neutral: vec![Atom::i64(0)], comm: true };
    let sum = b.reduce("sum", width, &ys, op)[0];
    let positive = b.compare(CmpOp::SLt, PrimType::I64, Atom::i64(0), sum.into());
    let chosen = vec![Type::I64, Type::array(PrimType::I64, [Dim::Ext(0)])];
    let picked = b.if_(
        "picked",
        positive.into(),
        chosen,
        |_| vec![n.name.into(), ys[0].into()],
        |b| {
            let one = b.replicate("one", &[Dim::Const(1)], sum.into());
            vec![Atom::i64(1), one.into()]
        },
    );
    let cert = b.assert(positive.into(), Vec::new());
    let shape: Shape = [Dim::Var(n.name)].into_iter().collect();
    let array = picked[1];
    let same = b.with_certs(&[cert], |b| {
        b.let_basic("same", BasicOp::Reshape { kind: ReshapeKind::Coerce, shape, array })
    });
    let own = b.let_basic("own", BasicOp::Copy(same));
    let init = LoopInit { hint: "acc".into(), ty: row.clone(), init: own.into(), consumed: true };
    let looped = b.for_loop(PrimType::I64, n.name.into(), vec![init], |b, i, acc| {
        let x = b.index("x", acc[0], &[i.into()]);
        vec![b.update("acc", acc[0], &[i.into()], x.into()).into()]
    });
    let body = b.finish(vec![looped[0].into()]);
    let param = |param: Param<Soacs>| FunParam { param, consumed: false };
    Function {
        name: FunName("f".into()),
        kind: FunKind::Function,
        version: None,
        attrs: Attrs::default(),
        params: vec![param(n), param(xs)],
        ret: vec![FunResult { ty: row, aliases: Vec::new(), ann: () }],
        body,
        tunables: Vec::new(),
        names,
        provs,
    }
}

fn checked(function: Function<Soacs>) -> String {
    let program = Program {
        levels: Stack::default(),
        files: vec!["f.fut".into()],
        opaques: OpaqueTypes::default(),
        entries: Vec::new(),
        functions: vec![function],
        math: MathDefinitions::default(),
    };
    let errors = verify::verify(&program).err().unwrap_or_default();
    let listing = verify::listing(&program, &errors);
    assert!(errors.is_empty(), "{listing}");
    assert_eq!(text::parse::<Soacs>(&listing).as_ref(), Ok(&program), "{listing}");
    listing
}

#[test]
fn built_programs_pass_the_verifier() {
    let listing = checked(sample());
    assert!(listing.contains("reduce n_0 (x_"), "{listing}");
}

#[test]
fn bodies_are_refreshed_and_substituted() {
    let mut function = sample();
    let params: Vec<_> = function.params.iter().map(|p| p.param.name).collect();
    assert_eq!(free_names(&function.body), params);
    // The body and its copy in sequence: the copy has fresh names.
    let copy = refresh_body(&function.body, &mut function.names, &mut Substitution::default());
    assert_eq!(free_names(&copy), params);
    function.body.stms.extend(copy.stms);
    function.body.result = copy.result;
    checked(function);

    // A size becomes a constant, in types and operands alike.
    let mut function = sample();
    let map: Substitution = [(params[0], Atom::i64(7))].into_iter().collect();
    substitute_body(&mut function.body, &map);
    assert_eq!(free_names(&function.body), params[1..]);
}

#[test]
fn bodies_are_imported_with_their_provenance() {
    let callee = sample();
    let mut caller = sample();
    let outer = caller.provs.push(SrcLoc { file: 0, line: 9, col: 9, end_line: 9, end_col: 10 }, Prov::NONE);
    let pairs = callee.params.iter().zip(&caller.params);
    let mut map: Substitution = pairs.map(|(from, to)| (from.param.name, to.param.name.into())).collect();
    let mut import = Import {
        from_names: &callee.names,
        from_provs: &callee.provs,
        names: &mut caller.names,
        provs: &mut caller.provs,
        outer,
    };
    let body = import_body(&callee.body, &mut import, &mut map);
    let stack = caller.provs.stack(body.stms[0].aux.prov);
    assert_eq!(stack.iter().map(|loc| loc.line).collect::<Vec<_>>(), [1, 9]);
    caller.body.stms.extend(body.stms);
    caller.body.result = body.result;
    checked(caller);
}

#[test]
fn all_provenances_of_a_fused_statement_are_imported() {
    let span = |line| SrcLoc { file: 0, line, col: 1, end_line: line, end_col: 2 };
    let mut callee = sample();
    let first = callee.body.stms[0].aux.prov;
    let other = callee.provs.push(span(7), Prov::NONE);
    callee.body.stms[0].aux.prov = callee.provs.merge(other, first);
    let mut caller = sample();
    let outer = caller.provs.push(span(9), Prov::NONE);
    let mut import = Import {
        from_names: &callee.names,
        from_provs: &callee.provs,
        names: &mut caller.names,
        provs: &mut caller.provs,
        outer,
    };
    let body = import_body(&callee.body, &mut import, &mut Substitution::default());
    let stacks = caller.provs.stacks(body.stms[0].aux.prov);
    let lines: Vec<Vec<u32>> =
        stacks.iter().map(|stack| stack.iter().map(|loc| loc.line).collect()).collect();
    assert_eq!(lines, [[7, 9], [1, 9]]);
}

#[test]
fn operator_spellings_are_unique() {
    // The text form of operators requires unique spellings.
    let mut all: Vec<&str> = BinOp::ALL.iter().map(|op| op.name()).collect();
    all.extend(CmpOp::ALL.iter().map(|op| op.name()));
    all.extend(prim::UnOp::ALL.iter().map(|op| op.name()));
    all.extend(["select", "fma", "iota", "scratch", "constarray", "nan", "inf", "bits"]);
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    let exp: Exp<Soacs> = Exp::Basic(BasicOp::Atom(Atom::Const(Scalar::Bool(true))));
    assert!(ir::walk::free_names_exp(&exp).is_empty());
}
