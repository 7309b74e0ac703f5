//! Round trips through both formats, and messages about malformed input.

use prim::ScalarType;
use proptest::prelude::*;
use std::io::{self, Read};
use value::{
    Buffer, ErrorKind, Mismatch, Reader, ShapeError, Tolerance, Value, ValueType, compare, write_binary,
    write_text,
};

/// A reader that returns a few bytes at a time, so that values cross the window's end.
struct ChunkedReader<'a>(&'a [u8], usize);

impl Read for ChunkedReader<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(to.len());
        self.0.read(&mut to[..n])
    }
}

fn arbitrary_value() -> impl Strategy<Value = Value> {
    let shape = prop::collection::vec(0i64..5, 0..4);
    (0..ScalarType::ALL.len(), shape).prop_flat_map(|(ty, shape)| {
        let ty = ScalarType::ALL[ty];
        let bytes = shape.iter().product::<i64>() as usize * ty.size() as usize;
        prop::collection::vec(any::<u8>(), bytes).prop_map(move |mut bytes| {
            if ty == ScalarType::Bool {
                for b in &mut bytes {
                    *b &= 1;
                }
            }
            // Text has only one NaN per type; avoid NaN payloads.
            if ty.is_float() {
                let size = ty.size() as usize;
                bytes.chunks_exact_mut(size).for_each(|x| x[size - 1] &= 0xbf);
            }
            Value::from_bytes(ty, shape.clone(), &bytes).unwrap()
        })
    })
}

proptest! {
    #[test]
    fn streams_of_both_formats_round_trip(
        values in prop::collection::vec((arbitrary_value(), any::<bool>()), 0..6),
        step in 1usize..50,
    ) {
        let mut stream = Vec::new();
        for (value, binary) in &values {
            if *binary {
                write_binary(&mut stream, value).unwrap();
            } else {
                write_text(&mut stream, value).unwrap();
                stream.extend(b"\n-- next\n");
            }
        }
        let mut typed = Reader::new(ChunkedReader(&stream, step));
        let mut untyped = Reader::from_slice(&stream);
        for (value, _) in &values {
            prop_assert_eq!(&typed.read(value.value_type()).unwrap(), value);
            let any = untyped.read_any().unwrap();
            prop_assert_eq!(any.as_ref(), Some(value));
        }
        typed.finish().unwrap();
        prop_assert!(untyped.read_any().unwrap().is_none());
    }

    #[test]
    fn damaged_streams_never_panic(
        value in arbitrary_value(),
        binary: bool,
        cut in any::<prop::sample::Index>(),
        index in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let mut stream = Vec::new();
        if binary {
            write_binary(&mut stream, &value).unwrap();
        } else {
            write_text(&mut stream, &value).unwrap();
        }
        stream.truncate(cut.index(stream.len()) + 1);
        let index = index.index(stream.len());
        stream[index] = byte;
        for mut reader in [Reader::from_slice(&stream), Reader::new(stream.as_slice())] {
            while let Ok(Some(_)) = reader.read_any() {}
        }
        let _ = Reader::new(stream.as_slice()).read(value.value_type());
    }

    #[test]
    fn any_text_is_read_or_rejected(text in "[-\\[\\]0-9a-fx., \"_empty()\n]{0,40}") {
        let mut reader = Reader::from_slice(text.as_bytes());
        while let Ok(Some(value)) = reader.read_any() {
            let reread = Reader::from_slice(value.to_string().as_bytes())
                .read(value.value_type()).unwrap();
            prop_assert_eq!(reread.to_string(), value.to_string());
        }
    }
}

fn ty(scalar: ScalarType, rank: usize) -> ValueType {
    ValueType::new(scalar, rank)
}

fn read(text: &[u8], ty: ValueType) -> Result<Value, String> {
    Reader::from_slice(text).read(ty).map_err(|e| e.to_string())
}

