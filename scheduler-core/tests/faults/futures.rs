//! Faults of futures (F-AS): restless futures, endless wakes, cancels during polls.

use std::future::Future;
use std::hint::spin_loop;
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::kit::{
    Journal, Latch, ManualPool, Mutex, Pending, Random, VirtualPool, close, eventually,
    is_in_own_process, ms, rounds, value_of,
};
use scheduler_core::{Clock, TaskHandle, Tick};

#[test]
fn f_as1_a_future_that_is_always_ready_to_go_on_holds_up_no_other_task() {
    let stage = VirtualPool::new(1);
    let (clock, polls) = (stage.clock.clone(), Arc::new(AtomicU64::new(0)));
    let (told, passing) = (Arc::clone(&polls), clock.clone());
    let greedy = std::future::poll_fn(move |context| {
        told.fetch_add(1, SeqCst);
        passing.advance(ms(1));
        context.waker().wake_by_ref();
        if passing.now() >= Tick::ZERO + ms(2_000) { Poll::Ready(()) } else { Poll::Pending }
    });
    let greedy = stage.pool.schedule_async(Duration::ZERO, greedy).unwrap();
    let journal = Journal::new();
    let (noted, read) = (journal.clone(), clock.clone());
    let every = move || noted.note(read.now().since(Tick::ZERO));
    let _regular = stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(10), every).unwrap();
    stage.run_for(ms(3_000));
    assert!(greedy.result_now().is_ok());
    assert_eq!(polls.load(SeqCst), 2_000);
    let starts = journal.entries();
    assert!(starts.len() > 200);
    for (start, fire) in starts.iter().zip((0..).map(|n| ms(10 * n))) {
        let late = start.checked_sub(fire).expect("no run is early");
        assert!(late <= ms(2), "the run of {fire:?} was {late:?} late");
    }
}

/// True while a poll is in progress; polls and drops meanwhile fail.
#[derive(Default)]
struct Inside {
    is_inside: AtomicBool,
    polls: AtomicU64,
    drops: AtomicU64,
    faults: AtomicU64,
}

impl Inside {
    fn enter(&self) {
        self.polls.fetch_add(1, SeqCst);
        let is_inside = self.is_inside.swap(true, SeqCst);
        self.faults.fetch_add(u64::from(is_inside || self.drops.load(SeqCst) > 0), SeqCst);
    }

    fn leave(&self) {
        self.is_inside.store(false, SeqCst);
    }
}

/// A value that a future owns, and that checks when it is dropped.
struct Owned(Arc<Inside>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.drops.fetch_add(1, SeqCst);
        self.0.faults.fetch_add(u64::from(self.0.is_inside.load(SeqCst)), SeqCst);
    }
}

/// Is ready when enough wakes have been begun, and hands out its waker in the first poll.
struct Stormed {
    owned: Owned,
    wakes: Arc<AtomicU64>,
    enough: u64,
    waker: Option<mpsc::Sender<Waker>>,
}

impl Future for Stormed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.owned.0.enter();
        if let Some(sender) = self.waker.take() {
            sender.send(context.waker().clone()).unwrap();
        }
        let is_enough = self.wakes.load(SeqCst) >= self.enough;
        thread::yield_now();
        self.owned.0.leave();
        if is_enough { Poll::Ready(()) } else { Poll::Pending }
    }
}

const THREADS: u64 = 8;
const WAKES: u64 = 1_000_000 / THREADS;

/// Wakes a future a million times; it is ready after `enough` of them.
fn storm(enough: u64) {
    let ManualPool { pool, .. } = ManualPool::new(2);
    let (inside, wakes) = (Arc::new(Inside::default()), Arc::new(AtomicU64::new(0)));
    let (sender, waker) = mpsc::channel();
    let owned = Owned(Arc::clone(&inside));
    let future = Stormed { owned, wakes: Arc::clone(&wakes), enough, waker: Some(sender) };
    let handle = pool.schedule_async(Duration::ZERO, future).unwrap();
    let waker = Pending::start(move || waker.recv().unwrap()).join();
    let before = resident();
    let storm: Vec<Pending<usize>> = (0..THREADS)
        .map(|_| {
            let (waker, wakes, pool) = (waker.clone(), Arc::clone(&wakes), pool.clone());
            Pending::start(move || {
                let mut queued = 0;
                for wake in 0..WAKES {
                    wakes.fetch_add(1, SeqCst);
                    waker.wake_by_ref();
                    if wake % 1_024 == 0 {
                        queued = queued.max(pool.stats().queued);
                    }
                }
                queued
            })
        })
        .collect();
    value_of(&handle);
    for thread in storm {
        assert!(thread.join() <= 1, "wakes do not pile up");
    }
    eventually("the pool is at rest", || pool.stats().active == 0);
    let polls = inside.polls.load(SeqCst);
    assert!(polls <= enough.min(THREADS * WAKES) + 1 + THREADS, "{polls} polls");
    assert_eq!(inside.faults.load(SeqCst), 0, "polls overlap, or come after the end");
    assert_eq!(inside.drops.load(SeqCst), 1, "what it owned is gone, though wakers are left");
    waker.wake();
    close(&pool);
    assert_eq!(inside.polls.load(SeqCst), polls);
    // A word for each wake would be as much.
    let grown = resident().saturating_sub(before);
    assert!(grown < (THREADS * WAKES * 8) >> 10, "{grown} KiB are left of the wakes");
}

