//! Test blocks in a program's comments.
//!
//! ```text
//! -- Prose.
//! -- ==
//! -- tags { slow }
//! -- entry: main
//! -- input { [1, 2, 3] 4 } output { 10 }
//! -- "a name" compiled nobench input @ data/big.in
//! -- error: out of bounds
//! ```
//!
//! A block is a comment whose lines begin in the first column. The text before its line `-- ==` is
//! prose. The block either gives a pattern (`error:`) for the message with which the compiler must
//! reject the program, or cases: inputs with expected outcomes. [`parse_blocks`] collects all
//! blocks of a program in a [`Spec`]. Inputs and outcomes that have to be computed (random inputs,
//! scripts, `auto output`, properties) are represented, but nothing is run here.

use crate::error::SpecError;
use std::path::PathBuf;
use std::sync::Arc;

/// The contents of a program's test blocks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spec {
    /// Tags of the program, such as `disable`.
    pub tags: Vec<String>,
    /// The pattern for the compile-time error, if the program must be rejected.
    pub compile_error: Option<Pattern>,
    /// Patterns for warnings that the compiler must give.
    pub warnings: Vec<Pattern>,
    /// Inputs with expected outcomes, in source order.
    pub cases: Vec<Case>,
    /// Entry points that are properties for random testing.
    pub properties: Vec<String>,
    /// Expected operation counts of the optimised program.
    pub structures: Vec<Structure>,
}

/// Expected operation counts after an optimisation pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Structure {
    /// The line, from 1.
    pub line: usize,
    /// The pipeline; `None` for the default one.
    pub pipeline: Option<String>,
    /// Operations, optionally with a path (`/Screma/Screma`), and their counts.
    pub counts: Vec<(String, u64)>,
}

impl Spec {
    /// Returns true if the program has this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|t| t == tag)
    }
}

/// A regular expression and its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The line, from 1.
    pub line: usize,
    /// The expression as written.
    pub regex: String,
}

impl Pattern {
    /// Returns true if the expression matches some part of `message`.
    ///
    /// # Errors
    /// The expression is invalid.
    pub fn matches(&self, message: &str) -> Result<bool, SpecError> {
        match regex_lite::RegexBuilder::new(&self.regex).dot_matches_new_line(true).build() {
            Ok(regex) => Ok(regex.is_match(message)),
            Err(e) => Err(SpecError::new(self.line, format!("the pattern `{}`: {e}", self.regex))),
        }
    }
}

/// An input and its expected outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The line of the input, from 1.
    pub line: usize,
    /// The entry points to call with the input.
    pub entries: Arc<[String]>,
    /// The data set's name, if it has one.
    pub name: Option<String>,
    /// The words before `input`: `compiled`, `nobench`, `no_cuda`, ...
    pub tags: Vec<String>,
    /// The arguments.
    pub input: Data,
    /// The expected outcome.
    pub expected: Expected,
}

/// Values of a test block.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Values in the text format, and the line on which they begin.
    Text(String, usize),
    /// The path of a file, relative to the program's directory.
    File(PathBuf),
    /// Random values of these types.
    Random(String),
    /// A FutharkScript expression.
    Script(String),
    /// The path of a file with a FutharkScript expression.
    ScriptFile(PathBuf),
}

/// An expected outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum Expected {
    /// Success with any results.
    Success,
    /// Success with these results.
    Values(Data),
    /// The results that the reference compiler's executable would give.
    Auto,
    /// A failure whose message matches the regular expression.
    Error(Pattern),
}

/// Parses the test blocks of a program; the [`Spec`] is empty if there are none.
///
/// # Errors
/// The first malformed block.
pub fn parse_blocks(source: &str) -> Result<Spec, SpecError> {
    let mut spec = Spec::default();
    let mut lines = source.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if line.strip_prefix("--").map(str::trim) != Some("==") {
            continue;
        }
        let mut text = String::new();
        while let Some(body) = lines.peek().and_then(|(_, line)| line.strip_prefix("--"))
            && body.trim() != "=="
        {
            text.push_str(body);
            text.push('\n');
            lines.next();
        }
        Parser { text: &text, first_line: number + 2, at: 0 }.block(&mut spec)?;
    }
    Ok(spec)
}

