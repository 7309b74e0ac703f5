//! The signatures of a program's kernels: name and parameters. Launches pass captures by position,
//! and drivers do not check them: kernels that are loaded from a file must have the signatures of
//! the kernels that they replace, and compiled ones as many parameters.

use crate::abi::DeviceDesc;
use std::collections::{BTreeMap, BTreeSet};

/// The text without comments, its words separated by single spaces.
fn normalise(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let (before, tail) = rest.split_at(at);
        code.push_str(before);
        rest = if let Some(length) = comment_length(tail) {
            code.push(' ');
            &tail[length..]
        } else {
            let (token, after) = tail.split_at(literal_length(tail));
            code.push_str(token);
            after
        };
    }
    code.push_str(rest);
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The length of the comment at the start of a text, if there is one.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        Some(text.find('\n').unwrap_or(text.len()))
    } else {
        let comment = text.strip_prefix("/*")?;
        Some(comment.find("*/").map_or(text.len(), |end| end + 4))
    }
}

/// The length of the string or character literal at the start of a text; 1 if there is none.
fn literal_length(text: &str) -> usize {
    let Some(quote @ ('"' | '\'')) = text.chars().next() else {
        return 1;
    };
    let mut is_escaped = false;
    let end = text[1..].find(|c: char| {
        let is_end = !is_escaped && (c == quote || c == '\n');
        is_escaped = !is_escaped && c == '\\';
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

/// `NAME(PARAMETERS)` of the `void` functions in a [normalised](normalise) text.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    let tails = text.split("void ").skip(1);
    tails.filter_map(|tail| Some(tail.split('{').next()?.trim_end()))
}

/// A name, and the contents of the parentheses after it.
fn split_signature(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('(')?;
    Some((name, rest.split(')').next()?))
}

/// `NAME(PARAMETERS)` of a program's kernels, from its source.
pub fn signatures(desc: &DeviceDesc) -> Vec<String> {
    let names: BTreeSet<&str> = desc.kernels().iter().map(|it| it.name.get()).collect();
    let text = normalise(desc.source.get());
    let is_kernel = |function: &&str| split_signature(function).is_some_and(|(name, _)| names.contains(name));
    functions(&text).filter(is_kernel).map(str::to_owned).collect()
}

/// The signature of a kernel of the program that a text does not contain, if any.
pub fn find_missing(desc: &DeviceDesc, text: &str) -> Option<String> {
    let text = normalise(text);
    let found: BTreeSet<&str> = functions(&text).collect();
    signatures(desc).into_iter().find(|signature| !found.contains(&**signature))
}

/// The signature of a kernel of the program that has another number of parameters in a PTX text, if
/// any. The driver reports kernels that are missing there.
pub fn find_mismatch(desc: &DeviceDesc, ptx: &str) -> Option<String> {
    let entries = ptx.split(".entry ").skip(1).filter_map(split_signature);
    let found: BTreeMap<&str, usize> =
        entries.map(|(name, list)| (name, list.matches(".param").count())).collect();
    signatures(desc).into_iter().find(|signature| {
        split_signature(signature).is_some_and(|(name, list)| {
            let expected = list.split(',').count();
            found.get(name).is_some_and(|count| *count != expected)
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
    fn source_must_have_the_same_signatures() {
        described(|desc| {
            let changed = "void k1(ctx *c)\n{ more; }\nvoid k0(ctx *c,\n  i64 n) { }";
            assert_eq!(find_missing(desc, changed), None);
            for other in ["", "void k0(ctx *c, i32 n) { } void k1(ctx *c) { }"] {
                let missing = find_missing(desc, other);
                assert_eq!(missing.as_deref(), Some("k0(ctx *c, i64 n)"), "{other}");
            }
            let missing = find_missing(desc, "void k0(ctx *c, i64 n) { } void k1() { }");
            assert_eq!(missing.as_deref(), Some("k1(ctx *c)"));
        });
    }

    #[test]
    fn comments_are_ignored() {
        described(|desc| {
            let commented = "/* void, and a \" */ void k0(ctx *c, // void k2(\n i64 n) { s = \"/*\"; }\n\
                             c = '\"'; // it's void k1() {\nvoid k1(ctx /* void */ *c) { }";
            assert_eq!(find_missing(desc, commented), None);
            let k0 = "void k0(ctx *c, i64 n) { }";
            for comment in ["// void k1(ctx *c) { }", "/* void k1(ctx *c) { } */", "/* void k1(ctx *c) { }"] {
                let missing = find_missing(desc, &format!("{k0} {comment}"));
                assert_eq!(missing.as_deref(), Some("k1(ctx *c)"), "{comment}");
            }
        });
    }

    #[test]
    fn ptx_must_have_the_same_number_of_parameters() {
        let two = "\t.param .u64 k0_param_0,\n\t.param .u64 k0_param_1\n";
        described(|desc| {
            let ptx = format!(".visible .entry k0(\n{two})\n{{\n ld.param.u64 %rd1, [x];\n}}\n");
            assert_eq!(find_mismatch(desc, &ptx), None);
            let mismatch = find_mismatch(desc, &ptx.replacen(".param", "", 1));
            assert_eq!(mismatch.as_deref(), Some("k0(ctx *c, i64 n)"));
            let mismatch = find_mismatch(desc, &format!(".entry k1(\n{two})\n"));
            assert_eq!(mismatch.as_deref(), Some("k1(ctx *c)"));
        });
    }
}
