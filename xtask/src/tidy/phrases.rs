//! Phrases that comments, messages and documents must not contain (`phrases.txt`).
//!
//! A file is a sequence of words, in which punctuation and blank lines are gaps that no phrase
//! spans; line breaks, leaders of comments and quotes are not. Code in backticks is a gap. Of
//! programs (Futhark, IR) only the comments are read, of other files everything: an identifier
//! that is a listed word is reported too.

use super::Problem;
use super::tree::{File, Tree};
use std::collections::BTreeMap;
use std::ops::Range;

/// The list. Its header describes the format.
const LIST: &str = include_str!("phrases.txt");

/// The extensions of the files to which the list applies.
const EXTENSIONS: [&str; 11] = ["rs", "md", "py", "c", "h", "cu", "cuh", "toml", "fut", "ir", "imp"];

/// Prefixes of paths of other files that are not checked: generated data, history, and this check.
const EXCEPTIONS: [&str; 4] =
    ["CHANGELOG.md", "docs/figures/", "docs/measurements", "xtask/src/tidy/phrases"];

/// The maximum number of words for which `...` stands.
const MOST_SKIPPED: usize = 4;

/// A line of the list.
struct Phrase<'a> {
    words: Vec<&'a str>,
    /// Words that may follow.
    before: Vec<&'a str>,
    instead: &'a str,
}

impl<'a> Phrase<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (phrase, instead) = line.split_once(" -> ")?;
        let (before, words) = phrase.split_whitespace().partition::<Vec<_>, _>(|word| word.starts_with('-'));
        let before = before.into_iter().map(|word| &word[1..]).collect();
        Some(Self { words, before, instead })
    }

    /// Returns true if `found` starts with the phrase.
    fn is_at(&self, found: &[Word], text: &str) -> bool {
        let is = |at: usize, wanted: &str| found.get(at).is_some_and(|word| word.is(text, wanted));
        let joined =
            |range: Range<usize>| found.get(range).is_some_and(|words| words.iter().all(|w| w.joined));
        let mut at = 0;
        let mut wanted = self.words.iter();
        while let Some(word) = wanted.next() {
            if *word == "..." {
                let Some(next) = wanted.next() else { return false };
                let Some(end) = (at..=at + MOST_SKIPPED).find(|end| is(*end, next)) else { return false };
                if !joined(at..end + 1) {
                    return false;
                }
                at = end + 1;
            } else if is(at, word) && (at == 0 || joined(at..at + 1)) {
                at += 1;
            } else {
                return false;
            }
        }
        !(joined(at..at + 1) && self.before.iter().any(|word| is(at, word)))
    }
}

/// A word of a file.
struct Word {
    range: Range<usize>,
    line: usize,
    /// True if there is no gap between this word and the one before it.
    joined: bool,
}

impl Word {
    fn is(&self, text: &str, lower_case: &str) -> bool {
        text[self.range.clone()].eq_ignore_ascii_case(lower_case)
    }
}

/// No file contains a listed phrase.
pub fn phrases(tree: &Tree) -> Vec<Problem> {
    let phrases: Vec<Phrase> = LIST.lines().filter_map(Phrase::parse).collect();
    let mut by_first: BTreeMap<&str, Vec<&Phrase>> = BTreeMap::new();
    // Most words are excluded by their initial and length, without a look-up.
    let mut starts = [[false; 32]; 256];
    for phrase in &phrases {
        let first = phrase.words[0];
        by_first.entry(first).or_default().push(phrase);
        starts[first.as_bytes()[0] as usize][first.len()] = true;
    }
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| is_checked(file)) {
        let words = words(file);
        for (at, word) in words.iter().enumerate() {
            let text = &file.text.as_bytes()[word.range.clone()];
            if text.len() >= 32 || !starts[text[0].to_ascii_lowercase() as usize][text.len()] {
                continue;
            }
            let first = file.text[word.range.clone()].to_ascii_lowercase();
            for phrase in by_first.get(first.as_str()).into_iter().flatten() {
                if phrase.is_at(&words[at..], &file.text) {
                    let (path, line, instead) = (&file.path, word.line, phrase.instead);
                    let phrase = phrase.words.join(" ");
                    problems.push(format!("{path}:{line}: the phrase \"{phrase}\"; write: {instead}"));
                }
            }
        }
    }
    problems
}

fn is_checked(file: &File) -> bool {
    let listed = EXTENSIONS.iter().any(|ext| file.is(ext)) || matches!(&*file.path, "Makefile" | ".ci/run");
    listed && !EXCEPTIONS.iter().any(|prefix| file.path.starts_with(prefix))
}

