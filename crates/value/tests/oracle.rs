//! Both formats against files that other programs wrote: futhark-data, C's printf and exact
//! rational arithmetic (see `tests/oracle/value/make.py`).

use std::fs;
use std::path::{Path, PathBuf};
use value::{Reader, Tolerance, Value, ValueType, compare, write_binary};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/value").join(name)
}

fn read_all(bytes: &[u8]) -> Result<Vec<Value>, value::ReadError> {
    let mut reader = Reader::from_slice(bytes);
    let mut values = Vec::new();
    while let Some(value) = reader.read_any()? {
        values.push(value);
    }
    Ok(values)
}

#[test]
fn binary_data_equal_those_of_futhark_data() -> Outcome {
    let bytes = fs::read(file("values.bin"))?;
    let values = read_all(&bytes)?;
    assert_eq!(values.len(), 119);
    let mut ours = Vec::new();
    for value in &values {
        write_binary(&mut ours, value)?;
    }
    assert!(ours == bytes, "written data differ from the data read");
    Ok(())
}

#[test]
fn text_equals_that_of_futhark_data() -> Outcome {
    let from_binary = read_all(&fs::read(file("values.bin"))?)?;
    let from_text = read_all(&fs::read(file("values.txt"))?)?;
    assert_eq!(from_text.len(), from_binary.len());
    for (x, y) in from_binary.iter().zip(&from_text) {
        // futhark-data writes floats with 6 digits after the point.
        compare(x, y, Tolerance(6e-7))?;
        let reread = read_all(x.to_string().as_bytes())?;
        assert_eq!(reread.as_slice(), std::slice::from_ref(x));
    }
    Ok(())
}

/// Test cases, one a line: type, bits and text.
fn cases(name: &str) -> Result<Vec<(Value, String)>, Box<dyn std::error::Error>> {
    let mut cases = Vec::new();
    for line in fs::read_to_string(file(name))?.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().ok_or("a line of less than three words");
        let ty: prim::ScalarType = word()?.parse().map_err(|()| "an unknown type")?;
        let bits = prim::Scalar::from_bits(ty.prim(), u64::from_str_radix(word()?, 16)?);
        let value = Value::from_scalar(ty, bits).ok_or("a scalar of another type")?;
        cases.push((value, word()?.to_owned()));
    }
    Ok(cases)
}

#[test]
fn floats_are_printed_as_by_printf() -> Outcome {
    for (value, text) in cases("printed.txt")? {
        assert_eq!(value.to_string(), text);
        let back = Reader::from_slice(text.as_bytes()).read(value.value_type())?;
        assert_eq!(back, value, "{text}");
    }
    Ok(())
}

#[test]
fn literals_of_all_forms() -> Outcome {
    for (value, text) in cases("literals.txt")? {
        let ValueType { scalar, .. } = value.value_type();
        let back = Reader::from_slice(text.as_bytes()).read(value.value_type())?;
        assert_eq!(back, value, "{text} as {scalar}");
        // In an array, the fast path is taken where it applies.
        let row = format!("[{text},{text} ,\n{text}]");
        let back = Reader::from_slice(row.as_bytes()).read(ValueType::new(scalar, 1))?;
        let expected = Value::from_bytes(scalar, vec![3], &value.bytes().repeat(3))?;
        assert_eq!(back, expected, "{row} as {scalar}");
    }
    Ok(())
}
