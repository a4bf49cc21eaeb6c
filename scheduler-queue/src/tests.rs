//! What both queues promise of the item after the first.

use crate::delay_queue::{DelayQueue, Key};
use crate::heap::HeapQueue;
use crate::wheel::WheelQueue;

/// A deputy waits for the item after the first: where it is not at hand, a worker has to be woken for it.
fn check_second(queue: &mut impl DelayQueue<u64>, dues: &[u64]) {
    for (sequence, due) in (0..).zip(dues) {
        queue.push(Key { due: *due, sequence }, sequence);
    }
    let mut keys: Vec<Key> =
        (0..).zip(dues).map(|(sequence, due)| Key { due: *due, sequence }).collect();
    keys.sort_unstable();
    for left in (0..keys.len()).rev() {
        let second = keys.len() - left;
        assert_eq!(queue.first(), keys.get(second - 1).copied());
        assert_eq!(queue.second(), keys.get(second).copied(), "{left} are left after it");
        queue.pop();
    }
    assert_eq!((queue.first(), queue.second()), (None, None));
}

#[test]
fn of_a_few_items_the_one_after_the_first_is_at_hand() {
    let dues: [&[u64]; 4] =
        [&[7], &[1, 2, 3, 4, 5, 6], &[6, 5, 4, 3, 2, 1], &[5, 1, 5, 9, 1, 1, 3]];
    for dues in dues {
        check_second(&mut HeapQueue::new(), dues);
        check_second(&mut WheelQueue::new(|_| ()), dues);
    }
}
