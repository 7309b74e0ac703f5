//! A hand-written program as the compiler would produce it: entry points on words and blocks,
//! tasks, a constant, checks.

use prim::ScalarType::{Bool, F64, I32, I64};
use runtime::abi::{CheckDesc, Ctx, EntryFn, br_stack_check};
use runtime::comparison_log::br_compared;
use runtime::error::br_fail;
use runtime::heap::{br_alloc, br_ref, br_unref};
use runtime::sched::br_tasks;
use runtime::{Image, ProgramSpec, TunableSpec};
use std::sync::Arc;
use value::interface::{EntryType, EntryValue, Interface, OpaqueKind, OpaqueType, OpaqueTypes, Signature};

const CHUNK: i64 = 1000;

const OUT_OF_BOUNDS: &str = "Index [{i64}] out of bounds for array of shape [{i64}].";
const WHERE: &str = "test.fut:3:5-12\ntest.fut:9:1-20";

/// Records an index error.
unsafe fn out_of_bounds(ctx: *mut Ctx, index: i64, n: i64) -> i32 {
    let desc = CheckDesc {
        format: OUT_OF_BOUNDS.as_ptr(),
        format_len: OUT_OF_BOUNDS.len() as u64,
        location: WHERE.as_ptr(),
        location_len: WHERE.len() as u64,
    };
    let values = [index as u64, n as u64];
    // SAFETY: two placeholders, two values.
    unsafe { br_fail(ctx, &raw const desc, values.as_ptr()) }
}

struct Sum {
    xs: *const i32,
    n: i64,
    partial: *mut i32,
}

unsafe extern "C" fn sum_task(_: *mut Ctx, env: *mut u8, lo: i64, hi: i64) -> i32 {
    // SAFETY: the environment is that of `sum`; chunks write their own partial.
    unsafe {
        let env = &*env.cast::<Sum>();
        for chunk in lo..hi {
            let from = chunk * CHUNK;
            let to = env.n.min(from + CHUNK);
            *env.partial.add(chunk as usize) =
                (from..to).map(|i| *env.xs.add(i as usize)).fold(0, i32::wrapping_add);
        }
    }
    0
}

/// `entry main (xs: []i32): i32 = bias + i32.sum xs`
unsafe extern "C" fn sum(ctx: *mut Ctx, args: *const u64, results: *mut u64) -> i32 {
    // SAFETY: the words are an array of rank 1, and one scalar result.
    unsafe {
        let n = *args.add(1) as i64;
        let chunks = (n + CHUNK - 1) / CHUNK;
        let partial = br_alloc(ctx, chunks * 4, std::ptr::null());
        if partial.is_null() {
            return 1;
        }
        let mut env = Sum { xs: *args as usize as *const i32, n, partial: partial.cast() };
        let status = br_tasks(ctx, sum_task, (&raw mut env).cast(), chunks, n);
        let bias = ***ctx.cast::<*const *const i64>() as i32;
        let total = (0..chunks).map(|i| *env.partial.add(i as usize)).fold(bias, i32::wrapping_add);
        br_unref(ctx, partial);
        *results = u64::from(total as u32);
        status
    }
}

/// `entry update [n] (xs: *[n]i32) (i: i64) (x: i32): *[n]i32 = xs with [i] = x`
unsafe extern "C" fn update(ctx: *mut Ctx, args: *const u64, results: *mut u64) -> i32 {
    // SAFETY: words `xs n i x`, results `ys n`; the index is checked.
    unsafe {
        let (n, i) = (*args.add(1) as i64, *args.add(2) as i64);
        if i < 0 || i >= n {
            return out_of_bounds(ctx, i, n);
        }
        let xs = *args as usize as *mut i32;
        *xs.add(i as usize) = (*xs.add(i as usize)).wrapping_add(*args.add(3) as i32);
        br_ref(xs.cast());
        *results = *args;
        *results.add(1) = *args.add(1);
        0
    }
}

/// `entry swap (x: f64) (b: bool): (bool, f64) = (b, x)`
unsafe extern "C" fn swap(_: *mut Ctx, args: *const u64, results: *mut u64) -> i32 {
    // SAFETY: two words each.
    unsafe {
        *results = *args.add(1);
        *results.add(1) = *args;
    }
    0
}

/// `entry big (n: i64): [n]i64 = replicate n 0`, lazily
unsafe extern "C" fn big(ctx: *mut Ctx, args: *const u64, results: *mut u64) -> i32 {
    // SAFETY: one word in, two out.
    unsafe {
        let n = *args as i64;
        let block = br_alloc(ctx, n.checked_mul(8).unwrap_or(-1), std::ptr::null());
        if block.is_null() {
            return 1;
        }
        block.write_bytes(0, n as usize * 8);
        *results = block as usize as u64;
        *results.add(1) = n as u64;
    }
    0
}

