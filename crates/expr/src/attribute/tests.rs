//! Texts that attributes accept, alone and beside others.

use super::{Attribute, Role, RuleKind};
use crate::duration::DurationUnit;

/// Checks `text`, and that the message and the help contain the expected words; none if it is right.
#[track_caller]
fn check(attribute: Attribute, text: &str, expected: &str) {
    let found = match attribute.check(text, None) {
        Ok(()) => String::new(),
        Err(error) => {
            assert_eq!(error.attribute(), attribute);
            format!("{error}; {}", error.help().unwrap_or_default())
        }
    };
    assert!(found.contains(expected), "{attribute} {text:?}: {found}");
    assert_eq!(found.is_empty(), expected.is_empty(), "{attribute} {text:?}: {found}");
}

#[test]
fn every_name_leads_back_to_its_attribute() {
    for attribute in Attribute::ALL.iter().copied() {
        assert_eq!(Attribute::from_name(attribute.name()), Some(attribute));
        let dashed = attribute.name().replace('_', "-");
        assert_eq!(Attribute::from_name(&dashed), Some(attribute));
    }
    assert_eq!(Attribute::from_name("fixedRate"), None);
    assert_eq!((Attribute::RetryMax.key(), Attribute::FixedRate.key()), ("max", "fixed_rate"));
}

#[test]
fn a_fault_shows_its_place_in_the_text() {
    let caret = |attribute: Attribute, text| attribute.check(text, None).unwrap_err().caret();
    assert_eq!(caret(Attribute::Cron, "0 0 25 * * *").unwrap(), "0 0 25 * * *\n    ^^ hour");
    assert_eq!(caret(Attribute::Cron, "0 0 0 30 2 *").unwrap(), "0 0 0 30 2 *\n      ^^");
    assert_eq!(caret(Attribute::Cron, ""), None);
    assert_eq!(caret(Attribute::FixedRate, "1h 5x").unwrap(), "1h 5x\n    ^");
    assert_eq!(caret(Attribute::FixedRate, "0s"), None, "the whole text");
}

#[test]
fn a_fault_is_about_a_text_or_about_its_presence() {
    assert!(Attribute::Jitter.check("x", None).unwrap_err().is_about_text());
    let given = [(Attribute::FixedRate, "1s"), (Attribute::Zone, "UTC")];
    assert!(!Attribute::check_together(&given, RuleKind::Once, None)[0].is_about_text());
}

#[test]
fn a_cron_expression_has_a_fire_time_or_is_off() {
    check(Attribute::Cron, "0 0 9 * * *", "");
    check(Attribute::Cron, "-", "");
    assert_eq!(Attribute::parse_cron("-"), Ok(None));
    check(Attribute::Cron, "", "the text is empty");
    for text in [" -", "- ", " - "] {
        check(Attribute::Cron, text, "to switch the task off, write `-` without blanks");
    }
    check(Attribute::Cron, "0 0 25 * * *", "midnight is hour 0");
    check(Attribute::Cron, "0 0 0 30 2 *", "never matches");
    check(Attribute::FixedRate, "-", "`-` switches off no task but one of a cron expression");
    check(Attribute::FixedDelay, "-", "write `enabled = false`");
    check(Attribute::InitialDelay, "-", "a number is missing");
}

#[test]
fn optional_attributes_are_switched_off_by_a_dash() {
    let can_be = |attribute: &Attribute| attribute.is_off("-");
    let found: Vec<Attribute> = Attribute::ALL.iter().copied().filter(can_be).collect();
    assert!(found.contains(&Attribute::Timeout) && !found.contains(&Attribute::FixedRate));
    for attribute in found {
        check(attribute, "-", "");
        assert!(!attribute.is_off(" -") && !attribute.is_off(""));
    }
    check(Attribute::Timeout, "0s", "longer than zero; for no limit, write `timeout = \"-\"`");
    let given = [(Attribute::RetryMax, "-"), (Attribute::RetryBase, "5s")];
    check_together(
        &[&[(Attribute::FixedRate, "1s"), (Attribute::Jitter, "-")], &given[..]].concat(),
        &[],
    );
}

