//! The values of a test block, read from text or files, and the comparison with actual results.

use crate::blocks::Data;
use crate::random::{self, Bounds};
use std::fmt;
use std::io::Read;
use std::path::Path;
use value::{Reader, Tolerance, Value, compare};

/// The reason why values are not available.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataError {
    /// A form of data that is not supported.
    Unsupported(&'static str),
    /// Malformed or unreadable data; the message.
    Unreadable(String),
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "not supported yet: {what}"),
            Self::Unreadable(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for DataError {}

impl Data {
    /// Returns the values with their own types: a number without a suffix is an `i32` or `f64`.
    /// `dir` is the program's directory.
    pub fn values(&self, dir: &Path) -> Result<Vec<Value>, DataError> {
        match self {
            Self::Text(text, line) => read_all(Reader::from_slice(text.as_bytes()))
                .map_err(|e| DataError::Unreadable(format!("values at line {line}: {e}"))),
            Self::File(path) => {
                let path = dir.join(path);
                read_file(&path)
                    .map_err(|e| e.to_string())
                    .and_then(|bytes| read_all(Reader::from_slice(&bytes)))
                    .map_err(|e| DataError::Unreadable(format!("{}: {e}", path.display())))
            }
            Self::Random(types) => random::parse(types)
                .and_then(|specs| random::generate(&specs, &Bounds::default(), SEED))
                .map_err(DataError::Unreadable),
            Self::Script(_) | Self::ScriptFile(_) => {
                Err(DataError::Unsupported("script input without the interpreter"))
            }
        }
    }

    /// Returns the values in the input format of executables, as text or binary.
    pub fn bytes(&self, dir: &Path) -> Result<Vec<u8>, DataError> {
        match self {
            Self::Text(text, _) => Ok(text.clone().into_bytes()),
            Self::File(path) => {
                let path = dir.join(path);
                read_file(&path).map_err(|e| DataError::Unreadable(format!("{}: {e}", path.display())))
            }
            Self::Random(_) | Self::Script(_) | Self::ScriptFile(_) => {
                let mut out = Vec::new();
                for value in self.values(dir)? {
                    value::write_binary(&mut out, &value)
                        .map_err(|e| DataError::Unreadable(e.to_string()))?;
                }
                Ok(out)
            }
        }
    }
}

/// The seed of random inputs.
const SEED: u64 = 1;

/// Reads a data file; a file with the extension `.gz` is decompressed.
pub fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    if path.extension().is_some_and(|ext| ext == "gz") {
        flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes)?;
    } else {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn read_all<R: Read>(mut reader: Reader<R>) -> Result<Vec<Value>, String> {
    let mut values = Vec::new();
    while let Some(value) = reader.read_any().map_err(|e| e.to_string())? {
        values.push(value);
    }
    Ok(values)
}

/// Compares results with the expected values, floats with the tolerance of the reference compiler's
/// test tool. The error is the first difference.
pub fn compare_all(expected: &[Value], actual: &[Value]) -> Result<(), String> {
    if expected.len() != actual.len() {
        return Err(format!("expected {} results, got {}", expected.len(), actual.len()));
    }
    for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        compare(expected, actual, Tolerance::default())
            .map_err(|mismatch| format!("result {index}: {mismatch}"))?;
    }
    Ok(())
}
