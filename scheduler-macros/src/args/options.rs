//! The options of `#[scheduled]` and `#[job]`, in one table.

use scheduler_expr::{Attribute, Kind, Role, RuleKind};

/// An option of the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// One that settings can override.
    Attribute(Attribute),
    Name,
    Crate,
    /// `retry(…)`, around options of its own.
    Retry,
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
        self == Self::Schedule || !is_timed
    }
}

/// The kind of value that an option takes after its `=`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    Text,
    TextOrNumber,
    TextOrFlag,
    /// Texts in brackets, too.
    TextOrList,
    Path,
    Number,
    /// Options in parentheses, and no `=`.
    Options,
}

/// The spelling of an option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) key: Key,
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    /// A correct use, to be shown as the remedy.
    pub(super) example: &'static str,
    /// Its names in other schedulers.
    pub(super) aliases: &'static [&'static str],
}

/// The name of [`Key::Nth`]; never offered to the user.
pub(crate) const NTH: &str = "__nth";

/// The options that are no attributes.
const OTHERS: [Spec; 7] = [
    Spec {
        key: Key::Name,
        name: "name",
        takes: Takes::Text,
        example: r#"name = "nightly-report""#,
        aliases: &["id"],
    },
    Spec {
        key: Key::Retry,
        name: "retry",
        takes: Takes::Options,
        example: "retry(max = 3)",
        aliases: &["retries", "retryable"],
    },
    Spec {
        key: Key::Crate,
        name: "crate",
        takes: Takes::Path,
        example: "crate = my::scheduler",
        aliases: &[],
    },
    Spec { key: Key::Nth, name: NTH, takes: Takes::Number, example: "", aliases: &[] },
    Spec {
        key: Key::Version,
        name: "version",
        takes: Takes::Number,
        example: "version = 2",
        aliases: &["payload_version"],
    },
    Spec {
        key: Key::Upgrade,
        name: "upgrade",
        takes: Takes::Path,
        example: "upgrade = from_v1",
        aliases: &["migrate", "convert"],
    },
    Spec {
        key: Key::Alias,
        name: "alias",
        takes: Takes::TextOrList,
        example: r#"alias = "send-bill""#,
        aliases: &["aliases", "former_name", "renamed_from"],
    },
];

/// The options that only a job has.
const OF_JOBS: [Key; 3] = [Key::Version, Key::Upgrade, Key::Alias];

impl Spec {
    /// Returns true if it takes a number that has no unit.
    pub(super) fn is_count(&self) -> bool {
        let Key::Attribute(attribute) = self.key else { return false };
        matches!(attribute.row().kind, Kind::Count { .. })
    }

    /// Returns true if its name alone means `true`.
    pub(super) fn is_bare(&self) -> bool {
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
pub(super) fn options(form: Form, around: Option<Spec>) -> Vec<Spec> {
    let group = around.map(|spec| spec.name);
    let attributes = Attribute::ALL.iter().filter(|attribute| attribute.group() == group);
    let attributes = attributes.filter(|attribute| form.has(**attribute));
    let others: &[Spec] = if around.is_none() { &OTHERS } else { &[] };
    let others = others.iter().filter(|spec| form == Form::Job || !OF_JOBS.contains(&spec.key));
    attributes.map(|attribute| Spec::of(*attribute)).chain(others.copied()).collect()
}

impl Key {
    pub(crate) const CRON: Self = Self::Attribute(Attribute::Cron);
    pub(crate) const FIXED_RATE: Self = Self::Attribute(Attribute::FixedRate);
    pub(crate) const INITIAL_DELAY: Self = Self::Attribute(Attribute::InitialDelay);
    pub(crate) const TIME_UNIT: Self = Self::Attribute(Attribute::TimeUnit);

    fn spec(self) -> Spec {
        match self {
            Self::Attribute(attribute) => Spec::of(attribute),
            Self::Name => OTHERS[0],
            Self::Retry => OTHERS[1],
            Self::Crate => OTHERS[2],
            Self::Nth => OTHERS[3],
            Self::Version => OTHERS[4],
            Self::Upgrade => OTHERS[5],
            Self::Alias => OTHERS[6],
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
pub(super) fn offered(options: &[Spec]) -> impl Iterator<Item = &Spec> {
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
            let parts = options(form, Some(Key::Retry.spec()));
            assert_eq!(parts.len(), 3);
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
            "queue",
            "priority",
            "name",
            "retry",
            "crate",
            "__nth",
            "version",
            "upgrade",
            "alias",
        ];
        assert_eq!(names, expected);
    }
}
