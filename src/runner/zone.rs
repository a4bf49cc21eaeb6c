//! The zone of cron expressions without one: the builder's, `TZ`'s, the system's, or else UTC.

use scheduler_core::trigger::Zone;

use crate::report::Message;

/// Finds the default zone. A configured zone must be valid. The system's may be missing, as in many containers; then
/// there is a warning. `variable` is the value of `TZ`.
pub(super) fn default_zone(
    asked: Option<&str>,
    variable: &str,
) -> Result<(Zone, Option<Message>), String> {
    let known = |zone| (zone, None);
    if let Some(name) = asked {
        return name.parse().map(known).map_err(|error: scheduler_expr::ParseZoneError| {
            let help = error.help().map(|help| format!("\nhelp: {help}"));
            format!("the scheduler's zone: {error}{}", help.unwrap_or_default())
        });
    }
    if let Some(name) = name_in_variable(variable) {
        return name.parse().map(known).or_else(|error: scheduler_expr::ParseZoneError| {
            Ok((Zone::UTC, Some(warning(&format!("the variable TZ: {error}")))))
        });
    }
    let found = Zone::system().map(known);
    found.or_else(|error| Ok((Zone::UTC, Some(warning(&error.to_string())))))
}

/// The zone that a value of `TZ` names, or whose file it names. `None` for the system's zone.
pub(super) fn name_in_variable(value: &str) -> Option<&str> {
    let path = value.trim_start_matches(':');
    let name = path.strip_prefix("/usr/share/zoneinfo/").unwrap_or(path);
    (!matches!(name, "" | "/etc/localtime")).then_some(name)
}

fn warning(reason: &str) -> Message {
    Message::warn(format!("{reason}; cron expressions without a zone go by UTC")).note(
        "help: name a zone: Scheduler::builder().zone(\"Europe/Berlin\"), or set TZ=Europe/Berlin",
    )
}

#[cfg(test)]
mod tests {
    use super::name_in_variable;

    #[test]
    fn the_variable_names_a_zone_or_its_file() {
        let check = |value: &str, expected: Option<&str>| {
            assert_eq!(name_in_variable(value), expected, "`{value}`");
        };
        check("Europe/Berlin", Some("Europe/Berlin"));
        check(":Europe/Berlin", Some("Europe/Berlin"));
        check("/usr/share/zoneinfo/Europe/Berlin", Some("Europe/Berlin"));
        check(":/usr/share/zoneinfo/UTC", Some("UTC"));
        check("CET-1CEST,M3.5.0,M10.5.0/3", Some("CET-1CEST,M3.5.0,M10.5.0/3"));
        check(":/etc/localtime", None);
        check("/etc/localtime", None);
        check(":", None);
        check("", None);
    }
}
