//! Executables of a program by how many threads a block of a device has.
//!
//! That is no parameter of an executable: kernels' text has it. So each number that the search
//! asks for is compiled once, when it is asked for first.

use super::Tuning;
use super::program::Prepared;
use crate::backend::{self, Executable, FOREVER};
use driver::device::Device;
use std::cell::OnceCell;
use std::path::Path;

/// The executables.
pub struct Blocks<'a> {
    tuning: &'a Tuning<'a>,
    file: &'a Path,
    prepared: &'a Prepared,
    /// By the power of two that the number of threads is.
    made: [OnceCell<Result<Made, String>>; 64],
}

/// An executable that was made for some number of threads.
struct Made {
    executable: Executable,
    /// Its own list of parameters: blocks of another size may leave out versions.
    listed: String,
}

impl<'a> Blocks<'a> {
    /// For a program.
    pub fn new(tuning: &'a Tuning<'a>, file: &'a Path, prepared: &'a Prepared) -> Self {
        Self { tuning, file, prepared, made: [const { OnceCell::new() }; 64] }
    }

    /// Whether the executable for a setting has to be compiled before it runs.
    pub fn is_open(&self, setting: &[i64]) -> bool {
        let cell = self.other(setting).map(|block| self.cell(block));
        cell.is_some_and(|cell| cell.get().is_none())
    }

    /// The executable for a setting, and its list of parameters.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(&self, setting: &[i64]) -> Result<(&Executable, &str), String> {
        let Some(block) = self.other(setting) else {
            return Ok((&self.prepared.executable, &self.prepared.listed));
        };
        let made = self.cell(block).get_or_init(|| self.make(block));
        let made = made.as_ref().map_err(String::clone)?;
        Ok((&made.executable, &made.listed))
    }

    fn cell(&self, block: i64) -> &OnceCell<Result<Made, String>> {
        &self.made[block.trailing_zeros() as usize % self.made.len()]
    }

    /// How many threads a block has in a setting, if that is not what it has by default.
    fn other(&self, setting: &[i64]) -> Option<i64> {
        let param = self.prepared.block?;
        let block = *setting.get(param)?;
        (block != *self.prepared.forest.defaults.get(param)?).then_some(block)
    }

    fn make(&self, block: i64) -> Result<Made, String> {
        if !Device::is_block(block) {
            return Err(format!("no block has {block} threads"));
        }
        let path = self.tuning.work.path().join(format!("blocks-{block}"));
        let mut options = self.tuning.args.pass_compiler_option.clone();
        options.push(backend::blocks(block));
        let executable = Executable::build(self.file, path, self.tuning.backend, &options, FOREVER)?;
        let listed = executable.params(self.tuning.patience())?;
        Ok(Made { executable, listed })
    }
}
