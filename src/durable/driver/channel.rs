//! The requests that a thread of the driver sends, and their deadlines.

use std::sync::Arc;

use scheduler_core::Clock;
use scheduler_core::time::EventCount;
use scheduler_node::{Request, RequestId, Tick};

use crate::base::sync::Mutex;

/// The greatest number of threads of a channel that hang in a call at once. The call of one more is waited for; then
/// the node makes no progress, and its lease ends (R20).
const HANGING_MAX: u32 = 3;

/// Requests on their way to a thread. INVARIANT: the node has at most one in flight for each channel.
#[derive(Debug, Default)]
pub(super) struct RequestSlot {
    state: Mutex<State>,
    gate: Arc<EventCount>,
}

#[derive(Debug, Default)]
struct State {
    next: Option<(RequestId, Box<Request>)>,
    /// The request that is not answered yet, and when it is given up.
    asked: Option<(RequestId, Tick)>,
    /// The number of the thread that asks. Those before it hang in a call, and end after it.
    thread: u64,
    hanging: u32,
    is_closed: bool,
}

impl RequestSlot {
    /// Gives the thread a request.
    pub(super) fn send(&self, request: RequestId, what: Request, deadline: Tick) {
        let mut state = self.state.lock();
        if !state.is_closed {
            state.next = Some((request, Box::new(what)));
            state.asked = Some((request, deadline));
        }
        drop(state);
        self.gate.open();
    }

    /// Ends the threads, after the requests that they ask now.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        (state.is_closed, state.asked) = (true, None);
        drop(state);
        self.gate.open();
    }

    /// The number of the thread that asks.
    pub(super) fn thread(&self) -> u64 {
        self.state.lock().thread
    }

    /// Waits for a request; none when this thread is to end.
    pub(super) fn receive(
        &self,
        clock: &dyn Clock,
        thread: u64,
    ) -> Option<(RequestId, Box<Request>)> {
        loop {
            let seen = self.gate.epoch();
            let mut state = self.state.lock();
            if thread != state.thread {
                state.hanging = state.hanging.saturating_sub(1);
                return None;
            }
            if state.is_closed {
                return None;
            }
            if let Some(next) = state.next.take() {
                return Some(next);
            }
            drop(state);
            clock.wait(&self.gate, seen, None);
        }
    }

    /// A thread has the answer to a request, and does not hang.
    pub(super) fn answered(&self, request: RequestId) {
        self.state.lock().asked.take_if(|(asked, _)| *asked == request);
    }

    /// When the request that is not answered is given up.
    pub(super) fn deadline(&self) -> Tick {
        self.state.lock().asked.map_or(Tick::MAX, |(_, deadline)| deadline)
    }

    /// Gives up a request whose deadline has come: its thread ends when its call does, and the number of another one is
    /// returned. None if too many threads hang already, or none is late.
    pub(super) fn give_up(&self, now: Tick) -> Option<(RequestId, u64)> {
        let mut state = self.state.lock();
        let (request, _) = state.asked.take_if(|(_, deadline)| *deadline <= now)?;
        if state.hanging == HANGING_MAX {
            return None;
        }
        state.hanging += 1;
        state.thread += 1;
        Some((request, state.thread))
    }

    /// There is no other thread: the one that hangs asks on if its call ends.
    pub(super) fn keep_thread(&self) {
        let mut state = self.state.lock();
        state.thread -= 1;
        state.hanging = state.hanging.saturating_sub(1);
    }
}
