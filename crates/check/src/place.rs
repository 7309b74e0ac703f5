//! Where in the program a declaration stands.
//!
//! A small value that says all of it: who goes into a module, or into a module type,
//! keeps the old one and comes back to it.

/// What a file is to the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileKind {
    /// Part of the standard library, which is past warning.
    Prelude,
    /// Imported.
    Import,
    /// The file whose entry points count.
    Root,
}

/// The place of a declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    file: FileKind,
    /// Whether it is in a module of its file.
    in_module: bool,
    /// Whether it is checked for an application of a parametric module, having been
    /// checked with abstract parameters before.
    in_application: bool,
    /// Whether it is a specification of a module type.
    in_spec: bool,
}

impl Place {
    /// The top level of a file.
    pub(crate) const fn top(file: FileKind) -> Self {
        Self { file, in_module: false, in_application: false, in_spec: false }
    }

    /// Within a module that stands here.
    pub(crate) const fn module(self) -> Self {
        Self { in_module: true, ..self }
    }

    /// Within the body of a parametric module that is applied here.
    pub(crate) const fn application(self) -> Self {
        Self { in_application: true, ..self }
    }

    /// Within a module type that stands here (`true`), or in a type of a program
    /// within that again.
    pub(crate) const fn spec(self, in_spec: bool) -> Self {
        Self { in_spec, ..self }
    }

    /// Whether it is part of the standard library.
    pub(crate) fn is_prelude(self) -> bool {
        self.file == FileKind::Prelude
    }

    /// Whether it is at the top level of the root file.
    pub(crate) fn is_root(self) -> bool {
        self.file == FileKind::Root && !self.in_module
    }

    /// Whether a module encloses it.
    pub(crate) const fn is_in_module(self) -> bool {
        self.in_module
    }

    /// Whether it is checked for an application of a parametric module.
    pub(crate) const fn is_application(self) -> bool {
        self.in_application
    }

    /// Whether it is a specification of a module type.
    pub(crate) const fn is_spec(self) -> bool {
        self.in_spec
    }
}
