//! User-defined cost functions: expressions over the times of data sets.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = atom { ("*" | "/") atom }
//! atom    = NUMBER | NAME | "NAME" | "(" sum ")" | ("max" | "min") "(" sum { "," sum } ")"
//! ```
//!
//! A name is that of a data set; names that are not words are quoted. A data set's value is
//! its time in microseconds.

use runtime::tuning_params::nearest;

/// The largest nesting depth of parentheses.
const DEEPEST: usize = 200;

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// The time of a data set.
    Time(usize),
    /// An operation on at least one operand.
    Apply(Operator, Vec<Expression>),
}

/// An operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// The sum.
    Add,
    /// The first minus the others.
    Sub,
    /// The product.
    Mul,
    /// The first divided by the others.
    Div,
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Operator {
    fn apply(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Add => x + y,
            Self::Sub => x - y,
            Self::Mul => x * y,
            Self::Div => x / y,
            Self::Max => x.max(y),
            Self::Min => x.min(y),
        }
    }
}

/// The data set of this name.
///
/// # Errors
/// There is none, or there are several.
pub fn data_set(name: &str, names: &[String]) -> Result<usize, String> {
    let mut found = (0..names.len()).filter(|at| names[*at] == name);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(format!("there are several data sets `{name}`")),
        (None, _) => {
            let advice = match nearest(names.iter().map(String::as_str), name) {
                Some(other) => format!("did you mean `{other}`?"),
                None => format!("there are: {}", names.join(", ")),
            };
            Err(format!("there is no data set `{name}`; {advice}"))
        }
    }
}

