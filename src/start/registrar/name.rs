//! Checks that the names of tasks are unique and readable.

use std::fmt::Write;

use scheduler_expr::check_name;

use super::Definition;
use crate::define::settings::word;

/// One fault for each name that is empty, hard to read, or that several tasks have.
pub(crate) fn faults(definitions: &[Definition]) -> Vec<String> {
    let mut sorted: Vec<&Definition> = definitions.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    let by_name = || sorted.chunk_by(|one, other| one.name == other.name);
    let unreadable = by_name().filter_map(|tasks| unreadable(&tasks[0].name, tasks[0]));
    let doubled = by_name().filter(|tasks| tasks.len() > 1);
    unreadable.chain(doubled.map(|tasks| describe(&tasks[0].name, tasks))).collect()
}

/// The macro checks the names of annotations by the same rules.
fn unreadable(name: &str, task: &Definition) -> Option<String> {
    let error = check_name(name).err()?;
    let (location, shown) = (task.location, word(name));
    Some(format!(
        "{location}: the name {shown} of a task {error}\n\
         help: names are keys of settings and stand in messages; write for example `nightly-report`"
    ))
}

fn describe(name: &str, tasks: &[&Definition]) -> String {
    let mut text = format!("{} tasks are named {}", tasks.len(), word(name));
    for task in tasks {
        let what = task.function.as_deref().unwrap_or("a closure");
        let _ = write!(text, "\n  {what} ({})", task.location);
    }
    let _ = write!(text, "\nhelp: give one another name: {}", remedy(name, tasks));
    text
}

/// Where the name of one of the tasks can be changed: in code, or in an annotation.
fn remedy(name: &str, tasks: &[&Definition]) -> String {
    const ANNOTATION: &str = "#[scheduled(name = \"…\", …)]";
    let other = Some(format!("{name}-2")).filter(|other| check_name(other).is_ok());
    let in_code = format!(".task({:?}, …)", other.as_deref().unwrap_or("…"));
    match tasks.iter().filter(|task| task.function.is_none()).count() {
        0 => ANNOTATION.to_owned(),
        count if count == tasks.len() => in_code,
        _ => format!("{in_code} or {ANNOTATION}"),
    }
}
