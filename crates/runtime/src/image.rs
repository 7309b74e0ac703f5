//! A program's table together with the owner of its code.
//!
//! An executable's table is a constant of its object file. For code made in memory, such as test
//! programs, [`ProgramSpec`] describes the program; the table is then built here, with the texts
//! and slices that it points to.

use crate::abi::{ABI_VERSION, EntryFn, FiniFn, InitFn, Program, Str, TunableDesc};
use std::any::Any;
use std::sync::Arc;
use value::interface::Interface;

/// A program; see [`Program`].
#[derive(Clone, Debug, Default)]
pub struct ProgramSpec {
    /// The source file's name.
    pub source_name: String,
    /// The entry points and their types.
    pub interface: Interface,
    /// The code of each entry point.
    pub entries: Vec<EntryFn>,
    /// Number of words of globals.
    pub n_globals: u64,
    /// Computes the constants.
    pub init: Option<InitFn>,
    /// Releases the constants.
    pub fini: Option<FiniFn>,
    /// The tuning parameters.
    pub tunables: Vec<TunableSpec>,
}

/// A tuning parameter; see [`TunableDesc`].
#[derive(Clone, Debug)]
pub struct TunableSpec {
    /// The parameter's name.
    pub name: String,
    /// The kind of number: one of the `CLASS_*` constants of [`crate::abi`].
    pub class: String,
    /// Its value unless another one is given.
    pub default: i64,
}

/// A program's table, together with the owner of its code.
#[derive(Clone)]
pub struct Image {
    program: Program,
    _keep: Arc<dyn Any + Send + Sync>,
}

/// The data to which a table built from a [`ProgramSpec`] points.
struct Tables {
    _texts: Vec<Box<str>>,
    _interface: Box<[u8]>,
    _entries: Box<[EntryFn]>,
    _tunables: Box<[TunableDesc]>,
    _code: Arc<dyn Any + Send + Sync>,
}

impl Image {
    /// Creates an image from a table; `keep` owns the table's data and code.
    ///
    /// # Safety
    /// Everything that the table points to must be as specified by [`crate::abi`], and remain valid
    /// while `keep` lives.
    pub unsafe fn new(program: Program, keep: Arc<dyn Any + Send + Sync>) -> Self {
        Self { program, _keep: keep }
    }

    /// Builds the table of a program whose code lives as long as `code`.
    ///
    /// # Safety
    /// The functions must be as specified by [`crate::abi`] for their descriptions in the
    /// specification, and remain valid while `code` lives.
    pub unsafe fn from_spec(spec: ProgramSpec, code: Arc<dyn Any + Send + Sync>) -> Self {
        let mut texts = Vec::new();
        let mut text = |text: String| {
            let text = text.into_boxed_str();
            let str = Str { ptr: text.as_ptr(), len: text.len() as u64 };
            texts.push(text);
            str
        };
        let source_name = text(spec.source_name);
        let interface = spec.interface.encode().into_boxed_slice();
        let entries = spec.entries.into_boxed_slice();
        let tunables: Box<[TunableDesc]> = spec
            .tunables
            .into_iter()
            .map(|tunable| TunableDesc {
                name: text(tunable.name),
                class: text(tunable.class),
                default: tunable.default,
            })
            .collect();
        let program = Program {
            version: ABI_VERSION,
            source_name,
            interface: interface.as_ptr(),
            interface_len: interface.len() as u64,
            entries: entries.as_ptr(),
            n_entries: entries.len() as u64,
            n_globals: spec.n_globals,
            init: spec.init,
            fini: spec.fini,
            tunables: tunables.as_ptr(),
            n_tunables: tunables.len() as u64,
            device: std::ptr::null(),
        };
        let tables = Tables {
            _texts: texts,
            _interface: interface,
            _entries: entries,
            _tunables: tunables,
            _code: code,
        };
        // SAFETY: the tables own what they point to; the rest is the caller's promise.
        unsafe { Self::new(program, Arc::new(tables)) }
    }

    /// The program's table.
    pub fn program(&self) -> &Program {
        &self.program
    }
}
