//! Copies of regular arrays according to their plans; a thread of a kernel copies element by
//! element.

use crate::error::{Error, Res};
use crate::function::Printer;
use imp::{CopyPlan, Expr, Region};
use prim::PrimType;
use std::fmt::Write as _;

impl Printer<'_, '_> {
    /// Copies the elements of one region to another.
    pub fn copy(
        &mut self,
        (to, from): (&Region, &Region),
        elem: PrimType,
        extents: &[Expr],
        plan: CopyPlan,
    ) -> Res<()> {
        if self.unit.dialect.address_spaces.is_some() {
            return self.copy_each((to, from), elem, extents);
        }
        match plan {
            CopyPlan::Memory => self.copy_row((to, from), elem, extents.first()),
            CopyPlan::Elements | CopyPlan::InRegister(_) => self.copy_each((to, from), elem, extents),
            CopyPlan::Dynamic(_) => Err(Error::bug("a dynamic copy has not been replaced by a call")),
        }
    }

    /// Copies one row; a single element if there is no extent.
    fn copy_row(&mut self, (to, from): (&Region, &Region), elem: PrimType, extent: Option<&Expr>) -> Res<()> {
        let (to, from) = (self.start(to, elem)?, self.start(from, elem)?);
        let count = match extent {
            Some(extent) => self.exprs.operand(extent)?,
            None => "1".to_owned(),
        };
        let size = elem.size();
        self.line(format!("memcpy({to}, {from}, (size_t){count} * {size});"));
        Ok(())
    }

    /// Copies element by element, in nested loops of these extents.
    fn copy_each(&mut self, (to, from): (&Region, &Region), elem: PrimType, extents: &[Expr]) -> Res<()> {
        let counters: Vec<String> = (0..extents.len()).map(|i| format!("i{i}")).collect();
        let mut targets = Vec::new();
        for region in [to, from] {
            let elements = self.exprs.elements(region.buffer, elem)?;
            let mut position = self.exprs.operand(&region.offset)?;
            for (counter, stride) in counters.iter().zip(&region.strides) {
                let stride = self.exprs.operand(stride)?;
                // Writing to a string cannot fail.
                let _ = write!(position, " + {counter} * {stride}");
            }
            targets.push(format!("{elements}[{position}]"));
        }
        for (counter, extent) in counters.iter().zip(extents) {
            let extent = self.exprs.whole(extent)?;
            self.begin_block(format!(
                "for (i64 {counter} = 0, {counter}_end = {extent}; {counter} < {counter}_end; {counter}++) {{"
            ));
        }
        self.line(format!("{};", targets.join(" = ")));
        for _ in extents {
            self.end_block("}");
        }
        Ok(())
    }

    /// The address of a region's first element.
    fn start(&self, region: &Region, elem: PrimType) -> Res<String> {
        let elements = self.exprs.elements(region.buffer, elem)?;
        if region.offset == Expr::i64(0) {
            return Ok(elements);
        }
        Ok(format!("{elements} + {}", self.exprs.operand(&region.offset)?))
    }
}
