//! The basis of the parser: tokens, names, operands, sizes, types.

use super::lex::{Token, tokens};
use super::{ParseError, max_depth};
use crate::name::{FunId, FunName, Name};
use crate::syntax::Atom;
use crate::types::{Dim, Shape, Type};
use crate::walk::with_stack;
use half::f16;
use prim::{PrimType, Scalar, ScalarType};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use target::levels::LevelId;
use target::memories::MemoryId;

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// A parser at a position in the text, with what the language needs to know while parsing.
pub struct Parser<'a, C = ()> {
    /// The language's own state.
    pub context: C,
    text: &'a str,
    /// The offsets at which lines start. Errors are frequent, as alternatives are tried in turn.
    lines: Vec<usize>,
    tokens: Vec<(Token<'a>, usize)>,
    at: usize,
    depth: usize,
    max_depth: usize,
    /// Hints of the current function's names, by number.
    pub(super) hints: FxHashMap<u32, Arc<str>>,
    /// The numbers of the functions mentioned so far.
    mentioned: FxHashMap<FunName, FunId>,
    /// For each function mentioned, its name and the token of its first mention.
    mentions: Vec<(FunName, usize)>,
}

impl<'a, C> Parser<'a, C> {
    /// A parser at the beginning of the text.
    pub fn new(text: &'a str) -> Result<Self>
    where
        C: Default,
    {
        let tokens = tokens(text)?;
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(end, _)| end + 1)).collect();
        Ok(Self {
            context: C::default(),
            text,
            lines,
            tokens,
            at: 0,
            depth: 0,
            max_depth: max_depth(),
            hints: FxHashMap::default(),
            mentioned: FxHashMap::default(),
            mentions: Vec::new(),
        })
    }

    pub(super) fn token(&self) -> &Token<'a> {
        // The last token is `End`, which `advance` never passes.
        &self.tokens[self.at].0
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    /// Returns true at the end of the text.
    pub fn at_end(&self) -> bool {
        *self.token() == Token::End
    }

    /// The names that follow a keyword anywhere in the text.
    pub fn names_after(&self, keyword: &str) -> Vec<Arc<str>> {
        let pairs = self.tokens.iter().zip(self.tokens.iter().skip(1));
        pairs
            .filter(|((token, _), _)| *token == Token::Ident(keyword))
            .filter_map(|(_, (name, _))| match name {
                Token::Ident(name) => Some(Arc::from(*name)),
                Token::Text(name) => Some(Arc::from(name.as_str())),
                Token::Number(_) | Token::Punct(_) | Token::End => None,
            })
            .collect()
    }

    /// Returns the hints of the names since the last such call, by number, and clears them.
    pub fn take_hints(&mut self) -> FxHashMap<u32, Arc<str>> {
        std::mem::take(&mut self.hints)
    }

    /// An error at the current token.
    pub fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        let offset = self.tokens[self.at].1.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|i| self.lines.get(i)).copied().unwrap_or_default();
        let col = offset - start + 1;
        Err(ParseError { line: line as u32, col: col as u32, message: message.into() })
    }

    /// The error that `what` is expected at the current token.
    pub fn expected<T>(&self, what: &str) -> Result<T> {
        self.error(format!("expected {what}"))
    }

    /// The current identifier or keyword, if it is one.
    pub fn peek_ident(&self) -> Option<&'a str> {
        match self.token() {
            Token::Ident(text) => Some(text),
            Token::Number(_) | Token::Text(_) | Token::Punct(_) | Token::End => None,
        }
    }

    /// Returns true if the current token is this punctuation.
    pub fn peek(&self, punct: &str) -> bool {
        matches!(self.token(), Token::Punct(p) if *p == punct)
    }

    /// Consumes this punctuation if present; returns true if it was.
    pub fn take(&mut self, punct: &str) -> bool {
        let found = self.peek(punct);
        if found {
            self.advance();
        }
        found
    }

    /// Consumes this punctuation; an error if absent.
    pub fn punct(&mut self, punct: &str) -> Result<()> {
        if self.take(punct) { Ok(()) } else { self.expected(&format!("`{punct}`")) }
    }

    /// Consumes this keyword if present; returns true if it was.
    pub fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.peek_ident() == Some(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Consumes this keyword; an error if absent.
    pub fn keyword(&mut self, keyword: &str) -> Result<()> {
        if self.take_keyword(keyword) { Ok(()) } else { self.expected(&format!("`{keyword}`")) }
    }

    /// Consumes this keyword or punctuation; an error if absent.
    pub fn word(&mut self, text: &str) -> Result<()> {
        if text.starts_with(char::is_alphabetic) { self.keyword(text) } else { self.punct(text) }
    }

    /// An identifier.
    pub fn ident(&mut self) -> Result<&'a str> {
        let Some(text) = self.peek_ident() else {
            return self.expected("an identifier");
        };
        self.advance();
        Ok(text)
    }

    /// A word with a meaning.
    pub(super) fn word_of<T>(&mut self, what: &str, meaning: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let Some(value) = self.peek_ident().and_then(meaning) else {
            return self.expected(what);
        };
        self.advance();
        Ok(value)
    }

    /// One of these values, by its name.
    pub fn named<T: Copy>(&mut self, what: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T> {
        let word = self.ident()?;
        let value = all.iter().copied().find(|value| name(*value) == word);
        value.map_or_else(|| self.error(format!("unknown {what} `{word}`")), Ok)
    }

    /// A string, if present.
    pub fn take_string(&mut self) -> Option<Arc<str>> {
        let Token::Text(text) = self.token() else {
            return None;
        };
        let text = Arc::from(text.as_str());
        self.advance();
        Some(text)
    }

    /// A string.
    pub fn string(&mut self) -> Result<Arc<str>> {
        match self.take_string() {
            Some(text) => Ok(text),
            None => self.expected("a string"),
        }
    }

    /// An integer without a suffix, if present and in range.
    pub fn take_integer<T: TryFrom<i128>>(&mut self) -> Option<T> {
        let negative = self.peek("-");
        let at = self.at;
        if negative {
            self.advance();
        }
        let value = match self.token() {
            Token::Number(digits) => digits.parse::<i128>().ok(),
            Token::Ident(_) | Token::Text(_) | Token::Punct(_) | Token::End => None,
        };
        let value = value.map(|x| if negative { -x } else { x });
        let value = value.and_then(|x| T::try_from(x).ok());
        if value.is_some() {
            self.advance();
        } else {
            self.at = at;
        }
        value
    }

    /// An integer without a suffix.
    pub fn integer<T: TryFrom<i128>>(&mut self) -> Result<T> {
        match self.take_integer() {
            Some(value) => Ok(value),
            None => self.expected("an integer in range without a suffix"),
        }
    }

    /// `(a, b, c)`.
    pub fn list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.punct("(")?;
        self.separated(")", item)
    }

    /// `a, b, c` and the closing punctuation.
    pub fn separated<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(close) {
                return Ok(items);
            }
            if !self.take(",") {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    /// Parses a nested construct, one level deeper.
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= self.max_depth {
            return self.error(format!("nested more than {} levels deep", self.max_depth));
        }
        self.depth += 1;
        let result = with_stack(|| f(self));
        self.depth -= 1;
        result
    }

    /// The hint and number of an identifier that is a name.
    fn split_name(text: &str) -> Option<(&str, u32)> {
        let (hint, digits) = text.rsplit_once('_')?;
        let number: u32 = digits.parse().ok()?;
        let canonical = !digits.starts_with('0') && !digits.starts_with('+') || digits == "0";
        (canonical && !text.contains('.')).then_some((hint, number))
    }

    /// A name, if present.
    pub fn take_name(&mut self) -> Result<Option<Name>> {
        let start = self.at;
        let (hint, number): (Arc<str>, u32) = if let Some(text) = self.peek_ident() {
            let Some((hint, number)) = Self::split_name(text) else {
                return Ok(None);
            };
            (Arc::from(hint), number)
        } else if let (Token::Text(hint), Some((Token::Ident(rest), _))) =
            (self.token(), self.tokens.get(self.at + 1))
        {
            let Some(("", number)) = Self::split_name(rest) else {
                return Ok(None);
            };
            let hint = Arc::from(hint.as_str());
            self.advance();
            (hint, number)
        } else {
            return Ok(None);
        };
        if number as usize >= self.text.len() {
            self.at = start;
            return self.error("a name's number must be below the length of the text");
        }
        let known = self.hints.entry(number).or_insert_with(|| hint.clone());
        if *known != hint {
            let message = format!("name {number} already has the hint `{known}`");
            self.at = start;
            return self.error(message);
        }
        self.advance();
        Ok(Some(Name(number)))
    }

    /// A name.
    pub fn name(&mut self) -> Result<Name> {
        match self.take_name()? {
            Some(name) => Ok(name),
            None => self.expected("a name"),
        }
    }

    /// The name of a function.
    pub fn fun_name(&mut self) -> Result<FunName> {
        match self.take_string() {
            Some(text) => Ok(FunName(text)),
            None => Ok(FunName(Arc::from(self.ident()?))),
        }
    }

    /// The number, in order of first mention, of a function that may be defined later.
    pub(super) fn mention(&mut self) -> Result<FunId> {
        let at = self.at;
        let name = self.fun_name()?;
        let new = FunId::new(self.mentions.len());
        Ok(*self.mentioned.entry(name).or_insert_with_key(|name| {
            self.mentions.push((name.clone(), at));
            new
        }))
    }

    /// The ids of the functions mentioned, among these in the order of the program.
    pub(super) fn resolve<'f>(&mut self, names: impl Iterator<Item = &'f FunName>) -> Result<Vec<FunId>> {
        let mut ids: FxHashMap<&FunName, FunId> = FxHashMap::default();
        for (at, name) in names.enumerate() {
            ids.entry(name).or_insert(FunId::new(at));
        }
        let mut resolved = Vec::with_capacity(self.mentions.len());
        for (name, at) in &self.mentions {
            let Some(id) = ids.get(name) else {
                self.at = *at;
                return self.error(format!("function {name} does not exist"));
            };
            resolved.push(*id);
        }
        Ok(resolved)
    }

    /// A scalar constant, if present.
    pub fn take_scalar(&mut self) -> Result<Option<Scalar>> {
        let negative = self.peek("-");
        let next = if negative { self.at + 1 } else { self.at };
        let value = match self.tokens.get(next).map(|t| &t.0) {
            Some(Token::Number(text)) => number(text, negative),
            Some(Token::Ident("true")) if !negative => Some(Scalar::Bool(true)),
            Some(Token::Ident("false")) if !negative => Some(Scalar::Bool(false)),
            Some(Token::Ident(text)) => {
                let Some((word, ty)) = text.split_once('.') else {
                    return Ok(None);
                };
                let Ok(ty) = ty.parse::<PrimType>() else {
                    return Ok(None);
                };
                match word {
                    "inf" => Some(infinity(ty, negative)),
                    "nan" if !negative => Some(nan(ty)),
                    "bits" if !negative => {
                        self.advance();
                        return Ok(Some(Scalar::from_bits(ty, self.integer()?)));
                    }
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        let Some(value) = value else {
            return self.error("a constant must be in range and end in its type, as in `4i64`");
        };
        self.at = next;
        self.advance();
        Ok(Some(value))
    }

    /// An operand.
    pub fn atom(&mut self) -> Result<Atom> {
        if let Some(name) = self.take_name()? {
            return Ok(Atom::Var(name));
        }
        match self.take_scalar()? {
            Some(value) => Ok(Atom::Const(value)),
            None => self.expected("an operand"),
        }
    }

    /// A dimension.
    pub fn dim(&mut self) -> Result<Dim> {
        if self.take("?") {
            return Ok(Dim::Ext(self.integer()?));
        }
        match self.take_name()? {
            Some(name) => Ok(Dim::Var(name)),
            None => Ok(Dim::Const(self.integer()?)),
        }
    }

    /// `[n][m]`, or `[]` for no dimensions.
    pub fn shape(&mut self) -> Result<Shape> {
        if !self.peek("[") {
            return self.expected("a shape");
        }
        let empty = matches!(self.tokens.get(self.at + 1), Some((Token::Punct("]"), _)));
        if empty {
            self.advance();
            self.advance();
            return Ok(Shape::new());
        }
        self.dims()
    }

    fn dims(&mut self) -> Result<Shape> {
        let mut shape = Shape::new();
        while self.take("[") {
            shape.push(self.dim()?);
            self.punct("]")?;
        }
        Ok(shape)
    }

    /// A scalar type of the core IR.
    pub fn prim(&mut self) -> Result<PrimType> {
        self.word_of("a scalar type", |text| text.parse().ok())
    }

    /// A scalar type of the source.
    pub fn scalar_type(&mut self) -> Result<ScalarType> {
        self.word_of("a source scalar type", |text| text.parse().ok())
    }

    /// A type.
    pub fn ty(&mut self) -> Result<Type> {
        let shape = self.dims()?;
        if shape.is_empty() {
            if self.take_keyword("cert") {
                return Ok(Type::Cert);
            }
            if self.take_keyword("mem") {
                return Ok(Type::Mem(self.memory()?));
            }
            if self.take_keyword("acc") {
                let token = self.name()?;
                let shape = self.shape()?;
                let elems = self.nested(|p| p.list(Self::ty))?;
                return Ok(Type::Acc { token, shape, elems });
            }
        }
        let elem = self.word_of("a type", |text| text.parse().ok())?;
        Ok(Type::array(elem, shape))
    }

    /// A level of parallel hardware.
    pub fn level(&mut self) -> Result<LevelId> {
        self.word_of("a level", LevelId::named)
    }

    /// A memory.
    pub fn memory(&mut self) -> Result<MemoryId> {
        self.word_of("a memory", MemoryId::named)
    }

    /// A memory, if present.
    pub fn take_memory(&mut self) -> Option<MemoryId> {
        let word = self.peek_ident()?;
        let memory = MemoryId::named(word)?;
        self.advance();
        Some(memory)
    }
}

/// A number with its type as suffix.
fn number(text: &str, negative: bool) -> Option<Scalar> {
    let split = text.find(['i', 'f'])?;
    let (digits, suffix) = text.split_at(split);
    let ty: PrimType = suffix.parse().ok()?;
    let signed = if negative { format!("-{digits}") } else { digits.to_owned() };
    Some(match ty {
        PrimType::I8 => Scalar::I8(signed.parse().ok()?),
        PrimType::I16 => Scalar::I16(signed.parse().ok()?),
        PrimType::I32 => Scalar::I32(signed.parse().ok()?),
        PrimType::I64 => Scalar::I64(signed.parse().ok()?),
        PrimType::F16 => Scalar::F16(f16::from_f32(signed.parse().ok()?)),
        PrimType::F32 => Scalar::F32(signed.parse().ok()?),
        PrimType::F64 => Scalar::F64(signed.parse().ok()?),
        PrimType::Bool => return None,
    })
}

fn infinity(ty: PrimType, negative: bool) -> Scalar {
    let x = if negative { f64::NEG_INFINITY } else { f64::INFINITY };
    match ty {
        PrimType::F16 => Scalar::F16(f16::from_f64(x)),
        PrimType::F32 => Scalar::F32(x as f32),
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::F64 | PrimType::Bool => {
            Scalar::F64(x)
        }
    }
}

fn nan(ty: PrimType) -> Scalar {
    match ty {
        PrimType::F16 => Scalar::F16(f16::NAN),
        PrimType::F32 => Scalar::F32(f32::NAN),
        PrimType::I8 | PrimType::I16 | PrimType::I32 | PrimType::I64 | PrimType::F64 | PrimType::Bool => {
            Scalar::F64(f64::NAN)
        }
    }
}
