//! Random edits of a program's text, from likely typing errors to invalid bytes. All are drawn from
//! one generator, so a seed determines the mutant.

use super::tokens::{Kind, Token, lines, tokens};
use harness::random::Random;
use std::ops::Range;

/// The most edits per mutant.
const MOST_EDITS: u64 = 4;
/// The most copies of a repeated part.
const MOST_COPIES: u64 = 40;
/// The largest size of a mutant in bytes.
const LONGEST: usize = 256 << 10;

/// Numbers at and beyond the limits of types, and rare or malformed forms.
const EXTREMES: [&str; 28] = [
    "0",
    "1",
    "127i8",
    "128i8",
    "256u8",
    "32768i16",
    "2147483647",
    "2147483648",
    "4294967296u32",
    "9223372036854775807",
    "9223372036854775808",
    "9223372036854775807i64",
    "18446744073709551615u64",
    "18446744073709551616u64",
    "100000000000000000000000000000",
    "0x7fffffffffffffff",
    "0xffffffffffffffffff",
    "0b1",
    "0x1p-1080f64",
    "1e308",
    "1e400",
    "1e-400f32",
    "65520f16",
    "0.1f16",
    "1_000_000_000_000",
    "0x",
    "1.",
    "1e",
];

/// Invalid UTF-8 and rare characters.
const UNUSUAL_BYTES: [&[u8]; 8] = [
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\0",
    "\u{feff}".as_bytes(),
    "\u{202e}".as_bytes(),
    "λé😀".as_bytes(),
    b"\r",
];

/// Groups of interchangeable tokens; the program is likely to remain valid.
const TOKEN_GROUPS: [&[&str]; 7] = [
    &["+", "-", "*", "/", "%", "//", "%%", "**", "&", "|", "^", "<<", ">>", ">>>"],
    &["<", "<=", ">", ">=", "==", "!="],
    &["&&", "||"],
    &["...", "..<", "..>"],
    &["map", "scan", "reduce", "filter", "map2", "reduce_comm", "all", "any"],
    &["head", "last", "length", "reverse", "tail", "init", "copy", "iota"],
    &["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool"],
];

/// Numbers that fit every type.
const SMALL_NUMBERS: [&str; 6] = ["0", "1", "2", "3", "7", "100"];

const BRACKETS: [&[u8]; 6] = [b"(", b")", b"[", b"]", b"{", b"}"];

/// The material of mutants.
pub struct Corpus {
    /// The programs.
    pub programs: Vec<Vec<u8>>,
    /// The distinct tokens of all programs, sorted.
    pub pool: Vec<Vec<u8>>,
}

impl Corpus {
    /// Collects the material of programs.
    pub fn new(programs: Vec<Vec<u8>>) -> Self {
        let mut pool = Vec::new();
        for program in &programs {
            let found = tokens(program).into_iter();
            pool.extend(found.map(|token| program[token.at].to_vec()));
        }
        pool.sort_unstable();
        pool.dedup();
        Self { programs, pool }
    }

    /// Creates a mutant of the program with this index.
    pub fn mutant(&self, number: usize, random: &mut Random) -> Vec<u8> {
        let mut text = self.programs.get(number).cloned().unwrap_or_default();
        // Most mutants have one edit, so that many still check.
        let more = random.below(2) * random.below(MOST_EDITS);
        for _ in 0..=more {
            text = self.edit(text, random);
        }
        text.truncate(LONGEST);
        text
    }

