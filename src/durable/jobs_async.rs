//! Durable jobs and schedules for async code, and the threads that ask.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use scheduler_core::time::EventCount;
use scheduler_core::{Clock, Tick};
use scheduler_store::{
    Action, ActionFilter, Enqueued, JobFilter, JobId, JobPause, JobWait, LimitDepth,
    PartitionDepth, Payload, QueueDepth, SessionId, SessionInfo, StoreError, StoredJob,
    StoredLimit, StoredSchedule, WaitReason,
};

use crate::base::sync::Mutex;
use crate::define::schedule::Schedule;
use crate::durable::error::{EnqueueError, JobsError};
use crate::durable::job::Job;
use crate::durable::jobs::{Asking, Jobs, sole};
use crate::durable::limits::Limit;
use crate::durable::schedules::Schedules;
use crate::observe::catch;
use crate::run::Pause;

/// Methods for async code, each with the body of its twin, which a helper's thread executes.
macro_rules! twins {
    ($($twin:ident = $name:ident($($arg:ident: $(&$lent:tt)? $($given:ident)?),*) -> $out:ty;)*) => {$(
        #[doc = concat!("[`Self::", stringify!($name), "`], for async code.")]
        ///
        /// # Errors
        ///
        /// As there.
        pub async fn $twin(&self, $($arg: $(&$lent)? $($given)?),*) -> Result<$out, JobsError> {
            $($(let $arg = <$lent>::to_owned($arg);)?)*
            let ask = move |asked: &Self| {
                asked.$name($($(std::borrow::Borrow::<$lent>::borrow(&$arg))? $({
                    let given: $given = $arg;
                    given
                })?),*)
            };
            self.ask_async(ask).await
        }
    )*};
}

/// The same for async code: each asks the store on up to eight threads that all of them share, and needs no runtime.
///
/// A request is sent when its future is first polled, and is not taken back when that is dropped.
impl Jobs {
    /// As [`enqueue`](Self::enqueue).
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Self::enqueue).
    pub async fn enqueue_async(&self, job: Job) -> Result<Enqueued, EnqueueError> {
        Ok(sole(&self.enqueue_all_async(vec![job]).await?))
    }

    /// As [`enqueue_all`](Self::enqueue_all).
    ///
    /// # Errors
    ///
    /// As [`enqueue_all`](Self::enqueue_all).
    pub async fn enqueue_all_async(&self, jobs: Vec<Job>) -> Result<Vec<Enqueued>, EnqueueError> {
        let (jobs, new) = self.checked(jobs)?;
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.inner.client.call_async(move |client| client.enqueue(new)).await;
        self.accepted(jobs, answer.unwrap_or_else(|| Err(unasked())))
    }

    /// As [`wait`](Self::wait), for any number of futures at once.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub async fn wait_async(&self, id: JobId, limit: Duration) -> Result<StoredJob, JobsError> {
        let client = &self.inner.client;
        if client.is_inline() {
            return self.wait(id, limit);
        }
        let mut asking = Asking::new(client, limit);
        loop {
            let jobs = self.clone();
            let answer = client.call_async_at(asking.at(), move |_| jobs.get(id)).await;
            if let Some(end) = asking.end(answer.unwrap_or_else(|| Err(unasked().into()))) {
                return end;
            }
        }
    }

    /// As [`is_up`](Self::is_up).
    pub async fn is_up_async(&self) -> bool {
        self.ask_async(|jobs| Ok(jobs.is_up())).await.unwrap_or(false)
    }

    twins! {
        get_async = get(id: JobId) -> Option<StoredJob>;
        list_async = list(filter: &JobFilter, limit: u32) -> Vec<StoredJob>;
        cancel_async = cancel(id: JobId) -> ();
        retry_async = retry(id: JobId) -> ();
        edit_async = edit(job: &StoredJob, payload: &Payload) -> ();
        delete_async = delete(id: JobId) -> ();
        cancel_all_async = cancel_all(filter: &JobFilter) -> u64;
        retry_all_async = retry_all(filter: &JobFilter) -> u64;
        delete_all_async = delete_all(filter: &JobFilter) -> u64;
        depths_async = depths() -> Vec<QueueDepth>;
        sessions_async = sessions() -> Vec<SessionInfo>;
        pause_task_async = pause_task(task: &str, pause: &Pause) -> ();
        resume_task_async = resume_task(task: &str) -> ();
        pause_queue_async = pause_queue(queue: &str, pause: &Pause) -> ();
        resume_queue_async = resume_queue(queue: &str) -> ();
        pause_node_async = pause_node(session: SessionId, pause: &Pause) -> ();
        resume_node_async = resume_node(session: SessionId) -> ();
        pauses_async = pauses() -> Vec<JobPause>;
        set_limit_async = set_limit(task: &str, limit: Limit) -> ();
        reset_limit_async = reset_limit(task: &str) -> ();
        limits_async = limits() -> Vec<StoredLimit>;
        why_async = why(id: JobId) -> Option<WaitReason>;
        waits_async = waits(jobs: &[JobId]) -> Vec<JobWait>;
        limit_depths_async = limit_depths() -> Vec<LimitDepth>;
        partitions_async = partitions(task: &str, limit: u32) -> Vec<PartitionDepth>;
        actions_async = actions(filter: &ActionFilter, limit: u32) -> Vec<Action>;
    }

    /// Asks the store on the thread for async code.
    async fn ask_async<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> Result<R, JobsError> + Send + 'static,
    ) -> Result<R, JobsError> {
        let jobs = self.clone();
        let answer = self.inner.client.call_async(move |_| ask(&jobs)).await;
        answer.unwrap_or_else(|| Err(unasked().into()))
    }
}

