//! A writer of lines with optional colours.

/// The text so far.
pub struct Terminal {
    out: String,
    colour: bool,
}

impl Terminal {
    /// Creates an empty text.
    pub fn new(colour: bool) -> Self {
        let out = String::new();
        Self { out, colour }
    }

    /// Returns `text` in the colour of an ANSI code, if colours are on.
    pub fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Returns the sign of a rating (`+`, `!` or `.`) in its colour.
    pub fn sign(&self, sign: char) -> String {
        match sign {
            '+' => self.paint("32", "+"),
            '!' => self.paint("33;1", "!"),
            _ => sign.to_string(),
        }
    }

    /// Adds a line without trailing blanks.
    pub fn put(&mut self, line: impl AsRef<str>) {
        self.out.extend([line.as_ref().trim_end(), "\n"]);
    }

    /// Adds a bold line.
    pub fn title(&mut self, text: &str) {
        self.put(self.paint("1", text));
    }

    /// Adds a source line with its number.
    pub fn source(&mut self, number: u32, text: &str) {
        let number = self.paint("94;1", &format!("{number:5} |"));
        self.put(format!("{number} {text}"));
    }

    /// Returns the text.
    pub fn finish(self) -> String {
        self.out
    }
}
