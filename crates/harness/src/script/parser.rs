//! The syntax of FutharkScript.

use prim::ScalarType;
use value::Reader;

/// An expression.
#[derive(Debug)]
pub(super) enum Exp {
    /// A value in the text format.
    Value(Vec<u8>),
    /// An integer or a float without a suffix; its type is that of the context.
    Number(Vec<u8>),
    /// A string.
    String(String),
    /// A variable or an entry point.
    Name(String),
    /// A built-in function, without the `$`.
    Builtin(String),
    /// A function applied to arguments.
    Apply(Box<Exp>, Vec<Exp>),
    /// Bindings, each of a name or of the names of a tuple's components, and the body.
    Let(Vec<(Vec<String>, Exp)>, Box<Exp>),
    /// A tuple; without components, the unit value.
    Tuple(Vec<Exp>),
    /// An array.
    Array(Vec<Exp>),
    /// A record.
    Record(Vec<(String, Exp)>),
    /// A field of a record or tuple.
    Field(Box<Exp>, String),
    /// An element or row of an array.
    Index(Box<Exp>, Vec<Exp>),
}

/// Parses an expression.
pub(super) fn parse(text: &str) -> Result<Exp, String> {
    let mut parser = Parser { text, at: 0 };
    let exp = parser.exp(0)?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(format!("unexpected `{}` after the expression", parser.shown()));
    }
    Ok(exp)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// The deepest nesting of expressions.
const MAX_DEPTH: usize = 200;

