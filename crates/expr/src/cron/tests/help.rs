//! Tests of the helps of messages.

use super::{CronExpression, reason_of, refuse};

#[track_caller]
fn check(text: &str, help: &str) {
    let error = CronExpression::parse(text).expect_err(text);
    assert_eq!(error.help().unwrap_or(""), help, "{text}: {error}");
}

#[test]
fn a_fault_names_its_field() {
    let error = CronExpression::parse("0 0 25 * * *").unwrap_err();
    assert_eq!(error.caret(), "0 0 25 * * *\n    ^^ hour");
    assert_eq!(CronExpression::parse("0 0").unwrap_err().caret(), "0 0\n^^^");
}

#[test]
fn macros_of_others_have_an_answer() {
    check("@every", "a fixed interval is no cron expression; use `fixed_rate = \"…\"`");
    check("@every \u{1}", "a fixed interval is no cron expression; use `fixed_rate = \"…\"`");
    let rate = |period: &str| {
        format!("a fixed interval is no cron expression; use `fixed_rate = \"{period}\"`")
    };
    check("@every 1h30m", &rate("1h30m"));
    check("@every 1.5h", &rate("1h30m"));
    check("@every 5 minutes", &rate("5m"));
    check("@every 5", &rate("…"));
    let positive = "`fixed_rate` is for intervals, and they are longer than zero";
    check("@every 0s", &format!("a fixed interval is no cron expression; {positive}"));
    check("@secondly", "write `* * * * * *`");
    check("@minutely", "write `0 * * * * *`");
    check("@weekdays", "write `0 0 0 * * MON-FRI`");
    check(
        "@noon",
        "the macros are `@yearly` `@annually` `@monthly` `@weekly` `@daily` `@midnight` `@hourly`",
    );
}

#[test]
fn a_duration_leads_to_the_attribute_that_takes_it() {
    check("1.5h", "this is a duration; use `fixed_rate = \"1h30m\"`");
    check("5 minutes", "this is a duration; use `fixed_rate = \"5m\"`");
    for text in ["0s", "-5s"] {
        check(
            text,
            "this is a duration; `fixed_rate` is for intervals, and they are longer than zero",
        );
    }
    check("5", "");
}

#[test]
fn comments_and_zones_are_no_fields() {
    check("# every night", "a comment is no cron expression");
    for text in ["TZ=UTC 0 0 9 * * *", "CRON_TZ=UTC 0 0 9 * * *", "TZ=UTC 0 9 * * *"] {
        check(text, "the zone is an attribute: `zone = \"…\"`");
    }
    check("0 0 9 * * * # at nine", "a comment is not part of the expression; write `0 0 9 * * *`");
}

#[test]
fn a_line_with_more_fields_is_cut_where_six_have_ended() {
    check("  0 0 9 * * * 2024", "remove the 7th field (year): `0 0 9 * * *`");
    let year = "remove the 7th field (year): `0 0 9 * * MON-FRI`";
    for text in ["2024/2", "2024-2030/3", "*/2", "2024,2026"] {
        check(&format!("0 0 9 * * MON-FRI {text}"), year);
    }
    let zone = |zone| format!("the zone is an attribute: `zone = \"{zone}\"`; write `0 0 9 * * *`");
    check("0 0 9 * * * UTC", &zone("UTC"));
    check("0 0 9 * * * Europe/Berln", &zone("…"));
    check("0 0 9 * * * 2024 x", "the first six fields alone are `0 0 9 * * *`");
}

#[test]
fn a_line_is_only_suggested_when_it_is_short_and_right() {
    check("a b c d e", "");
    let minutes = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27";
    check(&format!("{minutes} 0,1,2,3,4,5,6,7,8,9,10,11,12 * * *"), "");
}

#[test]
fn both_day_fields_of_a_unix_line_are_a_reason_to_warn() {
    let unix = "this looks like a Unix crontab line; add the second in front: ";
    check("0 9 13 * *", &format!("{unix}`0 0 9 13 * *`"));
    check("0 9 * * FRI", &format!("{unix}`0 0 9 * * FRI`"));
    check("0 9 */2 * FRI", &format!("{unix}`0 0 9 */2 * FRI`"));
}

