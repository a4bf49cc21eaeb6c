//! Refusals: `application/problem+json` (RFC 9457), whose `detail` says what to change.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use scheduler::{ControlError, JobsError};
use scheduler_api::ProblemDetails;

/// A request that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// The refusal of a rule that a visitor has written, who does not know the code.
    pub(crate) fn of_rule(error: &ControlError) -> Self {
        let status = match status_of(error) {
            StatusCode::CONFLICT => StatusCode::BAD_REQUEST,
            status => status,
        };
        Self::new(status, error.without_place())
    }

    /// A name that is not known, and near to one that is.
    pub(crate) fn misspelt<'a>(
        kind: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Option<Self> {
        let is_known = known.clone().into_iter().any(|known| known == name);
        let meant = scheduler_expr::nearest(name, known).filter(|_| !is_known)?;
        let detail = format!("no {kind} named `{name}`; did you mean `{meant}`?");
        Some(Self::new(StatusCode::NOT_FOUND, detail))
    }

    pub(crate) fn store_panicked() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the store has panicked")
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing here; see /api/v1/info")
    }
}

fn status_of(error: &ControlError) -> StatusCode {
    if error.is_unknown() {
        StatusCode::NOT_FOUND
    } else if error.is_stopping() || error.is_unavailable() {
        StatusCode::SERVICE_UNAVAILABLE
    } else if error.is_failed() {
        StatusCode::INTERNAL_SERVER_ERROR
    } else {
        StatusCode::CONFLICT
    }
}

impl From<ControlError> for Problem {
    fn from(error: ControlError) -> Self {
        Self::new(status_of(&error), error.to_string())
    }
}

impl From<JobsError> for Problem {
    fn from(error: JobsError) -> Self {
        let status = if error.is_not_found() {
            StatusCode::NOT_FOUND
        } else if error.is_unavailable() {
            StatusCode::SERVICE_UNAVAILABLE
        } else if error.is_failed() {
            StatusCode::INTERNAL_SERVER_ERROR
        } else if matches!(error, JobsError::NotDone(_)) {
            StatusCode::CONFLICT
        } else {
            StatusCode::BAD_REQUEST
        };
        Self::new(status, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemDetails {
            kind: "about:blank".to_owned(),
            title: self.status.canonical_reason().unwrap_or("refused").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail,
        };
        let mut response = (self.status, Json(body)).into_response();
        let problem = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, problem);
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
