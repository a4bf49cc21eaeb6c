//! The OpenAPI description of the routes.

use std::collections::BTreeMap;

use scheduler_api::{Described, Description, Field, ProblemDetails, Type};
use serde_json::{Map, Value, json};

use crate::web::routes::{AnswerKind, Route};

/// The schemas that are named by others, by their names.
type Schemas = BTreeMap<&'static str, Value>;

/// `GET /openapi.json`
pub(super) fn document(routes: &[Route]) -> String {
    let (mut paths, mut schemas) = (Map::new(), Schemas::new());
    for route in routes {
        let verb = if route.is_change { "post" } else { "get" };
        let operation = operation(route, verb, &mut schemas);
        paths.insert(route.path.to_owned(), json!({ verb: operation }));
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "scheduler-dashboard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The tasks and jobs of a program. Instants are RFC 3339 in UTC; \
                tasks and `info` name the zone in which people read them. Lengths are \
                milliseconds. Later versions may add fields to answers.",
        },
        // Relative to this document, whatever a proxy puts before it.
        "servers": [{ "url": "." }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    });
    document.to_string()
}

fn operation(route: &Route, verb: &str, schemas: &mut Schemas) -> Value {
    let (kind, answer) = match route.answer {
        AnswerKind::Json(of) => ("application/json", schema(of, schemas)),
        AnswerKind::Foreign(kind) => (kind, json!({})),
        AnswerKind::Text(kind) => (kind, json!({ "type": "string" })),
    };
    let problem = schema(ProblemDetails::TYPE, schemas);
    let role = if route.is_change { "Of operators." } else { "Of viewers and operators." };
    let mut operation = json!({
        "operationId": operation_id(route.path, verb),
        "summary": route.summary,
        "description": role,
        "parameters": parameters(route),
        "responses": {
            route.status.to_string(): { "description": "Success", "content": { kind: { "schema": answer } } },
            "default": {
                "description": "A refusal, whose `detail` says what to change",
                "content": { "application/problem+json": { "schema": problem } },
            },
        },
    });
    if route.is_change {
        let body = match route.body {
            Some(of) => schema(of, schemas),
            None => json!({ "type": "object" }),
        };
        let content = json!({ "application/json": { "schema": body } });
        operation["requestBody"] = json!({ "content": content });
    }
    operation
}

/// The name of an operation for generated clients: `post_tasks_name_pause`.
fn operation_id(path: &str, verb: &str) -> String {
    let path = path.trim_start_matches("/api/v1");
    let words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.fold(verb.to_owned(), |id, word| format!("{id}_{word}"))
}

fn parameters(route: &Route) -> Vec<Value> {
    let parts = route.path.split(['{', '}']).skip(1).step_by(2);
    let in_path = parts.map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let fields = match route.query {
        Some(Type::Struct(query)) => query.fields,
        _ => &[],
    };
    let in_query = fields.iter().map(|field| {
        let mut parameter = json!({ "name": field.json_name(), "in": "query" });
        parameter["schema"] = schema(field.of, &mut Schemas::new());
        describe(&mut parameter, field.text);
        parameter
    });
    in_path.chain(in_query).collect()
}

/// The schema of a type. That of a struct is kept with the others, and named.
fn schema(of: Type, schemas: &mut Schemas) -> Value {
    match of {
        Type::Text => json!({ "type": "string" }),
        Type::Count => json!({ "type": "integer", "minimum": 0 }),
        Type::Number => json!({ "type": "number" }),
        Type::Flag => json!({ "type": "boolean" }),
        Type::List(of) => json!({ "type": "array", "items": schema(*of, schemas) }),
        Type::Struct(of) => {
            if !schemas.contains_key(of.name) {
                let object = object(of, schemas);
                schemas.insert(of.name, object);
            }
            json!({ "$ref": format!("#/components/schemas/{}", of.name) })
        }
    }
}

fn object(of: &Description, schemas: &mut Schemas) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in flat(of.fields) {
        let name = field.json_name();
        let mut property = schema(field.of, schemas);
        describe(&mut property, field.text);
        properties.insert(name.clone(), property);
        // A missing field of a request has its default.
        if !field.is_optional && !of.is_closed() {
            required.push(name);
        }
    }
    let mut object = json!({ "type": "object", "properties": properties, "required": required });
    describe(&mut object, of.text);
    if of.is_closed() {
        object["additionalProperties"] = false.into();
    }
    object
}

/// Fields, with those of a flat one in its place.
fn flat(fields: &'static [Field]) -> Vec<&'static Field> {
    let flat = fields.iter().flat_map(|field| match field.of {
        Type::Struct(of) if field.is_flat() => flat(of.fields),
        _ => vec![field],
    });
    flat.collect()
}

fn describe(schema: &mut Value, text: &str) {
    if !text.trim().is_empty() {
        schema["description"] = text.trim().into();
    }
}
