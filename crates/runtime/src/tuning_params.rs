//! Values of tuning parameters, from the command line and tuning files, and their assignment to a
//! program's parameters.
//!
//! A tuning file has lines `NAME=N`; blank lines and lines that begin with `--` are ignored. Of
//! several values for a name the last one counts. Names contain no `=` except in operators' names,
//! so the last `=` separates name and value.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The maximum size of a tuning file, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// The number of characters of a name that are compared with other names.
const MAX_COMPARED: usize = 200;

/// The parameter for the number of threads in a block, with the reference compiler's name. It has
/// effect at compile time only, as the kernels' text contains the number.
pub const THREAD_BLOCK_SIZE: &str = "default_tblock_size";

/// The reference compiler's parameter for all thresholds that are not set by name.
pub const ALL_THRESHOLDS: &str = "default_threshold";

/// Further parameters of the reference compiler for all kernels of a program. They have no effect.
const WITHOUT_EFFECT: [&str; 3] = ["default_grid_size", "default_tile_size", "default_reg_tile_size"];

/// Older names of some of these parameters.
const OLD_NAMES: [(&str, &str); 2] =
    [("default_group_size", THREAD_BLOCK_SIZE), ("default_num_groups", "default_grid_size")];

/// Former names of the program's own parameters: the component before the number.
const FORMER_RULES: [(&str, &str); 3] =
    [("grain", "grain_size"), ("scratchpad", "shared_memory"), ("lanes_share", "inner_lanes")];

/// The present name of a program's parameter that was renamed.
fn present_name(name: &str) -> Option<String> {
    let (function, parameter) = name.rsplit_once('.')?;
    let (rule, number) = parameter.rsplit_once('_')?;
    let (_, present) = FORMER_RULES.iter().find(|(former, _)| *former == rule)?;
    Some(format!("{function}.{present}_{number}"))
}

/// Returns true if a parameter applies to all kernels of any program.
#[must_use]
pub fn is_general(name: &str) -> bool {
    name == THREAD_BLOCK_SIZE || name == ALL_THRESHOLDS || WITHOUT_EFFECT.contains(&name)
}

/// The message for text that is not an assignment.
const SYNTAX_ERROR: &str = "must be of the form NAME=N, where N is a 64-bit integer";

/// A value for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The parameter's name.
    pub name: String,
    /// The value given to it.
    pub value: i64,
    /// The value's location, as the beginning of a message: `tuning file x, line 3: `.
    pub source: String,
    /// The parameter's former name, if the text has that.
    pub former_name: Option<String>,
}

impl Assignment {
    /// A value for the parameter of this name.
    pub fn new(name: String, value: i64) -> Self {
        Self { name, value, source: String::new(), former_name: None }
    }

    /// Parses an option's value.
    ///
    /// # Errors
    /// The reason why the text is not an assignment.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        Self::at(text, String::new()).ok_or(SYNTAX_ERROR)
    }

    fn at(text: &str, source: String) -> Option<Self> {
        let (name, value) = text.rsplit_once('=')?;
        let name = name.trim();
        let value = value.trim().parse().ok()?;
        if let Some(present) = present_name(name) {
            return Some(Self { name: present, value, source, former_name: Some(name.to_owned()) });
        }
        let older = OLD_NAMES.iter().find(|(older, _)| *older == name);
        let name = older.map_or(name, |(_, name)| name).to_owned();
        Some(Self { name, value, source, former_name: None })
    }

    /// The warning that the text has the parameter's former name.
    pub fn warning(&self) -> Option<String> {
        let Self { name, source, former_name, .. } = self;
        let former = former_name.as_ref()?;
        Some(format!("{source}the tuning parameter `{former}` is named `{name}` now"))
    }
}

/// Reads the assignments in a tuning file.
///
/// # Errors
/// A message for the user: the file cannot be read, is too large, or has a line that is not an
/// assignment.
pub fn read_file(file: &Path) -> Result<Vec<Assignment>, String> {
    let shown = file.display();
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > MAX_FILE => {
            return Err(format!("tuning file {shown} is larger than {} MiB", MAX_FILE >> 20));
        }
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::InvalidData => {
            return Err(format!("tuning file {shown} is not UTF-8 text"));
        }
        Err(e) => return Err(format!("cannot read tuning file {shown}: {e}")),
    }
    let mut assignments = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() || text.starts_with("--") {
            continue;
        }
        let source = format!("tuning file {shown}, line {line}: ");
        match Assignment::at(text, source.clone()) {
            Some(assignment) => assignments.push(assignment),
            None => return Err(source + SYNTAX_ERROR),
        }
    }
    Ok(assignments)
}

/// Returns the index in `known` of each assignment's parameter.
///
/// # Errors
/// A message for the user about the first unknown name.
pub fn resolve(known: &[&str], assignments: &[Assignment]) -> Result<Vec<usize>, String> {
    let position = |given: &Assignment| {
        let found = known.iter().position(|name| *name == given.name);
        found.ok_or_else(|| unknown(known, given))
    };
    assignments.iter().map(position).collect()
}