#[test]
fn all_forms_of_text_are_read() {
    use ScalarType::{Bool, F32, F64, I8, I16, I32, U8, U32};
    let cases: [(&str, ValueType, &str); 20] = [
        ("-271733879u32", ty(U32, 0), "4023233417u32"),
        ("0xFFFFFFFF", ty(I32, 0), "-1i32"),
        // Numbers with a suffix wrap, as in the reference compiler's programs.
        ("[255i8, 32767i8]", ty(I8, 1), "[-1i8, -1i8]"),
        ("[300u8, -300u8]", ty(U8, 1), "[44u8, 212u8]"),
        ("[0xd4u8, 0x1d,0x8c,0xff]", ty(U8, 1), "[212u8, 29u8, 140u8, 255u8]"),
        ("-- a comment\n [ true,false, -- another\n true]", ty(Bool, 1), "[true, false, true]"),
        ("[]", ty(I32, 1), "empty([0]i32)"),
        ("[[],[]]", ty(I32, 2), "empty([2][0]i32)"),
        ("empty ( [ 0 ] [3] f32 )", ty(F32, 2), "empty([0][3]f32)"),
        ("[[1,2],[3,4]]", ty(F64, 2), "[[1f64, 2f64], [3f64, 4f64]]"),
        ("[1, 2, ]", ty(I16, 1), "[1i16, 2i16]"),
        ("\"h\u{e9}y --\"", ty(U8, 1), "[104u8, 195u8, 169u8, 121u8, 32u8, 45u8, 45u8]"),
        ("[\"ab\", [1, 2]]", ty(U8, 2), "[[97u8, 98u8], [1u8, 2u8]]"),
        ("\"\"", ty(U8, 1), "empty([0]u8)"),
        ("-128", ty(I8, 0), "-128i8"),
        ("[nan, -inf, f32.nan, f32.inf]", ty(F32, 1), "[f32.nan, -f32.inf, f32.nan, f32.inf]"),
        ("1e-3", ty(F32, 0), "0.00100000005f32"),
        ("0x1f32", ty(F32, 0), "7986f32"),
        ("0x1p1f32", ty(F32, 0), "2f32"),
        ("[[[1]],[[2]]]", ty(I32, 3), "[[[1i32]], [[2i32]]]"),
    ];
    for (text, ty, expected) in cases {
        let value = read(text.as_bytes(), ty);
        assert_eq!(value.map(|v| v.to_string()), Ok(expected.to_owned()), "{text}");
    }
    let untyped = "1 2.5 0x10 1e3 7u8 [1.5f32, 2] f16.nan true \"a\" [0b11i64] 0x1p3";
    let mut reader = Reader::from_slice(untyped.as_bytes());
    let mut found = Vec::new();
    while let Some(value) = reader.read_any().unwrap() {
        found.push(value.to_string());
    }
    assert_eq!(
        found,
        [
            "1i32",
            "2.5f64",
            "16i32",
            "1000f64",
            "7u8",
            "[1.5f32, 2f32]",
            "f16.nan",
            "true",
            "[97u8]",
            "[3i64]",
            "8f64"
        ]
    );
}

