//! The trait of services to which runs are reported.

use std::sync::Arc;

use crate::ping::{Ping, Request};

/// A service to which runs are reported, and which raises an alarm about those that fail or never come.
///
/// A monitor only makes the request for each ping. When requests are sent, how often and with what patience is the same
/// for all of them.
///
/// ```
/// use scheduler_monitors::{Monitor, Phase, Ping, Request};
///
/// /// An address of one's own that counts successes.
/// struct Tally(String);
///
/// impl Monitor for Tally {
///     fn name(&self) -> &str {
///         "tally"
///     }
///
///     fn request(&self, ping: &Ping) -> Option<Request> {
///         let is_success = ping.phase == Phase::Succeeded;
///         is_success.then(|| Request::get(format!("{}?task={}", self.0, ping.task.name)))
///     }
/// }
/// ```
pub trait Monitor: Send + Sync {
    /// The name of the service in messages, such as `healthchecks`. It must hold no secret.
    fn name(&self) -> &str;

    /// The request for this ping; none if the service does not need it.
    ///
    /// Called on the thread that sends, again for each further try.
    fn request(&self, ping: &Ping) -> Option<Request>;
}

impl<M: Monitor + ?Sized> Monitor for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn request(&self, ping: &Ping) -> Option<Request> {
        (**self).request(ping)
    }
}
