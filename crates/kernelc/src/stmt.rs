//! Statements: assignments, memory, calls, checks, conditionals, globals. Loops and copies have
//! files of their own.

use crate::error::{Error, Res};
use crate::function::{Printer, declarator};
use crate::names;
use imp::{Arg, CheckId, Expr, FunId, Slots, Stmt, Var, VarType};

impl<'a> Printer<'a, '_> {
    /// Prints a statement; if `declares`, its assignment declares the variable.
    pub fn stmt(&mut self, stmt: &'a Stmt, declares: bool) -> Res<()> {
        match stmt {
            Stmt::Set(v, e) => {
                let value = self.exprs.whole(e)?;
                self.assign(*v, declares, &value)
            }
            Stmt::Load(v, access) => {
                let element = self.exprs.element(access)?;
                self.assign(*v, declares, &element)
            }
            Stmt::Store(access, e) => {
                let (element, value) = (self.exprs.element(access)?, self.exprs.whole(e)?);
                self.line(format!("{element} = {value};"));
                Ok(())
            }
            Stmt::LoadLanes { .. } | Stmt::StoreLanes { .. } => {
                Err(Error::bug("the back end does not support vectors"))
            }
            Stmt::Alloc(v, bytes, location) => self.new_owned("br_alloc", *v, bytes, *location),
            Stmt::Frame { buffer, elem, count } => {
                self.frame(*buffer, *elem, *count);
                Ok(())
            }
            Stmt::Share(v, w) => {
                let (to, from) = (self.name(*v), self.name(*w));
                self.line(format!("{to} = br_share(ctx, {to}, {from});"));
                Ok(())
            }
            Stmt::Borrow(v, w) => {
                let from = self.name(*w);
                self.assign(*v, declares, from)
            }
            Stmt::Release(v) => {
                let name = self.name(*v);
                self.line(format!("br_unref(ctx, {name});"));
                self.line(format!("{name} = NULL;"));
                Ok(())
            }
            Stmt::Slots(slots) => self.slots(slots, declares),
            Stmt::Copy { to, from, elem, extents, plan } => self.copy((to, from), *elem, extents, *plan),
            Stmt::ConstData(v, data) => {
                let data = names::data(*data);
                self.assign(*v, declares, &format!("(u8 *){data}.values"))
            }
            Stmt::If(cond, yes, no) => self.conditional(cond, yes, no),
            Stmt::While(cond, body) => {
                let cond = self.name(*cond);
                self.begin_block(format!("while ({cond}) {{"));
                self.statements(body)?;
                self.end_block("}");
                Ok(())
            }
            Stmt::For(f) => self.for_loop(f),
            Stmt::Call { fun, args, results, location } => self.call(*fun, args, results, *location),
            Stmt::RecordComparison(id, size) => {
                let size = self.exprs.whole(size)?;
                self.line(format!("br_compared(ctx, {}, {size});", id.0));
                Ok(())
            }
            Stmt::BeginNest | Stmt::EndNest { .. } => Err(Error::bug("a kernel is profiled as a nest")),
            Stmt::Check { cond, check, values } => self.check(cond, *check, values),
            Stmt::ReadGlobal(v, global) => {
                let location = format!("ctx->globals[{}].{}", global.0, self.word(*v)?);
                self.assign(*v, declares, &location)
            }
            Stmt::Device(op) => self.device_op(op),
            Stmt::WriteGlobal(global, v) => {
                let (name, word) = (self.name(*v), self.word(*v)?);
                let value = match self.exprs.var_type(*v) {
                    VarType::Buffer(_) => format!("br_share(ctx, NULL, {name})"),
                    VarType::Scalar(_) | VarType::Vector(..) => name.to_owned(),
                };
                self.line(format!("ctx->globals[{}].{word} = {value};", global.0));
                Ok(())
            }
        }
    }

    /// A variable's name.
    pub fn name(&self, var: Var) -> &'a str {
        self.exprs.name(var)
    }

    /// The member of a word that holds a variable's value.
    fn word(&self, var: Var) -> Res<String> {
        match self.exprs.var_type(var) {
            VarType::Scalar(ty) => Ok(format!("as_{ty}")),
            VarType::Buffer(_) => Ok("block".to_owned()),
            VarType::Vector(..) => Err(Error::bug("a global is a vector")),
        }
    }

    fn assign(&mut self, var: Var, declares: bool, value: &str) -> Res<()> {
        let target = self.target(var, declares)?;
        self.line(format!("{target} = {value};"));
        Ok(())
    }

    /// Assigns a new block to an owned variable, or fails.
    fn new_owned(&mut self, make: &str, var: Var, size: &Expr, location: Option<CheckId>) -> Res<()> {
        let (name, size) = (self.name(var), self.exprs.whole(size)?);
        let location = match location {
            Some(check) => format!("&{}", names::check(check)),
            None => "NULL".to_owned(),
        };
        self.line(format!("{name} = {make}(ctx, {name}, {size}, {location});"));
        self.fail_if(&format!("{name} == NULL"), "");
        Ok(())
    }

    fn slots(&mut self, slots: &Slots, declares: bool) -> Res<()> {
        match slots {
            Slots::New(v, count, location) => self.new_owned("br_slots", *v, count, *location),
            Slots::Put { slots, at, block } => {
                let (slots, block) = (self.name(*slots), self.name(*block));
                let at = self.exprs.whole(at)?;
                self.line(format!("((slot_m *){slots})[{at}] = {block};"));
                self.line(format!("{block} = NULL;"));
                Ok(())
            }
            Slots::Get { var, slots, at } => {
                let (slots, at) = (self.name(*slots), self.exprs.whole(at)?);
                self.assign(*var, declares, &format!("((slot_m *){slots})[{at}]"))
            }
        }
    }

    fn conditional(&mut self, cond: &Expr, yes: &'a [Stmt], no: &'a [Stmt]) -> Res<()> {
        let cond = self.exprs.whole(cond)?;
        self.begin_block(format!("if ({cond}) {{"));
        self.statements(yes)?;
        if no.is_empty() {
            // The printer counts the empty block too.
            self.statements(no)?;
        } else {
            self.end_block("} else {");
            self.indent();
            self.statements(no)?;
        }
        self.end_block("}");
        Ok(())
    }

    /// A call. Results are received in temporaries, so that the addresses of variables used in
    /// loops are not taken.
    fn call(&mut self, fun: FunId, args: &[Arg], results: &[Var], location: Option<CheckId>) -> Res<()> {
        let unit = self.unit;
        let (_, callee) = unit.function(fun.index());
        let mut words = vec!["ctx".to_owned()];
        for arg in args {
            words.push(match arg {
                Arg::Scalar(e) => self.exprs.whole(e)?,
                Arg::Buffer(v) => self.name(*v).to_owned(),
            });
        }
        words.extend((0..results.len()).map(|i| format!("&got{i}")));
        let call = format!("{callee}({}) != 0", words.join(", "));
        let noted = location.map(|check| format!("br_called(ctx, &{});", names::check(check)));
        let noted = noted.unwrap_or_default();
        if results.is_empty() {
            self.fail_if(&call, &noted);
            return Ok(());
        }
        self.begin_block("{");
        for (i, var) in results.iter().enumerate() {
            let ty = self.exprs.spelled(*var)?;
            self.line(format!("{}got{i};", declarator(&ty)));
        }
        self.fail_if(&call, &noted);
        for (i, var) in results.iter().enumerate() {
            let name = self.name(*var);
            if self.exprs.var_type(*var).is_buffer() {
                self.line(format!("br_unref(ctx, {name});"));
            }
            self.line(format!("{name} = got{i};"));
        }
        self.end_block("}");
        Ok(())
    }

    fn check(&mut self, cond: &Expr, check: CheckId, values: &[Expr]) -> Res<()> {
        let words: Res<Vec<String>> = values.iter().map(|e| self.exprs.word(e)).collect();
        let words = words?;
        if self.unit.dialect.address_spaces.is_some() {
            return self.check_in_kernel(cond, check, &words);
        }
        let values =
            if words.is_empty() { "NULL".to_owned() } else { format!("(u64[]){{{}}}", words.join(", ")) };
        let cond = self.exprs.operand(cond)?;
        let said = format!("br_fail(ctx, &{}, {values});", names::check(check));
        self.fail_if(&format!("!{cond}"), &said);
        Ok(())
    }
}
