//! Pastes the text that a help proposes into its place, where it must be accepted.
//!
//! The inputs are near misses: all sequences of a few words that resemble valid ones.

use crate::*;

/// Behind what a proposal stands in backticks.
const SAYING: [&str; 10] = [
    "write ",
    "write for example ",
    "use ",
    "did you mean ",
    "such as ",
    " or ",
    "upper case: ",
    "in front: ",
    "(year): ",
    "alone are ",
];

/// The texts that a help proposes.
fn proposals(help: &str) -> impl Iterator<Item = &str> {
    let mut pieces = help.split('`');
    std::iter::from_fn(move || Some((pieces.next()?, pieces.next()?)))
        .filter(|(before, _)| SAYING.iter().any(|saying| before.ends_with(saying)))
        .map(|(_, proposal)| proposal)
}

/// The attribute and its text, if a proposal is both: `fixed_rate = "5s"`.
fn assignment(proposal: &str) -> Option<(&str, &str)> {
    let (name, text) = proposal.strip_suffix('"')?.split_once(" = \"")?;
    Some((name, text))
}

/// All rows of `count` of the words, one behind the other.
fn rows<'a>(words: &'a [&'a str], count: u32) -> impl Iterator<Item = String> + 'a {
    (0..words.len().pow(count)).map(move |number| {
        let digits = (0..count).map(|place| number / words.len().pow(place) % words.len());
        digits.map(|digit| words[digit]).collect()
    })
}

#[track_caller]
fn check_assignment(name: &str, text: &str, message: &str) {
    let attribute = Attribute::from_name(name).unwrap_or_else(|| panic!("{name}: {message}"));
    // An ellipsis says that the text is not known.
    assert!(text == "…" || attribute.check(text, None).is_ok(), "{message}");
}

fn check_duration(attribute: Attribute, text: &str, unit: Option<DurationUnit>) {
    let Err(error) = attribute.check(text, unit) else { return };
    let help = error.help().unwrap_or_default();
    let message = format!("{attribute} {text:?} {unit:?}: {error}; {help}");
    for proposal in proposals(help) {
        match assignment(proposal) {
            Some((name, text)) => check_assignment(name, text, &message),
            None if proposal == "enabled = false" => {}
            None => assert!(attribute.check(proposal, unit).is_ok(), "{message}"),
        }
    }
    if help.contains("add `time_unit") {
        assert_eq!(unit, None, "{message}");
        assert!(attribute.check(text, Some(DurationUnit::Milliseconds)).is_ok(), "{message}");
    }
    if help.contains("add `)`") {
        assert!(parse_duration(&format!("{text})"), unit).is_ok(), "{message}");
    }
}

#[test]
fn durations_are_taken_as_proposed() {
    let words = [
        "", " ", "-", "(", ")", "0", "5", "30", "1.5", "5000", "h", "m", "S", "MS", "sec", "hours",
        "w", "x", "PT", ":",
    ];
    for text in rows(&words, 3) {
        check_duration(Attribute::FixedRate, &text, None);
        check_duration(Attribute::FixedRate, &text, Some(DurationUnit::Minutes));
        check_duration(Attribute::InitialDelay, &text, None);
    }
    for text in rows(&["", " ", "1", "30", ".", "d", "h", "m", "ns"], 4) {
        check_duration(Attribute::Timeout, &text, None);
    }
}

fn check_cron(text: &str) {
    let Err(error) = CronExpression::parse(text) else { return };
    let help = error.help().unwrap_or_default();
    let message = format!("{text:?}: {error}; {help}");
    for proposal in proposals(help) {
        if let Some((name, text)) = assignment(proposal) {
            check_assignment(name, text, &message);
        } else if proposal.contains(' ') || proposal.starts_with('@') {
            assert!(CronExpression::parse(proposal).is_ok(), "{message}");
        } else {
            check_in_place(text, &error, proposal, &message);
        }
    }
}

/// Pastes over what the caret marks. Faults behind it may be left, and a range is judged when both
/// its ends are right.
fn check_in_place(text: &str, error: &ParseError, proposal: &str, message: &str) {
    let mut pasted = text.to_owned();
    pasted.replace_range(error.span(), proposal);
    let Err(left) = CronExpression::parse(&pasted) else { return };
    let is_behind = left.span().start >= error.span().start + proposal.len();
    let is_range = |error: &ParseError| error.to_string().ends_with("runs backwards");
    assert!(is_behind || (is_range(&left) && !is_range(error)), "{message}; then {left}");
}

#[test]
fn items_of_cron_expressions_are_taken_as_proposed() {
    let words = [
        "", "*", "?", "L", "l", "W", "w", "#", "/", "-", ",", "0", "2", "15", "32", "60", "MON",
        "Fri", "JUL", "april", "Thurs", "H",
    ];
    for item in rows(&words, 3) {
        check_cron(&format!("{item} 0 0 * * *"));
        check_cron(&format!("0 0 0 {item} * *"));
        check_cron(&format!("0 0 0 * {item} *"));
        check_cron(&format!("0 0 0 * * {item}"));
    }
    for item in rows(&["5", "22", "-", "/", ",", "SUN"], 5) {
        check_cron(&format!("0 0 {item} * * *"));
        check_cron(&format!("0 0 0 * * {item}"));
    }
}

#[test]
fn lines_of_cron_expressions_are_taken_as_proposed() {
    let words = ["", "9 ", "* ", "*/2 ", "FRI ", "2024/2 ", "UTC ", "A/B ", "# "];
    for rest in rows(&words, 4) {
        check_cron(&format!("0 9 {rest}"));
        check_cron(&format!("0 0 9 * {rest}"));
    }
    let words = ["", "@", "daily", " ", "5", "0s", "-5s", "1.5h", "minutes", "-", "("];
    for text in rows(&words, 3) {
        check_cron(&text);
        check_cron(&format!("@every {text}"));
    }
}

#[test]
fn names_and_zones_are_taken_as_proposed() {
    let others = ["Z", "z", "EDT", "CEST", "BST", "GMT+2", "UTC-05:00", "+05:30", "Mars", ""];
    let near = zone_names().step_by(40).map(|name| name.replace(['_', 'e'], " "));
    for name in others.into_iter().map(str::to_owned).chain(near) {
        let Err(error) = check_zone_name(&name) else { continue };
        let help = error.help().unwrap_or_default();
        for proposal in proposals(help) {
            assert_eq!(check_zone_name(proposal), Ok(()), "{name:?}: {help}");
        }
    }
    for name in rows(&[" ", "a", "b c", "\t", "\u{200B}"], 4) {
        let Err(error) = check_name(&name) else { continue };
        let help = error.help().unwrap_or_default();
        assert!(proposals(help).all(|proposal| check_name(proposal).is_ok()), "{name:?}: {help}");
    }
}

#[test]
fn words_are_taken_as_proposed() {
    for attribute in Attribute::ALL.iter().copied() {
        for text in ["", " - ", "-", "x", "0", "yes", "OFF", "catchup", "secs", "4294967296"] {
            let Err(error) = attribute.check(text, None) else { continue };
            let help = error.help().unwrap_or_default();
            for proposal in proposals(help).filter(|proposal| *proposal != "enabled = false") {
                let (of, text) = assignment(proposal).unwrap_or((attribute.name(), proposal));
                let part = Attribute::from_name(of).unwrap_or(attribute);
                assert!(part.check(text, None).is_ok(), "{attribute} {text:?}: {error}; {help}");
            }
        }
    }
}
