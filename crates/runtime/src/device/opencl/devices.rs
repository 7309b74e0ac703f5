//! Listing and choosing devices.
//!
//! A device is named as described in [`device_names`]. The default is the first GPU, else the first
//! device that is not a CPU, else the first device.

use super::super::device_names;
use super::super::driver::SATURATION_DIVISOR;
use super::api::{self, Api, DeviceId, Platform};

/// The number of threads that occupy a compute unit of a GPU: most hold 2048 at once.
const THREADS_PER_UNIT: u64 = 2048 / SATURATION_DIVISOR;
/// The number of threads of a block, which one CPU core runs.
const THREADS_PER_CORE: u64 = 256;

/// A device.
#[derive(Clone, Debug)]
pub struct ClDevice {
    pub id: DeviceId,
    pub name: String,
    pub platform: String,
    pub kind: u64,
}

impl ClDevice {
    /// The device's line in lists.
    pub fn line(&self, number: usize, api: &Api) -> String {
        let kind = match self.kind {
            kind if kind & api::DEVICE_TYPE_GPU != 0 => "GPU",
            kind if kind & api::DEVICE_TYPE_CPU != 0 => "CPU",
            _ => "accelerator",
        };
        let units = self.number(api, api::DEVICE_MAX_COMPUTE_UNITS);
        let memory = self.number(api, api::DEVICE_GLOBAL_MEM_SIZE) >> 20;
        format!("#{number} {} ({}: {kind}, {units} units, {memory} MiB)", self.name, self.platform)
    }

    /// The number of threads that occupy the device: for GPUs by the usual size of their units, for
    /// CPUs a block per core. `None` if it does not report its number of units.
    pub fn busy(&self, api: &Api) -> Option<u64> {
        let is_processor = self.kind & api::DEVICE_TYPE_CPU != 0;
        let threads = if is_processor { THREADS_PER_CORE } else { THREADS_PER_UNIT };
        let units = self.number(api, api::DEVICE_MAX_COMPUTE_UNITS);
        (units > 0).then(|| units.saturating_mul(threads))
    }

    /// A device property as bytes; empty if it is not reported.
    pub fn info(&self, api: &Api, what: u32) -> Vec<u8> {
        let ask = |size, into, needed| {
            // SAFETY: a device of this library; the buffer has `size` bytes.
            unsafe { (api.device_info)(self.id, what, size, into, needed) }
        };
        Api::info(ask).unwrap_or_default()
    }

    /// A device property as a number.
    pub fn number(&self, api: &Api, what: u32) -> u64 {
        api::number(&self.info(api, what))
    }

    /// A device property as text.
    pub fn text(&self, api: &Api, what: u32) -> String {
        api::text(&self.info(api, what))
    }
}

/// All usable devices, platform by platform.
pub fn all(api: &Api) -> Result<Vec<ClDevice>, String> {
    let mut found = Vec::new();
    for platform in platforms(api)? {
        let ask = |size, into, needed| {
            // SAFETY: a platform of this library; the buffer has `size` bytes.
            unsafe { (api.platform_info)(platform, api::PLATFORM_NAME, size, into, needed) }
        };
        let platform_name = api::text(&Api::info(ask).unwrap_or_default());
        let mut count = 0;
        // SAFETY: only the number is requested.
        let status =
            unsafe { (api.devices)(platform, api::DEVICE_TYPE_ALL, 0, std::ptr::null_mut(), &raw mut count) };
        if status != api::SUCCESS {
            // Platforms without devices return an error.
            continue;
        }
        let mut ids: Vec<DeviceId> = vec![std::ptr::null_mut(); count as usize];
        // SAFETY: the buffer holds `count` ids.
        let status = unsafe {
            (api.devices)(platform, api::DEVICE_TYPE_ALL, count, ids.as_mut_ptr(), std::ptr::null_mut())
        };
        if status != api::SUCCESS {
            continue;
        }
        for id in ids {
            let mut choice = ClDevice { id, name: String::new(), platform: platform_name.clone(), kind: 0 };
            choice.name = choice.text(api, api::DEVICE_NAME);
            choice.kind = choice.number(api, api::DEVICE_TYPE);
            if choice.number(api, api::DEVICE_AVAILABLE) & 1 == 1
                && choice.number(api, api::DEVICE_COMPILER_AVAILABLE) & 1 == 1
            {
                found.push(choice);
            }
        }
    }
    Ok(found)
}

