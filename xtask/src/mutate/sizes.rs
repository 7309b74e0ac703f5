//! Edits concerning sizes: sizes are swapped, replaced or removed; coercions and declared result
//! types are removed; arguments, branches and bindings are swapped or replaced. The edits follow
//! the spans of the syntax tree, so most mutants parse.

use super::sites::{ByteRange, DeclSites, EditSite, groups};
use harness::random::Random;
use syntax::span::FileId;
use syntax::symbol::Interner;

/// Constant sizes.
const CONSTANTS: [&str; 4] = ["0", "1", "2", "3"];
/// The number of sites tried before giving up.
const TRIES: u32 = 40;

/// Returns a mutant with one edit or two; `None` if there is nothing to edit.
pub fn mutant(text: &str, random: &mut Random) -> Option<String> {
    let mut text = edited(text, random)?;
    if random.below(3) == 0 {
        text = edited(&text, random).unwrap_or(text);
    }
    Some(text)
}

fn edited(text: &str, random: &mut Random) -> Option<String> {
    let parsed = syntax::parse(text, FileId(0), &Interner::new());
    if !parsed.errors.is_empty() {
        return None;
    }
    let groups = groups(&parsed.prog);
    // Sites are drawn uniformly, so declarations with more sites are edited more often.
    let candidates: Vec<(usize, usize)> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, group)| (0..group.sites.len()).map(move |site| (at, site)))
        .collect();
    for _ in 0..TRIES {
        let (at, site) = *pick(&candidates, random)?;
        let group = groups.get(at)?;
        let made = edit(text, group, group.sites.get(site)?, random);
        if let Some(made) = made.filter(|made| made != text) {
            return Some(made);
        }
    }
    None
}

fn edit(text: &str, group: &DeclSites, site: &EditSite, random: &mut Random) -> Option<String> {
    match site {
        EditSite::Size(at) => {
            let size = match random.below(6) {
                0 => {
                    let other = random_other_site(group, random, |site| match site {
                        EditSite::Size(other) if other != at => Some(other.clone()),
                        _ => None,
                    })?;
                    return swapped(text, at, &other);
                }
                1 => (*pick(&CONSTANTS, random)?).to_owned(),
                2 => String::new(),
                3 => format!("{} + 1", inner(text, at)?),
                _ => text.get(pick(&group.sizes, random)?.clone())?.to_owned(),
            };
            Some(replaced(text, at, &format!("[{size}]")))
        }
        EditSite::Typed(whole, inner) => {
            let inner = text.get(inner.clone())?.to_owned();
            Some(replaced(text, whole, &inner))
        }
        EditSite::Param(at) => {
            let brackets = text.get(at.clone())?;
            if !brackets.starts_with('[') || !brackets.ends_with(']') {
                return None;
            }
            Some(replaced(text, at, ""))
        }
        EditSite::Result(at) => {
            // The colon is removed too.
            let before = text.get(..at.start)?.trim_end();
            let colon = before.strip_suffix(':')?.len();
            Some(replaced(text, &(colon..at.end), ""))
        }
        EditSite::Args(parts) | EditSite::Branches(parts) | EditSite::Bindings(parts) => {
            if random.below(4) > 0 {
                return swapped(text, pick(parts, random)?, pick(parts, random)?);
            }
            // One is replaced by another: a binding by a binding, others by any argument or branch.
            let at = pick(parts, random)?;
            let other = random_other_site(group, random, |site| match site {
                EditSite::Args(parts) | EditSite::Branches(parts) => parts.first().cloned(),
                _ => None,
            })?;
            let bindings = matches!(site, EditSite::Bindings(_));
            let other = if bindings { pick(parts, random)?.clone() } else { other };
            let other = text.get(other)?.to_owned();
            Some(replaced(text, at, &other))
        }
        EditSite::Name(at) => {
            let other = match random.below(2) {
                0 => pick(&group.sizes, random)?.clone(),
                _ => random_other_site(group, random, |site| match site {
                    EditSite::Name(other) => Some(other.clone()),
                    _ => None,
                })?,
            };
            let other = text.get(other)?.to_owned();
            Some(replaced(text, at, &other))
        }
    }
}

/// Returns a random range among the group's sites that `wanted` selects.
fn random_other_site(
    group: &DeclSites,
    random: &mut Random,
    wanted: impl Fn(&EditSite) -> Option<ByteRange>,
) -> Option<ByteRange> {
    let found: Vec<ByteRange> = group.sites.iter().filter_map(wanted).collect();
    pick(&found, random).cloned()
}

fn inner(text: &str, brackets: &ByteRange) -> Option<String> {
    let inner = text.get(brackets.start + 1..brackets.end.checked_sub(1)?)?;
    (!inner.is_empty()).then(|| inner.to_owned())
}

fn replaced(text: &str, at: &ByteRange, by: &str) -> String {
    format!("{}{by}{}", &text[..at.start], &text[at.end..])
}

/// Swaps two parts; `None` if they overlap.
fn swapped(text: &str, one: &ByteRange, other: &ByteRange) -> Option<String> {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    if first.end > second.start {
        return None;
    }
    let (a, b) = (text.get(first.clone())?, text.get(second.clone())?);
    let between = text.get(first.end..second.start)?;
    Some(format!("{}{b}{between}{a}{}", &text[..first.start], &text[second.end..]))
}

fn pick<'a, T>(things: &'a [T], random: &mut Random) -> Option<&'a T> {
    things.get(random.below(things.len().max(1) as u64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "\
module m : { type t [n] val mk : (n: i64) -> t [n] } = { type t [n] = [n]i64 def mk n = iota n }
def both [n] [m] (xs: [n]i64) (ys: [m]i64) : ([n]i64, [m]i64) = (xs, ys)
entry main [n] (b: bool) (xs: [n]i64) : []i64 =
  let [k] (ys: [k]i64) = filter (> 0) xs
  let zs = (both ys xs).0 :> [k]i64
  in if b then map2 (+) ys zs else loop ys = ys for i < 3 do ys ++ xs
";

    #[test]
    fn all_kinds_of_edits_occur_and_most_mutants_parse() {
        let made: Vec<String> = (0..300).filter_map(|seed| mutant(PROGRAM, &mut Random::new(seed))).collect();
        assert_eq!(made.len(), 300);
        let parses = |text: &&String| {
            let parsed = syntax::parse(text, FileId(0), &Interner::new());
            parsed.errors.is_empty()
        };
        assert!(made.iter().filter(parses).count() > 280);
        let mut different = made.clone();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > 100, "{}", different.len());
        // Each kind of edit occurs.
        let has = |part: &str| made.iter().any(|text| text.contains(part));
        assert!(has("(both ys xs).0\n"), "a coercion is dropped");
        assert!(has("let  (ys: [k]i64)"), "a bound size is dropped");
        assert!(has("(xs: [n]i64)  =\n"), "a declared result is dropped");
        assert!(has("both xs ys"), "arguments are swapped");
        assert!(has("([m]i64, [n]i64)"), "sizes are swapped");
    }

    #[test]
    fn a_program_without_sizes_has_no_mutants() {
        assert_eq!(mutant("type t = i32", &mut Random::new(1)), None);
        assert_eq!(mutant("def def", &mut Random::new(1)), None);
    }
}
