//! The zone of cron expressions that name none: the builder's, `TZ`'s, the system's, or else UTC.

use scheduler_core::trigger::Zone;

use crate::speech::Message;
use crate::speech::Voice;

/// Finds the default zone. What the person asked for must be right; what the system says may be
/// missing, as it often is in a container, and then a warning says so. `variable` is the value of `TZ`.
pub(super) fn default_zone(
    asked: Option<&str>,
    variable: &str,
    voice: &Voice,
) -> Result<Zone, String> {
    if let Some(name) = asked {
        return name.parse().map_err(|error: scheduler_expr::ParseZoneError| {
            let help = error.help().map(|help| format!("\nhelp: {help}"));
            format!("the scheduler's zone: {error}{}", help.unwrap_or_default())
        });
    }
    if let Some(name) = name_in_variable(variable) {
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

/// The zone that a value of `TZ` names, by itself or by its file; none if that is the system's.
pub(super) fn name_in_variable(value: &str) -> Option<&str> {
    let path = value.trim_start_matches(':');
    let name = path.strip_prefix("/usr/share/zoneinfo/").unwrap_or(path);
    (!matches!(name, "" | "/etc/localtime")).then_some(name)
}

fn warn(voice: &Voice, reason: &str) {
    let text = format!("{reason}; cron expressions without a zone go by UTC");
    voice.say(&Message::warn(text).note(
        "help: name a zone: Scheduler::builder().zone(\"Europe/Berlin\"), or set TZ=Europe/Berlin",
    ));
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
