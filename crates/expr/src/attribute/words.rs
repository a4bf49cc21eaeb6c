//! The values of attributes that take one of a few words: an enum each.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::{Attribute, AttributeError};

/// A value of an attribute whose text is one of a few words.
///
/// ```
/// use scheduler_expr::{Attribute, Misfire, Word};
///
/// assert_eq!(Misfire::CatchUp.name(), "catch_up");
/// assert_eq!("catch_up".parse(), Ok(Misfire::CatchUp));
/// assert_eq!(Attribute::Misfire.words(), Misfire::WORDS);
/// ```
pub trait Word:
    Copy + Default + Eq + FromStr<Err = AttributeError> + fmt::Display + 'static
{
    /// The attribute that has these values.
    const ATTRIBUTE: Attribute;

    /// All values, the default first.
    const ALL: &'static [Self];

    /// Their words, in the same order.
    const WORDS: &'static [&'static str];
}

/// Makes enums of words.
macro_rules! words {
    ($(
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)*
        }
    )*) => {$(
        $(#[$doc])*
        // Exhaustive, so that no match of the crates above can pass over a new word.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The word for it in an annotation and in settings.
            #[must_use]
            pub const fn name(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl Word for $name {
            const ATTRIBUTE: Attribute = Attribute::$name;
            const ALL: &'static [Self] = &[$(Self::$variant),*];
            const WORDS: &'static [&'static str] = &[$($word),*];
        }

        impl FromStr for $name {
            type Err = AttributeError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let index = Attribute::$name.index_of_word(text)?;
                Ok(Self::ALL[index])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    )*};
}

words! {
    /// The policy for fire times that come during a run of the same task.
    ///
    /// A run is in progress from its start to the end of its last attempt, the waits between attempts
    /// included. With `fixed_rate = "1s"` and runs that take 1.5 s, runs start at
    ///
    /// | overlap | seconds |
    /// |---|---|
    /// | `skip` | 0, 2, 4, … |
    /// | `queue_one` | 0, 1.5, 3, … |
    /// | `allow` | 0, 1, 2, … |
    #[doc(alias = "DisallowConcurrentExecution")]
    Overlap {
        /// It is skipped.
        #[default]
        Skip = "skip",
        /// One run, for the latest such fire time, starts as soon as the run in progress has ended; the
        /// earlier ones are skipped.
        QueueOne = "queue_one",
        /// It starts at once, beside the run in progress.
        Allow = "allow",
    }

    /// The policy for fire times that pass while no run can start: no thread is free, the process is suspended, or
    /// the wall clock is set forward.
    ///
    /// A fire time is missed when it could not start before the next one has come too, or is more than
    /// 60 s late. (The threshold is Quartz's; `catch_up` is what the JDK does.)
    Misfire {
        /// One run, for the latest of them, starts at once; the earlier ones are skipped.
        #[default]
        RunOnce = "run_once",
        /// All are skipped; the task runs at the next fire time to come.
        Skip = "skip",
        /// Each runs, one after the other, each with its own fire time.
        CatchUp = "catch_up",
    }

    /// The policy for a task after a run whose last attempt failed.
    OnError {
        /// The task runs again at its next fire time: the rule of Spring.
        #[default]
        Continue = "continue",
        /// The task ends as failed: the rule of the JDK.
        Stop = "stop",
    }

    /// The policy for a durable job whose process died during its run.
    OnLost {
        /// It runs again: at least once.
        #[default]
        Rerun = "rerun",
        /// It is parked: at most once.
        Abandon = "abandon",
    }

    /// The policy for jobs behind one that is parked, in a partition whose jobs start in their order.
    OnPark {
        /// They go on.
        #[default]
        GoOn = "go_on",
        /// They wait until a person retries or deletes it.
        Hold = "hold",
    }

    /// The order in which due durable jobs run.
    Priority {
        /// After those of a higher priority.
        #[default]
        Normal = "normal",
        /// After all others.
        Low = "low",
        /// Before normal ones.
        High = "high",
        /// Before all others.
        Urgent = "urgent",
    }

    /// The policy for fire times that a change of the clock leaves out, such as 02:30 when clocks go from
    /// 02:00 to 03:00.
    DstGap {
        /// They do not fire, as in Spring.
        #[default]
        Skip = "skip",
        /// One fire time at the end of the gap stands for all that were left out.
        RunAfter = "run_after",
    }

    /// The policy for fire times that come twice when clocks are set back.
    DstOverlap {
        /// They fire twice, as in Spring.
        #[default]
        Both = "both",
        /// They fire when they come first.
        First = "first",
        /// They fire when they come for the last time.
        Last = "last",
    }
}

impl Priority {
    /// All priorities, the highest first.
    pub const HIGHEST_FIRST: [Self; 4] = [Self::Urgent, Self::High, Self::Normal, Self::Low];

    /// Its rank in the order, from 0 for the lowest: the number by which stores keep it.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::Low => 0,
            Self::Normal => 1,
            Self::High => 2,
            Self::Urgent => 3,
        }
    }

    /// The priority of a rank; the nearest one if none has it.
    #[must_use]
    pub const fn from_rank(rank: i64) -> Self {
        match rank {
            ..=0 => Self::Low,
            1 => Self::Normal,
            2 => Self::High,
            3.. => Self::Urgent,
        }
    }
}

/// A higher priority is greater.
impl Ord for Priority {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::Priority;

    #[test]
    fn a_higher_priority_is_greater() {
        let mut sorted = Priority::HIGHEST_FIRST;
        sorted.sort();
        sorted.reverse();
        assert_eq!(sorted, Priority::HIGHEST_FIRST);
        assert!(Priority::Urgent > Priority::default() && Priority::default() > Priority::Low);
        for priority in Priority::HIGHEST_FIRST {
            assert_eq!(Priority::from_rank(priority.rank().into()), priority);
        }
        assert_eq!([-1, 4].map(Priority::from_rank), [Priority::Low, Priority::Urgent]);
    }
}
