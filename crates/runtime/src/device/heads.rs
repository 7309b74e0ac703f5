//! The heads of a program's kernels, name and parameters. Launches hand over captures one
//! after another, and drivers believe them: kernels that come from a file must have the heads
//! of those in whose place they are.

use crate::abi::DeviceDesc;

/// Words with a space between.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `void NAME(PARAMETERS)` of each kernel, in their order.
pub fn heads(desc: &DeviceDesc) -> Vec<String> {
    let source = desc.source.get();
    let heads = desc.kernels().iter().filter_map(|kernel| {
        let begin = format!("void {}(", kernel.name.get());
        let from = source.find(&begin)?;
        let head = source[from..].split('{').next()?;
        Some(spaced(head))
    });
    heads.collect()
}

/// A kernel of the program's that a text does not have, by its head.
pub fn missing(desc: &DeviceDesc, text: &str) -> Option<String> {
    let text = spaced(text);
    heads(desc).into_iter().find(|head| !text.contains(&**head))
}

#[cfg(test)]
mod tests {
    use super::missing;
    use crate::abi::{DeviceDesc, KernelDesc, Str, TARGET_OPENCL};

    #[test]
    fn kernels_keep_names_and_parameters() {
        let named = |name| KernelDesc {
            name: Str::new(name),
            shown: Str::new(""),
            id: 0,
            places: Str::new(""),
            threads: 256,
            sizes: std::ptr::null(),
            n_sizes: 0,
            n_pads: 0,
            fails: 0,
        };
        let kernels = [named("k0"), named("k1")];
        let desc = DeviceDesc {
            target: TARGET_OPENCL,
            source: Str::new("KERNEL\nvoid k0(ctx *c, i64 n) {\n}\nKERNEL\nvoid k1() {\n}\n"),
            needs: Str::new(""),
            kernels: kernels.as_ptr(),
            n_kernels: 2,
            checks: std::ptr::null(),
            n_checks: 0,
        };
        let changed = "void k1()\n{ more; }\nvoid k0(ctx *c,\n  i64 n) { }";
        assert_eq!(missing(&desc, changed), None);
        for other in ["", "void k0(ctx *c, i32 n) { } void k1() { }"] {
            let head = missing(&desc, other);
            assert_eq!(head.as_deref(), Some("void k0(ctx *c, i64 n)"), "{other}");
        }
        let head = missing(&desc, "void k0(ctx *c, i64 n) { } void k1(i64 n) { }");
        assert_eq!(head.as_deref(), Some("void k1()"));
    }
}