/// Reserved words.
const RESERVED: [&str; 2] = ["let", "in"];

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn shown(&self) -> String {
        match self.rest().split_whitespace().next() {
            Some(word) => word.chars().take(20).collect(),
            None => "end of script".to_owned(),
        }
    }

    fn blanks(&mut self) {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            if !self.rest().starts_with("--") {
                return;
            }
            let line = self.rest().split('\n').next().unwrap_or_default();
            self.at += line.len();
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(format!("expected `{token}`, found `{}`", self.shown())) }
    }

    /// Returns the next name without consuming it.
    fn peek_name(&mut self) -> &'a str {
        self.blanks();
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return "";
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_'".contains(c)));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek_name() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn name(&mut self) -> Result<String, String> {
        let name = self.peek_name();
        if name.is_empty() || RESERVED.contains(&name) {
            return Err(format!("expected a name, found `{}`", self.shown()));
        }
        self.at += name.len();
        Ok(name.to_owned())
    }

    fn exp(&mut self, depth: usize) -> Result<Exp, String> {
        if depth > MAX_DEPTH {
            return Err("the script is nested too deeply".to_owned());
        }
        if self.peek_name() == "let" {
            return self.bindings(depth);
        }
        let fun = self.atom(depth)?;
        let mut args = Vec::new();
        while self.begins_atom() {
            args.push(self.atom(depth)?);
        }
        Ok(if args.is_empty() { fun } else { Exp::Apply(Box::new(fun), args) })
    }

    /// Parses `let p = e in e`. Between bindings, `in` is optional.
    fn bindings(&mut self, depth: usize) -> Result<Exp, String> {
        let mut bindings = Vec::new();
        while self.take_word("let") {
            let names = if self.take("(") { self.separated(")", Self::name)? } else { vec![self.name()?] };
            self.expect("=")?;
            bindings.push((names, self.exp(depth + 1)?));
            if self.take_word("in") && self.peek_name() != "let" {
                let body = self.exp(depth + 1)?;
                return Ok(Exp::Let(bindings, Box::new(body)));
            }
        }
        Err(format!("expected `in`, found `{}`", self.shown()))
    }

    fn separated<T>(
        &mut self,
        close: &str,
        mut one: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        if self.take(close) {
            return Ok(all);
        }
        loop {
            all.push(one(self)?);
            if self.take(close) {
                return Ok(all);
            }
            self.expect(",")?;
        }
    }

    fn begins_atom(&mut self) -> bool {
        let name = self.peek_name();
        if !name.is_empty() {
            return !RESERVED.contains(&name);
        }
        self.rest().starts_with(|c: char| c.is_ascii_digit() || "([{\"$-".contains(c))
    }

    fn atom(&mut self, depth: usize) -> Result<Exp, String> {
        let mut exp = self.simple(depth)?;
        loop {
            // Fields and indices follow without a blank.
            let is_name = matches!(exp, Exp::Name(_) | Exp::Field(..) | Exp::Index(..));
            let is_value = matches!(exp, Exp::Value(_) | Exp::Number(_));
            let rest = self.rest();
            if let Some(after) = rest.strip_prefix('.')
                && !is_value
            {
                let end = after.find(|c: char| !(c.is_alphanumeric() || "_'".contains(c)));
                let field = &after[..end.unwrap_or(after.len())];
                if field.is_empty() {
                    return Err("expected a field after `.`".to_owned());
                }
                self.at += 1 + field.len();
                exp = Exp::Field(Box::new(exp), field.to_owned());
            } else if is_name && rest.starts_with('[') {
                self.at += 1;
                let indices = self.separated("]", |s| s.exp(depth + 1))?;
                exp = Exp::Index(Box::new(exp), indices);
            } else {
                return Ok(exp);
            }
        }
    }

    fn simple(&mut self, depth: usize) -> Result<Exp, String> {
        self.blanks();
        if self.take("(") {
            let mut parts = self.separated(")", |s| s.exp(depth + 1))?;
            return Ok(if parts.len() == 1 { parts.remove(0) } else { Exp::Tuple(parts) });
        }
        if self.take("[") {
            return Ok(Exp::Array(self.separated("]", |s| s.exp(depth + 1))?));
        }
        if self.take("{") {
            let mut fields: Vec<(String, Exp)> = Vec::new();
            self.separated("}", |s| {
                let name = s.name()?;
                if fields.iter().any(|(other, _)| *other == name) {
                    return Err(format!("duplicate field `{name}`"));
                }
                s.expect("=")?;
                fields.push((name, s.exp(depth + 1)?));
                Ok(())
            })?;
            return Ok(if fields.is_empty() { Exp::Tuple(Vec::new()) } else { Exp::Record(fields) });
        }
        if self.take("$") {
            return Ok(Exp::Builtin(self.name()?));
        }
        if self.take("\"") {
            let (text, length) = value::read_string(self.rest())?;
            self.at += length;
            return Ok(Exp::String(text));
        }
        let name = self.peek_name();
        let special = matches!(name, "empty" | "true" | "false")
            || name.starts_with("f16")
            || name.starts_with("f32")
            || name.starts_with("f64");
        let is_value = special && self.value_length() > 0;
        if !name.is_empty() && !is_value {
            self.at += name.len();
            return Ok(Exp::Name(name.to_owned()));
        }
        let length = self.value_length();
        if length == 0 {
            return Err(format!("expected an expression, found `{}`", self.shown()));
        }
        let text = &self.rest()[..length];
        self.at += length;
        let mut suffixes = ScalarType::ALL.iter();
        let suffix = suffixes.find(|ty| text.ends_with(ty.name()));
        let is_number = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        let text = text.as_bytes().to_vec();
        Ok(if is_number && suffix.is_none_or(|ty| ty.is_int() && ty.is_signed()) {
            Exp::Number(text)
        } else {
            Exp::Value(text)
        })
    }

    /// Returns the length of the text-format value that comes next, or 0.
    fn value_length(&self) -> usize {
        let rest = self.rest();
        let end = if rest.starts_with("empty") {
            rest.find(')').map_or(0, |at| at + 1)
        } else {
            rest.find(|c: char| !(c.is_alphanumeric() || "_.+-".contains(c))).unwrap_or(rest.len())
        };
        let text = &rest.as_bytes()[..end];
        let mut reader = Reader::from_slice(text);
        match reader.read_any() {
            Ok(Some(_)) if reader.at_end() == Ok(true) => end,
            _ => 0,
        }
    }
}
