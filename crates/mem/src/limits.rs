//! Limitations of device kernels. The pass [`offload`](crate::offload()) finds segops that exceed
//! them beforehand, and moves them to the host.

use crate::alloc::Ctx;
use analysis::exact::atomic_operator;
use ir::name::FunName;
use ir::seg::{Seg, SegKind};
use ir::soac::AccInput;
use ir::syntax::{Atom, BasicOp, Param, Stm};
use ir::types::Type;
use ir::{Mems, Name, PassError, Segs};
use target::device::SHARED_MEMORY_BYTES;
use target::memory::FRAME_BYTES;

/// A segop or `withacc` that cannot be a kernel.
pub(crate) struct KernelRefusal {
    /// Its first result.
    pub(crate) name: Name,
    /// The reason.
    pub(crate) why: String,
}

impl Ctx<'_> {
    /// The error for a limitation of kernels.
    pub(crate) fn not_in_kernels(what: &str) -> PassError {
        // `functions` adds the provenance.
        PassError::unsupported(format!("{what} in device kernels"), Vec::new())
    }

    /// Checks that a segop can be a kernel, apart from its body.
    pub(crate) fn check_kernel(&self, seg: &Seg<Segs>) -> Result<(), PassError> {
        let SegKind::ScanReduce(scan_reduce) = &seg.kind else {
            return Ok(());
        };
        if !scan_reduce.is_map() && seg.decomp.updates_per_iteration > 0 {
            let what = "accumulators in reductions and scans";
            return Err(Self::not_in_kernels(what));
        }
        let mapped = scan_reduce.values(&seg.ret).mapped;
        if scan_reduce.post.is_some() && mapped.iter().any(Type::is_array) {
            return Err(Self::not_in_kernels("scans that return mapped arrays"));
        }
        // Each thread has values of these types in the block's shared memory.
        let folded = scan_reduce.operators().flat_map(|op| &op.op.ret);
        let bytes: u64 = folded.filter_map(Type::elem).map(prim::PrimType::size).sum();
        if bytes.saturating_mul(self.block) > SHARED_MEMORY_BYTES {
            return Err(Self::not_in_kernels("operators whose values exceed shared memory"));
        }
        Ok(())
    }

    /// Checks that a device thread can run a basic operation.
    pub(crate) fn check_basic(&self, param: &Param<Segs>, op: &BasicOp) -> Result<(), PassError> {
        if !self.in_kernel() {
            return Ok(());
        }
        let what = match (op, &param.ty) {
            (BasicOp::UpdateAcc { .. }, Type::Acc { token, .. })
                if self.combining.get(token) == Some(&false) =>
            {
                "accumulators whose operator is not atomic"
            }
            (BasicOp::ConstArray { bytes, .. }, _) if bytes.len() as i64 > FRAME_BYTES => {
                "large constant arrays"
            }
            (BasicOp::Param { default: Atom::Var(_), .. }, _) => {
                "tuning parameters whose default is computed"
            }
            _ => return Ok(()),
        };
        Err(Self::not_in_kernels(what))
    }

    /// Checks that a device thread can make a call.
    pub(crate) fn check_call(&self, pat: &[Param<Segs>], fun: &FunName) -> Result<(), PassError> {
        let callee = self.callees.get(fun)?;
        if !self.in_kernel() || callee.constant {
            return Ok(());
        }
        match callee.not_in_kernels {
            Some(what) => Err(Self::not_in_kernels(what)),
            None if pat.iter().any(|param| param.ty.is_array()) => {
                Err(Self::not_in_kernels("functions on arrays"))
            }
            None => Ok(()),
        }
    }

    /// Records for accumulators whether devices apply their operator atomically. Accumulators local
    /// to a thread need no atomic updates.
    pub(crate) fn note_accumulators(&mut self, inputs: &[AccInput<Segs>], tokens: &[Param<Segs>]) {
        if self.in_kernel() && !self.in_block() {
            return;
        }
        for (input, token) in inputs.iter().zip(tokens) {
            if let Some(op) = &input.op {
                let atomic = input.arrays.len() == 1 && atomic_operator(&op.op).is_some();
                self.combining.insert(token.name, atomic);
            }
        }
    }

    /// Appends a segop or `withacc` that becomes a kernel. If it cannot be one and refusals are
    /// collected, the refusal is recorded and only its results get a location.
    pub(crate) fn kernel_or_refuse(
        &mut self,
        pat: Vec<Param<Segs>>,
        out: &mut Vec<Stm<Mems>>,
        make: impl FnOnce(&mut Self, Vec<Param<Segs>>, &mut Vec<Stm<Mems>>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let Some(before) = self.refused.as_ref().map(Vec::len) else {
            return make(self, pat, out);
        };
        let (start, inside) = (out.len(), self.in_segop);
        let own = pat.clone();
        let made = make(self, pat, out);
        // A refusal inside applies to the whole.
        let inner = self.refused.as_mut();
        let inner = inner.and_then(|refused| refused.split_off(before).pop());
        let why = match (made, inner) {
            (Err(PassError::Unsupported { what, .. }), _) => what,
            (Err(other), _) => return Err(other),
            (Ok(()), Some(refusal)) => refusal.why,
            (Ok(()), None) => return Ok(()),
        };
        (self.in_segop, self.kernel) = (inside, None);
        out.truncate(start);
        if let (Some(refused), Some(first)) = (&mut self.refused, own.first()) {
            let name = first.name;
            refused.push(KernelRefusal { name, why });
        }
        self.returned(own);
        Ok(())
    }
}
