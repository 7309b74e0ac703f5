//! The context of memory assignment for a function: types, annotations, fresh blocks and copies.

use crate::callees::Callees;
use crate::capacity_guards::Capacity;
use crate::destinations::Destination;
use crate::kernel::Kernel;
use analysis::must_alias::MustAlias;
use ir::mem::{Block, Lmad, MemAnn, MemOp};
use ir::name::{Name, NameTable, Prov};
use ir::remark::CopyReason;
use ir::syntax::{Atom, Aux, BasicOp, Exp, Param, Stm};
use ir::types::{Dim, Type};
use ir::{Fuel, Mems, Options, PassError, Segs};
use prim::{BinOp, CmpOp, ConvOp, PrimType, Scalar};
use rustc_hash::FxHashMap;
use target::memories::MemoryId;
use target::memory::FRAME_BYTES;

/// The largest size of a block, so that byte counts and offsets do not wrap.
const MAX_BYTES: i64 = 1 << 60;

/// The state of memory assignment for a function.
pub(crate) struct Ctx<'a> {
    pub(crate) names: NameTable,
    pub(crate) callees: &'a Callees,
    pub(crate) roots: MustAlias,
    pub(crate) destinations: FxHashMap<Name, Destination>,
    /// The number of arrays that may still get a location other than a block of their own.
    pub(crate) fuel: &'a mut Fuel,
    /// True in a segop's body.
    pub(crate) in_segop: bool,
    /// The memory of arrays that are in no other memory.
    pub(crate) home_memory: MemoryId,
    /// The enclosing device kernel.
    pub(crate) kernel: Option<Kernel>,
    /// The number of threads of a thread block.
    pub(crate) block: u64,
    /// The use of shared memory.
    pub(crate) capacity: Capacity,
    /// The copies made, if remarks are requested.
    decided: Option<Vec<(Name, Prov, CopyReason)>>,
    types: Vec<Option<Type>>,
    anns: Vec<MemAnn>,
}

impl<'a> Ctx<'a> {
    pub(crate) fn new(
        names: NameTable,
        callees: &'a Callees,
        roots: MustAlias,
        fuel: &'a mut Fuel,
        (options, home): (&Options, MemoryId),
    ) -> Self {
        let n = names.len();
        Self {
            names,
            callees,
            roots,
            destinations: FxHashMap::default(),
            fuel,
            in_segop: false,
            home_memory: home,
            kernel: None,
            block: options.device.block.unsigned_abs(),
            capacity: Capacity::default(),
            decided: options.remarks.then(Vec::new),
            types: vec![None; n],
            anns: vec![MemAnn::None; n],
        }
    }

    /// Takes the copies made, with their reasons.
    pub(crate) fn copies(&mut self) -> Vec<(Name, Prov, CopyReason)> {
        self.decided.take().unwrap_or_default()
    }

    /// Registers a bound name.
    pub(crate) fn bind(&mut self, name: Name, ty: Type, ann: MemAnn) -> Param<Mems> {
        if name.index() >= self.types.len() {
            self.types.resize(self.names.len(), None);
            self.anns.resize(self.names.len(), MemAnn::None);
        }
        self.types[name.index()] = Some(ty.clone());
        self.anns[name.index()] = ann.clone();
        Param { name, ty, ann }
    }

    /// Creates a fresh bound name.
    pub(crate) fn fresh(&mut self, hint: &str, ty: Type, ann: MemAnn) -> Param<Mems> {
        let name = self.names.fresh(hint);
        self.bind(name, ty, ann)
    }

    /// Binds a name that is not an array.
    pub(crate) fn plain(&mut self, param: Param<Segs>) -> Result<Param<Mems>, PassError> {
        if param.ty.is_array() {
            return Err(PassError::bug("an array is bound where only a scalar can be"));
        }
        Ok(self.bind(param.name, param.ty, MemAnn::None))
    }

    /// The annotation of a bound name.
    pub(crate) fn ann(&self, name: Name) -> MemAnn {
        self.anns.get(name.index()).cloned().unwrap_or_default()
    }

    /// The block and index function of a bound array.
    pub(crate) fn location_of(&self, name: Name) -> Result<(Name, Lmad), PassError> {
        match self.ann(name) {
            MemAnn::In { block: Block::Var(block), lmad } => Ok((block, lmad)),
            MemAnn::In { block: Block::Ext(_), lmad: _ } | MemAnn::None => {
                Err(PassError::bug(format!("{}_{} has no memory block", self.names.hint(name), name.0)))
            }
        }
    }

