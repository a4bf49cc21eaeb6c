//! Tests of expressions in English.

use super::CronExpression;

#[track_caller]
fn check(text: &str, words: &str) {
    assert_eq!(CronExpression::parse(text).unwrap().describe(), words, "{text}");
}

#[test]
fn describes_in_words() {
    let cases = [
        ("0 0 9 * * MON-FRI", "09:00, Monday to Friday"),
        ("0 */15 * * * *", "every 15 minutes"),
        ("0 */7 * * * *", "minute */7, second 0"),
        ("* * * * * *", "every second"),
        ("*/10 * 9 * * *", "every 10 seconds from 09:00:00 to 09:59:50"),
        ("30 * * * * *", "every minute at second 30"),
        ("@hourly", "every hour"),
        ("0 5 */6 * * SAT,SUN", "every 6 hours at minute 5, Saturday and Sunday"),
        ("@daily", "00:00, every day"),
        ("@yearly", "00:00, on 1 January"),
        ("0 0 6,18 * JUN-AUG,DEC *", "06:00 and 18:00, every day in June to August and December"),
        ("0 0/30 8-10,14 * * *", "every 30 minutes from 08:00 to 10:30 and from 14:00 to 14:30"),
        ("0 5 8-18 * * ?", "every hour from 08:05 to 18:05"),
        ("0 30 8 L * *", "08:30, on the last day of the month"),
        (
            "0 0 0 L-3,LW,15W * *",
            "00:00, on the weekday nearest to day 15, the last weekday and the day 3 days before the last day of the month",
        ),
        ("0 0 0 1,15 * *", "00:00, on days 1 and 15 of the month"),
        ("0 0 0 13 * FRI", "00:00, on day 13 of the month, only if it is Friday"),
        ("0 0 0 * * FRIL,TUE#2", "00:00, on the second Tuesday and the last Friday of the month"),
        ("0 0 0 31W * *", "00:00, day-of-month 31W"),
        ("0 0 0 30 2 *", "never: February has no day 30"),
    ];
    for (text, words) in cases {
        check(text, words);
    }
}

#[test]
fn describes_the_days_of_a_field_with_specials() {
    check("0 0 0 * * FRIL", "00:00, on the last Friday of the month");
    check("0 0 0 * * TUE#2", "00:00, on the second Tuesday of the month");
    check("0 0 0 1,L 1 *", "00:00, on day 1 and the last day of the month in January");
    // In a month that may end before the nearest weekday, words would be long: the field is named.
    check("0 0 0 27W * *", "00:00, on the weekday nearest to day 27 of the month");
    check("0 0 0 28W * *", "00:00, day-of-month 28W");
}

#[test]
fn describes_an_interval_of_hours_with_the_second() {
    check("15 5 */2 * * *", "every 2 hours at minute 5 and second 15");
}

#[test]
fn names_six_times_of_day_and_no_more() {
    check("0 0/20 8,17 * * *", "08:00, 08:20, 08:40, 17:00, 17:20 and 17:40, every day");
    check("0 1,2 8,10,12,14 * * *", "hour 8,10,12,14, minute 1,2, second 0");
    check("0,10 1,2 8,10 * * *", "hour 8,10, minute 1,2, second 0,10");
}

#[test]
fn names_three_stretches_of_a_day_and_no_more() {
    check(
        "0 */10 8,12,16 * * *",
        "every 10 minutes from 08:00 to 08:50, from 12:00 to 12:50 and from 16:00 to 16:50",
    );
    check("0 */10 8,12,16,20 * * *", "hour 8,12,16,20, minute */10, second 0");
    check("0 5 8-14,20 * * *", "hour 8-14,20, minute 5, second 0");
    check("*/5 5 9 * * *", "every 5 seconds from 09:05:00 to 09:05:55");
    check("*/30 5 8,10,12,14 * * *", "hour 8,10,12,14, minute 5, second */30");
    check(
        "*/20 5 8,10,12 * * *",
        "every 20 seconds from 08:05:00 to 08:05:40, from 10:05:00 to 10:05:40 and from 12:05:00 to 12:05:40",
    );
}
