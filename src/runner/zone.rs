//! The zone of cron expressions that name none: the builder's, `TZ`'s, the system's, or else UTC.

use std::env;

use scheduler_core::trigger::Zone;

use crate::error::StartError;
use crate::speech::Voice;

/// Finds the default zone. What the person asked for must be right; what the system says may be
/// missing, as it often is in a container, and then a warning says so.
pub(super) fn default_zone(asked: Option<&str>, voice: &Voice) -> Result<Zone, StartError> {
    if let Some(name) = asked {
        return name.parse().map_err(|error: scheduler_expr::ParseZoneError| {
            StartError::zone(&error, error.help().unwrap_or_default())
        });
    }
    if let Some(value) = env::var_os("TZ").filter(|value| !value.is_empty()) {
        let text = value.to_string_lossy();
        let name = text.trim_start_matches(':');
        return name.parse().or_else(|error: scheduler_expr::ParseZoneError| {
            warn(voice, &format!("the variable TZ: {error}"));
            Ok(Zone::UTC)
        });
    }
    Zone::system().or_else(|error| {
        warn(voice, &error.to_string());
        Ok(Zone::UTC)
    })
}

fn warn(voice: &Voice, reason: &str) {
    voice.say(&format!(
        "WARN  {reason}; cron expressions without a zone go by UTC\n      \
         help: name a zone: Scheduler::builder().zone(\"Europe/Berlin\"), or set TZ=Europe/Berlin"
    ));
}
