//! What the host does with a device: it allocates memory there, copies to and from it, and
//! launches kernels, all by functions of the runtime. A buffer of the device is a block of
//! the host's that stands for it, so it is owned and given back like all others.

use crate::emit::call_value;
use crate::error::{Error, Res};
use crate::function::Frame;
use crate::types::{Value, int};
use imp::{Expr, For, Launch, Region, Space, Var, VarType};
use prim::PrimType;
use std::sync::Arc;

/// What the code of kernels is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// OpenCL C, which the device's driver compiles.
    OpenCl = 1,
    /// CUDA C++, which NVIDIA's compiler at run time compiles.
    Cuda = 2,
    /// HIP, which AMD's compiler at run time compiles.
    Hip = 3,
}

/// The code of a program's kernels.
#[derive(Clone, Debug)]
pub struct DeviceCode {
    /// What it is written in.
    pub target: Target,
    /// The text.
    pub source: Arc<str>,
    /// The kernels' names in it, in the order of [`imp::kernels::kernels`].
    pub names: Vec<Arc<str>>,
    /// What the device has to have: names of extensions, with spaces between.
    pub needs: Arc<str>,
}

/// Which way a copy goes, as the runtime's interface has it.
const TO_DEVICE: i64 = 0;
const TO_HOST: i64 = 1;
const ON_DEVICE: i64 = 2;

impl<'p, 'c> Frame<'_, 'p, 'c> {
    /// Whether a variable's block lies on the device.
    pub fn is_remote(&self, var: Var) -> Res<bool> {
        Ok(self.var_type(var)? == VarType::Buffer(Space::Device))
    }

    /// A row of elements, or one element if there is no extent, moves to, from or on the
    /// device.
    pub fn device_copy(
        &mut self,
        (to, from): (&'p Region, &'p Region),
        elem: PrimType,
        extent: Option<&'p Expr>,
    ) -> Res<()> {
        let way = match (self.is_remote(to.buffer)?, self.is_remote(from.buffer)?) {
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
            if self.is_remote(region.buffer)? {
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

    /// A kernel is launched; what it captures are words in the frame, then the bytes of what
    /// it has in the scratchpad.
    pub fn launch(&mut self, f: &'p For, launch: &'p Launch) -> Res<()> {
        let types = self.emit.types;
        let number = self.emit.plan.kernel(launch);
        let number = number.ok_or_else(|| Error::bug("a kernel has no number"))?;
        let blocks = self.expr(&f.to)?;
        let mut values: Vec<Value<'c>> = Vec::with_capacity(launch.captures.len());
        for var in &launch.captures {
            let value = self.get(*var)?;
            values.push(match self.var_type(*var)? {
                VarType::Scalar(ty) => self.word(value, ty)?.into(),
                VarType::Buffer(_) => value,
                VarType::Vector(..) => return Err(Error::bug("a kernel takes a vector")),
            });
        }
        for pad in &launch.pads {
            values.push(self.expr(&pad.bytes)?);
        }
        let words = types.i64.array_type(values.len() as u32);
        let words = self.stack_slot(words, 8)?;
        for (i, word) in values.into_iter().enumerate() {
            let index = types.const_i64(i as i64);
            // SAFETY: there are as many words as values.
            let place = unsafe { self.builder.build_in_bounds_gep(types.i64, words, &[index], "")? };
            self.builder.build_store(place, word)?;
        }
        let number = types.const_i64(number);
        let args = [self.ctx.into(), number.into(), blocks, words.into()];
        let status = call_value(&self.builder, self.emit.runtime.launch, &args)?;
        self.fail_unless_ok(int(status)?)
    }
}
