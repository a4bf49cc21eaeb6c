//! The queues of both clocks as one: what is due on the monotonic clock and what is due on the wall.
//!
//! Two queues, because a wall-clock instant stays one until it is reached. Each look compares it with
//! what the wall clock says *then*, so a wall clock that is set, or that went on while the machine was
//! suspended, needs no re-keying: the instant simply is reached sooner or later. The price is that a
//! wait for a wall-clock instant has to be bounded, by [`WALL_CHECK`]. What is due when it comes stands in
//! line beside them, because most of it leaves as it came.

use std::time::Duration;

use crate::time::Due;
use crate::time::Now;
use crate::time::Tick;
use crate::time::WallTime;
use scheduler_queue::DelayQueue;
use scheduler_queue::HeapQueue;
use scheduler_queue::Key;
use scheduler_queue::Line;
use scheduler_queue::Ticket;
use scheduler_queue::WheelQueue;

/// After at most this long a wait for a wall-clock instant looks at the wall clock again.
pub(crate) const WALL_CHECK: Duration = Duration::from_millis(500);

/// By how much the wall clock has to be set back to be noticed, in nanoseconds. Within less than that
/// the fire times have been served.
const SET_BACK_MIN: i128 = 500_000_000;

/// Everything that waits to be run, in the order in which it is due.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    /// What was due on the monotonic clock when it came.
    line: Line<T>,
    ticks: WheelQueue<T>,
    walls: HeapQueue<T>,
    /// By how much the wall clock was ahead of the monotonic one, in nanoseconds: at the last look, or when
    /// something came since then, whichever is more.
    ///
    /// INVARIANT: there is one while anything waits for it.
    lead: Option<i128>,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self
    where
        T: Ticketed,
    {
        let (line, ticks, walls) = (Line::new(), WheelQueue::new(T::look), HeapQueue::new());
        Self { line, ticks, walls, lead: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len() + self.ticks.len() + self.walls.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an item in. The lead of the wall clock is noted if it may have been set back at the next look.
    pub(crate) fn push(&mut self, due: Due, sequence: u64, item: T, now: Now) -> Ticket
    where
        T: Ticketed,
    {
        let ticket = match due {
            Due::Tick(tick) => {
                let key = Key { due: tick.as_nanos(), sequence };
                match self.line.admits(key).filter(|_| tick <= now.tick) {
                    Some(ticket) => {
                        self.line.push(key, item);
                        ticket
                    }
                    None => self.ticks.push(key, item),
                }
            }
            Due::Wall(due) => {
                self.lead = self.lead.max(Some(now.wall.lead(now.tick)));
                self.walls.push(Key { due: due.key(), sequence }, item).marked()
            }
        };
        if let Some(item) = self.find(ticket) {
            item.set_ticket(ticket);
        }
        ticket
    }

    /// Puts in an item of the monotonic clock that notes that it is staged. One that stands in line goes on
    /// to, and is not touched: whoever wants it there has to [`seek`](Self::seek) it.
    #[inline]
    pub(crate) fn collect(&mut self, due: Tick, sequence: u64, item: T, is_due: bool)
    where
        T: Ticketed,
    {
        let key = Key { due: due.as_nanos(), sequence };
        if is_due && self.line.admits(key).is_some() {
            self.line.push(key, item);
            return;
        }
        self.ticks.push_with(key, item, T::set_ticket);
    }

    /// The ticket of an item that stands in line, or else one that no item has.
    pub(crate) fn seek(&self, due: Due, sequence: u64) -> Ticket {
        let Due::Tick(tick) = due else { return Ticket::NONE };
        self.line.seek(Key { due: tick.as_nanos(), sequence }).unwrap_or(Ticket::NONE)
    }

    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        match ticket.unmarked() {
            (ticket, true) => self.walls.remove(ticket),
            (ticket, false) if ticket.number_in_line().is_some() => self.line.remove(ticket),
            (ticket, false) => self.ticks.remove(ticket),
        }
    }

    pub(crate) fn find(&self, ticket: Ticket) -> Option<&T> {
        match ticket.unmarked() {
            (ticket, true) => self.walls.find(ticket),
            (ticket, false) if ticket.number_in_line().is_some() => self.line.find(ticket),
            (ticket, false) => self.ticks.find(ticket),
        }
    }

    /// Whether anything waits for the wall clock, or has since the last look at it.
    #[inline]
    pub(crate) fn waits_for_the_wall(&self) -> bool {
        self.lead.is_some()
    }

    /// Takes out what waits for a time ahead on the wall clock, if that was set back since the last look.
    ///
    /// A clock set forward needs nothing: what is due then is due. But a clock set back shows times
    /// again at which something could be due, and that nobody waits for.
    pub(crate) fn extract_if_set_back(&mut self, now: Now) -> Vec<T> {
        if self.walls.len() == 0 {
            self.lead = None;
            return Vec::new();
        }
        let lead = now.wall.lead(now.tick);
        let last = self.lead.replace(lead);
        if last.is_none_or(|last| last - lead <= SET_BACK_MIN) {
            return Vec::new();
        }
        // What is due all the same keeps its turn.
        let ahead = self.walls.extract(&mut |key, _| key.due > now.wall.key());
        ahead.into_iter().map(|(_, item)| item).collect()
    }

    /// Takes the first item that is due, of either clock, and tells its sequence.
    pub(crate) fn pop_due(&mut self, now: Now) -> Option<(u64, T)> {
        let tick = self.first_tick().filter(|key| is_due(key.due, now.tick.as_nanos()));
        let wall = self.walls.first().filter(|key| is_due(key.due, now.wall.key()));
        let is_wall_first = match (tick, wall) {
            (None, None) => return None,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(tick), Some(wall)) => reached_at(wall, now) < tick,
        };
        let (key, item) = if is_wall_first {
            self.walls.pop()?
        } else if self.line.first() == tick {
            self.line.pop()?
        } else {
            self.ticks.pop()?
        };
        Some((key.sequence, item))
    }

    /// Takes the first item of the monotonic clock, if it is due now and before this time, and tells its sequence.
    #[inline]
    pub(crate) fn pop_due_before(&mut self, earliest: Tick, now: Now) -> Option<(u64, T)> {
        let (line, tick) = (self.line.first(), self.ticks.first());
        let first = earlier(line, tick)?;
        let due = Tick::from_nanos(first.due);
        if due >= earliest || due > now.tick {
            return None;
        }
        let (key, item) = if line == Some(first) { self.line.pop()? } else { self.ticks.pop()? };
        Some((key.sequence, item))
    }

    /// The key of the first item of the monotonic clock.
    #[inline]
    fn first_tick(&mut self) -> Option<Key> {
        earlier(self.line.first(), self.ticks.first())
    }

    /// Whether the first item is due now, and before this time; not if it could be one of the wall clock.
    #[inline]
    pub(crate) fn has_due_before(&mut self, earliest: Tick, now: Now) -> bool {
        let due = self.first_tick().map(|key| Tick::from_nanos(key.due));
        self.walls.len() == 0 && due.is_some_and(|due| due < earliest && due <= now.tick)
    }

    /// When to look again, on the monotonic clock: so much later than the first item is due, or may be.
    ///
    /// What is due at the end of time needs no look: a wait until then would spin on a clock that has
    /// come there.
    pub(crate) fn next_look(&mut self, now: Now, slack: Duration) -> Option<Tick> {
        let tick = self.first_tick().map(|key| Tick::from_nanos(key.due) + slack);
        let looks = [tick, self.wall_look(now, slack)];
        looks.into_iter().flatten().min().filter(|look| *look != Tick::MAX)
    }

    /// When to look again after the next look, on the monotonic clock, as far as that is at hand.
    pub(crate) fn second_look(&mut self, now: Now, slack: Duration) -> Option<Tick> {
        let mut keys =
            [self.line.first(), self.line.second(), self.ticks.first(), self.ticks.second()];
        keys.sort_unstable_by_key(|key| key.map_or((true, 0), |key| (false, key.due)));
        let [first, second, ..] = keys.map(|key| key.map(|key| Tick::from_nanos(key.due) + slack));
        let wall = self.wall_look(now, slack);
        let is_wall_first = wall.is_some_and(|wall| first.is_none_or(|first| wall < first));
        let look = if is_wall_first { first } else { [second, wall].into_iter().flatten().min() };
        look.filter(|look| *look != Tick::MAX)
    }

    /// The wall clock may be set meanwhile, so this is never far away, however much slack there is.
    fn wall_look(&mut self, now: Now, slack: Duration) -> Option<Tick> {
        let key = self.walls.first()?;
        let left = Duration::from_nanos(key.due.saturating_sub(now.wall.key()));
        Some(now.tick + left.saturating_add(slack).min(WALL_CHECK))
    }

    /// When the first item is due, as both clocks go now: for whoever moves the clocks himself.
    pub(crate) fn first_due(&mut self, now: Now) -> Option<Tick> {
        let tick = self.first_tick().map(|key| Tick::from_nanos(key.due));
        let wall = self.walls.first().map(|key| Tick::from_nanos(reached_at(key, now).due));
        [tick, wall].into_iter().flatten().min().filter(|due| *due != Tick::MAX)
    }

    /// Takes out what `leaves` picks; it is asked with whether the item is due.
    pub(crate) fn extract(&mut self, now: Now, leaves: &mut dyn FnMut(bool, &T) -> bool) -> Vec<T> {
        // What stands in line was due when it came, which may have been after this reading.
        let mut out = self.line.extract(&mut |_, item| leaves(true, item));
        let mut tick_leaves =
            |key: Key, item: &T| leaves(is_due(key.due, now.tick.as_nanos()), item);
        out.append(&mut self.ticks.extract(&mut tick_leaves));
        let walls =
            self.walls.extract(&mut |key, item| leaves(is_due(key.due, now.wall.key()), item));
        out.extend(walls.into_iter().map(|(key, item)| (reached_at(key, now), item)));
        out.sort_by_key(|(key, _)| *key);
        out.into_iter().map(|(_, item)| item).collect()
    }

    /// Takes out everything, in no particular order.
    pub(crate) fn clear(&mut self) -> Vec<T> {
        let mut out = self.line.extract(&mut |_, _| true);
        out.append(&mut self.ticks.extract(&mut |_, _| true));
        out.append(&mut self.walls.extract(&mut |_, _| true));
        out.into_iter().map(|(_, item)| item).collect()
    }

    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Due, &T)) {
        let mut visit_tick = |key: Key, item: &T| visit(Due::Tick(Tick::from_nanos(key.due)), item);
        self.line.for_each(&mut visit_tick);
        self.ticks.for_each(&mut visit_tick);
        self.walls.for_each(&mut |key, item| visit(Due::Wall(WallTime::from_key(key.due)), item));
    }
}

