use std::time::Duration;

use super::*;

const MS: Option<DurationUnit> = Some(DurationUnit::Milliseconds);

/// The length, and its canonical text, which must read back as the same.
#[track_caller]
fn check(text: &str, nanos: i128, canonical: &str) {
    let duration = parse_duration(text, MS).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(duration.as_nanos(), nanos, "{text}");
    assert_eq!(duration.to_string(), canonical);
    assert_eq!(canonical.parse(), Ok(duration));
}

/// The error in words, the text that its span covers, and the help.
#[track_caller]
fn refuse(text: &str, fault: &str, reason: &str, help: &str) {
    let error = parse_duration(text, None).expect_err(text);
    assert_eq!(error.to_string(), reason);
    assert_eq!(error.help().unwrap_or(""), help);
    assert_eq!(&text[error.span()], fault);
}

#[test]
fn reads_the_simple_form() {
    check("250", 250_000_000, "250ms");
    check("+10S", 10_000_000_000, "10s");
    check("-5Ms", -5_000_000, "-5ms");
    check("7M", 420_000_000_000, "7m");
    check("-0d", 0, "0s");
    check("90m", 5_400_000_000_000, "1h30m");
}

#[test]
fn reads_the_composite_form() {
    check("1d2h3m4s5ms6us7ns", 93_784_005_006_007, "1d2h3m4s5ms6us7ns");
    check("1h 30m", 5_400_000_000_000, "1h30m");
    check("-(1m 30s)", -90_000_000_000, "-1m30s");
    check("90m30s", 5_430_000_000_000, "1h30m30s");
}

#[test]
fn reads_the_iso_form() {
    check("pt1h30m", 5_400_000_000_000, "1h30m");
    check("-P1DT-2H", -79_200_000_000_000, "-22h");
    check("PT-0,5S", -500_000_000, "-500ms");
    check("P0D", 0, "0s");
    check("PT1.000000001S", 1_000_000_001, "1s1ns");
}

#[test]
fn is_exact_to_the_ends_of_its_range() {
    let seconds = i128::from(i64::MAX);
    check("9223372036854775807s", seconds * 1_000_000_000, "106751991167300d15h30m7s");
    check(
        "PT9223372036854775807.999999999S",
        seconds * 1_000_000_000 + 999_999_999,
        "106751991167300d15h30m7s999ms999us999ns",
    );
    check("-9223372036854775808s", -(seconds + 1) * 1_000_000_000, "-106751991167300d15h30m8s");
    for text in [
        "9223372036854775808s",
        "106751991167301d",
        "99999999999999999999999999",
        "-9223372036854775808m",
    ] {
        let message = parse_duration(text, MS).unwrap_err().to_string();
        assert!(message.ends_with("is too long a time"), "{text}: {message}");
    }
    let error = parse_duration("1ns106751991167301d", MS).unwrap_err();
    assert_eq!(error.to_string(), "units go from large to small, each at most once");
    let error = parse_duration("106751991167301d1h", MS).unwrap_err();
    assert_eq!(error.to_string(), "`106751991167301` is too long a time");
    assert_eq!(error.span(), 0..15);
    assert_eq!(SignedDuration::from_nanos(i128::MAX), None);
    assert_eq!(SignedDuration::from_nanos(i128::MIN), None);
}

