//! The heads of a program's kernels, name and parameters. Launches hand over captures one
//! after another, and drivers believe them: kernels that come from a file must have the heads
//! of those in whose place they are, and compiled ones as many parameters.

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

/// A kernel of the program's that has another number of parameters in a text of PTX, by its
/// head. One that is not there the driver does not find.
pub fn differing(desc: &DeviceDesc, ptx: &str) -> Option<String> {
    heads(desc).into_iter().find(|head| {
        let parameters = head.matches(',').count() + 1;
        let name = head
            .strip_prefix("void ")
            .and_then(|it| it.split('(').next());
        let entry = format!(".entry {}(", name.unwrap_or_default());
        let list = ptx.split(&*entry).nth(1);
        let list = list.map(|rest| rest.split(')').next().unwrap_or_default());
        list.is_some_and(|list| list.matches(".param").count() != parameters)
    })
}

#[cfg(test)]
mod tests {
    use super::{differing, missing};
    use crate::abi::{DeviceDesc, KernelDesc, Str, TARGET_OPENCL};

    fn described<R>(f: impl FnOnce(&DeviceDesc) -> R) -> R {
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
        f(&DeviceDesc {
            target: TARGET_OPENCL,
            source: Str::new("KERNEL\nvoid k0(ctx *c, i64 n) {\n}\nKERNEL\nvoid k1(ctx *c) {\n}\n"),
            needs: Str::new(""),
            kernels: kernels.as_ptr(),
            n_kernels: 2,
            checks: std::ptr::null(),
            n_checks: 0,
        })
    }

    #[test]
    fn kernels_keep_names_and_parameters() {
        described(|desc| {
            let changed = "void k1(ctx *c)\n{ more; }\nvoid k0(ctx *c,\n  i64 n) { }";
            assert_eq!(missing(desc, changed), None);
            for other in ["", "void k0(ctx *c, i32 n) { } void k1(ctx *c) { }"] {
                let head = missing(desc, other);
                assert_eq!(head.as_deref(), Some("void k0(ctx *c, i64 n)"), "{other}");
            }
            let head = missing(desc, "void k0(ctx *c, i64 n) { } void k1() { }");
            assert_eq!(head.as_deref(), Some("void k1(ctx *c)"));
        });
    }

    #[test]
    fn compiled_kernels_keep_the_number_of_parameters() {
        let two = "\t.param .u64 k0_param_0,\n\t.param .u64 k0_param_1\n";
        described(|desc| {
            let ptx = format!(".visible .entry k0(\n{two})\n{{\n ld.param.u64 %rd1, [x];\n}}\n");
            assert_eq!(differing(desc, &ptx), None);
            let head = differing(desc, &ptx.replacen(".param", "", 1));
            assert_eq!(head.as_deref(), Some("void k0(ctx *c, i64 n)"));
            let head = differing(desc, &format!(".entry k1(\n{two})\n"));
            assert_eq!(head.as_deref(), Some("void k1(ctx *c)"));
        });
    }
}
