//! Tests of the generated code, the manual and the messages.
//!
//! The promises hold for whatever stands between the parentheses, and on whatever item. Nothing
//! here needs the compiler: what the compiler makes of an expansion is held by the tests in
//! `tests/ui`.

mod messages;

use proc_macro2::TokenStream;
use scheduler_expr::{Attribute, Kind, RuleKind};

use super::annotate;

const ITEMS: &[&str] = &[
    "fn plain() {}",
    "/// Documented.\n#[inline] pub(crate) async fn r#async() -> Result<(), String> { Ok(()) }",
    "fn unfinished() { let x = ; 5 5 }",
    "fn argument(a: u8) {}",
    "unsafe extern \"C\" fn generic<T>(self) -> ! where T: Sized;",
    "pub struct Struct { field: u8 }",
    "impl Struct {}",
    "impl Struct { #[scheduled(fixed_rate = \"1s\")] fn sweep(&self) {} }",
    "impl Struct { #[scheduled(cron = 5)] fn sweep(&mut self, a: impl B) { 5 5 ; } const A: u8 = {;}; }",
    "impl<T> Trait for Struct<T> where T: A { #[scheduled()] fn }",
    "some_macro! { anything }",
    "|| {}",
    "fn",
    "fn broken(",
    "# ! ? 5",
    "",
];

const OPTIONS: &[&str] = &[
    "cron",
    "zone",
    "fixed_rate",
    "fixed_delay",
    "initial_delay",
    "name",
    "time_unit",
    "crate",
    "fixedRate",
    "unknown",
    "r#type",
    "scheduler",
    "enabled",
    "jitter",
    "timeout",
    "overlap",
    "misfire",
    "on_error",
    "retry",
    "dst_gap",
    "dst_overlap",
];

const VALUES: &[&str] = &[
    "\"5s\"",
    "\"0s\"",
    "\"-5s\"",
    "\"5\"",
    "\"\"",
    "\"0 0 9 * * *\"",
    "\"0 0 25 * * *\"",
    "\"UTC\"",
    "\"Nowhere\"",
    "\"seconds\"",
    "\"-\"",
    "\"skip\"",
    "\"${a:5s}\"",
    "\"${a\"",
    "\"#{5}\"",
    "(max = 3)",
    "(max, base = \"1s\", 5)",
    "\"ü\\n\\u{0}\"",
    "r#\"5s\"#",
    "b\"5s\"",
    "c\"5s\"",
    "'5'",
    "5",
    "5s",
    "5.5",
    "-1",
    "99999999999999999999",
    "0xFF",
    "true",
    "path::to",
    "(5)",
    "[5]",
    "{}",
    "concat!(\"5\", \"s\")",
    "#",
    "$",
    "'a",
    "=",
    "==",
    "::",
    ":",
    "-",
    ",",
];

/// A small generator of numbers (Knuth's MMIX), so that a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.below(texts.len())]
    }
}

fn tokens(text: &str) -> Option<TokenStream> {
    text.parse().ok()
}

/// The item comes back as it was in any case; an entry and a fault never come together.
/// Returns true if there is an entry.
#[track_caller]
fn check(options: &str, item: &str) -> bool {
    let (Some(options_read), Some(item_read)) = (tokens(options), tokens(item)) else {
        return false;
    };
    let out = annotate(options_read, &item_read).to_string();
    let is_block = item.starts_with("impl");
    let expected = if is_block { without_annotations(item) } else { item_read.to_string() };
    assert!(out.contains(&expected), "{item} with {options}: {out}");
    let has_entry = out.contains("Entry {");
    let has_fault = out.contains("compile_error");
    assert!(has_entry || has_fault, "{item} with {options}: {out}");
    assert!(is_block || has_entry != has_fault, "{item} with {options}: {out}");
    has_entry
}

/// The first tokens of a block without its annotations, which all stand at the first member.
fn without_annotations(item: &str) -> String {
    let (head, _) = item.split_once('{').expect("a block");
    tokens(head).expect("tokens").to_string()
}

/// Options that are mostly not too far from right ones.
fn options(numbers: &mut Numbers) -> String {
    let mut pieces = Vec::new();
    for _ in 0..numbers.below(4) {
        let (option, value) = (numbers.pick(OPTIONS), numbers.pick(VALUES));
        pieces.push(match numbers.below(8) {
            0 => value.to_owned(),
            1 => format!("{option} {value}"),
            2 => format!("{option} = {value} {value}"),
            _ => format!("{option} = {value}"),
        });
    }
    pieces.join(", ")
}

#[test]
fn f_ma1_the_item_survives_everything() {
    let mut numbers = Numbers(1);
    let mut entries = 0;
    for round in 0..20_000 {
        // Half of the rounds on the one item that may have an entry.
        let item = if round % 2 == 0 { ITEMS[0] } else { numbers.pick(ITEMS) };
        entries += usize::from(check(&options(&mut numbers), item));
    }
    assert!(entries > 30, "only {entries} annotations were right");
}

