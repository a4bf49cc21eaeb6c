//! The body of a simulated job.

use std::time::Duration;

use scheduler_store::{End, StoredJob};

use scheduler_node::Rng;

/// The tasks.
pub(crate) const WORK: &str = "work";
pub(crate) const POISON: &str = "poison";

/// The body of one run.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) lasts: Duration,
    /// The end; none if the run kills its process.
    pub(crate) end: Option<End>,
    /// True if it stops when it is asked to, because it is lost or cancelled.
    pub(crate) listens: bool,
    /// The number of times that it reports its progress.
    pub(crate) reports: u32,
}

impl Body {
    /// Follows from the seed, the job and the fence.
    pub(crate) fn of(job: &StoredJob, seed: u64) -> Self {
        let (high, low) = job.id.as_uuid().as_u64_pair();
        let mixed = high ^ low.rotate_left(17) ^ seed ^ job.fence.0.rotate_left(40);
        let mut rng = Rng::new(u128::from(mixed));
        if job.task == POISON {
            let lasts = Duration::from_millis(20);
            return Self { lasts, end: None, listens: false, reports: 1 };
        }
        let lasts = match rng.below(20) {
            0 => Duration::from_millis(1_000 + rng.below(5_000)),
            1..4 => Duration::from_millis(300 + rng.below(900)),
            4..8 => Duration::from_micros(50),
            _ => Duration::from_millis(1 + rng.below(150)),
        };
        let after = Duration::from_millis(100 + rng.below(400));
        let error = String::from("it failed");
        let end = match rng.below(40) {
            0..5 => End::Failed { after, error },
            5 | 6 => End::Snooze { after },
            7 => End::Undecodable { after, error, limit: 3 },
            8 => End::Park { error },
            9 => End::Cancelled,
            10 => End::GiveBack,
            _ => End::Done,
        };
        let listens = rng.below(3) > 0;
        Self { lasts, end: Some(end), listens, reports: rng.below(5) as u32 }
    }
}
