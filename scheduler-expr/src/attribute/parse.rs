//! What the text of an attribute means, or what is wrong with it.

use std::time::Duration;

use super::{Attribute, AttributeError, Kind};
use crate::cron::CronExpression;
use crate::duration::{DurationUnit, ParseDurationError, ParseDurationErrorKind};
use crate::duration::{parse_delay, parse_period};
use crate::excerpt::quoted;
use crate::name::check_name;
use crate::nearest::nearest;
use crate::zone::check_zone_name;

/// What switches a cron task off when it stands in place of the expression, as in Spring.
const DISABLED: &str = "-";

/// What others write for yes and no.
const FLAGS: [(&str, &str); 8] = [
    ("yes", "true"),
    ("on", "true"),
    ("1", "true"),
    ("enabled", "true"),
    ("no", "false"),
    ("off", "false"),
    ("0", "false"),
    ("disabled", "false"),
];

impl Attribute {
    /// Judges a text, as it is done when a program is compiled and when it starts.
    ///
    /// `unit` is that of a duration which is a bare number. Placeholders have to be resolved.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert!(Attribute::Timeout.check("30s", None).is_ok());
    /// assert!(Attribute::Timeout.check("0s", None).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// When the attribute cannot take the text.
    pub fn check(self, text: &str, unit: Option<DurationUnit>) -> Result<(), AttributeError> {
        match self.row().kind {
            Kind::Cron => Self::parse_cron(text).map(drop),
            Kind::Zone => self.check_zone(text),
            Kind::Unit => Self::parse_unit(text).map(drop),
            Kind::Pool => self.check_pool(text),
            Kind::Count => self.parse_count(text).map(drop),
            Kind::Period | Kind::Delay => self.parse_duration(text, unit).map(drop),
            Kind::Flag | Kind::Words(_) => self.index_of_word(text).map(drop),
        }
    }

    /// Reads a cron expression that has a fire time; none if the text is `-`, which switches the
    /// task off.
    ///
    /// # Errors
    ///
    /// When the text is not an expression, or one that never matches.
    pub fn parse_cron(text: &str) -> Result<Option<CronExpression>, AttributeError> {
        if text == DISABLED {
            return Ok(None);
        }
        let expression = CronExpression::parse(text).map_err(|error| {
            let caret = (!error.span().is_empty()).then(|| error.caret());
            let help = match text.trim() {
                DISABLED => Some("to switch the task off, write `-` without blanks"),
                _ => error.help(),
            };
            AttributeError::new(Self::Cron, &error).with_caret(caret).with_help(help)
        })?;
        match expression.never_fires() {
            Some(never) => Err(AttributeError::new(Self::Cron, &never).with_caret(never.caret())),
            None => Ok(Some(expression)),
        }
    }

    /// Reads a duration of the length that this attribute can take: that of a delay may be zero,
    /// any other has to be longer.
    ///
    /// ```
    /// use scheduler_expr::{Attribute, DurationUnit};
    /// use std::time::Duration;
    ///
    /// let unit = Some(DurationUnit::Minutes);
    /// assert_eq!(Attribute::InitialDelay.parse_duration("0s", None)?, Duration::ZERO);
    /// assert_eq!(Attribute::FixedRate.parse_duration("5", unit)?, Duration::from_secs(300));
    /// assert!(Attribute::FixedRate.parse_duration("0s", None).is_err());
    /// # Ok::<(), scheduler_expr::AttributeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is not a duration, or of another length.
    pub fn parse_duration(
        self,
        text: &str,
        unit: Option<DurationUnit>,
    ) -> Result<Duration, AttributeError> {
        let parsed = match self.row().kind {
            Kind::Delay => parse_delay(text, unit),
            _ => parse_period(text, unit),
        };
        parsed.map_err(|error| self.duration_error(text, unit, &error))
    }

    fn duration_error(
        self,
        text: &str,
        unit: Option<DurationUnit>,
        error: &ParseDurationError,
    ) -> AttributeError {
        let invalid = AttributeError::new(self, format!("invalid `{self}`: {error}"));
        let has_no_unit = error.kind() == ParseDurationErrorKind::NoUnit;
        // Carets below the whole text would only repeat what is seen anyway.
        let is_part = error.span() != (0..text.len());
        if let (Some(instead), true, false) = (error.instead(), has_no_unit, is_part) {
            let key = self.key();
            let help = format!(
                "write `{key} = \"{instead}\"`, or add `time_unit = \"milliseconds\"`, \
                 which Spring's plain numbers are"
            );
            return invalid.with_help(Some(help));
        }
        if text == "-" && matches!(self, Self::FixedRate | Self::FixedDelay) {
            let reason = format!("invalid `{self}`: `-` switches off cron expressions only");
            let help = "to switch the task off, write `enabled = false`".to_owned();
            return AttributeError::new(self, reason).with_help(Some(help));
        }
        let beside = match unit {
            Some(_) if has_no_unit => " (`time_unit` is for numbers that stand alone)",
            _ => "",
        };
        let help = error.help().map(|help| format!("{help}{beside}"));
        invalid.with_caret(is_part.then(|| error.caret())).with_help(help)
    }

