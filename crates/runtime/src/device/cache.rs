//! Compiled kernels, kept on disk: a file for each source, options and device.
//!
//! A file is named by a hash of all that, and begins with it, so that no other one is taken
//! for it; its last bytes are a hash of the rest. What is damaged, or cannot be read or
//! written, is as if it were not there. Files are written beside their place and moved
//! there, so that processes may share the folder.

use super::sealed::{hash, seal, unseal};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What files begin with; another layout gets another number.
const MAGIC: &[u8] = b"bindrune kernels 1\n";

/// The folder, if there is a place for such things.
fn folder() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = match named("XDG_CACHE_HOME") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(named("HOME")?).join(".cache"),
    };
    Some(base.join("bindrune"))
}

/// The file for a key, if it can have one: the one that is given, or one in the folder.
pub fn file_of(key: &str, given: Option<&Path>) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_owned());
    }
    Some(folder()?.join(format!("{:032x}.kernels", hash(key.as_bytes()))))
}

/// What a file keeps for a key.
pub fn find(file: &Path, key: &str) -> Option<Vec<u8>> {
    // What is no file may have no end.
    let is_file = fs::metadata(file).is_ok_and(|about| about.is_file());
    read(&is_file.then(|| fs::read(file))?.ok()?, key)
}

/// What a file keeps for a key, if it is whole.
fn read(file: &[u8], key: &str) -> Option<Vec<u8>> {
    let rest = unseal(file, &[])?.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (own, binary) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
    (own == key.as_bytes() && !binary.is_empty()).then(|| binary.to_vec())
}

fn written(key: &str, binary: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend((key.len() as u64).to_le_bytes());
    file.extend(key.as_bytes());
    file.extend(binary);
    seal(file, &[])
}

/// Keeps something for a key, if it can.
pub fn keep(file: &Path, key: &str, binary: &[u8]) {
    let Some(folder) = file.parent() else { return };
    // Nothing but a file is replaced.
    if fs::metadata(file).is_ok_and(|about| !about.is_file()) {
        return;
    }
    let beside = file.with_extension(format!("new-{}", std::process::id()));
    let placed = fs::create_dir_all(folder)
        .and_then(|()| fs::File::create(&beside))
        .and_then(|mut new| new.write_all(&written(key, binary)))
        .and_then(|()| fs::rename(&beside, file));
    if placed.is_err() {
        // Where it was not made there is nothing to take away.
        let _ = fs::remove_file(&beside);
    }
}

#[cfg(test)]
mod tests {
    use super::{read, written};

    #[test]
    fn what_is_damaged_or_another_s_is_not_taken() {
        let file = written("source", b"code");
        assert_eq!(read(&file, "source").as_deref(), Some(&b"code"[..]));
        assert_eq!(read(&file, "other"), None);
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(read(&damaged, "source"), None, "byte {at}");
            assert_eq!(read(&file[..at], "source"), None, "cut at {at}");
        }
        assert_eq!(read(&written("source", b""), "source"), None);
    }
}
