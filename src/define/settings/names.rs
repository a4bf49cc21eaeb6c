//! Finds tasks by their names.
//!
//! A task is called by its full name, `shop::jobs::report`, or by a tail of its path that belongs
//! to no other task: `report`, `jobs::report`. A full name wins over a tail, and an exact spelling
//! over one that differs in `-` and `_`. It serves the settings at the start and the running scheduler.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use scheduler_expr::nearest;

use super::{SEPARATOR, Variables, either, tails, word};

/// The most names that are shown.
const SHOWN_MAX: usize = 5;

/// The most names among which a similar one is searched, which compares with each.
const COMPARED_MAX: usize = 1_000;

/// Why no task was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// No task has the name; `nearest` is similar.
    Unknown { name: String, nearest: Option<String> },
    /// Several tasks have it.
    Ambiguous { name: String, count: usize, meant: Vec<String> },
}

/// The names of tasks, each with a number that its owner has for it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: BTreeMap<ByEnd, usize>,
    /// The tasks that the variables name.
    pub(super) variables: Variables,
}

/// A name in the order of its characters from the last to the first, `-` and `_` being the same: the names with a common
/// tail stand together.
#[derive(Debug, PartialEq, Eq)]
struct ByEnd(Arc<str>);

/// A name, and its number.
type Named<'a> = (&'a Arc<str>, usize);

impl Names {
    /// No names yet; those that come are compared with the variables.
    pub(super) fn with_variables(variables: Variables) -> Self {
        Self { variables, ..Self::default() }
    }

    /// Adds a name. Returns true if it was new.
    pub(crate) fn insert(&mut self, name: &Arc<str>, number: usize) -> bool {
        let Entry::Vacant(entry) = self.numbers.entry(ByEnd(Arc::clone(name))) else {
            return false;
        };
        entry.insert(number);
        self.variables.insert(name, number);
        true
    }

    pub(crate) fn remove(&mut self, name: &Arc<str>) {
        if let Some(number) = self.numbers.remove(&ByEnd(Arc::clone(name))) {
            self.variables.remove(name, number);
        }
    }

    /// The number of a full name in exactly this spelling.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(&ByEnd(name.into())).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The full names of all tasks, in the order of their numbers.
    pub(super) fn in_order(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut names: Vec<(usize, &str)> =
            self.numbers.iter().map(|(name, number)| (*number, &*name.0)).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name)
    }

    /// The tasks that have this name, at most `limit`.
    fn meant<'a>(&'a self, name: &str, limit: usize) -> Vec<Named<'a>> {
        let tail = format!("{SEPARATOR}{name}");
        let is_exact = |named: &Named<'_>| named.0.ends_with(name);
        // A name comes before those that end with it.
        let full = || self.ending(name).take_while(|(full, _)| full.len() == name.len());
        let tails = || self.ending(&tail);
        let ways: [&dyn Fn() -> Vec<Named<'a>>; 4] = [
            &|| full().filter(is_exact).take(limit).collect(),
            &|| tails().filter(is_exact).take(limit).collect(),
            &|| full().take(limit).collect(),
            &|| tails().take(limit).collect(),
        ];
        ways.iter().map(|way| way()).find(|meant| !meant.is_empty()).unwrap_or_default()
    }

    /// The names that end like this, `-` and `_` being the same.
    fn ending<'a>(&'a self, end: &str) -> impl Iterator<Item = Named<'a>> {
        // The first of all names that differ in `-` and `_` only.
        let first = ByEnd(end.replace('_', "-").into());
        let names = self.numbers.range(first..).map(|(name, number)| (&name.0, *number));
        names.take_while(|(name, _)| {
            name.len() >= end.len()
                && bytes_from_end(name).zip(bytes_from_end(end)).all(|(a, b)| a == b)
        })
    }

    /// Returns true if a task has this name.
    pub(super) fn is_any_meant(&self, name: &str) -> bool {
        !self.meant(name, 1).is_empty()
    }

    /// The task that is called `name`: its full name and its number.
    pub(crate) fn find(&self, name: &str) -> Result<(&Arc<str>, usize), NotFound> {
        if let [only] = self.meant(name, 2)[..] {
            return Ok(only);
        }
        let mut meant = self.meant(name, usize::MAX);
        if meant.is_empty() {
            let nearest = self.suggestion(name);
            return Err(NotFound::Unknown { name: name.to_owned(), nearest });
        }
        meant.sort_unstable_by_key(|(_, number)| *number);
        let shown = meant.iter().take(SHOWN_MAX).map(|(full, _)| full.to_string()).collect();
        Err(NotFound::Ambiguous { name: name.to_owned(), count: meant.len(), meant: shown })
    }

    /// The shortest end of the path that no other task has.
    pub(crate) fn shortest<'a>(&self, task: &'a str) -> &'a str {
        let mut tails: Vec<&str> = tails(task).collect();
        tails.reverse();
        let is_certain = |tail: &&str| {
            let meant = self.meant(tail, 2);
            meant.len() == 1 && &**meant[0].0 == task
        };
        tails.into_iter().find(is_certain).unwrap_or(task)
    }

    /// The names among which a similar one is searched, unless they are too many.
    pub(super) fn compared(&self) -> Option<Vec<&str>> {
        (self.len() <= COMPARED_MAX).then(|| self.in_order().collect())
    }

    /// A similar name, with as many parts as were written.
    fn suggestion(&self, name: &str) -> Option<String> {
        let tasks = self.compared()?;
        let parts = name.matches(SEPARATOR).count() + 1;
        let candidates: Vec<&str> = tasks
            .iter()
            .map(|task| {
                let count = task.matches(SEPARATOR).count() + 1;
                tails(task).nth(count.saturating_sub(parts)).unwrap_or(task)
            })
            .collect();
        let found = nearest(name, candidates.iter().copied())?;
        let mut same = (0..tasks.len()).filter(|index| candidates[*index] == found);
        let first = same.next()?;
        Some(if same.next().is_some() { tasks[first] } else { found }.to_owned())
    }
}

