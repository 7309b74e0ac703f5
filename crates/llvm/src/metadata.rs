//! Metadata: facts about loops, accesses and branches that LLVM may assume.
//!
//! - An *access group* marks the accesses of an independent loop; the loop's id names the group, so
//!   the vectoriser emits no run-time checks.
//! - *Alias scopes* say which accesses do not alias: one scope for each buffer that is distinct in
//!   a task's body.
//!
//! Groups must be distinct nodes without operands, which LLVM's C interface cannot create; a module
//! is therefore parsed from a text that declares as many as it needs.

use crate::error::{Error, Res};
use imp::walk::each_stmt;
use imp::{For, LoopMode, Stmt};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::{LLVMMDNodeInContext2, LLVMMetadataAsValue, LLVMValueAsMetadata};
use inkwell::llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use inkwell::llvm_sys::prelude::LLVMMetadataRef;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::{AsValueRef, BasicMetadataValueEnum, InstructionValue, MetadataValue};
use std::cell::RefCell;
use std::fmt::Write;

const GROUPS: &str = "bindrune.access.groups";

/// The metadata kinds in use, and the access groups that are not used yet.
pub struct Metadata<'c> {
    context: &'c Context,
    access_group: u32,
    scope: u32,
    noalias: u32,
    weights: u32,
    loop_id: u32,
    invariant: u32,
    align: u32,
    unused_access_groups: RefCell<Vec<MetadataValue<'c>>>,
}

/// Creates a module with `count` access groups, one for each independent loop.
pub fn module(context: &Context, count: usize) -> Res<(Module<'_>, Metadata<'_>)> {
    let mut text = String::new();
    if count > 0 {
        let ids: Vec<String> = (0..count).map(|i| format!("!{i}")).collect();
        let _ = writeln!(text, "!{GROUPS} = !{{{}}}", ids.join(", "));
        for i in 0..count {
            let _ = writeln!(text, "!{i} = distinct !{{}}");
        }
    }
    // LLVM's parser requires the terminating zero inside the buffer.
    text.push('\0');
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "groups");
    let module = context.create_module_from_ir(buffer).map_err(Error::bug)?;
    let mut free_groups = module.get_global_metadata(GROUPS);
    free_groups.reverse();
    let kind = |name: &str| context.get_kind_id(name);
    let metadata = Metadata {
        context,
        access_group: kind("llvm.access.group"),
        scope: kind("alias.scope"),
        noalias: kind("noalias"),
        weights: kind("prof"),
        loop_id: kind("llvm.loop"),
        invariant: kind("invariant.load"),
        align: kind("align"),
        unused_access_groups: RefCell::new(free_groups),
    };
    Ok((module, metadata))
}

/// The number of independent loops in statements, nested ones included.
pub fn independent_loops(stmts: &[Stmt]) -> usize {
    let mut count = 0;
    each_stmt(stmts, &mut |stmt| {
        if let Stmt::For(For { mode, .. }) = stmt {
            let ordered = matches!(mode, LoopMode::Seq { independent: false } | LoopMode::Scheduled);
            count += usize::from(!ordered);
        }
    });
    count
}

impl<'c> Metadata<'c> {
    fn node(&self, operands: &[MetadataValue<'c>]) -> MetadataValue<'c> {
        let operands: Vec<BasicMetadataValueEnum<'c>> = operands.iter().map(|m| (*m).into()).collect();
        self.context.metadata_node(&operands)
    }

    /// Creates a distinct node whose first operand is itself.
    fn distinct(&self, operands: &[MetadataValue<'c>]) -> MetadataValue<'c> {
        let context = self.context.as_ctx_ref();
        // SAFETY: all nodes belong to the living context; the temporary node is replaced, which
        // also frees it, before anything else can refer to it.
        unsafe {
            let placeholder = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
            let mut all: Vec<LLVMMetadataRef> = vec![placeholder];
            all.extend(operands.iter().map(|m| LLVMValueAsMetadata(m.as_value_ref())));
            let node = LLVMMDNodeInContext2(context, all.as_mut_ptr(), all.len());
            LLVMMetadataReplaceAllUsesWith(placeholder, node);
            MetadataValue::new(LLVMMetadataAsValue(context, node))
        }
    }

    fn attach(instruction: InstructionValue<'c>, node: MetadataValue<'c>, kind: u32) -> Res<()> {
        instruction.set_metadata(node, kind).map_err(Error::bug)
    }

    /// Returns an unused access group.
    pub fn new_group(&self) -> Res<MetadataValue<'c>> {
        let group = self.unused_access_groups.borrow_mut().pop();
        group.ok_or_else(|| Error::bug("the access groups are used up"))
    }

    /// Adds an access to access groups.
    pub fn add_to_access_groups(
        &self,
        instruction: InstructionValue<'c>,
        groups: &[MetadataValue<'c>],
    ) -> Res<()> {
        match groups {
            [] => Ok(()),
            [group] => Self::attach(instruction, *group, self.access_group),
            _ => Self::attach(instruction, self.node(groups), self.access_group),
        }
    }

    /// Describes the loop of a back edge: the group of accesses that are independent, if there is one, and
    /// whether LLVM may unroll the loop.
    pub fn describe_loop(
        &self,
        back: InstructionValue<'c>,
        independent: Option<MetadataValue<'c>>,
        unrolls: bool,
    ) -> Res<()> {
        let mut facts = Vec::new();
        if let Some(group) = independent {
            let name = self.context.metadata_string("llvm.loop.parallel_accesses");
            facts.push(self.node(&[name, group]));
        }
        if !unrolls {
            facts.push(self.node(&[self.context.metadata_string("llvm.loop.unroll.disable")]));
        }
        if facts.is_empty() { Ok(()) } else { Self::attach(back, self.distinct(&facts), self.loop_id) }
    }

    /// Creates alias scopes for `count` buffers that do not alias.
    pub fn scopes(&self, count: usize) -> Vec<MetadataValue<'c>> {
        let domain = self.distinct(&[]);
        (0..count).map(|_| self.distinct(&[domain])).collect()
    }

    /// Sets the alias scope of an access, and the scopes that it does not alias.
    pub fn set_alias_scope(
        &self,
        instruction: InstructionValue<'c>,
        own: Option<MetadataValue<'c>>,
        others: &[MetadataValue<'c>],
    ) -> Res<()> {
        if let Some(own) = own {
            Self::attach(instruction, self.node(&[own]), self.scope)?;
        }
        if !others.is_empty() {
            Self::attach(instruction, self.node(others), self.noalias)?;
        }
        Ok(())
    }

    /// Marks a conditional branch whose first target is taken nearly always.
    pub fn set_likely(&self, branch: InstructionValue<'c>) -> Res<()> {
        let int = |x| BasicMetadataValueEnum::from(self.context.i32_type().const_int(x, false));
        let name = self.context.metadata_string("branch_weights");
        let node = self.context.metadata_node(&[name.into(), int(2000), int(1)]);
        Self::attach(branch, node, self.weights)
    }

    /// Marks a load from memory that does not change.
    pub fn invariant(&self, load: InstructionValue<'c>) -> Res<()> {
        Self::attach(load, self.node(&[]), self.invariant)
    }

    /// Marks a load of a buffer pointer as aligned to 64 bytes.
    pub fn set_buffer_alignment(&self, load: InstructionValue<'c>) -> Res<()> {
        let align = self.context.i64_type().const_int(64, false);
        Self::attach(load, self.context.metadata_node(&[align.into()]), self.align)
    }
}
