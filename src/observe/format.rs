//! Times, durations and foreign texts for people.

use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;

/// A duration in its two largest units: `2d 20h`, `1m 30s`, `18µs`.
pub(crate) fn duration(length: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let seconds = length.as_secs();
    let Some(first) = UNITS.iter().position(|(unit, _)| seconds >= *unit).filter(|i| *i < 3) else {
        return short(length);
    };
    let (unit, suffix) = UNITS[first];
    let (next_unit, next_suffix) = UNITS[first + 1];
    match seconds % unit / next_unit {
        0 => format!("{}{suffix}", seconds / unit),
        rest => format!("{}{suffix} {rest}{next_suffix}", seconds / unit),
    }
}

fn short(length: Duration) -> String {
    let nanos = length.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", nanos / 1_000),
        1_000_000..1_000_000_000 => format!("{}ms", nanos / 1_000_000),
        _ => {
            let text = format!("{:.1}", length.as_secs_f64());
            format!("{}s", text.strip_suffix(".0").unwrap_or(&text))
        }
    }
}

/// An instant on the wall clock of a zone, with its offset: `Mon 2026-03-30 09:00:00 +02:00`.
pub(crate) fn instant(at: DateTime<Utc>, zone: Zone) -> String {
    zone.local(at).format("%a %Y-%m-%d %H:%M:%S %:z").to_string()
}

/// A foreign text on one line: control characters and text-direction marks are escaped.
pub(crate) fn on_one_line(text: &str) -> String {
    let is_hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}')
            || matches!(c, '\u{2066}'..='\u{2069}')
    };
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hostile(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

/// `1 run`, `2 runs`.
pub(crate) fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`.
pub(crate) fn ordinal(number: u64) -> String {
    let suffix = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_at_most_two_units() {
        let cases = [
            (Duration::from_nanos(7), "7ns"),
            (Duration::from_micros(18), "18µs"),
            (Duration::from_millis(12), "12ms"),
            (Duration::from_millis(4_200), "4.2s"),
            (Duration::from_secs(12), "12s"),
            (Duration::from_secs(90), "1m 30s"),
            (Duration::from_secs(3_600), "1h"),
            (Duration::from_secs(2 * 86_400 + 20 * 3_600 + 59), "2d 20h"),
            (Duration::from_secs(86_400 + 59), "1d"),
        ];
        for (length, expected) in cases {
            assert_eq!(duration(length), expected);
        }
        assert!(duration(Duration::MAX).ends_with('h'));
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(
            on_one_line("a\nERROR forged\x1b[2J\u{202E}b"),
            r"a\nERROR forged\u{1b}[2J\u{202e}b"
        );
        assert_eq!(
            on_one_line("a\u{061C}\u{200E}\u{200F}\u{2069}b"),
            r"a\u{61c}\u{200e}\u{200f}\u{2069}b"
        );
        assert_eq!(on_one_line("täglich 🕐"), "täglich 🕐");
    }

    #[test]
    fn ordinals() {
        let texts: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal).into();
        assert_eq!(texts.join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 113th");
    }

    #[test]
    fn an_instant_shows_zone_time_and_offset() {
        let at = "2026-03-30T07:00:00Z".parse().unwrap();
        let zone = "Europe/Berlin".parse().unwrap();
        assert_eq!(instant(at, zone), "Mon 2026-03-30 09:00:00 +02:00");
    }
}
