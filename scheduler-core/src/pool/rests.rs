//! How a worker rests that has met others at the pool's lock too often: see `meetings` for when, and for how long.

use super::item::AnyItem;
use super::meetings::IN_A_ROW;
use super::meetings::is_not_missed;
use super::step::Done;
use super::worker::Bench;
use crate::sync::planted;
use crate::time::Epoch;

impl Bench<'_> {
    /// Stays away from the pool for a moment, if another worker is at work meanwhile, and once more while the others
    /// get on well.
    ///
    /// The last to take a task never rests. So of many that meet one goes on; and whoever is at a long task is
    /// taken for one that comes back soon no more than once, because who rests beside it takes the next task.
    ///
    /// RACE: the pool may begin to end when it has let this one rest. It opens the gate then, and `seen` is older.
    #[cold]
    pub(super) fn rest(&self, done: &mut Done<AnyItem>, seen: Epoch) {
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
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Begun;
    use crate::Clock;
    use crate::ManualClock;
    use crate::ScheduledThreadPool;
    use crate::VirtualCrew;
    use crate::pool::meetings::Meetings;
    use crate::time::Due;
    use crate::time::Gate;
    use crate::time::Tick;
    use chrono::DateTime;
    use chrono::Utc;
    use std::sync::Arc;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering;
    use std::thread::yield_now;
    use std::time::Duration;

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
