//! The signatures of a program's kernels: name and parameters. Launches pass captures by position,
//! and drivers do not check them: kernels that are loaded from a file must have the signatures of
//! the kernels that they replace, and compiled ones as many parameters.

use crate::abi::DeviceDesc;
use std::collections::{BTreeMap, BTreeSet};

/// The text's words, separated by single spaces.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `NAME(PARAMETERS)` of the `void` functions in a text of [`spaced`] words.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    let behind = text.split("void ").skip(1);
    behind.filter_map(|function| Some(function.split('{').next()?.trim_end()))
}

/// A name, and the contents of the parentheses after it.
fn parts(head: &str) -> Option<(&str, &str)> {
    let (name, rest) = head.split_once('(')?;
    Some((name, rest.split(')').next()?))
}

/// `NAME(PARAMETERS)` of a program's kernels, from its source.
pub fn signatures(desc: &DeviceDesc) -> Vec<String> {
    let names: BTreeSet<&str> = desc.kernels().iter().map(|it| it.name.get()).collect();
    let text = spaced(desc.source.get());
    let is_kernel = |head: &&str| parts(head).is_some_and(|(name, _)| names.contains(name));
    functions(&text).filter(is_kernel).map(str::to_owned).collect()
}

/// The signature of a kernel of the program that a text does not contain, if any.
pub fn find_missing(desc: &DeviceDesc, text: &str) -> Option<String> {
    let text = spaced(text);
    let there: BTreeSet<&str> = functions(&text).collect();
    signatures(desc).into_iter().find(|head| !there.contains(&**head))
}

/// The signature of a kernel of the program that has another number of parameters in a PTX text, if
/// any. The driver reports kernels that are missing there.
pub fn find_mismatch(desc: &DeviceDesc, ptx: &str) -> Option<String> {
    let entries = ptx.split(".entry ").skip(1).filter_map(parts);
    let there: BTreeMap<&str, usize> =
        entries.map(|(name, list)| (name, list.matches(".param").count())).collect();
    signatures(desc).into_iter().find(|head| {
        parts(head).is_some_and(|(name, list)| {
            let own = list.split(',').count();
            there.get(name).is_some_and(|count| *count != own)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::KERNEL;
    use super::{find_mismatch, find_missing};
    use crate::abi::{DeviceDesc, KernelDesc, Str, TARGET_OPENCL};

    fn described<R>(f: impl FnOnce(&DeviceDesc) -> R) -> R {
        let named = |name| KernelDesc { name: Str::new(name), ..KERNEL };
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
            assert_eq!(find_missing(desc, changed), None);
            for other in ["", "void k0(ctx *c, i32 n) { } void k1(ctx *c) { }"] {
                let head = find_missing(desc, other);
                assert_eq!(head.as_deref(), Some("k0(ctx *c, i64 n)"), "{other}");
            }
            let head = find_missing(desc, "void k0(ctx *c, i64 n) { } void k1() { }");
            assert_eq!(head.as_deref(), Some("k1(ctx *c)"));
        });
    }

    #[test]
    fn compiled_kernels_keep_the_number_of_parameters() {
        let two = "\t.param .u64 k0_param_0,\n\t.param .u64 k0_param_1\n";
        described(|desc| {
            let ptx = format!(".visible .entry k0(\n{two})\n{{\n ld.param.u64 %rd1, [x];\n}}\n");
            assert_eq!(find_mismatch(desc, &ptx), None);
            let head = find_mismatch(desc, &ptx.replacen(".param", "", 1));
            assert_eq!(head.as_deref(), Some("k0(ctx *c, i64 n)"));
            let head = find_mismatch(desc, &format!(".entry k1(\n{two})\n"));
            assert_eq!(head.as_deref(), Some("k1(ctx *c)"));
        });
    }
}
