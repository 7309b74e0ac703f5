//! The parser of bodies, statements, functions and programs, and the rows of expressions. Operations
//! implement their own parsing.

use super::cursor::Parser;
use super::lex::Token;
use super::part::{Part, Result, Row, Rows, rows};
use super::{DEFINITION, Printer, TextForm, TextLevel};
use crate::facts::{FactFlag, Facts, Filter, Partition, SharedBy, SharedRead};
use crate::math::MathDefinition;
use crate::name::NameTable;
use crate::prov::{MAX_STACKS, Prov, ProvEntry, ProvTable, SrcLoc};
use crate::syntax::{Attr, Attrs, Aux, BasicOp, Body, Exp, FunKind, Function, LoopForm, Program, Stm};
use crate::tunable::Tunable;
use std::sync::Arc;
use target::levels::Stack;

rows! {
    p, [L] Exp<L>;
    others {
        Basic(0: op) = [{ op.print(p) }];
        Op(0: op) = [{ op.print(p) }];
    }
    If { cond, then_body, else_body } = "if" [cond "then" then_body "else" else_body];
    Loop { params, form, body } = "loop" [params (Row form) "do" body];
    Apply { fun, args } = "call" [fun args];
}

rows! {
    p, [] LoopForm;
    others {}
    For { var, ty, bound } = "for" [var ~ ":" ty "<" bound];
    While { cond } = "while" [cond];
}

