//! Which task is meant by a name.
//!
//! A task is called by its full name, `shop::jobs::report`, or by a tail of its path that belongs
//! to no other task: `report`, `jobs::report`. A full name wins over a tail, and an exact spelling
//! over one that differs in `-` and `_`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use scheduler_expr::nearest;

use super::fault::either;
use super::fault::word;
use super::key::fold;

/// Between the parts of a path.
const SEPARATOR: &str = "::";

/// Of many names, how many are shown.
const SHOWN_MAX: usize = 5;

/// Why no task is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// No task has the name; perhaps the other was meant.
    Unknown { name: String, nearest: Option<String> },
    /// Several tasks have it.
    Ambiguous { name: String, meant: Vec<String> },
}

/// All tasks, by everything they may be called.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    tasks: &'a [&'a str],
    /// What each kind of call finds, the kind that wins first.
    calls: [BTreeMap<Cow<'a, str>, Vec<usize>>; 4],
}

impl<'a> Names<'a> {
    /// Takes the full names of all tasks.
    pub(crate) fn new(tasks: &'a [&'a str]) -> Self {
        let mut calls = [const { BTreeMap::new() }; 4];
        for (index, task) in tasks.iter().enumerate() {
            for tail in tails(task) {
                let kind = usize::from(tail != *task);
                let add = |calls: &mut BTreeMap<Cow<'a, str>, Vec<usize>>, name| {
                    calls.entry(name).or_default().push(index);
                };
                add(&mut calls[kind], Cow::Borrowed(tail));
                add(&mut calls[kind + 2], Cow::Owned(fold(tail)));
            }
        }
        Self { tasks, calls }
    }

    /// The full name of the task at a position.
    pub(super) fn full(&self, index: usize) -> &'a str {
        self.tasks[index]
    }

    /// The full names of all tasks.
    pub(super) fn all(&self) -> &'a [&'a str] {
        self.tasks
    }

    /// The positions of all tasks that `name` may mean.
    pub(super) fn meant(&self, name: &str) -> &[usize] {
        let folded = fold(name);
        let names = [name, name, &folded, &folded];
        let mut found = self.calls.iter().zip(names).filter_map(|(calls, name)| calls.get(name));
        found.next().map_or(&[], Vec::as_slice)
    }

    /// The position of the task that is called `name`.
    pub(crate) fn find(&self, name: &str) -> Result<usize, NotFound> {
        match self.meant(name) {
            [only] => Ok(*only),
            [] => {
                let nearest = suggestion(name, self.tasks);
                Err(NotFound::Unknown { name: name.to_owned(), nearest })
            }
            several => {
                let meant = several.iter().map(|index| self.tasks[*index].to_owned()).collect();
                Err(NotFound::Ambiguous { name: name.to_owned(), meant })
            }
        }
    }

    /// The shortest tail that means this task and no other.
    pub(crate) fn shortest(&self, index: usize) -> &'a str {
        let mut tails: Vec<&str> = tails(self.tasks[index]).collect();
        tails.reverse();
        let is_certain = |tail: &&str| self.meant(tail) == [index];
        tails.into_iter().find(is_certain).unwrap_or(self.tasks[index])
    }
}

/// The tails of a path, from the path itself down to its last part.
pub(super) fn tails(task: &str) -> impl Iterator<Item = &str> {
    let starts = task.match_indices(SEPARATOR).map(|(at, separator)| at + separator.len());
    std::iter::once(task).chain(starts.map(|start| &task[start..]))
}

/// The name that was probably meant, with as many parts as were written.
fn suggestion(name: &str, tasks: &[&str]) -> Option<String> {
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
            Self::Ambiguous { name, meant } => {
                let mut words: Vec<String> =
                    meant.iter().take(SHOWN_MAX).map(|task| word(task)).collect();
                if meant.len() > SHOWN_MAX {
                    words.push(format!("{} others", meant.len() - SHOWN_MAX));
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
        assert_eq!(Names::new(&TASKS).find(name).map(|index| TASKS[index]), Ok(expected));
    }

    #[track_caller]
    fn check_fault(name: &str, expected: &str) {
        assert_eq!(Names::new(&TASKS).find(name).unwrap_err().to_string(), expected);
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
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let text = Names::new(&many).find("t").unwrap_err().to_string();
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
        let names = Names::new(&["a-b", "a_b", "x::c_d", "c-d"]);
        assert_eq!((names.find("a-b"), names.find("a_b")), (Ok(0), Ok(1)));
        assert_eq!((names.find("c_d"), names.find("c-d")), (Ok(2), Ok(3)));
    }

    #[test]
    fn the_shortest_certain_tail_is_found() {
        let names = Names::new(&TASKS);
        let check_shortest = |task, expected| {
            let index = names.find(task).expect("a task");
            assert_eq!(names.shortest(index), expected);
        };
        check_shortest("shop::jobs::report", "jobs::report");
        check_shortest("shop::jobs::daily_report", "daily_report");
        check_shortest("shop::purge", "shop::purge");
    }
}
