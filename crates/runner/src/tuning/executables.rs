//! Executables of a program by thread-block size.
//!
//! The block size is a constant of the kernels' source, not a run-time parameter. Each size that the
//! search tries is therefore compiled once, on first use.

use super::Tuning;
use super::program::Prepared;
use crate::executable::{Executable, NO_LIMIT, tblock_size_option};
use driver::device::Device;
use std::cell::OnceCell;
use std::path::Path;

/// The executables of a program.
pub struct TblockExecutables<'a> {
    tuning: &'a Tuning<'a>,
    file: &'a Path,
    prepared: &'a Prepared,
    /// Indexed by the binary logarithm of the block size.
    compiled: [OnceCell<Result<Compiled, String>>; 64],
}

/// An executable compiled for one block size.
struct Compiled {
    executable: Executable,
    /// Its own list of parameters: another block size may lack versions.
    listed: String,
}

impl<'a> TblockExecutables<'a> {
    pub fn new(tuning: &'a Tuning<'a>, file: &'a Path, prepared: &'a Prepared) -> Self {
        Self { tuning, file, prepared, compiled: [const { OnceCell::new() }; 64] }
    }

    /// Returns true if the executable for a setting is not compiled yet.
    pub fn needs_compilation(&self, setting: &[i64]) -> bool {
        let cell = self.changed_size(setting).map(|size| self.cell(size));
        cell.is_some_and(|cell| cell.get().is_none())
    }

    /// Returns the executable for a setting, compiling it if necessary, and its list of parameters.
    ///
    /// # Errors
    /// The executable does not compile or does not list its parameters.
    pub fn executable_for(&self, setting: &[i64]) -> Result<(&Executable, &str), String> {
        let Some(size) = self.changed_size(setting) else {
            return Ok((&self.prepared.executable, &self.prepared.listed));
        };
        let compiled = self.cell(size).get_or_init(|| self.compile(size));
        let compiled = compiled.as_ref().map_err(String::clone)?;
        Ok((&compiled.executable, &compiled.listed))
    }

    fn cell(&self, size: i64) -> &OnceCell<Result<Compiled, String>> {
        &self.compiled[size.trailing_zeros() as usize % self.compiled.len()]
    }

    /// The block size of a setting if it is not the default.
    fn changed_size(&self, setting: &[i64]) -> Option<i64> {
        let param = self.prepared.block?;
        let size = *setting.get(param)?;
        (size != *self.prepared.forest.defaults.get(param)?).then_some(size)
    }

    fn compile(&self, size: i64) -> Result<Compiled, String> {
        if !Device::is_block(size) {
            return Err(format!("a block cannot have {size} threads"));
        }
        let path = self.tuning.work.join(format!("blocks-{size}"));
        let setup = &self.tuning.setup;
        let mut options = setup.pass_compiler.clone();
        options.push(tblock_size_option(size));
        let executable = setup.executable(self.file, path, &options, NO_LIMIT)?;
        let listed = executable.params(self.tuning.default_time_limit())?;
        Ok(Compiled { executable, listed })
    }
}