fn platforms(api: &Api) -> Result<Vec<Platform>, String> {
    let mut count = 0;
    // SAFETY: only the number is requested.
    let status = unsafe { (api.platforms)(0, std::ptr::null_mut(), &raw mut count) };
    if status == api::PLATFORM_NOT_FOUND {
        return Ok(Vec::new());
    }
    let failed = |status| format!("cannot list the OpenCL platforms: {}", api::describe(status));
    api::checked(status).map_err(failed)?;
    let mut ids: Vec<Platform> = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: the buffer holds `count` ids.
    let status = unsafe { (api.platforms)(count, ids.as_mut_ptr(), std::ptr::null_mut()) };
    api::checked(status).map_err(failed)?;
    Ok(ids)
}

/// Chooses a device by its platform's name and its own.
pub fn choose(
    mut all: Vec<ClDevice>,
    platform: Option<&str>,
    wanted: Option<&str>,
) -> Result<ClDevice, String> {
    if all.is_empty() {
        return Err("OpenCL found no device on this machine; install a device driver".to_owned());
    }
    if let Some(platform) = platform {
        let names: Vec<&str> = all.iter().map(|choice| &*choice.platform).collect();
        let name = device_names::platform(&names, platform)?.to_owned();
        all.retain(|choice| choice.platform == name);
    }
    let Some(wanted) = wanted else {
        let is = |kind: u64| move |choice: &&ClDevice| choice.kind & kind != 0;
        let best = all
            .iter()
            .find(is(api::DEVICE_TYPE_GPU))
            .or_else(|| all.iter().find(is(!api::DEVICE_TYPE_CPU)))
            .or(all.first());
        return best.cloned().ok_or_else(String::new);
    };
    let names: Vec<[&str; 2]> =
        (all.iter()).map(|choice| [choice.name.as_str(), choice.platform.as_str()]).collect();
    let at = device_names::find(&names, wanted)?;
    all.into_iter().nth(at).ok_or_else(String::new)
}

#[cfg(test)]
mod tests {
    use super::{ClDevice, api, choose};

    fn device(name: &str, platform: &str, kind: u64) -> ClDevice {
        ClDevice { id: std::ptr::null_mut(), name: name.to_owned(), platform: platform.to_owned(), kind }
    }

    #[test]
    fn a_device_is_found_by_name_and_number() {
        let all = || {
            vec![
                device("cpu-znver4", "Portable Computing Language", api::DEVICE_TYPE_CPU),
                device("Quick 100", "Vendor", api::DEVICE_TYPE_GPU),
                device("Quick 200", "Vendor", api::DEVICE_TYPE_GPU),
            ]
        };
        for (wanted, name) in [
            (None, "Quick 100"),
            (Some("quick"), "Quick 100"),
            (Some("#1 quick"), "Quick 200"),
            (Some("#1quick"), "Quick 200"),
            (Some("#2"), "Quick 200"),
            (Some("portable"), "cpu-znver4"),
            (Some("200"), "Quick 200"),
        ] {
            let chosen = choose(all(), None, wanted).expect("a device");
            assert_eq!(chosen.name, name);
        }
        for (wanted, message) in [
            ("slow", "there is no device `slow`; there are: `cpu-znver4`, `Quick 100`"),
            ("#2 quick", "there is no device `#2 quick`"),
            ("#x", "no number after `#`"),
        ] {
            let error = choose(all(), None, Some(wanted)).expect_err("no device");
            assert!(error.contains(message), "{error}");
        }
        for (platform, wanted, name) in
            [("vendor", None, "Quick 100"), ("#1", Some("#1"), "Quick 200"), ("portable", None, "cpu-znver4")]
        {
            let chosen = choose(all(), Some(platform), wanted).expect("a device");
            assert_eq!(chosen.name, name);
        }
        for (platform, wanted, message) in [
            ("slow", None, "there is no platform `slow`; there are: `Portable"),
            ("#2", None, "there is no platform `#2`"),
            ("portable", Some("quick"), "there are: `cpu-znver4` ("),
        ] {
            let error = choose(all(), Some(platform), wanted).expect_err("no device");
            assert!(error.contains(message), "{error}");
        }
        let none = choose(Vec::new(), None, None).expect_err("no device");
        assert!(none.contains("no device"), "{none}");
    }

    #[test]
    fn cpu_is_chosen_last() {
        let cpu = device("cpu", "a", api::DEVICE_TYPE_CPU);
        let other = device("other", "b", 1 << 3);
        let chosen = choose(vec![cpu.clone(), other], None, None).expect("a device");
        assert_eq!(chosen.name, "other");
        assert_eq!(choose(vec![cpu], None, None).expect("a device").name, "cpu");
    }
}
