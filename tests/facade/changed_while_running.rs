//! Tasks that are added, removed and changed while the scheduler runs.
//!
//! Names are taken and free again, rules get other kinds and zones, one task or all are paused. A model decides which body
//! runs at which instant.

use std::collections::BTreeMap;
use std::iter::successors;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::random::Random;
use chrono::{DateTime, TimeDelta, Utc};
use scheduler::testing::Sim;
use scheduler::{Attribute, Cause, Pause, Run, Schedule};
use scheduler_core::trigger::CronTrigger;

const NAMES: [&str; 3] = ["fetch", "purge", "report"];

/// Half of them with hours that begin at half past those of the others.
const ZONES: [&str; 4] = ["UTC", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"];

const EXPRESSIONS: [&str; 3] = ["0 0 * * * *", "0 */20 * * * *", "0 30 */3 * * *"];

#[derive(Clone, Debug)]
enum Rule {
    Rate(TimeDelta),
    Delay(TimeDelta),
    Once(TimeDelta),
    Cron(&'static str, &'static str),
}

impl Rule {
    fn draw(random: &mut Random) -> Self {
        let minutes = TimeDelta::minutes(random.pick(&[7, 40, 90]));
        match random.below(5) {
            0 => Self::Rate(minutes),
            1 => Self::Delay(minutes),
            2 => Self::Once(minutes),
            _ => Self::Cron(random.pick(&EXPRESSIONS), random.pick(&ZONES)),
        }
    }

    fn schedule(&self) -> Schedule {
        let length = |length: &TimeDelta| length.to_std().expect("minutes");
        match self {
            Self::Rate(period) => Schedule::fixed_rate(length(period)),
            Self::Delay(delay) => Schedule::fixed_delay(length(delay)),
            Self::Once(delay) => Schedule::once(length(delay)),
            Self::Cron(expression, zone) => Schedule::cron(*expression).zone(*zone),
        }
    }

    /// The fire time after one; none for a one-time task.
    fn after(&self, fire: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match self {
            Self::Rate(length) | Self::Delay(length) => Some(fire + *length),
            Self::Once(_) => None,
            Self::Cron(expression, zone) => {
                let expression = expression.parse().expect("an expression");
                CronTrigger::new(expression, zone.parse().expect("a zone")).next_after(fire)
            }
        }
    }

    /// The first fire time of a task that is new, or goes by this rule from now on.
    fn first(&self, now: DateTime<Utc>, is_new: bool) -> Option<DateTime<Utc>> {
        match self {
            Self::Rate(_) | Self::Delay(_) if is_new => Some(now),
            Self::Once(delay) => Some(now + *delay),
            _ => self.after(now),
        }
    }
}

/// A task as it should be.
#[derive(Debug)]
struct Task {
    body: u64,
    rule: Rule,
    next: Option<DateTime<Utc>>,
    is_paused: bool,
}

impl Task {
    fn has_ended(&self) -> bool {
        self.next.is_none()
    }

    /// Goes by another rule: how many fire times had come in a pause, and are skipped.
    fn replace(&mut self, rule: Rule, now: DateTime<Utc>) -> u64 {
        let is_single = matches!(self.rule, Rule::Delay(_) | Rule::Once(_));
        let known = self.next.filter(|next| *next < DateTime::<Utc>::MAX_UTC);
        let come = successors(known, |fire| self.rule.after(*fire));
        let come =
            come.take_while(|fire| *fire <= now).take(if is_single { 1 } else { usize::MAX });
        let skipped = come.count() as u64;
        (self.next, self.rule) = (rule.first(now, false), rule);
        skipped
    }
}

/// The number of the body that ran, when, and true if it was run by hand.
type Started = (u64, DateTime<Utc>, bool);

struct Model {
    now: DateTime<Utc>,
    tasks: BTreeMap<&'static str, Task>,
    bodies: u64,
    started: Vec<Started>,
    skipped: u64,
}

impl Model {
    /// Runs what is due; no run takes any time.
    fn pass_to(&mut self, now: DateTime<Utc>) {
        self.now = now;
        for task in self.tasks.values_mut().filter(|task| !task.is_paused) {
            while let Some(next) = task.next.filter(|next| *next <= now) {
                self.started.push((task.body, next, false));
                task.next = task.rule.after(next);
            }
        }
    }

    /// Any look at a paused task skips what has come; a one-time task waits, and a delay begins anew later.
    fn look(&mut self, name: &str) {
        let Some(task) = self.tasks.get_mut(name).filter(|task| task.is_paused) else { return };
        while let Some(next) = task.next.filter(|next| *next <= self.now) {
            task.next = match task.rule {
                Rule::Once(_) => return,
                Rule::Delay(_) => Some(DateTime::<Utc>::MAX_UTC),
                _ => task.rule.after(next),
            };
            self.skipped += 1;
        }
    }

    /// Fire times in a pause are skipped; a delay begins anew, and a one-time task is late.
    fn resume(&mut self, name: &str) {
        let Some(task) = self.tasks.get_mut(name) else { return };
        if !std::mem::take(&mut task.is_paused) {
            return;
        }
        if let Rule::Delay(delay) = task.rule
            && task.next == Some(DateTime::<Utc>::MAX_UTC)
        {
            task.next = Some(self.now + delay);
        }
        while let Some(next) = task.next.filter(|next| *next < self.now) {
            if let Rule::Once(_) = task.rule {
                self.started.push((task.body, self.now, false));
                task.next = None;
                return;
            }
            let from = if let Rule::Delay(_) = task.rule { self.now } else { next };
            (task.next, self.skipped) = (task.rule.after(from), self.skipped + 1);
        }
    }
}

struct Play {
    sim: Sim,
    model: Model,
    started: Arc<Mutex<Vec<Started>>>,
    skipped: u64,
}

impl Play {
    fn new(random: &mut Random) -> Self {
        // Where clocks are set forward or back, and on a quiet day.
        let start =
            random.pick(&["2026-04-04T10:00:00Z", "2026-03-08T02:00:00Z", "2026-06-01T00:00:00Z"]);
        let now = start.parse().expect("an instant");
        let model =
            Model { now, tasks: BTreeMap::new(), bodies: 0, started: Vec::new(), skipped: 0 };
        Self { sim: Sim::at(start), model, started: Arc::default(), skipped: 0 }
    }

    fn pass(&mut self, length: TimeDelta) {
        self.sim.advance(length.to_std().expect("it goes on"));
        self.model.pass_to(self.model.now + length);
    }

    fn add(&mut self, name: &'static str, rule: Rule) {
        self.model.bodies += 1;
        let (body, started) = (self.model.bodies, Arc::clone(&self.started));
        let skipped = self.skipped_by(name);
        let added = self.sim.running_tasks().add(name, rule.schedule(), move |run: &Run| {
            let is_manual = run.cause() == Cause::Manual;
            started.lock().unwrap().push((body, run.started_at(), is_manual));
        });
        let is_free = self.model.tasks.get(name).is_none_or(Task::has_ended);
        assert_eq!(added.is_ok(), is_free, "{name}: {added:?}");
        if is_free {
            self.skipped += skipped;
            let next = rule.first(self.model.now, true);
            self.model.tasks.insert(name, Task { body, rule, next, is_paused: false });
        }
    }

    fn perform(&mut self, random: &mut Random) {
        let (name, rule) = (random.pick(&NAMES), Rule::draw(random));
        let tasks = self.sim.running_tasks();
        match random.below(14) {
            0..4 => self.add(name, rule),
            4 => self.remove(name),
            5 => {
                tasks.pause_all(&Pause::new()).unwrap();
                NAMES.iter().for_each(|name| self.model.look(name));
                self.model.tasks.values_mut().for_each(|task| task.is_paused |= !task.has_ended());
            }
            6 => {
                tasks.resume_all().unwrap();
                NAMES.iter().for_each(|name| self.model.resume(name));
            }
            choice => self.control(name, choice, rule),
        }
        self.pass(TimeDelta::zero());
        let minutes = i64::try_from(random.below(200)).expect("few");
        self.pass(TimeDelta::minutes(minutes) + TimeDelta::seconds(1));
    }

    fn remove(&mut self, name: &'static str) {
        let tasks = self.sim.running_tasks();
        let removed = self.model.tasks.remove(name);
        self.skipped += self.skipped_by(name);
        assert_eq!(tasks.remove(name).is_ok(), removed.is_some(), "{name}");
    }

    fn skipped_by(&self, name: &str) -> u64 {
        let task = self.sim.running_tasks().get(name);
        task.map_or(0, |task| task.snapshot().counters.skipped())
    }

    /// Does something to one task, which may not be there, or have ended.
    fn control(&mut self, name: &'static str, choice: u64, rule: Rule) {
        let model = &mut self.model;
        let found = self.sim.running_tasks().get(name);
        assert_eq!(found.is_ok(), model.tasks.contains_key(name), "{name}");
        let (Ok(control), Some(task)) = (found, model.tasks.get_mut(name)) else { return };
        let (now, is_living) = (model.now, !task.has_ended());
        match choice {
            7 | 8 => {
                assert_eq!(control.pause().is_ok(), is_living, "{task:?}");
                task.is_paused |= is_living;
                model.look(name);
            }
            9 => {
                let is_paused = task.is_paused && is_living;
                assert_eq!(control.resume().is_ok(), is_paused, "{task:?}");
                model.resume(name);
            }
            10 => {
                assert_eq!(control.run_now().is_ok(), is_living, "{task:?}");
                if is_living {
                    model.started.push((task.body, now, true));
                    model.look(name);
                }
            }
            _ => {
                assert_eq!(control.reschedule(rule.schedule()).is_ok(), is_living, "{task:?}");
                if is_living {
                    model.skipped += task.replace(rule, now);
                }
            }
        }
    }

    fn check(&self, seed: u64) {
        let mut started = self.started.lock().unwrap().clone();
        let mut expected = self.model.started.clone();
        started.sort_unstable();
        expected.sort_unstable();
        let differs = started.iter().zip(&expected).find(|(one, other)| one != other);
        assert_eq!((differs, started.len()), (None, expected.len()), "seed {seed}");
        let tasks = self.sim.running_tasks().list();
        let skipped: u64 = tasks.iter().map(|task| task.counters.skipped()).sum();
        assert_eq!(self.skipped + skipped, self.model.skipped, "seed {seed}");
        let mut names: Vec<&str> = tasks.iter().map(|task| task.name()).collect();
        names.sort_unstable();
        assert!(names.iter().eq(self.model.tasks.keys()), "seed {seed}: {names:?}");
        for shown in &tasks {
            let task = &self.model.tasks[shown.name()];
            let next = task.next.filter(|_| !task.is_paused);
            assert_eq!(shown.next, next, "seed {seed}: {shown:?}");
        }
    }
}

/// Plays one seed, and says how many runs there were.
fn play(seed: u64, spoil: fn(&mut Model)) -> usize {
    let mut random = Random(seed);
    let mut play = Play::new(&mut random);
    for _ in 0..40 {
        play.perform(&mut random);
        spoil(&mut play.model);
        play.check(seed);
    }
    play.model.started.len()
}

#[test]
fn tasks_run_as_they_are_at_each_instant() {
    let seeds = std::env::var("TEST_SIM_SEEDS").map_or(Ok(40), |seeds| seeds.parse());
    let seeds: u64 = seeds.expect("a number of seeds");
    let runs: usize = (0..seeds).map(|seed| play(seed, |_| {})).sum();
    println!("{seeds} seeds, {} changes, {runs} runs", seeds * 40);
    assert!(runs as u64 > seeds * 100, "{runs}");
}

#[test]
fn a_model_that_is_wrong_is_noticed() {
    let spoils: [fn(&mut Model); 4] = [
        |model| model.started.truncate(3),
        |model| model.skipped += 1,
        |model| model.tasks.clear(),
        |model| {
            let later = |task: &mut Task| task.next = task.next.map(|at| at + TimeDelta::hours(1));
            model.tasks.values_mut().for_each(later);
        },
    ];
    for spoil in spoils {
        let played =
            std::panic::catch_unwind(|| (0..5).map(|seed| play(seed, spoil)).sum::<usize>());
        assert!(played.is_err());
    }
}

#[test]
fn a_new_rule_begins_after_its_initial_delay_and_without_one_after_one_period() {
    let starts = |schedule: Schedule| {
        let mut sim = Sim::at("2026-01-01T00:00:00Z").define("work", Schedule::once("1d"), |_| {});
        sim.advance(Duration::from_secs(5));
        sim.control("work").reschedule(schedule).unwrap();
        sim.advance(Duration::from_secs(10));
        sim.starts("work").iter().map(Duration::as_secs).collect::<Vec<_>>()
    };
    for every in [|| Schedule::fixed_rate("7s"), || Schedule::fixed_delay("7s")] {
        assert_eq!(starts(every()), [12]);
        assert_eq!(starts(every().initial_delay("0s")), [5, 12]);
        assert_eq!(starts(every().initial_delay("2s")), [7, 14]);
    }
}

#[test]
fn a_manual_run_is_never_late_whatever_the_overlap() {
    for overlap in ["skip", "queue_one", "allow"] {
        let late = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&late);
        let manual =
            Schedule::fixed_rate("1d").initial_delay("1d").set(Attribute::Overlap, overlap);
        let mut sim = Sim::at("2026-01-01T00:00:00Z")
            .pool_size(1)
            .define("blocks", Schedule::once("0s"), |_| {})
            .define("work", manual, move |run| noted.lock().unwrap().push(run.lateness()));
        sim.takes("blocks", Duration::from_secs(10));
        sim.advance(Duration::from_secs(1));
        sim.run_now("work");
        sim.advance(Duration::from_secs(20));
        assert_eq!(*late.lock().unwrap(), [Duration::ZERO], "{overlap}");
    }
}