impl Expression {
    /// Parses an expression over data sets of these names.
    ///
    /// # Errors
    /// The text is no expression, or names no data set.
    pub fn parse(text: &str, names: &[String]) -> Result<Self, String> {
        let mut parser = Parser { text, at: 0, names, depth: 0 };
        let whole = parser.sum()?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.error("an operator or the end"));
        }
        Ok(whole)
    }

    /// Its value for these times.
    pub fn value(&self, times: &[f64]) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Time(at) => times.get(*at).copied().unwrap_or(0.0),
            Self::Apply(operator, operands) => {
                let values = operands.iter().map(|operand| operand.value(times));
                let value = values.reduce(|x, y| operator.apply(x, y));
                value.unwrap_or(0.0)
            }
        }
    }

    /// Returns true if it certainly does not decrease when a time increases.
    pub fn is_monotone(&self) -> bool {
        match self {
            Self::Number(_) | Self::Time(_) => true,
            Self::Apply(operator, operands) => {
                let mut rest = operands.iter().skip(1);
                let constant = |operand: &Self| operand.is_constant();
                let each = operands.iter().all(Self::is_monotone);
                each && match operator {
                    Operator::Add | Operator::Max | Operator::Min => true,
                    Operator::Sub => rest.all(constant),
                    Operator::Mul => operands.iter().all(Self::is_positive),
                    Operator::Div => rest.all(|operand| constant(operand) && operand.is_positive()),
                }
            }
        }
    }

    fn is_constant(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Time(_) => false,
            Self::Apply(_, operands) => operands.iter().all(Self::is_constant),
        }
    }

    /// Returns true if it is certainly not negative.
    fn is_positive(&self) -> bool {
        match self {
            Self::Number(number) => *number >= 0.0,
            Self::Time(_) => true,
            Self::Apply(operator, operands) => {
                *operator != Operator::Sub && operands.iter().all(Self::is_positive)
            }
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    names: &'t [String],
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Consumes this character if it is next; returns true if it was.
    fn accept(&mut self, sign: char) -> bool {
        self.space();
        let accepted = self.rest().starts_with(sign);
        self.at += if accepted { sign.len_utf8() } else { 0 };
        accepted
    }

    fn error(&mut self, expected: &str) -> String {
        self.space();
        let found = match self.rest().chars().next() {
            Some(found) => format!("`{found}`"),
            None => "the end".to_owned(),
        };
        let column = self.text[..self.at].chars().count() + 1;
        format!(
            "the cost function `{}`: at character {column}, expected {expected}, found {found}",
            self.text
        )
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(&[('+', Operator::Add), ('-', Operator::Sub)], Self::product)
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(&[('*', Operator::Mul), ('/', Operator::Div)], Self::atom)
    }

    fn chain(
        &mut self,
        operators: &[(char, Operator)],
        part: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut whole = part(self)?;
        loop {
            let next = operators.iter().find(|(sign, _)| self.accept(*sign));
            let Some((_, operator)) = next else {
                return Ok(whole);
            };
            let operand = part(self)?;
            whole = match whole {
                // A long chain is one operation, not a deeply nested one.
                Expression::Apply(known, mut operands) if known == *operator => {
                    operands.push(operand);
                    Expression::Apply(known, operands)
                }
                other => Expression::Apply(*operator, vec![other, operand]),
            };
        }
    }

    fn atom(&mut self) -> Result<Expression, String> {
        self.space();
        if self.accept('(') {
            return self.nested();
        }
        if self.accept('"') {
            let Some(end) = self.rest().find('"') else {
                return Err(self.error("a name and `\"`"));
            };
            let name = self.rest()[..end].to_owned();
            self.at += end + 1;
            return data_set(&name, self.names).map(Expression::Time);
        }
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length =
            |text: &str, part: fn(char) -> bool| -> usize { text.find(|c| !part(c)).unwrap_or(text.len()) };
        let first = self.rest().chars().next();
        if first.is_some_and(|c| c.is_ascii_digit() || c == '.') {
            let digits = length(self.rest(), |c| c.is_ascii_digit() || c == '.');
            if let Ok(number) = self.rest()[..digits].parse() {
                self.at += digits;
                return Ok(Expression::Number(number));
            }
            return Err(self.error("a number"));
        }
        if !first.is_some_and(word) {
            return Err(self.error("a data set, a number, or `(`"));
        }
        let letters = length(self.rest(), |c| c.is_alphanumeric() || c == '_');
        let name = self.rest()[..letters].to_owned();
        self.at += letters;
        let operator = match name.as_str() {
            "max" => Operator::Max,
            "min" => Operator::Min,
            _ => return self.unquoted(&name).map(Expression::Time),
        };
        if !self.accept('(') {
            return Err(self.error("`(`"));
        }
        self.arguments(operator)
    }

    /// A data set that is named without quotes.
    fn unquoted(&self, name: &str) -> Result<usize, String> {
        data_set(name, self.names).map_err(|error| {
            let is_whole_text = self.text.trim() == name;
            let functions = crate::cost::NAMES.join("`, `");
            if is_whole_text {
                format!("there is no cost function `{name}`; there are `{functions}`, and {error}")
            } else {
                error
            }
        })
    }

    /// The expression after an opening parenthesis, and the closing one.
    fn nested(&mut self) -> Result<Expression, String> {
        let inside = self.deeper()?;
        if !self.accept(')') {
            return Err(self.error("`)`"));
        }
        Ok(inside)
    }

    fn arguments(&mut self, operator: Operator) -> Result<Expression, String> {
        let mut operands = vec![self.deeper()?];
        while self.accept(',') {
            operands.push(self.deeper()?);
        }
        if !self.accept(')') {
            return Err(self.error("`,` or `)`"));
        }
        Ok(Expression::Apply(operator, operands))
    }

    fn deeper(&mut self) -> Result<Expression, String> {
        if self.depth == DEEPEST {
            return Err("the cost function is nested too deeply".to_owned());
        }
        self.depth += 1;
        let inside = self.sum();
        self.depth -= 1;
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["a", "b", "in/c.in"].map(str::to_owned).to_vec()
    }

    fn parsed(text: &str) -> Expression {
        Expression::parse(text, &names()).unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn expressions_have_values() {
        let value = |text| parsed(text).value(&[2.0, 3.0, 10.0]);
        assert_eq!(value("a + 2 * b - 1"), 7.0);
        assert_eq!(value("10 - a - b"), 5.0);
        assert_eq!(value("\"in/c.in\" / a / 2"), 2.5);
        assert_eq!(value("max(a, b * (a + .5), 1) - min(a)"), 5.5);
    }

    #[test]
    fn monotone_expressions_are_recognised() {
        for text in ["a", "2 * a + b / 3", "max(a, b) * a", "a - 5", "min(a, 3)"] {
            assert!(parsed(text).is_monotone(), "{text}");
        }
        for text in ["a - b", "a / b", "(a - 5) * b", "2 / a", "a - max(b, 1)"] {
            assert!(!parsed(text).is_monotone(), "{text}");
        }
    }

    #[test]
    fn invalid_expressions_are_errors() {
        let deep = "(".repeat(100_000);
        for (text, part) in [
            ("a +", "at character 4, expected a data set, a number, or `(`, found the end"),
            ("(a", "expected `)`, found the end"),
            ("a b", "at character 3, expected an operator or the end, found `b`"),
            ("max a", "expected `(`"),
            ("1.2.3", "expected a number"),
            ("\"a", "a name and `\"`"),
            ("", "found the end"),
            ("a + c", "there is no data set `c`"),
            ("\"in/d.in\"", "did you mean `in/c.in`?"),
            ("speed", "there is no cost function `speed`; there are `sum`, `geomean`, `worst`"),
            (&deep, "nested too deeply"),
        ] {
            let message = Expression::parse(text, &names()).expect_err("an invalid expression");
            assert!(message.contains(part), "{text}: {message}");
        }
        let twice = ["a", "a"].map(str::to_owned);
        let message = Expression::parse("a", &twice).expect_err("an ambiguous name");
        assert!(message.contains("several"), "{message}");
    }
}
