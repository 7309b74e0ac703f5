//! Cost functions: the cost of a setting, given its time on each data set. Tuning minimises it.
//!
//! | name | cost |
//! |---|---|
//! | `sum` | the weighted sum of times |
//! | `geomean` | the weighted geometric mean of the ratios of times to those of the default |
//! | `worst` | the largest ratio of a time to that of the default |
//!
//! Any other text is an expression over the names of data sets ([`crate::expression`]).

use crate::expression::Expression;
use crate::solve::Shape;

/// A cost function.
#[derive(Clone, PartialEq, Debug)]
pub enum Cost {
    /// The sum of times with these weights.
    Sum(Vec<f64>),
    /// The geometric mean of ratios with these weights.
    GeometricMean(Vec<f64>),
    /// The largest ratio.
    Worst,
    /// An expression of the user.
    Expression(Expression),
}

/// The names of the predefined cost functions.
pub const NAMES: [&str; 3] = ["sum", "geomean", "worst"];

impl Cost {
    /// The cost function of this name, or the expression, over data sets of these names. A weight
    /// is for the data set of that name; others have weight 1.
    ///
    /// # Errors
    /// The text or the weights are invalid.
    pub fn parse(text: &str, names: &[String], weights: &[(String, f64)]) -> Result<Self, String> {
        let mut all = vec![1.0; names.len()];
        for (name, weight) in weights {
            let at = crate::expression::data_set(name, names)?;
            all[at] = *weight;
        }
        let cost = match text.trim() {
            "sum" => Self::Sum(all),
            "geomean" => Self::GeometricMean(all),
            "worst" => Self::Worst,
            other => Self::Expression(Expression::parse(other, names)?),
        };
        let takes_weights = matches!(cost, Self::Sum(_) | Self::GeometricMean(_));
        if !weights.is_empty() && !takes_weights {
            return Err(format!(
                "weights are for the cost functions `sum` and `geomean`, not for `{}`",
                text.trim()
            ));
        }
        if let Self::Sum(all) | Self::GeometricMean(all) = &cost
            && !all.iter().any(|weight| *weight > 0.0)
        {
            return Err("all weights are 0".to_owned());
        }
        Ok(cost)
    }

    /// The cost of these times, given those of the default. Times count as at least a tenth of a
    /// microsecond, since estimates can be lower.
    pub fn of(&self, times: &[f64], default: &[f64]) -> f64 {
        let at_least = |time: &f64| time.max(0.1);
        let times: Vec<f64> = times.iter().map(at_least).collect();
        let ratios = times.iter().zip(default).map(|(t, d)| t / at_least(d));
        match self {
            Self::Sum(weights) => times.iter().zip(weights).map(|(t, w)| t * w).sum(),
            Self::GeometricMean(weights) => {
                let logs = ratios.zip(weights).map(|(ratio, w)| w * ratio.ln());
                (logs.sum::<f64>() / weights.iter().sum::<f64>()).exp()
            }
            Self::Worst => ratios.fold(0.0, f64::max),
            Self::Expression(expression) => expression.value(&times),
        }
    }

    /// The properties that [`crate::solve`] makes use of.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Sum(weights) => Shape::WeightedSum(weights.clone()),
            Self::GeometricMean(_) | Self::Worst => Shape::Monotone,
            Self::Expression(expression) if expression.is_monotone() => Shape::Monotone,
            Self::Expression(_) => Shape::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["small", "data/large.in"].map(str::to_owned).to_vec()
    }

    #[test]
    fn predefined_cost_functions_have_the_documented_values() {
        let cost = |text, weights: &[(&str, f64)]| {
            let weights: Vec<(String, f64)> =
                weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect();
            let cost = Cost::parse(text, &names(), &weights).expect("a valid cost function");
            cost.of(&[20.0, 400.0], &[10.0, 100.0])
        };
        assert_eq!(cost("sum", &[]), 420.0);
        assert_eq!(cost("sum", &[("small", 5.0)]), 500.0);
        // The square root of 2 times 4.
        assert!((cost("geomean", &[]) - 8f64.sqrt()).abs() < 1e-12);
        // The fourth root of 2 times 4 times 4 times 4.
        let weighed = cost("geomean", &[("data/large.in", 3.0)]);
        assert!((weighed - 128f64.powf(0.25)).abs() < 1e-12);
        assert_eq!(cost("worst", &[]), 4.0);
        assert_eq!(cost("small + \"data/large.in\" / 4", &[]), 120.0);
    }

    #[test]
    fn invalid_cost_functions_are_errors() {
        let fails = |text, weights: &[(String, f64)]| {
            Cost::parse(text, &names(), weights).expect_err("an invalid cost function")
        };
        let message = fails("fastest", &[]);
        assert!(message.contains("`fastest`") && message.contains("geomean"), "{message}");
        let weight = [("smal".to_owned(), 1.0)];
        assert!(fails("sum", &weight).contains("did you mean `small`?"));
        let weight = [("small".to_owned(), 1.0)];
        assert!(fails("worst", &weight).contains("weights are for"));
        let none: Vec<(String, f64)> = names().into_iter().map(|name| (name, 0.0)).collect();
        assert!(fails("sum", &none).contains("all weights are 0"));
    }
}
