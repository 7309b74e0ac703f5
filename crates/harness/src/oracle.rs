//! The interpreter applied to test blocks: arguments of any form, calls, and the expected values of
//! `auto output`, which are cached on disk.

use crate::blocks::{Case, Data};
use crate::data::read_file;
use crate::programs::Outcome;
use crate::script;
use check::tast::{Entry, Program};
use interp::{Class, Interp, RunValue};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use syntax::span::{SourceFile, SourceMap};
use value::{Reader, Value, write_binary};

/// A program in the interpreter.
pub struct Oracle<'a> {
    interp: Interp,
    sources: &'a SourceMap,
    folder: PathBuf,
    limit: Duration,
}

impl<'a> Oracle<'a> {
    /// Creates an oracle for a checked program. Data files are relative to `folder`; `limit` is the
    /// time limit of a call.
    pub fn new(program: Arc<Program>, sources: &'a SourceMap, folder: &Path, limit: Duration) -> Self {
        Self { interp: Interp::new(program), sources, folder: folder.to_owned(), limit }
    }

    /// Sets whether values are checked against the sizes in their types. Must be called before
    /// anything is evaluated.
    pub fn set_check_sizes(&self, check: bool) {
        self.interp.set_check_sizes(check);
    }

    /// Returns the entry point of this name.
    pub fn entry(&self, name: &str) -> Result<&Entry, String> {
        let found = self.interp.entry(name);
        found.ok_or_else(|| format!("there is no entry point `{name}`"))
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        self.interp.program()
    }

    /// Calls an entry point. The result may be of a type without an external representation.
    pub fn call_raw(&self, entry: &Entry, args: Vec<RunValue>) -> Result<RunValue, String> {
        self.start();
        self.interp
            .call(entry, args)
            .map_err(|failure| crate::programs::first_line(&failure.render(self.sources)))
    }

    /// Returns the arguments of a case for an entry point.
    pub fn arguments(&self, data: &Data, entry: &Entry) -> Result<Vec<RunValue>, String> {
        match data {
            Data::Text(text, line) => {
                read_arguments(text.as_bytes(), entry).map_err(|e| format!("values at line {line}: {e}"))
            }
            Data::File(path) => {
                let path = self.folder.join(path);
                let shown = path.display();
                let bytes = read_file(&path).map_err(|e| format!("{shown}: {e}"))?;
                read_arguments(&bytes, entry).map_err(|e| format!("{shown}: {e}"))
            }
            Data::Random(_) => {
                let values = data.values(&self.folder).map_err(|e| e.to_string())?;
                Ok(values.iter().map(interp::import).collect())
            }
            Data::Script(text) => self.script(text, entry),
            Data::ScriptFile(path) => {
                let path = self.folder.join(path);
                let text = std::fs::read_to_string(&path);
                let text = text.map_err(|e| format!("{}: {e}", path.display()))?;
                self.script(&text, entry)
            }
        }
    }

    /// Returns the arguments of a case in the input format of executables.
    pub fn input(&self, data: &Data, entry: &Entry) -> Result<Vec<u8>, String> {
        match data {
            Data::Script(_) | Data::ScriptFile(_) => {
                let args = self.arguments(data, entry)?;
                self.encode(entry, &args).map_err(|e| {
                    format!(
                        "not supported yet: script inputs for compiled programs that are \
                         records, tuples or other opaque values: {e}"
                    )
                })
            }
            Data::Text(..) | Data::File(_) | Data::Random(_) => {
                data.bytes(&self.folder).map_err(|e| e.to_string())
            }
        }
    }

    fn script(&self, text: &str, entry: &Entry) -> Result<Vec<RunValue>, String> {
        self.start();
        let context = script::Context { interp: &self.interp, sources: self.sources, folder: &self.folder };
        script::evaluate(text, &context)
            .and_then(|value| script::arguments(&value, entry))
            .map_err(|e| format!("script: {e}"))
    }

    fn start(&self) {
        self.interp.set_deadline(Instant::now().checked_add(self.limit));
    }

    /// Calls an entry point.
    pub fn call(&self, entry: &Entry, args: Vec<RunValue>) -> Outcome {
        self.start();
        match self.interp.call(entry, args) {
            Ok(result) => values(entry, &result),
            Err(failure) => match failure.class {
                Class::Program => Outcome::Failure(failure.render(self.sources)),
                Class::Unsound => Outcome::Abnormal(failure.render(self.sources)),
                Class::Usage => Outcome::Failure(failure.message),
                Class::Timeout => Outcome::Abnormal("timed out".to_owned()),
                Class::Unsupported | Class::Interrupted | Class::Bug | Class::Unbound => {
                    Outcome::Abnormal(failure.message)
                }
            },
        }
    }

