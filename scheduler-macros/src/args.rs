//! Reads the options between the parentheses of `#[scheduled(…)]`.
//!
//! One table says everything there is to know about an option; parsing, the duplicate check, the
//! suggestions and the list in the message all come from it. Whether the *values* make sense
//! together is the business of [`check`](crate::check).

use proc_macro2::{Delimiter, Ident, Punct, TokenStream, TokenTree};
use scheduler_expr::{CronExpression, nearest, parse_duration};
use syn::{Lit, LitInt, LitStr, Path};

use crate::diagnostic::{self, Faults};

/// An option of the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Cron,
    FixedRate,
    FixedDelay,
    InitialDelay,
    Zone,
    Name,
    TimeUnit,
    Crate,
    /// Written by the macro itself: which annotation of its function this is, from 2.
    Nth,
}

/// What an option takes after its `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Text,
    TextOrNumber,
    Path,
    Number,
}

/// Everything there is to know about an option.
struct Spec {
    key: Key,
    name: &'static str,
    takes: Takes,
    /// A correct use, to be shown as the remedy.
    example: &'static str,
    /// What others call it.
    aliases: &'static [&'static str],
}

const fn option(
    key: Key,
    name: &'static str,
    takes: Takes,
    example: &'static str,
    aliases: &'static [&'static str],
) -> Spec {
    Spec { key, name, takes, example, aliases }
}

