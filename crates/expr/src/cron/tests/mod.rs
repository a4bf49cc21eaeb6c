//! Texts that are accepted with their meaning, and texts that are refused with the message.
//!
//! `check` takes a text with its canonical form, which has to read back as an equal expression;
//! `refuse` takes a text with the error and its place. Fire times are tested by the engine.

mod help;
mod words;

use super::*;
use crate::error::ParseError;

/// The canonical text of an expression, which must read back as an equal one.
#[track_caller]
fn check(text: &str, canonical: &str) {
    let cron = CronExpression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(cron.to_string(), canonical);
    let again = CronExpression::parse(canonical).unwrap();
    assert_eq!((again.to_string().as_str(), &again), (canonical, &cron));
}

/// The message without the words that every error of a cron expression begins with.
fn reason_of(error: &ParseError) -> String {
    let message = error.to_string();
    message.strip_prefix("invalid cron expression: ").expect("the prefix").to_owned()
}

/// The reason and the help of an error, and the text that its span covers.
#[track_caller]
fn refuse(text: &str, fault: &str, reason: &str, help: &str) {
    let error = CronExpression::parse(text).expect_err(text);
    assert_eq!(reason_of(&error), reason);
    assert_eq!(error.help().unwrap_or(""), help);
    assert_eq!(&text[error.span()], fault);
    let caret = error.caret();
    assert!(caret.lines().count() == 2 && caret.contains('^'), "{caret}");
}

#[test]
fn writes_one_text_for_one_meaning() {
    check("* * * ? * ?", "* * * * * *");
    check("0-59 */1 0/1 1/1 JAN-DEC 0-6", "* * * * * *");
    check("0 0/15 9,10,11,12 * * 1-5", "0 */15 9-12 * * MON-FRI");
    check("00 05,06 08 * 1,2,3,12 7", "0 5,6 8 * JAN-MAR,DEC SUN");
    check("*/100 0 0 1-31 2/20 sun,0,7", "0 0 0 * FEB SUN");
    check("0 0 0 */2 * */2", "0 0 0 */2 * */2");
    check("@MidNight", "0 0 0 * * *");
    check("\t 0   0 0 1 1 *\r\n", "0 0 0 1 JAN *");
}

#[test]
fn counts_weekdays_as_spring_does() {
    check("0 0 0 * * 1", "0 0 0 * * MON");
    check("0 0 0 * * */2", "0 0 0 * * */2");
    check("0 0 0 * * 1,3,5,7", "0 0 0 * * */2");
    check("0 0 0 * * 0/2", "0 0 0 * * TUE,THU,SAT,SUN");
    check("0 0 0 * * SUN/3", "0 0 0 * * SUN");
    check("0 0 0 * * SUN-TUE", "0 0 0 * * MON,TUE,SUN");
    check("0 0 0 * * 7-0", "0 0 0 * * SUN");
    check("0 0 0 * * SUN-SUN", "0 0 0 * * *");
    check("0 0 0 * * FRI-SUN", "0 0 0 * * FRI-SUN");
}

#[test]
fn reads_the_specials_of_the_day_fields() {
    check("0 0 0 L,LW,15W,3,L-3 * *", "0 0 0 3,15W,LW,L,L-3 * *");
    check("0 0 0 *,L * *", "0 0 0 * * *");
    check("0 0 0 01W * *", "0 0 0 1W * *");
    check("0 0 0 * * thul,2#1,FRI", "0 0 0 * * FRI,TUE#1,THUL");
    check("0 0 0 * * FRI,FRIL,5#2", "0 0 0 * * FRI");
    check("0 0 0 L-400 * *", "0 0 0 L-31 * *");
    check("0 0 0 * * SUN#100", "0 0 0 * * MON#6");
}

#[test]
fn keeps_springs_names_after_digits() {
    check("0 0 0 * 1FEB 0TUE", "0 0 0 * DEC TUE");
}

#[test]
fn equality_is_by_meaning() {
    let parse = |text| CronExpression::parse(text).unwrap();
    assert_eq!(parse("0 0 0 ? * SUN"), parse("0  0 0 * * 7"));
    assert_ne!(parse("0 0 0 ? * SUN"), parse("0 0 0 ? * SAT"));
    assert_ne!(parse("0 0 0 15 * *"), parse("0 0 0 15W * *"));
    let texts = ["0 0 0 ? * SUN", "0  0 0 * * 7", "0 0 0 ? * SAT"];
    assert_eq!(std::collections::HashSet::from(texts.map(parse)).len(), 2);
    let hash = |text| {
        use std::hash::{BuildHasher, RandomState};
        static STATE: std::sync::LazyLock<RandomState> = std::sync::LazyLock::new(RandomState::new);
        STATE.hash_one(parse(text))
    };
    assert_eq!(hash(texts[0]), hash(texts[1]));
    assert_ne!(hash(texts[0]), hash(texts[2]));
}

