//! The checks of a program. Each takes a program and returns its problems.

mod fuel;
mod lanes;
mod loops;
mod machine_code;
mod opencl;
mod passes;
mod portable_c;
mod remarks;
mod shared_functions;
mod simulated_device;
mod stages;
mod vendors;

use crate::program::Program;

/// The tiers of tests; each includes the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tier {
    /// `make test`.
    Test,
    /// `make test-all`.
    All,
}

/// A check.
pub struct Check {
    /// The name that problems and `BINDRUNE_CHECKS` use.
    pub name: &'static str,
    /// The first tier with the check.
    pub tier: Tier,
    /// The check itself; returns the problems found.
    pub run: fn(&Program) -> Vec<String>,
}

/// All checks, in the order in which they run.
pub const CHECKS: [Check; 17] = [
    Check { name: "stages", tier: Tier::Test, run: stages::verify },
    Check { name: "text", tier: Tier::Test, run: stages::text_forms_read_back },
    Check { name: "passes", tier: Tier::Test, run: passes::preserve_semantics },
    Check { name: "loops", tier: Tier::Test, run: loops::preserve_semantics },
    Check { name: "shared-functions", tier: Tier::Test, run: shared_functions::preserve_semantics },
    Check { name: "machine-code", tier: Tier::Test, run: machine_code::gives_expected_values },
    Check { name: "lanes", tier: Tier::Test, run: lanes::change_no_bits },
    Check { name: "portable-c", tier: Tier::Test, run: portable_c::gives_expected_values },
    Check { name: "simulated-device", tier: Tier::Test, run: simulated_device::gives_expected_values },
    Check { name: "simulated-blocks", tier: Tier::Test, run: simulated_device::blocks_give_expected_values },
    Check { name: "simulated-scans", tier: Tier::Test, run: simulated_device::scans_give_expected_values },
    Check { name: "opencl", tier: Tier::Test, run: opencl::gives_expected_values },
    Check { name: "opencl-blocks", tier: Tier::Test, run: opencl::blocks_give_expected_values },
    Check { name: "remarks", tier: Tier::Test, run: remarks::change_nothing },
    Check { name: "fuel", tier: Tier::Test, run: fuel::limits_every_rewrite },
    Check { name: "cuda", tier: Tier::All, run: vendors::nvrtc_accepts_kernels },
    Check { name: "hip", tier: Tier::All, run: vendors::clang_accepts_kernels },
];