#[test]
fn a_message_can_be_spelled_as_its_place_spells_attributes() {
    let spelled = |error: &super::AttributeError| {
        let (message, help) = error.spelled(&|attribute, value| match value {
            None => attribute.name().to_uppercase(),
            Some(value) => format!("{}:{value}", attribute.name().to_uppercase()),
        });
        format!("{message}; {}", help.unwrap_or_default())
    };
    let of = |attribute: Attribute, text| spelled(&attribute.check(text, None).unwrap_err());
    assert_eq!(
        of(Attribute::FixedRate, "30"),
        "invalid `FIXED_RATE`: `30` has no unit; \
         write `FIXED_RATE:30s` or `FIXED_RATE:30ms` (Spring's plain numbers are milliseconds)"
    );
    assert!(
        of(Attribute::FixedRate, "-").ends_with("; to switch the task off, write `ENABLED:false`")
    );
    assert_eq!(
        of(Attribute::Overlap, "jitter"),
        "invalid `OVERLAP`: unknown word `jitter`; the words are `skip`, `queue_one`, `allow`"
    );
    let rate = (Attribute::FixedRate, "1m");
    let given =
        [rate, (Attribute::Jitter, "1h"), (Attribute::RetryBase, "1h"), (Attribute::Zone, "UTC")];
    let faults = Attribute::check_together(&given, RuleKind::Once, None);
    let faults: Vec<String> = faults.iter().map(spelled).collect();
    assert_eq!(
        faults,
        [
            "`ZONE` is of no use without `CRON`: only a cron expression reads the wall clock; \
             remove `ZONE`",
            "invalid `JITTER`: it has to be shorter than `FIXED_RATE`, which is `1m`, \
             or a run could be due after the next one; ",
            "`RETRY.BASE` is of no use without `RETRY.MAX`: nothing is tried again; \
             add for example `RETRY.MAX:3`",
            "invalid `RETRY.BASE`: it is longer than `RETRY.CAP`, which is `1m` unless it is given; \
             write for example `RETRY.CAP:1h`",
        ]
    );
}

#[test]
fn a_delay_may_be_zero_and_other_durations_may_not() {
    for attribute in Attribute::ALL.iter().copied().filter(|attribute| attribute.is_duration()) {
        check(attribute, "1h30m", "");
        check(
            attribute,
            "-1s",
            match attribute {
                Attribute::InitialDelay | Attribute::Jitter => "negative",
                _ => "longer",
            },
        );
        check(attribute, "5x", "not a unit of time; the units are");
        let key = attribute.key();
        check(attribute, "5", &format!("write `{key} = \"5s\"` or `{key} = \"5ms\"` (Spring's"));
        check(attribute, "", "empty");
        assert_eq!(attribute.check("5", Some(DurationUnit::Seconds)), Ok(()));
    }
    check(Attribute::InitialDelay, "0s", "");
    check(Attribute::FixedRate, "5000", "write `fixed_rate = \"5s\"` or `fixed_rate = \"5000ms\"`");
    check(Attribute::FixedRate, &"1".repeat(12), "; write `fixed_rate = \"111111111111ms\"` (");
    check(Attribute::FixedRate, &"1".repeat(19), "is longer than 100 years; the longest is");
    check(Attribute::Timeout, "36526d", "invalid `timeout`: `36526d` is longer than 100 years; ");
    check(Attribute::FixedRate, &"1".repeat(20), "is too long a time");
    check(Attribute::FixedRate, &"0".repeat(200), "has no unit; ");
    check(Attribute::FixedRate, "0", "invalid `fixed_rate`: `0` must be longer than zero; ");
    check(Attribute::FixedRate, "-5", "invalid `fixed_rate`: `-5` must be longer than zero; ");
    check(Attribute::InitialDelay, "0", "write `initial_delay = \"0s\"` or");
    check(Attribute::Jitter, "0s", "");
    check(Attribute::FixedRate, "0s", "invalid `fixed_rate`: `0s` must be longer than zero");
    check(Attribute::RetryBase, "0s", "invalid `retry.base`");
}

