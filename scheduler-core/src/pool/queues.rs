//! The queues of both clocks as one: what is due on the monotonic clock and what is due on the wall.
//!
//! Two queues, because a wall-clock instant stays one until it is reached. Each look compares it with
//! what the wall clock shows *then*, so a wall clock that is set, or that went on while the machine was
//! suspended, needs no re-keying: the instant simply is reached sooner or later. The price is that a
//! wait for a wall-clock instant has to be bounded, by [`WALL_CHECK`]. What is due stands in line beside them, behind a
//! lock of its own: see `ready`.

use std::sync::Arc;
use std::time::Duration;

use super::ready::{Front, Ready, Wall};
use super::staging::{Newcomer, Place};
use crate::sync::planted;
use crate::time::{Due, Now, Tick, WallTime};
use scheduler_queue::{DelayQueue, HeapQueue, Key, Ticket, WheelQueue};

/// After at most this long a wait for a wall-clock instant looks at the wall clock again.
pub(crate) const WALL_CHECK: Duration = Duration::from_millis(500);

/// So many items that have become due are put into the line at once, so that no lock is held for long.
const BATCH: usize = 64;

/// Everything that waits to be run, in the order in which it is due.
#[derive(Debug)]
pub(crate) struct Queues<T> {
    /// What was due on the monotonic clock when it came, or has become due since.
    ready: Arc<Ready<T>>,
    ticks: WheelQueue<T>,
    walls: HeapQueue<T>,
    /// What the line knows as the first of the rest, or something before it.
    limit: Option<Key>,
    /// Whether anything waits for the wall clock, or has since the last look at it.
    watches_wall: bool,
}

impl<T: Placed> Queues<T> {
    pub(crate) fn new() -> Self {
        let (ticks, walls) = (WheelQueue::new(T::look), HeapQueue::new());
        Self { ready: Arc::new(Ready::new()), ticks, walls, limit: None, watches_wall: false }
    }

    /// What is due, for workers that take it without the lock of the pool.
    pub(crate) fn ready(&self) -> &Arc<Ready<T>> {
        &self.ready
    }

    pub(crate) fn len(&self) -> usize {
        self.len_and(|| ()).0
    }

