//! Sets of settings: an interval of values for some of the parameters.
//!
//! A comparison of a size with a parameter holds if the parameter is at most the size (`size >=
//! parameter`). So all settings for which a run's comparisons have the same outcomes are such a
//! set, and the sets of different runs with one input are disjoint.

/// A parameter, by its index in the list of all.
pub type Param = usize;

/// A value for each parameter.
pub type Setting = Vec<i64>;

/// A non-empty interval of values, bounds included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Span {
    /// The smallest value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
}

impl Span {
    /// All values.
    pub const ALL: Self = Self { min: i64::MIN, max: i64::MAX };

    /// The values for which a comparison with this size has this outcome; `None` if there are none.
    pub fn of(size: i64, holds: bool) -> Option<Self> {
        if holds {
            return Some(Self { min: i64::MIN, max: size });
        }
        let min = size.checked_add(1)?;
        Some(Self { min, max: i64::MAX })
    }

    /// The intersection.
    pub fn and(self, other: Self) -> Option<Self> {
        let (min, max) = (self.min.max(other.min), self.max.min(other.max));
        (min <= max).then_some(Self { min, max })
    }

    /// Returns true if it contains a value.
    pub fn contains(self, value: i64) -> bool {
        self.min <= value && value <= self.max
    }

    /// The nearest value to this one.
    pub fn nearest(self, value: i64) -> i64 {
        value.clamp(self.min, self.max)
    }

    /// The values below it, and those above.
    fn complement(self) -> [Option<Self>; 2] {
        let below = self.min.checked_sub(1).map(|max| Self { min: i64::MIN, max });
        let above = self.max.checked_add(1).map(|min| Self { min, max: i64::MAX });
        [below, above]
    }
}

/// The settings whose values are in these spans; other parameters may have any value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Region(Vec<(Param, Span)>);

impl Region {
    /// The spans, each of another parameter, in the order in which they were added.
    pub fn spans(&self) -> &[(Param, Span)] {
        &self.0
    }

    /// All settings for which these comparisons of parameters with sizes have the same outcomes as
    /// for this one, which is among them.
    pub fn around(comparisons: impl IntoIterator<Item = (Param, i64)>, setting: &[i64]) -> Self {
        let mut region = Self::default();
        for (param, size) in comparisons {
            let value = setting.get(param).copied().unwrap_or(i64::MAX);
            let span = Span::of(size, value <= size);
            // The setting is in all of these spans, so their intersection is not empty.
            if let Some(narrowed) = span.and_then(|span| region.clone().with(param, span)) {
                region = narrowed;
            }
        }
        region
    }

    /// The values of a parameter.
    pub fn span(&self, param: Param) -> Span {
        let found = self.0.iter().find(|(other, _)| *other == param);
        found.map_or(Span::ALL, |(_, span)| *span)
    }

    /// Returns true if it contains a setting.
    pub fn contains(&self, setting: &[i64]) -> bool {
        self.0.iter().all(|(param, span)| {
            let value = setting.get(*param);
            value.is_some_and(|value| span.contains(*value))
        })
    }

    /// The settings whose value of a parameter is in a span, if there are any.
    pub fn with(mut self, param: Param, span: Span) -> Option<Self> {
        match self.0.iter_mut().find(|(other, _)| *other == param) {
            Some((_, known)) => *known = known.and(span)?,
            None => self.0.push((param, span)),
        }
        Some(self)
    }

    /// The intersection.
    pub fn and(&self, other: &Self) -> Option<Self> {
        let mut both = self.clone();
        for (param, span) in &other.0 {
            both = both.with(*param, *span)?;
        }
        Some(both)
    }

    /// The region with the spans of these parameters only.
    #[must_use]
    pub fn of(&self, wanted: impl Fn(Param) -> bool) -> Self {
        let spans = self.0.iter().filter(|(param, _)| wanted(*param));
        Self(spans.copied().collect())
    }

    /// The settings outside the other region, as disjoint regions: settings that differ from it in the
    /// first of its parameters, in the second but not the first, and so on.
    pub fn minus(&self, other: &Self) -> Vec<Self> {
        if self.and(other).is_none() {
            return vec![self.clone()];
        }
        let (mut parts, mut rest) = (Vec::new(), Some(self.clone()));
        for (param, span) in &other.0 {
            let Some(whole) = rest else { break };
            let complement = span.complement().into_iter().flatten();
            parts.extend(complement.filter_map(|span| whole.clone().with(*param, span)));
            rest = whole.with(*param, *span);
        }
        parts
    }

    /// The setting in it that is nearest to this one.
    pub fn nearest(&self, setting: &[i64]) -> Setting {
        let mut near = setting.to_vec();
        for (param, span) in &self.0 {
            if let Some(value) = near.get_mut(*param) {
                *value = span.nearest(*value);
            }
        }
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(spans: &[(Param, i64, i64)]) -> Region {
        let spans = spans.iter().map(|(param, min, max)| {
            let span = Span { min: *min, max: *max };
            (*param, span)
        });
        Region(spans.collect())
    }

    #[test]
    fn difference_is_a_disjoint_partition() {
        let whole = region(&[(0, 0, 9), (1, 0, 9)]);
        let hole = region(&[(0, 3, 5), (1, -7, 4)]);
        let parts = whole.minus(&hole);
        for x in -1..=10 {
            for y in -1..=10 {
                let setting = [x, y];
                let times = parts.iter().filter(|part| part.contains(&setting)).count();
                let expected = whole.contains(&setting) && !hole.contains(&setting);
                assert_eq!(times, usize::from(expected), "{setting:?}");
            }
        }
        assert_eq!(whole.minus(&region(&[(0, 10, 12)])), std::slice::from_ref(&whole));
        assert!(whole.minus(&Region::default()).is_empty());
    }

    #[test]
    fn comparison_holds_for_parameters_up_to_the_size() {
        let holds = Span::of(7, true).expect("a non-empty span");
        let fails = Span::of(7, false).expect("a non-empty span");
        assert!(holds.contains(7) && !holds.contains(8));
        assert!(fails.contains(8) && !fails.contains(7));
        assert_eq!(Span::of(i64::MAX, false), None);
        assert_eq!(fails.nearest(3), 8);
    }
}
