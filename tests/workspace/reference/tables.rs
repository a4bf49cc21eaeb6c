//! The blocks of the reference pages.

use std::collections::BTreeMap;

use scheduler_expr::{Attribute, Kind, Role, Row, RuleKind};
use syn::punctuated::Punctuated;
use syn::visit::Visit;
use syn::{Expr, Item, Token};

use super::Notes;
use super::code::{self, Setting, Variant};

/// A table whose last column are notes.
pub(super) fn table<const CELLS: usize>(
    heads: &[&str],
    rows: impl IntoIterator<Item = [impl AsRef<str>; CELLS]>,
    notes: &Notes,
) -> String {
    let rows = rows.into_iter().map(|row| {
        let cells = row.each_ref().map(|cell| cell.as_ref().to_owned());
        let note = notes.get(&cells[0]).map(|note| format!("{note} ")).unwrap_or_default();
        format!("| {} | {note}|\n", cells.join(" | "))
    });
    head(heads) + &rows.collect::<String>()
}

/// A table without notes.
fn plain<const CELLS: usize>(
    heads: &[&str],
    rows: impl IntoIterator<Item = [String; CELLS]>,
) -> String {
    let rows = rows.into_iter().map(|row| format!("| {} |\n", row.join(" | ")));
    head(heads) + &rows.collect::<String>()
}

fn head(heads: &[&str]) -> String {
    format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

pub(super) fn attributes(_: &Notes) -> String {
    let rows = Attribute::ALL.iter().map(|attribute| {
        let row = attribute.row();
        let off = if row.off { ", or `-`" } else { "" };
        let text = format!("{}{off}", kind(row.kind));
        let goes_with =
            if row.role == Role::Rule { "the rule".to_owned() } else { rules(row.rules) };
        [code(row.name), text, default(row), goes_with, row.help.to_owned(), code(row.example)]
    });
    plain(&["attribute", "text", "default", "for", "meaning", "example"], rows)
}

fn default(row: &Row) -> String {
    let first = if let Kind::Words(words) = row.kind { words.first().copied() } else { None };
    row.default.or(first).map_or_else(|| "none".to_owned(), code)
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Cron => "a cron expression".to_owned(),
        Kind::Zone => "a time zone".to_owned(),
        Kind::Unit => "a unit of time".to_owned(),
        Kind::Pool => "the name of a pool".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Count { min, .. } => format!("a number, at least {min}"),
        Kind::Instant => "an instant with its offset".to_owned(),
        Kind::Tags => "names".to_owned(),
        Kind::Rate => "a number of starts, `/`, a duration".to_owned(),
        Kind::Calendar => "the name of a calendar".to_owned(),
        Kind::Queue => "the name of a queue".to_owned(),
        Kind::Period => "a duration".to_owned(),
        Kind::Delay => "a duration, also `0s`".to_owned(),
        Kind::Words(words) => words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", "),
        _ => panic!("a kind without words"),
    }
}

fn rules(rules: &[RuleKind]) -> String {
    if rules == RuleKind::ALL {
        return "all".to_owned();
    }
    let names = rules.iter().filter_map(|rule| match rule {
        RuleKind::Cron => Some("cron"),
        RuleKind::FixedRate => Some("rate"),
        RuleKind::FixedDelay => Some("delay"),
        RuleKind::Once => Some("once"),
        RuleKind::At => Some("at"),
        RuleKind::Custom => Some("trigger"),
        RuleKind::Job => Some("job"),
        _ => None,
    });
    names.collect::<Vec<_>>().join(", ")
}

pub(super) fn settings(notes: &Notes) -> String {
    setting_rows("scheduler", code::settings("src/define/settings/globals.rs", "Globals"), notes)
}

pub(super) fn pool_settings(notes: &Notes) -> String {
    let settings = code::settings("src/define/settings/globals.rs", "PoolSettings");
    setting_rows("scheduler.pools.io", settings, notes)
}

pub(super) fn node_settings(notes: &Notes) -> String {
    setting_rows(
        "scheduler",
        code::settings("src/define/settings/globals.rs", "NodeSettings"),
        notes,
    )
}

