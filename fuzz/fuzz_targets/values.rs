//! Fuzzes the text and binary readers of values: any bytes give values or an error, and values
//! survive a round trip through both formats.

#![no_main]

use libfuzzer_sys::fuzz_target;
use value::{Reader, Value, write_binary};

/// The size in bytes from which a value is not written as text.
const SHOWN: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let mut reader = Reader::from_slice(data);
    while let Ok(Some(value)) = reader.read_any() {
        let mut bytes = Vec::new();
        write_binary(&mut bytes, &value).expect("a vector takes all bytes");
        assert_eq!(bits(&read_back(&bytes)), bits(&value));
        if value.bytes().len() < SHOWN {
            let text = value.to_string();
            let read = read_back(text.as_bytes());
            assert!(same(&read, &value), "{read} {value}");
        }
    }
    // The same bytes as a stream of unknown length.
    let mut reader = Reader::new(data);
    while let Ok(Some(_)) = reader.read_any() {}
});

fn read_back(bytes: &[u8]) -> Value {
    let mut reader = Reader::from_slice(bytes);
    let value = reader.read_any().expect("what was written can be read");
    assert!(reader.at_end().expect("the end"));
    value.expect("there is a value")
}

fn bits(value: &Value) -> (prim::ScalarType, Vec<i64>, Vec<u8>) {
    let shape = value.shape().to_vec();
    (value.scalar_type(), shape, value.bytes().to_vec())
}

/// The text format keeps everything except the payloads of NaNs.
fn same(x: &Value, y: &Value) -> bool {
    x.value_type() == y.value_type()
        && x.shape() == y.shape()
        && (x.bytes() == y.bytes() || x.scalar_type().is_float() && x.to_string() == y.to_string())
}