    /// Reads a flag.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert!(Attribute::Enabled.parse_flag("true")?);
    /// # Ok::<(), scheduler_expr::AttributeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is neither `true` nor `false`.
    pub fn parse_flag(self, text: &str) -> Result<bool, AttributeError> {
        self.index_of_word(text).map(|index| index == 0)
    }

    /// The place of a text among the [words](Self::words) of this attribute.
    pub(super) fn index_of_word(self, text: &str) -> Result<usize, AttributeError> {
        let words = self.words();
        if let Some(index) = words.iter().position(|word| *word == text) {
            return Ok(index);
        }
        let flag = || FLAGS.iter().find(|(other, _)| *other == text.to_lowercase());
        let meant = match self.row().kind {
            Kind::Flag => flag().map(|(_, word)| *word),
            _ => None,
        };
        let help = match meant.or_else(|| nearest(text, words.iter().copied())) {
            Some(word) => format!("did you mean `{word}`?"),
            None => format!("the words are {}", list(words)),
        };
        let reason = format!("invalid `{self}`: {}", unknown(text));
        Err(AttributeError::new(self, reason).with_help(Some(help)))
    }

    /// Reads a whole number that is not negative.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert_eq!(Attribute::RetryMax.parse_count("3")?, 3);
    /// # Ok::<(), scheduler_expr::AttributeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is something else, or more than 2³² - 1.
    pub fn parse_count(self, text: &str) -> Result<u32, AttributeError> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (reason, help) = match text.parse() {
            Ok(count) if is_number => return Ok(count),
            _ if is_number => ("is too many", "write at most `4294967295`"),
            _ => ("is not a whole number", "write for example `3`"),
        };
        let reason = format!("invalid `{self}`: {} {reason}", quoted(text));
        Err(AttributeError::new(self, reason).with_help(Some(help)))
    }

    /// Reads the name of a unit, such as `seconds`, in any letter case: Java's are in upper case.
    ///
    /// ```
    /// use scheduler_expr::{Attribute, DurationUnit};
    ///
    /// assert_eq!(Attribute::parse_unit("SECONDS")?, DurationUnit::Seconds);
    /// # Ok::<(), scheduler_expr::AttributeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no such unit.
    pub fn parse_unit(text: &str) -> Result<DurationUnit, AttributeError> {
        let word = text.to_lowercase();
        if let Some(unit) = DurationUnit::ALL.into_iter().find(|unit| unit.name() == word) {
            return Ok(unit);
        }
        let reason = match text {
            "" => "the unit of time is empty".to_owned(),
            _ => format!("{} is not a unit of time", quoted(text)),
        };
        let help = match nearest_unit(&word) {
            Some(unit) => format!("did you mean `{}`?", unit.name()),
            None => format!("the units are {}", list(&DurationUnit::ALL.map(DurationUnit::name))),
        };
        Err(AttributeError::new(Self::TimeUnit, reason).with_help(Some(help)))
    }

    fn check_zone(self, text: &str) -> Result<(), AttributeError> {
        check_zone_name(text)
            .map_err(|error| AttributeError::new(self, &error).with_help(error.help()))
    }

    fn check_pool(self, text: &str) -> Result<(), AttributeError> {
        check_name(text).map_err(|error| {
            let help = error.help().unwrap_or("write the name of a pool, such as `io`");
            AttributeError::new(self, format!("`{self}` {error}")).with_help(Some(help))
        })
    }
}

fn unknown(text: &str) -> String {
    match text {
        "" => "the text is empty".to_owned(),
        _ => format!("unknown word {}", quoted(text)),
    }
}

/// The unit of a suffix such as `ms`, of an abbreviation such as `secs`, or of a slip.
fn nearest_unit(word: &str) -> Option<DurationUnit> {
    let stem = word.strip_suffix('s').unwrap_or(word);
    let named = |name: &str| DurationUnit::ALL.into_iter().find(|unit| unit.name() == name);
    let by_suffix = DurationUnit::ALL.into_iter().find(|unit| unit.suffix() == word);
    let by_stem = || DurationUnit::ALL.into_iter().find(|unit| unit.name().starts_with(stem));
    by_suffix
        .or_else(|| if stem.len() >= 2 { by_stem() } else { None })
        .or_else(|| nearest(word, DurationUnit::ALL.map(DurationUnit::name)).and_then(named))
}

/// The words in backticks, separated by commas.
fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