fn setting_rows(table_name: &str, settings: Vec<Setting>, notes: &Notes) -> String {
    let rows = settings.into_iter().map(|setting| {
        let key = format!("{table_name}.{}", setting.key);
        let variable = key.to_uppercase().replace(['.', '-'], "_");
        let quote = if setting.example.contains(' ') { "\"" } else { "" };
        [code(&key), code(&format!("{variable}={quote}{}{quote}", setting.example))]
    });
    table(&["setting", "as a variable", "meaning, and default"], rows, notes)
}

/// The variables that are no settings.
pub(super) fn variables(notes: &Notes) -> String {
    let names = code::variables("src/define/settings/key.rs");
    let names = names.into_iter().filter(|name| !name.ends_with('_')).map(|name| [code(&name)]);
    table(&["variable", "meaning"], names, notes)
}

/// The parameters of the SQL function that any client may call.
pub(super) fn enqueue(notes: &Notes) -> String {
    let text = code::text("crates/postgres/src/sql/0001/6_enqueue.sql");
    let (_, rest) = text.split_once("function {s}.enqueue(\n").expect("the function");
    let (parameters, _) = rest.split_once(")\nreturns uuid").expect("its end");
    let parameters: Vec<&str> = parameters.split(',').map(str::trim).collect();
    let rows = parameters.iter().map(|parameter| {
        let (declared, default) = parameter.split_once(" default ").unwrap_or((parameter, ""));
        let (name, kind) = declared.split_once(' ').expect("a type");
        let default = if default.is_empty() { "required".to_owned() } else { code(default) };
        [code(name), kind.to_owned(), default]
    });
    table(&["parameter", "type", "default", "meaning"], rows, notes)
}

/// The functions for the person on call, in the order of the page.
const COMMANDS: [&str; 12] = [
    "cancel",
    "retry",
    "remove",
    "edit",
    "command_all",
    "list",
    "depths",
    "run_now",
    "pause_task",
    "resume_task",
    "pause_queue",
    "resume_queue",
];

/// The functions that people call, with their parameters.
pub(super) fn commands(notes: &Notes) -> String {
    let folder = code::all("crates/postgres/src/sql/0001");
    let rows = COMMANDS.map(|name| {
        let begin = format!("create function {{s}}.{name}(");
        let (_, rest) = folder.split_once(&begin).unwrap_or_else(|| panic!("there is no {name}"));
        let end = rest.find("returns").into_iter().chain(rest.find("language")).min();
        let parameters = rest[..end.expect("its end")].trim().trim_end_matches(')');
        let parameters: Vec<&str> = parameters.split(',').filter_map(parameter).collect();
        [code(&format!("{name}({})", parameters.join(", ")))]
    });
    table(&["function", "does"], rows, notes)
}

/// The name of a parameter that people give.
fn parameter(declared: &str) -> Option<&str> {
    let name = declared.trim().split(' ').next()?;
    (!["", "out", "p_not_after"].contains(&name)).then_some(name)
}

/// The part of the dashboard's documentation that is about requests, which has a row for each route.
pub(super) fn requests(_: &Notes) -> String {
    let text = code::text("crates/dashboard/src/lib.rs");
    let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    let lines = lines.skip_while(|line| *line != "# The API").skip(2);
    let text: String = lines.map(|line| unlinked(line) + "\n").collect();
    let routes = code::text("crates/dashboard/src/web/mod.rs");
    let routes = routes.split(".route(\"").skip(1).filter_map(|route| route.split('"').next());
    let text = text.trim_end().to_owned() + "\n";
    for route in routes.filter(|route| *route != "/") {
        let last = route.rfind('/').map_or(route, |slash| &route[slash..]);
        let is_there = ["`", "?", " "].iter().any(|end| text.contains(&format!("{route}{end}")))
            || text.contains(&format!("`{last}`"));
        assert!(is_there, "the documentation of the dashboard has no `{route}`");
    }
    text
}

/// A line whose links to items are text.
fn unlinked(line: &str) -> String {
    let mut text = line.to_owned();
    while let Some((before, rest)) = text.split_once("](Dashboard::") {
        let (_, after) = rest.split_once(')').expect("the end of the link");
        let begin = before.rfind('[').expect("its begin");
        text = format!("{}{}{after}", &before[..begin], &before[begin + 1..]);
    }
    text
}

/// Finds metrics in a source: their names with type and help.
#[derive(Default)]
struct Metrics {
    constants: BTreeMap<String, String>,
    found: Vec<[String; 3]>,
}

