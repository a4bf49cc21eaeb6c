//! Annotations in sources, and tasks in the report of a dry run.

/// The places of the tasks of a report, which are in lines such as `task shop::report (src/jobs.rs:7)`: the file, as the
/// compiler names it, and the line of the annotation.
pub(super) fn tasks(report: &str) -> Vec<(String, u32)> {
    let tasks = report.lines().filter_map(|line| {
        let (_, place) = line.strip_prefix("task ")?.rsplit_once(" (")?;
        let (file, line) = place.strip_suffix(')')?.rsplit_once(':')?;
        Some((file.replace('\\', "/"), line.parse().ok()?))
    });
    tasks.collect()
}

/// The lines of a source with `#[scheduled(…)]` or `#[job…]`; not those that a `cfg` may leave out, nor those of a module of
/// tests, which comes last.
pub(super) fn annotations(source: &str) -> Vec<u32> {
    let mut found = Vec::new();
    // True if a `#[cfg(…)]` is among the attributes of the next item.
    let mut is_conditional = false;
    for (number, line) in (1..).zip(source.lines()) {
        let line = line.trim_start();
        if line.starts_with("#[cfg(") || line.starts_with("#![cfg(") {
            is_conditional = true;
        } else if is_conditional && line.starts_with("mod ") {
            break;
        } else if is_annotation(line) {
            found.push((number, is_conditional));
        } else if line.starts_with("fn ") || line.contains(" fn ") {
            is_conditional = false;
        }
    }
    found
        .into_iter()
        .filter(|(_, is_conditional)| !is_conditional)
        .map(|(number, _)| number)
        .collect()
}

fn is_annotation(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("#[") else { return false };
    let rest = rest.strip_prefix("scheduler::").unwrap_or(rest);
    ["scheduled(", "job(", "job]"].iter().any(|start| rest.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_found_where_they_count() {
        let source = "\
/// #[scheduled(fixed_rate = \"1s\")]
#[scheduled(fixed_rate = \"1s\")]
fn a() {}
    #[scheduler::scheduled(
        cron = \"@daily\",
    )]
    async fn b() {}
#[cfg(feature = \"mail\")]
#[job(name = \"mail\")]
fn c() {}
#[job]
fn d() {}
// #[job]
#[scheduled_by(x)]
fn e() {}
#[cfg(test)]
mod tests {
    #[scheduled(fixed_rate = \"1s\")]
    fn f() {}
}
";
        assert_eq!(annotations(source), [2, 4, 11]);
        assert_eq!(annotations("#![cfg(unix)]\n#[job]\nfn a() {}"), [0; 0]);
    }

    #[test]
    fn tasks_of_a_report_have_their_places() {
        let report =
            "settings\n  x  1\n\ntask shop (old)::tick (src/a b.rs:7)\n  cron  0 (x:9)\ntask odd\n";
        assert_eq!(tasks(report), [("src/a b.rs".to_owned(), 7)]);
    }
}
