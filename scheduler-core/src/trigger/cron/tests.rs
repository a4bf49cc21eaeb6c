use super::*;

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is an instant"))
}

fn trigger(expression: &str, zone: &str) -> CronTrigger {
    CronTrigger::new(expression.parse().unwrap(), zone.parse().unwrap())
}

/// The next fire times with their offsets.
#[track_caller]
fn check(trigger: &CronTrigger, from: &str, expected: &[&str]) {
    let fire_times = trigger.upcoming(instant(from)).take(expected.len());
    let found: Vec<_> = fire_times.map(|at| trigger.zone().local(at).to_rfc3339()).collect();
    assert_eq!(found, expected, "{trigger} {:?} {:?}", trigger.gap, trigger.overlap);
}

/// The next fire time after a run that was scheduled for and completed at these times of
/// 2026-06-01.
#[track_caller]
fn check_after_run(scheduled: &str, completed: &str, expected: &str) {
    let at = |time: &str| instant(&format!("2026-06-01T{time}Z"));
    let context =
        TriggerContext::after_run(at(completed), at(scheduled), at(scheduled), at(completed));
    let next = trigger("0 * * * * *", "UTC").next_fire_time(&context).unwrap();
    assert_eq!(next, Some(at(expected)));
}

#[test]
fn the_next_fire_time_follows_completion_and_fire_time() {
    let first = TriggerContext::first(instant("2026-06-01T10:00:30Z"));
    let next = trigger("0 * * * * *", "UTC").next_fire_time(&first).unwrap();
    assert_eq!(next, Some(instant("2026-06-01T10:01:00Z")));
    check_after_run("10:01:00", "10:01:02", "10:02:00");
    check_after_run("10:01:00", "10:04:30", "10:05:00"); // overrun: what passed meanwhile is left out
    check_after_run("10:01:00", "10:00:59.9", "10:02:00"); // fired early: not once more
    check_after_run("10:01:00", "09:05:00", "10:02:00"); // clock set back: not once more
    check_after_run("10:01:00", "13:05:00", "13:06:00"); // clock set forward
    check_after_run("10:01:00", "10:02:00", "10:03:00"); // completed on a fire time
}

