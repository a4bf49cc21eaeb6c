//! A crontab as functions: the code to the letter, that it compiles, and that the functions fire when cron runs the lines.

use std::fs;

use crate::Typed;

const CRONTAB: &[u8] = include_bytes!("import/shop.crontab");
const CODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/import/shop.rs");

#[test]
fn the_code_is_that_of_the_file() {
    let mut typed = Typed::new(&["import", "crontab"]);
    typed.input = CRONTAB;
    let answer = typed.answer();
    if std::env::var_os("SAID").is_some_and(|value| value == "overwrite") {
        fs::write(CODE, &answer.output).expect("a writable file");
    }
    let expected = fs::read_to_string(CODE).expect("a readable file");
    assert!(answer.output == expected, "to take this over: SAID=overwrite\n{}", answer.output);
    assert_eq!(answer.errors, "not translated, and left as comments: lines 23, 24, 25, 26\n");
    assert_eq!(answer.code, 1);
}

/// The code, compiled.
mod shop {
    include!("import/shop.rs");

    use scheduler::testing::schedule_of;

    #[test]
    fn functions_fire_when_cron_runs_the_lines() {
        let week = ("2026-03-23T00:00:00Z", "2026-03-30T00:00:00Z");
        let days = schedule_of(backup).between(week.0, week.1).local();
        let expected = [
            "Mon 2026-03-23",
            "Tue 2026-03-24",
            "Wed 2026-03-25",
            "Thu 2026-03-26",
            "Fri 2026-03-27",
        ];
        assert_eq!(days, expected.map(|day| format!("{day} 04:05+00:00")));
        let of = |number| {
            schedule_of(unlucky)
                .annotation(number)
                .between("2026-02-01T00:00:00Z", "2026-03-14T00:00:00Z")
                .local()
        };
        assert_eq!(of(1), ["Fri 2026-02-13 00:00+00:00", "Fri 2026-03-13 00:00+00:00"]);
        assert_eq!(of(2).len(), 4, "{:?}", of(2));
        // What falls into the gap runs right after it.
        let night = schedule_of(report).between("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z");
        assert_eq!(night.local(), ["Sun 2026-03-29 03:00+02:00", "Mon 2026-03-30 02:30+02:00"]);
    }

    #[cfg(unix)]
    #[test]
    fn functions_run_the_commands() {
        assert!(true_13().is_ok());
        assert!(hello().is_ok());
        let error = exit().unwrap_err().to_string();
        assert_eq!(error, "exit 3: exit status: 3");
    }
}
