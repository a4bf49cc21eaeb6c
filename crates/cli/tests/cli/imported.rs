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
    if std::env::var_os("TEST_ANSWERS").is_some_and(|value| value == "overwrite") {
        fs::write(CODE, &answer.output).expect("a writable file");
    }
    let expected = fs::read_to_string(CODE).expect("a readable file");
    assert!(
        answer.output == expected,
        "to take this over: TEST_ANSWERS=overwrite\n{}",
        answer.output
    );
    assert_eq!(answer.errors, "not translated, and left as comments: lines 23, 24, 25, 26\n");
    assert_eq!(answer.code, 1);
}

/// The code of a crontab, what was said beside it, and the exit code.
fn import(crontab: &str, args: &[&str]) -> (String, String, u8) {
    let mut typed = Typed::new(&[&["import", "crontab"], args].concat());
    typed.input = crontab.as_bytes();
    let answer = typed.answer();
    (answer.output, answer.errors, answer.code)
}

/// The annotations of a crontab.
fn annotations(crontab: &str, zone: &str) -> Vec<String> {
    let (code, errors, _) = import(crontab, &["--zone", zone]);
    let lines: Vec<_> = code
        .lines()
        .filter_map(|line| line.strip_prefix("#[scheduled("))
        .map(str::to_owned)
        .collect();
    assert!(!lines.is_empty(), "{code}{errors}");
    lines
}

#[test]
fn a_line_that_any_change_of_the_clock_can_touch_does_what_cron_does() {
    // On a 29th of March clocks change next in 2037, more than a year ahead; no clock goes forward in February.
    let gap = ", zone = \"Europe/Berlin\", dst_gap = \"run_after\", dst_overlap = \"first\")]";
    for (line, is_touched) in [
        ("30 2 29 3 *", true),
        ("30 2 * * *", true),
        ("30 2 * * 0", true),
        ("30 2 25 10 *", true),
        ("30 9 29 3 *", false),
        ("30 2 28 2 *", false),
        ("*/10 * 29 3 *", false),
    ] {
        for annotation in annotations(&format!("{line} /bin/a\n"), "Europe/Berlin") {
            assert_eq!(annotation.ends_with(gap), is_touched, "{line}: {annotation}");
        }
    }
    // Zones whose clocks do not change any more, and changed once.
    for zone in ["Europe/Moscow", "America/Sao_Paulo", "Asia/Tokyo"] {
        let annotation = &annotations("30 0 * 4,5,10 * /bin/a\n", zone)[0];
        assert!(annotation.contains("dst_gap = \"run_after\", dst_overlap = \"first\""), "{zone}");
    }
    assert!(!annotations("30 2 * * * /bin/a\n", "UTC")[0].contains("dst_"));
}

#[test]
fn lines_after_a_zone_that_is_not_understood_are_left_out_until_the_next_zone() {
    for odd in ["Nowhere/Land", "", "EST5EDT,M3.2.0,M11.1.0", "\"\""] {
        let crontab = format!(
            "CRON_TZ=America/New_York\n0 9 * * * a\nCRON_TZ={odd}\n0 9 * * * b\n@reboot c\n*/5 * * * * d\n\
             CRON_TZ=Europe/Berlin\n0 9 * * * e\n"
        );
        let (code, errors, exit) = import(&crontab, &["--zone", "UTC"]);
        let zones: Vec<_> = code.lines().filter(|line| line.contains("zone = ")).collect();
        assert_eq!(zones.len(), 2, "{code}");
        assert!(zones[0].contains("America/New_York") && zones[1].contains("Europe/Berlin"));
        assert!(code.contains("\nfn c()") && !code.contains("\nfn b()"), "{code}");
        let why = "//   error: its zone is not known: line 3 names one that is not understood\n";
        assert_eq!(code.matches(why).count(), 2, "{code}");
        let left = "not translated, and left as comments: lines 3, 4, 6\n";
        assert_eq!((&*errors, exit), (left, 1));
    }
}

#[test]
fn a_percent_sign_begins_the_input_where_cron_lets_it() {
    for (command, shell) in [
        (r"echo \\%foo", r#"shell("/bin/sh", "echo \\\\", "foo\n")"#),
        (r"echo \%foo", r#"shell("/bin/sh", "echo %foo", "")"#),
        (r"echo \\\%foo", r#"shell("/bin/sh", "echo \\\\%foo", "")"#),
        (r"echo \n%a%b", r#"shell("/bin/sh", "echo \\n", "a\nb\n")"#),
        (r"cat%\\%x\%%\y", r#"shell("/bin/sh", "cat", "\\%x%\n\\y\n")"#),
        (r"cat%a%", r#"shell("/bin/sh", "cat", "a\n")"#),
        (r"cat%", r#"shell("/bin/sh", "cat", "")"#),
    ] {
        let (code, errors, _) = import(&format!("0 5 * * * {command}\n"), &[]);
        assert!(code.contains(shell), "{command}: {code}{errors}");
    }
}

#[test]
fn a_crontab_of_a_system_is_suspected_by_its_users() {
    let note = "note: commands begin with `root`: for a crontab that names users, write --system\n";
    let crontab = "0 3 * * * root /usr/sbin/tidy\n";
    assert_eq!(import(crontab, &[]).1, note);
    assert_eq!(import(crontab, &["--system"]).1, "");
    assert_eq!(import("0 3 * * * /usr/sbin/tidy root\n", &[]).1, "");
}

#[test]
fn a_command_that_begins_with_a_star_is_refused_as_by_cron() {
    for (line, args) in [
        ("0 0 9 * * * job", &[][..]),
        ("@daily * job", &[]),
        ("0 0 9 * * * root job", &["--system"]),
    ] {
        let (code, errors, exit) = import(&format!("{line}\n"), args);
        assert!(!code.contains("#[scheduled"), "{code}");
        assert!(code.contains("cron refuses a command that begins with `*`"), "{code}");
        assert_eq!((&*errors, exit), ("not translated, and left as comments: line 1\n", 1));
    }
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
        // A time in the gap runs right after it.
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