#[test]
fn errors_in_text_are_reported() {
    use ScalarType::{Bool, F32, I8, I32, U8};
    let cases: [(&str, ValueType, &str); 27] = [
        ("", ty(I32, 0), "line 1, column 1 (byte 0): expected i32, found the end of the input"),
        ("\n\n  1.5", ty(I32, 0), "line 3, column 3 (byte 4): expected an i32, found `1.5`"),
        ("1i64", ty(I32, 0), "line 1, column 1 (byte 0): expected an i32, found `1i64`, an i64"),
        ("f64.nan", ty(F32, 0), "line 1, column 1 (byte 0): expected an f32, found `f64.nan`, an f64"),
        ("300", ty(U8, 0), "line 1, column 1 (byte 0): `300` does not fit in a u8"),
        ("-129", ty(I8, 0), "line 1, column 1 (byte 0): `-129` does not fit in an i8"),
        (
            "99999999999999999999999",
            ty(I32, 0),
            "line 1, column 1 (byte 0): `99999999999999999999999` does not fit in an i32",
        ),
        ("5", ty(I32, 1), "line 1, column 1 (byte 0): expected []i32, found `5`"),
        ("[5]", ty(I32, 0), "line 1, column 1 (byte 0): expected i32, found an array"),
        (
            "[[5]]",
            ty(I32, 1),
            "line 1, column 1 (byte 0): expected []i32, found an array of at least 2 dimensions",
        ),
        ("[5]", ty(I32, 2), "line 1, column 2 (byte 1): expected `[` (the value is a [][]i32), found `5`"),
        ("[1, 2", ty(I32, 1), "line 1, column 6 (byte 5): expected `,` or `]`, found the end of the input"),
        ("[1, 2,", ty(I32, 1), "line 1, column 7 (byte 6): expected an i32, found the end of the input"),
        ("[1 2]", ty(I32, 1), "line 1, column 4 (byte 3): expected `,` or `]`, found `2`"),
        ("[,1]", ty(I32, 1), "line 1, column 2 (byte 1): expected an i32, found `,`"),
        (
            "[[1,2],\n[3]]",
            ty(I32, 2),
            "line 2, column 4 (byte 11): irregular array: a row of size 1 after rows of size 2",
        ),
        (
            "[[[1],[2]],[[3]]]",
            ty(I32, 3),
            "line 1, column 17 (byte 16): irregular array: a row of size 1 after rows of size 2",
        ),
        (
            "[]",
            ty(I32, 2),
            "line 1, column 3 (byte 2): an empty row does not determine its inner sizes; write the array as `empty([0][0]i32)`",
        ),
        ("empty([2]i32)", ty(I32, 1), "line 1, column 1 (byte 0): `empty` of shape [2], which is not empty"),
        ("empty([0]i64)", ty(I32, 1), "line 1, column 1 (byte 0): expected []i32, found an empty []i64"),
        ("empty([-1]i32)", ty(I32, 1), "line 1, column 8 (byte 7): negative size -1"),
        (
            "empty([0]i31)",
            ty(I32, 1),
            "line 1, column 10 (byte 9): expected `[` or an element type, found `i31`",
        ),
        ("\"ab", ty(U8, 1), "line 1, column 1 (byte 0): a string without its closing quote"),
        (
            "\"ab\\q\"",
            ty(U8, 1),
            "line 1, column 4 (byte 3): a backslash without an escape sequence in a string",
        ),
        ("\"ab\\\"", ty(U8, 1), "line 1, column 1 (byte 0): a string without its closing quote"),
        ("\"ab\"", ty(I32, 1), "line 1, column 1 (byte 0): expected []i32, found a string"),
        ("yes", ty(Bool, 0), "line 1, column 1 (byte 0): expected a bool, found `yes`"),
    ];
    for (text, ty, message) in cases {
        assert_eq!(read(text.as_bytes(), ty).err().as_deref(), Some(message), "{text}");
    }
    let mut rest = Reader::from_slice(b"1 -- all\n 2");
    rest.read(ty(I32, 0)).unwrap();
    assert_eq!(
        rest.finish().map_err(|e| e.to_string()),
        Err("line 2, column 2 (byte 10): expected the end of the input, found `2`".to_owned())
    );
    let deep = vec![b'['; 1_000_000];
    assert!(Reader::from_slice(&deep).read_any().is_err());
    assert!(Reader::from_slice(&deep).read(ty(I32, 2)).is_err());
    let long = vec![b'1'; 5_000_000];
    assert!(Reader::from_slice(&long).read_any().is_err());
}

fn header(rank: u8, tag: &[u8; 4], dims: &[u64]) -> Vec<u8> {
    let mut bytes = vec![b'b', 2, rank];
    bytes.extend(tag);
    for dim in dims {
        bytes.extend(dim.to_le_bytes());
    }
    bytes
}

