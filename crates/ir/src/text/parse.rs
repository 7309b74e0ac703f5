//! The parser of parameters, bodies, statements, expressions, functions and programs. Operations
//! implement their own parsing.

use super::cursor::Parser;
use super::lex::Token;
use super::ops::parse_poly;
use super::{DEFINITION, ParseError, TextForm, TextLevel};
use crate::facts::{FactFlag, Facts, Filter, SharedBy, SharedRead};
use crate::math::MathDefinition;
use crate::name::NameTable;
use crate::prov::{MAX_STACKS, Prov, ProvEntry, ProvTable, SrcLoc};
use crate::syntax::{
    Attr, Attrs, Aux, BasicOp, Body, Exp, FunKind, FunParam, FunResult, Function, Lambda, LoopForm,
    LoopParam, Param, Program, Stm,
};
use crate::tunable::{Class, Rule, Tunable};
use crate::version::{CallPosition, Version};
use std::sync::Arc;
use target::levels::Stack;

type Result<T> = std::result::Result<T, ParseError>;

impl Parser<'_> {
    fn ann<A: TextForm>(&mut self) -> Result<A> {
        match A::parse(self)? {
            Some(ann) => Ok(ann),
            None => self.expected("an annotation"),
        }
    }

    /// A parameter with type and annotation.
    pub fn param<L: TextLevel>(&mut self) -> Result<Param<L>> {
        let name = self.name()?;
        self.punct(":")?;
        Ok(Param { name, ty: self.ty()?, ann: self.ann()? })
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
            let result = p.atoms()?;
            p.punct("}")?;
            Ok(Body { stms, result })
        })
    }

    /// A lambda.
    pub fn lambda<L: TextLevel>(&mut self) -> Result<Lambda<L>> {
        self.punct("\\")?;
        let params = self.list(Self::param)?;
        self.punct(":")?;
        let ret = self.types()?;
        self.punct("->")?;
        Ok(Lambda { params, body: self.body()?, ret })
    }

    fn stm<L: TextLevel>(&mut self) -> Result<Stm<L>> {
        let pat = if self.peek("(") { self.list(Self::param)? } else { vec![self.param()?] };
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
                facts.set_shared(SharedRead { by, block, offset: parse_poly(self)? });
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
        if self.take_keyword("if") {
            let cond = self.atom()?;
            self.keyword("then")?;
            let then_body = self.body()?;
            self.keyword("else")?;
            return Ok(Exp::If { cond, then_body, else_body: self.body()? });
        }
        if self.take_keyword("loop") {
            return self.loop_();
        }
        if self.take_keyword("call") {
            return Ok(Exp::Apply { fun: self.mention()?, args: self.atoms()? });
        }
        if let Some(op) = L::Op::parse(self)? {
            return Ok(Exp::Op(op));
        }
        match BasicOp::parse(self)? {
            Some(op) => Ok(Exp::Basic(op)),
            None => self.error(format!("expected an operation of the level `{}`", L::NAME)),
        }
    }

    fn loop_<L: TextLevel>(&mut self) -> Result<Exp<L>> {
        let params = self.list(|p| {
            let consumed = p.take("*");
            let param = p.param()?;
            p.punct("=")?;
            Ok(LoopParam { param, init: p.atom()?, consumed })
        })?;
        let form = if self.take_keyword("for") {
            let var = self.name()?;
            self.punct(":")?;
            let ty = self.prim()?;
            self.punct("<")?;
            LoopForm::For { var, ty, bound: self.atom()? }
        } else {
            self.keyword("while")?;
            LoopForm::While { cond: self.name()? }
        };
        self.keyword("do")?;
        Ok(Exp::Loop { params, form, body: self.body()? })
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
        match self.peek_ident().and_then(Stack::named) {
            Some(stack) => {
                self.ident()?;
                Ok(stack)
            }
            None => self.expected("a machine"),
        }
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
        let params = self.list(|p| {
            let consumed = p.take("*");
            Ok(FunParam { param: p.param()?, consumed })
        })?;
        self.punct(":")?;
        let ret = self.list(|p| {
            let ty = p.ty()?;
            let aliases = if p.take_keyword("alias") { p.list(Self::integer)? } else { Vec::new() };
            Ok(FunResult { ty, aliases, ann: p.ann()? })
        })?;
        let version = self.version()?;
        let tunables = self.tunables()?;
        let body = self.body()?;
        if self.take_keyword("unused") {
            self.name_list()?;
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

    /// The key of a function's version.
    fn version(&mut self) -> Result<Option<Version>> {
        if !self.take_keyword("version") {
            return Ok(None);
        }
        self.keyword("of")?;
        let of = self.fun_name()?;
        let position = if self.take_keyword("regular") {
            CallPosition::LiftedRegular
        } else if self.take_keyword("irregular") {
            CallPosition::LiftedIrregular
        } else if self.take_keyword("on") {
            self.keyword("host")?;
            CallPosition::Host
        } else {
            self.keyword("within")?;
            let around = self.integer()?;
            let level = if self.take_keyword("at") { Some(self.integer()?) } else { None };
            CallPosition::Within { segop_level: around, level }
        };
        Ok(Some(Version { of, position }))
    }

    fn tunables(&mut self) -> Result<Vec<Tunable>> {
        let mut tunables = Vec::new();
        while self.take_keyword("tunable") {
            self.punct("#")?;
            if self.integer::<usize>()? != tunables.len() {
                return self.error("tuning parameters must be numbered consecutively from 0");
            }
            let word = self.ident()?;
            let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.name() == word) else {
                return self.error(format!("unknown rule `{word}`"));
            };
            let ordinal = self.integer()?;
            let word = self.ident()?;
            let Some(class) = Class::ALL.into_iter().find(|class| class.name() == word) else {
                return self.error(format!("unknown parameter class `{word}`"));
            };
            tunables.push(Tunable { rule, ordinal, class, default: self.integer()? });
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
            let file = self.integer()?;
            self.punct(":")?;
            let line = self.integer()?;
            self.punct(":")?;
            let col = self.integer()?;
            self.punct("-")?;
            let end_line = self.integer()?;
            self.punct(":")?;
            let end_col = self.integer()?;
            let outer = if self.take_keyword("in") {
                self.punct("^")?;
                Prov(self.integer()?)
            } else {
                Prov::NONE
            };
            if !is_stack(&provs, outer) && outer != Prov::NONE {
                return self.error("a provenance may only be nested in an earlier one");
            }
            let prov = provs.push(SrcLoc { file, line, col, end_line, end_col }, outer);
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
