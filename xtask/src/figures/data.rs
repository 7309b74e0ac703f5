//! The measurements as `bench/figures.py` writes them: figures with rows of implementations.
//!
//! [`read`] guarantees that run times and counts are positive and finite, and that each implementation
//! has at least one round.

use serde_json::{Map, Value};

/// The measurements of a figure.
pub struct Figure {
    /// The figure's name, followed by the backend if that is not the default.
    pub name: String,
    /// The command that repeats the measurements.
    pub command: String,
    /// The backend of Bindrune.
    pub backend: String,
    /// Properties of the machine and the compilers, by name.
    pub machine: Vec<(String, String)>,
    /// The missing implementations, and the reasons.
    pub missing: Vec<(String, String)>,
    /// The rows, in the figure's order.
    pub rows: Vec<Row>,
}

/// Measurements taken together.
pub struct Row {
    pub name: String,
    /// The program, or the amount of work.
    pub group: String,
    /// The position within the group: a size, or a data set.
    pub x: Position,
    /// Run times by implementation.
    pub times: Vec<(String, Times)>,
    /// Counts by name.
    pub counts: Vec<(String, f64)>,
    /// True if all implementations had the same results.
    pub agree: bool,
    /// Remarks.
    pub notes: Vec<String>,
    /// The date of measurement.
    pub date: String,
    /// The load average of the machine.
    pub load: f64,
}

/// A position on a figure's horizontal axis.
#[derive(Clone, PartialEq)]
pub enum Position {
    /// A size.
    Number(f64),
    /// A data set.
    Name(String),
}

/// Run times in microseconds.
pub struct Times {
    /// The median of the rounds.
    pub median: f64,
    /// The least of the rounds.
    pub min: f64,
    /// The greatest of the rounds.
    pub max: f64,
    /// The median of each round.
    pub rounds: Vec<f64>,
}

impl Row {
    /// Returns an implementation's run times.
    pub fn times_of(&self, who: &str) -> Option<&Times> {
        let found = self.times.iter().find(|(name, _)| name == who);
        found.map(|(_, times)| times)
    }

    /// The ratio of two implementations' times in the same round; the median over the rounds. Within a
    /// round, the state of the machine is similar.
    pub fn ratio(&self, slow: &str, fast: &str) -> Option<f64> {
        let (slow, fast) = (self.times_of(slow)?, self.times_of(fast)?);
        let pairs = slow.rounds.iter().zip(&fast.rounds);
        median(pairs.map(|(slow, fast)| slow / fast).collect())
    }
}

/// The median; `None` if there are no numbers.
pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let upper = *numbers.get(numbers.len() / 2)?;
    let lower = *numbers.get((numbers.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// Reads the figures. The error contains the path of the invalid value.
pub fn read(text: &str) -> Result<Vec<Figure>, String> {
    let json: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let root = JsonPath { path: String::new(), value: &json };
    let figures = root.get("figures")?;
    figures.entries()?.map(figure).collect()
}

fn figure((name, json): (&str, JsonPath<'_>)) -> Result<Figure, String> {
    let mut rows: Vec<(f64, Row)> = Vec::new();
    for (name, json) in json.get("rows")?.entries()? {
        rows.push((json.get("rank")?.number()?, row(name, &json)?));
    }
    rows.sort_by(|(x, _), (y, _)| x.total_cmp(y));
    Ok(Figure {
        name: name.to_owned(),
        command: json.get("command")?.text()?,
        backend: json.get("backend")?.text()?,
        machine: json.get("machine")?.facts()?,
        missing: json.get("absent")?.facts()?,
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    })
}

fn row(name: &str, json: &JsonPath<'_>) -> Result<Row, String> {
    let x = json.get("x")?;
    let mut times = Vec::new();
    if let Ok(found) = json.get("times") {
        for (who, json) in found.entries()? {
            times.push((who.to_owned(), run_times(&json)?));
        }
    }
    let mut counts = Vec::new();
    if let Ok(found) = json.get("counts") {
        for (what, json) in found.entries()? {
            counts.push((what.to_owned(), json.positive()?));
        }
    }
    let notes = json.get("notes")?;
    Ok(Row {
        name: name.to_owned(),
        group: json.get("group")?.text()?,
        x: match x.value {
            Value::String(text) => Position::Name(text.clone()),
            _ => Position::Number(x.positive_or_zero()?),
        },
        times,
        counts,
        agree: json.get("agree")?.value == &Value::Bool(true),
        notes: notes.items()?.map(|note| note.text()).collect::<Result<_, _>>()?,
        date: json.get("date")?.text()?,
        load: json.get("load")?.number()?,
    })
}

fn run_times(json: &JsonPath<'_>) -> Result<Times, String> {
    let rounds = json.get("rounds")?;
    let found: Vec<f64> = rounds.items()?.map(|x| x.positive()).collect::<Result<_, _>>()?;
    if found.is_empty() {
        return Err(rounds.wrong("empty"));
    }
    Ok(Times {
        median: json.get("median")?.positive()?,
        min: json.get("least")?.positive()?,
        max: json.get("most")?.positive()?,
        rounds: found,
    })
}

/// A JSON value with its path, for error messages.
struct JsonPath<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> JsonPath<'a> {
    fn wrong(&self, what: &str) -> String {
        format!("{}: {what}", self.path)
    }

    fn get(&self, key: &str) -> Result<JsonPath<'a>, String> {
        let path = match &*self.path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        match self.value.get(key) {
            Some(value) => Ok(JsonPath { path, value }),
            None => Err(format!("{path}: missing")),
        }
    }

    fn object(&self) -> Result<&'a Map<String, Value>, String> {
        self.value.as_object().ok_or_else(|| self.wrong("not an object"))
    }

    fn entries(&self) -> Result<impl Iterator<Item = (&'a str, JsonPath<'a>)> + use<'a>, String> {
        let path = self.path.clone();
        Ok(self.object()?.iter().map(move |(key, value)| {
            let path = format!("{path}.{key}");
            (&**key, JsonPath { path, value })
        }))
    }

    fn items(&self) -> Result<impl Iterator<Item = JsonPath<'a>> + use<'a>, String> {
        let found = self.value.as_array().ok_or_else(|| self.wrong("not a list"))?;
        let path = self.path.clone();
        Ok(found.iter().enumerate().map(move |(at, value)| JsonPath { path: format!("{path}[{at}]"), value }))
    }

    fn text(&self) -> Result<String, String> {
        let text = self.value.as_str().ok_or_else(|| self.wrong("not a text"))?;
        Ok(text.to_owned())
    }

    /// Returns texts and numbers as text, by name.
    fn facts(&self) -> Result<Vec<(String, String)>, String> {
        let fact = |(key, json): (&str, JsonPath<'_>)| match json.value {
            Value::String(text) => (key.to_owned(), text.clone()),
            other => (key.to_owned(), other.to_string()),
        };
        Ok(self.entries()?.map(fact).collect())
    }

    fn number(&self) -> Result<f64, String> {
        let number = self.value.as_f64().filter(|x| x.is_finite());
        number.ok_or_else(|| self.wrong("not a number"))
    }

    fn positive_or_zero(&self) -> Result<f64, String> {
        let number = self.number()?;
        if number >= 0.0 { Ok(number) } else { Err(self.wrong("below 0")) }
    }

    fn positive(&self) -> Result<f64, String> {
        let number = self.number()?;
        if number > 0.0 { Ok(number) } else { Err(self.wrong("not above 0")) }
    }
}