#[test]
fn errors_in_binary_data_are_reported() {
    let ints = ty(ScalarType::I32, 1);
    let mut short = header(1, b" i32", &[3]);
    short.extend([0; 11]);
    let mut bools = header(1, b"bool", &[2]);
    bools.extend([1, 2]);
    let huge = header(1, b" i32", &[1 << 60]);
    let cases: [(&[u8], ValueType, &str); 10] = [
        (b"b", ints, "line 1, column 1 (byte 0): binary value: the input ends before the version"),
        (b"b\x01\x00", ints, "line 1, column 1 (byte 0): binary value of version 1; only version 2 is known"),
        (b" b\x02\x01 i3", ints, "line 1, column 2 (byte 1): binary value: the input ends before the type"),
        (&header(1, b" i31", &[0]), ints, "line 1, column 1 (byte 0): binary value of unknown type ` i31`"),
        (
            &header(2, b" i32", &[1, 1]),
            ints,
            "line 1, column 1 (byte 0): expected []i32, found a binary value of type [][]i32",
        ),
        (
            &header(1, b" i32", &[]),
            ints,
            "line 1, column 1 (byte 0): binary value: the input ends before size 1 of 1",
        ),
        (
            &header(1, b" i32", &[u64::MAX]),
            ints,
            "line 1, column 1 (byte 0): binary value with the invalid size -1",
        ),
        (
            &header(2, b" i32", &[1 << 40, 1 << 40]),
            ty(ScalarType::I32, 2),
            "line 1, column 1 (byte 0): binary value of shape [1099511627776, 1099511627776]: the size in bytes does not fit in 63 bits",
        ),
        (
            &short,
            ints,
            "line 1, column 1 (byte 0): binary value of type []i32 and shape [3] has 12 bytes of elements, but the input ends after 11",
        ),
        (
            &bools,
            ty(ScalarType::Bool, 1),
            "line 1, column 1 (byte 0): binary value of type []bool: the byte of bool 1 is neither 0 nor 1",
        ),
    ];
    for (bytes, ty, message) in cases {
        assert_eq!(read(bytes, ty).err().as_deref(), Some(message));
    }
    // A size that cannot be checked against the input's length is not trusted either.
    let kind = Reader::new(huge.as_slice()).read(ints).map_err(|e| e.kind);
    assert_eq!(kind, Err(ErrorKind::End));
    assert_eq!(Reader::from_slice(&huge).read(ints).map_err(|e| e.kind), Err(ErrorKind::End));
    let mut empty = header(3, b" i32", &[0, 1 << 62, 1 << 62]);
    empty.push(b'7');
    let mut reader = Reader::from_slice(&empty);
    assert!(reader.read(ty(ScalarType::I32, 3)).unwrap().is_empty());
    let next = reader.read(ty(ScalarType::Bool, 0)).map_err(|e| e.to_string());
    assert_eq!(next, Err("byte 31: expected a bool, found `7`".to_owned()));
}

#[test]
fn large_arrays_are_read_across_windows() {
    let numbers: Vec<i32> = (0..300_000).map(|i| i * 6151 - 900_000_000).collect();
    let value = Value::from_slice(&[300, 1000], &numbers).unwrap();
    let mut stream = b"-- two forms of one array\n".to_vec();
    write_text(&mut stream, &value).unwrap();
    write_binary(&mut stream, &value).unwrap();
    write_text(&mut stream, &value).unwrap();
    for step in [4099, 65536, usize::MAX] {
        let mut reader = Reader::new(ChunkedReader(&stream, step));
        for _ in 0..3 {
            let back = reader.read(value.value_type()).unwrap();
            assert!(back == value);
            assert_eq!(back.elements::<i32>().unwrap().as_ptr() as usize % 64, 0);
        }
        reader.finish().unwrap();
    }
}

