//! The position of a declaration in the program.
//!
//! A small value: on entering a module or module type, callers save the old position and restore it
//! afterwards.

use syntax::ast::{Decl, DeclKind};

/// The role of a file in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileKind {
    /// Part of the prelude, for which warnings are suppressed.
    Prelude,
    /// Imported.
    Import,
    /// The root file, whose entry points are compiled.
    Root,
}

/// The position of a declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclSite {
    file: FileKind,
    /// True if it is in a module of its file.
    in_module: bool,
    /// True if it is checked for an application of a parametric module; it was checked with
    /// abstract parameters before.
    in_application: bool,
    /// True if it is a specification of a module type.
    in_spec: bool,
}

impl DeclSite {
    /// The top level of a file.
    pub(crate) const fn top(file: FileKind) -> Self {
        Self { file, in_module: false, in_application: false, in_spec: false }
    }

    /// The position within a module declared here.
    pub(crate) const fn enter_module(self) -> Self {
        Self { in_module: true, ..self }
    }

    /// The position within the body of a parametric module applied here.
    pub(crate) const fn enter_application(self) -> Self {
        Self { in_application: true, ..self }
    }

    /// The position within a module type (`true`), or in an ordinary type within one (`false`).
    pub(crate) const fn with_spec(self, in_spec: bool) -> Self {
        Self { in_spec, ..self }
    }

    /// Returns true in the prelude.
    pub(crate) fn is_prelude(self) -> bool {
        self.file == FileKind::Prelude
    }

    /// Returns true at the top level of the root file.
    pub(crate) fn is_root(self) -> bool {
        self.file == FileKind::Root && !self.in_module
    }

    /// Returns true inside a module.
    pub(crate) const fn is_in_module(self) -> bool {
        self.in_module
    }

    /// Returns true if it is checked for an application of a parametric module.
    pub(crate) const fn is_application(self) -> bool {
        self.in_application
    }

    /// Returns true for a specification of a module type.
    pub(crate) const fn is_spec(self) -> bool {
        self.in_spec
    }
}

/// The declaration without `local` in front.
pub(crate) fn strip_local(decl: &Decl) -> &Decl {
    let mut decl = decl;
    while let DeclKind::Local(inner) = &decl.kind {
        decl = inner;
    }
    decl
}
