//! The zone of cron expressions that name none.

use scheduler_core::trigger::Zone;

use super::report::Message;

/// Finds the default zone: the builder's, `TZ`'s, the system's, or else UTC. A configured zone must be valid. The system's may be missing, as in many containers; then
/// there is a warning. `variable` is the value of `TZ`.
pub(super) fn default_zone(
    asked: Option<&str>,
    variable: &str,
) -> Result<(Zone, Option<Message>), String> {
    let known = |zone| (zone, None);
    if let Some(name) = asked {
        return name.parse().map(known).map_err(|error: scheduler_expr::ParseError| {
            let help = error.help().map(|help| format!("\nhelp: {help}"));
            format!("the scheduler's zone: {error}{}", help.unwrap_or_default())
        });
    }
    if let Some(zone) = Zone::of_variable(variable) {
        return zone
            .map(known)
            .or_else(|error| Ok((Zone::UTC, Some(warning(&format!("the variable TZ: {error}"))))));
    }
    let found = Zone::system().map(known);
    found.or_else(|error| Ok((Zone::UTC, Some(warning(&error.to_string())))))
}

fn warning(reason: &str) -> Message {
    Message::warn(format!("{reason}; cron expressions without a zone go by UTC")).note(
        "help: name a zone: Scheduler::builder().zone(\"Europe/Berlin\"), or set TZ=Europe/Berlin",
    )
}
