//! Reads tokens as options, reports every fault, and suggests names.

use proc_macro2::{Delimiter, Group, Ident, Punct, TokenStream, TokenTree};
use scheduler_expr::{
    Attribute, CronExpression, assignment, intended_period, nearest, parse_period, quoted,
};
use syn::{Expr, ExprArray, ExprLit, Lit, LitBool, LitInt, LitStr, Path};

use super::{Args, Form, Key, OF_JOBS, OptionSpec, Takes, Value, WrittenOption, offered, options};
use crate::diagnostic::{self, Faults};

impl Args {
    /// Reads the tokens between the parentheses; reports every fault and goes on.
    pub(crate) fn parse(tokens: TokenStream, form: Form, faults: &mut Faults) -> Self {
        let mut args = Self::default();
        OptionReader { args: &mut args, faults, form, options: options(form, None), around: None }
            .read_all(tokens);
        args
    }
}

/// The name that Spring has for [`Attribute::Pool`].
const SPRINGS_POOL: &str = "scheduler";

/// The tokens before a comma, and the comma; the last piece has none.
struct Piece {
    tokens: Vec<TokenTree>,
    comma: Option<Punct>,
}

/// Cuts at the commas that are not inside of parentheses; a comma at the end ends no empty piece.
fn split_at_commas(tokens: TokenStream) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut piece = Vec::new();
    for token in open(tokens) {
        match token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => {
                pieces.push(Piece { tokens: std::mem::take(&mut piece), comma: Some(comma) });
            }
            other => piece.push(other),
        }
    }
    if !piece.is_empty() {
        pieces.push(Piece { tokens: piece, comma: None });
    }
    pieces
}

/// Opens the invisible groups in which `macro_rules!` hands over a fragment.
fn open(tokens: TokenStream) -> Vec<TokenTree> {
    let mut flat = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                flat.extend(open(group.stream()));
            }
            other => flat.push(other),
        }
    }
    flat
}

/// The tokens as a stream again.
fn stream(tokens: &[TokenTree]) -> TokenStream {
    tokens.iter().cloned().collect()
}

/// Reads one piece after the other.
struct OptionReader<'a> {
    args: &'a mut Args,
    faults: &'a mut Faults,
    form: Form,
    /// The options that may stand here.
    options: Vec<OptionSpec>,
    /// The option around them, if there is one.
    around: Option<OptionSpec>,
}

impl OptionReader<'_> {
    fn read_all(&mut self, tokens: TokenStream) {
        for piece in split_at_commas(tokens) {
            self.read(&piece);
        }
    }

    fn read(&mut self, piece: &Piece) {
        match piece.tokens.split_first() {
            None => {
                self.args.is_incomplete = true;
                let message = "expected an option before this comma; remove the comma";
                self.faults.push(&piece.comma, message);
            }
            Some((TokenTree::Ident(word), rest)) => self.option(word, rest),
            Some((first, _)) => {
                self.args.is_incomplete = true;
                let message = match self.around {
                    None => nameless(first),
                    Some(around) => format!("expected an option: `{}`", around.example),
                };
                self.faults.push(stream(&piece.tokens), message);
            }
        }
    }

    fn option(&mut self, word: &Ident, rest: &[TokenTree]) {
        let written = word.to_string();
        let name = if written == SPRINGS_POOL { Attribute::Pool.name() } else { &written };
        let Some(spec) = self.options.iter().find(|spec| spec.name == name).copied() else {
            self.args.is_incomplete = true;
            let message = unknown(&written, self.form, &self.options, self.around);
            self.faults.push(word, message);
            return;
        };
        if self.args.get(spec.key).is_some() {
            self.faults.push(word, format!("`{written}` is given twice; remove one"));
            return;
        }
        let value = match spec.takes {
            Takes::Options => {
                self.options_in_parentheses(spec, word, rest);
                None
            }
            _ => self.value(&spec, word, rest),
        };
        self.args.options.push(WrittenOption { key: spec.key, word: word.clone(), value });
    }

    fn options_in_parentheses(&mut self, spec: OptionSpec, word: &Ident, rest: &[TokenTree]) {
        let OptionSpec { name, example, .. } = spec;
        let message = match rest {
            [TokenTree::Group(list)] if is_filled(list) => {
                let around = Some(spec);
                let (form, options) = (self.form, options(self.form, around));
                OptionReader { args: self.args, faults: self.faults, form, options, around }
                    .read_all(list.stream());
                return;
            }
            [] => format!("`{name}` needs options: `{example}`"),
            [TokenTree::Group(list)] if list.delimiter() == Delimiter::Parenthesis => {
                format!("`{name}` needs an option between the parentheses: `{example}`")
            }
            _ => format!("expected options in parentheses after `{name}`: `{example}`"),
        };
        self.args.is_incomplete = true;
        if rest.is_empty() {
            self.faults.push(word, message);
        } else {
            self.faults.push(stream(rest), message);
        }
    }

    fn value(&mut self, spec: &OptionSpec, word: &Ident, rest: &[TokenTree]) -> Option<Value> {
        let OptionSpec { name, example, .. } = spec;
        let value = match rest.split_first() {
            None if spec.is_bare() => {
                return Some(Value::Flag(LitBool { value: true, span: word.span() }));
            }
            None => {
                self.faults.push(word, format!("`{name}` needs a value: `{example}`"));
                return None;
            }
            Some((TokenTree::Punct(sign), value)) if sign.as_char() == '=' => value,
            Some(_) => {
                self.args.is_incomplete = true;
                let message = format!("expected `=` after `{name}`: `{example}`");
                self.faults.push(stream(rest), message);
                return None;
            }
        };
        if value.is_empty() {
            self.faults.push(stream(rest), format!("`{name}` needs a value: `{example}`"));
            return None;
        }
        let tokens = stream(value);
        let read = read_value(spec.takes, tokens.clone());
        if read.is_none() {
            self.faults.push(&tokens, wrong_kind(spec, &tokens));
        }
        read
    }
}

