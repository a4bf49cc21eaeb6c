//! The pauses in the store, as this process knows them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use scheduler_core::Tick;
use scheduler_store::{Known, Pause as StoredPause, StoreTime};

use crate::base::sync::Mutex;

/// The least time between two questions for pauses that hold: their reasons and ends change.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Is called when a task of this process was paused or got another pause, and with none when it goes on.
pub(crate) type OnPause = Arc<dyn Fn(&str, Option<&StoredPause>) + Send + Sync>;

/// The pauses of kinds of jobs and of schedules, from the last answer of the store about each, and from what this process has
/// done since.
#[derive(Default)]
pub(super) struct KnownPauses {
    state: Mutex<State>,
    on_change: OnceLock<OnPause>,
}

/// The two things that stores pause apart.
#[derive(Clone, Copy)]
pub(super) enum Paused {
    Kinds,
    Schedules,
}

#[derive(Default)]
struct State {
    kinds: Known<ByName>,
    schedules: Known<ByName>,
    /// When the node has asked last.
    asked_at: Option<Tick>,
    /// The tasks of this process that are paused, as listeners know them.
    tasks: BTreeMap<Arc<str>, StoredPause>,
    news: VecDeque<(Arc<str>, Option<StoredPause>)>,
    /// True while a thread tells the news, which keeps their order.
    is_telling: bool,
}

/// The pauses of kinds by the task's name, or of schedules by the schedule's.
type ByName = BTreeMap<String, StoredPause>;

impl KnownPauses {
    /// Has this called with changes. Only the first call counts.
    pub(super) fn on_change(&self, call: OnPause) {
        drop(self.on_change.set(call));
    }

    /// To be called before the store is asked: the number of the question.
    pub(super) fn ask(&self, of: Paused) -> u64 {
        self.state.lock().known(of).ask()
    }

    /// Takes an answer, unless a later one has come, or this process has changed a pause meanwhile.
    pub(super) fn answer(
        &self,
        of: Paused,
        question: u64,
        by_name: impl IntoIterator<Item = (String, StoredPause)>,
    ) {
        let by_name = by_name.into_iter().collect();
        if let Some(known) = self.state.lock().known(of).answer(question) {
            *known = by_name;
        }
    }

    /// Takes note of a change that the store has made for this process. One that is paused keeps its beginning.
    pub(super) fn change(&self, of: Paused, name: &str, pause: Option<StoredPause>) {
        let mut state = self.state.lock();
        let known = state.known(of).change();
        let former = known.remove(name);
        if let Some(mut pause) = pause {
            let held = former.filter(|former| former.holds(pause.since));
            pause.since = held.map_or(pause.since, |former| former.since);
            known.insert(name.to_owned(), pause);
        }
    }

    /// The pause that holds now of the first of these names that has one.
    pub(super) fn find<'a>(
        &self,
        of: Paused,
        mut names: impl Iterator<Item = &'a str>,
        now: StoreTime,
    ) -> Option<StoredPause> {
        let mut state = self.state.lock();
        let known = state.known(of).get();
        names.find_map(|name| known.get(name).filter(|pause| pause.holds(now)).cloned())
    }

    /// Returns true if nothing is paused, and no listener thinks so.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.state.lock();
        let known = [&state.kinds, &state.schedules];
        known.iter().all(|known| known.get().is_empty()) && state.tasks.is_empty()
    }

    /// Returns true if the store has to be asked for the pauses of kinds. A poll has named these: they are others than before,
    /// or their reasons and ends may be.
    pub(super) fn is_question(&self, named: &[String], own: &[&str], now: Tick) -> bool {
        let mut state = self.state.lock();
        let is_due = state.asked_at.is_none_or(|at| now.since(at) >= LOOK_EVERY);
        let is_named = |own: &str| named.iter().any(|name| name == own);
        let is_as_named = |own: &&str| is_named(own) == state.kinds.get().contains_key(*own);
        let is_question =
            !own.iter().all(is_as_named) || is_due && own.iter().any(|own| is_named(own));
        if is_question {
            state.asked_at = Some(now);
        }
        is_question
    }

    /// Compares the tasks that are paused with those of the last time, and reports the changes.
    pub(super) fn report(&self, tasks: BTreeMap<Arc<str>, StoredPause>) {
        let mut state = self.state.lock();
        let former = std::mem::replace(&mut state.tasks, tasks);
        let State { tasks, news, .. } = &mut *state;
        let over = former.keys().filter(|name| !tasks.contains_key(*name));
        news.extend(over.map(|name| (Arc::clone(name), None)));
        // A kind with former names is resumed name by name.
        let said = |pause: &StoredPause| (pause.until, pause.by.clone(), pause.reason.clone());
        let is_same = |name: &Arc<str>, pause: &StoredPause| {
            former.get(name).is_some_and(|former| said(former) == said(pause))
        };
        let new = tasks.iter().filter(|(name, pause)| !is_same(name, pause));
        news.extend(new.map(|(name, pause)| (Arc::clone(name), Some(pause.clone()))));
        drop(state);
        self.tell();
    }

    /// Tells the news one by one, with no lock held.
    fn tell(&self) {
        let Some(on_change) = self.on_change.get() else { return self.state.lock().news.clear() };
        let next = |was_telling: bool| {
            let mut state = self.state.lock();
            if state.is_telling && !was_telling {
                return None;
            }
            let next = state.news.pop_front();
            state.is_telling = next.is_some();
            next
        };
        let mut news = next(false);
        while let Some((task, pause)) = news {
            on_change(&task, pause.as_ref());
            news = next(true);
        }
    }
}

