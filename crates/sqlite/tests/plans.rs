//! Each statement is the range of an index, whatever else the tables hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use proc_macro2::{Literal, TokenStream, TokenTree};
use rusqlite::Connection;
use scheduler_sqlite::Sqlite;
use scheduler_store::{CommandAll, JobAction, JobFilter, JobState, Priority, Reap, When};
use store_conformance::TestStore as _;

use crate::common::{END, Folder, TestSqlite, jobs, open, poll_of};

/// The tables that may hold a million rows.
const LARGE: [&str; 4] = ["scheduler_job", "scheduler_done", "scheduler_key", "scheduler_action"];

/// The steps that are no equality with a column, how many statements have each, and why it is bounded.
const RANGES: [(&str, usize, &str); 20] = [
    ("SEARCH scheduler_action USING COVERING INDEX scheduler_action_at (at<?)", 1, "pruned now"),
    (
        "SEARCH scheduler_action USING INDEX scheduler_action_at (at>? AND (at,id)<(?,?))",
        1,
        "ends with the page",
    ),
    (
        "SEARCH scheduler_done USING COVERING INDEX scheduler_done_ended (ended_at<?)",
        2,
        "pruned now",
    ),
    ("SEARCH scheduler_done USING INDEX scheduler_done_ended (ended_at<?)", 1, "pruned now"),
    (
        "SEARCH scheduler_done USING INDEX scheduler_done_greatest (greatest_id>?)",
        2,
        "one identity",
    ),
    (
        "SEARCH scheduler_job USING COVERING INDEX scheduler_job_parked (finished_at<?)",
        1,
        "pruned now",
    ),
    ("SEARCH scheduler_job USING INDEX scheduler_job_parked_id (id<?)", 1, "jobs that are parked"),
    (
        "SEARCH scheduler_job USING INDEX scheduler_job_retrying (id<?)",
        1,
        "jobs that are tried again",
    ),
    (
        "SEARCH scheduler_job USING INDEX sqlite_autoindex_scheduler_job_1 (id<?)",
        1,
        "many are in line",
    ),
    (
        "SEARCH scheduler_job USING INDEX scheduler_job_expiring (expires_at>? AND expires_at<?)",
        1,
        "a limit",
    ),
    ("SEARCH scheduler_job USING INDEX scheduler_job_key", 1, "the first task"),
    ("SEARCH scheduler_job USING INDEX scheduler_job_key (task>?)", 1, "the next task"),
    ("SEARCH scheduler_key USING INDEX scheduler_key_until (until<?)", 1, "pruned now"),
    ("SCAN scheduler_done USING INDEX scheduler_done_greatest", 1, "ends with the page"),
    ("SCAN scheduler_job USING COVERING INDEX scheduler_job_ready", 1, "a limit"),
    ("SCAN scheduler_job USING INDEX scheduler_job_damaged", 2, "damaged rows"),
    ("SCAN scheduler_job USING INDEX scheduler_job_parked", 1, "depths, of all jobs"),
    ("SCAN scheduler_job USING INDEX scheduler_job_ready", 2, "depths, and a short line"),
    ("SCAN scheduler_job USING INDEX scheduler_job_running", 3, "jobs that run"),
    ("SCAN scheduler_job USING INDEX scheduler_job_retrying", 1, "depths, of all jobs"),
];

/// The lists of columns in statements, and one column in place of each: a plan is the same.
const LISTS: [(&str, &str); 15] = [
    ("limit", "task"),
    ("limit_values", "?1"),
    ("action", "verb"),
    ("action_values", "?2"),
    ("job", "id, payload"),
    ("job_values", "?2, ?3"),
    ("job_changes", "lost = ?2"),
    ("job_repair", "lost = ?2"),
    ("job_all", "lost = ?2"),
    ("schedule", "name"),
    ("session", "id, label, build, opened_at, application, tasks, concurrency"),
    ("schedule_values", "?2"),
    ("new_job", "id"),
    ("new_job_of_it", "id"),
    ("new_job_replaced", "payload = excluded.payload"),
];

#[test]
fn each_statement_reads_a_range_of_an_index() {
    let folder = Folder::new();
    drop(Sqlite::open(folder.file()).unwrap());
    let db = Connection::open(folder.file()).unwrap();
    let statements = statements();
    assert!(statements.len() > 65, "only {} statements were found", statements.len());
    for statistics in ["", "ANALYZE"] {
        db.execute_batch(statistics).unwrap();
        let mut ranges = BTreeMap::<String, Vec<&String>>::new();
        for sql in &statements {
            let is_large = |step: &String| LARGE.iter().any(|table| step.contains(table));
            for step in plan(&db, sql).into_iter().filter(is_large) {
                if !step.contains("=?") {
                    ranges.entry(step).or_default().push(sql);
                }
            }
        }
        for (step, count, reason) in RANGES {
            let found = ranges.remove(step).unwrap_or_default();
            assert_eq!(found.len(), count, "{step} ({reason}): {found:#?}");
        }
        assert!(ranges.is_empty(), "{ranges:#?}");
    }
}

fn plan(db: &Connection, sql: &str) -> Vec<String> {
    let mut explain = db
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    let mut rows = explain.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

/// The statements of the sources: each text that begins with a verb of SQL.
fn statements() -> BTreeSet<String> {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let mut found = Found::default();
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        found.collect(&fs::read_to_string(&path).unwrap().parse().unwrap());
    }
    let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "];
    let Found { mut texts, macros } = found;
    // A migration writes its version.
    texts.retain(|text| {
        verbs.iter().any(|verb| text.starts_with(verb)) && !text.contains("{version}")
    });
    let expanded = texts.into_iter().map(|text| {
        macros.iter().fold(text, |text, (name, body)| text.replace(&format!("{{{name}}}"), body))
    });
    let listed = expanded.map(|text| {
        LISTS.iter().fold(text, |text, (list, column)| text.replace(&format!("{{{list}}}"), column))
    });
    listed.map(|text| text.replace("OWN_VERSION", "1")).collect()
}

