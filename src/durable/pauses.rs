//! Pauses of kinds of jobs and of queues, and those that are known.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use scheduler_core::Tick;
use scheduler_store::{
    Command, JobPause, Known, Pause as StoredPause, PauseScope, SessionId, Signature, StoreTime,
    StoredSchedule,
};

use crate::base::sync::Mutex;
use crate::durable::error::JobsError;
use crate::durable::jobs::{Jobs, KnownTask};
use crate::run::Pause;

/// A pause as the store keeps it, from an instant on.
pub(super) fn stored(pause: &Pause, since: StoreTime) -> StoredPause {
    let (by, reason) = (pause.by.as_deref(), pause.reason.as_deref());
    let until = pause.until.map(StoreTime::from);
    StoredPause::new(since, until, by.unwrap_or_default(), reason.unwrap_or_default())
}

/// Pauses of kinds of jobs and of queues, for all processes and after restarts.
///
/// While a kind or a queue is paused, jobs are still accepted, and wait. Runs in progress go on. No process claims a job of it
/// once the call has returned, unless a claim was under way for longer than a second; what a process has claimed ahead goes back as
/// soon as it hears of the pause.
impl Jobs {
    /// Pauses a kind of job: its jobs wait until it is resumed, or until an instant. One that is paused gets the new reason and
    /// end.
    ///
    /// A task of this process is paused under its former names, too.
    ///
    /// ```rust,standalone_crate
    /// use scheduler::store::Model;
    /// use scheduler::{Pause, Scheduler, job};
    ///
    /// #[job(name = "welcome")]
    /// fn welcome(#[payload] name: String) {
    ///     println!("hello, {name}");
    /// }
    ///
    /// let scheduler = Scheduler::builder().store(Model::new()).spawn()?;
    /// let jobs = scheduler.jobs()?;
    /// jobs.pause_task("welcome", &Pause::new().by("ada").reason("the mail server is down"))?;
    /// jobs.enqueue(welcome::job("Ada".to_owned()))?;
    /// assert_eq!(jobs.pauses()?[0].pause.by, "ada");
    /// jobs.resume_task("welcome")?;
    /// scheduler.shutdown()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The name cannot be stored, or the store did not answer.
    pub fn pause_task(&self, task: &str, pause: &Pause) -> Result<(), JobsError> {
        let signature = self.signature_or(pause.by.as_deref());
        let pause = self.ending(pause)?;
        self.each_name(task, signature.as_ref(), |name, by| {
            self.pause_jobs(by, &PauseScope::Task(name), &pause)
        })
    }

