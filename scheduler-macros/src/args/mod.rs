//! The options between the parentheses of `#[scheduled(…)]` or `#[job(…)]`, as written.
//!
//! Parses options by one table ([`options`]), most of it the table of
//! attributes of `scheduler_expr`. Parsing ([`read`]), the check for duplicates and suggestions use it.
//!
//! Values are checked elsewhere, alone and together: by [`check`](crate::check).
//!
//! An option that settings can override is a row of that table; any other is a variant of [`Key`] and an
//! entry in `OTHERS`.

mod read;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use scheduler_expr::{Attribute, Kind, Role, RuleKind};
use syn::{Expr, ExprArray, LitBool, LitInt, LitStr, Path};

/// The value of an option, of the kind that the option takes.
#[derive(Clone)]
pub(crate) enum Value {
    Text(LitStr),
    Number(LitInt),
    Flag(LitBool),
    List(ExprArray, Vec<String>),
    Path(Path),
    Expression(Expr),
}

impl Value {
    /// The text of the value; a number, a flag and a list are a text too.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.value()),
            Self::Number(number) => Some(number.base10_digits().to_owned()),
            Self::Flag(flag) => Some(flag.value.to_string()),
            Self::List(_, texts) => Some(texts.join(", ")),
            Self::Path(_) | Self::Expression(_) => None,
        }
    }
}

impl Value {
    /// The texts of a list, or the only one.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::List(_, texts) => texts.clone(),
            other => other.text().into_iter().collect(),
        }
    }
}

impl ToTokens for Value {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Text(text) => text.to_tokens(tokens),
            Self::Number(number) => number.to_tokens(tokens),
            Self::Flag(flag) => flag.to_tokens(tokens),
            Self::List(list, _) => list.to_tokens(tokens),
            Self::Path(path) => path.to_tokens(tokens),
            Self::Expression(expression) => expression.to_tokens(tokens),
        }
    }
}

/// An option that was given.
#[derive(Clone)]
pub(crate) struct WrittenOption {
    pub(crate) key: Key,
    /// The option's name, with its place in the source.
    pub(crate) word: Ident,
    /// `None` if it was faulty, which has then been reported, or if it only holds other options.
    pub(crate) value: Option<Value>,
}

/// The options of one annotation, in their order; those inside of another option come before it.
#[derive(Default)]
pub(crate) struct Args {
    options: Vec<WrittenOption>,
    /// True if a part could not be read as an option: then a missing option is no fault.
    pub(crate) is_incomplete: bool,
}

impl Args {
    /// All options that were given.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WrittenOption> {
        self.options.iter()
    }

    /// The option, if it was given.
    pub(crate) fn get(&self, key: Key) -> Option<&WrittenOption> {
        self.options.iter().find(|option| option.key == key)
    }

    /// The value of an option, if it could be read.
    pub(crate) fn value(&self, key: Key) -> Option<&Value> {
        self.get(key)?.value.as_ref()
    }

    /// The options that are rules, in their order.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &WrittenOption> {
        self.options.iter().filter(|option| {
            matches!(option.key, Key::Attribute(attribute) if attribute.row().role == Role::Rule)
        })
    }
}

/// An option of the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// One that settings can override.
    Attribute(Attribute),
    Name,
    Crate,
    /// `retry(…)`, around options of its own.
    Retry,
    /// `limit(…)`, around those of all its jobs together.
    Limit,
    /// Of a job: `each(…)`, around those of each partition.
    Each,
    /// Of a job: the expression for its partition.
    Partition,
    /// Of a job: the version of its payload.
    Version,
    /// Of a job: what makes a payload of one of an older version.
    Upgrade,
    /// Of a job: its former names.
    Alias,
    /// Written by the macro itself: which annotation of its function this is, from 2.
    Nth,
}

/// The attribute that has the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `#[scheduled(…)]`
    Schedule,
    /// `#[job(…)]`
    Job,
}

impl Form {
    /// The name of the attribute.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Schedule => "scheduled",
            Self::Job => "job",
        }
    }

    /// Returns true if an attribute of the table is one of these options.
    fn has(self, attribute: Attribute) -> bool {
        let row = attribute.row();
        let is_timed = row.role == Role::Rule || !row.rules.contains(&RuleKind::Job);
        let is_of_jobs = row.rules == [RuleKind::Job] && attribute.group().is_none();
        if self == Self::Schedule { !is_of_jobs } else { !is_timed }
    }
}

/// The kind of value that an option takes after its `=`.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Text,
    TextOrNumber,
    TextOrFlag,
    /// Texts in brackets, too.
    TextOrList,
    Path,
    Expression,
    Number,
    /// Options in parentheses, and no `=`.
    Options,
}

/// The spelling of an option.
#[derive(Clone, Copy, Debug)]
struct OptionSpec {
    key: Key,
    name: &'static str,
    takes: Takes,
    /// A correct use, to be shown as the remedy.
    example: &'static str,
    /// Its names in other schedulers.
    aliases: &'static [&'static str],
}

/// The name of [`Key::Nth`]; never offered to the user.
pub(crate) const NTH: &str = "__nth";