#[test]
fn the_values_of_a_field_are_counted_in_advance() {
    let cron = CronExpression::parse("0 0 9-17/2 * * *").unwrap();
    let mut hours = cron.values(CronField::Hour);
    assert_eq!((hours.len(), hours.size_hint()), (5, (5, Some(5))));
    assert_eq!(hours.next(), Some(9));
    assert_eq!(hours.len(), 4);
}

#[test]
fn days_are_plain_without_specials() {
    let plain = |text| CronExpression::parse(text).unwrap().has_plain_days();
    assert!(plain("0 0 0 1,15 * MON-FRI") && plain("0 0 0 ? * ?"));
    for special in ["0 0 0 L * *", "0 0 0 15W * *", "0 0 0 * * FRIL", "0 0 0 * * TUE#2"] {
        assert!(!plain(special), "{special}");
    }
}

#[test]
fn refuses_a_wrong_number_of_fields() {
    const ORDER: &str = "but 6 are needed: second minute hour day-of-month month day-of-week";
    let count = |n| format!("{n} fields, {ORDER}");
    let unix = "this looks like a Unix crontab line; add the second in front: ";
    refuse("0 9 * * MON-FRI", "0 9 * * MON-FRI", &count(5), &format!("{unix}`0 0 9 * * MON-FRI`"));
    refuse(
        "0 9 13 * FRI",
        "0 9 13 * FRI",
        &count(5),
        &format!("{unix}`0 0 9 13 * FRI` (here both day fields must match, not either of them)"),
    );
    refuse("0 0 12 * * ? 2024", "2024", &count(7), "remove the 7th field (year): `0 0 12 * * ?`");
    refuse(
        "0 0 12 ? * 2 *",
        "*",
        &count(7),
        "remove the 7th field (year): `0 0 12 ? * 2` (Quartz counts weekdays from 1 = Sunday, here 1 is Monday)",
    );
    refuse("a b", "a b", &count(2), "");
    refuse(
        "0 0 9 * * * Europe/Berlin",
        "Europe/Berlin",
        &count(7),
        "the zone is an attribute: `zone = \"Europe/Berlin\"`; write `0 0 9 * * *`",
    );
    refuse("daily", "daily", &format!("1 field, {ORDER}"), "write `@daily`");
    refuse(
        "30s",
        "30s",
        &format!("1 field, {ORDER}"),
        "this is a duration; use `fixed_rate = \"30s\"`",
    );
    let order = ORDER.replace("6 are", "6 fields are");
    refuse("", "", &format!("the text is empty, {order}"), "write for example `0 0 9 * * MON-FRI`");
}

#[test]
fn refuses_macros_it_does_not_know() {
    let interval = "a fixed interval is no cron expression; use `fixed_rate = \"5s\"`";
    refuse("@every 5s", "@every 5s", "`@every` is not a macro", interval);
    let once = "to run once when the program starts, use `initial_delay = \"0s\"` alone";
    refuse("@reboot", "@reboot", "`@reboot` is not a macro", once);
    refuse(
        "@daily *",
        "@daily *",
        "the macro `@daily` stands alone, without fields",
        "write `@daily`",
    );
}

#[test]
fn refuses_blanks_other_than_spaces() {
    let tab = "fields are separated by spaces, but here stands a tab";
    refuse("0\t0 0 * * *", "\t", tab, "write a space instead");
    let wide = "fields are separated by spaces, but here stands the blank U+00A0";
    refuse("0 0 0 * *\u{a0}*", "\u{a0}", wide, "write a space instead");
}

#[test]
fn refuses_wrong_items() {
    refuse("0 0 25 * * *", "25", "hour `25` is out of range 0-23", "midnight is hour 0");
    refuse(
        "0 0 0 * * 8",
        "8",
        "day-of-week `8` is out of range 0-7",
        "1 is Monday, 7 and 0 are Sunday",
    );
    refuse("1,,2 0 0 * * *", "", "the second list has an empty item", "remove the surplus comma");
    refuse("*/0 0 0 * * *", "0", "the second step is zero", "the smallest step is 1");
    refuse("0-0-0 0 0 * * *", "0-0", "second `0-0` is not a number", "");
    refuse("+5 0 0 * * *", "+5", "second `+5` is not a number", "write the number without a sign");
    let digits = "write numbers with the digits 0 to 9";
    refuse("٠ 0 0 * * *", "٠", "second `٠` is not a number", digits);
    refuse(
        "\u{feff}0 0 0 * * *",
        "\u{feff}0",
        "second `\\u{feff}0` is not a number",
        "remove the character U+FEFF",
    );
    let neither = "day-of-week `Thurs` is neither a number nor a name such as `MON`";
    refuse("0 0 0 * * Thurs", "Thurs", neither, "names have three letters: write `THU`");
    let neither = "month `MONDAY` is neither a number nor a name such as `JAN`";
    refuse("0 0 0 * MONDAY *", "MONDAY", neither, "this belongs into day-of-week, the 6th field");
    let neither = "month `JANFEB` is neither a number nor a name such as `JAN`";
    refuse("0 0 0 * JANFEB *", "JANFEB", neither, "");
}

