//! A program's table together with the owner of its code.
//!
//! An executable's table is a constant of its object file. For code made in memory, such as test
//! programs, [`ProgramSpec`] describes the program; the table is then built here, with the texts
//! and slices that it points to.

use crate::abi::{
    ABI_VERSION, EntryDesc, EntryFn, FiniFn, InitFn, KIND_ARRAY, KIND_OPAQUE, KIND_SCALAR, KIND_UNIT,
    ParamDesc, Program, Str, TunableDesc,
};
use prim::ScalarType;
use std::any::Any;
use std::sync::Arc;

/// The kind of an entry point's parameter or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A scalar.
    Scalar(ScalarType),
    /// An array of a rank of at least 1.
    Array(ScalarType, u32),
    /// A value without text form.
    Opaque {
        /// The number of words of the value.
        words: u32,
        /// Offsets of the words that are block addresses.
        blocks: Vec<u32>,
    },
    /// The unit value.
    Unit,
}

/// A parameter or result of an entry point; see [`ParamDesc`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamSpec {
    /// Name in the source, or empty.
    pub name: String,
    /// Type in the source, without `*`.
    pub type_name: String,
    /// The kind of value.
    pub kind: ParamKind,
    /// True if the type is unique.
    pub unique: bool,
}

/// An entry point; see [`EntryDesc`].
#[derive(Clone, Debug)]
pub struct EntrySpec {
    /// The entry point's name.
    pub name: String,
    /// Its code.
    pub fun: EntryFn,
    /// Its parameters.
    pub params: Vec<ParamSpec>,
    /// Its results.
    pub results: Vec<ParamSpec>,
}

/// A program; see [`Program`].
#[derive(Clone, Debug)]
pub struct ProgramSpec {
    /// The source file's name.
    pub source_name: String,
    /// The entry points.
    pub entries: Vec<EntrySpec>,
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
    _blocks: Vec<Box<[u32]>>,
    _params: Vec<Box<[ParamDesc]>>,
    _entries: Box<[EntryDesc]>,
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
        let mut builder = Builder::default();
        let source_name = builder.text(spec.source_name);
        let entries: Box<[EntryDesc]> = spec
            .entries
            .into_iter()
            .map(|entry| {
                let name = builder.text(entry.name);
                let (params, n_params) = builder.params(entry.params);
                let (results, n_results) = builder.params(entry.results);
                EntryDesc { name, fun: entry.fun, params, n_params, results, n_results }
            })
            .collect();
        let tunables: Box<[TunableDesc]> = spec
            .tunables
            .into_iter()
            .map(|tunable| TunableDesc {
                name: builder.text(tunable.name),
                class: builder.text(tunable.class),
                default: tunable.default,
            })
            .collect();
        let program = Program {
            version: ABI_VERSION,
            source_name,
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
            _texts: builder.texts,
            _blocks: builder.blocks,
            _params: builder.params,
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

#[derive(Default)]
struct Builder {
    texts: Vec<Box<str>>,
    blocks: Vec<Box<[u32]>>,
    params: Vec<Box<[ParamDesc]>>,
}

impl Builder {
    fn text(&mut self, text: String) -> Str {
        let text = text.into_boxed_str();
        let str = Str { ptr: text.as_ptr(), len: text.len() as u64 };
        self.texts.push(text);
        str
    }

    fn params(&mut self, params: Vec<ParamSpec>) -> (*const ParamDesc, u64) {
        let table: Box<[ParamDesc]> = params.into_iter().map(|p| self.param(p)).collect();
        let slice = (table.as_ptr(), table.len() as u64);
        self.params.push(table);
        slice
    }

    fn param(&mut self, param: ParamSpec) -> ParamDesc {
        let index = |ty| ScalarType::ALL.iter().position(|&t| t == ty).unwrap_or(0) as u32;
        let (kind, scalar, rank, words, blocks) = match param.kind {
            ParamKind::Scalar(ty) => (KIND_SCALAR, index(ty), 0, 1, vec![]),
            ParamKind::Array(ty, rank) => (KIND_ARRAY, index(ty), rank, rank + 1, vec![0]),
            ParamKind::Opaque { words, blocks } => (KIND_OPAQUE, 0, 0, words, blocks),
            ParamKind::Unit => (KIND_UNIT, 0, 0, 0, vec![]),
        };
        let blocks = blocks.into_boxed_slice();
        let desc = ParamDesc {
            name: self.text(param.name),
            type_name: self.text(param.type_name),
            kind,
            scalar,
            rank,
            unique: u32::from(param.unique),
            words,
            pad: 0,
            blocks: blocks.as_ptr(),
            n_blocks: blocks.len() as u64,
        };
        self.blocks.push(blocks);
        desc
    }
}