#[test]
fn the_week_of_a_unix_line_begins_with_sunday() {
    let check = |days, instead| {
        let help = "this looks like a Unix crontab line; add the second in front: ";
        let why = "(a step in `*` begins with Sunday there, with Monday here)";
        check(&format!(" 0 9 * * {days}"), &format!("{help}`0 0 9 * * {instead}` {why}"));
    };
    check("*/2", "SUN,TUE,THU,SAT");
    check("*/3", "SUN,WED,SAT");
    check("*/7", "SUN");
    check("MON,*/5", "MON,SUN,FRI");
}

#[test]
fn a_number_out_of_range_leads_to_the_one_that_is_meant() {
    check("60 0 0 * * *", "a full minute or hour is 0");
    check("0 60 0 * * *", "a full minute or hour is 0");
    check("0 0 0 0 * *", "counting begins with 1");
    check("0 0 0 * 0 *", "counting begins with 1");
    check("0 0 0 32 * *", "the last day of every month is `L`");
    check("0 0 0 * 13 *", "");
}

#[test]
fn a_step_has_to_be_there() {
    let example = "a step is a number, as in `*/5`";
    refuse("*/ 0 0 * * *", "", "the second step is missing", example);
    refuse("*/x 0 0 * * *", "x", "the second step `x` is not a number", example);
    refuse("*/5/2 0 0 * * *", "5/2", "the second step `5/2` is not a number", example);
}

#[test]
fn a_special_has_its_place() {
    let day = "day-of-month knows `L` (last day), `L-3` (3 days before it), `LW` (last weekday) and `15W` (weekday nearest to the 15th)";
    let weekday = "day-of-week knows `FRIL` (last Friday of the month) and `FRI#2` (second Friday); the last day of the month is `L` in day-of-month";
    check("0 0 0 1L * *", day);
    check("0 0 0 W * *", day);
    check("0 0 0 L-0 * *", day);
    check("0 0 0 l * *", "write it in upper case: `L`");
    check("0 0 0 lw * *", "write it in upper case: `LW`");
    check("0 0 0 1,l-3 * *", "write it in upper case: `L-3`");
    check("0 0 0 w15 * *", "write `15W`");
    check("0 0 0 W15 * *", "write `15W`");
    check("0 0 0 32w * *", day);
    check("0 0 0 w32 * *", day);
    check("0 0 0 15w/2 * *", day);
    check("0 0 0 1-l * *", day);
    check("0 0 0 * * MON#0", weekday);
    check("0 0 l * * *", "`L`, `W` and `#` are for day-of-month and day-of-week");
    check("0 ? 0 * * *", "write `*`; `?` is for day-of-month and day-of-week");
    check("0 ?/5 0 * * *", "write `*`; `?` is for day-of-month and day-of-week");
    for text in ["0 0 ?- * * *", "0 0 ?5 * * *", "0 0 1-? * * *"] {
        check(text, "`?` is for day-of-month and day-of-week");
    }
    check("0 0 0 L,? * *", "`?` is the whole field or not there at all");
}

#[test]
fn a_month_that_ends_in_l_is_no_special() {
    for text in ["JUL", "jul", "APRIL", "July", "MON,JUL", "JAN"] {
        check(&format!("0 0 9 * * {text}"), "this belongs into month, the 5th field");
    }
    refuse(
        "0 0 9 * * JAN-JUL",
        "JAN",
        "day-of-week `JAN` is neither a number nor a name such as `MON`",
        "this belongs into month, the 5th field",
    );
}

#[test]
fn a_number_too_long_for_a_special_is_refused() {
    let reason = |count| {
        let text = format!("0 0 {} * * *", "L".repeat(count));
        reason_of(&CronExpression::parse(&text).unwrap_err())
    };
    assert!(reason(15).ends_with("has no meaning in hour"), "{}", reason(15));
    assert!(reason(16).ends_with("is not a number"), "{}", reason(16));
}

#[test]
fn a_word_for_a_number_gets_the_help_for_its_dialect() {
    check("H 0 0 * * *", "`H` is Jenkins' hash; write a number");
    check("0 0 *5 * * *", "`*` stands alone or before a step, as in `*/5`");
    check("0 0 -5 * * *", "write the number without a sign");
    check("0 0 1..5 * * *", "a range is written with a hyphen, as in `1-5`");
    check("0 09:30 9 * * *", "hour and minute are fields of their own: 09:30 is `0 30 9`");
    check("x 0 0 * * *", "");
}
