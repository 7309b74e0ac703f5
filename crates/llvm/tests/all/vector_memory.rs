//! Tests loads and stores of vectors, compiled, against a few lines of Rust: all lane positions,
//! with and without masks, in arrays that begin or end at a protected page.

use crate::common::memory::{Edge, Guarded};
use crate::common::vectors::{Random, array, export, run, unit};
use crate::common::{self, Fun, add, at, entry_fn, jit, machines, mul, v};
use imp::{EntryType, Expr, LaneAccess, LanePositions, MaskedOff, Program, Stmt, Var, VarType};
use prim::{PrimType, Scalar, ScalarType};

const TYPES: &[PrimType] = &[PrimType::Bool, PrimType::I8, PrimType::F16, PrimType::F32, PrimType::I64];

const LANES: &[u32] = &[1, 2, 3, 4, 8, 16, 32];

/// A selection for cases in which running time matters.
const FEW_LANES: &[u32] = &[3, 16];

/// The lane positions of an access.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Positions {
    Unit,
    /// A small constant stride.
    Near(i64),
    /// A stride that is known at run time.
    Stride(i64),
    Each,
}

const WAYS: &[Positions] = &[
    Positions::Unit,
    Positions::Near(-16),
    Positions::Near(-4),
    Positions::Near(-3),
    Positions::Near(-2),
    Positions::Near(-1),
    Positions::Near(2),
    Positions::Near(3),
    Positions::Near(4),
    Positions::Near(5),
    Positions::Near(16),
    Positions::Stride(-3),
    Positions::Stride(0),
    Positions::Stride(1),
    Positions::Stride(7),
    Positions::Each,
];

#[derive(Clone, Copy, Debug)]
struct Access {
    ty: PrimType,
    lanes: u32,
    way: Positions,
    masked: bool,
    store: bool,
    /// True if masked-off lanes access a location elsewhere (`MaskedOff::Dummy`).
    elsewhere: bool,
}

impl Access {
    /// Returns true if the access may use `MaskedOff::Dummy`.
    fn can_redirect(self) -> bool {
        self.masked && self.way == Positions::Each
    }

    /// Returns true if such an access is valid: near strides other than -1 only for loads without a
    /// mask, run-time strides only without a mask.
    fn exists(self) -> bool {
        match self.way {
            Positions::Unit | Positions::Near(-1) | Positions::Each => true,
            Positions::Near(_) => !self.masked && !self.store,
            Positions::Stride(_) => !self.masked,
        }
    }
}

fn all_accesses(all_lanes: &[u32]) -> Vec<Access> {
    let mut all = Vec::new();
    for &ty in TYPES {
        for &lanes in all_lanes {
            for &way in WAYS {
                for (masked, store) in [(false, false), (false, true), (true, false), (true, true)] {
                    let access = Access { ty, lanes, way, masked, store, elsewhere: false };
                    if !access.exists() {
                        continue;
                    }
                    let both = access.can_redirect();
                    // Masked-off lanes are branches on many processors.
                    if !both || lanes <= 8 {
                        all.push(access);
                    }
                    if both {
                        all.push(Access { elsewhere: true, ..access });
                    }
                }
            }
        }
    }
    all
}