    fn edit(&self, text: Vec<u8>, random: &mut Random) -> Vec<u8> {
        let found = tokens(&text);
        let token = |random: &mut Random| pick(&found, random).map_or(0..0, |t| t.at.clone());
        let of = |kind, random: &mut Random| {
            let some: Vec<&Token> = found.iter().filter(|t| t.kind == kind).collect();
            pick(&some, random).map_or(0..0, |t| t.at.clone())
        };
        let rows = lines(&text);
        let line = |random: &mut Random| pick(&rows, random).cloned().unwrap_or(0..0);
        match random.below(30) {
            0 => replaced(&text, token(random), b""),
            1 => copied(&text, token(random), 1),
            2 => swapped(&text, token(random), token(random)),
            3..=5 => {
                let other = pick(&self.pool, random).cloned().unwrap_or_default();
                replaced(&text, token(random), &other)
            }
            6 => {
                let other = pick(&self.pool, random).cloned().unwrap_or_default();
                let at = token(random).start;
                replaced(&text, at..at, &[b" ", &other[..], b" "].concat())
            }
            // A name is replaced by another of the same program; the result often checks.
            7..=9 => {
                let (here, there) = (of(Kind::Word, random), of(Kind::Word, random));
                let other = text[there].to_vec();
                replaced(&text, here, &other)
            }
            10 => {
                let (here, there) = (of(Kind::Sign, random), of(Kind::Sign, random));
                let other = text[there].to_vec();
                replaced(&text, here, &other)
            }
            11 | 12 => {
                let number = pick(&EXTREMES, random).copied().unwrap_or_default();
                replaced(&text, of(Kind::Number, random), number.as_bytes())
            }
            13 => replaced(&text, of(Kind::Bracket, random), b""),
            14 => {
                let bracket = pick(&BRACKETS, random).copied().unwrap_or_default();
                let at = token(random).start;
                replaced(&text, at..at, bracket)
            }
            15 => replaced(&text, line(random), b""),
            16 => copied(&text, line(random), 1),
            17 => swapped(&text, line(random), line(random)),
            18 => {
                let there = random.below(self.programs.len() as u64) as usize;
                let other = self.programs.get(there).map_or(&[][..], Vec::as_slice);
                spliced(&text, &found, other, random)
            }
            19 => {
                let strange = pick(&UNUSUAL_BYTES, random).copied().unwrap_or_default();
                let at = random.below(text.len() as u64 + 1) as usize;
                replaced(&text, at..at, strange)
            }
            20 => {
                let at = random.below(text.len() as u64 + 1) as usize;
                text[..at].to_vec()
            }
            21..=26 => {
                let alike = |t: &&Token| {
                    let mut groups = TOKEN_GROUPS.iter();
                    groups.find(|group| group.iter().any(|w| w.as_bytes() == &text[t.at.clone()]))
                };
                let some: Vec<&Token> = found.iter().filter(|t| alike(t).is_some()).collect();
                let Some(chosen) = pick(&some, random) else {
                    return text;
                };
                let group = alike(chosen).copied().unwrap_or_default();
                let other = pick(group, random).copied().unwrap_or_default();
                replaced(&text, chosen.at.clone(), other.as_bytes())
            }
            27 | 28 => {
                let number = pick(&SMALL_NUMBERS, random).copied().unwrap_or_default();
                replaced(&text, of(Kind::Number, random), number.as_bytes())
            }
            // A run of tokens is repeated several times.
            _ => {
                let (one, other) = (token(random), token(random));
                let run = one.start.min(other.start)..one.end.max(other.end);
                let run = run.start..run.end.min(run.start + 200);
                let times = random.below(MOST_COPIES) as usize + 1;
                copied(&text, run, times)
            }
        }
    }
}

fn pick<'a, T>(things: &'a [T], random: &mut Random) -> Option<&'a T> {
    things.get(random.below(things.len().max(1) as u64) as usize)
}

fn replaced(text: &[u8], at: Range<usize>, by: &[u8]) -> Vec<u8> {
    [&text[..at.start], by, &text[at.end..]].concat()
}

fn copied(text: &[u8], at: Range<usize>, times: usize) -> Vec<u8> {
    let mut copies = text[at.clone()].to_vec();
    copies.push(b' ');
    replaced(text, at.start..at.start, &copies.repeat(times))
}

/// Swaps two parts, unless they overlap.
fn swapped(text: &[u8], one: Range<usize>, other: Range<usize>) -> Vec<u8> {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    if first.end > second.start {
        return text.to_vec();
    }
    [
        &text[..first.start],
        &text[second.clone()],
        &text[first.end..second.start],
        &text[first],
        &text[second.end..],
    ]
    .concat()
}

/// Joins the beginning of one program and the end of another, cut between tokens.
fn spliced(text: &[u8], found: &[Token], other: &[u8], random: &mut Random) -> Vec<u8> {
    let end = pick(found, random).map_or(0, |token| token.at.end);
    let there = tokens(other);
    let start = pick(&there, random).map_or(other.len(), |token| token.at.start);
    [&text[..end], b"\n", &other[start..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material() -> Corpus {
        let programs = [
            "def step (x: i32) (y: i32) = if x % 2 == 0 then y / 3 else x * y + 1\n\
             entry main [n] (xs: [n]i32) (ys: [n]i32) : i32 =\n\
             \x20 loop acc = 10 for i < 7 do acc + reduce (+) 0 (map2 step xs ys)\n",
            "def f [n] (xs: [n]f64) (k: i64) =\n  let ys = map (\\x -> x * 2) xs -- twice\n\
             \x20 in (f64.sum ys, ys[k], filter (>= 0.5) (rotate 2 ys), iota (n + k))\n",
            "",
        ];
        Corpus::new(programs.map(|p| p.as_bytes().to_vec()).to_vec())
    }

    #[test]
    fn mutants_are_determined_by_the_seed() {
        let material = material();
        let make = |seed| material.mutant(seed as usize % 2, &mut Random::new(seed));
        let mut all: Vec<Vec<u8>> = (0..500).map(make).collect();
        assert_eq!(all, (0..500).map(make).collect::<Vec<_>>());
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 400, "{}", all.len());
    }

    #[test]
    fn a_program_without_tokens_can_be_mutated() {
        let empty = Corpus::new(vec![Vec::new()]);
        for seed in 0..500 {
            empty.mutant(0, &mut Random::new(seed));
            material().mutant(2, &mut Random::new(seed));
        }
    }

    #[test]
    fn parts_are_swapped_unless_they_overlap() {
        assert_eq!(swapped(b"a b c", 4..5, 0..1), b"c b a");
        assert_eq!(swapped(b"a b c", 0..3, 2..5), b"a b c");
        assert_eq!(copied(b"a b", 2..3, 2), b"a b b b");
    }
}
