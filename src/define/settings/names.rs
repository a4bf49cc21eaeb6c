//! Finds tasks by their names.
//!
//! A task is called by its full name, `shop::jobs::report`, or by a tail of its path that belongs
//! to no other task: `report`, `jobs::report`. A full name wins over a tail, and an exact spelling
//! over one that differs in `-` and `_`.
//!
//! The index is one ordered map, by the names read from their ends: all names with the same tail
//! stand beside each other. It serves the settings at the start and the running scheduler.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use scheduler_expr::nearest;

use super::{SEPARATOR, Variables, either, fold, tails, word};

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
    by_end: BTreeMap<FromEnd, usize>,
    /// The tasks that the variables name.
    pub(super) variables: Variables,
}

/// A full name, in the order of names that are read from the end, `-` and `_` being the same; names that
/// differ only in these in the order of their spellings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FromEnd(Arc<str>);

/// A name, and its number.
type Named<'a> = (&'a Arc<str>, usize);

impl Names {
    /// No names yet; those that come are compared with the variables.
    pub(super) fn with_variables(variables: Variables) -> Self {
        Self { by_end: BTreeMap::new(), variables }
    }

    /// Adds a name. Returns true if it was new.
    pub(crate) fn insert(&mut self, name: &Arc<str>, number: usize) -> bool {
        let is_new = self.number(name).is_none();
        if is_new {
            self.by_end.insert(FromEnd(Arc::clone(name)), number);
            self.variables.insert(name, number);
        }
        is_new
    }

    pub(crate) fn remove(&mut self, name: &Arc<str>) {
        if let Some(number) = self.by_end.remove(&FromEnd(Arc::clone(name))) {
            self.variables.remove(name, number);
        }
    }

    /// The number of a full name in exactly this spelling.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.by_end.get(&FromEnd(name.into())).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.by_end.len()
    }

    /// The full names of all tasks, in the order of their numbers.
    pub(super) fn in_order(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut names: Vec<(usize, &str)> =
            self.by_end.iter().map(|(name, number)| (*number, &*name.0)).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name)
    }

    /// The tasks that have this name, at most `limit`.
    fn meant(&self, name: &str, limit: usize) -> Vec<Named<'_>> {
        if let Some((found, number)) = self.by_end.get_key_value(&FromEnd(name.into())) {
            return vec![(&found.0, *number)];
        }
        let tail = format!("{SEPARATOR}{name}");
        let exact: Vec<Named<'_>> =
            self.ending(&tail).filter(|(full, _)| full.ends_with(&tail)).take(limit).collect();
        if !exact.is_empty() {
            return exact;
        }
        let is_whole = |(full, _): &Named<'_>| full.len() == name.len();
        let whole: Vec<Named<'_>> = self.ending(name).take_while(is_whole).take(limit).collect();
        if !whole.is_empty() {
            return whole;
        }
        self.ending(&tail).take(limit).collect()
    }

    /// All names that end so, with `-` and `_` the same; the shortest first.
    fn ending<'a>(&'a self, end: &str) -> impl Iterator<Item = Named<'a>> + use<'a> {
        // Of all spellings this is the first.
        let first = FromEnd(end.replace('_', "-").into());
        let end = fold(end);
        let has_end = move |name: &str| {
            let own = name.len().checked_sub(end.len()).and_then(|at| name.get(at..));
            own.is_some_and(|own| fold(own) == end)
        };
        let names = self.by_end.range(first..).map(|(name, number)| (&name.0, *number));
        names.take_while(move |(name, _)| has_end(name))
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

impl Ord for FromEnd {
    fn cmp(&self, other: &Self) -> Ordering {
        let folded = |byte: u8| if byte == b'-' { b'_' } else { byte };
        let (one, two) = (self.0.bytes().rev().map(folded), other.0.bytes().rev().map(folded));
        one.cmp(two).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for FromEnd {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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

    /// What the index does, by looks at all names.
    fn meant_by_looking(tasks: &[&str], name: &str) -> Vec<usize> {
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
    fn the_index_finds_what_a_look_at_all_names_finds() {
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
                assert_eq!(found, meant_by_looking(&tasks, &name), "{name} in {tasks:?}");
                asked += usize::from(!found.is_empty());
            }
        }
        assert!(asked > 1_000, "{asked}");
    }
}
