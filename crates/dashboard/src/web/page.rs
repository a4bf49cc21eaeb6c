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
/// The part of the script for what a store keeps.
const JOBS: &str = include_str!("../../page/jobs.js");
const TIMELINE: &str = include_str!("../../page/timeline.js");
/// The part for what is wrong.
const TROUBLE: &str = include_str!("../../page/trouble.js");

static SCRIPT_OF_ALL: LazyLock<String> = LazyLock::new(|| {
    let script = SCRIPT.replace("// {{trouble}}", TROUBLE).replace("// {{jobs}}", JOBS);
    let script = script.replace("// {{timeline}}", TIMELINE);
    compact(&script)
});
static STYLE_OF_ALL: LazyLock<String> = LazyLock::new(|| {
    let spaces = [(": ", ":"), ("; ", ";"), (", ", ","), (" {", "{"), ("{ ", "{"), (" }", "}")];
    spaces.iter().fold(compact(STYLE), |style, (from, to)| style.replace(from, to))
});
static DOCUMENT: LazyLock<String> = LazyLock::new(|| compact(HTML));

/// Returns a text without its indentation and its lines of comments. No text in the page goes over several lines.
fn compact(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("// "));
    lines.collect::<Vec<_>>().join("\n")
}

/// `GET /`
pub(crate) async fn page(State(app): State<Arc<App>>) -> Response {
    let Ok(nonce) = random_text() else {
        let detail = "the system gives no random numbers";
        return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail).into_response();
    };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let auth = if app.keeper.is_by_token() { "token" } else { "program" };
    // The style and the script come last, so that nothing in them is replaced.
    let text = DOCUMENT
        .replace("{{nonce}}", &nonce)
        .replace("{{auth}}", auth)
        .replace("{{title}}", &escaped(&app.options.title))
        .replace("{{style}}", &STYLE_OF_ALL)
        .replace("{{script}}", &SCRIPT_OF_ALL);
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
    fn the_page_is_small_and_asks_nobody_else() {
        let size = DOCUMENT.len() + STYLE_OF_ALL.len() + SCRIPT_OF_ALL.len();
        assert!(size <= 100_000, "{size}");
        for part in [HTML, STYLE, SCRIPT, JOBS, TROUBLE, TIMELINE] {
            // The name space of SVG is no address that is asked.
            let text = part.replace("http://www.w3.org/2000/svg", "");
            assert!(
                !text.contains("http://")
                    && !text.contains("https://")
                    && !text.contains("innerHTML")
            );
        }
        assert!(
            SCRIPT.contains("// {{jobs}}")
                && SCRIPT.contains("// {{trouble}}")
                && SCRIPT.contains("// {{timeline}}")
                && !SCRIPT.contains("</script")
                && !JOBS.contains("</script")
                && !TROUBLE.contains("</script")
                && !STYLE.contains("</style")
        );
    }

    #[test]
    fn a_title_is_only_text() {
        assert_eq!(escaped("<b>\"&{{script}}"), "&lt;b&gt;&quot;&amp;&#123;&#123;script}}");
    }
}
