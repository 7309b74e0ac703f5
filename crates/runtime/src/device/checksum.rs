//! File contents with a checksum at the end, which detects damaged and truncated files.

/// The 128-bit FNV hash of `bytes`, continuing from the hash `start` of preceding bytes.
fn hash_on(start: u128, bytes: &[u8]) -> u128 {
    const FACTOR: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(FACTOR);
    bytes.iter().fold(start, step)
}

/// The 128-bit FNV hash.
pub fn hash(bytes: &[u8]) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    hash_on(START, bytes)
}

/// Appends a checksum of `bytes` and of `to`, data that the reader knows.
pub fn append_checksum(mut bytes: Vec<u8>, to: &[u8]) -> Vec<u8> {
    let sum = hash_on(hash(to), &bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The bytes before the checksum, if the file is intact and the checksum was made with the same `to`.
pub fn verify_checksum<'b>(file: &'b [u8], to: &[u8]) -> Option<&'b [u8]> {
    let (bytes, sum) = file.split_last_chunk::<16>()?;
    (hash_on(hash(to), bytes) == u128::from_le_bytes(*sum)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{append_checksum, verify_checksum};

    #[test]
    fn damaged_files_and_other_programs_are_detected() {
        let file = append_checksum(b"code".to_vec(), b"program");
        assert_eq!(verify_checksum(&file, b"program"), Some(&b"code"[..]));
        assert_eq!(verify_checksum(&file, b"another"), None);
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(verify_checksum(&damaged, b"program"), None, "byte {at}");
            assert_eq!(verify_checksum(&file[..at], b"program"), None, "truncated at {at}");
        }
    }
}