#[test]
fn says_what_is_wrong() {
    let units = "the units are `ns us ms s m h d`";
    refuse(
        "1000",
        "1000",
        "`1000` has no unit",
        "write `1s` or `1000ms` (Spring's plain numbers are milliseconds)",
    );
    refuse(
        "250",
        "250",
        "`250` has no unit",
        "write `250s` or `250ms` (Spring's plain numbers are milliseconds)",
    );
    refuse("10sec", "sec", "`sec` is not a unit of time", "write `10s`");
    refuse("10 seconds", "seconds", "`seconds` is not a unit of time", "write `10s`");
    refuse("2weeks", "weeks", "`weeks` is not a unit of time", "write `14d`");
    refuse("1y", "y", "`y` is not a unit of time", units);
    refuse("1M30S", "M", "`M` is not a unit of time", "write `1m30s`");
    refuse("1h2w", "w", "`w` is not a unit of time", units);
    refuse(
        "1s1h",
        "1h",
        "units go from large to small, each at most once",
        "write for example `1h30m`",
    );
    let fraction = "use a smaller unit instead of a fraction, such as `1500ms`";
    refuse("1,5s", ",", "`,` has no meaning here", fraction);
    refuse("1.5", ".", "`.` has no meaning here", fraction);
    refuse("1.5h30m", ".", "`.` has no meaning here", fraction);
    refuse("00:01:30", ":", "`:` has no meaning here", "write for example `1h30m`");
    refuse("1_000ms", "_", "`_` has no meaning here", "write the digits without separators");
    refuse("1h 30 minutes", "minutes", "`minutes` is not a unit of time", "write `1h30m`");
    refuse("(5", "5", "`5` has no unit", units);
    refuse("(1m 30s", "", "the parenthesis is not closed", "add `)` at the end");
    refuse("", "", "the duration is empty", "write for example `30s`");
    let iso = "write for example `P1DT2H30M` or `PT1.5S`";
    refuse("P1Y", "1", "not an ISO-8601 duration of days, hours, minutes and seconds", iso);
    refuse("P", "", "not an ISO-8601 duration of days, hours, minutes and seconds", iso);
    refuse("P1DX", "X", "not an ISO-8601 duration of days, hours, minutes and seconds", iso);
    refuse("PT", "", "not an ISO-8601 duration of days, hours, minutes and seconds", iso);
}

#[test]
fn a_number_at_the_end_has_the_unit_below_that_before_it() {
    refuse("1h30", "30", "`30` has no unit", "write `1h30m`");
    refuse("-(1d 12)", "12", "`12` has no unit", "write `-1d12h`");
    refuse("2 minutes 30", "minutes", "`minutes` is not a unit of time", "write `2m30s`");
    for text in ["1h90", "1h60", "1ns5", "2w1", "1.5h30", "30", "(5)", "1 30m", "1h30 30"] {
        assert_eq!(intended_period(text), None, "{text}");
    }
}

#[test]
fn a_blank_is_what_is_wrong_where_one_stands() {
    let between = "no blank may stand between a number and its unit";
    refuse("5 s", " ", between, "write `5s`");
    refuse("500  MS", "  ", between, "write `500ms`");
    refuse("90 m", " ", between, "write `90m`");
    refuse("1h 30 m", " ", between, "write `1h30m`");
    refuse("30 m 1h", " ", between, "remove the blank");
    let around = "no blanks may stand around a duration";
    refuse("1h30m ", " ", around, "write `1h30m`");
    refuse("\t PT5S", "\t ", around, "write `PT5S`");
    refuse(" 1h30 ", " ", around, "write `1h30m`");
    refuse("5x ", " ", around, "remove the blanks");
    let number = "remove the blanks, and give the number a unit, as in `500ms`";
    refuse("5 ", " ", around, number);
    assert_eq!(parse_duration("5 ", MS).unwrap_err().help(), Some("write `5`"));
    refuse("1h  30m", " ", "` ` has no meaning here", "write `1h30m`");
}

#[test]
fn a_fraction_is_written_in_smaller_units() {
    refuse("1.5s", ".", "`.` has no meaning here", "write `1s500ms`");
    for (text, meant) in [
        ("1.5h", Some("1h30m")),
        ("0.25 days", Some("6h")),
        (".5w", Some("3d12h")),
        ("0.500000000h", Some("30m")),
        ("1.0000000000s", None),
        ("0.5ns", None),
        ("1.", None),
        ("1.2.3s", None),
        ("0.0s", None),
        ("-0.5s", None),
    ] {
        assert_eq!(intended_period(text).as_deref(), meant, "{text}");
    }
}