/// A function that copies all lanes from the array `block` to the array `row`, where lanes are
/// contiguous, or the other way.
fn add_access(program: &mut Program, access: Access, name: &str) {
    let Access { ty, lanes, way, masked, store, elsewhere } = access;
    let mut f = Fun::default();
    let ((block, _), (row, _)) = (f.array("block"), f.array("row"));
    let ((flags, _), (positions, _)) = (f.array("flags"), f.array("positions"));
    let int = VarType::Scalar(PrimType::I64);
    let (position, stride) = (f.param("position", int), f.param("stride", int));
    let (x, mask, each) = (
        f.var("x", VarType::Vector(ty, lanes)),
        f.var("m", VarType::Vector(PrimType::Bool, lanes)),
        f.var("p", VarType::Vector(PrimType::I64, lanes)),
    );
    let load = |var: Var, buffer, elem| Stmt::LoadLanes {
        var,
        from: unit(buffer, elem, lanes, Expr::i64(0)),
        mask: None,
    };
    let mut body = vec![load(mask, flags, PrimType::Bool), load(each, positions, PrimType::I64)];
    let lies = LaneAccess {
        buffer: block,
        elem: ty,
        lanes,
        at: match way {
            Positions::Unit => LanePositions::Unit(v(position)),
            Positions::Near(stride) => LanePositions::SmallStride(v(position), stride),
            Positions::Stride(_) => LanePositions::Strided(v(position), v(stride)),
            Positions::Each => LanePositions::Gather(v(each)),
        },
        masked_off: if elsewhere { MaskedOff::Dummy } else { MaskedOff::Skip },
    };
    let mask = masked.then(|| v(mask));
    if store {
        body.push(load(x, row, ty));
        body.push(Stmt::StoreLanes { to: lies, value: v(x), mask });
    } else {
        body.push(Stmt::LoadLanes { var: x, from: lies, mask });
        body.push(Stmt::StoreLanes { to: unit(row, ty, lanes, Expr::i64(0)), value: v(x), mask: None });
    }
    let word = EntryType::scalar(ScalarType::I64);
    let params = [array(ty), array(ty), array(PrimType::Bool), array(PrimType::I64), word, word];
    export(program, f.finish(name, body), &params);
}

/// The lanes' positions, and the size of the block: no more elements than the set lanes need.
fn lane_positions(access: Access, set: &[bool], random: &mut Random) -> (Vec<i64>, i64, usize) {
    let lanes = i64::from(access.lanes);
    let stride = match access.way {
        Positions::Unit => 1,
        Positions::Near(stride) | Positions::Stride(stride) => stride,
        Positions::Each => {
            let count = 1 + random.bits() as usize % 40;
            let far = |set: &bool| {
                let position = (random.bits() >> 8) as i64;
                if *set { position % count as i64 } else { position }
            };
            return (set.iter().map(far).collect(), 0, count);
        }
    };
    let taken = || (0..lanes).filter(|lane| set[*lane as usize]).map(|lane| lane * stride);
    let low = taken().min().unwrap_or_default();
    let count = taken().max().map_or(0, |high| high - low + 1);
    let positions = (0..lanes).map(|lane| lane * stride - low).collect();
    (positions, -low, count as usize)
}

fn one_access(access: Access, edge: Edge, code: runtime::abi::EntryFn, random: &mut Random) {
    let Access { ty, lanes, way, masked, store, elsewhere: _ } = access;
    let all = random.bits() % 4;
    let flag = |_| match all {
        0 => true,
        1 => (random.bits() >> 30).is_multiple_of(8),
        _ => (random.bits() >> 30).is_multiple_of(2),
    };
    let flags: Vec<bool> = (0..lanes).map(flag).collect();
    let set: Vec<bool> = flags.iter().map(|set| *set || !masked).collect();
    let (positions, position, count) = lane_positions(access, &set, random);
    let stride = match way {
        Positions::Stride(stride) => stride,
        _ => 0,
    };
    let mut elems = |n: usize| -> Vec<Scalar> { (0..n).map(|_| random.scalar(ty)).collect() };
    let (block, row) = (elems(count), elems(lanes as usize));
    let block_memory = Guarded::new(ty, &block, edge);
    let row_memory = Guarded::new(ty, &row, edge);
    let flag_bytes: Vec<u8> = flags.iter().map(|set| u8::from(*set)).collect();
    let words = [
        block_memory.word(),
        0,
        row_memory.word(),
        0,
        flag_bytes.as_ptr() as u64,
        0,
        positions.as_ptr() as u64,
        0,
        position as u64,
        stride as u64,
    ];
    // SAFETY: the code does not access its context; the words are as described.
    unsafe { run(code, &words) };
    let bits = |elems: &[Scalar]| -> Vec<u64> { elems.iter().map(|x| x.bits()).collect() };
    let (mut new_block, mut new_row) = (bits(&block), bits(&row));
    for (lane, set) in set.iter().enumerate() {
        let position = positions[lane] as usize;
        match (store, set) {
            (true, true) => new_block[position] = new_row[lane],
            (true, false) => {}
            (false, true) => new_row[lane] = new_block[position],
            (false, false) => new_row[lane] = 0,
        }
    }
    assert_eq!(block_memory.bits(), new_block, "{access:?} {flags:?}");
    assert_eq!(row_memory.bits(), new_row, "{access:?} {flags:?}");
}

