//! Templates as people write them, as they are attacked, and as anything at all.

use std::collections::BTreeMap;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use super::{BYTES_MAX, LEVELS_MAX, TemplatePart, VALUES_MAX};

type Settings<'a> = BTreeMap<&'a str, String>;

fn resolve(text: &str, settings: &Settings) -> Result<String, ResolveTemplateError<Infallible>> {
    let template = Template::parse(text).expect(text);
    template.resolve(&mut |key| Ok(settings.get(key).cloned()))
}

fn settings() -> Settings<'static> {
    let pairs = [("a", "1"), ("b", "${a}2"), ("which", "b"), ("empty", ""), ("literal", "\\${a}")];
    pairs.map(|(key, value)| (key, value.to_owned())).into()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(resolve(text, &settings()).map_err(|error| error.to_string()), Ok(expected.into()));
}

#[track_caller]
fn check_fault(text: &str, expected: &str) {
    let error = resolve(text, &settings()).expect_err(text);
    assert_eq!(error.to_string(), expected);
}

#[track_caller]
fn check_unreadable(text: &str, message: &str, fault: &str) {
    let error = Template::parse(text).expect_err(text);
    assert_eq!(error.to_string(), message, "{text}");
    assert_eq!(&text[error.span()], fault);
    assert!(error.caret().contains('^'));
}

#[test]
fn values_take_the_place_of_placeholders() {
    check("", "");
    check("0 0 ${a} * * *", "0 0 1 * * *");
    check("${a}${a}", "11");
    check("${b}", "12");
    check("${ a }", "1");
    check("${empty}", "");
    check("${${which}}", "12");
    check("${wh${nothing:i}ch}", "b");
}

#[test]
fn defaults_stand_in_for_values_that_are_not_set() {
    check("${a:9}", "1");
    check("${empty:9}", "");
    check("${x:9}", "9");
    check("${x:}", "");
    check("${x:0 0 9 * * *}", "0 0 9 * * *");
    check("${x:a:b}", "a:b");
    check("${x:${a}}", "1");
    check("${x:${y:${z:deep}}}", "deep");
    check("${x:${x:again}}", "again");
}

#[test]
fn everything_else_is_text() {
    check("$", "$");
    check("$a}{}", "$a}{}");
    check("$$${a}", "$$1");
    check("é${a}日", "é1日");
    check("\\${a}", "${a}");
    check("\\\\${a}", "\\${a}");
    check("${x:\\${a}", "${a");
    check("MON#1 # \\#{a}", "MON#1 # #{a}");
    check("${literal}", "${a}");
    check("c:\\dir", "c:\\dir");
}

#[test]
fn unreadable_templates_are_shown_where_they_break() {
    let (unclosed, no_key) = ("the placeholder is not closed", "the placeholder has no key");
    check_unreadable("${", unclosed, "${");
    check_unreadable("x ${a", unclosed, "${a");
    check_unreadable("${a:b", unclosed, "${a:b");
    check_unreadable("${a:${b}", unclosed, "${a:${b}");
    check_unreadable("x${}y", no_key, "${}");
    let spring = "Spring expressions (SpEL) are not supported";
    check_unreadable("0 #{5 * 2} ${a", spring, "#{5 * 2}");
    check_unreadable("${a:#{b}}", spring, "#{b}");
    check_unreadable("#{b", spring, "#{b");
    check_unreadable("${ :1}", no_key, "${ :");
    check_unreadable("${a:${}}", no_key, "${}");
}

#[test]
fn a_fault_says_what_to_write() {
    let help = |text: &str| Template::parse(text).unwrap_err().help().map(str::to_owned);
    let close = "close it with `}`, or write `\\${` for a literal `${`";
    assert_eq!(help("${a").as_deref(), Some(close));
    assert_eq!(help("${}").as_deref(), Some("write `${key}` or `${key:default}`"));
    assert_eq!(help(&"${".repeat(40)), None);
}