#[test]
fn a_unit_is_missed_only_where_one_helps() {
    let message = |text, unit: Option<DurationUnit>| {
        let error = Attribute::FixedRate.check(text, unit).unwrap_err();
        format!("{error}; {}", error.help().unwrap_or_default())
    };
    let minutes = Some(DurationUnit::Minutes);
    assert_eq!(message("1h30", None), "invalid `fixed_rate`: `30` has no unit; write `1h30m`");
    assert_eq!(
        message("1h30", minutes),
        "invalid `fixed_rate`: `30` has no unit; write `1h30m` \
         (`time_unit` is for numbers that stand alone)"
    );
    for unit in [None, minutes] {
        for text in ["5 ", "(5)", "1h 30 m"] {
            let message = message(text, unit);
            assert!(!message.contains("ms\"`"), "{message}");
        }
    }
    // It has a unit, if none that is known.
    let message = message("5 mins", minutes);
    assert!(!message.contains("stand alone"), "{message}");
}

#[test]
fn a_choice_is_one_of_its_words() {
    let choices = Attribute::ALL.iter().copied().filter(|each| !each.words().is_empty());
    for (attribute, word) in [
        (Attribute::Enabled, "true"),
        (Attribute::Overlap, "queue_one"),
        (Attribute::Misfire, "run_once"),
        (Attribute::OnError, "stop"),
        (Attribute::DstGap, "run_after"),
        (Attribute::DstOverlap, "last"),
    ] {
        check(attribute, word, "");
    }
    for attribute in choices {
        for word in attribute.words() {
            assert_eq!(attribute.check(word, None), Ok(()));
        }
        check(attribute, "", "the text is empty");
        check(attribute, "colourful", "; the words are `");
        check(attribute, attribute.words()[0].to_uppercase().as_str(), "did you mean");
    }
    check(Attribute::Overlap, "queue-one", "did you mean `queue_one`?");
    check(Attribute::Misfire, "runonce", "unknown word `runonce`; did you mean `run_once`?");
    check(Attribute::Enabled, "yes", "did you mean `true`?");
    check(Attribute::Enabled, "OFF", "did you mean `false`?");
    check(Attribute::OnError, "on", "the words are `continue`, `stop`");
}

#[test]
fn attributes_that_are_not_durations_nor_choices() {
    check(Attribute::RetryMax, "0", "");
    check(Attribute::RetryMax, "3", "");
    check(Attribute::RetryMax, "-1", "is not a whole number");
    check(Attribute::RetryMax, "+3", "not a whole number");
    check(Attribute::RetryMax, "4294967296", "is too many");
    check(Attribute::RetryMax, "", "not a whole number");
    check(Attribute::Pool, "io", "");
    check(Attribute::Pool, "", "`pool` is empty");
    check(Attribute::Pool, "io ", "write `io`");
    check(Attribute::Zone, "Europe/Berlin", "");
    check(Attribute::Zone, "berlin", "did you mean `Europe/Berlin`?");
    check(Attribute::TimeUnit, "SECONDS", "");
    check(Attribute::TimeUnit, "secs", "did you mean `seconds`?");
    check(Attribute::TimeUnit, "ms", "did you mean `milliseconds`?");
    check(Attribute::TimeUnit, "miliseconds", "did you mean `milliseconds`?");
    check(Attribute::TimeUnit, "", "the unit of time is empty");
    check(Attribute::TimeUnit, "fortnights", "the units are `days`, `hours`");
}

/// Checks which attributes are found to be at fault beside others.
#[track_caller]
fn check_together(given: &[(Attribute, &str)], expected: &[(Attribute, &str)]) {
    let faults = Attribute::check_together(given, RuleKind::Once, None);
    assert_eq!(faults.len(), expected.len(), "{given:?}: {faults:?}");
    for (fault, (attribute, words)) in faults.iter().zip(expected) {
        assert_eq!(fault.attribute(), *attribute, "{given:?}");
        assert!(fault.to_string().contains(words), "{given:?}: {fault}");
    }
}