/// What is told where it stands in the queue.
pub(crate) trait Ticketed {
    fn set_ticket(&self, ticket: Ticket);

    /// Has what is behind it brought into the cache.
    fn look(&self);
}

#[inline]
fn earlier(one: Option<Key>, other: Option<Key>) -> Option<Key> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The end of time is never reached, not even by a clock that has come to its own end.
fn is_due(due: u64, now: u64) -> bool {
    due <= now && due != u64::MAX
}

/// The key that a wall-clock item would have on the monotonic clock.
fn reached_at(wall: Key, now: Now) -> Key {
    let (due, wall_now) = (wall.due, now.wall.key());
    let tick = now.tick.as_nanos();
    let due = if due >= wall_now {
        tick.saturating_add(due - wall_now)
    } else {
        tick.saturating_sub(wall_now - due)
    };
    Key { due, sequence: wall.sequence }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Now {
        let tick = Tick::from_nanos(u64::try_from(seconds).unwrap() * 1_000_000_000);
        Now { tick, wall: WallTime::from_nanos((1_000_000 + seconds) * 1_000_000_000) }
    }

    fn tick(seconds: i64) -> Due {
        Due::Tick(at(seconds).tick)
    }

    fn wall(seconds: i64) -> Due {
        Due::Wall(at(seconds).wall)
    }

    /// What does not look where it stands.
    macro_rules! unticketed {
        ($($type:ty)*) => {$(
            impl Ticketed for $type {
                fn set_ticket(&self, _: Ticket) {}

                fn look(&self) {}
            }
        )*};
    }
    unticketed!(() char u64 &str);

    #[test]
    fn items_of_both_clocks_leave_in_one_order() {
        let mut agenda = Agenda::new();
        for (sequence, due) in (0..).zip([wall(3), tick(2), wall(1), tick(3), wall(2), tick(9)]) {
            agenda.push(due, sequence, sequence, at(0));
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| agenda.pop_due(at(3))).map(|(_, item)| item).collect();
        assert_eq!(order, [2, 1, 4, 0, 3]);
        assert_eq!(agenda.next_look(at(3), Duration::ZERO), Some(at(9).tick));
        assert_eq!(agenda.len(), 1);
    }

    #[test]
    fn a_wall_clock_that_is_set_moves_what_waits_for_it_and_nothing_else() {
        let mut agenda = Agenda::new();
        agenda.push(wall(100), 0, "wall", at(0));
        agenda.push(tick(100), 1, "tick", at(0));
        let mut now = at(1);
        assert_eq!(agenda.pop_due(now), None);
        now.wall = now.wall + Duration::from_secs(99);
        assert_eq!(agenda.pop_due(now), Some((0, "wall")));
        assert_eq!(agenda.pop_due(now), None);
    }

    #[test]
    fn a_wait_for_the_wall_is_bounded_and_ends_at_the_instant() {
        let mut agenda = Agenda::new();
        agenda.push(wall(100), 0, (), at(1));
        assert_eq!(agenda.next_look(at(1), Duration::ZERO), Some(at(1).tick + WALL_CHECK));
        assert_eq!(agenda.first_due(at(1)), Some(at(100).tick));
        let mut now = at(100);
        now.wall = now.wall - Duration::from_millis(3);
        assert_eq!(
            agenda.next_look(now, Duration::ZERO),
            Some(now.tick + Duration::from_millis(3))
        );
    }

    #[test]
    fn only_a_wall_clock_that_is_set_back_gives_its_items_back() {
        let mut agenda = Agenda::new();
        agenda.push(wall(100), 0, "wall", at(0));
        agenda.push(tick(100), 1, "tick", at(0));
        let mut now = at(10);
        assert_eq!(agenda.extract_if_set_back(now), Vec::<&str>::new());
        now.wall = now.wall + Duration::from_secs(5);
        assert_eq!(agenda.extract_if_set_back(now), Vec::<&str>::new());
        now.wall = now.wall - Duration::from_millis(400);
        assert_eq!(agenda.extract_if_set_back(now), Vec::<&str>::new());
        now.wall = now.wall - Duration::from_millis(600);
        assert_eq!(agenda.extract_if_set_back(now), ["wall"]);
        assert_eq!(agenda.len(), 1);
    }

    /// Between two looks the clock goes ahead, an item comes by its time, and it goes back.
    #[test]
    fn what_came_while_the_clock_was_ahead_is_given_back_too() {
        let mut agenda = Agenda::new();
        agenda.push(wall(1), 0, "first", at(0));
        assert_eq!(agenda.pop_due(at(1)), Some((0, "first")));
        let mut ahead = at(2);
        ahead.wall = ahead.wall + Duration::from_secs(1_000);
        agenda.push(wall(1_005), 1, "by the clock ahead", ahead);
        agenda.push(wall(7), 2, "by the right clock", at(3));
        let mut given = agenda.extract_if_set_back(at(4));
        given.sort_unstable();
        assert_eq!(given, ["by the clock ahead", "by the right clock"]);
    }

    #[test]
    fn tickets_of_the_two_clocks_are_not_mistaken_for_each_other() {
        let mut agenda = Agenda::new();
        let first = agenda.push(tick(5), 0, 'a', at(0));
        let second = agenda.push(wall(5), 1, 'b', at(0));
        assert_ne!(first, second);
        assert_eq!((agenda.find(first), agenda.find(second)), (Some(&'a'), Some(&'b')));
        assert_eq!(agenda.remove(second), Some('b'));
        assert_eq!(agenda.remove(second), None);
        assert_eq!(agenda.remove(first), Some('a'));
        assert!(agenda.is_empty());
    }

    /// What was due when it came stands in line, and everything leaves in the order of its key.
    #[test]
    fn the_line_and_the_queues_are_one_order() {
        let mut agenda = Agenda::new();
        // In line are those that are due when they come and later than those before them.
        let dues = [(3, 5), (7, 5), (4, 5), (5, 5), (6, 6), (2, 6), (6, 6), (9, 6)];
        let mut keys = Vec::new();
        for (sequence, (due, now)) in (0..).zip(dues) {
            let ticket = agenda.push(tick(due), sequence, sequence, at(now));
            assert_eq!(agenda.find(ticket), Some(&sequence));
            keys.push((due, sequence));
        }
        assert!(agenda.line.len() > 1 && agenda.ticks.len() > 1);
        assert_eq!(agenda.second_look(at(0), Duration::ZERO), Some(at(3).tick));
        agenda.push(wall(4), 50, 50, at(6));
        keys.push((4, 50));
        keys.sort_unstable();
        assert_eq!(agenda.first_due(at(6)), Some(at(2).tick));
        let order: Vec<u64> =
            std::iter::from_fn(|| agenda.pop_due(at(8))).map(|(_, item)| item).collect();
        let expected: Vec<u64> = keys.iter().map(|(_, sequence)| *sequence).collect();
        assert_eq!(order, expected[..expected.len() - 1]);
        assert_eq!((agenda.len(), agenda.next_look(at(8), Duration::ZERO)), (1, Some(at(9).tick)));
    }

    /// Who looks second would find nothing at the time of the first.
    #[test]
    fn the_second_look_is_after_the_first_of_either_clock() {
        let (mut agenda, now) = (Agenda::new(), at(1));
        let look = |millis| Some(now.tick + Duration::from_millis(millis));
        agenda.push(Due::Tick(Tick::MAX), 0, (), now);
        assert_eq!(
            (agenda.next_look(now, Duration::ZERO), agenda.second_look(now, Duration::ZERO)),
            (None, None)
        );
        agenda.push(tick(3), 1, (), now);
        assert_eq!(
            (agenda.next_look(now, Duration::ZERO), agenda.second_look(now, Duration::ZERO)),
            (look(2000), None)
        );
        agenda.push(tick(2), 2, (), now);
        assert_eq!(
            (agenda.next_look(now, Duration::ZERO), agenda.second_look(now, Duration::ZERO)),
            (look(1000), look(2000))
        );
        agenda.push(wall(100), 3, (), now);
        assert_eq!(
            (agenda.next_look(now, Duration::ZERO), agenda.second_look(now, Duration::ZERO)),
            (look(500), look(1000))
        );
        agenda.push(Due::Tick(now.tick + Duration::from_millis(200)), 4, (), now);
        assert_eq!(
            (agenda.next_look(now, Duration::ZERO), agenda.second_look(now, Duration::ZERO)),
            (look(200), look(500))
        );
    }

    #[test]
    fn the_wall_clock_is_looked_at_twice_a_second_however_much_slack_there_is() {
        let (mut agenda, now, slack) = (Agenda::new(), at(1), Duration::from_secs(10));
        agenda.push(wall(100), 1, (), now);
        assert_eq!(agenda.next_look(now, slack), Some(now.tick + WALL_CHECK));
        let before = Now { wall: at(100).wall, ..now };
        assert_eq!(agenda.next_look(before, slack), Some(now.tick + WALL_CHECK));
        let slack = Duration::from_millis(3);
        assert_eq!(agenda.next_look(before, slack), Some(now.tick + slack));
        agenda.push(tick(2), 2, (), now);
        assert_eq!(agenda.second_look(now, slack), Some(at(2).tick + slack));
    }

    #[test]
    fn what_came_due_after_a_reading_is_due_to_whoever_goes_by_that() {
        let mut agenda = Agenda::new();
        agenda.push(tick(2), 1, "due", at(2));
        agenda.push(tick(3), 2, "later", at(2));
        assert_eq!(agenda.extract(at(1), &mut |is_due, _| !is_due), ["later"]);
        assert_eq!(agenda.len(), 1);
    }

    #[test]
    fn what_is_due_at_the_end_of_time_never_is() {
        let mut agenda = Agenda::new();
        agenda.push(Due::Tick(Tick::MAX), 0, (), at(0));
        let now = Now { tick: Tick::MAX, wall: at(0).wall };
        assert_eq!(agenda.pop_due(now), None);
        assert_eq!(agenda.next_look(now, Duration::ZERO), None);
        assert_eq!(agenda.first_due(now), None);
    }

    #[test]
    fn what_is_due_when_it_comes_stands_in_line_and_is_taken_at_that_instant() {
        let mut agenda = Agenda::new();
        let is_in_line = |ticket: Ticket| ticket.number_in_line().is_some();
        assert!(is_in_line(agenda.push(tick(1), 0, (), at(1))));
        assert!(!is_in_line(agenda.push(tick(2), 1, (), at(1))));
        assert_eq!(agenda.pop_due_before(Tick::MAX, at(1)), Some((0, ())));
        assert_eq!(agenda.pop_due_before(Tick::MAX, at(1)), None);
        assert_eq!(agenda.pop_due_before(at(2).tick, at(2)), None);
        assert_eq!(agenda.pop_due_before(Tick::MAX, at(2)), Some((1, ())));
    }
}