/// Returns true if there is something between parentheses.
fn is_filled(list: &Group) -> bool {
    list.delimiter() == Delimiter::Parenthesis && !list.stream().is_empty()
}

fn read_value(takes: Takes, tokens: TokenStream) -> Option<Value> {
    if let Takes::Path = takes {
        let path = syn::parse::Parser::parse2(Path::parse_mod_style, tokens).ok()?;
        return Some(Value::Path(path));
    }
    if let Takes::Expression = takes {
        return syn::parse2(tokens).ok().map(Value::Expression);
    }
    if let (Takes::TextOrList, Ok(list)) = (takes, syn::parse2(tokens.clone())) {
        return list_of_texts(list);
    }
    match (syn::parse2::<Lit>(tokens).ok()?, takes) {
        (
            Lit::Str(text),
            Takes::Text | Takes::TextOrNumber | Takes::TextOrFlag | Takes::TextOrList,
        ) if text.suffix().is_empty() => Some(Value::Text(text)),
        (Lit::Bool(flag), Takes::TextOrFlag) => Some(Value::Flag(flag)),
        (Lit::Int(number), Takes::TextOrNumber | Takes::Number)
            if number.suffix().is_empty() && !number.base10_digits().starts_with('-') =>
        {
            Some(Value::Number(number))
        }
        _ => None,
    }
}

/// A list, if it has nothing but texts in it.
fn list_of_texts(list: ExprArray) -> Option<Value> {
    let text = |element: &Expr| match element {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.suffix().is_empty() => {
            Some(text.value())
        }
        _ => None,
    };
    let texts: Option<Vec<String>> = list.elems.iter().map(text).collect();
    texts.map(|texts| Value::List(list, texts))
}

/// The message for a value of the wrong kind.
fn wrong_kind(spec: &OptionSpec, tokens: &TokenStream) -> String {
    let OptionSpec { name, example, takes, .. } = spec;
    let found = tokens.to_string();
    if let Some(next) = without_comma(tokens) {
        return format!("expected `,` before {next}: options are separated by commas");
    }
    if let (Takes::Path, Some(path)) = (takes, path_in_quotes(tokens)) {
        return format!("`{name}` takes a path, without quotes; write `{name} = {path}`");
    }
    if let Takes::TextOrNumber = takes {
        if found.starts_with('-') {
            return format!("`{name}` must not be negative; write for example `{example}`");
        }
        match syn::parse2(tokens.clone()) {
            _ if spec.is_count() => {}
            Ok(Lit::Int(number)) => return number_with_suffix(spec, &number),
            Ok(Lit::Float(_)) => {
                return format!("`{name}` takes text or a whole number, such as `{example}`");
            }
            _ => {}
        }
    }
    let wanted = match takes {
        Takes::Path if spec.key == Key::Upgrade => "the path of a function",
        Takes::Path => "the path of the `scheduler` crate",
        Takes::Expression => "an expression on the payload",
        Takes::TextOrNumber if spec.is_count() => "a whole number",
        Takes::TextOrFlag => "`true`, `false` or a string literal",
        Takes::TextOrList => "a string literal, or a list of them",
        _ => "a string literal, read at compile time",
    };
    format!("`{name}` takes {wanted}: `{example}`")
}