/// The thread could not be started, or the store has panicked.
fn unasked() -> StoreError {
    StoreError::Unavailable("no thread could ask it".to_owned())
}

/// The same for async code: see the twins of [`Jobs`](crate::Jobs).
impl Schedules {
    twins! {
        list_async = list() -> Vec<StoredSchedule>;
        pause_async = pause(schedule: &str, pause: &Pause) -> ();
        resume_async = resume(schedule: &str) -> ();
        run_now_async = run_now(schedule: &str) -> JobId;
        reschedule_async = reschedule(schedule: &str, rule: Schedule) -> ();
        reset_async = reset(schedule: &str) -> ();
        put_async = put(name: &str, schedule: Schedule, job: Job) -> ();
        remove_async = remove(schedule: &str) -> ();
    }

    async fn ask_async<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> Result<R, JobsError> + Send + 'static,
    ) -> Result<R, JobsError> {
        self.jobs.ask_async(move |jobs| ask(&Self::of(jobs))).await
    }
}

/// The most threads: so many calls may hang before the next one waits for another's end.
const THREADS_MAX: usize = 8;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that execute what they are given, in the order of due time. The first starts with the first call, another one when all
/// are in a call. While nothing is due one of them waits, and the others end; all end when this is dropped.
pub(super) struct Helper {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    gate: Arc<EventCount>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// By due time, and then in the order in which it was given.
    work: BTreeMap<(Tick, u64), Work>,
    given: u64,
    threads: usize,
    /// The threads that wait until something is due.
    waiting: usize,
    is_closed: bool,
}

impl Helper {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let (gate, queue) = (Arc::default(), Mutex::default());
        Self { shared: Arc::new(Shared { clock, gate, queue }) }
    }

    /// Has a thread execute this at an instant. If there is no thread, and none can be started, it is dropped.
    pub(super) fn execute(&self, at: Tick, work: impl FnOnce() + Send + 'static) {
        let mut queue = self.shared.queue.lock();
        queue.given += 1;
        let number = queue.given;
        queue.work.insert((at, number), Box::new(work));
        let is_wanted = queue.wants_thread();
        drop(queue);
        self.shared.gate.open();
        if is_wanted {
            self.shared.start_thread();
        }
    }
}

