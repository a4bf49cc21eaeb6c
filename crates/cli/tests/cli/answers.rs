//! The answers of the commands in `answers.txt`. `TEST_ANSWERS=overwrite` renews them.

use std::fs;

use crate::Typed;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/answers.txt");

#[test]
fn answers_are_those_of_the_file() {
    let expected = fs::read_to_string(FILE).expect("a readable file");
    let mut answers = String::new();
    for line in expected.lines().filter(|line| line.starts_with("$ ") || line.starts_with("# ")) {
        match line.strip_prefix("$ scheduler ") {
            Some(command) => {
                let answer = Typed::new(&words(command)).answer();
                answers.push_str(&format!("{line}\n{}", indented(&answer.output, "  ")));
                answers.push_str(&indented(&answer.errors, "! "));
                answers.push_str(&format!("= {}\n\n", answer.code));
            }
            None => answers.push_str(&format!("{line}\n\n")),
        }
    }
    if std::env::var_os("TEST_ANSWERS").is_some_and(|value| value == "overwrite") {
        fs::write(FILE, &answers).expect("a writable file");
    }
    assert!(answers == expected, "to take this over: TEST_ANSWERS=overwrite\n{answers}");
}

fn indented(text: &str, with: &str) -> String {
    text.lines().map(|line| format!("{with}{line}").trim_end().to_owned() + "\n").collect()
}

/// The words of a command; quotes hold several together.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('"').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}