#[test]
fn fire_times_in_a_gap_are_skipped_or_run_after_it() {
    let daily = trigger("0 30 2 * * *", "Europe/Berlin");
    let from = "2026-03-28T00:00:00Z";
    check(&daily, from, &["2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00"]);
    let daily = daily.dst_gap(DstGap::RunAfter);
    check(
        &daily,
        from,
        &["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
    );
    let often = trigger("0 */30 2,3 * * SUN", "Europe/Berlin").dst_gap(DstGap::RunAfter);
    check(
        &often,
        from,
        &["2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2026-04-05T02:00:00+02:00"],
    );
}

#[test]
fn fire_times_in_an_overlap_come_twice_or_in_one_pass() {
    let daily = trigger("0 30 2 * * *", "Europe/Berlin");
    let from = "2026-10-24T12:00:00Z";
    let (first, second) = ("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00");
    let monday = "2026-10-26T02:30:00+01:00";
    check(&daily, from, &[first, second, monday]);
    check(&daily.clone().dst_overlap(DstOverlap::First), from, &[first, monday]);
    check(&daily.dst_overlap(DstOverlap::Last), from, &[second, monday]);
}

#[test]
fn the_pass_of_an_overlap_that_does_not_fire_ends_where_its_hour_does() {
    let often = trigger("0 */30 1-3 * * SUN", "Europe/Berlin");
    let from = "2026-10-24T23:15:00Z";
    let before = "2026-10-25T01:30:00+02:00";
    let first = ["2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00"];
    let second = ["2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00"];
    let after = ["2026-10-25T03:00:00+01:00", "2026-10-25T03:30:00+01:00"];
    let firsts = [before, first[0], first[1], after[0], after[1]];
    check(&often.clone().dst_overlap(DstOverlap::First), from, &firsts);
    let lasts = [before, second[0], second[1], after[0], after[1]];
    check(&often.dst_overlap(DstOverlap::Last), from, &lasts);
}

#[test]
fn a_change_touches_only_the_hour_that_it_takes_or_repeats() {
    let daily = trigger("0 0 9 * * *", "Europe/Berlin");
    let all = [
        daily.clone().dst_gap(DstGap::RunAfter),
        daily.clone().dst_overlap(DstOverlap::First),
        daily.dst_overlap(DstOverlap::Last),
    ];
    for daily in all {
        check(
            &daily,
            "2026-03-28T00:00:00Z",
            &[
                "2026-03-28T09:00:00+01:00",
                "2026-03-29T09:00:00+02:00",
                "2026-03-30T09:00:00+02:00",
            ],
        );
        check(
            &daily,
            "2026-10-24T00:00:00Z",
            &[
                "2026-10-24T09:00:00+02:00",
                "2026-10-25T09:00:00+01:00",
                "2026-10-26T09:00:00+01:00",
            ],
        );
    }
}

#[test]
fn far_fire_times_are_found_on_either_side_of_a_change() {
    let from = "2026-01-01T00:00:00Z";
    check(&trigger("0 30 1 29 3 *", "Europe/Berlin"), from, &["2026-03-29T01:30:00+01:00"]);
    check(&trigger("0 30 3 29 3 *", "Europe/Berlin"), from, &["2026-03-29T03:30:00+02:00"]);
    check(
        &trigger("0 30 1 25 10 *", "Europe/Berlin"),
        from,
        &["2026-10-25T01:30:00+02:00", "2027-10-25T01:30:00+02:00"],
    );
    check(&trigger("0 30 3 25 10 *", "Europe/Berlin"), from, &["2026-10-25T03:30:00+01:00"]);
}

#[test]
fn a_skipped_day_has_no_fire_times() {
    let daily = trigger("0 0 9 * * *", "Pacific/Apia");
    let from = "2011-12-29T18:00:00Z";
    check(&daily, from, &["2011-12-29T09:00:00-10:00", "2011-12-31T09:00:00+14:00"]);
    let daily = daily.dst_gap(DstGap::RunAfter);
    check(
        &daily,
        from,
        &["2011-12-29T09:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"],
    );
}

#[test]
fn a_rule_that_matches_only_in_gaps_falls_silent() {
    let never = trigger("0 30 2 ? 3 SUNL", "Europe/Berlin");
    for from in [
        "1995-12-30T00:00:00Z",
        "2026-01-01T00:00:00Z",
        "2099-12-31T00:00:00Z",
        "9999-01-01T00:00:00Z",
    ] {
        assert_eq!(never.next_after(instant(from)), None);
    }
    // Before the rule of today there were Marches without a change on their last Sunday.
    check(
        &never,
        "1975-01-01T00:00:00Z",
        &["1975-03-30T02:30:00+01:00", "1976-03-28T02:30:00+01:00"],
    );
    check(&never.dst_gap(DstGap::RunAfter), "2026-01-01T00:00:00Z", &["2026-03-29T03:00:00+02:00"]);
    // In New York the 8th of March is a change whenever it is a Sunday, and else no Sunday.
    assert_eq!(
        trigger("0 30 2 8 3 SUN", "America/New_York").next_after(instant("2026-01-01T00:00:00Z")),
        None
    );
    // The 29th of March is a change in Berlin only in some years.
    check(
        &trigger("0 30 2 29 3 *", "Europe/Berlin"),
        "2026-01-01T00:00:00Z",
        &["2027-03-29T02:30:00+02:00"],
    );
}

#[test]
fn a_rule_that_matches_in_many_gaps_fires_when_it_matches_elsewhere() {
    // A 29th of March that is a Sunday is a change; so the next is a leap day, four gaps later.
    check(
        &trigger("0 30 2 29 2,3 SUN", "Europe/Berlin"),
        "2033-01-01T00:00:00Z",
        &["2060-02-29T02:30:00+01:00", "2088-02-29T02:30:00+01:00", "2128-02-29T02:30:00+01:00"],
    );
}

#[test]
fn there_is_no_horizon() {
    let yearly = trigger("0 30 9 29 2 MON", "Europe/Berlin");
    check(
        &yearly,
        "2073-01-01T00:00:00Z",
        &["2112-02-29T09:30:00+01:00", "2140-02-29T09:30:00+01:00"],
    );
    let summer = trigger("0 0 12 1 7 *", "America/New_York");
    check(
        &summer,
        "2099-12-01T00:00:00Z",
        &["2100-07-01T12:00:00-04:00", "2101-07-01T12:00:00-04:00"],
    );
    let daily = trigger("0 30 2 * * *", "Europe/Berlin");
    check(&daily, "2126-03-30T03:00:00Z", &["2126-04-01T02:30:00+02:00"]); // the 31st is a change
    check(&daily, "0001-01-01T00:00:00Z", &["0001-01-01T02:30:00+00:53"]);
    let every_second = trigger("* * * * * *", "Pacific/Kiritimati");
    for edge in [DateTime::<Utc>::MAX_UTC, DateTime::<Utc>::MIN_UTC] {
        let _ = (every_second.next_after(edge), daily.next_after(edge), yearly.next_after(edge));
        let _ = daily.zone().local(edge);
    }
    assert_eq!(every_second.next_after(DateTime::<Utc>::MAX_UTC), None);
}

#[test]
fn a_fraction_of_a_second_loses_nothing() {
    let every_second = trigger("* * * * * *", "UTC");
    let check = |from: &str, expected: &str| {
        assert_eq!(every_second.next_after(instant(from)), Some(instant(expected)));
    };
    check("2026-01-01T00:00:00.000000001Z", "2026-01-01T00:00:01Z");
    check("2026-01-01T00:00:00.999999999Z", "2026-01-01T00:00:01Z");
    check("2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z");
    check("1969-12-31T23:59:58.5Z", "1969-12-31T23:59:59Z");
}

#[test]
fn clashes_are_the_changes_that_touch_the_trigger() {
    let clash = |expression: &str| {
        let trigger = trigger(expression, "Europe/Berlin");
        let clash =
            trigger.clash_between(instant("2026-01-01T00:00:00Z"), instant("2027-01-01T00:00:00Z"));
        clash.map(|change| change.at().to_rfc3339())
    };
    assert_eq!(clash("0 30 2 * * *").as_deref(), Some("2026-03-29T01:00:00+00:00"));
    assert_eq!(clash("0 30 2 * 10 *").as_deref(), Some("2026-10-25T01:00:00+00:00"));
    assert_eq!(clash("0 0 2 * * *").as_deref(), Some("2026-03-29T01:00:00+00:00"));
    assert_eq!(clash("0 0 2 * 10 *").as_deref(), Some("2026-10-25T01:00:00+00:00"));
    assert_eq!(clash("0 0 3 * * *"), None);
    assert_eq!(clash("0 30 2 * * MON"), None);
}

#[test]
fn is_shown_with_its_meaning() {
    let text = trigger("0 0 9 * * mon-fri", "UTC").to_string();
    assert_eq!(text, "0 0 9 * * mon-fri (09:00, Monday to Friday)");
}

mod calendar {
    use super::super::*;

    fn calendar(text: &str) -> CronCalendar {
        CronCalendar::new(&CronExpression::parse(text).unwrap())
    }

    #[track_caller]
    fn check(text: &str, after: &str, expected: &str) {
        let seconds = |time: &str| time.parse::<DateTime<chrono::Utc>>().unwrap().timestamp();
        let found = calendar(text).next_after(seconds(after));
        assert_eq!(found, Some(seconds(expected)), "{text} after {after}");
    }

    #[test]
    fn lists_numbers_and_counts_weekdays_from_sunday() {
        let text = |text| normalized(&CronExpression::parse(text).unwrap());
        assert_eq!(text("0 */20 9-11 * * MON-FRI"), "0 0,20,40 9,10,11 * * 2,3,4,5,6 ");
        assert_eq!(text("0 0 0 1 1 SAT-SUN"), "0 0 0 1 1 1,7 ");
        assert_eq!(text("* * * L * ?"), "* * * * * * ");
        assert_eq!(text("* * * * * MON#6"), "* * * * * * ");
    }

    #[test]
    fn every_value_of_every_field_is_understood() {
        for (field, values) in
            [(0, 0..=59), (1, 0..=59), (2, 0..=23), (3, 1..=31), (4, 1..=12), (5, 0..=7)]
        {
            for value in values {
                let mut fields = ["*"; 6].map(str::to_owned);
                fields[field] = value.to_string();
                calendar(&fields.join(" "));
            }
        }
    }

    #[test]
    fn model_years_have_their_shape() {
        for (is_leap, years) in [false, true].into_iter().zip(MODEL_YEARS) {
            for (weekday, year) in (0..).zip(years) {
                let new_year = NaiveDate::from_ymd_opt(year, 1, 1).unwrap();
                assert_eq!(
                    (new_year.leap_year(), new_year.weekday().num_days_from_monday()),
                    (is_leap, weekday)
                );
            }
        }
    }

    #[test]
    fn searches_days_that_the_crate_does_not_know() {
        check("0 0 0 L * *", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z");
        check("0 0 9,17 LW * *", "2026-01-30T09:00:00Z", "2026-01-30T17:00:00Z");
        check("0 0 0 ? * FRI#2", "2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z");
    }

    #[test]
    fn searches_years_that_the_crate_does_not_know() {
        check("0 0 0 29 2 MON", "2072-03-01T00:00:00Z", "2112-02-29T00:00:00Z");
        check("0 30 9 * * *", "2100-12-31T09:30:00Z", "2101-01-01T09:30:00Z");
        check("59 59 23 31 12 *", "2099-12-31T23:59:59Z", "2100-12-31T23:59:59Z");
        check("* * * * * *", "9999-12-31T23:59:59Z", "+10000-01-01T00:00:00Z");
        check("0 0 0 1 1 *", "0001-01-01T00:00:00Z", "0002-01-01T00:00:00Z");
        check("0 0 12 29 2 *", "-0001-01-01T00:00:00Z", "0000-02-29T12:00:00Z");
        check("0 0 0 13 * FRI", "1969-12-31T23:59:59Z", "1970-02-13T00:00:00Z");
    }

    #[test]
    fn ends_where_the_calendar_ends() {
        for seconds in [i64::MIN, i64::MAX, DateTime::<chrono::Utc>::MAX_UTC.timestamp()] {
            assert_eq!(calendar("0 0 0 1 1 *").next_after(seconds), None);
        }
        assert_eq!(calendar("0 0 0 30 2 *").next_after(0), None);
    }
}