/// The options that are no attributes.
const OTHERS: [OptionSpec; 10] = [
    OptionSpec {
        key: Key::Name,
        name: "name",
        takes: Takes::Text,
        example: r#"name = "nightly-report""#,
        aliases: &["id"],
    },
    OptionSpec {
        key: Key::Retry,
        name: "retry",
        takes: Takes::Options,
        example: "retry(max = 3)",
        aliases: &["retries", "retryable"],
    },
    OptionSpec {
        key: Key::Crate,
        name: "crate",
        takes: Takes::Path,
        example: "crate = my::scheduler",
        aliases: &[],
    },
    OptionSpec { key: Key::Nth, name: NTH, takes: Takes::Number, example: "", aliases: &[] },
    OptionSpec {
        key: Key::Version,
        name: "version",
        takes: Takes::Number,
        example: "version = 2",
        aliases: &["payload_version"],
    },
    OptionSpec {
        key: Key::Upgrade,
        name: "upgrade",
        takes: Takes::Path,
        example: "upgrade = from_v1",
        aliases: &["migrate", "convert"],
    },
    OptionSpec {
        key: Key::Alias,
        name: "alias",
        takes: Takes::TextOrList,
        example: r#"alias = "send-bill""#,
        aliases: &["aliases", "former_name", "renamed_from"],
    },
    OptionSpec {
        key: Key::Limit,
        name: "limit",
        takes: Takes::Options,
        example: "limit(running = 50)",
        aliases: &["limiter", "throttle", "rate_limit", "global_limit", "limits_concurrency"],
    },
    OptionSpec {
        key: Key::Each,
        name: "each",
        takes: Takes::Options,
        example: "each(running = 5)",
        aliases: &["per_partition", "per_tenant"],
    },
    OptionSpec {
        key: Key::Partition,
        name: "partition",
        takes: Takes::Expression,
        example: "partition = order.tenant",
        aliases: &["partition_by", "tenant", "concurrency_key", "fairness_key"],
    },
];

/// The options that only a job has.
const OF_JOBS: [Key; 5] = [Key::Version, Key::Upgrade, Key::Alias, Key::Each, Key::Partition];

impl OptionSpec {
    /// Returns true if it takes a number that has no unit.
    fn is_count(&self) -> bool {
        let Key::Attribute(attribute) = self.key else { return false };
        matches!(attribute.row().kind, Kind::Count { .. })
    }

    /// Returns true if its name alone means `true`.
    fn is_bare(&self) -> bool {
        matches!(self.key, Key::Attribute(attribute) if attribute.row().bare)
    }

    fn of(attribute: Attribute) -> Self {
        let row = attribute.row();
        let takes = match row.kind {
            Kind::Period | Kind::Delay | Kind::Count { .. } => Takes::TextOrNumber,
            Kind::Flag => Takes::TextOrFlag,
            Kind::Tags => Takes::TextOrList,
            _ => Takes::Text,
        };
        Self {
            key: Key::Attribute(attribute),
            name: attribute.key(),
            takes,
            example: row.example,
            aliases: row.aliases,
        }
    }
}

/// The options that may stand between the parentheses of the attribute, or of the option `around`.
fn options(form: Form, around: Option<OptionSpec>) -> Vec<OptionSpec> {
    let group = around.map(|spec| spec.name);
    let attributes = Attribute::ALL.iter().filter(|attribute| attribute.group() == group);
    let attributes = attributes.filter(|attribute| form.has(**attribute));
    let others: &[OptionSpec] = if around.is_none() { &OTHERS } else { &[] };
    let others = others.iter().filter(|spec| form == Form::Job || !OF_JOBS.contains(&spec.key));
    attributes.map(|attribute| OptionSpec::of(*attribute)).chain(others.copied()).collect()
}

impl Key {
    pub(crate) const CRON: Self = Self::Attribute(Attribute::Cron);
    pub(crate) const FIXED_RATE: Self = Self::Attribute(Attribute::FixedRate);
    pub(crate) const INITIAL_DELAY: Self = Self::Attribute(Attribute::InitialDelay);
    pub(crate) const TIME_UNIT: Self = Self::Attribute(Attribute::TimeUnit);

    fn spec(self) -> OptionSpec {
        match self {
            Self::Attribute(attribute) => OptionSpec::of(attribute),
            Self::Name => OTHERS[0],
            Self::Retry => OTHERS[1],
            Self::Crate => OTHERS[2],
            Self::Nth => OTHERS[3],
            Self::Version => OTHERS[4],
            Self::Upgrade => OTHERS[5],
            Self::Alias => OTHERS[6],
            Self::Limit => OTHERS[7],
            Self::Each => OTHERS[8],
            Self::Partition => OTHERS[9],
        }
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

/// The options that a user may write.
fn offered(options: &[OptionSpec]) -> impl Iterator<Item = &OptionSpec> {
    options.iter().filter(|spec| spec.key != Key::Nth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_found_by_its_key() {
        for form in [Form::Schedule, Form::Job] {
            for spec in options(form, None) {
                assert_eq!(spec.key.spec().name, spec.name);
                assert!(spec.example.starts_with(spec.name) || spec.key == Key::Nth);
            }
            for (group, count) in [(Key::Retry, 3), (Key::Limit, 4), (Key::Each, 6)] {
                assert_eq!(options(form, Some(group.spec())).len(), count);
            }
            assert!(options(form, Some(Key::Name.spec())).is_empty());
        }
    }

    #[test]
    fn a_job_has_no_options_about_when_it_runs() {
        let names: Vec<&str> = options(Form::Job, None).iter().map(|spec| spec.name).collect();
        let expected = [
            "time_unit",
            "pool",
            "enabled",
            "timeout",
            "max_concurrent",
            "tags",
            "on_lost",
            "expires",
            "queue",
            "priority",
            "name",
            "retry",
            "crate",
            "__nth",
            "version",
            "upgrade",
            "alias",
            "limit",
            "each",
            "partition",
        ];
        assert_eq!(names, expected);
    }
}
