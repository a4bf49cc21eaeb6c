//! Cron rules in words.

/// The words of a cron rule that is shown with its expression and its zone.
pub(super) fn words_of(rule: &str, expression: &str, zone: &str) -> Option<String> {
    let rest = rule.strip_prefix(expression)?;
    let rest = rest.strip_suffix(&format!(" in {zone}"))?.trim();
    let words = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    words.map(str::to_owned).filter(|words| !words.is_empty())
}