#[test]
fn refuses_ranges_that_run_backwards() {
    let cases = [
        ("0 0 22-2 * * *", "hour", "22-2", "22-23,0-2"),
        ("0 59-0 0 * * *", "minute", "59-0", "59,0"),
        ("0 0 22-2/2 * * *", "hour", "22-2/2", "22,0,2"),
        ("0 0 22-2/1 * * *", "hour", "22-2/1", "22-23,0-2"),
        ("0 0 0 20-10/5,12 * *", "day-of-month", "20-10/5", "20,25,30,4,9"),
        ("0 0 0 * nov-feb *", "month", "nov-feb", "nov-DEC,JAN-feb"),
        ("0 0 0 * nov-feb/2 *", "month", "nov-feb/2", "NOV,JAN"),
        ("0 0 0 * * FRI-MON", "day-of-week", "FRI-MON", "FRI-SUN,MON"),
        ("0 0 0 * * FRI-MON/2", "day-of-week", "FRI-MON/2", "FRI,SUN"),
        ("0 0 0 * * 5-0", "day-of-week", "5-0", "5-7"),
        ("0 0 0 * * 5-0/2", "day-of-week", "5-0/2", "5-7/2"),
    ];
    for (text, field, range, instead) in cases {
        let error = CronExpression::parse(text).unwrap_err();
        assert_eq!(reason_of(&error), format!("{field} range `{range}` runs backwards"));
        assert_eq!(error.help(), Some(format!("write `{instead}`").as_str()));
        assert_eq!(&text[error.span()], range);
    }
    refuse("0 0 22-2/0 * * *", "0", "the hour step is zero", "the smallest step is 1");
    let range = "minute range `30-29/2` runs backwards";
    let values = "write `30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,0,2,4,6,8,10,12,14,16,18,20,22,24,26,28`";
    refuse("0 30-29/2 * * * *", "30-29/2", range, values);
}

/// The values that each range and step were meant to be, counted one by one.
#[test]
fn a_range_that_runs_backwards_means_what_is_proposed() {
    for (nth, field) in CronField::ALL.into_iter().enumerate() {
        let count = field.max() - field.star_min() + 1;
        let starts = field.star_min()..=field.max();
        for (start, end) in
            starts.flat_map(|start| (field.star_min()..start).map(move |end| (start, end)))
        {
            for step in [1, 2, 3, 7, 100] {
                let item = format!("{start}-{end}/{step}");
                let line = |item: &str| {
                    let mut words = ["0", "0", "0", "*", "*", "*"];
                    words[nth] = item;
                    words.join(" ")
                };
                let Err(error) = CronExpression::parse(&line(&item)) else { continue };
                let Some(help) = error.help() else { continue };
                let instead = help.strip_prefix("write `").unwrap().strip_suffix('`').unwrap();
                let found = CronExpression::parse(&line(instead)).unwrap();
                let mut meant: Vec<u8> = (start..=end + count)
                    .step_by(step)
                    .map(|n| if n > field.max() { n - count } else { n } as u8)
                    .collect();
                meant.sort_unstable();
                assert_eq!(found.values(field).collect::<Vec<_>>(), meant, "{item}: {help}");
            }
        }
    }
}

#[test]
fn refuses_specials_where_they_mean_nothing() {
    let cases = [
        "0 0 0 * * L",
        "0 0 0 1W/2 * *",
        "0 0 0 L-0 * *",
        "0 0 0 l * *",
        "0 0 0 15w * *",
        "0 L 0 * * *",
        "0 ? 0 * * *",
        "0 0 0 L,? * *",
        "0 0 0 1L * *",
        "0 0 0 * * 1-5L",
        "0 0 0 * * 05L",
        "0 0 0 * * MON#0",
        "0 0 0 * * #1",
        "0 0 0 * * MON#+2",
        "0 0 0 +1W * *",
        "0 0 0 W * *",
        "0 0 0 LL * *",
    ];
    for text in cases {
        let error = CronExpression::parse(text).expect_err(text);
        assert!(error.to_string().contains("has no meaning in"), "{text}: {error}");
        assert!(error.help().is_some(), "{text}");
    }
}

