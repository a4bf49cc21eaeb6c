//! One worker's life: take, run, settle, again.
//!
//! A thread claims a task, runs it and makes the outcome known in one ([`Bench::run_through`]). A virtual worker
//! takes the steps one by one: [`Bench::take`] claims a task, [`execute`] runs its body, [`finish`] makes the
//! outcome known.

use std::sync::Arc;

use super::item::AnyItem;
use super::meetings::IN_A_ROW;
use super::meetings::Meetings;
use super::meetings::is_not_missed;
use super::post::Post;
use super::roster::WorkerNumber;
use super::shell::Shell;
use super::step::Done;
use super::step::Take;
use crate::sync::planted;
use crate::task::Home;
use crate::task::Run;
use crate::task::TaskState;
use crate::task::any;
use crate::task::any::RanThrough;
use crate::task::any::Verdict;
use crate::task::current;
use crate::task::current::Desk;
use crate::task::state::Suspend;
use crate::time::Epoch;
use crate::time::Now;
use crate::time::Tick;

/// What a worker got when it asked for something to do.
pub(super) enum Taken<R> {
    Run(R),
    Waits(Option<Tick>),
    Leaves,
}

/// Where a worker works: its pool, and its post there.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) shell: &'a Arc<Shell>,
    pub(super) worker: WorkerNumber,
    pub(super) post: &'a Post,
    pub(super) meetings: &'a Meetings,
}

/// A task whose body has been executed by a worker, and whose outcome is not known yet.
#[derive(Debug)]
pub(super) struct Executed {
    worker: WorkerNumber,
    run: Run,
    result: any::Executed,
}

impl Executed {
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Whether the future of the run is pending.
    pub(super) fn is_pending(&self) -> bool {
        self.result == any::Executed::Pending
    }
}

/// The life of a worker on its own thread.
pub(super) fn work(shell: &Arc<Shell>, worker: WorkerNumber) {
    let presence = Presence { shell, worker, has_left: false };
    let Some(post) = shell.post(worker) else { return };
    let seat = current::sit_down(Arc::clone(&post) as Arc<dyn Desk>);
    let meetings = Meetings::new(shell.wake_up);
    let bench = Bench { shell, worker, post: &post, meetings: &meetings };
    shell.clock.sharpen();
    shell.worker_arrived(worker);
    let mut done = Done::Nothing;
    loop {
        let seen = post.gate.epoch();
        match bench.claim(std::mem::replace(&mut done, Done::Nothing)) {
            Taken::Run((task, now)) => {
                done = bench.run_through(task, now);
                if meetings.are_too_many() {
                    bench.rest(&mut done, seen);
                }
            }
            Taken::Waits(until) => shell.wait(&post.gate, seen, until),
            Taken::Leaves => break,
        }
    }
    drop(seat);
    presence.leave();
}