impl Queue {
    /// Returns true if no thread would look at the work, and counts the one that is to be started.
    fn wants_thread(&mut self) -> bool {
        let is_wanted = self.waiting == 0 && self.threads < THREADS_MAX && !self.work.is_empty();
        self.threads += usize::from(is_wanted);
        is_wanted
    }
}

impl Shared {
    fn start_thread(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        let thread = thread::Builder::new().name("scheduler-jobs".to_owned());
        if thread.spawn(move || shared.work()).is_err() {
            let mut queue = self.queue.lock();
            queue.threads -= 1;
            let is_last = queue.threads == 0;
            let unasked = if is_last { std::mem::take(&mut queue.work) } else { BTreeMap::new() };
            drop(queue);
            drop(unasked);
        }
    }

    fn work(self: &Arc<Self>) {
        loop {
            let seen = self.gate.epoch();
            let now = self.clock.now();
            let mut queue = self.queue.lock();
            if queue.is_closed {
                return;
            }
            let next = queue.work.first_key_value().map(|((at, _), _)| *at);
            if next.is_some_and(|at| at <= now) {
                let work = queue.work.pop_first();
                let is_wanted = queue.wants_thread();
                drop(queue);
                if is_wanted {
                    self.start_thread();
                }
                if let Some((_, work)) = work {
                    // A panic of a store or of a waker ends nothing but its call.
                    drop(catch(work));
                }
            } else if queue.waiting > 0 {
                queue.threads -= 1;
                return;
            } else {
                queue.waiting += 1;
                drop(queue);
                self.clock.wait(&self.gate, seen, next);
                self.queue.lock().waiting -= 1;
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.is_closed = true;
        let unasked = std::mem::take(&mut queue.work);
        drop(queue);
        drop(unasked);
        self.shared.gate.open();
    }
}

crate::base::opaque! { Helper }

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use scheduler_core::ManualClock;

    use super::*;

    #[test]
    fn all_is_executed_when_it_is_due_and_the_threads_end_with_their_owner() {
        let clock = ManualClock::new();
        let helper = Helper::new(Arc::new(clock.clone()));
        let (sender, received) = channel();
        let send = |at: Tick, number: u32| {
            let sender = sender.clone();
            helper.execute(at, move || {
                // The test may have failed.
                let _ = sender.send(number);
                assert!(number != 1, "a panic ends no thread");
            });
        };
        let second = Tick::ZERO + Duration::from_secs(1);
        send(second, 3);
        send(Tick::ZERO, 1);
        assert_eq!(received.recv(), Ok(1));
        send(Tick::ZERO, 2);
        assert_eq!(received.recv(), Ok(2));
        clock.advance(Duration::from_secs(1));
        assert_eq!(received.recv(), Ok(3));
        let later = second + Duration::from_secs(1);
        send(later, 4);
        drop((helper, sender));
        assert!(received.recv().is_err(), "what is not due is dropped with the threads");
    }

    #[test]
    fn calls_that_hang_hold_up_no_other_until_there_are_too_many() {
        let helper = Helper::new(Arc::new(ManualClock::new()));
        let (sender, received) = channel();
        let mut hanging = Vec::new();
        for number in 0..THREADS_MAX {
            let (end, ended) = channel::<()>();
            hanging.push(end);
            let sender = sender.clone();
            helper.execute(Tick::ZERO, move || {
                let _ = sender.send(number);
                let _ = ended.recv();
            });
            assert_eq!(received.recv(), Ok(number), "beside those that hang");
        }
        helper.execute(Tick::ZERO, move || {
            let _ = sender.send(THREADS_MAX);
        });
        assert!(received.try_recv().is_err(), "each thread hangs");
        hanging.pop();
        assert_eq!(received.recv(), Ok(THREADS_MAX));
    }
}
