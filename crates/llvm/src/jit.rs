//! Runs code in this process: ORC's LLJIT links object files into memory. The objects are the
//! same as in executables, byte for byte.

use crate::entries::entry_symbol;
use crate::error::{Error, Res};
use crate::program_table::PROGRAM_SYMBOL;
use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcCreateLLJITBuilder, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile,
    LLVMOrcLLJITGetGlobalPrefix, LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup,
    LLVMOrcLLJITMangleAndIntern, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{
    LLVMJITEvaluatedSymbol, LLVMJITSymbolFlags, LLVMOrcAbsoluteSymbols, LLVMOrcCSymbolMapPair,
    LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess, LLVMOrcJITDylibAddGenerator, LLVMOrcJITDylibDefine,
};
use std::ffi::{CStr, CString};

/// The flags `exported | callable` in LLVM's encoding of symbol flags.
const EXPORTED_CODE: u8 = 1 | 4;

/// Code linked into this process. It can be called while this value lives.
#[derive(Debug)]
pub struct Jit {
    jit: LLVMOrcLLJITRef,
}

// SAFETY: the value is only used to look symbols up and to free the code; ORC's session locks
// itself.
unsafe impl Send for Jit {}
// SAFETY: as above.
unsafe impl Sync for Jit {}

impl Drop for Jit {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and not used after this. An error cannot be reported from `drop`.
        let _ = check(unsafe { LLVMOrcDisposeLLJIT(self.jit) });
    }
}

impl Jit {
    /// Links a program's objects. `symbols` are names and addresses that the code may refer to,
    /// above all the runtime's; other names are looked up in this process.
    ///
    /// # Safety
    /// The symbols must be what the runtime's `abi` specifies under their names, and remain valid
    /// while the value lives.
    pub unsafe fn new(objects: &[Vec<u8>], symbols: &[(&str, *const ())]) -> Result<Self, Error> {
        // SAFETY: the calls follow ORC's ownership rules: the session takes the builder, and its
        // library takes the definitions, the generator and the buffers.
        unsafe {
            let mut jit = std::ptr::null_mut();
            check(LLVMOrcCreateLLJIT(&raw mut jit, LLVMOrcCreateLLJITBuilder()))?;
            let this = Self { jit };
            let library = LLVMOrcLLJITGetMainJITDylib(jit);

            let own = support_symbols();
            let given = |name: &str| symbols.iter().any(|(other, _)| *other == name);
            let own = own.iter().filter(|(name, _)| !given(name)).copied();
            let mut pairs = Vec::new();
            for (name, address) in symbols.iter().copied().chain(own) {
                let name = c_string(name)?;
                pairs.push(LLVMOrcCSymbolMapPair {
                    Name: LLVMOrcLLJITMangleAndIntern(jit, name.as_ptr()),
                    Sym: LLVMJITEvaluatedSymbol {
                        Address: address as u64,
                        Flags: LLVMJITSymbolFlags { GenericFlags: EXPORTED_CODE, TargetFlags: 0 },
                    },
                });
            }
            let definitions = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            check(LLVMOrcJITDylibDefine(library, definitions))?;

            let mut process = std::ptr::null_mut();
            check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &raw mut process,
                LLVMOrcLLJITGetGlobalPrefix(jit),
                None,
                std::ptr::null_mut(),
            ))?;
            LLVMOrcJITDylibAddGenerator(library, process);

            for object in objects {
                let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                    object.as_ptr().cast(),
                    object.len(),
                    c"program".as_ptr(),
                );
                check(LLVMOrcLLJITAddObjectFile(jit, library, buffer))?;
            }
            Ok(this)
        }
    }

    /// The program's table (the runtime's `abi::Program`).
    pub fn program(&self) -> Result<*const (), Error> {
        self.symbol(PROGRAM_SYMBOL)
    }

    /// The code of an entry point (the runtime's `abi::EntryFn`).
    pub fn entry(&self, name: &str) -> Result<*const (), Error> {
        self.symbol(&entry_symbol(name))
    }

    fn symbol(&self, name: &str) -> Res<*const ()> {
        let name = c_string(name)?;
        let mut address = 0;
        // SAFETY: the session lives as long as `self`.
        check(unsafe { LLVMOrcLLJITLookup(self.jit, &raw mut address, name.as_ptr()) })?;
        Ok(address as usize as *const ())
    }
}

fn c_string(text: &str) -> Res<CString> {
    CString::new(text).map_err(|_| Error::bug(format_args!("symbol {text:?} contains a zero byte")))
}

/// Converts an LLVM error.
fn check(error: LLVMErrorRef) -> Res<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the message is read before it is freed; taking it frees the error.
    let message = unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        text
    };
    Err(Error::bug(format_args!("LLVM cannot link the program: {message}")))
}

/// Functions that LLVM calls where the processor has no instruction, and that an executable gets
/// from the C library and the compiler's support library.
fn support_symbols() -> Vec<(&'static str, *const ())> {
    vec![
        ("fma", fma as *const ()),
        ("fmaf", fmaf as *const ()),
        ("__extendhfsf2", extend_half as *const ()),
        ("__truncsfhf2", truncate_to_half as *const ()),
    ]
}

extern "C" fn fma(x: f64, y: f64, z: f64) -> f64 {
    x.mul_add(y, z)
}

extern "C" fn fmaf(x: f32, y: f32, z: f32) -> f32 {
    x.mul_add(y, z)
}

/// Converts a half, passed in the low bits of a vector register, to a single, which travels the
/// same way.
extern "C" fn extend_half(x: f32) -> f32 {
    half::f16::from_bits(x.to_bits() as u16).to_f32()
}

/// Converts a single to a half, with the same passing of halves.
extern "C" fn truncate_to_half(x: f32) -> f32 {
    f32::from_bits(u32::from(half::f16::from_f32(x).to_bits()))
}
