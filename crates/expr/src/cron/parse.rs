//! Splits a text into the six fields of an expression, or says why it has none.

use std::str::FromStr;

use super::{
    CronExpression, Fault, Fields, ParseCronError, Word, is_outer_blank, item, line, words,
};

/// More than any schedule needs. Each byte takes time, and a text may come from anywhere.
const TEXT_BYTES_MAX: usize = 64 << 10;

impl CronExpression {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// When the text is not a cron expression, or has more than 64 KiB. The error names the field, the
    /// bytes at fault and the remedy. An expression that can never match is no error here: see
    /// [`never_fires`](Self::never_fires).
    pub fn parse(text: &str) -> Result<Self, ParseCronError> {
        let fields = parse(text).map_err(|fault| ParseCronError::new(text, fault))?;
        Ok(Self { source: text.trim_matches(is_outer_blank).into(), fields })
    }
}

impl FromStr for CronExpression {
    type Err = ParseCronError;

    fn from_str(text: &str) -> Result<Self, ParseCronError> {
        Self::parse(text)
    }
}

/// Reads the six fields of an expression, or of the macro that stands for them.
fn parse(text: &str) -> Result<Fields, Fault> {
    let at = text.len() - text.trim_start_matches(is_outer_blank).len();
    let whole = Word { text: text.trim_matches(is_outer_blank), at };
    if whole.text.is_empty() {
        return Err(line::empty(text.len()));
    }
    if whole.text.len() > TEXT_BYTES_MAX {
        return Err(line::too_long(whole));
    }
    if whole.text.starts_with('@') {
        let fields = line::fields_of_macro(whole.text).ok_or_else(|| line::unknown_macro(whole))?;
        return parse_fields(Word { text: fields, at: 0 });
    }
    parse_fields(whole)
}

fn parse_fields(whole: Word<'_>) -> Result<Fields, Fault> {
    line::check_separators(whole)?;
    let mut words = words(whole);
    let first_six = std::array::from_fn(|_| words.next());
    let rest = words.count();
    let [Some(second), Some(minute), Some(hour), Some(day), Some(month), Some(weekday)] = first_six
    else {
        return Err(line::field_count(whole, first_six.iter().flatten().count()));
    };
    if rest > 0 {
        return Err(line::field_count(whole, 6 + rest));
    }
    item::fields([second, minute, hour, day, month, weekday])
}