/// `entry pair (): (pair, ()) = ({n = 1, xs = [..]}, ())`
unsafe extern "C" fn pair(ctx: *mut Ctx, _: *const u64, results: *mut u64) -> i32 {
    // SAFETY: no words in, three out.
    unsafe {
        *results = 1;
        *results.add(1) = br_alloc(ctx, 80, std::ptr::null()) as usize as u64;
        *results.add(2) = 10;
    }
    0
}

/// `entry deep (): i32`, an infinite recursion
unsafe extern "C" fn deep(ctx: *mut Ctx, _: *const u64, results: *mut u64) -> i32 {
    // SAFETY: there are no arguments; the check ends the recursion.
    unsafe {
        if br_stack_check(ctx, 0) != 0 {
            return 1;
        }
        let status = deep(ctx, std::ptr::null(), results);
        *results += 1;
        status
    }
}

/// `entry long (n: i64): i64`: the parameter, minus 1 if `n` is less
unsafe extern "C" fn long(ctx: *mut Ctx, args: *const u64, results: *mut u64) -> i32 {
    let words = ctx.cast::<*const i64>();
    // SAFETY: one word in, one out; the context has a value for the parameter.
    unsafe {
        let (n, least) = (*args as i64, *(*words.add(2)).add(1));
        if *words.add(3).cast::<u64>() != 0 {
            br_compared(ctx, 1, n);
        }
        *results = (least - i64::from(n < least)) as u64;
    }
    0
}

/// The program's constant.
unsafe extern "C" fn init(ctx: *mut Ctx) -> i32 {
    // SAFETY: one global.
    unsafe {
        let block = br_alloc(ctx, 8, std::ptr::null());
        if block.is_null() {
            return 1;
        }
        *block.cast::<i64>() = 100;
        **ctx.cast::<*mut u64>() = block as usize as u64;
    }
    0
}

unsafe extern "C" fn fini(ctx: *mut Ctx) {
    // SAFETY: as above.
    unsafe { br_unref(ctx, **ctx.cast::<*mut *mut u8>()) };
}

/// The program's image.
pub fn image() -> Image {
    let mut opaques = OpaqueTypes::default();
    let ints = EntryType::array(I32, 1);
    let of = |ty| EntryType::scalar(ty);
    let record = |name: &str, fields: &[(&str, EntryType)]| OpaqueType {
        name: name.into(),
        kind: OpaqueKind::Record(fields.iter().map(|(name, ty)| ((*name).into(), *ty)).collect()),
    };
    let pair = record("pair", &[("n", of(I32)), ("xs", EntryType::array(I64, 1))]);
    let pair = EntryType::Opaque(opaques.push(pair).expect("a type"));
    let unit = opaques.tuple(&[]).expect("a type");
    let flag = opaques.tuple(&[of(Bool), of(F64)]).expect("a type");
    let pair_and_unit = opaques.tuple(&[pair, unit]).expect("a type");
    let entries: [(&str, EntryFn, &[(&str, EntryType)], EntryType); 7] = [
        ("main", sum, &[("xs", ints)], of(I32)),
        ("update", update, &[("*xs", ints), ("i", of(I64)), ("x", of(I32))], ints),
        ("swap", swap, &[("x", of(F64)), ("b", of(Bool))], flag),
        ("big", big, &[("n", of(I64))], EntryType::array(I64, 1)),
        ("pair", self::pair, &[("", unit)], pair_and_unit),
        ("deep", deep, &[], of(I32)),
        ("long", long, &[("n", of(I64))], of(I64)),
    ];
    let signature = |(name, _, params, result): &(&str, EntryFn, &[(&str, EntryType)], EntryType)| {
        let param = |(name, ty): &(&str, EntryType)| {
            let unique = name.starts_with('*');
            EntryValue { unique, ..opaques.value(name.trim_start_matches('*'), *ty) }
        };
        Signature::new(name, params.iter().map(param).collect(), opaques.value("", *result))
    };
    let spec = ProgramSpec {
        source_name: "test.fut".into(),
        interface: Interface { entries: entries.iter().map(signature).collect(), opaques: opaques.clone() },
        entries: entries.iter().map(|entry| entry.1).collect(),
        n_globals: 1,
        init: Some(init),
        fini: Some(fini),
        tunables: ["deep.inner_lanes_0", "long.inner_lanes_0"]
            .map(|name| TunableSpec { name: name.into(), class: "threshold".into(), default: 100 })
            .into(),
    };
    // SAFETY: the functions above are as specified.
    unsafe { Image::from_spec(spec, Arc::new(())) }
}