impl State {
    fn known(&mut self, of: Paused) -> &mut Known<ByName> {
        match of {
            Paused::Kinds => &mut self.kinds,
            Paused::Schedules => &mut self.schedules,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;

    fn at(second: i64) -> StoreTime {
        StoreTime::from_micros(second * 1_000_000)
    }

    fn by(who: &str) -> StoredPause {
        StoredPause::new(at(7), None, who, "")
    }

    fn answer(who: &str) -> Vec<(String, StoredPause)> {
        vec![("mail".to_owned(), by(who))]
    }

    fn found(pauses: &KnownPauses) -> Option<String> {
        let pause = pauses.find(Paused::Kinds, ["letter", "mail"].into_iter(), at(100));
        pause.map(|pause| pause.by)
    }

    #[test]
    fn an_answer_counts_unless_something_newer_is_known() {
        let pauses = KnownPauses::default();
        let early = pauses.ask(Paused::Kinds);
        pauses.change(Paused::Kinds, "mail", Some(by("ada")));
        pauses.answer(Paused::Kinds, early, []);
        assert_eq!(found(&pauses).as_deref(), Some("ada"), "it was asked before the pause");
        let of_schedules = pauses.ask(Paused::Schedules);
        pauses.answer(Paused::Schedules, of_schedules, []);
        assert_eq!(found(&pauses).as_deref(), Some("ada"), "it is about schedules");
        let (first, second) = (pauses.ask(Paused::Kinds), pauses.ask(Paused::Kinds));
        pauses.answer(Paused::Kinds, second, answer("bob"));
        pauses.answer(Paused::Kinds, first, []);
        assert_eq!(found(&pauses).as_deref(), Some("bob"), "it was asked before the other");
        let last = pauses.ask(Paused::Kinds);
        pauses.answer(Paused::Kinds, last, []);
        assert_eq!(found(&pauses), None);
    }

    #[test]
    fn a_pause_keeps_its_beginning_while_it_holds_and_is_over_at_its_end() {
        let pauses = KnownPauses::default();
        let until = |who: &str, since: i64, until: i64| {
            StoredPause::new(at(since), Some(at(until)), who, "")
        };
        let find =
            |second: i64| pauses.find(Paused::Schedules, std::iter::once("report"), at(second));
        let since = |second: i64| find(second).map(|pause| pause.since);
        pauses.change(Paused::Schedules, "report", Some(until("ada", 10, 20)));
        pauses.change(Paused::Schedules, "report", Some(until("bob", 15, 30)));
        assert_eq!((since(29), since(30)), (Some(at(10)), None));
        pauses.change(Paused::Schedules, "report", Some(until("eve", 40, 50)));
        assert_eq!(since(45), Some(at(40)));
        pauses.change(Paused::Schedules, "report", None);
        assert_eq!(since(45), None);
    }

    /// A listener may pause and resume tasks itself.
    #[test]
    fn changes_are_told_once_and_in_their_order() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let pauses = Arc::new_cyclic(|own: &Weak<KnownPauses>| {
            let (pauses, own) = (KnownPauses::default(), Weak::clone(own));
            pauses.on_change(Arc::new(move |task, pause| {
                let by = pause.map(|pause| pause.by.clone()).unwrap_or_default();
                let is_first = {
                    let mut heard = heard.lock();
                    heard.push(format!("{task} {by}"));
                    heard.len() == 1
                };
                if is_first {
                    own.upgrade().expect("it is there").report(BTreeMap::new());
                    assert_eq!(heard.lock().len(), 1, "not before the end");
                }
            }));
            pauses
        });
        let paused = |who: &str| BTreeMap::from([(Arc::from("mail"), by(who))]);
        pauses.report(paused("ada"));
        pauses.report(paused("bob"));
        let later = StoredPause::new(at(8), None, "bob", "");
        pauses.report(BTreeMap::from([(Arc::from("mail"), later)]));
        let told = told.lock();
        assert_eq!(*told, ["mail ada", "mail ", "mail bob"]);
    }

    #[test]
    fn a_store_is_asked_when_others_are_named_and_each_second_while_any_is() {
        let pauses = KnownPauses::default();
        let now = |millis: u64| Tick::from_nanos(millis * 1_000_000);
        let (own, mail) = (["mail", "letter"], ["mail".to_owned()]);
        assert!(!pauses.is_question(&[], &own, now(5_000)));
        assert!(!pauses.is_question(&["other".to_owned()], &own, now(5_000)));
        assert!(pauses.is_question(&mail, &own, now(5_100)));
        let question = pauses.ask(Paused::Kinds);
        pauses.answer(Paused::Kinds, question, answer("ada"));
        assert!(!pauses.is_question(&mail, &own, now(6_000)));
        assert!(pauses.is_question(&mail, &own, now(6_100)), "the reason may be another");
        assert!(pauses.is_question(&[], &own, now(6_200)), "it is resumed");
    }
}
