//! A program as kernels on an OpenCL device (PoCL provides one on the processor), as its executable
//! would run them: the kernels' text, the driver, the host's statements, copies, and the failure
//! records of kernels. Unlike the simulated device it checks results only; compilation takes long,
//! so it runs only on request.

use crate::differ::{Expected, Outcome, Problem, arguments, compare, compile_problem};
use crate::generator::Call;
use driver::{DeviceTarget, Ir, Session};
use runtime::abi::Program;
use runtime::tuning_params::Assignment;
use runtime::{Config, Context, Image, device};
use std::sync::LazyLock;

/// The OpenCL contexts of all programs.
static CONTEXTS: LazyLock<device::SharedContexts> = LazyLock::new(device::SharedContexts::default);

/// A program compiled for the device.
pub(crate) struct OnOpenCl {
    image: Image,
    /// True if the OpenCL compiler optimises the kernels.
    optimised: bool,
}

impl OnOpenCl {
    /// Compiles a program for the device; `None` if it needs an unsupported feature.
    pub(crate) fn of(session: &mut Session, ir: Ir, optimised: bool) -> Result<Option<Self>, Problem> {
        let saved = session.options.clone();
        session.options = saved.clone().on_device(DeviceTarget::OpenCl);
        let image = session.image(ir, &mut ());
        session.options = saved;
        match image {
            Ok(image) => Ok(Some(Self { image, optimised })),
            Err(failure) if failure.0.iter().all(|d| d.id == "not-supported-yet") => Ok(None),
            Err(failure) => Err(compile_problem("for OpenCL", session, &failure)),
        }
    }

    /// The number of calls with the expected results.
    pub(crate) fn agree(
        self,
        calls: &[(&Call, Expected)],
        tuning: impl Fn(&Program) -> Vec<Assignment>,
    ) -> Result<u64, Problem> {
        // Compilation dominates the run time.
        let plain = (!self.optimised).then(|| "-cl-opt-disable".to_owned());
        let config = Config {
            tuning: tuning(self.image.program()),
            device: device::Config {
                build_options: plain.into_iter().collect(),
                contexts: CONTEXTS.clone(),
                ..device::Config::default()
            },
            ..Config::default()
        };
        let context = Context::new(&config, self.image);
        let mut context = context.map_err(|e| Problem::new("OpenCL: context", e.to_string()))?;
        let mut agreed = 0;
        for (call, wanted) in calls {
            if matches!(wanted, Expected::Unknown) {
                continue;
            }
            let found = context.call(&call.entry, arguments(call)?);
            let outcome = compare(call, wanted, found).map_err(|problem| {
                let what = format!("entry {}, on OpenCL: {}", call.entry, problem.what);
                Problem::new(&format!("OpenCL: {}", problem.kind), what)
            })?;
            agreed += u64::from(!matches!(outcome, Outcome::Slow));
        }
        let left = context.finish();
        if left != 0 {
            return Err(Problem::new("OpenCL: leak", format!("{left} bytes leaked")));
        }
        Ok(agreed)
    }
}
