//! The host's device operations: allocation of device memory, copies to and from it, and kernel
//! launches, all by functions of the runtime. A device buffer is represented by a host block, so it
//! is owned and released like all others.

use crate::emit::call_value;
use crate::error::{Error, Res};
use crate::function::FunctionEmitter;
use crate::types::{Value, int};
use imp::{Expr, For, Launch, Region, Space, Var, VarType};
use prim::PrimType;
use std::sync::Arc;

/// The language of the kernels' code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelLanguage {
    /// OpenCL C, which the device's driver compiles.
    OpenCl = 1,
    /// CUDA C++, which NVIDIA's run-time compiler compiles.
    Cuda = 2,
    /// HIP, which AMD's run-time compiler compiles.
    Hip = 3,
}

/// The code of a program's kernels.
#[derive(Clone, Debug)]
pub struct DeviceCode {
    /// The language of the source.
    pub target: KernelLanguage,
    /// The source text.
    pub source: Arc<str>,
    /// The kernels' names in the source, in the order of [`imp::kernels::kernels`].
    pub names: Vec<Arc<str>>,
    /// The extensions that the device must have: names separated by spaces.
    pub required_extensions: Arc<str>,
}

/// The direction of a copy, as in the runtime's `abi`.
const TO_DEVICE: i64 = 0;
const TO_HOST: i64 = 1;
const ON_DEVICE: i64 = 2;

impl<'p, 'c> FunctionEmitter<'_, 'p, 'c> {
    /// Returns true if a variable's block lies in device memory.
    pub fn is_device_buffer(&self, var: Var) -> bool {
        self.var_type(var) == VarType::Buffer(Space::Device)
    }

    /// Copies a row of elements, or one element if there is no extent, to, from or within device
    /// memory.
    pub fn device_copy(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extent: Option<&'p Expr>,
    ) -> Res<()> {
        let way = match (self.is_device_buffer(to.buffer), self.is_device_buffer(from.buffer)) {
            (true, true) => ON_DEVICE,
            (true, false) => TO_DEVICE,
            (false, _) => TO_HOST,
        };
        let size = self.emit.types.const_i64(elem.size() as i64);
        let count = match extent {
            Some(extent) => self.int_expr(extent)?,
            None => self.emit.types.const_i64(1),
        };
        let bytes = self.builder.build_int_mul(count, size, "")?;
        let mut args: Vec<Value<'c>> = vec![self.ctx.into()];
        args.push(self.emit.types.const_i64(way).into());
        for region in [to, from] {
            if self.is_device_buffer(region.buffer) {
                args.push(self.buffer(region.buffer)?.into());
                let offset = self.int_expr(&region.offset)?;
                args.push(self.builder.build_int_mul(offset, size, "")?.into());
            } else {
                args.push(self.region_start(region, elem)?.into());
                args.push(self.emit.types.const_i64(0).into());
            }
        }
        args.push(bytes.into());
        let status = call_value(&self.builder, self.emit.runtime.device_copy, &args)?;
        self.fail_unless_ok(int(status)?)
    }

    /// Launches a kernel. Its arguments are an array of words in the frame: the captured variables,
    /// then the sizes in bytes of its shared-memory buffers.
    pub fn launch(&mut self, f: &'p For, launch: &'p Launch) -> Res<()> {
        let types = self.emit.types;
        let number = self.emit.plan.kernel(launch);
        let number = number.ok_or_else(|| Error::bug("a kernel is not in the plan"))?;
        let blocks = self.expr(&f.to)?;
        let mut values: Vec<Value<'c>> = Vec::with_capacity(launch.captures.len());
        for var in &launch.captures {
            let value = self.get(*var)?;
            values.push(match self.var_type(*var) {
                VarType::Scalar(ty) => self.word(value, ty)?.into(),
                VarType::Buffer(_) => value,
                VarType::Vector(..) => return Err(Error::bug("a kernel captures a vector")),
            });
        }
        for shared in &launch.shared_buffers {
            values.push(self.expr(&shared.bytes)?);
        }
        let words = types.i64.array_type(values.len() as u32);
        let words = self.stack_slot(words, 8)?;
        for (i, word) in values.into_iter().enumerate() {
            let index = types.const_i64(i as i64);
            // SAFETY: there are as many words as values.
            let address = unsafe { self.builder.build_in_bounds_gep(types.i64, words, &[index], "")? };
            self.builder.build_store(address, word)?;
        }
        let number = types.const_i64(number);
        let args = [self.ctx.into(), number.into(), blocks, words.into()];
        let status = call_value(&self.builder, self.emit.runtime.launch, &args)?;
        self.fail_unless_ok(int(status)?)
    }
}
