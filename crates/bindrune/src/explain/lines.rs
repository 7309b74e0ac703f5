//! Lines for a terminal.

use std::fmt::Write;

/// Lines so far, and whether they have colours.
pub struct Lines {
    out: String,
    colour: bool,
}

impl Lines {
    /// None yet.
    pub fn new(colour: bool) -> Self {
        let out = String::new();
        Self { out, colour }
    }

    /// Text in a colour, by its code.
    pub fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Adds a line, without blanks at its end.
    pub fn put(&mut self, line: impl AsRef<str>) {
        let written = writeln!(self.out, "{}", line.as_ref().trim_end());
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }

    /// Adds a title.
    pub fn title(&mut self, text: &str) {
        self.put(self.paint("1", text));
    }

    /// Adds a line of the source.
    pub fn source(&mut self, number: u32, text: &str) {
        let number = self.paint("94;1", &format!("{number:5} |"));
        self.put(format!("{number} {text}"));
    }

    /// All of them.
    pub fn finish(self) -> String {
        self.out
    }
}