#[test]
fn the_proposed_text_can_be_read() {
    for text in ["9223372036854775808 s", "9223372036854775807 d", "1000000000000000 w", "5d 5 w"] {
        assert_eq!(intended_period(text), None, "{text}");
    }
    refuse(
        "9223372036854775808",
        "9223372036854775808",
        "`9223372036854775808` is too long a time",
        "the longest duration is 2⁶³ seconds",
    );
    assert_eq!(intended_period(&format!("{}5s", "0".repeat(100))), None, "too long to be shown");
}

#[test]
fn a_text_that_is_refused_as_meant_is_refused_for_that() {
    for text in ["0", "-5", "0 s", "-1h30", "0.0s"] {
        let error = parse_period(text, None).unwrap_err();
        assert_eq!(error.to_string(), format!("`{text}` must be longer than zero"));
        assert_eq!(error.help(), None);
    }
    assert_eq!(parse_delay("-5", None).unwrap_err().to_string(), "`-5` must not be negative");
    assert_eq!(parse_delay("0 s", None).unwrap_err().help(), Some("write `0s`"));
}

#[test]
fn shows_where_a_text_breaks() {
    let error = parse_duration("1h 5x", None).unwrap_err();
    assert_eq!(error.caret(), "1h 5x\n    ^");
}

#[test]
fn zero_is_not_negative() {
    let parse = |text| parse_duration(text, None).unwrap();
    assert!(parse("-1ns").is_negative() && !parse("0s").is_negative());
}

#[test]
fn refuses_what_spring_accepts_by_accident() {
    for text in ["-", "+", "(", ")", "()", " 10s", "10s ", "1m30s)", "- 1m30s", "\n10s"] {
        assert!(parse_duration(text, MS).is_err(), "{text:?}");
    }
}

#[test]
fn judges_the_sign_where_it_matters() {
    assert_eq!(parse_period("0", MS).unwrap_err().to_string(), "`0` must be longer than zero");
    assert_eq!(
        parse_period("-5s", None).unwrap_err().to_string(),
        "`-5s` must be longer than zero"
    );
    assert_eq!(parse_delay("-1ns", None).unwrap_err().to_string(), "`-1ns` must not be negative");
    assert_eq!(parse_delay("PT0S", None), Ok(Duration::ZERO));
}

#[test]
fn refuses_what_no_clock_can_wait_for() {
    let century = Ok(Duration::from_secs(36_525 * 86_400));
    assert_eq!(
        (parse_period("36525d", None), parse_delay("876600h", None)),
        (century.clone(), century)
    );
    for text in ["36525d1ns", "99999999999d", "9223372036854775807s", "3155760000001"] {
        for refused in [parse_period(text, MS), parse_delay(text, MS)] {
            let error = refused.unwrap_err();
            assert_eq!(error.to_string(), format!("`{text}` is longer than 100 years"));
            assert_eq!(error.help(), Some("the longest is `36525d`"));
        }
        assert!(parse_duration(text, MS).is_ok(), "{text}");
    }
}

#[test]
fn answers_bombs_briefly() {
    let texts = [
        "9".repeat(1 << 20),
        "(".repeat(1 << 20),
        "1h".repeat(1 << 19),
        format!("PT{}S", "9".repeat(1 << 20)),
        format!("PT1.{}S", "9".repeat(1 << 20)),
        "\u{301}".repeat(1 << 18),
        format!("5{}", "s".repeat(1 << 20)),
    ];
    for text in texts {
        let error = parse_duration(&text, None).unwrap_err();
        for shown in [error.to_string(), error.help().unwrap_or("").to_owned()] {
            assert!(shown.chars().count() <= 200, "{shown}");
        }
        assert!(!error.to_string().chars().any(char::is_control));
    }
}
