//! Whatever a person types or pipes in: no panic, one of three codes, and code that is Rust.

use proptest::prelude::*;

use crate::Typed;

/// Texts that nearly are expressions, lines of crontabs, calendar expressions.
fn nearly() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[0-9*/,\\-?LW#~.:]{1,8}",
        "(MON|SUN|fri|Mon\\.\\.Fri|JAN|@daily|@reboot|@every|UTC|Europe/Berlin|%|\\\\%|\"|'|`|é|\u{202e}|\t|=)",
        "[0-9]{1,25}",
        Just("*".to_owned()),
    ];
    prop::collection::vec(word, 0..9).prop_map(|words| words.join(" "))
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let zone = ["--zone", "Europe/Berlin"];
    for dialect in ["spring", "unix", "quartz", "systemd"] {
        let args =
            [["explain", "--from", dialect, "--json"].as_slice(), &zone, &["--", text]].concat();
        let answer = Typed::new(&args).answer();
        prop_assert!(
            answer.code <= 2 && (answer.code == 0) == answer.errors.is_empty(),
            "{}",
            answer.errors
        );
    }
    let lint = [["lint"].as_slice(), &zone, &["--", text]].concat();
    prop_assert!(Typed::new(&lint).answer().code <= 1);
    let between =
        [["between", "--max", "3"].as_slice(), &zone, &["--", "0 0 0 * * *", text, text]].concat();
    prop_assert!(Typed::new(&between).answer().code <= 2);
    for more in [[].as_slice(), &zone, &["--system"]] {
        let mut typed = Typed::new(&[["import", "crontab"].as_slice(), more].concat());
        typed.input = text.as_bytes();
        let answer = typed.answer();
        prop_assert!(answer.code <= 1, "{}", answer.errors);
        let parsed = syn::parse_file(&answer.output);
        prop_assert!(parsed.is_ok(), "{:?}\n{}", parsed.err(), answer.output);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_has_an_answer(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn nearly_right_input_has_an_answer(text in nearly()) {
        check(&text)?;
    }

    #[test]
    fn any_bytes_are_a_crontab(lines in prop::collection::vec(nearly(), 0..6), odd in any::<Vec<u8>>()) {
        let text = [lines.join("\n").as_bytes(), &odd].concat();
        let mut typed = Typed::new(&["import", "crontab", "-"]);
        typed.input = &text;
        let answer = typed.answer();
        prop_assert!(answer.code <= 1 && syn::parse_file(&answer.output).is_ok(), "{}", answer.output);
    }
}