#[test]
fn an_attribute_means_something_beside_its_rules() {
    use Attribute::*;
    let cron = (Cron, "0 0 9 * * *");
    let (rate, delay, first) = ((FixedRate, "1s"), (FixedDelay, "1s"), (InitialDelay, "1s"));
    for each in [(Zone, "UTC"), (DstGap, "skip"), (DstOverlap, "both")] {
        check_together(&[cron, each], &[]);
        for rule in [rate, delay, first] {
            check_together(&[rule, each], &[(each.0, "without `cron`: only a cron expression")]);
        }
    }
    for each in [(Overlap, "skip"), (Misfire, "skip")] {
        check_together(&[cron, each], &[]);
        check_together(&[rate, each, first], &[]);
        check_together(&[delay, each], &[(each.0, "beside `fixed_delay`: the delay begins")]);
        check_together(&[first, each], &[(each.0, "beside `initial_delay` alone: a one-time")]);
    }
    for rule in [cron, rate, delay] {
        check_together(&[rule, (OnError, "stop"), (Timeout, "1s"), (RetryMax, "1")], &[]);
    }
    check_together(&[first, (OnError, "stop")], &[(OnError, "one-time task ends")]);
    check_together(&[cron, first], &[(InitialDelay, "of no use beside `cron`: the expression")]);
    check_together(&[delay, cron, (Overlap, "skip")], &[]);
}

#[test]
fn durations_are_compared_with_each_other() {
    use Attribute::*;
    check_together(&[(FixedRate, "1m"), (Jitter, "59s")], &[]);
    check_together(&[(FixedRate, "1m"), (Jitter, "60s")], &[(Jitter, "which is `1m`")]);
    check_together(&[(FixedDelay, "1m"), (Jitter, "2m")], &[]);
    check_together(&[(FixedRate, "${p}"), (Jitter, "60s")], &[]);
    let rate = (FixedRate, "1m");
    check_together(&[rate, (RetryMax, "1"), (RetryBase, "5s"), (RetryCap, "5s")], &[]);
    let base = (RetryBase, "6s");
    check_together(&[rate, (RetryMax, "1"), base, (RetryCap, "5s")], &[(RetryBase, "is `5s`")]);
    let base = (RetryBase, "61s");
    check_together(&[rate, (RetryMax, "1"), base], &[(RetryBase, "is `1m` unless it is given")]);
    check_together(&[rate, (RetryCap, "1s")], &[(RetryCap, "without `retry.max`")]);
}

#[test]
fn a_number_of_concurrent_runs_needs_runs_that_overlap() {
    use Attribute::*;
    let (rate, limit) = ((FixedRate, "1m"), (MaxConcurrent, "4"));
    check_together(&[rate, (Overlap, "allow"), limit], &[]);
    check_together(&[rate, (Overlap, "${how}"), limit], &[]);
    check_together(&[rate, (MaxConcurrent, "-")], &[]);
    let without = "of no use without `overlap = \"allow\"`";
    check_together(&[rate, limit], &[(MaxConcurrent, without)]);
    check_together(&[rate, (Overlap, "skip"), limit], &[(MaxConcurrent, without)]);
    check_together(&[(FixedDelay, "1m"), limit], &[(MaxConcurrent, "runs never overlap")]);
}

#[test]
fn the_end_of_a_schedule_needs_one_that_goes_on() {
    use Attribute::*;
    let (at, until, days) =
        ((At, "2027-01-01T09:00:00Z"), (Until, "2027-01-01T00:00:00Z"), (SkipDays, "x"));
    check_together(&[(FixedDelay, "1m"), until, (MaxRuns, "5")], &[]);
    check_together(&[at, until], &[(Until, "beside `at`: a one-time task ends")]);
    check_together(&[at, (InitialDelay, "1s")], &[(InitialDelay, "the instant alone says")]);
    check_together(&[(Cron, "@daily"), days], &[]);
    check_together(
        &[(FixedRate, "1m"), days],
        &[(SkipDays, "without `cron`: a period is counted")],
    );
}