#[test]
fn f_cr1_answers_bombs_briefly() {
    // Of those that are read, and of those that are too long for that.
    let bombs = [1 << 15, 1 << 20].map(|bytes| {
        [
            "9".repeat(bytes),
            "*".repeat(bytes),
            " ".repeat(bytes),
            "0 ".repeat(bytes / 2),
            format!("{} 0 0 * * *", ",".repeat(bytes / 10)),
            format!("0 0 0 * * {}", "MON,".repeat(bytes / 4)),
            format!("0 0 0 * * {}L", "\u{301}".repeat(bytes / 4)),
            format!("@{}", "\0".repeat(bytes)),
            format!("0 0 0 {}-1 * *", "0".repeat(bytes)),
        ]
    });
    for text in bombs.as_flattened() {
        let error = CronExpression::parse(text).unwrap_err();
        for shown in [error.to_string(), error.help().unwrap_or("").to_owned()] {
            assert!(shown.chars().count() <= 240, "{shown}");
        }
        for line in error.caret().lines() {
            assert!(line.trim_start().chars().count() <= 220, "{line}");
        }
        assert!(!error.to_string().chars().any(char::is_control));
    }
}

#[test]
fn a_text_of_more_than_64_kib_is_refused() {
    let list = format!(" {} 0 0 * * *\n", vec!["1"; (65_536 - 10) / 2].join(","));
    assert_eq!(list.trim().len(), 65_535);
    assert_eq!(CronExpression::parse(&list).unwrap().to_string(), "1 0 0 * * *");
    let list = list.replacen(" 1,", " 01,", 1);
    assert_eq!(CronExpression::parse(&list).unwrap().to_string(), "1 0 0 * * *");
    let list = list.replacen(" 01,", " 1,1,", 1);
    let error = CronExpression::parse(&list).unwrap_err();
    assert_eq!(error.span(), 1..65_538);
    assert_eq!(reason_of(&error), "the text has 65537 bytes, and 64 KiB are the most");
    assert_eq!(error.help(), Some("write each value of a list once"));
}

#[test]
fn f_cr1_refuses_what_only_looks_like_an_expression() {
    let seconds = [
        "*/99999999999999999999",
        "*/0",
        "0-0-0",
        "1,,2",
        ",1",
        "1,",
        "0\0",
        "\u{661}",
        "\u{ff11}",
        "1\u{301}",
        "\u{200b}1",
    ];
    let mut texts: Vec<String> = seconds.map(|second| format!("{second} 0 0 * * *")).to_vec();
    texts.extend(["\u{feff}0 0 0 * * *", "      ", "", "\n"].map(str::to_owned));
    for text in texts {
        let error = CronExpression::parse(&text).expect_err(&text);
        let message = error.to_string();
        assert!(message.chars().count() <= 240, "{message}");
        for shown in [message.as_str(), error.help().unwrap_or("")] {
            assert!(!shown.chars().any(char::is_control), "{text:?}: {shown:?}");
        }
        assert!(text.get(error.span()).is_some(), "{text:?}: {:?}", error.span());
    }
    // As Spring does, which trims.
    assert_eq!(CronExpression::parse("0 0 0 * * *\n").unwrap().to_string(), "0 0 0 * * *");
}

#[test]
fn explains_what_never_fires() {
    let cases = [
        ("0 0 0 30 2 *", "February has no day 30"),
        ("0 0 0 30,31 2 *", "February has no day 30 or 31"),
        ("0 0 0 31 4,6 *", "April and June have no day 31"),
        ("0 0 0 30W 2 ?", "February has no day `30W`: the month has 29 days at most"),
        ("0 0 0 L-31 * *", "no month has a day `L-31`"),
        ("0 0 0 L-31 2 *", "no month has a day `L-31`"),
        ("0 0 0 ? * MON#6", "no month has `MON#6`: a weekday comes 5 times at most"),
        (
            "0 0 0 1-7 * MON#2",
            "no day of any month matches both day-of-month `1-7` and day-of-week `MON#2`",
        ),
        (
            "0 0 0 L-25 6,9 6#4",
            "no day in June or September matches both day-of-month `L-25` and day-of-week `6#4`",
        ),
    ];
    for (text, reason) in cases {
        let cron = CronExpression::parse(text).unwrap();
        assert_eq!(cron.never_fires().as_ref().map(NeverFires::reason), Some(reason), "{text}");
        assert!(!cron.may_fire());
    }
    let never = CronExpression::parse("0 0 0 30 2 *").unwrap().never_fires().unwrap();
    assert_eq!(never.caret(), "0 0 0 30 2 *\n      ^^");
    for text in
        ["0 0 0 29 2 *", "0 0 0 29 2 MON#5", "0 0 0 L-30 * *", "0 0 0 31W * *", "0 0 0 L-28 2 *"]
    {
        assert_eq!(CronExpression::parse(text).unwrap().never_fires(), None, "{text}");
    }
}
