//! Parses the texts of attributes.

use std::time::Duration;

use super::{Attribute, AttributeError, Kind, Wording};
use crate::cron::CronExpression;
use crate::duration::{DurationUnit, in_seconds, intended_period, parse_delay, parse_period};
use crate::error::{ParseError, ParseErrorCause, is_quotable, quoted};
use crate::instant::Instant;
use crate::name::{check_name, nearest};
use crate::zone::check_zone_name;

/// Switches an attribute off; as in Spring, a cron expression switches its task off.
const OFF: &str = "-";

/// The number of tags a task can have.
const TAGS_MAX: usize = 16;

/// Words of other programs for yes and no.
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
    /// Checks a text, as the macro and the start of a program do.
    ///
    /// `unit` is the unit of bare numbers. Placeholders have to be resolved.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert!(Attribute::Timeout.check("30s", None).is_ok());
    /// assert!(Attribute::Timeout.check("-", None).is_ok());
    /// assert!(Attribute::Timeout.check("0s", None).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// When the attribute cannot take the text.
    pub fn check(self, text: &str, unit: Option<DurationUnit>) -> Result<(), AttributeError> {
        if self.is_off(text) {
            return Ok(());
        }
        match self.row().kind {
            Kind::Cron => Self::parse_cron(text).map(drop),
            Kind::Zone => self.check_zone(text),
            Kind::Unit => Self::parse_unit(text).map(drop),
            Kind::Pool | Kind::Calendar | Kind::Queue => self.check_called(text),
            Kind::Count { .. } => self.parse_count(text).map(drop),
            Kind::Instant => self.parse_instant(text).map(drop),
            Kind::Tags => self.parse_tags(text).map(drop),
            Kind::Rate => self.parse_rate(text).map(drop),
            Kind::Period | Kind::Delay => self.parse_duration(text, unit).map(drop),
            Kind::Flag | Kind::Words(_) => self.index_of_word(text).map(drop),
        }
    }

    /// Returns true if the text is `-`, and this switches the attribute off ([`off`](super::Row::off)). For `cron` see
    /// [`parse_cron`](Self::parse_cron).
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert!(Attribute::Timeout.is_off("-"));
    /// assert!(!Attribute::FixedRate.is_off("-"));
    /// ```
    #[must_use]
    pub fn is_off(self, text: &str) -> bool {
        self.row().off && text == OFF
    }

    /// Reads a cron expression that has a fire time; none if the text is `-`, which switches the
    /// task off.
    ///
    /// # Errors
    ///
    /// When the text is not an expression, or one that never matches.
    pub fn parse_cron(text: &str) -> Result<Option<CronExpression>, AttributeError> {
        if text == OFF {
            return Ok(None);
        }
        let expression = CronExpression::parse(text).map_err(|error| {
            let caret = (!error.span().is_empty()).then(|| error.caret());
            let help = match text.trim() {
                OFF => Some("to switch the task off, write `-` without blanks"),
                _ => error.help(),
            };
            let fault = AttributeError::new(Self::Cron, Wording::new(&error));
            fault.with_caret(caret).with_help(help.map(Wording::new))
        })?;
        match expression.never_fires() {
            Some(never) => {
                let fault = AttributeError::new(Self::Cron, Wording::new(&never));
                Err(fault.with_caret(never.caret()))
            }
            None => Ok(Some(expression)),
        }
    }

    /// Reads a duration of the length that this attribute can take: `initial_delay` and `jitter` may be
    /// zero, all others are longer.
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
        error: &ParseError,
    ) -> AttributeError {
        let has_no_unit = error.cause() == Some(ParseErrorCause::NoUnit);
        // Carets below the whole text would only repeat what is seen anyway.
        let is_part = error.span() != (0..text.len());
        if text == OFF && matches!(self, Self::FixedRate | Self::FixedDelay) {
            let reason = "`-` switches off no task but one of a cron expression";
            let help = Wording::new("to switch the task off, write ").set(Self::Enabled, "false");
            return AttributeError::invalid(self, reason).with_help(help);
        }
        let help = match error.replacement() {
            Some(millis) if has_no_unit && !is_part => Some(self.with_unit(text, millis)),
            _ if self == Self::Timeout && error.cause() == Some(ParseErrorCause::NotPositive) => {
                Some(Wording::new("for no limit, write ").set(self, OFF))
            }
            _ => error.help().map(Wording::new),
        };
        let beside = " (`time_unit` is for numbers that stand alone)";
        let help = match unit {
            Some(_) if has_no_unit => help.map(|help| help.text(beside)),
            _ => help,
        };
        AttributeError::invalid(self, error)
            .with_caret(is_part.then(|| error.caret()))
            .with_help(help)
    }

    /// Returns the help for a number without a unit, which may be meant in seconds or, as in Spring, in
    /// milliseconds.
    fn with_unit(self, number: &str, millis: &str) -> Wording {
        let seconds = in_seconds(number).filter(|text| self.parse_duration(text, None).is_ok());
        let help = match seconds {
            Some(seconds) => Wording::new("write ").set(self, &seconds).text(" or "),
            None => Wording::new("write "),
        };
        help.set(self, millis).text(" (Spring's plain numbers are milliseconds)")
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

    /// The index of a text in the [words](Self::words) of this attribute.
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
        Err(AttributeError::invalid(self, unknown(text)).with_help(Wording::new(help)))
    }

    /// Reads a whole number of the range that the attribute can take.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert_eq!(Attribute::RetryMax.parse_count("3")?, 3);
    /// assert!(Attribute::MaxRuns.parse_count("0").is_err());
    /// # Ok::<(), scheduler_expr::AttributeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is something else, or out of that range.
    pub fn parse_count(self, text: &str) -> Result<u64, AttributeError> {
        let (min, max) = match self.row().kind {
            Kind::Count { min, max } => (min, max),
            _ => (0, u64::MAX),
        };
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let no_limit = if self.row().off { ", or `-` for none" } else { "" };
        let (reason, help) = match text.parse() {
            Ok(count) if is_number && (min..=max).contains(&count) => return Ok(count),
            Ok(count) if is_number && count < min => {
                ("is too few", format!("write at least `{min}`{no_limit}"))
            }
            _ if is_number => ("is too many", format!("write at most `{max}`")),
            _ => ("is not a whole number", "write for example `3`".to_owned()),
        };
        let reason = format!("{} {reason}", quoted(text));
        Err(AttributeError::invalid(self, reason).with_help(Wording::new(help)))
    }

    /// Reads a rate: the number of starts, `/`, and the time in which they are allowed.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    /// use std::time::Duration;
    ///
    /// assert_eq!(Attribute::LimitRate.parse_rate("100/1m")?, (100, Duration::from_secs(60)));
    /// let error = Attribute::LimitRate.parse_rate("100 per minute").unwrap_err();
    /// assert_eq!(error.help(), Some("write `rate = \"100/1m\"`"));
    /// # Ok::<(), scheduler_expr::AttributeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is something else, or allows no start.
    pub fn parse_rate(self, text: &str) -> Result<(u32, Duration), AttributeError> {
        let fault = |reason: String| {
            let help = match intended_rate(text) {
                Some(rate) => Wording::new("write ").set(self, &rate),
                None => Wording::new("write for example ").set(self, self.row().example_text()),
            };
            AttributeError::invalid(self, reason).with_help(help)
        };
        let Some((starts, period)) = text.split_once('/') else {
            let reason = "is no number of starts, `/` and a time";
            return Err(fault(format!("{} {reason}", quoted(text))));
        };
        let is_number = !starts.is_empty() && starts.bytes().all(|byte| byte.is_ascii_digit());
        let starts = match starts.parse() {
            Ok(0) => return Err(fault(format!("{} allows no start", quoted(text)))),
            Ok(starts) if is_number => starts,
            _ => return Err(fault(format!("{} is no number of starts", quoted(starts)))),
        };
        let period = parse_period(period, None).map_err(|error| fault(error.to_string()))?;
        Ok((starts, period))
    }

    /// Reads an instant.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// let error = Attribute::Until.parse_instant("2027-01-01T00:00:00").unwrap_err();
    /// let help = "write `until = \"2027-01-01T00:00:00Z\"`, or the offset of the place, such as `+01:00`";
    /// assert_eq!(error.help(), Some(help));
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is not an instant, or has no offset from UTC.
    pub fn parse_instant(self, text: &str) -> Result<Instant, AttributeError> {
        Instant::parse(text).map_err(|error| {
            let is_part = error.span() != (0..text.len());
            let example =
                || Wording::new("write for example ").set(self, self.row().example_text());
            let help = match error.replacement().filter(|instead| is_quotable(instead)) {
                Some(instead) => Some(
                    Wording::new("write ")
                        .set(self, instead)
                        .text(", or the offset of the place, such as `+01:00`"),
                ),
                None => (!is_part).then(example),
            };
            AttributeError::invalid(self, &error)
                .with_caret(is_part.then(|| error.caret()))
                .with_help(help)
        })
    }

    /// Reads tags that are separated by commas.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert_eq!(Attribute::Tags.parse_tags("billing, nightly")?, ["billing", "nightly"]);
    /// # Ok::<(), scheduler_expr::AttributeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there are more than 16, a tag is empty or given twice, or has anything in it but letters, digits, `-`,
    /// `_` and `.`.
    pub fn parse_tags(self, text: &str) -> Result<Vec<&str>, AttributeError> {
        let tags: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fault = |reason: String, help: String| {
            Err(AttributeError::invalid(self, reason).with_help(Wording::new(help)))
        };
        for (index, tag) in tags.iter().copied().enumerate() {
            if tag.is_empty() {
                let reason = if tags.len() == 1 { "the text is empty" } else { "a tag is empty" };
                return fault(
                    reason.to_owned(),
                    format!("write tags as in `{}`", self.row().example),
                );
            }
            if let Some(wrong) = tag.chars().find(|c| !is_allowed(*c)) {
                let wrong = quoted(&wrong.to_string());
                let help = "a tag has letters, digits, `-`, `_` and `.`; separate tags by commas";
                return fault(format!("tag {} has {wrong} in it", quoted(tag)), help.to_owned());
            }
            if tags[..index].contains(&tag) {
                return fault(format!("tag `{tag}` is given twice"), "remove one".to_owned());
            }
        }
        if tags.len() > TAGS_MAX {
            return fault(
                format!("{} tags are too many", tags.len()),
                format!("write at most {TAGS_MAX}"),
            );
        }
        Ok(tags)
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
        let names = DurationUnit::ALL.map(DurationUnit::name);
        let stem = word.strip_suffix('s').unwrap_or(&word);
        let is_begun = |name: &&str| stem.len() > 1 && name.starts_with(stem);
        let meant = DurationUnit::from_word(&word).map(DurationUnit::name);
        let meant = meant.or_else(|| names.into_iter().find(is_begun));
        let help = match meant.or_else(|| nearest(&word, names)) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the units are {}", list(&names)),
        };
        Err(AttributeError::new(Self::TimeUnit, Wording::new(reason)).with_help(Wording::new(help)))
    }

    fn check_zone(self, text: &str) -> Result<(), AttributeError> {
        check_zone_name(text).map_err(|error| {
            let help = error.help().map(Wording::new);
            AttributeError::new(self, Wording::new(&error)).with_help(help)
        })
    }

    /// Checks the name of a pool, of a calendar or of a queue.
    fn check_called(self, text: &str) -> Result<(), AttributeError> {
        check_name(text).map_err(|error| {
            let what = match self.row().kind {
                Kind::Pool => "pool",
                Kind::Queue => "queue",
                _ => "calendar",
            };
            let example = self.row().example_text();
            let example = format!("write the name of a {what}, such as `{example}`");
            let help = error.help().map_or(example, str::to_owned);
            let reason = Wording::default().name(self).text(" ").text(&error);
            AttributeError::new(self, reason).with_help(Wording::new(help))
        })
    }
}

/// The number of starts at once after a rest of a rate that has none of its own: a tenth.
///
/// ```
/// assert_eq!(scheduler_expr::default_burst(100), 10);
/// assert_eq!(scheduler_expr::default_burst(5), 1);
/// ```
#[must_use]
pub const fn default_burst(starts: u32) -> u32 {
    if starts < 10 { 1 } else { starts / 10 }
}

/// The rate that a text was probably meant to be, such as `100/1m` of `100 per minute`.
fn intended_rate(text: &str) -> Option<String> {
    let text = text.to_lowercase().replace(['_', ','], "");
    let (starts, period) = text.split_once('/').or_else(|| text.split_once(" per "))?;
    let starts: u32 = starts.trim().parse().ok().filter(|starts| *starts > 0)?;
    let period = match period.trim() {
        unit if unit.starts_with(|c: char| c.is_alphabetic()) => format!("1{unit}"),
        period => in_seconds(period).unwrap_or_else(|| period.to_owned()),
    };
    Some(format!("{starts}/{}", intended_period(&period)?))
}

fn unknown(text: &str) -> String {
    match text {
        "" => "the text is empty".to_owned(),
        _ => format!("unknown word {}", quoted(text)),
    }
}

/// The words in backticks, separated by commas.
fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