#[test]
fn a_missing_value_is_named_with_the_chain_to_it() {
    check_fault("${x}", "`${x}` is not set");
    check_fault("${x:${y}}", "`${y}` is not set: x -> y");
    check_fault("${${empty}}", "a placeholder's key comes to nothing");
    let error = resolve("${x:${y:${z}}}", &settings()).unwrap_err();
    assert_eq!(error.kind(), &ResolveTemplateErrorKind::NotSet);
    assert_eq!((error.key(), error.chain().join(" ")), ("z", "x y z".to_owned()));
}

#[test]
fn a_failed_lookup_keeps_its_reason() {
    let template = Template::parse("${a}").unwrap();
    let error = template.resolve(&mut |_| Err("no text")).unwrap_err();
    assert_eq!(error.kind(), &ResolveTemplateErrorKind::Lookup("no text"));
    assert_eq!(error.to_string(), "`${a}`: no text");
}

#[test]
fn a_hostile_key_stays_on_one_line() {
    let key = format!("a\n\u{202e}{}", "x".repeat(10_000));
    let error = resolve(&format!("${{{key}}}"), &settings()).unwrap_err();
    assert_eq!(error.key(), key);
    let message = error.to_string();
    assert!(message.chars().count() < 80 && !message.contains(['\n', '\u{202e}']), "{message}");
}

#[test]
fn f_cf1_deep_nesting_is_refused_without_deep_recursion() {
    for text in ["${".repeat(10_000), "${a:".repeat(10_000) + &"}".repeat(10_000)] {
        let error = Template::parse(&text).unwrap_err();
        assert_eq!(error.to_string(), "placeholders are nested more than 32 levels deep");
    }
    let nested = |levels| "${x:".repeat(levels) + "end" + &"}".repeat(levels);
    check(&nested(LEVELS_MAX), "end");
    // Beside each other they are not deep.
    check(&"${a}".repeat(LEVELS_MAX + 1), &"1".repeat(LEVELS_MAX + 1));
    assert!(Template::parse(&nested(LEVELS_MAX + 1)).is_err());
}

#[test]
fn f_cf1_a_long_chain_of_values_is_refused() {
    let template = Template::parse("${0}").unwrap();
    let mut next = |key: &str| {
        let number: u32 = key.parse().expect("a number");
        Ok::<_, Infallible>(Some(format!("${{{}}}", number + 1)))
    };
    let error = template.resolve(&mut next).unwrap_err();
    assert_eq!(error.kind(), &ResolveTemplateErrorKind::TooDeep);
    assert_eq!(
        error.to_string(),
        "`${32}` is more than 32 levels deep: 0 -> 1 -> 2 -> 3 -> … -> 29 -> 30 -> 31 -> 32"
    );
}

#[test]
fn f_cf1_a_cycle_is_refused_with_its_chain() {
    let pairs = [("a", "${b}"), ("b", "x${a:1}"), ("self", "${self}")];
    let settings = pairs.map(|(key, value)| (key, value.to_owned())).into();
    let message = |text| resolve(text, &settings).unwrap_err().to_string();
    assert_eq!(message("${a}"), "`${a}` leads back to itself: a -> b -> a");
    assert_eq!(message("${self}"), "`${self}` leads back to itself: self -> self");
    assert_eq!(message("${none:${b}}"), "`${b}` leads back to itself: none -> b -> a -> b");
    let chain = "${1:${2:${3:${4:${5:${6:${7:${8}}}}}}}}";
    assert_eq!(message(chain), "`${8}` is not set: 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8");
}

#[test]
fn f_cf1_exponential_growth_is_refused_after_few_values() {
    let template = Template::parse("${0}").unwrap();
    let mut asked = 0;
    let mut doubling = |key: &str| {
        asked += 1;
        let next = key.parse::<u32>().expect("a number") + 1;
        Ok::<_, Infallible>(Some(if next > 30 {
            String::new()
        } else {
            format!("${{{next}}}${{{next}}}")
        }))
    };
    let error = template.resolve(&mut doubling).unwrap_err();
    assert_eq!(error.kind(), &ResolveTemplateErrorKind::TooMany);
    assert!(error.chain().len() > 2 && asked <= VALUES_MAX, "{asked}");
}