/// The texts of the sources, and those of macros that stand for a text.
#[derive(Default)]
struct Found {
    texts: Vec<String>,
    macros: BTreeMap<String, String>,
}

impl Found {
    /// Collects the texts of a source, without those of its unit tests. The pieces of a `concat!` are one text.
    fn collect(&mut self, tokens: &TokenStream) {
        let mut words = Vec::new();
        for token in tokens.clone() {
            match &token {
                TokenTree::Group(group) => {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    match &*words {
                        [.., "mod", "tests"] => {}
                        [.., "concat" | "sql", "!"] => self.texts.push(joined(group.stream())),
                        [.., "macro_rules", "!", name] => {
                            let groups = group.stream().into_iter();
                            let groups =
                                groups.filter(|token| matches!(token, TokenTree::Group(_)));
                            // Its parameters, and its body.
                            self.macros
                                .insert((*name).to_owned(), joined(groups.skip(1).collect()));
                        }
                        _ => self.collect(&group.stream()),
                    }
                }
                TokenTree::Literal(literal) => self.texts.extend(text_of(literal)),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
            words.push(token.to_string());
        }
    }
}

/// The text that pieces make. A macro stands as its name in braces, a parameter of one as a column.
fn joined(pieces: TokenStream) -> String {
    let mut text = String::new();
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        match piece {
            TokenTree::Literal(literal) => text += &text_of(&literal).unwrap_or_default(),
            TokenTree::Group(group) => text += &joined(group.stream()),
            TokenTree::Punct(sign) if sign.as_char() == '$' => {
                pieces.next();
                text += "id";
            }
            TokenTree::Ident(name) if name != "concat" => {
                text += &format!("{{{name}}}");
                // Its `!` and its arguments.
                pieces.next();
                pieces.next();
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
    text
}

fn text_of(literal: &Literal) -> Option<String> {
    syn::parse_str::<syn::LitStr>(&literal.to_string()).ok().map(|text| text.value())
}

/// Beside 60,000 jobs of a higher priority that are due in a month, no request reads more than it is about.
#[cfg(target_os = "linux")]
#[test]
fn requests_do_not_read_the_jobs_of_others() {
    const READ_MAX: u64 = 1 << 20;
    let test = TestSqlite::fresh();
    let store = test.store();
    mountain(&test, 60_000);
    let session = open(store, 1);
    store.enqueue(&jobs(0..20, "other")).unwrap();
    let whole = bytes_read(|| drop(store.depths().unwrap()));
    assert!(whole > 3 * READ_MAX, "the look at all jobs reads only {whole} bytes");

    let reap = Reap {
        found_by: "finder".to_owned(),
        dead: vec![],
        max_lost: 5,
        spread: Duration::ZERO,
        draw: 1,
        not_after: END,
    };
    let bounded = |name: &str, read: u64| assert!(read < READ_MAX, "{name} reads {read} bytes");
    bounded("reap", bytes_read(|| drop(store.reap(&reap).unwrap())));
    bounded("poll", bytes_read(|| drop(store.poll(&poll_of(session, "other", 10)).unwrap())));
    let text = || Some("other".to_owned());
    for filter in [
        JobFilter { state: Some(JobState::Parked), ..JobFilter::default() },
        JobFilter { state: Some(JobState::Running), ..JobFilter::default() },
        JobFilter { state: Some(JobState::Done), ..JobFilter::default() },
        JobFilter { state: Some(JobState::Ready), has_error: true, ..JobFilter::default() },
        JobFilter { task: text(), ..JobFilter::default() },
        JobFilter { partition: text(), ..JobFilter::default() },
        JobFilter { key: text(), ..JobFilter::default() },
        JobFilter { schedule: text(), ..JobFilter::default() },
    ] {
        let list = bytes_read(|| drop(store.jobs(&filter, 1_000).unwrap()));
        bounded(&format!("a list of {filter:?}"), list);
        for action in [JobAction::Cancel, JobAction::Retry, JobAction::Delete] {
            let request = CommandAll {
                action,
                filter: filter.clone(),
                limit: 1_000,
                signature: None,
                not_after: END,
            };
            let all = bytes_read(|| assert!(store.command_all(&request).is_ok()));
            bounded(&format!("{action:?} of {filter:?}"), all);
        }
    }
}

/// Copies one job that is due in a month.
fn mountain(test: &TestSqlite, count: u32) {
    let mut request = jobs(1_000..1_001, "mountain");
    request.jobs[0].priority = Priority::Urgent;
    request.jobs[0].when = When::After(Duration::from_secs(30 * 86_400));
    test.store().enqueue(&request).unwrap();
    let db = Connection::open(test.folder.file()).unwrap();
    let mut columns = db.prepare("SELECT name FROM pragma_table_info('scheduler_job')").unwrap();
    let names: Vec<String> =
        columns.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let names: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !["seq", "id"].contains(name)).collect();
    let names = names.join(", ");
    db.execute_batch(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         INSERT INTO scheduler_job (id, {names}) SELECT randomblob(16), {names} FROM n, scheduler_job"
    ))
    .unwrap();
}

/// The bytes that this thread reads from files and the page cache of the system.
#[cfg(target_os = "linux")]
fn bytes_read(request: impl FnOnce()) -> u64 {
    let so_far = || {
        let text = fs::read_to_string("/proc/thread-self/io").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
        line.parse::<u64>().unwrap()
    };
    let before = so_far();
    request();
    so_far() - before
}