    /// The number of items, and what else is seen while none is taken.
    pub(crate) fn len_and<R>(&self, look: impl FnOnce() -> R) -> (usize, R) {
        let front = self.ready.lock();
        let len = front.line.len() + self.ticks.len() + self.walls.len();
        (len, look())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an item in. The lead of the wall clock is noted if it may have been set back at the next look.
    pub(crate) fn push(&mut self, due: Due, sequence: u64, item: T, now: Now) {
        match due {
            Due::Tick(tick) => {
                item.set_ticket(Ticket::STAGED);
                let is_due = is_due(tick.as_nanos(), now.tick.as_nanos());
                self.collect([Newcomer { due: tick, sequence, item, is_due }]);
            }
            Due::Wall(due) => {
                let key = Key { due: due.key(), sequence };
                let ticket = self.walls.push(key, item).marked();
                if let Some(item) = self.walls.find(ticket.unmarked().0) {
                    item.set_ticket(ticket);
                }
                self.watches_wall = true;
                let mut front = self.ready.lock();
                let lead = now.wall.lead(now.tick);
                let wall = front.wall.get_or_insert(Wall { due: None, lead });
                let due = wall.due.map_or(key.due, |due| due.min(key.due));
                *wall = Wall { due: Some(due), lead: wall.lead.max(lead) };
            }
        }
    }

    /// Puts in items of the monotonic clock. One that stands in line is not touched, it is found by its key.
    #[inline]
    pub(crate) fn collect(&mut self, items: impl IntoIterator<Item = Newcomer<T>>) {
        let Self { ready, ticks, limit, .. } = self;
        let mut front = ready.lock();
        for newcomer in items {
            let key = newcomer.key();
            let Newcomer { item, is_due, .. } = newcomer;
            if is_due && item.may_stand_in_line() && front.line.admits(key) {
                front.line.push(key, item);
                continue;
            }
            // Before a worker can take what comes after it.
            if limit.is_none_or(|limit| key < limit) {
                *limit = Some(key);
                front.limit = *limit;
            }
            ticks.push_with(key, item, T::set_ticket);
        }
        ready.note(&front);
    }

    /// Takes the first item that is due, of either clock, with its sequence. Then puts what has become due into
    /// the line, as far as it comes after what stands there, and lets all be taken that comes before the rest.
    pub(crate) fn take(&mut self, now: Now) -> Option<(u64, T)> {
        let Self { ready, ticks, walls, limit, .. } = self;
        let mut front = ready.lock();
        front.came = None;
        let taken = pop_due(&mut front, ticks, walls, now);
        let tick = now.tick.as_nanos();
        let mut first = ticks.first();
        for _ in 0..BATCH {
            let Some(key) = first.filter(|key| is_due(key.due, tick)) else { break };
            if !front.line.admits(key) {
                break;
            }
            let Some((key, item)) = ticks.pop() else { break };
            if !item.may_stand_in_line() {
                ticks.push_with(key, item, T::set_ticket);
                break;
            }
            front.line.push(key, item);
            first = ticks.first();
        }
        *limit = first;
        front.limit = first;
        if let Some(wall) = &mut front.wall {
            wall.due = walls.first().map(|wall| wall.due);
        }
        ready.note(&front);
        taken
    }

    pub(crate) fn remove(&mut self, place: Place) -> Option<T> {
        match place.ticket.unmarked() {
            (ticket, true) => {
                let found = self.walls.remove(ticket);
                self.note_walls();
                found
            }
            (ticket, false) => {
                let found = self.ticks.remove(ticket);
                found.or_else(|| self.ready.alter(|line| line.remove(place.key)))
            }
        }
    }

    /// Notes when the first is due that waits for the wall clock, or that none does any more.
    fn note_walls(&mut self) {
        let due = self.walls.first().map(|wall| wall.due);
        if let Some(wall) = &mut self.ready.lock().wall {
            wall.due = due;
        }
    }

    /// Calls `look` with an item, if it is in the queue.
    pub(crate) fn find<R>(&self, place: Place, look: impl FnOnce(&T) -> R) -> Option<R> {
        match place.ticket.unmarked() {
            (ticket, true) => self.walls.find(ticket).map(look),
            (ticket, false) => match self.ticks.find(ticket) {
                Some(item) => Some(look(item)),
                None => self.ready.lock().line.find(place.key).map(look),
            },
        }
    }

    /// Reads the memory of an item that is to be removed, to bring it into the cache.
    pub(crate) fn prefetch(&self, place: Place) {
        std::hint::black_box(self.ticks.find(place.ticket).is_some());
    }

    /// Takes out what waits for a time ahead on the wall clock, if that was set back since the last look.
    ///
    /// A clock set forward needs nothing: what is due then is due. But a clock set back shows times
    /// again at which something could be due, and for which no worker waits.
    pub(crate) fn extract_if_set_back(&mut self, now: Now) -> Vec<T> {
        if !self.watches_wall {
            return Vec::new();
        }
        let mut front = self.ready.lock();
        if self.walls.len() == 0 {
            (self.watches_wall, front.wall) = (false, None);
            return Vec::new();
        }
        if !front.wall.as_mut().is_some_and(|wall| wall.look(now)) {
            return Vec::new();
        }
        drop(front);
        // What is due all the same keeps its turn.
        let ahead = self.walls.extract(&mut |key, _| key.due > now.wall.key());
        self.note_walls();
        ahead.into_iter().map(|(_, item)| item).collect()
    }

    /// Returns true if a submitter has put anything in line since the last call, or the last look at the line.
    pub(crate) fn has_come(&mut self) -> bool {
        self.ready.lock().came.take().is_some() && !planted("L16 parks")
    }

    /// The key of the first item of the monotonic clock.
    #[inline]
    fn first_tick(&mut self) -> Option<Key> {
        let line = if planted("L16 look") { None } else { self.ready.lock().line.first() };
        earlier(line, self.ticks.first())
    }

    /// When to look again, on the monotonic clock: so much later than the first item is due, or may be.
    ///
    /// What is due at the end of time needs no look: a wait until then would spin on a clock that has
    /// come there.
    pub(crate) fn next_wake_up(&mut self, now: Now, slack: Duration) -> Option<Tick> {
        let tick = self.first_tick().map(|key| Tick::from_nanos(key.due) + slack);
        let wake_ups = [tick, self.wall_wake_up(now, slack)];
        wake_ups.into_iter().flatten().min().filter(|look| *look != Tick::MAX)
    }

    /// When to look again after the next look, on the monotonic clock, as far as that is at hand.
    pub(crate) fn second_wake_up(&mut self, now: Now, slack: Duration) -> Option<Tick> {
        let in_line = {
            let front = self.ready.lock();
            [front.line.first(), front.line.second()]
        };
        let mut keys = [in_line[0], in_line[1], self.ticks.first(), self.ticks.second()];
        keys.sort_unstable_by_key(|key| key.map_or((true, 0), |key| (false, key.due)));
        let [first, second, ..] = keys.map(|key| key.map(|key| Tick::from_nanos(key.due) + slack));
        let wall = self.wall_wake_up(now, slack);
        let is_wall_first = wall.is_some_and(|wall| first.is_none_or(|first| wall < first));
        let look = if is_wall_first { first } else { [second, wall].into_iter().flatten().min() };
        look.filter(|look| *look != Tick::MAX)
    }

    /// The wall clock may be set meanwhile, so this is never far away, however much slack there is.
    fn wall_wake_up(&mut self, now: Now, slack: Duration) -> Option<Tick> {
        let key = self.walls.first()?;
        let left = Duration::from_nanos(key.due.saturating_sub(now.wall.key()));
        Some(now.tick + left.saturating_add(slack).min(WALL_CHECK))
    }

    /// When the first item is due, as both clocks go now: for a test that moves the clocks itself.
    pub(crate) fn first_due(&mut self, now: Now) -> Option<Tick> {
        let tick = self.first_tick().map(|key| Tick::from_nanos(key.due));
        let wall = self.walls.first().map(|key| Tick::from_nanos(reached_at(key, now).due));
        [tick, wall].into_iter().flatten().min().filter(|due| *due != Tick::MAX)
    }

    /// Takes out what `leaves` picks; it is asked with whether the item is due.
    pub(crate) fn extract(&mut self, now: Now, leaves: &mut dyn FnMut(bool, &T) -> bool) -> Vec<T> {
        // What stands in line was due when it came, which may have been after this reading.
        let mut out = self.ready.alter(|line| line.extract(&mut |_, item| leaves(true, item)));
        if planted("L16 drain") {
            out.clear();
        }
        let mut tick_leaves =
            |key: Key, item: &T| leaves(is_due(key.due, now.tick.as_nanos()), item);
        out.append(&mut self.ticks.extract(&mut tick_leaves));
        let walls =
            self.walls.extract(&mut |key, item| leaves(is_due(key.due, now.wall.key()), item));
        out.extend(walls.into_iter().map(|(key, item)| (reached_at(key, now), item)));
        self.note_walls();
        out.sort_by_key(|(key, _)| *key);
        out.into_iter().map(|(_, item)| item).collect()
    }

    /// Takes out everything, in no particular order.
    pub(crate) fn clear(&mut self) -> Vec<T> {
        let mut out = self.ready.alter(|line| line.extract(&mut |_, _| true));
        out.append(&mut self.ticks.extract(&mut |_, _| true));
        out.append(&mut self.walls.extract(&mut |_, _| true));
        self.note_walls();
        out.into_iter().map(|(_, item)| item).collect()
    }

    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(Due, &T)) {
        let mut visit_tick = |key: Key, item: &T| visit(Due::Tick(Tick::from_nanos(key.due)), item);
        self.ready.lock().line.for_each(&mut visit_tick);
        self.ticks.for_each(&mut visit_tick);
        self.walls.for_each(&mut |key, item| visit(Due::Wall(WallTime::from_key(key.due)), item));
    }
}

