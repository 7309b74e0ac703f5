//! Options of executables for devices, with the names of the reference compiler's options.

use super::{Line, line};
use lexopt::{Parser, ValueExt};
use std::path::PathBuf;

/// The options about devices and their kernels.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The name of the device to run on.
    pub name: Option<String>,
    /// The name of its platform.
    pub platform: Option<String>,
    /// Additional options for the kernel compiler.
    pub build_options: Vec<String>,
    /// The cache file for compiled kernels.
    pub cache_file: Option<PathBuf>,
    /// The file to which kernels are written instead of running, and their target.
    pub dump: Option<KernelFile>,
    /// The file from which kernels are loaded instead of the program's, and their target.
    pub load: Option<KernelFile>,
    /// The value of thresholds that are not set otherwise.
    pub default_threshold: Option<i64>,
    /// Options that were given and have no effect.
    pub without_effect: Vec<&'static str>,
}

/// A file with kernels.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelFile {
    /// The kernels' target: `cuda`, `hip` or `opencl`.
    pub target: &'static str,
    /// True if the kernels are compiled, not source text.
    pub compiled: bool,
    /// The file.
    pub file: PathBuf,
}

pub(super) const LINES: &[Line] = &[
    line(
        Some('d'),
        "device",
        Some("NAME"),
        "Run on the first device whose name contains NAME; `#K NAME` for the K-th.",
    ),
    line(
        Some('p'),
        "platform",
        Some("NAME"),
        "Use only devices of the platform whose name contains NAME; `#K NAME` as above.",
    ),
    line(None, "list-devices", None, "Print the available devices and exit."),
    line(None, "build-option", Some("OPT"), "Pass OPT to the kernel compiler; --nvrtc-option is the same."),
    line(
        None,
        "cache-file",
        Some("FILE"),
        "Cache compiled kernels in FILE instead of the user's cache directory.",
    ),
    line(
        None,
        "dump-TARGET",
        Some("FILE"),
        "Write the kernels to FILE and exit; TARGET is cuda, hip or opencl.",
    ),
    line(None, "load-TARGET", Some("FILE"), "Load the kernels from FILE, as written by --dump-TARGET."),
    line(
        None,
        "dump-opencl-binary",
        Some("FILE"),
        "Write the compiled kernels to FILE and exit; --dump-ptx for CUDA.",
    ),
    line(None, "load-opencl-binary", Some("FILE"), "Load compiled kernels from FILE; --load-ptx for CUDA."),
    line(None, "default-threshold", Some("N"), "Set all thresholds that are not set otherwise."),
    line(
        None,
        "default-thread-block-size",
        Some("N"),
        "Accepted without effect, as are --default-tile-size and similar options.",
    ),
];

/// Options of the reference compiler's executables that have no effect: the partition of work over
/// threads is part of the program, so that results do not depend on it.
const WITHOUT_EFFECT: &[&str] = &[
    "default-thread-block-size",
    "default-num-thread-blocks",
    "default-group-size",
    "default-num-groups",
    "default-tile-size",
    "default-reg-tile-size",
    "unified-memory",
];

/// Target, true if compiled, and the options that write and load such kernels.
const TARGETS: [(&str, bool, &str, &str); 5] = [
    ("cuda", false, "dump-cuda", "load-cuda"),
    ("cuda", true, "dump-ptx", "load-ptx"),
    ("hip", false, "dump-hip", "load-hip"),
    ("opencl", false, "dump-opencl", "load-opencl"),
    ("opencl", true, "dump-opencl-binary", "load-opencl-binary"),
];

impl DeviceOptions {
    /// Returns true if the options require a device.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.name.is_some() || self.platform.is_some() || self.dump.is_some() || self.load.is_some()
    }

    /// Parses a long option, if it is a device option.
    pub(super) fn take(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        if let Some(idle) = WITHOUT_EFFECT.iter().find(|idle| **idle == name) {
            parser.value()?.parse::<u64>()?;
            self.without_effect.push(idle);
            return Ok(true);
        }
        for (target, compiled, dump, load) in TARGETS {
            let file_option = match name {
                name if name == dump => &mut self.dump,
                name if name == load => &mut self.load,
                _ => continue,
            };
            let file = parser.value()?.into();
            *file_option = Some(KernelFile { target, compiled, file });
            return Ok(true);
        }
        match name {
            "device" => self.name = Some(parser.value()?.string()?),
            "platform" => self.platform = Some(parser.value()?.string()?),
            "build-option" | "nvrtc-option" => self.build_options.push(parser.value()?.string()?),
            "cache-file" => self.cache_file = Some(parser.value()?.into()),
            "default-threshold" => self.default_threshold = Some(parser.value()?.parse()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}
