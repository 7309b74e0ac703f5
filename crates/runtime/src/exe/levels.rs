//! Processor levels, and the choice of a program's code for the processor on which it is started.
//!
//! The levels are those of the x86-64 psABI. A processor has a level if it has the level's
//! instructions and the operating system saves the registers that they need.

use crate::image::Image;
use std::fmt;

/// A level of 64-bit x86 processors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// SSE4.2.
    V2 = 2,
    /// AVX2 and fused multiply-adds.
    V3 = 3,
    /// AVX-512.
    V4 = 4,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::V2, Self::V3, Self::V4];

    /// The processor name for the compiler.
    pub const fn processor(self) -> &'static str {
        match self {
            Self::V2 => "x86-64-v2",
            Self::V3 => "x86-64-v3",
            Self::V4 => "x86-64-v4",
        }
    }

    /// The level's name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
            Self::V4 => "v4",
        }
    }

    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The highest level of this machine.
    pub fn of_host() -> Option<Self> {
        Self::ALL.into_iter().take_while(|level| level.has_added_features()).last()
    }

    /// Returns true if this machine has the features that the level adds to the previous one.
    #[cfg(target_arch = "x86_64")]
    fn has_added_features(self) -> bool {
        match self {
            Self::V2 => {
                is_x86_feature_detected!("sse3")
                    && is_x86_feature_detected!("ssse3")
                    && is_x86_feature_detected!("sse4.1")
                    && is_x86_feature_detected!("sse4.2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("cmpxchg16b")
            }
            Self::V3 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("movbe")
            }
            Self::V4 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn has_added_features(self) -> bool {
        false
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.processor())
    }
}

/// A program's code.
pub enum Code {
    /// Code for one processor.
    One(Image),
    /// Code for several processor levels.
    Levels(Vec<(Level, Image)>),
}

impl From<Image> for Code {
    fn from(image: Image) -> Self {
        Self::One(image)
    }
}

impl Code {
    /// Chooses the code for the level `machine`, or for the requested level; returns an error
    /// message if there is none.
    pub fn choose(
        self,
        wanted: Option<Level>,
        machine: Option<Level>,
    ) -> Result<(Option<Level>, Image), String> {
        let levels = match (self, wanted) {
            (Self::One(image), None) => return Ok((None, image)),
            (Self::One(_), Some(_)) => {
                return Err("this program has code for one processor only; \
                            --cpu-level requires a program built with --cpu portable"
                    .to_owned());
            }
            (Self::Levels(levels), _) => levels,
        };
        let has = |level: Level| machine.is_some_and(|machine| level <= machine);
        if let Some(wanted) = wanted.filter(|wanted| !has(*wanted)) {
            return Err(format!("this processor does not support level {wanted}"));
        }
        let least = levels.first().map_or(Level::V2, |(level, _)| *level);
        levels
            .into_iter()
            .rfind(|(level, _)| wanted.map_or(has(*level), |wanted| wanted == *level))
            .map(|(level, image)| (Some(level), image))
            .ok_or_else(|| match wanted {
                Some(wanted) => format!("this program has no code for {wanted}"),
                None => format!("this program needs a processor of level {least} or above"),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Level};
    use crate::image::{Image, ProgramSpec};
    use std::sync::Arc;

    fn image(name: &str) -> Image {
        let spec = ProgramSpec { source_name: name.to_owned(), ..ProgramSpec::default() };
        // SAFETY: there is no code.
        unsafe { Image::from_spec(spec, Arc::new(())) }
    }

    fn all() -> Code {
        let levels = Level::ALL.into_iter();
        Code::Levels(levels.map(|level| (level, image(level.name()))).collect())
    }

    #[test]
    fn highest_supported_level_is_chosen() {
        for machine in Level::ALL {
            let (level, image) = all().choose(None, Some(machine)).expect("a supported level");
            assert_eq!(level, Some(machine));
            assert_eq!(image.program().source_name.get(), machine.name());
            for wanted in Level::ALL {
                match all().choose(Some(wanted), Some(machine)) {
                    Ok((level, _)) => assert_eq!((level, wanted <= machine), (Some(wanted), true)),
                    Err(message) => {
                        assert!(wanted > machine);
                        assert!(message.contains(wanted.processor()), "{message}");
                    }
                }
            }
        }
        let few = Code::Levels(vec![(Level::V3, image("v3"))]);
        assert_eq!(few.choose(None, Some(Level::V4)).map(|(level, _)| level), Ok(Some(Level::V3)));
    }

    #[test]
    fn machines_below_all_levels_get_a_message() {
        let message = all().choose(None, None).map(|_| ()).expect_err("no supported level");
        assert!(message.contains("x86-64-v2"), "{message}");
        let one = Code::from(image("one"));
        assert!(one.choose(None, None).is_ok());
        let one = Code::from(image("one"));
        let message = one.choose(Some(Level::V2), Some(Level::V4)).map(|_| ());
        assert!(message.expect_err("code for one processor").contains("portable"));
    }

    #[test]
    fn level_names_parse_back() {
        for level in Level::ALL {
            assert_eq!(Level::from_name(level.name()), Some(level));
        }
        assert_eq!(Level::from_name("v5"), None);
    }
}