fn unknown(known: &[&str], Assignment { name, source, .. }: &Assignment) -> String {
    let advice = match nearest(known.iter().copied(), name) {
        _ if known.is_empty() => "the program has none".to_owned(),
        Some(other) => format!("did you mean `{other}`?"),
        None => "--print-params lists the parameters".to_owned(),
    };
    format!("{source}there is no tuning parameter `{name}`; {advice}")
}

/// The most similar known name, if it is similar enough to suggest a misspelling.
pub fn nearest<'k>(known: impl IntoIterator<Item = &'k str>, name: &str) -> Option<&'k str> {
    let known = known.into_iter();
    let (distance, other) = known.map(|other| (distance(name, other), other)).min()?;
    let near = 2 + name.chars().take(MAX_COMPARED).count() / 4;
    (distance <= near).then_some(other)
}

/// The edit distance of two texts, in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(MAX_COMPARED).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(MAX_COMPARED).enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = row[j] + usize::from(x != *y);
            next.push(change.min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

/// The message for a comparison of a size with a parameter; it begins as in the reference
/// compiler's programs.
pub fn comparison(name: &str, size: i64, least: i64) -> String {
    let holds = least <= size;
    format!("Compared {name} <= {size}: {holds}; the parameter is {least}.")
}

/// The message for iterations that are divided into chunks by a parameter.
pub fn division(name: &str, iterations: i64, least: i64) -> String {
    format!("Divided {iterations} iterations by {name}; the parameter is {least}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        file
    }

    #[test]
    fn tuning_files_have_assignments_blank_lines_and_comments() {
        let file = file(b"\n-- a comment\nmain.a_0=12\r\n  main.b_0 = -3  \n<=.c_1=0");
        let read = read_file(file.path()).expect("well-formed");
        let pairs: Vec<_> = read.iter().map(|a| (a.name.as_str(), a.value)).collect();
        assert_eq!(pairs, [("main.a_0", 12), ("main.b_0", -3), ("<=.c_1", 0)]);
        assert!(read[2].source.ends_with("line 5: "), "{}", read[2].source);
    }

    #[test]
    fn errors_in_tuning_files_are_reported() {
        for (bytes, part) in [
            (&b"a=1\nb"[..], "line 2: must be of the form NAME=N"),
            (b"a=x", "line 1: must be"),
            (b"a=9223372036854775808", "64-bit"),
            (b"\xff\xfe", "UTF-8"),
            (&vec![b'\n'; (MAX_FILE + 1) as usize], "larger than 16 MiB"),
        ] {
            let message = read_file(file(bytes).path()).expect_err("must be refused");
            assert!(message.contains(part), "{message}");
        }
        let message = read_file(Path::new("/does/not/exist")).expect_err("no such file");
        assert!(message.contains("/does/not/exist"), "{message}");
        let message = read_file(Path::new("/dev/zero")).expect_err("endless file");
        assert!(message.contains("larger than"), "{message}");
    }

    #[test]
    fn former_names_are_read_with_a_warning() {
        let read = Assignment::parse("f.g.grain_0=7").expect("an assignment");
        assert_eq!((read.name.as_str(), read.value), ("f.g.grain_size_0", 7));
        let warning = "the tuning parameter `f.g.grain_0` is named `f.g.grain_size_0` now";
        assert_eq!(read.warning().as_deref(), Some(warning));
        for (former, present) in [("scratchpad", "shared_memory"), ("lanes_share", "inner_lanes")] {
            let read = Assignment::parse(&format!("main.{former}_12=1")).expect("an assignment");
            assert_eq!(read.name, format!("main.{present}_12"));
        }
        for name in ["grain_0", "main.suff_outer_par_0", "main.grain_size_0", "default_group_size"] {
            let read = Assignment::parse(&format!("{name}=1")).expect("an assignment");
            assert_eq!(read.warning(), None, "{name}");
        }
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        let set = |name: &str| [Assignment::parse(&format!("{name}=1")).expect("an assignment")];
        let known = ["main.inner_lanes_0", "f.inner_lanes_0"];
        assert_eq!(resolve(&known, &set("f.inner_lanes_0")), Ok(vec![1]));
        let message = |known, name| resolve(known, &set(name)).expect_err("unknown name");
        assert_eq!(
            message(&known, "main.inner_lane_0"),
            "there is no tuning parameter `main.inner_lane_0`; did you mean `main.inner_lanes_0`?"
        );
        assert!(message(&known, "tile").ends_with("--print-params lists the parameters"));
        assert!(message(&[], "tile").ends_with("the program has none"));
        let long = "x".repeat(1 << 20);
        assert!(message(&known, &long).contains("--print-params"));
    }
}