#[test]
fn instants_counts_and_tags_are_refused_with_what_to_write() {
    use Attribute::*;
    check(At, "2027-01-01T09:00:00+01:00", "");
    check(Until, "2027-01-01", "no time of day; write `until = \"2027-01-01T00:00:00Z\"`");
    check(Until, "2027-01-01T00:00:00", "no offset from UTC; write `until = ");
    check(At, "tomorrow", "write for example `at = \"2027-01-01T09:00:00+01:00\"`");
    check(At, "-", "is not an instant");
    check(MaxRuns, "18446744073709551615", "");
    check(MaxRuns, "0", "`0` is too few; write at least `1`, or `-` for none");
    check(MaxRuns, "-1", "is not a whole number");
    check(RetryMax, "4294967296", "is too many; write at most `4294967295`");
    check(Tags, "billing,nightly-2.x_y,größe", "");
    check(Tags, "", "the text is empty");
    check(Tags, "a,,b", "a tag is empty");
    check(Tags, "a b", "tag `a b` has ` ` in it; a tag has letters");
    check(Tags, "a, a", "tag `a` is given twice");
    let seventeen: Vec<String> = (0..17).map(|number| number.to_string()).collect();
    check(Tags, &seventeen[1..].join(","), "");
    check(Tags, &seventeen.join(","), "17 tags are too many; write at most 16");
    check(SkipDays, " holidays", "`skip_days` has blanks around it");
}

#[test]
fn a_unit_needs_a_duration() {
    use Attribute::*;
    let unit = (TimeUnit, "seconds");
    check_together(&[(Cron, "@daily"), unit], &[(TimeUnit, "there is no duration")]);
    check_together(&[(Cron, "@daily"), unit, (Jitter, "5")], &[]);
    check_together(&[(FixedRate, "5"), unit], &[]);
}

#[test]
fn every_row_is_whole() {
    for (index, attribute) in Attribute::ALL.iter().copied().enumerate() {
        let row = attribute.row();
        assert_eq!((row.attribute, attribute as usize), (attribute, index));
        check(attribute, row.example_text(), "");
        assert!(row.example.starts_with(&format!("{} = ", attribute.key())), "{}", row.example);
        if let Some(default) = row.default {
            check(attribute, default, "");
        }
        assert_eq!(row.role == Role::Rule, RuleKind::of(attribute).is_some(), "{attribute}");
        for rule in RuleKind::ALL.iter().copied().filter(|rule| !row.rules.contains(rule)) {
            assert!(!(row.why_not)(rule).is_empty(), "{attribute} beside {rule:?}");
        }
    }
}

#[test]
fn a_trigger_of_its_own_says_all_about_the_fire_times() {
    use Attribute::*;
    for each in [(Zone, "UTC"), (InitialDelay, "1s"), (DstGap, "skip")] {
        let faults = Attribute::check_together(&[each], RuleKind::Custom, None);
        assert!(faults[0].to_string().contains("beside a trigger of its own"), "{}", faults[0]);
    }
    let policies = [(Overlap, "skip"), (Misfire, "skip"), (OnError, "stop"), (Jitter, "1s")];
    assert_eq!(Attribute::check_together(&policies, RuleKind::Custom, None), []);
}

#[test]
fn a_rate_is_a_number_of_starts_and_a_time() {
    let rate = Attribute::LimitRate;
    for text in ["100/1m", "1/1s", "4294967295/1h30m", "-"] {
        check(rate, text, "");
    }
    for (text, expected) in [
        ("100/m", "write `rate = \"100/1m\"`"),
        ("100/minute", "write `rate = \"100/1m\"`"),
        ("100 per 5 minutes", "write `rate = \"100/5m\"`"),
        ("1_000 / 1h", "write `rate = \"1000/1h\"`"),
        ("100/60", "`60` has no unit; write `rate = \"100/60s\"`"),
        (
            "100",
            "`100` is no number of starts, `/` and a time; write for example `rate = \"100/1m\"`",
        ),
        ("", "is no number of starts"),
        ("0/1m", "`0/1m` allows no start; write for example"),
        ("+5/1m", "`+5` is no number of starts; write `rate = \"5/1m\"`"),
        ("4294967296/1m", "`4294967296` is no number of starts"),
        ("5/0s", "longer than zero"),
    ] {
        check(rate, text, expected);
    }
    check(Attribute::EachRunning, "0", "is too few; write at least `1`, or `-` for none");
}

