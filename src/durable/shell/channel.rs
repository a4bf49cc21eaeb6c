//! What a thread of the shell is to ask the store next.

use std::sync::{Arc, PoisonError};

use scheduler_core::Clock;
use scheduler_core::time::Gate;
use scheduler_node::{Request, RequestId};

use crate::sync::Mutex;

/// A request on its way to a thread. INVARIANT: the node has at most one in flight for each channel.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    next: Mutex<Next>,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
enum Next {
    #[default]
    Nothing,
    Ask(RequestId, Box<Request>),
    End,
}

impl Outgoing {
    /// Gives the thread a request.
    pub(super) fn send(&self, request: RequestId, what: Request) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*next, Next::End) {
            *next = Next::Ask(request, Box::new(what));
        }
        drop(next);
        self.gate.open();
    }

    /// Ends the thread, after the request that it asks now.
    pub(super) fn close(&self) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Next::End;
        self.gate.open();
    }

    /// Waits for a request; none when the thread is to end.
    pub(super) fn receive(&self, clock: &dyn Clock) -> Option<(RequestId, Box<Request>)> {
        loop {
            let seen = self.gate.epoch();
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *next {
                Next::End => return None,
                Next::Ask(..) => {
                    let Next::Ask(request, what) = std::mem::take(&mut *next) else { continue };
                    return Some((request, what));
                }
                Next::Nothing => {}
            }
            drop(next);
            clock.wait(&self.gate, seen, None);
        }
    }
}
