//! The page: one document with its style and its script in it.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::access::random_text;
use crate::app::App;
use crate::problem::Problem;

const HTML: &str = include_str!("../../page/page.html");
const STYLE: &str = include_str!("../../page/page.css");
const SCRIPT: &str = include_str!("../../page/page.js");
/// The parts of the script, each with its place.
const PARTS: [(&str, &str); 4] = [
    ("// {{trouble}}", include_str!("../../page/trouble.js")),
    ("// {{jobs}}", include_str!("../../page/jobs.js")),
    ("// {{limits}}", include_str!("../../page/limits.js")),
    ("// {{timeline}}", include_str!("../../page/timeline.js")),
];

static WHOLE_SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let script = SCRIPT.to_owned();
    let script = PARTS.iter().fold(script, |script, (place, part)| script.replace(place, part));
    sent(&script)
});

static WHOLE_STYLE: LazyLock<String> = LazyLock::new(|| sent(STYLE));
static WHOLE_HTML: LazyLock<String> = LazyLock::new(|| sent(HTML));

/// A text as it is sent: as it is written, without indentation and comments. No literal goes over several lines.
fn sent(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("// "));
    lines.collect::<Vec<_>>().join("\n")
}

/// `GET /`
pub(super) async fn page(State(app): State<Arc<App>>) -> Response {
    let Ok(nonce) = random_text() else {
        let detail = "the system gives no random numbers";
        return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail).into_response();
    };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let auth = if app.authenticator.is_by_token() { "token" } else { "program" };
    // The style and the script come last, so that nothing in them is replaced.
    let text = WHOLE_HTML
        .replace("{{nonce}}", &nonce)
        .replace("{{auth}}", auth)
        .replace("{{title}}", &escaped(&app.options.title))
        .replace("{{style}}", &WHOLE_STYLE)
        .replace("{{script}}", &WHOLE_SCRIPT);
    let headers =
        [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)];
    (headers, text).into_response()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('{', "&#123;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_asks_no_other_server() {
        let size = WHOLE_HTML.len() + WHOLE_STYLE.len() + WHOLE_SCRIPT.len();
        println!("{size} bytes");
        assert!(size <= 110_000, "{size}");
        for text in [HTML, STYLE, &WHOLE_SCRIPT] {
            // The name space of SVG is no address that is asked.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(["http://", "https://", "innerHTML"].iter().all(|bad| !text.contains(bad)));
        }
        assert!(PARTS.iter().all(|(place, _)| SCRIPT.contains(place)));
        assert!(!WHOLE_SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }

    #[test]
    fn a_title_is_only_text() {
        assert_eq!(escaped("<b>\"&{{script}}"), "&lt;b&gt;&quot;&amp;&#123;&#123;script}}");
    }
}
