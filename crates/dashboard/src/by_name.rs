//! Rows of the store and of the facade as types of the API.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The fields of a type of the API that a row has by the same names; the others have their defaults. The row may have more: only
/// what the API describes is shown.
pub(crate) fn by_name<T: DeserializeOwned + Default>(row: &impl Serialize) -> T {
    let value = serde_json::to_value(row).map(in_camel_case);
    value.and_then(serde_json::from_value).unwrap_or_default()
}

fn in_camel_case(value: Value) -> Value {
    match value {
        Value::Array(list) => list.into_iter().map(in_camel_case).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (scheduler_api::json_name(&name), in_camel_case(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use scheduler::store::UnknownTask;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_fills_the_fields_of_its_names_and_no_others() {
        let row =
            json!({ "task": "mail", "due": 2, "known_version": 7, "secret": "x", "nearest": null });
        let shown: scheduler_api::UnknownTask = by_name(&row);
        let meant = scheduler_api::UnknownTask {
            task: "mail".to_owned(),
            due: 2,
            known_version: Some(7),
            ..Default::default()
        };
        assert_eq!(shown, meant);
        let nothing: Option<UnknownTask> = None;
        assert_eq!(by_name::<scheduler_api::UnknownTask>(&nothing), Default::default());
    }
}
