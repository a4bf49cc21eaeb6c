//! Suggestions for unknown and missing names of options.

use proc_macro2::TokenTree;
use scheduler_expr::{Attribute, CronExpression, nearest, parse_period, quoted};
use syn::LitStr;

use super::{Form, Key, Spec, Takes, offered};
use crate::diagnostic;

/// The message for an unknown option.
pub(super) fn unknown(word: &str, form: Form, options: &[Spec], around: Option<Spec>) -> String {
    let said_elsewhere = || of_made_jobs(word, form).or_else(|| of_part(word, form, options));
    let of_schedule = of_schedules(word, form, around);
    if let Some(message) = of_schedule.or_else(|| said_elsewhere().filter(|_| around.is_none())) {
        return message;
    }
    let named: Vec<(&str, &str)> = offered(options)
        .flat_map(|spec| {
            std::iter::once(spec.name).chain(spec.aliases.iter().copied()).map(|n| (n, spec.name))
        })
        .collect();
    let shown = quoted(word);
    let place = around.map_or_else(String::new, |spec| format!(" of `{}`", spec.name));
    let meant = nearest(word, named.iter().map(|(known, _)| *known))
        .and_then(|known| named.iter().find(|(name, _)| *name == known));
    match meant {
        Some((alias, name)) => {
            let remark = remark(alias).unwrap_or_default();
            format!("unknown option {shown}{place}; did you mean `{name}`?{remark}")
        }
        None => {
            let names: Vec<String> =
                offered(options).map(|spec| format!("`{}`", spec.name)).collect();
            format!("unknown option {shown}{place}\nthe options are {}", names.join(", "))
        }
    }
}

/// The message for an option of `#[scheduled]` in a `#[job]`.
fn of_schedules(word: &str, form: Form, around: Option<Spec>) -> Option<String> {
    if form == Form::Schedule || around.is_some() {
        return None;
    }
    Some(match Attribute::from_name(word).filter(|_| !word.contains('-'))? {
        Attribute::Durable => "a job is durable in any case; remove `durable`".to_owned(),
        attribute => format!(
            "`{attribute}` is no option of a job, which is due when the code that enqueues it says\n\
             remove it, or write `#[scheduled(…, durable)]` for a schedule"
        ),
    })
}

/// The message for an option that stands inside of another one, as `base` in `retry(…)`.
fn of_part(word: &str, form: Form, options: &[Spec]) -> Option<String> {
    let is_called = |spec: &Spec| spec.name == word || spec.aliases.contains(&word);
    if options.iter().any(is_called) {
        return None;
    }
    let groups = options.iter().filter(|spec| matches!(spec.takes, Takes::Options));
    let mut parts = groups.flat_map(|group| {
        let parts = super::options::options(form, Some(*group)).into_iter();
        parts.map(|part| (group.name, part))
    });
    let (group, part) = parts.find(|(_, part)| is_called(part))?;
    let remark = remark(word).unwrap_or_default();
    Some(format!(
        "unknown option {}; did you mean `{group}({})`?{remark}",
        quoted(word),
        part.example
    ))
}

/// The message for what is not said of all jobs of a function, but where one is made.
fn of_made_jobs(word: &str, form: Form) -> Option<String> {
    if form == Form::Schedule {
        return None;
    }
    let what = match word {
        "key" | "unique" | "unique_by" | "unique_for" | "unique_key" | "uniq" | "dedupe"
        | "deduplicate" | "debounce" | "singleton" => {
            "a key makes a job unique among those that are unfinished\n\
             add it where the job is made: `….job(…).key(\"…\")`"
        }
        "delay" | "after" | "wait" | "eta" | "run_at" | "schedule_in" | "scheduled_at" => {
            "the code that makes a job says when it is due\n\
             write `….job(…).after(…)` or `….job(…).at(…)`"
        }
        _ => return None,
    };
    Some(format!("unknown option {}: {what}", quoted(word)))
}

/// A note about a name of other schedulers that has another meaning there.
fn remark(alias: &str) -> Option<&'static str> {
    match alias {
        "disabled" => {
            Some("\nthat says the opposite: for `disabled = true` write `enabled = false`")
        }
        "max_attempts" | "attempts" => {
            Some("\nthat counts the attempts after the first: write one less")
        }
        _ => None,
    }
}

/// The message for a piece that does not begin with the name of an option.
pub(super) fn nameless(first: &TokenTree) -> String {
    let text =
        syn::parse2::<LitStr>(first.clone().into()).map_or_else(|_| String::new(), |t| t.value());
    let shown = diagnostic::printable(&text);
    if CronExpression::parse(&text).is_ok() {
        return format!("expected an option before the value; write `cron = \"{shown}\"`");
    }
    if parse_period(&text, None).is_ok() {
        return format!("expected an option before the value; write `fixed_rate = \"{shown}\"`");
    }
    // A crontab has no seconds.
    if CronExpression::parse(&format!("0 {text}")).is_ok() {
        return format!("expected an option before the value; write `cron = \"0 {shown}\"`");
    }
    let looks_like_cron = matches!(text.split_whitespace().count(), 5 | 6);
    let key = if looks_like_cron { Key::CRON } else { Key::FIXED_RATE };
    format!("expected an option, such as `{}`", key.example())
}

#[cfg(test)]
mod tests {
    use super::super::options::options;
    use super::*;

    #[track_caller]
    fn check_aliases(form: Form, around: Option<Spec>) {
        let options = options(form, around);
        for spec in &options {
            for alias in spec.aliases {
                let expected = format!("did you mean `{}`?", spec.name);
                assert!(unknown(alias, form, &options, around).contains(&expected), "`{alias}`");
            }
            if let Takes::Options = spec.takes {
                check_aliases(form, Some(*spec));
            }
        }
    }

    #[test]
    fn an_option_inside_of_another_is_found_by_what_others_call_it() {
        let said = |word: &str, form| unknown(word, form, &options(form, None), None);
        for form in [Form::Schedule, Form::Job] {
            let expected = "unknown option `backoff`; did you mean `retry(base = \"1s\")`?";
            assert_eq!(said("backoff", form), expected);
            assert!(said("max_delay", form).contains("`retry(cap = "));
            let counted = said("max_attempts", form);
            assert!(counted.contains("did you mean `retry(max = ") && counted.contains("one less"));
        }
    }

    #[test]
    fn options_of_one_job_are_no_options_of_its_function() {
        let said = |word: &str, form| unknown(word, form, &options(form, None), None);
        for word in ["unique", "unique_for", "key", "debounce"] {
            assert!(said(word, Form::Job).contains("`….job(…).key(\"…\")`"), "{word}");
        }
        for word in ["delay", "eta", "run_at"] {
            assert!(said(word, Form::Job).contains("`….job(…).after(…)`"), "{word}");
        }
        assert!(said("delay", Form::Schedule).contains("did you mean `initial_delay`?"));
        assert!(!said("unique", Form::Schedule).contains("key"));
    }

    #[test]
    fn every_alias_leads_to_its_option() {
        check_aliases(Form::Schedule, None);
        check_aliases(Form::Job, None);
    }
}