/// Takes the first item that is due, with its sequence.
fn pop_due<T>(
    front: &mut Front<T>,
    ticks: &mut WheelQueue<T>,
    walls: &mut HeapQueue<T>,
    now: Now,
) -> Option<(u64, T)> {
    let line = front.line.first().filter(|key| is_due(key.due, now.tick.as_nanos()));
    let rest = ticks.first().filter(|key| is_due(key.due, now.tick.as_nanos()));
    let tick = earlier(line, rest);
    let wall = walls.first().filter(|key| is_due(key.due, now.wall.key()));
    let is_wall_first = match (tick, wall) {
        (None, None) => return None,
        (Some(_), None) => false,
        (None, Some(_)) => true,
        (Some(tick), Some(wall)) => reached_at(wall, now) < tick,
    };
    let (key, item) = if is_wall_first {
        walls.pop()?
    } else if line == tick {
        front.line.pop()?
    } else {
        ticks.pop()?
    };
    Some((key.sequence, item))
}

/// An item that knows its place in the queue.
pub(crate) trait Placed {
    /// Notes where it is found, unless it stands in line.
    fn set_ticket(&self, ticket: Ticket);

    /// Returns true if it may be taken without the lock of the pool.
    fn may_stand_in_line(&self) -> bool;

    /// Reads what is behind it, to bring it into the cache.
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
pub(crate) fn is_due(due: u64, now: u64) -> bool {
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
    use std::cell::Cell;
    use std::rc::Rc;

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

    /// Notes where it stands.
    #[derive(Clone, Debug, Default)]
    struct Noting(Rc<Cell<Option<Ticket>>>);

    impl Placed for Noting {
        fn set_ticket(&self, ticket: Ticket) {
            self.0.set(Some(ticket));
        }

        fn may_stand_in_line(&self) -> bool {
            true
        }

        fn look(&self) {}
    }

    /// What does not look where it stands.
    macro_rules! unplaced {
        ($($type:ty)*) => {$(
            impl Placed for $type {
                fn set_ticket(&self, _: Ticket) {}

                fn may_stand_in_line(&self) -> bool {
                    true
                }

                fn look(&self) {}
            }
        )*};
    }
    unplaced!(() char u64 &str);

    #[test]
    fn items_of_both_clocks_leave_in_one_order() {
        let mut queues = Queues::new();
        for (sequence, due) in (0..).zip([wall(3), tick(2), wall(1), tick(3), wall(2), tick(9)]) {
            queues.push(due, sequence, sequence, at(0));
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| queues.take(at(3))).map(|(_, item)| item).collect();
        assert_eq!(order, [2, 1, 4, 0, 3]);
        assert_eq!(queues.next_wake_up(at(3), Duration::ZERO), Some(at(9).tick));
        assert_eq!(queues.len(), 1);
    }

    #[test]
    fn a_wall_clock_that_is_set_moves_what_waits_for_it_and_nothing_else() {
        let mut queues = Queues::new();
        queues.push(wall(100), 0, "wall", at(0));
        queues.push(tick(100), 1, "tick", at(0));
        let mut now = at(1);
        assert_eq!(queues.take(now), None);
        now.wall = now.wall + Duration::from_secs(99);
        assert_eq!(queues.take(now), Some((0, "wall")));
        assert_eq!(queues.take(now), None);
    }

    #[test]
    fn a_wait_for_the_wall_is_bounded_and_ends_at_the_instant() {
        let mut queues = Queues::new();
        queues.push(wall(100), 0, (), at(1));
        assert_eq!(queues.next_wake_up(at(1), Duration::ZERO), Some(at(1).tick + WALL_CHECK));
        assert_eq!(queues.first_due(at(1)), Some(at(100).tick));
        let mut now = at(100);
        now.wall = now.wall - Duration::from_millis(3);
        assert_eq!(
            queues.next_wake_up(now, Duration::ZERO),
            Some(now.tick + Duration::from_millis(3))
        );
    }

    #[test]
    fn only_a_wall_clock_that_is_set_back_gives_its_items_back() {
        let mut queues = Queues::new();
        queues.push(wall(100), 0, "wall", at(0));
        queues.push(tick(100), 1, "tick", at(0));
        let mut now = at(10);
        assert_eq!(queues.extract_if_set_back(now), Vec::<&str>::new());
        now.wall = now.wall + Duration::from_secs(5);
        assert_eq!(queues.extract_if_set_back(now), Vec::<&str>::new());
        now.wall = now.wall - Duration::from_millis(400);
        assert_eq!(queues.extract_if_set_back(now), Vec::<&str>::new());
        now.wall = now.wall - Duration::from_millis(600);
        assert_eq!(queues.extract_if_set_back(now), ["wall"]);
        assert_eq!(queues.len(), 1);
    }

    /// Between two looks the clock goes ahead, an item comes by its time, and it goes back.
    #[test]
    fn what_came_while_the_clock_was_ahead_is_given_back_too() {
        let mut queues = Queues::new();
        queues.push(wall(1), 0, "first", at(0));
        assert_eq!(queues.take(at(1)), Some((0, "first")));
        let mut ahead = at(2);
        ahead.wall = ahead.wall + Duration::from_secs(1_000);
        queues.push(wall(1_005), 1, "by the clock ahead", ahead);
        queues.push(wall(7), 2, "by the right clock", at(3));
        let mut given = queues.extract_if_set_back(at(4));
        given.sort_unstable();
        assert_eq!(given, ["by the clock ahead", "by the right clock"]);
    }

    #[test]
    fn an_item_is_found_where_it_stands() {
        let mut queues = Queues::new();
        let dues = [tick(5), wall(5), tick(1), tick(4)];
        let items: Vec<_> = (0..4).map(|_| Noting::default()).collect();
        for ((due, item), sequence) in dues.into_iter().zip(&items).zip(0..) {
            queues.push(due, sequence, item.clone(), at(1));
        }
        let place = |number: usize| Place {
            ticket: items[number].0.get().unwrap(),
            key: Key { due: dues[number].into_parts().1, sequence: number as u64 },
        };
        assert_ne!(place(0).ticket, place(1).ticket);
        assert_eq!(place(2).ticket, Ticket::STAGED, "it stands in line");
        queues.take(at(4)).unwrap();
        for number in [0, 1, 3] {
            let is_it = |item: &Noting| Rc::ptr_eq(&item.0, &items[number].0);
            assert_eq!(queues.find(place(number), is_it), Some(true));
            assert!(queues.remove(place(number)).is_some_and(|item| is_it(&item)));
            assert!(queues.remove(place(number)).is_none());
        }
        assert!(queues.is_empty());
    }

    /// What was due when it came stands in line, and everything leaves in the order of its key.
    #[test]
    fn the_line_and_the_queues_are_one_order() {
        for is_claimed in [false, true] {
            let mut queues = Queues::new();
            // In line are those that are due when they come and later than those before them.
            let dues = [(3, 5), (7, 5), (4, 5), (5, 5), (6, 6), (2, 6), (6, 6), (9, 6)];
            let mut keys = Vec::new();
            for (sequence, (due, now)) in (0..).zip(dues) {
                queues.push(tick(due), sequence, sequence, at(now));
                keys.push((due, sequence));
            }
            assert!(queues.ready.lock().line.len() > 1 && queues.ticks.len() > 1);
            assert_eq!(queues.second_wake_up(at(0), Duration::ZERO), Some(at(3).tick));
            queues.push(wall(4), 50, 50, at(6));
            keys.push((4, 50));
            keys.sort_unstable();
            assert_eq!(queues.first_due(at(6)), Some(at(2).tick));
            let ready = Arc::clone(queues.ready());
            let mut claims = 0;
            let take = || {
                let now = at(8);
                let claimed = if is_claimed { ready.claim(now, |_, _| ()) } else { None };
                claims += usize::from(claimed.is_some());
                claimed.map(|(item, ())| item).or_else(|| queues.take(now).map(|(_, item)| item))
            };
            let order: Vec<u64> = std::iter::from_fn(take).collect();
            let expected: Vec<u64> = keys.iter().map(|(_, sequence)| *sequence).collect();
            assert_eq!(order, expected[..expected.len() - 1]);
            assert_eq!(claims > 2, is_claimed, "{claims}");
            let look = queues.next_wake_up(at(8), Duration::ZERO);
            assert_eq!((queues.len(), look), (1, Some(at(9).tick)));
        }
    }

    /// The second worker to look would find nothing at the time of the first.
    #[test]
    fn the_second_look_is_after_the_first_of_either_clock() {
        let (mut queues, now) = (Queues::new(), at(1));
        let look = |millis| Some(now.tick + Duration::from_millis(millis));
        queues.push(Due::Tick(Tick::MAX), 0, (), now);
        assert_eq!(
            (queues.next_wake_up(now, Duration::ZERO), queues.second_wake_up(now, Duration::ZERO)),
            (None, None)
        );
        queues.push(tick(3), 1, (), now);
        assert_eq!(
            (queues.next_wake_up(now, Duration::ZERO), queues.second_wake_up(now, Duration::ZERO)),
            (look(2000), None)
        );
        queues.push(tick(2), 2, (), now);
        assert_eq!(
            (queues.next_wake_up(now, Duration::ZERO), queues.second_wake_up(now, Duration::ZERO)),
            (look(1000), look(2000))
        );
        queues.push(wall(100), 3, (), now);
        assert_eq!(
            (queues.next_wake_up(now, Duration::ZERO), queues.second_wake_up(now, Duration::ZERO)),
            (look(500), look(1000))
        );
        queues.push(Due::Tick(now.tick + Duration::from_millis(200)), 4, (), now);
        assert_eq!(
            (queues.next_wake_up(now, Duration::ZERO), queues.second_wake_up(now, Duration::ZERO)),
            (look(200), look(500))
        );
    }

    #[test]
    fn the_wall_clock_is_looked_at_twice_a_second_however_much_slack_there_is() {
        let (mut queues, now, slack) = (Queues::new(), at(1), Duration::from_secs(10));
        queues.push(wall(100), 1, (), now);
        assert_eq!(queues.next_wake_up(now, slack), Some(now.tick + WALL_CHECK));
        let before = Now { wall: at(100).wall, ..now };
        assert_eq!(queues.next_wake_up(before, slack), Some(now.tick + WALL_CHECK));
        let slack = Duration::from_millis(3);
        assert_eq!(queues.next_wake_up(before, slack), Some(now.tick + slack));
        queues.push(tick(2), 2, (), now);
        assert_eq!(queues.second_wake_up(now, slack), Some(at(2).tick + slack));
    }

    #[test]
    fn what_came_due_after_a_reading_is_due_by_the_next() {
        let mut queues = Queues::new();
        queues.push(tick(2), 1, "due", at(2));
        queues.push(tick(3), 2, "later", at(2));
        assert_eq!(queues.extract(at(1), &mut |is_due, _| !is_due), ["later"]);
        assert_eq!(queues.len(), 1);
    }

    #[test]
    fn what_is_due_at_the_end_of_time_never_is() {
        let mut queues = Queues::new();
        queues.push(Due::Tick(Tick::MAX), 0, (), at(0));
        let now = Now { tick: Tick::MAX, wall: at(0).wall };
        assert_eq!(queues.take(now), None);
        assert_eq!(queues.next_wake_up(now, Duration::ZERO), None);
        assert_eq!(queues.first_due(now), None);
    }
}