    /// The type of a bound name.
    pub(crate) fn type_of(&self, name: Name) -> Result<Type, PassError> {
        self.types.get(name.index()).cloned().flatten().ok_or_else(|| {
            let hint = self.names.hint(name);
            PassError::bug(format!("{hint}_{} is used before it is bound", name.0))
        })
    }

    /// Returns true if a local array of this type is in registers here.
    pub(crate) fn small(&self, ty: &Type) -> bool {
        self.in_segop && is_small(ty) && !self.in_block()
    }

    /// Allocates a block for an array of this type.
    pub(crate) fn alloc(&mut self, hint: &str, ty: &Type, prov: Prov, out: &mut Vec<Stm<Mems>>) -> Name {
        if self.small(ty) {
            self.alloc_in(hint, ty, MemoryId::Registers, prov, out)
        } else if let Some(kernel) = self.kernel.take() {
            self.alloc_in_kernel(kernel, (hint, ty), prov, out)
        } else {
            self.alloc_in(hint, ty, self.home_memory, prov, out)
        }
    }

    /// Allocates a block in a memory for an array of this type.
    pub(crate) fn alloc_in(
        &mut self,
        hint: &str,
        ty: &Type,
        memory: MemoryId,
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Name {
        let bytes = self.bytes(ty, prov, out);
        self.alloc_bytes(hint, bytes, memory, prov, out)
    }

    /// Allocates a block of `bytes` bytes in a memory.
    pub(crate) fn alloc_bytes(
        &mut self,
        hint: &str,
        bytes: Atom,
        memory: MemoryId,
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Name {
        let block = self.fresh(&format!("{hint}_mem"), Type::Mem(memory), MemAnn::None);
        let name = block.name;
        let exp = Exp::Op(MemOp::Alloc { bytes, memory });
        out.push(Stm { pat: vec![block], aux: Aux::at(prov), exp });
        name
    }

    /// Emits the number of bytes of an array, negative if it exceeds [`MAX_BYTES`].
    pub(crate) fn bytes(&mut self, ty: &Type, prov: Prov, out: &mut Vec<Stm<Mems>>) -> Atom {
        if let Some(bytes) = constant_bytes(ty) {
            return Atom::i64(if bytes <= MAX_BYTES { bytes } else { -1 });
        }
        let size = ty.elem().map_or(1, |elem| elem.size() as i64);
        let mut factor = size;
        let mut names = Vec::new();
        for dim in ty.shape() {
            match dim.atom() {
                Some(Atom::Const(n)) => {
                    factor = factor.saturating_mul(n.as_i64().unwrap_or(1)).min(MAX_BYTES + 1);
                }
                Some(Atom::Var(name)) => names.push(Atom::Var(name)),
                None => {}
            }
        }
        let mut product = Atom::i64(factor);
        let fits = if let [name] = names[..] {
            // One unknown size: an unsigned comparison also rejects negative ones.
            let limit = Atom::i64(MAX_BYTES / factor.max(1));
            let op = BasicOp::compare(CmpOp::ULe, PrimType::I64, name, limit);
            let fits = self.scalar("fits", PrimType::Bool, op, prov, out);
            let op = BasicOp::binary(BinOp::Mul, PrimType::I64, name, product);
            product = self.scalar("bytes", PrimType::I64, op, prov, out);
            fits
        } else {
            // Several unknown sizes: their product in floating point is exact enough for the
            // comparison.
            let mut float = Atom::Const(Scalar::F64(factor as f64));
            for name in names {
                let op = BasicOp::convert(ConvOp::SToF, PrimType::I64, PrimType::F64, name);
                let size = self.scalar("size", PrimType::F64, op, prov, out);
                let op = BasicOp::binary(BinOp::FMul, PrimType::F64, float, size);
                float = self.scalar("product", PrimType::F64, op, prov, out);
                let op = BasicOp::binary(BinOp::Mul, PrimType::I64, product, name);
                product = self.scalar("bytes", PrimType::I64, op, prov, out);
            }
            let limit = Atom::Const(Scalar::F64(MAX_BYTES as f64));
            let op = BasicOp::compare(CmpOp::FLe, PrimType::F64, float, limit);
            self.scalar("fits", PrimType::Bool, op, prov, out)
        };
        let select = BasicOp::select(PrimType::I64, fits, product, Atom::i64(-1));
        self.scalar("bytes", PrimType::I64, select, prov, out)
    }

    /// Binds a scalar operation.
    pub(crate) fn scalar(
        &mut self,
        hint: &str,
        ty: PrimType,
        op: BasicOp,
        prov: Prov,
        out: &mut Vec<Stm<Mems>>,
    ) -> Atom {
        let pat = self.fresh(hint, Type::Prim(ty), MemAnn::None);
        let name = pat.name;
        out.push(Stm { pat: vec![pat], aux: Aux::at(prov), exp: Exp::Basic(op) });
        Atom::Var(name)
    }

    /// The location of a new array: its destination if it has one, else a new block.
    pub(crate) fn locate_new(&mut self, param: &Param<Segs>, prov: Prov, out: &mut Vec<Stm<Mems>>) -> MemAnn {
        if !param.ty.is_array() {
            return MemAnn::None;
        }
        if let Some(Destination { block, lmad }) = self.dest(param) {
            return MemAnn::In { block: Block::Var(block), lmad };
        }
        let hint = self.names.hint(param.name).clone();
        let block = self.alloc(&hint, &param.ty, prov, out);
        self.whole_in(block, &param.ty)
    }

    /// The destination of a bound array.
    pub(crate) fn dest(&self, param: &Param<Segs>) -> Option<Destination> {
        let dest = self.destinations.get(&param.name)?;
        let rank = dest.lmad.dims.len();
        (rank == param.ty.rank())
            .then(|| Destination { block: dest.block, lmad: dest.lmad.with_extents(param.ty.shape()) })
    }

    /// Copies an array to a location.
    pub(crate) fn copy_to(
        &mut self,
        array: Name,
        ann: MemAnn,
        prov: Prov,
        why: CopyReason,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<Name, PassError> {
        self.copied(array, why, prov);
        let ty = self.type_of(array)?;
        let hint = self.names.hint(array).clone();
        let pat = self.fresh(&hint, ty, ann);
        let name = pat.name;
        let exp = Exp::Basic(BasicOp::Copy(array));
        out.push(Stm { pat: vec![pat], aux: Aux::at(prov), exp });
        Ok(name)
    }

    /// Records that an array is copied.
    pub(crate) fn copied(&mut self, array: Name, why: CopyReason, prov: Prov) {
        if let Some(decided) = &mut self.decided {
            decided.push((array, prov, why));
        }
    }

    /// Transfers an array to a new block in another memory, row-major from its start, under the name
    /// of `to`. Returns the block.
    pub(crate) fn transfer(
        &mut self,
        array: Name,
        (to, memory): (Param<Segs>, MemoryId),
        prov: Prov,
        why: CopyReason,
        out: &mut Vec<Stm<Mems>>,
    ) -> Name {
        self.copied(array, why, prov);
        let hint = self.names.hint(to.name).clone();
        let block = self.alloc_in(&hint, &to.ty, memory, prov, out);
        let ann = row_major_in(block, &to.ty);
        let pat = vec![self.bind(to.name, to.ty, ann)];
        out.push(Stm { pat, aux: Aux::at(prov), exp: Exp::Op(MemOp::Transfer { array }) });
        block
    }

    /// Returns the array and its block if it is row-major from the start of a block in the home
    /// memory, else a copy that is.
    pub(crate) fn row_major_home(
        &mut self,
        array: Name,
        prov: Prov,
        why: CopyReason,
        out: &mut Vec<Stm<Mems>>,
    ) -> Result<(Name, Name), PassError> {
        let (block, lmad) = self.location_of(array)?;
        let ty = self.type_of(array)?;
        let at_home = self.type_of(block)? == Type::Mem(self.home_memory);
        if at_home && lmad == Lmad::row_major(ty.shape()) {
            return Ok((array, block));
        }
        let hint = self.names.hint(array).clone();
        let block = self.alloc_in(&hint, &ty, self.home_memory, prov, out);
        let copy = self.copy_to(array, row_major_in(block, &ty), prov, why, out)?;
        Ok((copy, block))
    }
}

/// Returns true if an array of this type is in registers where it is local to an iteration.
pub(crate) fn is_small(ty: &Type) -> bool {
    constant_bytes(ty).is_some_and(|bytes| bytes <= FRAME_BYTES)
}

/// The number of bytes of an array, if it is constant.
pub(crate) fn constant_bytes(ty: &Type) -> Option<i64> {
    let size = ty.elem()?.size() as i64;
    ty.shape().iter().try_fold(size, |bytes, dim| match dim {
        Dim::Const(n) => Some(bytes.saturating_mul(*n)),
        Dim::Var(_) | Dim::Ext(_) => None,
    })
}

/// The annotation of an array that is row-major from the start of a block.
pub(crate) fn row_major_in(block: Name, ty: &Type) -> MemAnn {
    MemAnn::In { block: Block::Var(block), lmad: Lmad::row_major(ty.shape()) }
}