impl Bench<'_> {
    /// Gives back what the worker has run, and claims the next task, which may have ended.
    fn claim(&self, done: Done<AnyItem>) -> Taken<(AnyItem, Now)> {
        let mut in_hand = InHand { post: self.post, done };
        loop {
            let now = Now::read(&*self.shell.clock);
            let (take, has_met) = self.shell.next(self.worker, in_hand.release(), now);
            self.meetings.note(has_met, now.tick);
            match take {
                Take::Wait(until) => return Taken::Waits(until),
                Take::Leave => return Taken::Leaves,
                Take::Again => {}
                Take::Run(task) => return Taken::Run((task, now)),
            }
        }
    }

    /// Claims the next task that can be run, for a virtual worker.
    pub(super) fn take(&self) -> Taken<Run> {
        let mut done = Done::Nothing;
        loop {
            let (task, now) = match self.claim(done) {
                Taken::Run(claimed) => claimed,
                Taken::Waits(until) => return Taken::Waits(until),
                Taken::Leaves => return Taken::Leaves,
            };
            self.post.lay(&task);
            cancel_if_overdue(self.shell, &task, now);
            if let Some(begun) = task.begin(now) {
                return Taken::Run(Run::new(task, begun));
            }
            self.post.clear();
            done = Done::Skipped;
        }
    }

    /// Stays away from the pool for a moment, if another worker is at work meanwhile, and once more while the others
    /// get on well.
    ///
    /// The last to take a task never rests. So of many that meet one goes on; and whoever is at a long task is
    /// taken for one that comes back soon no more than once, because who rests beside it takes the next task.
    ///
    /// RACE: the pool may begin to end when it has let this one rest. It opens the gate then, and `seen` is older.
    #[cold]
    fn rest(&self, done: &mut Done<AnyItem>, seen: Epoch) {
        self.meetings.forget();
        if !matches!(done, Done::Ended | Done::Skipped) {
            return;
        }
        let done = std::mem::replace(done, Done::Nothing);
        self.shell.settle(self.worker, done);
        let mut others = self.shell.others(self.worker);
        let seen = if planted("L16 epoch") { self.post.gate.epoch() } else { seen };
        for _ in 0..IN_A_ROW {
            let Some(before) = others else { return };
            let until = self.shell.clock.now() + self.meetings.rest_length();
            self.shell.clock.wait(&self.post.gate, seen, Some(until));
            others = self.shell.others(self.worker).filter(|now| is_not_missed(before, *now));
        }
    }

    /// Runs a claimed task, and makes the outcome known.
    ///
    /// What has ended is dropped before the pool hears of that, which may be its end; it contains by itself
    /// what its user's destructors do.
    fn run_through(&self, task: AnyItem, now: Now) -> Done<AnyItem> {
        cancel_if_overdue(self.shell, &task, now);
        match task.run_through(now, &**self.shell, true) {
            None => Done::Skipped,
            Some(RanThrough::Over(verdict, task)) => done(verdict, task),
            Some(RanThrough::Pending(run)) => {
                run.pass_through(true, |run| suspend(self.shell, self.worker, run.task()));
                Done::Nothing
            }
        }
    }
}

/// What a worker has done that still has it in hand: it lays it on its desk where its clock panics, so that the
/// pool can cancel it.
struct InHand<'a> {
    post: &'a Post,
    done: Done<AnyItem>,
}

impl InHand<'_> {
    #[inline]
    fn release(&mut self) -> Done<AnyItem> {
        std::mem::replace(&mut self.done, Done::Nothing)
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if let Done::Recurs(task, _) = &self.done {
            self.post.lay(task);
        }
    }
}

#[inline]
fn done(verdict: Verdict, task: AnyItem) -> Done<AnyItem> {
    match verdict {
        Verdict::Requeue(due) => Done::Recurs(task, due),
        Verdict::Ended(_) => Done::Ended,
    }
}

/// Executes the body of a task that a virtual worker has claimed.
pub(super) fn execute(bench: &Bench<'_>, run: Run) -> Executed {
    let result = run.clone().enter(|run| run.task().execute(run, &**bench.shell));
    Executed { worker: bench.worker, run, result }
}

/// Makes the outcome of a virtual worker's run known, and gives the task back to the pool.
pub(super) fn finish(shell: &Arc<Shell>, executed: Executed) {
    let Executed { worker, run, result } = executed;
    let post = shell.post(worker);
    let done = match result {
        any::Executed::Pending => {
            suspend(shell, worker, run.task());
            Done::Nothing
        }
        any::Executed::Over => {
            let verdict = run.clone().enter(|run| run.task().settle(run, &**shell));
            done(verdict, run.into_task())
        }
    };
    if let Some(post) = post {
        post.clear();
        shell.settle(worker, done);
    }
}

#[inline]
fn cancel_if_overdue(shell: &Arc<Shell>, task: &AnyItem, now: Now) {
    if task.header().is_overdue(now.tick) {
        shell.cancel(task);
    }
}

