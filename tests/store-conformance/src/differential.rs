//! Random requests to the model and a store, with the same answers.

use crate::generate::Generator;
use crate::operation::{Answer, Contents, Operation};
use crate::test_store::TestStore;
use scheduler_store::{JobWait, Model, StoreError, StoreTime, WaitReason};

/// The number of sequences, and the length of each.
#[derive(Clone, Copy, Debug)]
pub struct Differential {
    /// The first seed.
    pub seed: u64,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of requests for each seed.
    pub steps: u32,
    /// The number of steps after which all rows are compared.
    pub every: u32,
}

/// The start of each sequence.
const START: StoreTime = StoreTime::from_micros(1_700_000_000_000_000);

impl Differential {
    /// Runs all sequences.
    ///
    /// # Panics
    ///
    /// The store answers or keeps something else than the model: the message has the seed, the shortest sequence that
    /// begins as this one and shows it, and both answers.
    pub fn run<T: TestStore>(self) {
        for seed in self.seed..self.seed.saturating_add(self.seeds) {
            let found = run_seed::<T>(seed, self.steps, self.every);
            let Some((last, first)) = found else { continue };
            // Again, with a look at all rows after each step: the difference may be older than where it was seen.
            let (step, difference) = run_seed::<T>(seed, last + 1, 1)
                .unwrap_or_else(|| (last, format!("{first}\n(no difference the second time)")));
            panic!("seed {seed}, step {step}:\n{}\n{difference}", last_requests(seed, step));
        }
    }
}

/// Returns the first step at which they differ, and how.
fn run_seed<T: TestStore>(seed: u64, steps: u32, every: u32) -> Option<(u32, String)> {
    let mut model = Model::new();
    model.set_now(START);
    let mut store = T::fresh();
    store.set_now(START);
    let mut generator = Generator::new(seed);
    for step in 0..steps {
        let operation = generator.next(&model);
        match &operation {
            Operation::SetNow(now) => {
                model.set_now(*now);
                store.set_now(*now);
            }
            Operation::Reopen => {
                model = model.connect();
                store.reopen();
            }
            _ => {}
        }
        let before = Contents::of(&model).waits;
        let wanted = operation.ask(&model);
        if let Some(fault) = claimed_beside_a_reason(before.as_deref(), &wanted) {
            return Some((step, fault));
        }
        let found = operation.ask(store.store());
        if wanted != found {
            return Some((
                step,
                format!("the model answers\n  {wanted:?}\nthe store\n  {found:?}"),
            ));
        }
        if (step + 1) % every == 0 || step + 1 == steps {
            let (wanted, found) = (Contents::of(&model), Contents::of(store.store()));
            if wanted != found {
                return Some((step, difference(&wanted, &found)));
            }
        }
    }
    None
}

/// A job that was claimed though something stood in its way: the claim and the reasons decide by the same limits. A process may ask for
/// tasks that it has not said when it opened its session.
fn claimed_beside_a_reason(
    before: Result<&[JobWait], &StoreError>,
    answer: &Answer,
) -> Option<String> {
    let Answer::Polled(Ok(polled)) = answer else { return None };
    let stands_in_the_way = |wait: &&JobWait| {
        let is_about_processes = matches!(
            wait.reason,
            WaitReason::Turn | WaitReason::NoProcess | WaitReason::ProcessesPaused
        );
        !is_about_processes && polled.jobs.iter().any(|job| job.id == wait.id)
    };
    let wait = before.ok()?.iter().find(stands_in_the_way)?;
    Some(format!("{} was claimed, and yet: {}", wait.id, wait.reason))
}

fn difference(wanted: &Contents, found: &Contents) -> String {
    let parts = [
        (format!("{:#?}", wanted.jobs), format!("{:#?}", found.jobs)),
        (format!("{:#?}", wanted.schedules), format!("{:#?}", found.schedules)),
        (format!("{:#?}", wanted.sessions), format!("{:#?}", found.sessions)),
        (format!("{:#?}", wanted.depths), format!("{:#?}", found.depths)),
        (format!("{:#?}", wanted.pauses), format!("{:#?}", found.pauses)),
        (format!("{:#?}", wanted.limits), format!("{:#?}", found.limits)),
        (format!("{:#?}", wanted.waits), format!("{:#?}", found.waits)),
        (format!("{:#?}", wanted.partitions), format!("{:#?}", found.partitions)),
        (format!("{:#?}", wanted.limit_depths), format!("{:#?}", found.limit_depths)),
        (format!("{:#?}", wanted.actions), format!("{:#?}", found.actions)),
    ];
    let mut text = "the rows differ (model, store):\n".to_owned();
    for (wanted, found) in parts.iter().filter(|(wanted, found)| wanted != found) {
        let pairs = wanted.lines().zip(found.lines()).filter(|(wanted, found)| wanted != found);
        for (wanted, found) in pairs.take(8) {
            text += &format!("  {wanted}\n  {found}\n");
        }
        text += &format!("  lines: {}, {}\n", wanted.lines().count(), found.lines().count());
    }
    text
}

/// The last requests of a sequence with the model's answers, for people.
fn last_requests(seed: u64, last: u32) -> String {
    const SHOWN: u32 = 30;
    let mut model = Model::new();
    model.set_now(START);
    let mut generator = Generator::new(seed);
    let mut text = String::new();
    for step in 0..=last {
        let operation = generator.next(&model);
        match &operation {
            Operation::SetNow(now) => model.set_now(*now),
            Operation::Reopen => model = model.connect(),
            _ => {}
        }
        let answer = operation.ask(&model);
        if last - step < SHOWN {
            text += &format!("{step:4} {operation:?}\n     -> {answer:?}\n");
        }
    }
    text
}

/// Some thousand requests: what each `cargo test` runs.
pub fn a_few_thousand_random_requests_are_answered_as_by_the_model<T: TestStore>() {
    let seeds = T::seeds();
    Differential { seed: 0, seeds, steps: 200, every: 10 }.run::<T>();
    Differential { seed: 1 << 32, seeds: seeds / 20 + 1, steps: 2_000, every: 100 }.run::<T>();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The words and texts that answers consist of: a new one is a new way in which a request can end.
    #[test]
    fn random_requests_meet_all_answers_that_there_are() {
        let mut words = BTreeSet::new();
        let mut errors = vec![
            "reached the store too late",
            "which no store keeps",
            "there is no such job, schedule or session",
            "is unfinished, and in the way",
            "not possible for a job that is running",
            "the schedule stands in the code",
        ];
        for seed in 0..60 {
            let model = Model::new();
            model.set_now(START);
            let mut generator = Generator::new(seed);
            for _ in 0..300 {
                let operation = generator.next(&model);
                if let Operation::SetNow(now) = &operation {
                    model.set_now(*now);
                }
                let answer = format!("{:?}", operation.ask(&model));
                let of_word = |letter: char| !letter.is_alphanumeric() && letter != '_';
                words.extend(answer.split(of_word).map(str::to_owned));
                errors.retain(|text| !answer.contains(text));
            }
        }
        assert!(errors.is_empty(), "no answer has {errors:?}");
        for wanted in [
            "Opened Closed New Same Changed Older Moved Skipped Queued Busy TooEarly Refused Ended",
            "Stored AlreadyMine Lost Ready Running Done Parked Cancelled Accepted Kept Replaced",
            "Pruned ClaimRef Abandon Urgent Low Unknown AfterJob Never Computed Rate Delay Once OnceAfter",
            "QueueOne Allow busy_since Task Queue",
        ] {
            for word in wanted.split(' ') {
                assert!(words.contains(word), "no answer has {word}");
            }
        }
    }
}
