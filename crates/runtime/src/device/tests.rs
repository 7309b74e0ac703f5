//! Tests of devices with a fake driver.

use super::driver::{Arg, Memory};
use super::fake::Fake;
use super::{Device, Driver as _};
use crate::abi::{CheckDesc, DeviceDesc, KernelDesc, Str, TARGET_OPENCL};

fn check(format: &'static str, location: &'static str) -> CheckDesc {
    CheckDesc {
        format: format.as_ptr(),
        format_len: format.len() as u64,
        location: location.as_ptr(),
        location_len: location.len() as u64,
    }
}

pub(super) const KERNEL: KernelDesc = KernelDesc {
    name: Str::new("k"),
    display_name: Str::new("main.segmap"),
    id: 0,
    spans: Str::new("a.fut:1:1-2"),
    threads: 256,
    sizes: std::ptr::null(),
    n_sizes: 0,
    n_shared_buffers: 0,
    fails: 1,
};

#[test]
fn kernel_failure_is_reported_by_the_next_read_and_cleared() {
    let checks = [check("", ""), check("no {i64} of {bool}", "a.fut:1:1-2")];
    let checks: Vec<*const CheckDesc> = checks.iter().map(std::ptr::from_ref).collect();
    let shares = KernelDesc { n_shared_buffers: 2, fails: 1, ..KERNEL };
    let kernels = [KERNEL, KERNEL, KERNEL, shares];
    let desc = DeviceDesc {
        target: TARGET_OPENCL,
        source: Str::new(""),
        needs: Str::new(""),
        kernels: kernels.as_ptr(),
        n_kernels: 4,
        checks: checks.as_ptr(),
        n_checks: 2,
    };
    let mut fake = Fake::new(1 << 20);
    // The second kernel fails the second check.
    fake.run = |kernel, blocks, args| {
        let Some(Arg::Memory(Some(Memory(slot)))) = args.first() else {
            panic!("the first argument must be the failure block");
        };
        if kernel == 1 {
            blocks[*slot][..4].copy_from_slice(&2i32.to_le_bytes());
            blocks[*slot][8..16].copy_from_slice(&(-7i64).to_le_bytes());
            blocks[*slot][16..24].copy_from_slice(&1u64.to_le_bytes());
        }
    };
    let memory = fake.alloc(4).expect("the driver works").expect("enough memory");
    fake.write(memory, 0, &[1, 2, 3, 4]).expect("the driver works");
    let device = Device::with(Box::new(fake), &desc, None, None).expect("the device opens");
    let read = || {
        let mut bytes = [0; 2];
        let read = device.state().read(Some((memory, 1, &mut bytes)));
        read.map(|()| bytes)
    };
    assert_eq!(read(), Ok([2, 3]));
    device.state().launch(0, 1, &[]).expect("the launch succeeds");
    assert_eq!(read(), Ok([2, 3]));
    for _ in 0..2 {
        device.state().launch(1, 1, &[]).expect("the launch succeeds");
        let error = "Error: no -7 of true\n\nBacktrace:\n-> #0  a.fut:1:1-2";
        assert_eq!(read(), Err(error.to_owned()));
        assert_eq!(read(), Ok([2, 3]));
        assert_eq!(device.synchronise(), Ok(()));
    }
    device.state().launch(1, 1, &[]).expect("the launch succeeds");
    assert!(device.synchronise().is_err());
    let broken = device.state().launch(2, 1, &[]).expect_err("the launch fails");
    assert_eq!(broken, "Error: the device `fake` failed: device lost.");
    let unknown = device.state().launch(4, 1, &[]).expect_err("the launch fails");
    assert!(unknown.contains("unknown kernel"), "{unknown}");
    let share = |bytes: [i64; 2]| device.state().launch(3, 1, &bytes.map(|it| it as u64));
    assert_eq!(share([0, 1024]), Ok(()));
    let more = share([1, 1024]).expect_err("too much shared memory");
    let wanted = "Error: the kernel `main.segmap` needs 1032 bytes of shared memory per \
                  block; the device has 1024.\n\nBacktrace:\n-> #0  a.fut:1:1-2";
    assert_eq!(more, wanted);
    let negative = share([-1, 8]).expect_err("a negative size");
    let wanted = crate::error::render(crate::heap::TOO_LARGE, "a.fut:1:1-2");
    assert_eq!(negative, wanted);
}