/// INVARIANT: the options stand in the order of [`Key`]; a test holds that.
#[rustfmt::skip]
static OPTIONS: &[Spec] = &[
    option(Key::Cron, "cron", Takes::Text, r#"cron = "0 0 9 * * MON-FRI""#, &["expression"]),
    option(Key::FixedRate, "fixed_rate", Takes::TextOrNumber, r#"fixed_rate = "5s""#, &["fixed_rate_string", "every", "interval", "period", "rate"]),
    option(Key::FixedDelay, "fixed_delay", Takes::TextOrNumber, r#"fixed_delay = "5s""#, &["fixed_delay_string"]),
    option(Key::InitialDelay, "initial_delay", Takes::TextOrNumber, r#"initial_delay = "5s""#, &["initial_delay_string", "delay", "after"]),
    option(Key::Zone, "zone", Takes::Text, r#"zone = "Europe/Berlin""#, &["timezone", "tz"]),
    option(Key::Name, "name", Takes::Text, r#"name = "nightly-report""#, &["id"]),
    option(Key::TimeUnit, "time_unit", Takes::Text, r#"time_unit = "seconds""#, &["unit"]),
    option(Key::Crate, "crate", Takes::Path, "crate = my::scheduler", &[]),
    option(Key::Nth, NTH, Takes::Number, "", &[]),
];

/// The name of [`Key::Nth`]; never offered to the user.
pub(crate) const NTH: &str = "__nth";

impl Key {
    fn spec(self) -> &'static Spec {
        &OPTIONS[self as usize]
    }

    /// The option as it is written.
    pub(crate) fn name(self) -> &'static str {
        self.spec().name
    }

    /// A correct use of the option.
    pub(crate) fn example(self) -> &'static str {
        self.spec().example
    }
}

fn offered() -> impl Iterator<Item = &'static Spec> {
    OPTIONS.iter().filter(|spec| spec.key != Key::Nth)
}

/// The value of an option, of the kind that the option takes.
#[derive(Clone)]
pub(crate) enum Value {
    Text(LitStr),
    Number(LitInt),
    Path(Path),
}

/// An option that was given a value of the right kind.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) key: Key,
    /// The option's name where it stands in the source.
    pub(crate) word: Ident,
    /// `None` if it was faulty, which has then been reported.
    pub(crate) value: Option<Value>,
}

/// The options of one annotation, in the order in which they stand.
#[derive(Default)]
pub(crate) struct Args {
    given: Vec<Given>,
    /// Whether something stood there that could not be read as an option, so that nothing may be
    /// concluded from the absence of an option.
    pub(crate) is_incomplete: bool,
}

impl Args {
    /// Reads what stands between the parentheses; reports every fault and goes on.
    pub(crate) fn parse(tokens: TokenStream, faults: &mut Faults) -> Self {
        let mut args = Self::default();
        let mut reader = Reader { args: &mut args, faults };
        for piece in split_at_commas(tokens) {
            reader.read(&piece);
        }
        args
    }

    /// The option, if it was given.
    pub(crate) fn get(&self, key: Key) -> Option<&Given> {
        self.given.iter().find(|given| given.key == key)
    }

    /// The text of an option that takes text.
    pub(crate) fn text(&self, key: Key) -> Option<&LitStr> {
        match self.get(key)?.value.as_ref()? {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Path(_) => None,
        }
    }

    /// The options among `keys` that were given, in the order in which they stand.
    pub(crate) fn among<'a>(&'a self, keys: &'a [Key]) -> impl Iterator<Item = &'a Given> {
        self.given.iter().filter(|given| keys.contains(&given.key))
    }
}

/// What stands before a comma, and the comma; the last piece has none.
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
struct Reader<'a> {
    args: &'a mut Args,
    faults: &'a mut Faults,
}

impl Reader<'_> {
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
                self.faults.push(stream(&piece.tokens), nameless(first));
            }
        }
    }

    fn option(&mut self, word: &Ident, rest: &[TokenTree]) {
        let written = word.to_string();
        let Some(spec) = OPTIONS.iter().find(|spec| spec.name == written) else {
            self.args.is_incomplete = true;
            self.faults.push(word, unknown(&written));
            return;
        };
        if self.args.get(spec.key).is_some() {
            self.faults.push(word, format!("`{written}` is given twice; remove one"));
            return;
        }
        let value = self.value(spec, word, rest);
        self.args.given.push(Given { key: spec.key, word: word.clone(), value });
    }

    fn value(&mut self, spec: &Spec, word: &Ident, rest: &[TokenTree]) -> Option<Value> {
        let Spec { name, example, .. } = spec;
        let value = match rest.split_first() {
            None => {
                self.faults.push(word, format!("`{name}` needs a value: `{example}`"));
                return None;
            }
            Some((TokenTree::Punct(sign), value)) if sign.as_char() == '=' => value,
            Some(_) => {
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

fn read_value(takes: Takes, tokens: TokenStream) -> Option<Value> {
    if takes == Takes::Path {
        let path = syn::parse::Parser::parse2(Path::parse_mod_style, tokens).ok()?;
        return Some(Value::Path(path));
    }
    match (syn::parse2::<Lit>(tokens).ok()?, takes) {
        (Lit::Str(text), Takes::Text | Takes::TextOrNumber) if text.suffix().is_empty() => {
            Some(Value::Text(text))
        }
        (Lit::Int(number), Takes::TextOrNumber | Takes::Number)
            if number.suffix().is_empty() && !number.base10_digits().starts_with('-') =>
        {
            Some(Value::Number(number))
        }
        _ => None,
    }
}

/// The message for a value of the wrong kind.
fn wrong_kind(spec: &Spec, tokens: &TokenStream) -> String {
    let Spec { name, example, takes, .. } = spec;
    let found = tokens.to_string();
    match takes {
        Takes::Path => format!("`{name}` takes the path of the `scheduler` crate: `{example}`"),
        Takes::TextOrNumber if found.starts_with('-') => {
            format!("`{name}` must not be negative; write for example `{example}`")
        }
        Takes::TextOrNumber if parse_duration(&found, None).is_ok() => {
            format!("`{name}` takes text or a whole number; write `{name} = \"{found}\"`")
        }
        Takes::Text | Takes::TextOrNumber | Takes::Number => {
            format!("`{name}` takes a string literal, read at compile time: `{example}`")
        }
    }
}

/// The message for an option that does not exist.
fn unknown(word: &str) -> String {
    let named: Vec<(&str, &str)> = offered()
        .flat_map(|spec| {
            std::iter::once(spec.name).chain(spec.aliases.iter().copied()).map(|n| (n, spec.name))
        })
        .collect();
    let shown = diagnostic::shorten(word);
    let meant = nearest(word, named.iter().map(|(known, _)| *known))
        .and_then(|known| named.iter().find(|(name, _)| *name == known));
    match meant {
        Some((_, name)) => format!("unknown option `{shown}`; did you mean `{name}`?"),
        None => {
            let names: Vec<String> = offered().map(|spec| format!("`{}`", spec.name)).collect();
            format!("unknown option `{shown}`\nthe options are {}", names.join(", "))
        }
    }
}

/// The message for a piece that does not begin with the name of an option.
fn nameless(first: &TokenTree) -> String {
    let text =
        syn::parse2::<LitStr>(first.clone().into()).map_or_else(|_| String::new(), |t| t.value());
    let key = if CronExpression::parse(&text).is_ok() {
        Key::Cron
    } else if parse_duration(&text, None).is_ok() {
        Key::FixedRate
    } else {
        return format!("expected an option, such as `{}`", Key::FixedRate.example());
    };
    let shown = diagnostic::shorten(&text);
    format!("expected an option before the value; write `{} = \"{shown}\"`", key.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_its_keys() {
        for (index, spec) in OPTIONS.iter().enumerate() {
            assert_eq!(spec.key as usize, index, "`{}`", spec.name);
        }
    }

    #[test]
    fn every_alias_leads_to_its_option() {
        for spec in OPTIONS {
            for alias in spec.aliases {
                let expected = format!("did you mean `{}`?", spec.name);
                assert!(unknown(alias).ends_with(&expected), "`{alias}`");
            }
        }
    }
}