/// A cursor in the text of one block, without the `--`.
struct Parser<'a> {
    text: &'a str,
    first_line: usize,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        self.first_line + self.text[..self.at].matches('\n').count()
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, SpecError> {
        Err(SpecError::new(self.line(), message))
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Consumes `prefix` if it comes next.
    fn take(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Consumes the rest of the line.
    fn take_line(&mut self) -> &'a str {
        let line = self.rest().split('\n').next().unwrap_or_default();
        self.at += line.len();
        line.trim()
    }

    /// Consumes a word, which may be empty, and the blanks behind it.
    fn take_word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        self.skip_blanks();
        word
    }

    fn pattern(&mut self) -> Pattern {
        Pattern { line: self.line(), regex: self.take_line().to_owned() }
    }

    fn block(mut self, spec: &mut Spec) -> Result<(), SpecError> {
        let mut entries: Arc<[String]> = Arc::new(["main".to_owned()]);
        // The index of this block's first case.
        let first = spec.cases.len();
        loop {
            self.skip_blanks();
            if self.rest().is_empty() {
                return Ok(());
            }
            if self.take("entry:") {
                entries = self.take_line().split_whitespace().map(str::to_owned).collect();
            } else if self.take("property:") {
                spec.properties.extend(self.take_line().split_whitespace().map(str::to_owned));
            } else if self.take("error:") {
                let pattern = self.pattern();
                if spec.cases.len() == first {
                    spec.compile_error = Some(pattern);
                } else {
                    self.expect(spec, first, Expected::Error(pattern))?;
                }
            } else if self.take("warning:") {
                let pattern = self.pattern();
                spec.warnings.push(pattern);
            } else if self.rest().starts_with('"') {
                let name = self.name()?;
                self.skip_blanks();
                let line = self.line();
                let word = self.take_word();
                self.case(spec, &entries, line, word, Some(name))?;
            } else {
                let line = self.line();
                match self.take_word() {
                    "tags" => {
                        let tags = self.braces()?;
                        spec.tags.extend(tags.split_whitespace().map(str::to_owned));
                    }
                    "structure" => {
                        let structure = self.structure()?;
                        spec.structures.push(structure);
                    }
                    "auto" => {
                        if self.take_word() != "output" {
                            return self.error("expected `output` after `auto`");
                        }
                        self.expect(spec, first, Expected::Auto)?;
                    }
                    "output" => {
                        let data = self.data(false)?;
                        self.expect(spec, first, Expected::Values(data))?;
                    }
                    word => self.case(spec, &entries, line, word, None)?,
                }
            }
        }
    }

    /// Parses `[pipeline] { operation count ... }`; `structure` is already consumed.
    fn structure(&mut self) -> Result<Structure, SpecError> {
        let line = self.line();
        let word = self.take_word();
        let pipeline = (!word.is_empty()).then(|| word.to_owned());
        let text = self.braces()?;
        let mut words = text.split_whitespace();
        let mut counts: Vec<(String, u64)> = Vec::new();
        while let Some(name) = words.next() {
            let count = words.next().and_then(|count| count.parse().ok());
            let Some(count) = count else {
                let message = format!("expected a count after the operation `{name}`");
                return Err(SpecError::new(line, message));
            };
            // The last count of an operation applies.
            counts.retain(|(before, _)| before != name);
            counts.push((name.to_owned(), count));
        }
        Ok(Structure { line, pipeline, counts })
    }

    /// Sets the expected outcome of this block's last case.
    fn expect(&self, spec: &mut Spec, first: usize, what: Expected) -> Result<(), SpecError> {
        let case = spec.cases.get_mut(first..).and_then(<[Case]>::last_mut);
        match case {
            Some(case) if case.expected == Expected::Success => {
                case.expected = what;
                Ok(())
            }
            _ => self.error("expected outcome without an input, or a second one for an input"),
        }
    }

    /// Parses `tag... [random|script] input data`; the first word is already consumed.
    fn case(
        &mut self,
        spec: &mut Spec,
        entries: &Arc<[String]>,
        line: usize,
        mut word: &'a str,
        name: Option<String>,
    ) -> Result<(), SpecError> {
        let mut tags: Vec<String> = Vec::new();
        while word != "input" {
            if word.is_empty() {
                let found = self.take_line();
                let found = if found.is_empty() { "the end of the line" } else { found };
                return Err(SpecError::new(
                    line,
                    format!("expected `input`, `output`, `error:` or another directive, found `{found}`"),
                ));
            }
            if self.line() != line && !self.rest().starts_with("input") {
                return Err(SpecError::new(line, format!("`{word}` is not a directive of a test block")));
            }
            tags.push(word.to_owned());
            word = self.take_word();
        }
        let kind = tags.iter().position(|tag| tag == "random" || tag == "script");
        let kind = kind.map(|at| tags.remove(at));
        let input = match kind.as_deref() {
            Some("random") => Data::Random(self.braces()?),
            kind => self.data(kind.is_some())?,
        };
        spec.cases.push(Case {
            line,
            entries: entries.clone(),
            name,
            tags,
            input,
            expected: Expected::Success,
        });
        Ok(())
    }

    fn name(&mut self) -> Result<String, SpecError> {
        self.take("\"");
        match self.rest().split_once('"') {
            Some((name, _)) => {
                self.at += name.len() + 1;
                Ok(name.to_owned())
            }
            None => self.error("missing closing quote of the data set's name"),
        }
    }

    fn data(&mut self, script: bool) -> Result<Data, SpecError> {
        self.skip_blanks();
        if self.take("@") {
            self.skip_blanks();
            let path = self.rest().split_whitespace().next().unwrap_or_default();
            self.at += path.len();
            let path = PathBuf::from(path);
            return Ok(if script { Data::ScriptFile(path) } else { Data::File(path) });
        }
        let line = self.line();
        let text = self.braces()?;
        Ok(if script { Data::Script(text) } else { Data::Text(text, line) })
    }

    /// Consumes text in braces, which may span lines. Braces in strings do not count.
    fn braces(&mut self) -> Result<String, SpecError> {
        self.skip_blanks();
        let open = self.line();
        if !self.take("{") {
            return self.error("expected `{`");
        }
        let (mut depth, mut in_string, mut string_end) = (1, false, 0);
        for (i, c) in self.rest().char_indices() {
            match c {
                _ if i < string_end => {}
                '"' => match value::read_string(&self.rest()[i + 1..]) {
                    Ok((_, length)) if !in_string => string_end = i + 1 + length,
                    // A malformed string is reported by the reader of the data.
                    _ => in_string = !in_string,
                },
                '{' if !in_string => depth += 1,
                '}' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inside = self.rest()[..i].to_owned();
                self.at += i + 1;
                return Ok(inside);
            }
        }
        Err(SpecError::new(open, "missing closing `}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Data, Expected, Spec, parse_blocks};

    fn parse(text: &str) -> Spec {
        parse_blocks(text).expect("the test blocks are well formed")
    }

    #[test]
    fn all_forms_of_cases_are_parsed() {
        let spec = parse(
            "\
-- Prose, with input { 1 } in it.
-- ==
-- tags { slow other }
-- entry: f g
-- input { [1,
--   2] \"a}\\\"{\\^\\\" } output { 3 }
-- \"big one\" compiled no_cuda input @ x/y.in
-- error: out of [a-z]*
-- random compiled input { [10]i32 } auto output
-- script input { f 10 }
-- structure gpu { A 1 /B/C 2 }
-- entry: h
-- nobench input {} output @ z.out
entry f = 1
 -- ==
 -- indented: no block
-- ==
-- property: p
-- warning: unused
",
        );
        assert_eq!(spec.tags, ["slow", "other"]);
        assert_eq!(spec.properties, ["p"]);
        assert_eq!(spec.warnings[0].line, 19);
        assert_eq!(spec.compile_error, None);
        let [structure] = spec.structures.as_slice() else { panic!("expected one structure: {spec:#?}") };
        assert_eq!(structure.pipeline.as_deref(), Some("gpu"));
        assert_eq!(structure.counts, [("A".into(), 1), ("/B/C".into(), 2)]);
        let [one, big, random, script, last] = spec.cases.as_slice() else {
            panic!("expected five cases: {spec:#?}")
        };
        assert_eq!((one.line, &*one.entries), (5, &["f".to_owned(), "g".to_owned()][..]));
        let (Data::Text(input, 5), Expected::Values(Data::Text(output, 6))) = (&one.input, &one.expected)
        else {
            panic!("expected text input and output: {one:?}")
        };
        assert_eq!(input.split_whitespace().collect::<Vec<_>>(), ["[1,", "2]", r#""a}\"{\^\""#]);
        assert_eq!(output, " 3 ");
        assert_eq!(big.name.as_deref(), Some("big one"));
        assert_eq!(big.tags, ["compiled", "no_cuda"]);
        assert_eq!(big.input, Data::File("x/y.in".into()));
        assert!(matches!(&big.expected, Expected::Error(p) if p.regex == "out of [a-z]*"));
        assert_eq!((&random.input, &random.expected), (&Data::Random(" [10]i32 ".into()), &Expected::Auto));
        assert_eq!((&script.input, &script.expected), (&Data::Script(" f 10 ".into()), &Expected::Success));
        assert_eq!(&*last.entries, ["h"]);
        assert_eq!(last.expected, Expected::Values(Data::File("z.out".into())));
    }

    #[test]
    fn error_before_any_input_is_the_compile_error() {
        let spec = parse("-- ==\n-- error: Cannot\n--   unify\n".replace("--   unify\n", "").as_str());
        assert!(
            spec.compile_error.as_ref().is_some_and(|p| p.matches("I Cannot").expect("the pattern is valid"))
        );
        assert!(spec.cases.is_empty());
        assert_eq!(parse("def main = 1\n"), Spec::default());
    }

    #[test]
    fn errors_report_their_line() {
        let line = |text: &str| parse_blocks(text).expect_err("the block is malformed").line;
        assert_eq!(line("\n-- ==\n-- input { 1\n-- output 2\n"), 3);
        assert_eq!(line("-- ==\n-- output { 1 }\n"), 2);
        assert_eq!(line("-- ==\n-- input { 1 }\n-- outptu { 1 }\n"), 3);
        assert_eq!(line("-- ==\n-- input { 1 }\n-- output { 1 }\n-- output { 2 }\n"), 4);
        assert_eq!(line("-- ==\n-- input { 1 }\n-- ?\n"), 3);
    }
}
