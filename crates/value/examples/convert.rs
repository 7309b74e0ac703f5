//! Converts a stream of values on standard input, text and binary mixed, to one format on standard
//! output: `convert text` or `convert binary`. `convert none` only reads, and prints the time of
//! each value on standard error.

use std::io::{self, BufWriter, Write};
use std::time::Instant;
use value::{Reader, write_binary, write_text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let format = std::env::args().nth(1).unwrap_or_default();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut reader = Reader::stdin()?;
    let start = Instant::now();
    while let Some(value) = reader.read_any()? {
        match format.as_str() {
            "text" => {
                write_text(&mut out, &value)?;
                writeln!(out)?;
            }
            "binary" => write_binary(&mut out, &value)?,
            "none" => {
                let bytes = value.bytes().len();
                eprintln!("{} of {bytes} bytes: {:?}", value.value_type(), start.elapsed());
            }
            _ => return Err("usage: convert text|binary|none".into()),
        }
    }
    out.flush()?;
    Ok(())
}