    /// Encodes arguments in the binary format.
    pub fn encode(&self, entry: &Entry, args: &[RunValue]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        for (arg, param) in args.iter().zip(&entry.params) {
            let value = interp::export(arg, &param.ty.ty)?;
            write_binary(&mut out, &value).map_err(|e| e.to_string())?;
        }
        Ok(out)
    }

    /// Computes the expected output of a case; `None` if that takes too much time or memory.
    /// Results of slow calls are cached.
    pub fn auto(&self, case: &Case, entry: &Entry) -> Result<Option<Vec<Value>>, String> {
        let file = cache_file(self.sources, case, entry);
        let cached = file.as_ref().and_then(|file| std::fs::read(file).ok());
        if let Some(bytes) = cached {
            if bytes == TOO_SLOW {
                return Ok(None);
            }
            if let Ok(values) = crate::programs::results(&bytes) {
                return Ok(Some(values));
            }
        }
        let start = Instant::now();
        let args = self.arguments(&case.input, entry)?;
        let time_limit = self.limit.min(TIME_LIMIT);
        self.interp.set_deadline(Instant::now().checked_add(time_limit));
        let result = self.interp.call(entry, args);
        let cache = |bytes: &[u8]| {
            if let Some(file) = file.filter(|_| start.elapsed() > CACHE_ABOVE) {
                write_cache(&file, bytes);
            }
        };
        let none = "the interpreter cannot compute the expected output";
        match result.map(|result| values(entry, &result)) {
            Ok(Outcome::Values(values)) => {
                let mut bytes = Vec::new();
                let encoded = values.iter().all(|v| write_binary(&mut bytes, v).is_ok());
                if encoded {
                    cache(&bytes);
                }
                Ok(Some(values))
            }
            Ok(Outcome::Opaque(why) | Outcome::Abnormal(why) | Outcome::Failure(why)) => {
                Err(format!("{none}: {why}"))
            }
            Err(failure) if failure.class == Class::Timeout => {
                cache(TOO_SLOW);
                Ok(None)
            }
            Err(failure) if failure.is_out_of_memory() => Ok(None),
            Err(failure) => {
                Err(format!("{none}: {}", crate::programs::first_line(&failure.render(self.sources))))
            }
        }
    }
}

/// The time limit for computing an expected output.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The cache entry of a case that exceeds the time limit.
const TOO_SLOW: &[u8] = b"-- too slow";

/// The duration of a call above which its results are cached.
const CACHE_ABOVE: Duration = Duration::from_millis(100);

/// Converts a result to values; opaque if it has no external representation.
fn values(entry: &Entry, result: &RunValue) -> Outcome {
    let mut values = Vec::new();
    for (result, ty) in interp::components(result, &entry.result.ty) {
        // A unit result is printed, but not listed among expected values.
        if matches!(ty, check::tast::Ty::Tuple(parts) if parts.is_empty()) {
            continue;
        }
        match interp::export(result, ty) {
            Ok(value) => values.push(value),
            Err(why) => return Outcome::Opaque(why),
        }
    }
    Outcome::Values(values)
}

fn read_arguments(bytes: &[u8], entry: &Entry) -> Result<Vec<RunValue>, String> {
    let mut reader = Reader::from_slice(bytes);
    let mut args = Vec::with_capacity(entry.params.len());
    for (index, param) in entry.params.iter().enumerate() {
        let arg = interp::read_argument(&mut reader, &param.ty.ty);
        args.push(arg.map_err(|e| format!("argument {}: {e}", index + 1))?);
    }
    if !reader.at_end().map_err(|e| e.to_string())? {
        return Err(format!(
            "there is more input after the {} arguments of `{}`",
            entry.params.len(),
            entry.name
        ));
    }
    Ok(args)
}

/// Returns the path of the cache entry of a case, named by a hash of everything that its results
/// depend on; `None` for input in files, which are not hashed.
fn cache_file(sources: &SourceMap, case: &Case, entry: &Entry) -> Option<PathBuf> {
    if matches!(case.input, Data::File(_) | Data::ScriptFile(_)) {
        return None;
    }
    let folder = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
        for id in sources.ids() {
            sources.get(id).map(SourceFile::text).hash(&mut hasher);
        }
        format!("{:?} {}", case.input, entry.name).hash(&mut hasher);
        hasher.finish()
    };
    let name = format!("{:016x}{:016x}.out", hash(0), hash(1));
    Some(folder.join("bindrune").join("outputs").join(name))
}

/// Writes a cache entry. Errors are ignored; the results are recomputed next time.
fn write_cache(file: &Path, bytes: &[u8]) {
    let Some(folder) = file.parent() else {
        return;
    };
    let part = file.with_extension(format!("part{}", std::process::id()));
    let _ = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&part, bytes))
        .and_then(|()| std::fs::rename(&part, file));
}
