//! The default memory limit: the minimum of the machine's memory and the limits of the process's
//! control groups, less a sixteenth that stays free for code, stacks and other uses.

use std::fs;

/// The default limit in bytes; close to `u64::MAX` if no limit is known.
pub fn default_limit() -> u64 {
    let known = machine().into_iter().chain(control_groups()).min().unwrap_or(u64::MAX);
    known - known / 16
}

fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    parse_meminfo(&text)
}

fn parse_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn control_groups() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    control_group_files(&text)
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
        .min()
}

/// The limit files of the groups in `/proc/self/cgroup` and of their ancestors, for both versions
/// of the interface. Inside a container the path that the kernel reports may not exist below the
/// mount; the mount's root then counts.
fn control_group_files(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (mount, file) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        let mut path = path.trim_end_matches('/');
        loop {
            files.push(format!("{mount}{path}/{file}"));
            match path.rfind('/') {
                Some(at) => path = &path[..at],
                None => break,
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{control_group_files, default_limit, parse_meminfo};

    #[test]
    fn parses_files_of_the_linux_kernel() {
        assert_eq!(parse_meminfo("MemTotal:       24644456 kB\nMemFree: 1 kB\n"), Some(24644456 * 1024));
        assert_eq!(
            control_group_files("5:cpu:/x\n4:memory:/a/b\n0::/\n"),
            [
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        assert!(default_limit() > 1 << 20);
    }
}