/// The message for a number with a unit or a type of Rust behind it, such as `5s` or `5u64`.
fn number_with_suffix(spec: &OptionSpec, number: &LitInt) -> String {
    let OptionSpec { name, example, .. } = spec;
    let digits = number.base10_digits();
    if is_type(number.suffix()) {
        let period = intended_period(&format!("{digits}s"));
        let text = period.map_or_else(|| (*example).to_owned(), |text| assignment(name, &text));
        return format!(
            "a number of `{name}` has no type\n\
             write `{text}`, or `{name} = {digits}` beside `time_unit = \"seconds\"`"
        );
    }
    match intended_period(&number.to_string()) {
        Some(period) => {
            let text = assignment(name, &period);
            format!("`{name}` takes text or a whole number; write `{text}`")
        }
        None => format!("`{name}` takes text or a whole number, such as `{example}`"),
    }
}

/// Returns true if this names one of Rust's types of whole numbers.
fn is_type(suffix: &str) -> bool {
    let bits = suffix.strip_prefix(['u', 'i']);
    bits.is_some_and(|bits| matches!(bits, "8" | "16" | "32" | "64" | "128" | "size"))
}

/// The name after a literal, if a comma is missing before it.
fn without_comma(tokens: &TokenStream) -> Option<String> {
    let mut tokens = tokens.clone().into_iter();
    match (tokens.next()?, tokens.next()?) {
        (TokenTree::Literal(_), TokenTree::Ident(next)) => Some(quoted(&next.to_string())),
        _ => None,
    }
}

/// The path that stands between quotation marks, as other macros have it.
fn path_in_quotes(tokens: &TokenStream) -> Option<String> {
    let text: LitStr = syn::parse2(tokens.clone()).ok()?;
    text.parse_with(Path::parse_mod_style).is_ok().then(|| diagnostic::printable(&text.value()))
}

/// The message for an unknown option.
pub(super) fn unknown(
    word: &str,
    form: Form,
    options: &[OptionSpec],
    around: Option<OptionSpec>,
) -> String {
    let said_elsewhere = || {
        let of_job = of_made_jobs(word, form).or_else(|| of_jobs(word, form));
        of_job.or_else(|| of_part(word, form, options))
    };
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
fn of_schedules(word: &str, form: Form, around: Option<OptionSpec>) -> Option<String> {
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

/// The message for an option of `#[job]` in a `#[scheduled(…)]`.
fn of_jobs(word: &str, form: Form) -> Option<String> {
    let spec = OF_JOBS.iter().map(|key| key.spec()).find(|spec| spec.name == word)?;
    (form == Form::Schedule).then(|| {
        format!(
            "`{}` is an option of `#[job]` alone: only a job has a payload\n\
             remove it, or write a `#[job(…)]` that the schedule enqueues",
            spec.name
        )
    })
}

/// The message for an option that stands inside of another one, as `base` in `retry(…)`.
fn of_part(word: &str, form: Form, options: &[OptionSpec]) -> Option<String> {
    let is_called = |spec: &OptionSpec| spec.name == word || spec.aliases.contains(&word);
    if options.iter().any(is_called) {
        return None;
    }
    let groups = options.iter().filter(|spec| matches!(spec.takes, Takes::Options));
    let mut parts = groups.flat_map(|group| {
        let parts = super::options(form, Some(*group)).into_iter();
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
fn nameless(first: &TokenTree) -> String {
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
    use super::super::options;
    use super::*;

    #[track_caller]
    fn check_aliases(form: Form, around: Option<OptionSpec>) {
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
