//! Program tables that functions add to: checks, constant data, launches.
//!
//! Each function is generated with tables of its own, independently of other functions. They are
//! appended to the program's tables in the order of the functions, and the ids in the function are
//! shifted accordingly.

use imp::walk::each_stmt_mut;
use imp::{Check, CheckId, Data, DataId, Function, Slots, Stmt};
use indexmap::IndexSet;

#[derive(Default)]
pub(crate) struct ProgramTables {
    checks: IndexSet<Check>,
    data: Vec<Data>,
    launches: u32,
    nests: u32,
}

impl ProgramTables {
    /// The id of a check; equal checks have the same id.
    pub(crate) fn check(&mut self, check: Check) -> CheckId {
        CheckId::new(self.checks.insert_full(check).0)
    }

    /// The id of constant data.
    pub(crate) fn data(&mut self, data: Data) -> DataId {
        self.data.push(data);
        DataId::new(self.data.len() - 1)
    }

    /// The id of a new launch. Ids are counted within the function, so changes to other functions
    /// do not affect them.
    pub(crate) fn launch(&mut self) -> u32 {
        self.launches += 1;
        self.launches - 1
    }

    /// The number of a new nest, counted as launches are.
    pub(crate) fn nest(&mut self) -> u32 {
        self.nests += 1;
        self.nests - 1
    }

    /// Appends a function's own tables and renumbers the ids in its body.
    pub(crate) fn append(&mut self, own: Self, function: &mut Function) {
        let first_data = self.data.len() as u32;
        let checks = own.checks.into_iter().map(|check| self.check(check));
        let checks: Vec<CheckId> = checks.collect();
        self.data.extend(own.data);
        each_stmt_mut(&mut function.body, &mut |stmt| {
            if let Stmt::Check { check: id, .. }
            | Stmt::Alloc(_, _, Some(id))
            | Stmt::Slots(Slots::New(_, _, Some(id)))
            | Stmt::Call { location: Some(id), .. }
            | Stmt::EndNest { nest: id, .. } = stmt
            {
                *id = checks[id.index()];
            } else if let Stmt::ConstData(_, id) = stmt {
                id.0 += first_data;
            }
        });
    }

    /// The program's checks and data.
    pub(crate) fn finish(self) -> (Vec<Check>, Vec<Data>) {
        (self.checks.into_iter().collect(), self.data)
    }
}