#[test]
fn loads_and_stores() {
    for cpu in machines() {
        loads_and_stores_on(cpu);
    }
}

fn loads_and_stores_on(cpu: &str) {
    let accesses = all_accesses(if cpu == "native" { LANES } else { FEW_LANES });
    let mut program = Program { source_name: "memory".into(), ..Program::default() };
    for (i, access) in accesses.iter().enumerate() {
        add_access(&mut program, *access, &format!("a{i}"));
    }
    let jit = jit(&program, cpu);
    let mut random = Random(99);
    for (i, access) in accesses.iter().enumerate() {
        let code = entry_fn(&jit, &format!("a{i}"));
        for round in 0..6 {
            let edge = [Edge::First, Edge::Last][round % 2];
            one_access(*access, edge, code, &mut random);
        }
    }
}

/// `xs[2 * i] + xs[2 * i + 1]` for 16 lanes in tasks: a vector in a task loop, in the frame, and in
/// the loop's distinct buffers.
#[test]
fn vectors_in_tasks() {
    let lanes = 16;
    let mut f = Fun::default();
    let (xs, n) = f.array("xs");
    let ys = f.owned("ys");
    f.results = vec![ys, n];
    let (t, position) = (f.int("t"), f.buffer("frame"));
    let vector = VarType::Vector(PrimType::F32, lanes);
    let (x, y) = (f.var("x", vector), f.var("y", vector));
    let strided = |offset| LaneAccess {
        buffer: xs,
        elem: PrimType::F32,
        lanes,
        at: LanePositions::SmallStride(add(mul(v(t), Expr::i64(32)), Expr::i64(offset)), 2),
        masked_off: MaskedOff::Skip,
    };
    let row = |buffer, position| unit(buffer, PrimType::F32, lanes, position);
    let load = |var, from| Stmt::LoadLanes { var, from, mask: None };
    let sum = common::bin(prim::BinOp::FAdd, PrimType::F32, v(x), v(y));
    let body = vec![
        Stmt::Frame { buffer: position, elem: PrimType::F32, count: 32 },
        load(x, strided(0)),
        Stmt::StoreLanes { to: row(position, Expr::i64(16)), value: v(x), mask: None },
        load(y, strided(1)),
        load(x, row(position, Expr::i64(16))),
        Stmt::StoreLanes { to: row(ys, mul(v(t), Expr::i64(16))), value: sum, mask: None },
    ];
    let launch = imp::Launch { locals: vec![position, x, y], distinct: vec![ys], ..common::launch() };
    let half = common::bin(prim::BinOp::SQuot, PrimType::I64, v(n), Expr::i64(2));
    let blocks = common::bin(prim::BinOp::SQuot, PrimType::I64, v(n), Expr::i64(32));
    let f = f.finish(
        "sums",
        vec![
            Stmt::Alloc(ys, mul(v(n), Expr::i64(2)), None),
            common::tasks(1, t, blocks, launch, body),
            Stmt::Set(n, half),
            Stmt::Store(at(ys, PrimType::F32, Expr::i64(0)), Expr::Const(Scalar::F32(-1.0))),
        ],
    );
    let floats = common::array_of(ScalarType::F32);
    let program = common::program(vec![f], vec![floats], vec![floats]);
    let value = |xs: &[f32]| value::Value::from_slice(&[xs.len() as i64], xs).unwrap();
    let xs: Vec<f32> = (0..32_000).map(|i| i as f32).collect();
    let mut wanted: Vec<f32> = xs.chunks(2).map(|pair| pair[0] + pair[1]).collect();
    wanted[0] = -1.0;
    for threads in [1, 3] {
        assert_eq!(common::run(&program, threads, vec![value(&xs)]), Ok(vec![value(&wanted)]));
    }
}
