//! Backends of the commands that run many programs.

use driver::DeviceTarget;

/// An execution backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// The interpreter.
    Interp,
    /// Compiled code on all cores.
    Cpu,
    /// Portable C, on one core.
    C,
    /// Kernels on a device.
    Device(DeviceTarget),
}

impl Backend {
    /// The names that the command line accepts, including those of the reference compiler.
    pub const NAMES: [&'static str; 8] =
        ["cpu", "multicore", "c", "opencl", "cuda", "hip", "interp", "interpreter"];

    /// Returns the backend of a name in [`Self::NAMES`]; unknown names select [`Self::Cpu`].
    pub fn from_name(name: &str) -> Self {
        match name {
            "interp" | "interpreter" => Self::Interp,
            "c" => Self::C,
            _ => {
                let target = DeviceTarget::ALL.into_iter().find(|it| it.name() == name);
                target.map_or(Self::Cpu, Self::Device)
            }
        }
    }

    /// Returns the tags that exclude programs and cases from this backend.
    pub(crate) fn excluded(self, name: &str) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Interp => &["no_interp", "compiled"],
            Self::Cpu => &["no_cpu", "no_multicore"],
            Self::C => &["no_c"],
            // Only `no_<name>`, added below.
            Self::Device(_) => &[],
        };
        let by_name = format!("no_{name}");
        let all = names.iter().map(|name| (*name).to_owned());
        all.chain([by_name]).collect()
    }

    /// The value of `build --backend`, if it is not the default.
    pub(crate) fn build_name(self) -> Option<&'static str> {
        match self {
            Self::C => Some("c"),
            Self::Device(target) => Some(target.name()),
            Self::Interp | Self::Cpu => None,
        }
    }
}