/// The memory of this process, in KiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is told");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn f_as2_a_storm_of_wakes_polls_no_more_than_it_wakes_and_the_last_one_counts() {
    if !is_in_own_process(
        f_as2_a_storm_of_wakes_polls_no_more_than_it_wakes_and_the_last_one_counts,
    ) {
        return;
    }
    // No wake comes after the last one, which would make up for it.
    storm(THREADS * WAKES);
}

#[test]
fn f_as2_a_storm_of_wakes_goes_on_after_the_end() {
    if !is_in_own_process(f_as2_a_storm_of_wakes_goes_on_after_the_end) {
        return;
    }
    storm(THREADS * WAKES * 9 / 10);
}

#[test]
fn f_as2_each_of_many_last_wakes_counts() {
    const ROUNDS: u64 = 100;
    let ManualPool { pool, .. } = ManualPool::new(2);
    let (wakes, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (sender, waker) = mpsc::channel();
    let (counted, noted) = (Arc::clone(&wakes), Arc::clone(&seen));
    let future = std::future::poll_fn(move |context| {
        drop(sender.send(context.waker().clone()));
        let count = counted.load(SeqCst);
        noted.store(count, SeqCst);
        // Time for a wake that comes when this poll has looked, and before it is over.
        thread::yield_now();
        if count == ROUNDS * THREADS { Poll::Ready(()) } else { Poll::Pending }
    });
    let handle = pool.schedule_async(Duration::ZERO, future).unwrap();
    let waker = Pending::start(move || waker.recv().unwrap()).join();
    let threads: Vec<Pending<()>> = (0..THREADS)
        .map(|_| {
            let (waker, wakes, seen) = (waker.clone(), Arc::clone(&wakes), Arc::clone(&seen));
            Pending::start(move || {
                for round in 1..=ROUNDS {
                    wakes.fetch_add(1, SeqCst);
                    waker.wake_by_ref();
                    // No other wake comes before it has seen the last wake of the round.
                    eventually("the last wake is seen", || seen.load(SeqCst) >= round * THREADS);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(Pending::join);
    value_of(&handle);
    close(&pool);
}

/// A future that is cancelled while it is polled.
struct Polled {
    owned: Owned,
    started: Option<Latch>,
    handle: mpsc::Receiver<TaskHandle<()>>,
    spins: u64,
    is_own_doing: bool,
    answer: Arc<Mutex<Option<bool>>>,
}

impl Future for Polled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.owned.0.enter();
        if let Some(started) = self.started.take() {
            started.open();
            if self.is_own_doing {
                let handle = self.handle.recv().unwrap();
                *self.answer.lock().unwrap() = Some(handle.cancel());
            }
        }
        (0..self.spins).for_each(|_| spin_loop());
        context.waker().wake_by_ref();
        self.owned.0.leave();
        Poll::Pending
    }
}

fn cancel_in_poll(stage: &ManualPool, random: &mut Random, is_own_doing: bool) {
    let inside = Arc::new(Inside::default());
    let (sender, receiver) = mpsc::channel();
    let (started, answer) = (Latch::new(), Arc::default());
    let future = Polled {
        owned: Owned(Arc::clone(&inside)),
        started: Some(started.clone()),
        handle: receiver,
        spins: random.below(400),
        is_own_doing,
        answer: Arc::clone(&answer),
    };
    let handle = stage.pool.schedule_async(Duration::ZERO, future).unwrap();
    sender.send(handle.clone()).unwrap();
    started.wait();
    if !is_own_doing {
        (0..random.below(400)).for_each(|_| spin_loop());
        *answer.lock().unwrap() = Some(handle.cancel());
    }
    eventually("the future is dropped", || inside.drops.load(SeqCst) == 1);
    assert_eq!(*answer.lock().unwrap(), Some(true));
    assert!(handle.is_cancelled());
    eventually("the worker is free", || stage.pool.stats().active == 0);
    assert_eq!(inside.drops.load(SeqCst), 1);
    assert_eq!(inside.faults.load(SeqCst), 0, "dropped during a poll, or polled after that");
}

#[test]
fn f_as3_a_cancel_during_a_poll_drops_the_future_once_and_after_the_poll() {
    let (stage, mut random) = (ManualPool::new(2), Random(3));
    for round in 0..rounds(10_000) {
        cancel_in_poll(&stage, &mut random, round % 2 == 0);
    }
    close(&stage.pool);
}

#[test]
fn f_as3_a_cancel_does_not_wait_for_the_poll() {
    let stage = ManualPool::new(1);
    let (started, go_on) = (Latch::new(), Latch::new());
    let (inside, told, held) = (Arc::new(Inside::default()), started.clone(), go_on.clone());
    let owned = Owned(Arc::clone(&inside));
    let future = std::future::poll_fn(move |_| {
        owned.0.enter();
        told.open();
        held.wait();
        owned.0.leave();
        Poll::<()>::Pending
    });
    let handle = stage.pool.schedule_async(Duration::ZERO, future).unwrap();
    started.wait();
    assert!(handle.cancel() && handle.is_cancelled());
    assert_eq!(inside.drops.load(SeqCst), 0, "it is being polled");
    go_on.open();
    eventually("the future is dropped", || inside.drops.load(SeqCst) == 1);
    assert_eq!(inside.faults.load(SeqCst), 0);
    close(&stage.pool);
}