#[test]
fn constructors_check_the_invariants() {
    let eight = || Buffer::zeroed(8).unwrap();
    let new = |ty, shape: &[i64]| Value::new(ty, shape.to_vec(), eight()).map(|_| ());
    assert_eq!(new(ScalarType::I32, &[2]), Ok(()));
    let bytes = |expected| Err(ShapeError::Bytes { expected, found: 8 });
    assert_eq!(new(ScalarType::I32, &[3]), bytes(12));
    assert_eq!(new(ScalarType::I32, &[0]), bytes(0));
    assert_eq!(new(ScalarType::I32, &[-1, -2]), Err(ShapeError::Negative(-1)));
    assert_eq!(new(ScalarType::I8, &[1; 128]), Err(ShapeError::Rank(128)));
    assert_eq!(new(ScalarType::I64, &[1 << 61]), Err(ShapeError::Overflow));
    let two = Value::from_bytes(ScalarType::Bool, vec![2], &[0, 2]);
    assert_eq!(two, Err(ShapeError::Bool(1)));
    let (ptr, len, capacity) = eight().into_raw_parts();
    // SAFETY: the parts are fresh and used once.
    let back = unsafe { Buffer::from_raw_parts(ptr, len, capacity) };
    assert_eq!(back.as_slice(), [0; 8]);
}

#[test]
fn comparison_with_tolerance() {
    let floats = |xs: &[f64]| Value::from_slice(&[2, xs.len() as i64 / 2], xs).unwrap();
    let check = |x: &Value, y: &Value, t| compare(x, y, Tolerance(t)).map_err(|e| e.to_string());
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let x = floats(&[1.0, nan, inf, -100.0]);
    assert_eq!(check(&x, &floats(&[1.1, nan, inf, -99.9]), 0.002), Ok(()));
    assert_eq!(
        check(&x, &floats(&[1.0, nan, inf, -99.5]), 0.002),
        Err("expected -100f64, got -99.5f64, at index [1, 1] (tolerance 2e-1)".to_owned())
    );
    for other in [[1.0, 0.0, inf, -100.0], [1.0, nan, -inf, -100.0], [inf, nan, inf, -100.0]] {
        assert!(check(&x, &floats(&other), 0.5).is_err());
    }
    let ints = Value::from_slice(&[3], &[1i32, 2, 3]).unwrap();
    let other = Value::from_slice(&[3], &[1i32, 2, 4]).unwrap();
    assert_eq!(check(&ints, &other, 1.0), Err("expected 3i32, got 4i32, at index [2]".to_owned()));
    assert_eq!(
        compare(&ints, &Value::from_slice(&[1], &[1i32]).unwrap(), Tolerance::default()),
        Err(Mismatch::Shape { expected: vec![3], actual: vec![1] })
    );
    assert_eq!(check(&ints, &x, 1.0), Err("expected a value of type []i32, got type [][]f64".to_owned()));
}

#[test]
fn strings_hold_characters_of_escape_sequences() {
    let cases: &[(&str, &[u8])] = &[
        (r#""tab\t""#, b"tab\t"),
        (r#""\65\x41\o101""#, b"AAA"),
        (r#""\"\\\n""#, b"\"\\\n"),
        (r#""\12\&3""#, b"\x0c3"),
        (r#""\SOH\SO\&H\^A\DEL""#, b"\x01\x0eH\x01\x7f"),
        (r#""\233é\8364""#, "éé€".as_bytes()),
        (r#""\0000000065""#, b"\x065"),
    ];
    for (text, bytes) in cases {
        for step in 1..=text.len() {
            let mut reader = Reader::new(ChunkedReader(text.as_bytes(), step));
            let value = reader.read_any().unwrap().unwrap();
            assert_eq!(value.shape(), [bytes.len() as i64], "{text}");
            assert_eq!(value.bytes(), *bytes, "{text}");
            assert_eq!(reader.at_end(), Ok(true), "{text}");
        }
    }
}
