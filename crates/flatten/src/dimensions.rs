//! The pass `dimensions`: on machines whose levels contain themselves, segops over several
//! dimensions become segops in segops.
//!
//! ```text
//! segred tasks (i < n, j < m) (op) { e }
//!   =>  segmap tasks (i < n) { segred tasks (j < m) (op) { e } }
//!
//! seghist tasks (i < n, j < m) (op, dests, shape) { b, v }
//!   =>  seghist tasks (p < n * m) (op, dests, [n] ++ shape)
//!         { i = p / m; j = p % m; i, b, v }
//! ```
//!
//! A histogram consumes its destinations, which nothing inside a segop may: one dimension replaces
//! all of its dimensions instead, and the body computes the indices from it (delinearisation).
//! After: every segop has one dimension.

use crate::names::{atoms, basic};
use crate::{Stms, decomp};
use ir::seg::{Seg, SegKind, SegOp, SegSpace};
use ir::soac::HistOp;
use ir::syntax::{Atom, Aux, BasicOp, Body, Exp, Function, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{VisitMut, with_stack};
use ir::{Context, Name, NameTable, Program, Prov, Segs, version};
use prim::{BinOp, PrimType, ScalarOp};

/// Replaces index spaces of several dimensions, where the machine allows it.
pub fn dimensions(mut program: Program<Segs>, context: &mut Context) -> Program<Segs> {
    let machine = program.levels;
    program.functions = context.over(program.functions, |mut function: Function<Segs>, _| {
        if !version::stack(function.version.as_ref(), machine).nests() {
            return function;
        }
        let names = &mut function.names;
        Nester { names }.body(&mut function.body);
        function
    });
    program
}

struct Nester<'a> {
    names: &'a mut NameTable,
}

impl VisitMut<Segs> for Nester<'_> {
    fn body(&mut self, body: &mut Body<Segs>) {
        with_stack(|| {
            let mut stms = Vec::with_capacity(body.stms.len());
            for mut stm in std::mem::take(&mut body.stms) {
                self.stm(&mut stm);
                if let Exp::Op(SegOp::Seg(seg)) = stm.exp {
                    let seg = self.nested(seg, &stm.aux, &mut stms);
                    stm.exp = Exp::Op(SegOp::Seg(seg));
                }
                stms.push(stm);
            }
            body.stms = stms;
        });
    }
}

impl Nester<'_> {
    /// The segop with one dimension; statements that it needs before it are appended to `out`.
    fn nested(&mut self, mut seg: Seg<Segs>, aux: &Aux, out: &mut Stms) -> Seg<Segs> {
        if seg.space.dims.len() <= 1 {
            return seg;
        }
        match &mut seg.kind {
            SegKind::Hist(ops) => {
                let ops = std::mem::take(ops);
                self.flattened_histogram(ops, seg, aux.prov, out)
            }
            SegKind::ScanReduce(_) | SegKind::FlatMap => self.nested_segop(seg, aux),
        }
    }

    /// A map, scan or reduction: its first dimension becomes a segop around the others.
    fn nested_segop(&mut self, mut inner: Seg<Segs>, aux: &Aux) -> Seg<Segs> {
        let (level, combines) = (inner.level, inner.decomp.updates_per_iteration > 0);
        let outer = inner.space.dims.remove(0);
        let ret = match &inner.kind {
            SegKind::ScanReduce(scan_reduce) => inner.space.scan_reduce_types(scan_reduce, &inner.ret),
            // They have only one dimension.
            SegKind::Hist(_) | SegKind::FlatMap => Vec::new(),
        };
        let pat = ret.iter().map(|ty| Param { name: self.names.fresh("row"), ty: ty.clone(), ann: () });
        let pat: Vec<Param<Segs>> = pat.collect();
        let result = atoms(&pat);
        let mut stms = Vec::new();
        let inner = self.nested(inner, aux, &mut stms);
        stms.push(Stm { pat, aux: Aux::at(aux.prov), exp: Exp::Op(SegOp::Seg(inner)) });
        let body = Body { stms, result };
        let kind = SegKind::map();
        let decomp = decomp::decompose(&body, &kind, combines);
        let space = SegSpace { dims: vec![outer], lane: None };
        Seg { level, space, kind, body, ret, decomp, identity_predicate: None }
    }

    /// A histogram: one dimension over the iterations of all dimensions.
    fn flattened_histogram(
        &mut self,
        mut ops: Vec<HistOp<Segs>>,
        seg: Seg<Segs>,
        prov: Prov,
        out: &mut Stms,
    ) -> Seg<Segs> {
        let Seg { level, space, mut body, mut ret, decomp, identity_predicate, .. } = seg;
        let dims = space.dims;
        let mut count = Atom::i64(1);
        for (_, size) in &dims {
            let size = size.atom().unwrap_or(Atom::i64(0));
            count = self.binary(BinOp::Mul, count, size, prov, out);
        }
        let flat_index = self.names.fresh("gtid");
        let mut stms = Vec::new();
        let mut rest = Atom::Var(flat_index);
        for (at, (index, size)) in dims.iter().enumerate().rev() {
            let size = size.atom().unwrap_or(Atom::i64(1));
            let digit = if at == 0 {
                BasicOp::Atom(rest)
            } else {
                BasicOp::Scalar(ScalarOp::Binary(BinOp::UMod, PrimType::I64, rest, size))
            };
            stms.push(index_stm(*index, digit, prov));
            if at > 0 {
                rest = self.binary(BinOp::UDiv, rest, size, prov, &mut stms);
            }
        }
        stms.append(&mut body.stms);
        body.stms = stms;
        // Each histogram's indices begin with the segment's.
        let segments = &dims[..dims.len() - 1];
        let (mut result, mut types) = (Vec::new(), Vec::new());
        let mut at = 0;
        for op in &mut ops {
            result.extend(segments.iter().map(|(index, _)| Atom::Var(*index)));
            types.extend(segments.iter().map(|_| Type::I64));
            let n = op.shape.len();
            result.extend_from_slice(&body.result[at..at + n]);
            types.extend_from_slice(&ret[at..at + n]);
            at += n;
            let shape = segments.iter().map(|(_, size)| *size).chain(op.shape.clone());
            op.shape = shape.collect();
        }
        result.extend_from_slice(&body.result[at..]);
        types.extend_from_slice(&ret[at..]);
        body.result = result;
        ret = types;
        let kind = SegKind::Hist(ops);
        let decomp = decomp::decompose(&body, &kind, decomp.updates_per_iteration > 0);
        let width = Dim::from_atom(count).unwrap_or(Dim::Const(0));
        let space = SegSpace { dims: vec![(flat_index, width)], lane: None };
        Seg { level, space, kind, body, ret, decomp, identity_predicate }
    }

    fn binary(&mut self, op: BinOp, x: Atom, y: Atom, prov: Prov, out: &mut Stms) -> Atom {
        let name = self.names.fresh("n");
        out.push(index_stm(name, BasicOp::Scalar(ScalarOp::Binary(op, PrimType::I64, x, y)), prov));
        name.into()
    }
}

fn index_stm(name: Name, op: BasicOp, prov: Prov) -> Stm<Segs> {
    basic(Param { name, ty: Type::I64, ann: () }, op, prov)
}
