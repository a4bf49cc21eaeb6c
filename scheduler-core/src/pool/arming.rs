//! How timers come into the queue and leave it again, any number of times.

use super::core::Core;
use super::entry::Entry;
use super::entry::disarmed;
use super::shutdown::Kind;
use super::shutdown::RunState;
use super::staging::Place;
use super::step::Effects;
use super::step::Item;
use crate::time::Due;
use crate::time::Now;
use scheduler_queue::Ticket;

impl<I: Item> Core<I> {
    /// Puts a timer into the queue, or at another place there, and hands out a share in it that is not needed; hands the
    /// timer back if the pool takes none.
    ///
    /// It keeps its number as its sequence, as a recurring task does.
    ///
    /// RACE: a timer that a worker has taken is not in the queue, whether it has been fired yet or not. So what is put
    /// in here is one more firing.
    pub(crate) fn arm(
        &mut self,
        timer: I,
        due: Due,
        now: Now,
        effects: &mut Effects<I>,
    ) -> Result<Option<I>, I> {
        if self.state >= RunState::Stopping || self.is_tidying {
            return Err(timer);
        }
        let armed = timer.armed();
        if armed == Some(due) {
            return Ok(Some(timer));
        }
        let former = armed.and_then(|_| self.agenda.remove(timer.place()));
        // First, as where a task enters.
        self.hire_if_missing(effects);
        timer.set_armed(Some(due));
        let sequence = timer.sequence();
        let entry = Entry { kind: Kind::Timer, item: timer };
        self.agenda.push(due.not_overtaking(now), sequence, entry, now);
        self.see_to_the_queue(now, effects);
        Ok(former.map(|entry| entry.item))
    }

    /// Takes a timer out of the queue, if it is there.
    pub(crate) fn disarm(&mut self, place: Place, effects: &mut Effects<I>) -> Option<I> {
        if place.ticket == Ticket::NONE {
            return None;
        }
        let Entry { kind, item } = self.agenda.remove(place)?;
        disarmed(kind, &item);
        self.after_removal(effects);
        Some(item)
    }
}