impl Metrics {
    fn of(path: &str) -> Vec<[String; 3]> {
        let file = code::parsed(path);
        let mut metrics = Self::default();
        for item in &file.items {
            if let Item::Const(item) = item
                && let Some(text) = code::literal(&item.expr)
            {
                metrics.constants.insert(item.ident.to_string(), text);
            }
        }
        metrics.visit_file(&file);
        metrics.found.sort_by_key(|[name, ..]| !name.starts_with("scheduler"));
        metrics.found
    }

    /// The text of a literal, or of a constant.
    fn text(&self, expression: &Expr) -> Option<String> {
        match expression {
            Expr::Path(path) => self.constants.get(&path.path.get_ident()?.to_string()).cloned(),
            expression => code::literal(expression),
        }
    }

    fn add<'e>(&mut self, kind: &str, expressions: impl IntoIterator<Item = &'e Expr>) {
        let mut texts = expressions.into_iter().filter_map(|expression| self.text(expression));
        if let (Some(name), Some(mut help)) = (texts.next(), texts.next())
            && ["scheduler", "tasks", "executor"].iter().any(|first| name.starts_with(first))
        {
            let mut kind = kind.to_owned();
            if let Some(text) = texts.next() {
                kind = std::mem::replace(&mut help, text);
            }
            self.found.push([format!("`{name}`"), kind, help]);
        }
    }
}

impl<'ast> Visit<'ast> for Metrics {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.add(&call.method.to_string(), call.args.iter().take(2));
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        self.add("histogram", &call.args);
        syn::visit::visit_expr_call(self, call);
    }

    fn visit_expr_tuple(&mut self, tuple: &'ast syn::ExprTuple) {
        // The tables of gauges have a function or a unit in each row, the table of lengths has neither.
        let kind = if tuple.elems.len() == 2 { "histogram" } else { "gauge" };
        self.add(kind, &tuple.elems);
        syn::visit::visit_expr_tuple(self, tuple);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if let Some(kind) = name.strip_prefix("describe_") {
            let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
            self.add(kind, &arguments.expect("expressions"));
        }
    }
}

pub(super) fn dashboard_metrics(notes: &Notes) -> String {
    let mut metrics = Metrics::of("crates/dashboard/src/prometheus/mod.rs");
    metrics.extend(Metrics::of("crates/dashboard/src/prometheus/spring.rs"));
    assert!(metrics.len() > 20, "only {metrics:?}");
    table(&["metric", "type", "meaning", "labels"], metrics, notes)
}

pub(super) fn facade_metrics(notes: &Notes) -> String {
    let metrics = Metrics::of("src/observe/metrics/mod.rs");
    assert!(metrics.len() > 10, "only {metrics:?}");
    table(&["metric", "type", "meaning", "labels"], metrics, notes)
}

pub(super) fn events(_: &Notes) -> String {
    event_rows("`event`", code::variants("src/observe/event.rs", "EventKind"))
}

pub(super) fn store_events(_: &Notes) -> String {
    event_rows("`kind`", code::variants("src/observe/store_event.rs", "StoreEvent"))
}

fn event_rows(head: &str, variants: Vec<Variant>) -> String {
    let rows = variants.into_iter().map(|variant| {
        let fields: Vec<String> = variant.fields.iter().map(|field| code(field)).collect();
        let fields = if fields.is_empty() { "none".to_owned() } else { fields.join(", ") };
        [code(&variant.name), fields, variant.doc]
    });
    plain(&[head, "fields", "meaning"], rows)
}

pub(super) fn exit_codes(_: &Notes) -> String {
    let constants = code::parsed("crates/cli/src/error.rs").items.into_iter();
    let constants =
        constants.filter_map(|item| if let Item::Const(item) = item { Some(item) } else { None });
    let codes = constants.filter_map(|item| match &*item.expr {
        Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(number) => Some((number.to_string(), code::doc(&item.attrs))),
            _ => None,
        },
        _ => None,
    });
    let codes = codes.filter_map(|(number, doc)| {
        let meaning = doc.strip_prefix("The exit code ")?;
        let meaning = meaning.trim_start_matches("when ").trim_start_matches("of ");
        Some([number, meaning.trim_end_matches('.').to_owned()])
    });
    plain(&["code", "meaning"], codes)
}