#[test]
fn f_cf1_as_many_values_as_the_limit_says_are_read() {
    let text = |count| "${a}".repeat(count);
    assert_eq!(resolve(&text(VALUES_MAX), &settings()).unwrap().len(), VALUES_MAX);
    let error = resolve(&text(VALUES_MAX + 1), &settings()).unwrap_err();
    assert_eq!(error.kind(), &ResolveTemplateErrorKind::TooMany);
}

#[test]
fn f_cf1_long_values_are_refused_before_they_add_up() {
    let settings: Settings = [("long", "x".repeat(BYTES_MAX / 2))].into();
    assert_eq!(resolve("${long}${long}", &settings).unwrap().len(), BYTES_MAX);
    let error = resolve("${long}${long}${long}", &settings).unwrap_err();
    assert_eq!(error.kind(), &ResolveTemplateErrorKind::TooLong);
    assert_eq!(error.to_string(), "with `${long}` the values are longer than 1 MiB");

    assert!(Template::parse(&"x".repeat(BYTES_MAX)).is_ok());
    let error = Template::parse(&"x".repeat(BYTES_MAX + 1)).unwrap_err();
    assert_eq!(error.to_string(), "the text is longer than 1 MiB");
}

#[test]
fn f_cf1_a_value_that_is_no_template_names_its_key() {
    let settings: Settings = [("a", "${b".to_owned())].into();
    let error = resolve("${a}", &settings).unwrap_err();
    assert_eq!(error.to_string(), "the value of `${a}`: the placeholder is not closed");
    assert_eq!(error.key(), "a");
}

#[test]
fn plain_templates_and_sole_defaults_are_known() {
    let parse = |text| Template::parse(text).unwrap();
    for (text, plain, default) in [
        ("", true, None),
        ("5s", true, None),
        ("\\${a}", true, None),
        ("${a}", false, None),
        ("${a:}", false, Some("")),
        ("${a:5s}", false, Some("5s")),
        ("${a:\\${x}", false, Some("${x")),
        ("${a:${b:5s}}", false, Some("5s")),
        ("${${a}:5s}", false, None),
        ("${a:${b}}", false, None),
        ("${a:${b:1}s}", false, None),
        (" ${a:5s}", false, None),
    ] {
        assert_eq!(parse(text).is_plain(), plain, "{text}");
        assert_eq!(parse(text).sole_default().as_deref(), default, "{text}");
    }
}

/// Text in which the characters that mean something are frequent.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec!["${", "}", ":", "\\", "$", "{", "#{", "a", "b", "\\${"])
            .prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_at_a_place_in_it(text in any_text()) {
        match Template::parse(&text) {
            Err(error) => {
                prop_assert!(text.get(error.span()).is_some());
                prop_assert_eq!(error.caret().lines().count(), 2);
            }
            Ok(template) => prop_assert_eq!(template.is_plain(), !template.parts.iter().any(
                |part| matches!(part, TemplatePart::Placeholder { .. })
            )),
        }
    }

    #[test]
    fn any_values_come_to_a_text_or_a_fault(texts in prop::collection::vec(any_text(), 3)) {
        let Ok(template) = Template::parse(&texts[0]) else { return Ok(()) };
        let settings = BTreeMap::from([("a", texts[1].clone()), ("b", texts[2].clone())]);
        let result = template.resolve(&mut |key| Ok::<_, Infallible>(settings.get(key).cloned()));
        match result {
            Ok(out) => prop_assert!(out.len() <= BYTES_MAX + texts[0].len()),
            Err(error) => {
                prop_assert!(error.to_string().chars().count() < 600);
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn a_text_without_an_opening_is_itself(text in any_text()) {
        let text = text.replace(['$', '#'], "");
        prop_assert_eq!(resolve(&text, &Settings::new()).ok(), Some(text));
    }

    #[test]
    fn an_escaped_text_is_itself_again(text in any_text()) {
        let escaped = text.replace("${", "\\${").replace("#{", "\\#{");
        prop_assert_eq!(resolve(&escaped, &Settings::new()).ok(), Some(text));
    }
}
