//! A driver for tests: blocks are vectors, kernels are a function.

use super::driver::{Arg, Driver, Limits, Memory};

/// The effect of a kernel: its number, the blocks' bytes, its parameters.
pub type Run = fn(usize, &mut Vec<Vec<u8>>, &[Arg]);

/// A device with a limited number of bytes of memory.
pub struct Fake {
    left: u64,
    pub blocks: Vec<Vec<u8>>,
    pub freed: Vec<Memory>,
    pub run: Run,
    /// The number of commands whose times were not collected.
    pub commands: u64,
}

impl Fake {
    pub fn new(memory: u64) -> Self {
        Self { left: memory, blocks: Vec::new(), freed: Vec::new(), run: |_, _, _| {}, commands: 0 }
    }

    fn bytes(&mut self, memory: Memory, at: u64, count: usize) -> &mut [u8] {
        &mut self.blocks[memory.0][at as usize..at as usize + count]
    }
}

impl Driver for Fake {
    #[expect(clippy::unnecessary_literal_bound, reason = "the signature is the trait's")]
    fn name(&self) -> &str {
        "fake"
    }

    fn limits(&self) -> Limits {
        Limits { memory: self.left, block: self.left, shared: 1 << 10, saturating_threads: None }
    }

    fn alloc(&mut self, bytes: u64) -> Result<Option<Memory>, String> {
        if bytes > self.left {
            return Ok(None);
        }
        self.left -= bytes;
        self.blocks.push(vec![0xff; bytes as usize]);
        Ok(Some(Memory(self.blocks.len() - 1)))
    }

    fn free(&mut self, memory: Memory) {
        let bytes = self.blocks.get(memory.0).map_or(0, Vec::len);
        self.left += bytes as u64;
        self.freed.push(memory);
    }

    fn write(&mut self, to: Memory, at: u64, bytes: &[u8]) -> Result<(), String> {
        self.bytes(to, at, bytes.len()).copy_from_slice(bytes);
        self.commands += 1;
        Ok(())
    }

    fn read(&mut self, ranges: &mut [(Memory, u64, &mut [u8])]) -> Result<(), String> {
        for (from, at, into) in ranges {
            let bytes = self.bytes(*from, *at, into.len());
            into.copy_from_slice(bytes);
        }
        self.commands += 1;
        Ok(())
    }

    fn copy(&mut self, to: (Memory, u64), from: (Memory, u64), bytes: u64) -> Result<(), String> {
        let moved = self.bytes(from.0, from.1, bytes as usize).to_vec();
        self.write(to.0, to.1, &moved)
    }

    fn launch(&mut self, kernel: usize, _: u64, args: &[Arg]) -> Result<(), String> {
        (self.run)(kernel, &mut self.blocks, args);
        if kernel == 2 {
            return Err("device lost".to_owned());
        }
        self.commands += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn times(&mut self) -> Result<Vec<u64>, String> {
        let commands = std::mem::take(&mut self.commands);
        Ok((1..=commands).map(|at| 1000 * at).collect())
    }
}
