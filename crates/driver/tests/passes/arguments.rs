//! Entry points for functions, and arguments for entry points: small numbers, in arrays whose sizes
//! follow from the names in their types.

use ir::eval::{Array, EvalValue};
use ir::syntax::{EntryType, EntryValue, Function, OpaqueTypes, Signature};
use ir::types::{Dim, Type};
use ir::{Level, NameTable};
use prim::{PrimType, Scalar, ScalarType};
use std::fmt::Write;
use std::sync::Arc;
use value::ValueType;

/// Sizes for the first, second, ... name, cyclically.
pub type Sizes = [i64; 4];

/// Few elements, and none; different sizes, and equal ones for programs that require these.
pub const SMALL: &[Sizes] =
    &[[5, 3, 4, 2], [8, 5, 3, 2], [4, 4, 4, 4], [1, 4, 2, 3], [0, 2, 3, 1], [3, 0, 1, 2]];

/// More than one chunk of expensive iterations and more than one vector of lanes, along each
/// dimension.
pub const LARGE: &[Sizes] = &[[1203, 3, 5, 2], [3, 1203, 2, 5], [70, 67, 3, 2]];

/// A parameter of an entry point, at any level: its source type, with the names of sizes, and its
/// structure.
pub type Param = (Arc<str>, ValueType);

/// The signature of an entry point for a function that has sizes before the arrays; several results are a tuple.
pub fn signature_of<L: Level>(
    function: &Function<L>,
    opaques: &mut OpaqueTypes,
) -> Result<Signature, String> {
    let params: Vec<&Type> = function.params.iter().map(|p| &p.param.ty).collect();
    let results: Vec<&Type> = function.ret.iter().map(|r| &r.ty).collect();
    let group = |types| {
        group(&function.names, types)
            .ok_or_else(|| format!("{}: a size does not precede its array", function.name.0))
    };
    let results: Vec<EntryType> = group(results)?.into_iter().map(|value| value.ty).collect();
    let result = opaques.tuple(&results)?;
    Ok(Signature::new(&function.name.0, group(params)?, opaques.value("", result)))
}

/// Entry values for core types: sizes belong to the arrays that follow them.
fn group(names: &NameTable, types: Vec<&Type>) -> Option<Vec<EntryValue>> {
    let types: Vec<&Type> = types.into_iter().filter(|ty| !matches!(ty, Type::Mem(_))).collect();
    let mut rest = &types[..];
    let mut values = Vec::new();
    while let Some(first) = rest.first() {
        let sizes = rest.iter().take_while(|ty| ***ty == Type::I64).count();
        let array = (1..=sizes).find(|k| rest.get(*k).is_some_and(|ty| ty.rank() == *k));
        let (ty, used) = match array {
            Some(rank) => (rest[rank], rank + 1),
            None if first.rank() == 0 => (*first, 1),
            None => return None,
        };
        let elem: ScalarType = ty.elem()?.name().parse().ok()?;
        let mut type_name = String::new();
        for dim in ty.shape() {
            let _ = match dim {
                Dim::Const(n) => write!(type_name, "[{n}]"),
                Dim::Var(name) => write!(type_name, "[{}_{name:?}]", names.hint(*name)),
                Dim::Ext(_) => write!(type_name, "[]"),
            };
        }
        let _ = write!(type_name, "{elem}");
        let rank = ty.rank();
        values.push(EntryValue {
            name: Arc::from("x"),
            type_name: type_name.into(),
            ty: EntryType::array(elem, rank),
            unique: true,
        });
        rest = &rest[used..];
    }
    Some(values)
}

/// The sizes in a source type, `[n][16]f64`; equal names have equal sizes.
fn shape<'t>(param: &'t Param, sizes: Sizes, known: &mut Vec<&'t str>) -> Vec<i64> {
    let mut shape = Vec::new();
    let mut rest = param.0.trim_start_matches('*');
    for _ in 0..param.1.rank {
        let inner = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (name, after) = inner.unwrap_or(("", rest));
        rest = after;
        if let Ok(size) = name.parse() {
            shape.push(size);
            continue;
        }
        let at = known.iter().position(|it| *it == name && !name.is_empty());
        let at = at.unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        });
        shape.push(sizes[at % sizes.len()]);
    }
    shape
}

/// A scalar from a seed. The floating-point numbers of long arrays are -1, 0 and 1: their sums and
/// products are exact in any order.
fn scalar(ty: ScalarType, i: i64, long: bool) -> Scalar {
    match ty.prim() {
        PrimType::F16 | PrimType::F32 | PrimType::F64 => {
            let small = if long { i * 7 % 3 - 1 } else { i * 3 - 4 };
            let small = Scalar::I64(small);
            prim::eval::convert(prim::ConvOp::SToF, small, ty.prim()).expect("a conversion")
        }
        PrimType::Bool => Scalar::Bool(i % 3 != 0),
        int => Scalar::int(int, i * 5 % 7 - 1),
    }
}

/// Arguments: small numbers in arrays of these sizes.
pub fn arguments(params: &[Param], sizes: Sizes) -> Vec<EvalValue> {
    let mut known = Vec::new();
    let mut values = Vec::new();
    for (seed, param) in (sizes[1]..).zip(params) {
        let ValueType { scalar: elem, rank } = param.1;
        if rank == 0 {
            values.push(EvalValue::Scalar(scalar(elem, seed, false)));
            continue;
        }
        let shape = shape(param, sizes, &mut known);
        let count = shape.iter().product();
        let mut bytes = Vec::new();
        for i in 0..count {
            let bits = scalar(elem, seed + i, count > 64).bits().to_le_bytes();
            bytes.extend_from_slice(&bits[..elem.size() as usize]);
        }
        let array = Array::from_bytes(elem.prim(), &shape, &bytes);
        values.push(EvalValue::Array(array.expect("a value of this shape")));
    }
    values
}