impl Parser<'_> {
    /// Parts that begin with a word.
    pub(super) fn clauses<T: Part>(&mut self, word: &str) -> Result<Vec<T>> {
        let mut parts = Vec::new();
        while self.take_keyword(word) {
            parts.push(T::parse_part(self)?);
        }
        Ok(parts)
    }

    fn attrs(&mut self) -> Result<Attrs> {
        let mut attrs = Attrs::default();
        while self.take("#") {
            self.punct("[")?;
            let attr = match self.take_string() {
                Some(text) => Attr::of(&text),
                None => Attr::of(self.ident()?),
            };
            attrs.add(attr);
            self.punct("]")?;
        }
        Ok(attrs)
    }

    /// A body in braces.
    pub fn body<L: TextLevel>(&mut self) -> Result<Body<L>> {
        self.nested(|p| {
            p.punct("{")?;
            let mut stms = Vec::new();
            while p.take_keyword("let") {
                stms.push(p.stm()?);
            }
            if !p.take_keyword("in") {
                return p.expected("`let` or `in`");
            }
            let result = Part::parse_part(p)?;
            p.punct("}")?;
            Ok(Body { stms, result })
        })
    }

    fn stm<L: TextLevel>(&mut self) -> Result<Stm<L>> {
        let pat = if self.peek("(") { Part::parse_part(self)? } else { vec![Part::parse_part(self)?] };
        let certs = if self.take("<") { self.separated(">", Self::name)? } else { Vec::new() };
        let attrs = self.attrs()?;
        let prov = if self.take("^") { Prov(self.integer()?) } else { Prov::NONE };
        let facts = self.facts()?;
        self.punct("=")?;
        let exp = self.exp()?;
        Ok(Stm { pat, aux: Aux { certs: certs.into(), attrs, prov, facts }, exp })
    }

    fn facts(&mut self) -> Result<Facts> {
        let mut facts = Facts::default();
        if !self.take("{") {
            return Ok(facts);
        }
        loop {
            if self.take_keyword("filter") {
                facts.set_filter(Filter {
                    flag: self.integer()?,
                    values: self.list(Self::integer)?,
                    offset: self.integer()?,
                });
            } else if let complete = self.take_keyword("complete")
                && self.take_keyword("partition")
            {
                let values = self.list(Self::integer)?;
                facts.set_partition(Partition { values, offsets: self.list(Part::parse_part)?, complete });
            } else if self.take_keyword("order") {
                let result = self.integer()?;
                facts.set_layout(result, self.list(Self::integer)?.into());
            } else if self.take_keyword("shared") {
                let by = SharedBy::ALL.into_iter().find(|by| self.take_keyword(by.name()));
                let Some(by) = by else {
                    return self.expected("`row`, `column` or `loop`");
                };
                let block = self.name()?;
                self.keyword("at")?;
                facts.set_shared(SharedRead { by, block, offset: Part::parse_part(self)? });
            } else if let Some(mark) = (FactFlag::ALL.into_iter()).find(|m| self.take_keyword(m.name())) {
                facts.add(mark);
            } else {
                return self.expected("a fact");
            }
            if !self.take(",") {
                self.punct("}")?;
                return Ok(facts);
            }
        }
    }

    fn exp<L: TextLevel>(&mut self) -> Result<Exp<L>> {
        if let Some(exp) = Exp::parse_row(self)? {
            return Ok(exp);
        }
        if let Some(op) = L::Op::parse(self)? {
            return Ok(Exp::Op(op));
        }
        match BasicOp::parse(self)? {
            Some(op) => Ok(Exp::Basic(op)),
            None => self.error(format!("expected an operation of the level `{}`", L::NAME)),
        }
    }

    /// A whole program.
    pub(super) fn program<L: TextLevel>(mut self) -> Result<Program<L>> {
        if !self.take_keyword(L::NAME) {
            return self.expected(&format!("the level `{}`", L::NAME));
        }
        let stack = self.machine()?;
        let mut files = Vec::new();
        while self.take_keyword("file") {
            files.push(self.string()?);
        }
        let opaques = self.opaque_types()?;
        let entries = self.entry_points(Self::mention)?;
        let mut functions = Vec::new();
        let mut definitions = Vec::new();
        while *self.token() != Token::End {
            if self.take_keyword(DEFINITION) {
                definitions.push(self.definition()?);
                continue;
            }
            let kind = if self.take_keyword("fun") {
                FunKind::Function
            } else if self.take_keyword("const") {
                FunKind::Constant
            } else {
                return self.expected("`fun`, `const` or `definition`");
            };
            functions.push(self.function(kind)?);
        }
        let math = definitions.into_iter().collect();
        let mut program = Program { levels: stack, files, opaques, entries, functions, math };
        let ids = self.resolve(program.functions.iter().map(|function| &function.name))?;
        program.renumber(|mention| ids[mention.index()]);
        Ok(program)
    }

    /// The target machine of the program.
    fn machine(&mut self) -> Result<Stack> {
        if !self.take_keyword("machine") {
            return Ok(Stack::default());
        }
        self.word_of("a machine", Stack::named)
    }

    fn definition(&mut self) -> Result<MathDefinition> {
        match MathDefinition::from_function(self.function(FunKind::Function)?) {
            Some(definition) => Ok(definition),
            None => self.error("the name of a definition is that of an operation, as `math.sin.f64`"),
        }
    }

    fn function<L: TextLevel>(&mut self, kind: FunKind) -> Result<Function<L>> {
        self.hints.clear();
        let name = self.fun_name()?;
        let attrs = self.attrs()?;
        crate::text_row!(parse self params ":" ret (if "version" version));
        let tunables = self.tunables()?;
        let body = self.body()?;
        if self.take_keyword("unused") {
            self.list(Self::name)?;
        }
        let provs = self.provs()?;
        let mut names = NameTable::new();
        let count = self.hints.keys().max().map_or(0, |n| n + 1);
        let unnamed: Arc<str> = Arc::from("unused");
        for number in 0..count {
            names.fresh_shared(self.hints.get(&number).unwrap_or(&unnamed).clone());
        }
        Ok(Function { name, kind, version, attrs, params, ret, body, tunables, names, provs })
    }

    fn tunables(&mut self) -> Result<Vec<Tunable>> {
        let mut tunables = Vec::new();
        while self.take_keyword("tunable") {
            self.punct("#")?;
            if self.integer::<usize>()? != tunables.len() {
                return self.error("tuning parameters must be numbered consecutively from 0");
            }
            tunables.push(Part::parse_part(self)?);
        }
        Ok(tunables)
    }

    fn provs(&mut self) -> Result<ProvTable> {
        let mut provs = ProvTable::new();
        while self.take_keyword("where") {
            self.punct("^")?;
            let number: u32 = self.integer()?;
            self.punct("=")?;
            if self.take("^") {
                self.several(&mut provs, number)?;
                continue;
            }
            let loc = SrcLoc::parse_part(self)?;
            let outer = if self.take_keyword("in") {
                self.punct("^")?;
                Prov(self.integer()?)
            } else {
                Prov::NONE
            };
            if !is_stack(&provs, outer) && outer != Prov::NONE {
                return self.error("a provenance may only be nested in an earlier one");
            }
            let prov = provs.push(loc, outer);
            if prov.0 != number {
                return self.error("provenances must be distinct and numbered consecutively from 1");
            }
        }
        Ok(provs)
    }

    /// Several stacks, `^1, ^2, ...`; the first `^` is already parsed.
    fn several(&mut self, provs: &mut ProvTable, number: u32) -> Result<()> {
        let mut stacks = vec![Prov(self.integer()?)];
        while self.take(",") {
            self.punct("^")?;
            stacks.push(Prov(self.integer()?));
        }
        if !stacks.iter().all(|stack| is_stack(provs, *stack)) {
            return self.error("a list may only contain earlier provenances");
        }
        if stacks.len() > MAX_STACKS {
            return self.error(format!("a list contains at most {MAX_STACKS} provenances"));
        }
        if provs.intern_stacks(&stacks).0 != number || provs.len() != number as usize {
            return self.error("provenances must be distinct and numbered consecutively from 1");
        }
        Ok(())
    }
}

/// Returns true if the provenance is a single stack of the table.
fn is_stack(provs: &ProvTable, prov: Prov) -> bool {
    prov.index() <= provs.len() && matches!(provs.entry(prov), Some(ProvEntry::At(..)))
}
