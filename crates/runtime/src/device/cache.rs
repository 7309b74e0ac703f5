//! A disk cache of compiled kernels: a file for each combination of source, options and device.
//!
//! A file's name is a hash of that combination (the key), and the file contains the key, so that
//! files cannot be confused; its last bytes are a hash of the rest. Files that are damaged, or
//! cannot be read or written, are ignored. Files are written under a temporary name and renamed, so
//! that processes may share the directory.

use super::checksum::{append_checksum, hash, verify_checksum};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The start of each file; another layout gets another number.
const MAGIC: &[u8] = b"bindrune kernels 1\n";

/// The cache directory, if one is known.
fn folder() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = match named("XDG_CACHE_HOME") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(named("HOME")?).join(".cache"),
    };
    Some(base.join("bindrune"))
}

/// The file for a key: the given one, or one in the cache directory, if there is one.
pub fn file_of(key: &str, given: Option<&Path>) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_owned());
    }
    Some(folder()?.join(format!("{:032x}.kernels", hash(key.as_bytes()))))
}

/// The contents of a file for a key.
pub fn find(file: &Path, key: &str) -> Option<Vec<u8>> {
    // Other kinds of files may be endless.
    let is_file = fs::metadata(file).is_ok_and(|about| about.is_file());
    read(&is_file.then(|| fs::read(file))?.ok()?, key)
}

/// The contents of a file for a key, if it is intact.
fn read(file: &[u8], key: &str) -> Option<Vec<u8>> {
    let rest = verify_checksum(file, &[])?.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (own_key, binary) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
    (own_key == key.as_bytes() && !binary.is_empty()).then(|| binary.to_vec())
}

fn written(key: &str, binary: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend((key.len() as u64).to_le_bytes());
    file.extend(key.as_bytes());
    file.extend(binary);
    append_checksum(file, &[])
}

/// Stores contents for a key, if possible.
pub fn keep(file: &Path, key: &str, binary: &[u8]) {
    let Some(folder) = file.parent() else { return };
    // Only regular files are replaced.
    if fs::metadata(file).is_ok_and(|about| !about.is_file()) {
        return;
    }
    let temporary = file.with_extension(format!("new-{}", std::process::id()));
    let outcome = fs::create_dir_all(folder)
        .and_then(|()| fs::File::create(&temporary))
        .and_then(|mut new| new.write_all(&written(key, binary)))
        .and_then(|()| fs::rename(&temporary, file));
    if outcome.is_err() {
        // If it was not created, there is nothing to remove.
        let _ = fs::remove_file(&temporary);
    }
}

#[cfg(test)]
mod tests {
    use super::{read, written};

    #[test]
    fn damaged_files_and_other_keys_are_rejected() {
        let file = written("source", b"code");
        assert_eq!(read(&file, "source").as_deref(), Some(&b"code"[..]));
        assert_eq!(read(&file, "other"), None);
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(read(&damaged, "source"), None, "byte {at}");
            assert_eq!(read(&file[..at], "source"), None, "truncated at {at}");
        }
        assert_eq!(read(&written("source", b""), "source"), None);
    }
}