/// The words of a file: letters, digits and `_`, with hyphens and apostrophes inside.
fn words(file: &File) -> Vec<Word> {
    // Where comments start, if only these are read; else the characters that may lead a line.
    let (comment, leaders): (&str, &[u8]) = match file.path.rsplit('.').next() {
        Some("fut") => ("--", b" \t-|"),
        Some("ir" | "imp") => ("//", b" \t/"),
        Some("md") => ("", b" \t>"),
        _ => ("", b" \t/!#*"),
    };
    let text = file.text.as_bytes();
    let mut words = Vec::new();
    let mut joined = false;
    let mut start = 0;
    for (number, line) in (1..).zip(file.text.split('\n')) {
        let end = start + line.len();
        let Some(skipped) = line.find(comment) else {
            joined = false;
            start = end + 1;
            continue;
        };
        let mut at = start + skipped;
        while at < end && leaders.contains(&text[at]) {
            at += 1;
        }
        joined &= at < end;
        while at < end {
            match text[at] {
                byte if is_letter(byte) => {
                    let first = at;
                    while at < end && is_inside(text, at, end) {
                        at += 1;
                    }
                    words.push(Word { range: first..at, line: number, joined });
                    joined = true;
                    continue;
                }
                b' ' | b'\t' | b'\r' | b'"' => {}
                // A continued string; or an escape, which is not the start of a word.
                b'\\' if at + 1 == end => {}
                b'\\' => {
                    joined = false;
                    at += usize::from(text[at + 1].is_ascii());
                }
                b'`' => {
                    joined = false;
                    at += text[at + 1..end]
                        .iter()
                        .position(|byte| *byte == b'`')
                        .map_or(0, |length| length + 1);
                }
                _ => joined = false,
            }
            at += 1;
        }
        start = end + 1;
    }
    words
}

/// Returns true for letters, digits, `_` and all bytes of characters outside of ASCII.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Returns true if the byte after a letter belongs to the same word.
fn is_inside(text: &[u8], at: usize, end: usize) -> bool {
    is_letter(text[at]) || (matches!(text[at], b'-' | b'\'') && at + 1 < end && is_letter(text[at + 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of one file.
    fn found(path: &str, text: &str) -> Vec<Problem> {
        phrases(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn phrases_are_found_by_words() {
        let problem = |line: usize| {
            vec![format!(
                "a.rs:{line}: the phrase \"those that\"; write: the noun that is meant, or \"all that\""
            )]
        };
        assert_eq!(found("a.rs", "//! A.\n// All those that fail.\n"), problem(2));
        assert_eq!(found("a.rs", "//! A; Those\n//!   that fail.\nfn f() {}\n"), problem(1));
        assert_eq!(found("a.rs", "const A: &str = \"of those \\\n    that\";\n"), problem(1));
        assert_eq!(found("a.rs", "let _ = \"\\nthose that\";\n"), problem(1));
        // Other words, and gaps between words.
        for text in [
            "// those thatch",
            "// thyself-those that",
            "// those_that",
            "// those, that",
            "// those.\n//\n// That",
            "// those `x` that",
            "// `those that`",
            "// those\n\n// that",
            "// those\\nthat",
        ] {
            assert_eq!(found("a.rs", text), Vec::<Problem>::new(), "{text}");
        }
    }

    #[test]
    fn some_words_may_be_between_or_after() {
        assert_eq!(found("a.md", "A test holds the new results against the old.\n").len(), 1);
        assert_eq!(found("a.md", "A test holds. It is against the old.\n").len(), 0);
        assert_eq!(found("a.md", "It holds for one two three four five against.\n").len(), 0);
        assert_eq!(found("a.md", "A name that is no array.\n").len(), 1);
        assert_eq!(found("a.md", "A name that is no longer used.\n").len(), 0);
    }

    #[test]
    fn only_comments_of_programs_are_read() {
        assert_eq!(found("a.fut", "def f (those: i64) (that: i64) = those that -- those that\n").len(), 1);
        assert_eq!(found("a.ir", "// All those\n// that fail.\nfun those that\n").len(), 1);
        assert_eq!(found("a.json", "those that").len(), 0);
    }

    #[test]
    fn the_list_is_well_formed() {
        let mut all = Vec::new();
        for line in LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let phrase = Phrase::parse(line).unwrap_or_else(|| panic!("no replacement: {line}"));
            assert_eq!(
                line.split(" -> ").next().map(str::to_lowercase).as_deref(),
                line.split(" -> ").next()
            );
            assert!(!phrase.words.is_empty() && phrase.words[0].len() < 32, "{line}");
            assert!(!phrase.instead.is_empty(), "{line}");
            assert!(!all.contains(&phrase.words), "twice: {line}");
            all.push(phrase.words);
        }
    }
}