/// The faults of the attributes of a job, with their help.
fn of_job(given: &[(Attribute, &str)]) -> Vec<String> {
    let faults = Attribute::check_together(given, RuleKind::Job, None);
    let text = |error: &super::AttributeError| match error.help() {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    };
    faults.iter().map(text).collect()
}

#[test]
fn a_burst_is_a_part_of_its_rate() {
    use Attribute::{EachBurst, EachRate, LimitBurst, LimitRate, LimitRunning};
    let right: [&[(Attribute, &str)]; 5] = [
        &[(LimitRate, "10/1m"), (LimitBurst, "10")],
        &[(LimitRate, "1/1m"), (EachRate, "2/1m"), (EachBurst, "2")],
        &[(LimitRate, "-"), (LimitBurst, "10"), (LimitRunning, "5")],
        &[(LimitRate, "10/1m"), (LimitBurst, "-")],
        &[(LimitRate, "1/36499d")],
    ];
    for given in right {
        assert_eq!(of_job(given), [""; 0], "{given:?}");
    }
    assert_eq!(
        of_job(&[(LimitRate, "10/1m"), (LimitBurst, "11")]),
        [
            "invalid `limit.burst`: it is more than `limit.rate` allows, which is `10/1m`; write at most `burst = 10`"
        ]
    );
    assert_eq!(
        of_job(&[(LimitRate, "10/1m"), (EachBurst, "1")]),
        [
            "`each.burst` is of no use without `each.rate`: it says how many of its starts may come at once; \
          add for example `rate = \"100/1m\"`"
        ]
    );
    for given in [&[(EachRate, "1/36500d")][..], &[(EachRate, "2/20000d"), (EachBurst, "2")]] {
        assert!(of_job(given)[0].contains("in a hundred years; write a shorter time"), "{given:?}");
    }
}

#[test]
fn only_jobs_that_run_one_by_one_have_an_order() {
    use Attribute::{EachOrdered, EachRunning, OnPark};
    let ordered = (EachOrdered, "true");
    assert_eq!(of_job(&[(EachRunning, "1"), ordered, (OnPark, "hold")]), [""; 0]);
    assert_eq!(of_job(&[(EachOrdered, "false"), (EachRunning, "2")]), [""; 0]);
    // A text that is not known yet contradicts nothing.
    assert_eq!(of_job(&[(EachRunning, "${slots:1}"), ordered]), [""; 0]);
    assert_eq!(
        of_job(&[(EachRunning, "1"), (EachOrdered, "${x:true}"), (OnPark, "hold")]),
        [""; 0]
    );
    let needs = "`each.ordered` needs `running = 1`: jobs that run beside each other have no order; \
                 write `running = 1`";
    assert_eq!(of_job(&[(EachRunning, "2"), ordered]), [needs]);
    assert_eq!(of_job(&[ordered]), [needs]);
    assert_eq!(of_job(&[(EachRunning, "-"), ordered]), [needs]);
    let useless = "`each.on_park` is of no use without `each.ordered`: it says who goes on behind a parked job; \
                   add `ordered = true`";
    assert_eq!(of_job(&[(EachRunning, "1"), (OnPark, "hold")]), [useless]);
}

#[test]
fn limits_are_of_jobs_in_a_store() {
    use Attribute::{Durable, EachRunning, FixedRate, LimitRunning};
    let rate = (FixedRate, "1s");
    let durable = (Durable, "true");
    check_together(&[rate, durable, (LimitRunning, "1")], &[]);
    check_together(&[rate, (LimitRunning, "1")], &[(LimitRunning, "without `durable`")]);
    check_together(
        &[rate, durable, (EachRunning, "1")],
        &[(EachRunning, "only a `#[job]` has a payload")],
    );
}
