//! Changes by hand.

use scheduler::store::{self, TargetKind};
use scheduler_api::Action;

use super::stored_state::rule_in_words;
use crate::app::App;
use crate::times::instant;

/// A change by hand. Addresses are for operators.
pub(crate) fn action(app: &App, action: &store::Action, shows_from: bool) -> Action {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let named = |kind| (action.kind == kind).then(|| action.name.clone());
    let task = action.task.clone().or_else(|| named(TargetKind::Task));
    let value = |value: &str| text(value).map(|value| rule_in_words(app, task.as_deref(), &value));
    Action {
        id: action.id.to_string(),
        at: instant(action.at),
        who: action.by.clone(),
        action: action.verb.clone(),
        count: action.count,
        queue: named(TargetKind::Queue),
        partition: named(TargetKind::Partition),
        schedule: named(TargetKind::Schedule),
        job: named(TargetKind::Job),
        matching: (!action.kind.is_named() && action.kind != TargetKind::Node)
            .then(|| action.name.clone()),
        process: named(TargetKind::Node),
        note: text(&app.options.redacted(&action.reason)),
        before: value(&action.before),
        after: value(&action.after),
        from: text(&action.address).filter(|_| shows_from),
        node: text(&action.node),
        role: text(&action.role).filter(|role| *role != action.by),
        task: task.unwrap_or_else(|| "*".to_owned()),
    }
}
