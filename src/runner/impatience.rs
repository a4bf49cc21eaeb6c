//! Tells a second wish to end from the echo of the first one.

use std::time::Duration;

use scheduler_core::Tick;

/// Signals that come this soon after the first are the same wish. One Ctrl-C can reach a process
/// twice: `timeout` signals its child and then the group, and so do some shells and supervisors.
/// Nobody presses Ctrl-C again, and means it, in so short a time.
const ECHO: Duration = Duration::from_millis(250);

/// What a signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Stop, and let running tasks finish.
    Stop,
    /// The wish that is known already.
    Echo,
    /// A wish of its own: to end at once.
    Quit,
}

/// When somebody first wished that the scheduler stops.
#[derive(Debug, Default)]
pub(super) struct Impatience {
    first: Option<Tick>,
}

impl Impatience {
    pub(super) const fn new() -> Self {
        Self { first: None }
    }

    /// What a signal that comes at `now` means. `is_news` says whether it told a scheduler to stop;
    /// one that did not is an echo, or a wish to end without waiting.
    pub(super) fn hear(&mut self, now: Tick, is_news: bool) -> Wish {
        if is_news {
            self.first = Some(now);
            return Wish::Stop;
        }
        match self.first {
            Some(first) if now.since(first) < ECHO => Wish::Echo,
            _ => Wish::Quit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Tick {
        Tick::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn two_signals_in_one_instant_are_one_wish() {
        let mut impatience = Impatience::new();
        assert_eq!(impatience.hear(at(1_000), true), Wish::Stop);
        for echo in [1_000, 1_001, 1_249] {
            assert_eq!(impatience.hear(at(echo), false), Wish::Echo, "{echo} ms");
        }
    }

    #[test]
    fn a_later_signal_is_a_second_wish_however_many_echoes_there_were() {
        let mut impatience = Impatience::new();
        assert_eq!(impatience.hear(at(1_000), true), Wish::Stop);
        assert_eq!(impatience.hear(at(1_200), false), Wish::Echo);
        assert_eq!(impatience.hear(at(1_250), false), Wish::Quit);
    }

    #[test]
    fn a_signal_that_tells_no_scheduler_to_stop_is_a_wish_to_end() {
        assert_eq!(Impatience::new().hear(at(0), false), Wish::Quit);
    }

    #[test]
    fn each_scheduler_is_told_even_soon_after_the_one_before() {
        let mut impatience = Impatience::new();
        assert_eq!(impatience.hear(at(1_000), true), Wish::Stop);
        assert_eq!(impatience.hear(at(1_100), true), Wish::Stop);
        assert_eq!(impatience.hear(at(1_300), false), Wish::Echo);
        assert_eq!(impatience.hear(at(1_350), false), Wish::Quit);
    }
}
