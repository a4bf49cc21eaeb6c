//! Distinguishes a second signal from a repetition of the first one.

use std::time::Duration;

use scheduler_core::Tick;

/// Signals this soon after the first count as the same one. One Ctrl-C can reach a process twice: `timeout` signals its
/// child and then the group, and so do some shells and supervisors.
const REPETITION: Duration = Duration::from_millis(250);

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Stop, and let running tasks finish.
    Stop,
    /// Nothing new.
    Repeated,
    /// End the process at once.
    Quit,
}

/// The time of the first signal.
#[derive(Debug, Default)]
pub(super) struct FirstSignal {
    at: Option<Tick>,
}

impl FirstSignal {
    pub(super) const fn new() -> Self {
        Self { at: None }
    }

    /// Returns the request of a signal at `now`. `has_stopped` is true if it made a scheduler stop.
    pub(super) fn classify(&mut self, now: Tick, has_stopped: bool) -> Request {
        if has_stopped {
            self.at = Some(now);
            return Request::Stop;
        }
        match self.at {
            Some(first) if now.since(first) < REPETITION => Request::Repeated,
            _ => Request::Quit,
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
    fn two_signals_in_one_instant_are_one_request() {
        let mut first = FirstSignal::new();
        assert_eq!(first.classify(at(1_000), true), Request::Stop);
        for repeated in [1_000, 1_001, 1_249] {
            assert_eq!(first.classify(at(repeated), false), Request::Repeated, "{repeated} ms");
        }
    }

    #[test]
    fn a_later_signal_is_a_second_request_after_any_number_of_repetitions() {
        let mut first = FirstSignal::new();
        assert_eq!(first.classify(at(1_000), true), Request::Stop);
        assert_eq!(first.classify(at(1_200), false), Request::Repeated);
        assert_eq!(first.classify(at(1_250), false), Request::Quit);
    }

    #[test]
    fn a_signal_that_stops_no_scheduler_ends_the_process() {
        assert_eq!(FirstSignal::new().classify(at(0), false), Request::Quit);
    }

    #[test]
    fn each_scheduler_is_stopped_even_soon_after_the_one_before() {
        let mut first = FirstSignal::new();
        assert_eq!(first.classify(at(1_000), true), Request::Stop);
        assert_eq!(first.classify(at(1_100), true), Request::Stop);
        assert_eq!(first.classify(at(1_300), false), Request::Repeated);
        assert_eq!(first.classify(at(1_350), false), Request::Quit);
    }
}