    /// Ends the pause of a kind of job. Jobs that waited are due. Does nothing if it is not paused.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn resume_task(&self, task: &str) -> Result<(), JobsError> {
        self.each_name(task, self.signature().as_ref(), |name, by| {
            self.resume_jobs(by, &PauseScope::Task(name))
        })
    }

    /// Pauses a queue, as [`pause_task`](Self::pause_task) does a kind of job.
    ///
    /// # Errors
    ///
    /// As [`pause_task`](Self::pause_task).
    pub fn pause_queue(&self, queue: &str, pause: &Pause) -> Result<(), JobsError> {
        let signature = self.signature_or(pause.by.as_deref());
        let scope = PauseScope::Queue(queue.to_owned());
        self.pause_jobs(signature.as_ref(), &scope, &self.ending(pause)?)
    }

    /// Ends the pause of a queue. Jobs that waited are due. Does nothing if it is not paused.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn resume_queue(&self, queue: &str) -> Result<(), JobsError> {
        let signature = self.signature();
        self.resume_jobs(signature.as_ref(), &PauseScope::Queue(queue.to_owned()))
    }

    /// Pauses one [partition](crate::store::NewJob::partition) of a kind of job, as [`pause_task`](Self::pause_task) does all of them.
    ///
    /// # Errors
    ///
    /// As [`pause_task`](Self::pause_task).
    pub fn pause_partition(
        &self,
        task: &str,
        partition: &str,
        pause: &Pause,
    ) -> Result<(), JobsError> {
        let signature = self.signature_or(pause.by.as_deref());
        let pause = self.ending(pause)?;
        self.each_name(task, signature.as_ref(), |name, by| {
            self.pause_jobs(by, &PauseScope::Partition(name, partition.to_owned()), &pause)
        })
    }

    /// Ends the pause of a partition. Jobs that waited are due. Does nothing if it is not paused.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn resume_partition(&self, task: &str, partition: &str) -> Result<(), JobsError> {
        self.each_name(task, self.signature().as_ref(), |name, by| {
            self.resume_jobs(by, &PauseScope::Partition(name, partition.to_owned()))
        })
    }

    /// Pauses a process by its [session](Self::sessions): from its next poll on it takes no jobs and fires no ticks, which other
    /// processes do. It gives back the jobs that it has claimed and not begun, and its runs go on. A session of the process that replaces
    /// this one is paused, too; a process that starts again is not.
    ///
    /// # Errors
    ///
    /// There is no such session, or the store did not answer.
    pub fn pause_node(&self, session: SessionId, pause: &Pause) -> Result<(), JobsError> {
        let pause = self.ending(pause)?;
        let StoredPause { by, reason, until, .. } = stored(&pause, StoreTime::MIN);
        let signature = self.signature_or(pause.by.as_deref());
        self.command_by(signature.as_ref(), &Command::PauseNode { session, until, by, reason })?;
        self.inner.client.wake_node();
        Ok(())
    }

    /// Ends the pause of a process. Does nothing if it is not paused.
    ///
    /// # Errors
    ///
    /// As [`pause_node`](Self::pause_node).
    pub fn resume_node(&self, session: SessionId) -> Result<(), JobsError> {
        self.changed(&Command::ResumeNode { session })
    }

    /// The kinds of jobs, the queues and the partitions that are paused now.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn pauses(&self) -> Result<Vec<JobPause>, JobsError> {
        let question = self.inner.pauses.ask(Paused::Kinds);
        let pauses = self.inner.client.call(|store| store.pauses())?;
        let kinds = pauses.iter().filter_map(|paused| match &paused.scope {
            PauseScope::Task(name) => Some((name.clone(), paused.pause.clone())),
            PauseScope::Queue(_) | PauseScope::Partition(..) => None,
        });
        self.inner.pauses.answer(Paused::Kinds, question, kinds);
        self.report_pauses();
        Ok(pauses)
    }

    /// Returns true if a kind of job is paused by itself, and not only a queue of it.
    pub(crate) fn is_task_paused(&self, task: &str) -> Result<bool, JobsError> {
        let former = self.former_names(task).unwrap_or_default();
        let is_of = |scope: &PauseScope| match scope {
            PauseScope::Task(name) => name == task || former.contains(&&**name),
            PauseScope::Queue(_) | PauseScope::Partition(..) => false,
        };
        Ok(self.pauses()?.iter().any(|paused| is_of(&paused.scope)))
    }

    /// A pause with its end. A length counts by the clock of the store, because the clock of this process may be off.
    pub(super) fn ending(&self, pause: &Pause) -> Result<Pause, JobsError> {
        if pause.length.is_some() {
            self.inner.client.hear_clock()?;
        }
        Ok(pause.beginning_at(self.store_now().utc()))
    }

    /// Does it with a task, and without a signature with its former names.
    fn each_name(
        &self,
        task: &str,
        signature: Option<&Signature>,
        command: impl Fn(String, Option<&Signature>) -> Result<(), JobsError>,
    ) -> Result<(), JobsError> {
        command(task.to_owned(), signature)?;
        let former = self.former_names(task).unwrap_or_default();
        former.iter().try_for_each(|name| command((*name).to_owned(), None))
    }

    fn pause_jobs(
        &self,
        signature: Option<&Signature>,
        scope: &PauseScope,
        pause: &Pause,
    ) -> Result<(), JobsError> {
        let StoredPause { by, reason, until, .. } = stored(pause, StoreTime::MIN);
        let command = Command::PauseJobs { scope: scope.clone(), until, by, reason };
        self.command_by(signature, &command)?;
        self.inner.client.wake_node();
        self.has_paused(scope, Some(pause));
        Ok(())
    }

    fn resume_jobs(
        &self,
        signature: Option<&Signature>,
        scope: &PauseScope,
    ) -> Result<(), JobsError> {
        self.command_by(signature, &Command::ResumeJobs { scope: scope.clone() })?;
        self.inner.client.wake_node();
        self.has_paused(scope, None);
        Ok(())
    }

    fn has_paused(&self, scope: &PauseScope, pause: Option<&Pause>) {
        if let PauseScope::Task(name) = scope {
            self.note_pause(Paused::Kinds, name, pause);
        }
    }
}