#[test]
fn f_ma1_giant_options_are_no_trouble() {
    for text in ["0 ".repeat(5_000), "1".repeat(10_000), "ü".repeat(10_000), "\\0".repeat(10_000)]
    {
        for option in OPTIONS {
            check(&format!("{option} = \"{text}\""), "fn plain() {}");
            check(&format!("{option} = \"${{a:{text}}}\", fixed_rate = 5"), "fn plain() {}");
        }
        check(&format!("retry(max = \"{text}\", base = \"{text}\")"), "fn plain() {}");
    }
    check(&"x".repeat(10_000), "fn plain() {}");
    check(&"fixed_rate = \"5s\",".repeat(1_000), "fn plain() {}");
}

#[test]
fn the_words_of_the_annotation_reach_the_entry() {
    let options = "cron = \"0 0 9 * * *\", zone = \"UTC\", name = \"daily\", crate = my::path";
    let out = annotate(tokens(options).unwrap(), &tokens("fn report() {}").unwrap()).to_string();
    for part in ["\"daily\"", "\"0 0 9 * * *\"", "\"UTC\"", "use my :: path :: __private as"] {
        assert!(out.contains(part), "{out}");
    }
}

#[test]
fn only_the_first_annotation_numbers_the_others_and_checks_the_function() {
    let function = "fn f(a: &mut u8) {}";
    let item = format!(
        "#[a::scheduled(x)] #[scheduled(y,)] #[other(z)] #[scheduled()] #[scheduled] {function}"
    );
    let first =
        annotate(tokens("fixed_rate = \"1s\"").unwrap(), &tokens(&item).unwrap()).to_string();
    let numbered = format!(
        "#[a::scheduled(__nth = 2, x)] #[scheduled(__nth = 3, y,)] #[other(z)] \
         #[scheduled(__nth = 4,)] #[scheduled] {function}"
    );
    assert!(first.contains(&tokens(&numbered).unwrap().to_string()), "{first}");
    assert!(first.contains("cannot take `&mut` state"), "{first}");

    let options = "__nth = 2, fixed_rate = \"1s\"";
    let second = annotate(tokens(options).unwrap(), &tokens(function).unwrap()).to_string();
    assert_eq!(second, tokens(function).unwrap().to_string());
}

#[test]
fn a_block_keeps_everything_but_its_annotations() {
    let item = "#[a] impl Struct { #![b] #[c] #[scheduled(fixed_rate = \"1s\")] #[d] \
                pub(crate) async fn f(&self) { 5 5 } const A: u8 = { 5 }; type T = u8; \
                #[scheduled] fn broken(&self) { x ; } macro_call! { } other!(); fn g(&self); }";
    let out = annotate(TokenStream::new(), &tokens(item).unwrap()).to_string();
    let kept = item.replace("#[scheduled(fixed_rate = \"1s\")]", "").replace("#[scheduled]", "");
    assert!(out.replace(' ', "").starts_with(&kept.replace(' ', "")), "{out}");
    assert_eq!(out.matches("Entry {").count(), 1, "{out}");
    assert_eq!(out.matches("compile_error").count(), 1, "{out}");
}

#[test]
fn entries_get_the_conditions_of_their_method() {
    let item = "impl Struct { #[cfg(a)] #[cfg_attr(b, scheduled(fixed_rate = \"1s\"), inline)] \
                #[cfg_attr(c, cfg(d))] #[cfg_attr(e, cfg_attr(f, scheduled(fixed_rate = \"2s\")))] \
                fn f(&self) {} }";
    let out = annotate(TokenStream::new(), &tokens(item).unwrap()).to_string();
    let block = "impl Struct { #[cfg(a)] #[cfg_attr(b, inline)] #[cfg_attr(c, cfg(d))] \
                 fn f(&self) {} }";
    assert!(out.starts_with(&tokens(block).unwrap().to_string()), "{out}");
    for conditions in [
        "#[cfg(a)] #[cfg_attr(c, cfg(d))] #[cfg(b)] const _",
        "#[cfg(a)] #[cfg_attr(c, cfg(d))] #[cfg(e)] #[cfg(f)] const _",
    ] {
        assert!(out.contains(&tokens(conditions).unwrap().to_string()), "{out}");
    }
}

/// The manual has a section for each attribute, and a row with its default.
#[test]
fn the_manual_tells_of_every_attribute() {
    let manual = include_str!("../manual.md");
    for row in Attribute::ALL.iter().map(|attribute| attribute.row()) {
        let option = row.attribute.group().unwrap_or(row.name);
        let section = format!("## `{option}");
        assert!(manual.contains(&section), "no section begins with {section}");
        let quote = if row.kind == Kind::Flag { "" } else { "\"" };
        let default = row.default.or(row.attribute.words().first().copied());
        // Only a job has what is of partitions: it has no row.
        let default = default.filter(|_| row.rules != [RuleKind::Job]);
        if let Some(default) = default {
            let is_row = |line: &&str| line.starts_with(&format!("| [`{option}`]"));
            let line = manual.lines().find(is_row).unwrap_or_default();
            assert!(line.contains(&format!("`{quote}{default}{quote}`")), "{option}: {line:?}");
        }
    }
}
