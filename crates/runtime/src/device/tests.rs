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
fn a_kernel_s_failure_comes_with_what_is_read_next_and_leaves_no_trace() {
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
            panic!("it is not told where failures are noted");
        };
        if kernel == 1 {
            blocks[*slot][..4].copy_from_slice(&2i32.to_le_bytes());
            blocks[*slot][8..16].copy_from_slice(&(-7i64).to_le_bytes());
            blocks[*slot][16..24].copy_from_slice(&1u64.to_le_bytes());
        }
    };
    let memory = fake.alloc(4).expect("it works").expect("it fits");
    fake.write(memory, 0, &[1, 2, 3, 4]).expect("it works");
    let device = Device::with(Box::new(fake), &desc, None, None).expect("it opens");
    let read = || {
        let mut bytes = [0; 2];
        let read = device.state().read(Some((memory, 1, &mut bytes)));
        read.map(|()| bytes)
    };
    assert_eq!(read(), Ok([2, 3]));
    device.state().launch(0, 1, &[]).expect("it is launched");
    assert_eq!(read(), Ok([2, 3]));
    for _ in 0..2 {
        device.state().launch(1, 1, &[]).expect("it is launched");
        let error = "Error: no -7 of true\n\nBacktrace:\n-> #0  a.fut:1:1-2";
        assert_eq!(read(), Err(error.to_owned()));
        assert_eq!(read(), Ok([2, 3]));
        assert_eq!(device.settle(), Ok(()));
    }
    device.state().launch(1, 1, &[]).expect("it is launched");
    assert!(device.settle().is_err());
    let broken = device.state().launch(2, 1, &[]).expect_err("it fails");
    assert_eq!(broken, "Error: the device `fake` fails: it is gone.");
    let unknown = device.state().launch(4, 1, &[]).expect_err("it fails");
    assert!(unknown.contains("a kernel does not exist"), "{unknown}");
    let share = |bytes: [i64; 2]| device.state().launch(3, 1, &bytes.map(|it| it as u64));
    assert_eq!(share([0, 1024]), Ok(()));
    let more = share([1, 1024]).expect_err("it is too much");
    let wanted = "Error: the kernel `main.segmap` needs 1032 bytes that a block shares, the \
                  device has 1024.\n\nBacktrace:\n-> #0  a.fut:1:1-2";
    assert_eq!(more, wanted);
    let negative = share([-1, 8]).expect_err("it is no size");
    let wanted = crate::error::render(crate::heap::TOO_LARGE, "a.fut:1:1-2");
    assert_eq!(negative, wanted);
}
