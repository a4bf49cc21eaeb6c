//! The tasks of a scheduler among each other: who keeps whose thread.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::Weak;
use std::time::Duration;

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;

use super::conductor::Conductor;
use crate::inject::Call;
use crate::observe::Event;
use crate::observe::Longest;
use crate::run::Run;

/// How late a run has to start for the lack of a thread to be worth a word.
const LATE: Duration = Duration::from_secs(1);

/// How often one pool is looked at: looking goes through all of its tasks.
const LOOK_EVERY: TimeDelta = TimeDelta::seconds(10);

/// All tasks of a scheduler; clones are ends of the same list.
#[derive(Clone, Default)]
pub(crate) struct Neighbours {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    conductors: Vec<Weak<Conductor>>,
    /// When each pool was last looked at.
    looked_at: BTreeMap<Arc<str>, DateTime<Utc>>,
}

impl Neighbours {
    pub(super) fn enter(&self, conductor: &Arc<Conductor>) {
        let mut shared = self.lock();
        shared.conductors.retain(|known| known.strong_count() > 0);
        shared.conductors.push(Arc::downgrade(conductor));
    }

    /// Why a run begins late, if that is because others kept the threads of its pool.
    pub(super) fn starved(&self, conductor: &Conductor, run: &Run) -> Option<Event> {
        let late = run.lateness();
        if late < LATE {
            return None;
        }
        let (pool, at) = (Arc::clone(&conductor.lock().facts.pool), run.started_at());
        let others = self.others(&pool, at)?;
        let spells = others.iter().filter(|other| !std::ptr::eq(&raw const ***other, conductor));
        let spells = spells.filter_map(|other| other.longest_spell(run.due(), at));
        let longest = spells.max_by_key(|longest| longest.running_for)?;
        let busy = conductor.pool.upgrade()?.core_size();
        let task = Arc::clone(&conductor.name);
        Some(Event::Starved { task, pool, late, busy, longest: Some(longest), at })
    }

    /// All conductors; none when they have been looked at only just now.
    fn others(&self, pool: &Arc<str>, at: DateTime<Utc>) -> Option<Vec<Arc<Conductor>>> {
        let mut shared = self.lock();
        let last = shared.looked_at.get(pool).copied();
        if last.is_some_and(|last| (at - last).abs() < LOOK_EVERY) {
            return None;
        }
        shared.looked_at.insert(Arc::clone(pool), at);
        let conductors: Vec<Arc<Conductor>> =
            shared.conductors.iter().filter_map(Weak::upgrade).collect();
        drop(shared);
        Some(conductors.into_iter().filter(|other| other.lock().facts.pool == *pool).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conductor {
    /// The longest time for which this task has kept a thread while another one waited for it, from
    /// `from` to `to`. The future of an async task keeps none while it waits.
    fn longest_spell(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Option<Longest> {
        if matches!(self.call, Call::Async(_)) {
            return None;
        }
        let state = self.lock();
        let present = state.courses().filter(|course| course.again_at.is_none());
        let present = present.map(|course| (course.began.wall, to));
        let past = state.history.runs().filter_map(|run| {
            let took = TimeDelta::from_std(run.took).ok()?;
            Some((run.started_at, run.started_at.checked_add_signed(took)?))
        });
        let spells = present.chain(past).filter(|(began, ended)| *began < to && *ended > from);
        let lengths = spells.filter_map(|(began, ended)| (ended - began).to_std().ok());
        let longest = lengths.max().filter(|length| !length.is_zero())?;
        Some(Longest::new(Arc::clone(&self.name), longest))
    }
}

impl fmt::Debug for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.lock().conductors.len();
        f.debug_struct("Neighbours").field("count", &count).finish()
    }
}