/// The pauses as this process knows them, for snapshots and events.
impl Jobs {
    /// Has this called when a durable task of this process is paused, gets another pause, or goes on.
    pub(crate) fn on_pause(&self, call: OnPause) {
        self.inner.pauses.on_change(call);
    }

    /// The pause of a durable task of this process that holds now, as far as it is known.
    pub(crate) fn known_pause(&self, task: &str) -> Option<StoredPause> {
        self.pause_of(task, self.inner.tasks.get()?.get(task)?)
    }

    fn pause_of(&self, task: &str, known: &KnownTask) -> Option<StoredPause> {
        let (pauses, now) = (&self.inner.pauses, self.inner.client.store_now());
        let former = known.former().into_iter().flatten().copied();
        let of = if known.former().is_some() { Paused::Kinds } else { Paused::Schedules };
        pauses.find(of, std::iter::once(task).chain(former), now)
    }

    /// Takes note of a pause, or of its end, that the store has made for this process.
    pub(super) fn note_pause(&self, of: Paused, name: &str, pause: Option<&Pause>) {
        let since = self.inner.client.store_now();
        let pause = pause.map(|pause| stored(pause, since));
        self.inner.pauses.change(of, name, pause);
        self.report_pauses();
    }

    /// Takes note of a schedule of this process as it is in the store.
    pub(super) fn note_schedule(&self, schedule: &StoredSchedule) {
        let pause = schedule.pause.clone();
        self.inner.pauses.change(Paused::Schedules, &schedule.definition.name, pause);
        self.report_pauses();
    }

    /// Returns true if a task of this process has a durable schedule.
    pub(super) fn has_schedule(&self, name: &str) -> bool {
        let known = self.inner.tasks.get().and_then(|tasks| tasks.get(name));
        known.is_some_and(|known| known.former().is_none())
    }

    /// Returns true if any task of this process has one.
    pub(super) fn has_schedules(&self) -> bool {
        let tasks = self.inner.tasks.get();
        tasks.into_iter().flat_map(|tasks| tasks.values()).any(|known| known.former().is_none())
    }

    /// Takes note of the kinds of jobs that a poll has named as paused; almost always there is none.
    pub(super) fn heard_paused(&self, named: &[String]) {
        let pauses = &self.inner.pauses;
        if named.is_empty() && pauses.is_empty() {
            return;
        }
        if pauses.is_question(named, &self.own_kinds(), self.inner.client.clock().now()) {
            // Without an answer the next poll asks again.
            drop(self.pauses());
        } else {
            self.report_pauses();
        }
    }

    /// The names of the kinds of jobs of this process, former ones among them.
    fn own_kinds(&self) -> Vec<&str> {
        let tasks = self.inner.tasks.get().into_iter().flatten();
        let names = tasks.filter_map(|(name, known)| {
            Some(std::iter::once(&**name).chain(known.former()?.iter().copied()))
        });
        names.flatten().collect()
    }

    /// Reports the changes since the last call.
    pub(super) fn report_pauses(&self) {
        let tasks = self.inner.tasks.get().into_iter().flatten();
        let paused =
            tasks.filter_map(|(name, known)| Some((Arc::clone(name), self.pause_of(name, known)?)));
        self.inner.pauses.report(paused.collect());
    }
}

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
    fn on_change(&self, call: OnPause) {
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
    fn is_question(&self, named: &[String], own: &[&str], now: Tick) -> bool {
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
