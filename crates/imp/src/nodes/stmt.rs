//! The rows of statements and their parts.

use super::{Field, FieldMut, Fields, Vars, fields, structure, variants};
use crate::syntax::{
    Access, Arg, AtomicUpdate, CopyPlan, DeviceOp, For, LaneAccess, LanePositions, Launch, LoopMode, Region,
    SharedBuffer, Slices, Slots, Stmt, Tile, Var,
};
use crate::text::{Block, Else, Mode, Parser, Part, Printer, Result, Row, Rows, Typed, Until};

variants! {
    p, Stmt;
    others {
        Set(1: value, 0: var as Sets) = [(Typed var) "=" value];
        Load(1: from, 0: var as Sets) = [(Typed var) "=" from];
        Store(1: value, 0: to) = [to "=" value];
        LoadLanes { from, mask, var as Sets } = [(Typed var) "=" { p.lanes(from, mask.as_ref()) }];
        StoreLanes { value, to, mask } = [{ p.lanes(to, mask.as_ref()) } "=" value];
        ReadGlobal(0: var as Sets, 1: global) = [(Typed var) "=" "global" ~ global];
        Call { args, fun, results as Sets, location } = [(Typed results) "=" fun ~ args ~ location];
        Slots(0: op) = [{ op.print_row(p) }];
        Device(0: op) = [{ op.print_row(p) }];
    }
    Alloc(1: bytes, 0: var as Sets, 2: check) = var "alloc" [bytes ~ check];
    Frame { buffer as Sets, elem, count } = buffer "frame" ["[" ~ count ~ "]" ~ elem];
    Share(1: from as Reads, 0: var as Sets) = var "share" [from];
    Borrow(1: from as Reads, 0: var as Sets) = var "borrow" [from];
    ConstData(0: var as Sets, 1: data) = var "data" [~ data];
    Release(0: var as Takes) = _ "release" [var];
    Copy { to, from, extents, elem, plan } = _ "copy" ["[" ~ (Until extents) ~ elem to "<-" from (Row plan)];
    If(0: cond, 1: yes as Block, 2: no as Block) = _ "if" [cond (Block yes) ~ (Else no)];
    While(0: cond as Reads, 1: body as Block) = _ "while" [cond (Block body)];
    For(0: f) = _ "for" [f];
    Check { cond, values, check } = _ "check" [~ check cond "values" values];
    RecordComparison(1: size, 0: tunable) = _ "compared" [tunable "with" size];
    BeginNest = _ "nest" ["begins"];
    EndNest { counts, nest } = _ "counted" [~ nest "as" counts];
    WriteGlobal(0: global, 1: var as Reads) = _ "global" [~ global "=" var];
}

variants! {
    p, Slots;
    others {}
    New(1: count, 0: var as Sets, 2: check) = var "slots" [count ~ check];
    Put { slots as Reads, at, block as Takes } = _ "keep" [slots at block];
    Get { slots as Reads, at, var as Sets } = var "kept" [slots at];
}

variants! {
    p, DeviceOp;
    others {
        Barrier = ["barrier"];
        SubgroupBarrier(0: size) = ["barrier" "of" size];
    }
    Update(0: update) = _ "atomic" [update];
    CompareExchange { expected, value, at, old as Sets } =
        _ "swap" [(Typed old) "=" at "expected" expected "to" value];
    Signal { value, at } = _ "signal" [at "<-" value];
    Await { at, var as Sets } = _ "await" [(Typed var) "=" at];
}

structure! {
    p, AtomicUpdate { value, at, old as Sets, op } = [(Typed old) ~ op at "<-" value]
}

variants! {
    p, LoopMode;
    others {
        Seq { independent } = [{ p.put(if *independent { "independent" } else { "" }) }];
    }
    Scheduled = _ "scheduled" [];
    Lanes(0: width) = _ "lanes" [~ "(" ~ width ~ ")"];
    Tasks(0: launch) = _ "tasks" [~ launch];
    Grid(0: launch) = _ "grid" [~ launch];
    Threads(0: locals as Lists) = _ "block" ["locals" locals];
}

structure! {
    p, For { from, to, mode, var as Sets, body as Block } =
        [(Typed var) "in" from ".." to ~ (Mode mode) (Block body)]
}

structure! {
    p, Launch {
        cost, shared_buffers, slices, id, name, provenance, owned as Lists, locals as Lists,
        captures as Lists, distinct as Lists, scattered as Lists
    } = [
        "#" ~ id name "at" provenance "cost" cost (if "slices" slices) "owned" owned
        "locals" locals "captures" captures "distinct" distinct (some "scattered" scattered)
        (some "shared" shared_buffers)
    ]
}

structure! {
    p, Slices { count, end as Sets, merge_adjacent } = [count "to" (Typed end) (flag "few" merge_adjacent)]
}

structure! {
    p, SharedBuffer { bytes, buffer as Lists } = [(Typed buffer) "of" bytes]
}

structure! {
    p, Region { buffer as Reads, offset, strides } = [buffer ~ "[" ~ offset "strides" (Until strides)]
}

fields!(Access: { buffer as Reads, offset, dims, elem });

fields!(LaneAccess: { buffer as Reads, at, elem, lanes, masked_off });

variants! {
    p, LanePositions;
    others {
        Unit(0: at) = [at ".."];
        SmallStride(0: at, 1: stride) = [at ".." "near" stride];
        Strided(0: at, 1: stride) = [at ".." "by" stride];
    }
    Gather(0: at) = _ "each" [at];
}

fields! {
    Arg:
    Scalar(0: value);
    Buffer(0: var as Reads);
}

variants! {
    p, CopyPlan;
    others {}
    Memory = _ "as" ["memory"];
    InRegister(0: side) = _ "in" ["registers" side];
    Elements = _ "one" ["by" "one"];
    Dynamic(0: tile) = _ "by" ["strides" (if "tiles" tile)];
}

structure! {
    p, Tile { extent, pitch } = [extent "pitch" pitch]
}
