//! The symbols that generated code refers to, for the JIT's linker.

use crate::{comparison_log, context, device, error, exe, heap, math, nests, sched};

/// Every symbol of the runtime that generated code may use, with its address.
pub fn symbols() -> Vec<(&'static str, *const ())> {
    let mut all: Vec<(&'static str, *const ())> = vec![
        ("br_alloc", heap::br_alloc as *const ()),
        ("br_slots", heap::br_slots as *const ()),
        ("br_ref", heap::br_ref as *const ()),
        ("br_unref", heap::br_unref as *const ()),
        ("br_unref_all", heap::br_unref_all as *const ()),
        ("br_tasks", sched::br_tasks as *const ()),
        ("br_tasks_coarse", sched::br_tasks_coarse as *const ()),
        ("br_fail", error::br_fail as *const ()),
        ("br_called", error::br_called as *const ()),
        ("br_compared", comparison_log::br_compared as *const ()),
        ("br_begin_nest", nests::br_begin_nest as *const ()),
        ("br_end_nest", nests::br_end_nest as *const ()),
        ("br_stack_check", context::br_stack_check as *const ()),
        ("br_device_alloc", device::br_device_alloc as *const ()),
        ("br_device_copy", device::br_device_copy as *const ()),
        ("br_launch", device::br_launch as *const ()),
        ("br_main", exe::br_main as *const ()),
        ("br_main_levels", exe::br_main_levels as *const ()),
    ];
    all.extend(math::symbols());
    all
}