/// Numbers names in their order; the first of two equal names counts.
impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let mut all = Self::default();
        for (number, name) in names.into_iter().enumerate() {
            all.insert(&name.into(), number);
        }
        all
    }
}

impl Ord for ByEnd {
    fn cmp(&self, other: &Self) -> Ordering {
        bytes_from_end(&self.0).cmp(bytes_from_end(&other.0)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for ByEnd {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn bytes_from_end(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().rev().map(|byte| if byte == b'-' { b'_' } else { byte })
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, nearest } => {
                write!(f, "no task named {}", word(name))?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {}?", word(nearest)),
                    None => Ok(()),
                }
            }
            Self::Ambiguous { name, count, meant } => {
                let mut words: Vec<String> = meant.iter().map(|task| word(task)).collect();
                if *count > meant.len() {
                    words.push(format!("{} others", count - meant.len()));
                }
                write!(f, "{} may be {}; write the full name", word(name), either(&words))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::define::settings::key::fold;

    const TASKS: [&str; 6] = [
        "shop::jobs::report",
        "shop::billing::report",
        "shop::jobs::daily_report",
        "purge",
        "shop::purge",
        "sales-report",
    ];

    #[track_caller]
    fn check(name: &str, expected: &str) {
        assert_eq!(Names::from_iter(TASKS).find(name).map(|(full, _)| &**full), Ok(expected));
    }

    #[track_caller]
    fn check_fault(name: &str, expected: &str) {
        assert_eq!(Names::from_iter(TASKS).find(name).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_task_is_called_by_any_tail_of_its_own() {
        check("shop::jobs::report", "shop::jobs::report");
        check("jobs::report", "shop::jobs::report");
        check("billing::report", "shop::billing::report");
        check("daily_report", "shop::jobs::daily_report");
        check("daily-report", "shop::jobs::daily_report");
        check("sales_report", "sales-report");
    }

    #[test]
    fn a_full_name_wins_over_a_tail() {
        check("purge", "purge");
        check("shop::purge", "shop::purge");
    }

    #[test]
    fn a_name_that_means_several_tasks_is_refused_with_all_of_them() {
        check_fault(
            "report",
            "`report` may be `shop::jobs::report` or `shop::billing::report`; write the full name",
        );
        let many: Vec<String> = (0..9).map(|n| format!("m{n}::t")).collect();
        let text =
            Names::from_iter(many.iter().map(String::as_str)).find("t").unwrap_err().to_string();
        assert!(text.contains("`m4::t` or 4 others; write"), "{text}");
    }

    #[test]
    fn an_unknown_name_leads_to_the_one_meant() {
        check_fault("daily-reprot", "no task named `daily-reprot`; did you mean `daily_report`?");
        check_fault("job::report", "no task named `job::report`; did you mean `jobs::report`?");
        check_fault("reprt", "no task named `reprt`; did you mean `shop::jobs::report`?");
        check_fault("weekly", "no task named `weekly`");
        check_fault("", "no task named ``");
        check_fault("a\nb", "no task named `a\\nb`");
        check_fault("eport", "no task named `eport`; did you mean `shop::jobs::report`?");
    }

    #[test]
    fn exact_spelling_wins() {
        let names = Names::from_iter(["a-b", "a_b", "x::c_d", "c-d"]);
        let number = |name| names.find(name).map(|(_, number)| number);
        assert_eq!((number("a-b"), number("a_b")), (Ok(0), Ok(1)));
        assert_eq!((number("c_d"), number("c-d")), (Ok(2), Ok(3)));
    }

    #[test]
    fn the_shortest_certain_tail_is_found() {
        let names = Names::from_iter(TASKS);
        let check_shortest = |task, expected| assert_eq!(names.shortest(task), expected);
        check_shortest("shop::jobs::report", "jobs::report");
        check_shortest("shop::jobs::daily_report", "daily_report");
        check_shortest("shop::purge", "shop::purge");
    }

    #[test]
    fn a_name_that_was_removed_is_not_meant() {
        let mut names = Names::from_iter(TASKS);
        let name = |text: &str| Arc::<str>::from(text);
        assert!(!names.insert(&name("purge"), 7), "it is there");
        names.remove(&name("shop::billing::report"));
        names.remove(&name("purge"));
        let found = |names: &Names, name| names.find(name).map(|(full, _)| full.to_string());
        assert_eq!(found(&names, "report").as_deref(), Ok("shop::jobs::report"));
        assert_eq!(found(&names, "purge").as_deref(), Ok("shop::purge"));
        assert!(names.insert(&name("purge"), 7));
        assert_eq!(names.number("purge"), Some(7));
        assert_eq!(names.number("PURGE"), None);
    }

    /// The tasks that a name means, by the tails of all names.
    fn meant_by_tails(tasks: &[&str], name: &str) -> Vec<usize> {
        let is_tail = |task: &str, name: &str, fold: fn(&str) -> String| {
            tails(task).skip(1).any(|tail| fold(tail) == fold(name))
        };
        let spelled: fn(&str) -> String = str::to_owned;
        let kinds: [&dyn Fn(&str) -> bool; 4] = [
            &|task| task == name,
            &|task| is_tail(task, name, spelled),
            &|task| fold(task) == fold(name),
            &|task| is_tail(task, name, fold),
        ];
        let all = |is_meant: &&dyn Fn(&str) -> bool| {
            (0..tasks.len()).filter(|index| is_meant(tasks[*index])).collect::<Vec<usize>>()
        };
        kinds.iter().map(all).find(|found| !found.is_empty()).unwrap_or_default()
    }

    #[test]
    fn a_name_means_the_tasks_with_that_tail() {
        const PARTS: [&str; 6] = ["a", "b-c", "b_c", "-", "ab", "é_a"];
        let pick = |seed: usize| {
            let parts = (0..1 + seed % 3).map(|at| PARTS[(seed / 3 + at * (seed % 7 + 1)) % 6]);
            parts.collect::<Vec<&str>>().join(SEPARATOR)
        };
        let mut asked = 0;
        for round in 0..200 {
            let mut all: Vec<String> = (0..12).map(|at| pick(round * 31 + at * 17)).collect();
            all.sort_unstable();
            all.dedup();
            let tasks: Vec<&str> = all.iter().map(String::as_str).collect();
            let names = Names::from_iter(tasks.iter().copied());
            for seed in 0..60 {
                let name = pick(seed);
                let mut found: Vec<usize> =
                    names.meant(&name, usize::MAX).iter().map(|(_, number)| *number).collect();
                found.sort_unstable();
                assert_eq!(found, meant_by_tails(&tasks, &name), "{name} in {tasks:?}");
                asked += usize::from(!found.is_empty());
            }
        }
        assert!(asked > 1_000, "{asked}");
    }
}