/// Lets go of a run whose future is pending.
///
/// RACE: the waker may be called at any time. The pool lists the task among the suspended *before*
/// the state says so, because from then on a wake puts the task back into the queue.
fn suspend(shell: &Arc<Shell>, worker: WorkerNumber, task: &AnyItem) {
    shell.suspend(worker, task);
    match task.suspend() {
        Suspend::Suspended => {}
        Suspend::Woken => shell.resume(Arc::clone(task)),
        Suspend::WasCancelled if planted("L12 cancel") => {}
        Suspend::WasCancelled => shell.withdraw(&**task),
    }
}

/// A worker's presence in its pool; if its thread unwinds, the pool loses it and replaces it.
struct Presence<'a> {
    shell: &'a Arc<Shell>,
    worker: WorkerNumber,
    has_left: bool,
}

impl Presence<'_> {
    fn leave(mut self) {
        self.has_left = true;
        self.shell.worker_left(self.worker);
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if !self.has_left {
            self.shell.replace_worker(self.worker);
            self.shell.announce_refusal(self.worker, "the worker's thread has died");
        }
    }
}

/// Runs a task that is in no pool's queue on the calling thread, once.
pub(super) fn run_outside(shell: &Arc<Shell>, task: &AnyItem) {
    let now = Now::read(&*shell.clock);
    cancel_if_overdue(shell, task, now);
    match Arc::clone(task).run_through(now, &**shell, false) {
        None => return,
        Some(RanThrough::Over(..)) => {}
        Some(RanThrough::Pending(run)) => run.enter(|_| {
            if task.suspend() == Suspend::WasCancelled {
                shell.announce_end(&**task, TaskState::Cancelled);
            }
        }),
    }
    shell.cancel(task);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Begun;
    use crate::Clock;
    use crate::Event;
    use crate::ManualClock;
    use crate::ScheduledThreadPool;
    use crate::TaskHandle;
    use crate::VirtualCrew;
    use crate::time::Due;
    use crate::time::Gate;
    use chrono::DateTime;
    use chrono::Utc;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering;
    use std::thread::yield_now;
    use std::time::Duration;

    type Ends = Arc<Mutex<Vec<TaskState>>>;

    fn pool() -> (ScheduledThreadPool, VirtualCrew, Ends) {
        let (crew, ends) = (VirtualCrew::new(), Ends::default());
        let heard = Arc::clone(&ends);
        let pool = ScheduledThreadPool::builder()
            .virtual_crew(&crew)
            .listener(move |event: &Event<'_>| {
                if let Event::TaskEnded { state, .. } = event {
                    heard.lock().unwrap().push(*state);
                }
            })
            .build();
        (pool.unwrap(), crew, ends)
    }

    #[test]
    fn the_end_of_a_task_that_the_pool_cancels_during_a_poll_is_reported_once() {
        let (pool, crew, ends) = pool();
        let handle = pool.schedule_async(Duration::ZERO, std::future::pending::<()>()).unwrap();
        let Begun::Run(run) = crew.begin(1) else { panic!("the task is due") };
        drop(pool.shutdown_now());
        run.finish();
        assert!(handle.is_cancelled());
        assert_eq!(*ends.lock().unwrap(), [TaskState::Cancelled]);
    }

    #[test]
    fn the_end_of_a_task_that_cancels_itself_while_it_is_run_by_hand_is_reported_once() {
        let (pool, _crew, ends) = pool();
        let own: Arc<Mutex<Option<TaskHandle<()>>>> = Arc::default();
        let inside = Arc::clone(&own);
        let body = std::future::poll_fn(move |_| {
            assert!(Run::current().is_some());
            assert!(inside.lock().unwrap().as_ref().unwrap().cancel());
            std::task::Poll::Pending
        });
        let handle = pool.schedule_async(Duration::from_secs(1), body).unwrap();
        *own.lock().unwrap() = Some(handle.clone());
        pool.remove(&handle).unwrap().run();
        assert!(handle.is_cancelled());
        assert_eq!(*ends.lock().unwrap(), [TaskState::Cancelled]);
    }

    /// A clock that stands still, and notes who waits how long.
    #[derive(Default)]
    struct Still {
        waits: Mutex<Vec<Option<Tick>>>,
        /// What happens meanwhile.
        meanwhile: Mutex<Option<Box<dyn FnMut() + Send>>>,
    }

    impl std::fmt::Debug for Still {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_tuple("Still").field(&self.waits).finish()
        }
    }

    impl Clock for Still {
        fn now(&self) -> Tick {
            Tick::ZERO
        }

        fn wall(&self) -> DateTime<Utc> {
            DateTime::UNIX_EPOCH
        }

        fn wake_up(&self) -> Duration {
            Duration::from_micros(10)
        }

        fn wait(&self, _: &Arc<Gate>, _: Epoch, until: Option<Tick>) {
            self.waits.lock().unwrap().push(until);
            if let Some(meanwhile) = &mut *self.meanwhile.lock().unwrap() {
                meanwhile();
            }
        }
    }

    /// What worker 1 waits for that has met others too often, where these workers have taken a task one after the
    /// other; and what it has in hand then.
    fn rest_after(
        takers: &[u64],
        done: impl FnOnce(AnyItem) -> Done<AnyItem>,
    ) -> (Vec<Option<Tick>>, Done<AnyItem>) {
        let (pool, clock, crew) = still_pool();
        let handles = [(); 2].map(|()| pool.execute(|| ()).unwrap());
        let runs: Vec<Begun> = takers.iter().map(|worker| crew.begin(*worker)).collect();
        let mut done = done(handles[0].task());
        let is_over = matches!(done, Done::Ended);
        rest(&pool, &mut done);
        assert_eq!(pool.stats().active, takers.len() - usize::from(is_over));
        drop(runs);
        (std::mem::take(&mut clock.waits.lock().unwrap()), done)
    }

    fn still_pool() -> (ScheduledThreadPool, Arc<Still>, VirtualCrew) {
        let (clock, crew) = (Arc::new(Still::default()), VirtualCrew::new());
        let builder = ScheduledThreadPool::builder().core_size(2).virtual_crew(&crew);
        let pool = builder.clock(Arc::clone(&clock) as Arc<dyn Clock>).build().unwrap();
        (pool, clock, crew)
    }

    /// Worker 1 has met others too often.
    fn rest(pool: &ScheduledThreadPool, done: &mut Done<AnyItem>) {
        let shell = pool.shell();
        let (post, meetings) = (shell.post(1).unwrap(), Meetings::new(shell.wake_up));
        let bench = Bench { shell, worker: 1, post: &post, meetings: &meetings };
        (1..=4).for_each(|turn| meetings.note(true, Tick::from_nanos(turn)));
        bench.rest(done, post.gate.epoch());
        assert!(!meetings.are_too_many());
    }

    #[test]
    fn a_worker_that_meets_others_too_often_rests_unless_it_was_the_last_to_take_a_task() {
        let (waits, done) = rest_after(&[1, 2], |_| Done::Ended);
        assert_eq!(waits, [Some(Tick::ZERO + Duration::from_micros(30))]);
        assert!(matches!(done, Done::Nothing), "the pool has it back");
        for takers in [&[1][..], &[2, 1]] {
            let (waits, done) = rest_after(takers, |_| Done::Ended);
            assert!(waits.is_empty() && matches!(done, Done::Nothing));
        }
    }

    #[test]
    fn nobody_rests_with_something_in_hand_that_is_to_run_again() {
        let recurs = |task| Done::Recurs(task, Due::Tick(Tick::ZERO));
        let (waits, done) = rest_after(&[1, 2], recurs);
        assert!(waits.is_empty() && matches!(done, Done::Recurs(..)));
    }

    /// How often worker 1 rests while worker 2 runs so many tasks during each rest, and the pool is shut down in the
    /// first one or not.
    fn rests_beside(
        tasks: impl IntoIterator<Item = usize, IntoIter: Send + 'static>,
        is_shut_down: bool,
    ) -> usize {
        let (pool, clock, crew) = still_pool();
        let handles = [(); 2].map(|()| pool.execute(|| ()).unwrap());
        let (first, mut other) = (crew.begin(1), crew.begin(2));
        let (me, mut tasks) = (pool.clone(), tasks.into_iter());
        let run = move || {
            for _ in 0..tasks.next().unwrap() {
                me.execute(|| ()).unwrap();
                let Begun::Run(run) = std::mem::replace(&mut other, Begun::Left) else { panic!() };
                run.finish();
                other = crew.begin(2);
            }
            if is_shut_down {
                me.shutdown();
            }
        };
        *clock.meanwhile.lock().unwrap() = Some(Box::new(run));
        rest(&pool, &mut Done::Ended);
        drop((first, clock.meanwhile.lock().unwrap().take(), handles));
        let waits = std::mem::take(&mut *clock.waits.lock().unwrap());
        assert!(waits.iter().all(|until| *until == waits[0]));
        waits.len()
    }

    #[test]
    fn who_rests_rests_on_while_others_run_many_tasks_meanwhile() {
        assert_eq!(rests_beside([191], false), 1);
        assert_eq!(rests_beside([192, 191], false), 2);
        assert_eq!(rests_beside([300, 200, 200, 0], false), 4);
        assert_eq!(rests_beside([192; 16], false), 16, "now and then it comes back and sees");
    }

    #[test]
    fn nobody_rests_on_when_the_pool_has_begun_to_end() {
        assert_eq!(rests_beside([192, 0], false), 2);
        assert_eq!(rests_beside([192, 0], true), 1);
    }

    /// A clock that is moved by hand, by which a wake-up takes as long as by [`Still`].
    #[derive(Debug)]
    struct Slow(ManualClock);

    impl Clock for Slow {
        fn now(&self) -> Tick {
            self.0.now()
        }

        fn wall(&self) -> DateTime<Utc> {
            self.0.wall()
        }

        fn wake_up(&self) -> Duration {
            Still::default().wake_up()
        }

        fn wait(&self, gate: &Arc<Gate>, seen: Epoch, until: Option<Tick>) {
            self.0.wait(gate, seen, until);
        }
    }

    /// Two workers whose tasks end while somebody else has the pool's lock, until one of them rests.
    fn pool_where_one_rests(clock: &ManualClock) -> ScheduledThreadPool {
        let builder = ScheduledThreadPool::builder().core_size(2);
        let pool = builder.clock(Arc::new(Slow(clock.clone()))).build().unwrap();
        let is_held = Arc::new(AtomicBool::new(false));
        for _ in 0..10_000 {
            // No task is due later, so that whoever waits for a time rests.
            if clock.next_deadline().is_some() {
                is_held.store(true, Ordering::SeqCst);
                return pool;
            }
            for is_held in [(); 2].map(|()| Arc::clone(&is_held)) {
                let body = move || {
                    while !is_held.load(Ordering::SeqCst) {
                        yield_now();
                    }
                };
                pool.execute(body).unwrap();
            }
            let locked = pool.shell().locked.lock();
            is_held.store(true, Ordering::SeqCst);
            (0..100).for_each(|_| yield_now());
            is_held.store(false, Ordering::SeqCst);
            drop(locked);
        }
        is_held.store(true, Ordering::SeqCst);
        panic!("nobody rests");
    }

    #[test]
    fn of_two_that_meet_others_at_the_lock_one_rests_until_the_pool_ends() {
        let ends: [fn(&ScheduledThreadPool); 2] =
            [ScheduledThreadPool::shutdown, |pool| drop(pool.shutdown_now())];
        for end in ends {
            let clock = ManualClock::new();
            let pool = pool_where_one_rests(&clock);
            assert_eq!(
                pool.submit(|| "the other is there").unwrap().wait(),
                Ok("the other is there")
            );
            assert_eq!(clock.next_deadline(), Some(Tick::ZERO + Duration::from_micros(30)));
            clock.await_parked(2);
            end(&pool);
            let resting = clock.parked();
            clock.advance(Duration::from_secs(1));
            assert_eq!(resting, 0);
            assert!(pool.await_termination(Duration::MAX));
        }
    }
}
