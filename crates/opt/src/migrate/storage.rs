//! Adding statements to groups, and the groups' inputs and results.
//!
//! A group maps each outside name to a name of its own: host values keep their names, values
//! computed by other groups are read from storage, and checks made by other groups are repeated.

use super::groups::{Group, GroupResult, OPEN, START, Site, basic, param, read};
use super::rewrite::Rewrite;
use ir::syntax::{Atom, BasicOp, Exp, Param, Stm};
use ir::types::{Dim, Type};
use ir::walk::{stm_names, substitute_stm};
use ir::{Name, Prov, Segs};

impl Rewrite<'_> {
    /// Returns the storage of a device scalar, creating it if there is none.
    pub(super) fn storage_of(&mut self, name: Name) -> Name {
        if let Some(storage) = self.storage.get(&name) {
            return *storage;
        }
        let storage = self.fresh_storage(name);
        let own = storage.name;
        if let Some(site) = self.sites.get(&name).copied() {
            self.add_result(site.scope, site.item, name, storage);
            self.sites.insert(own, site);
        }
        self.storage.insert(name, own);
        own
    }

    /// Returns storage with the value of an atom. Storage of a host value is created once, outside
    /// of the loops in which it is invariant.
    pub(super) fn storage_of_atom(&mut self, atom: Atom) -> Name {
        if let Some(name) = atom.var()
            && self.on_device.contains(&name)
        {
            return self.storage_of(name);
        }
        let mut scopes = self.scopes.iter().rev();
        if let Some(storage) = scopes.find_map(|scope| scope.stores.get(&atom)) {
            return *storage;
        }
        let bound = atom.var().and_then(|name| self.sites.get(&name));
        let bound = bound.map_or(0, |site| site.scope);
        let mut at = self.at();
        while at > bound && self.scopes[at].is_loop {
            at -= 1;
        }
        let storage = match atom {
            Atom::Const(value) => {
                let ty = Type::array(value.ty(), [Dim::Const(1)]);
                let name = self.names.fresh("stored");
                self.types.set(name, ty.clone());
                let op = BasicOp::Replicate { shape: [Dim::Const(1)].into_iter().collect(), value: atom };
                let item = self.scopes[at].push(basic(param(name, ty), op, Prov::NONE));
                self.sites.insert(name, Site { scope: at, item });
                name
            }
            Atom::Var(name) => {
                let storage = self.fresh_storage(name);
                let own = storage.name;
                let ty = self.scalar_of(name);
                let copy = self.fresh(name, ty);
                let inner = copy.name;
                let (at, item) = self.add_to_group(at, basic(copy, BasicOp::Atom(atom), Prov::NONE));
                self.add_result(at, item, inner, storage);
                self.sites.insert(own, Site { scope: at, item });
                own
            }
        };
        self.scopes[at].stores.insert(atom, storage);
        storage
    }

    /// Adds a statement to a group of a scope, and returns the group's site.
    pub(super) fn add_to_group(&mut self, at: usize, mut stm: Stm<Segs>) -> (usize, usize) {
        let mut names = Vec::new();
        stm_names(&stm, |name| names.push(name));
        let mut first = START;
        for name in &names {
            first = first.max(self.earliest(at, *name));
        }
        let item = if first == OPEN { OPEN } else { self.scopes[at].first_group_from(first) };
        for name in names {
            self.resolve(at, item, name);
        }
        if let (Exp::Basic(BasicOp::Assert { .. }), Some(cert)) = (&stm.exp, stm.pat.first()) {
            self.checks.insert(cert.name, stm.clone());
        }
        substitute_stm(&mut stm, &self.scopes[at].group(item).inner);
        for bound in &mut stm.pat {
            self.bind(at, item, bound);
        }
        self.scopes[at].group(item).stms.push(stm);
        (at, item)
    }

    /// Returns the first item at which a group of a scope may be placed that uses a name.
    pub(super) fn earliest(&self, at: usize, name: Name) -> usize {
        let is_moved = self.on_device.contains(&name);
        let held = self.storage.get(&name).filter(|_| is_moved);
        let name = held.copied().unwrap_or(name);
        match self.sites.get(&name) {
            Some(site) if site.scope == at && site.item == OPEN => OPEN,
            // A group may use names that it binds itself.
            Some(site) if site.scope == at && (is_moved || self.is_in_group(*site)) => site.item,
            Some(site) if site.scope == at => site.item + 1,
            Some(_) | None => START,
        }
    }

    pub(super) fn is_in_group(&self, site: Site) -> bool {
        let scope = self.scopes.get(site.scope);
        scope.is_some_and(|scope| scope.is_group(site.item))
    }

    /// Makes a name from outside available in a group.
    pub(super) fn resolve(&mut self, at: usize, item: usize, name: Name) {
        if self.scopes[at].group(item).inner.contains_key(&name) {
            return;
        }
        let site = self.sites.get(&name).copied();
        let is_array = self.types.get(name).is_some_and(Type::is_array);
        if is_array {
            let class = self.aliases.class(name);
            self.scopes[at].group(item).arrays.insert(class);
        }
        if site == Some(Site { scope: at, item }) {
            self.build_single(at, item, name);
            return;
        }
        if !self.on_device.contains(&name) {
            self.touch_outside(at, name);
            return;
        }
        if let Some(check) = self.checks.get(&name).cloned() {
            self.repeat_check(at, item, name, check);
            return;
        }
        let storage = self.storage_of(name);
        if self.sites.get(&storage) == Some(&Site { scope: at, item }) {
            return;
        }
        self.touch_outside(at, storage);
        let ty = self.scalar_of(name);
        let own = self.fresh(name, ty);
        let group = self.scopes[at].group(item);
        group.inner.insert(name, own.name.into());
        group.stms.push(read(storage, own, Prov::NONE));
    }

    /// Builds in a group the array of one element that it computes the element of, if the name is such an array.
    fn build_single(&mut self, at: usize, item: usize, name: Name) {
        let single = |result: &&GroupResult| result.scalar && result.outer.name == name;
        let Some(result) = self.scopes[at].group(item).results.iter().find(single) else {
            return;
        };
        let (element, ty) = (result.inner, result.outer.ty.clone());
        let Some(row) = ty.row() else { return };
        let own = self.fresh(name, ty);
        let group = self.scopes[at].group(item);
        group.inner.insert(name, own.name.into());
        let literal = BasicOp::ArrayLit { row, elems: vec![element.into()] };
        group.stms.push(basic(own, literal, Prov::NONE));
    }

    /// Records that a group of a scope uses a name of another scope.
    pub(super) fn touch_outside(&mut self, at: usize, name: Name) {
        if self.sites.get(&name).is_some_and(|site| site.scope != at) {
            self.require_on_host(name);
        }
    }

    /// Repeats in this group a check that another group has made.
    pub(super) fn repeat_check(&mut self, at: usize, item: usize, cert: Name, mut check: Stm<Segs>) {
        let mut names = Vec::new();
        stm_names(&check, |name| names.push(name));
        for name in names {
            self.resolve(at, item, name);
        }
        let repeated = self.fresh(cert, Type::Cert);
        let group = self.scopes[at].group(item);
        substitute_stm(&mut check, &group.inner);
        group.inner.insert(cert, repeated.name.into());
        check.pat = vec![repeated];
        group.stms.push(check);
    }

    /// Binds a name in a group. A result that the host needs gets another name inside.
    pub(super) fn bind(&mut self, at: usize, item: usize, bound: &mut Param<Segs>) {
        let name = bound.name;
        let site = Site { scope: at, item };
        let group = self.scopes[at].group(item);
        group.bound.push(name);
        match bound.ty {
            Type::Prim(_) => {
                self.on_device.insert(name);
                self.sites.insert(name, site);
                if self.plan.computed_on_device(name) && !self.plan.only_on_device(name) {
                    let scalar = bound.clone();
                    self.rename(at, item, bound);
                    let storage = self.storage_of(name);
                    if item == OPEN {
                        self.scopes[at].open.reads.push(scalar);
                    } else {
                        self.push(read(storage, scalar, Prov::NONE));
                    }
                }
            }
            Type::Array { .. } => {
                let outer = bound.clone();
                self.rename(at, item, bound);
                let group = self.scopes[at].group(item);
                group.results.push(GroupResult { inner: bound.name, scalar: false, outer });
                self.sites.insert(name, site);
            }
            Type::Cert | Type::Acc { .. } | Type::Mem(_) => {
                self.on_device.insert(name);
                self.sites.insert(name, site);
            }
        }
    }

    pub(super) fn rename(&mut self, at: usize, item: usize, bound: &mut Param<Segs>) {
        let own = self.fresh(bound.name, bound.ty.clone());
        let group: &mut Group = self.scopes[at].group(item);
        group.inner.insert(bound.name, own.name.into());
        *bound = own;
    }
}
