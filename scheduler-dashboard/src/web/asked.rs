//! The query of a request.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A query; what is wrong with it is said as every other refusal is.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(head, state).await;
        query.map(|Query(query)| Self(query)).map_err(|why| Problem::bad_request(why.body_text()))
    }
}
