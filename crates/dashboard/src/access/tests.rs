//! Tests of visitors, their tokens, and names of hosts.

use super::*;
use axum::http::Request;

fn head(authorization: &str) -> Parts {
    let request = Request::builder().header(AUTHORIZATION, authorization);
    request.body(()).unwrap().into_parts().0
}

#[test]
fn a_token_is_known_only_as_a_whole() {
    let token = |secret: &str, visitor| Token { secret: secret.to_owned(), visitor };
    let tokens = vec![
        token("0123456789abcdef", Visitor::operator("ops")),
        token("fedcba9876543210", Visitor::viewer("wall")),
    ];
    let authenticator = Authenticator::new(Auth::Tokens(tokens));
    let visitor = |text: &str| authenticator.visitor(&head(text), None).visitor;
    assert_eq!(visitor("Bearer 0123456789abcdef"), Ok(Visitor::operator("ops")));
    assert_eq!(visitor("bearer  fedcba9876543210"), Ok(Visitor::viewer("wall")));
    for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ", "Bearer é"] {
        assert!(visitor(wrong).is_err(), "{wrong}");
    }
    assert_eq!(visitor("Basic 0123456789abcdef"), Err(Denied::Missing));
}

#[tokio::test(start_paused = true)]
async fn who_guesses_too_often_gets_slow_answers_and_who_is_known_does_not() {
    let token =
        |secret: &str, name| Token { secret: secret.to_owned(), visitor: Visitor::operator(name) };
    let tokens = vec![token("0123456789abcdef", "ops"), token("fedcba9876543210", "new")];
    let authenticator = Authenticator::new(Auth::Tokens(tokens));
    let (here, there) = (Some([127, 0, 0, 1].into()), Some([127, 0, 0, 2].into()));
    let send = |token: &str, from| authenticator.visitor(&head(&format!("Bearer {token}")), from);
    let denied = |denied, after, is_guessed| Authentication {
        visitor: Err(denied),
        after: Duration::from_secs(after),
        is_guessed,
    };
    let ops = Authentication::at_once(Ok(Visitor::operator("ops")));
    assert_eq!(send("0123456789abcdef", here), ops);
    for number in 1..=WRONG_MAX {
        let is_last = number == WRONG_MAX;
        assert_eq!(send("x", here), denied(Denied::Wrong, 0, is_last), "{number}");
    }
    // One answer a second, whether the token is right or wrong.
    assert_eq!(send("x", here), denied(Denied::TooMany, 1, false));
    let right = send("fedcba9876543210", here);
    assert_eq!(
        (right.visitor, right.after),
        (Ok(Visitor::operator("new")), Duration::from_secs(2))
    );
    (3..=10).for_each(|after| {
        assert_eq!(send("x", here), denied(Denied::TooMany, after, false));
    });
    assert_eq!(send("x", here), denied(Denied::TooMany, 0, false), "it is not looked at");
    // Those who came before, and other addresses, do not wait.
    assert_eq!(send("0123456789abcdef", here), ops);
    assert_eq!(send("x", there), denied(Denied::Wrong, 0, false));
    assert_eq!(send("0123456789abcdef", there), ops);
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(send("x", here), denied(Denied::TooMany, 8, false));
    tokio::time::advance(WINDOW).await;
    assert_eq!(send("x", here), denied(Denied::Wrong, 0, false));
}

#[test]
fn a_right_token_that_would_wait_too_long_is_refused_like_a_wrong_one() {
    let now = Instant::now();
    let mut sender = Sender::new(now);
    (0..20).for_each(|_| drop(sender.decide(None, now)));
    let right = sender.decide(Some(Visitor::operator("ops")), now);
    assert_eq!(right, Authentication::at_once(Err(Denied::TooMany)));
}

#[test]
fn random_texts_differ_and_are_long() {
    let (one, other) = (random_text().unwrap(), random_text().unwrap());
    assert_ne!(one, other);
    assert!(one.len() >= TOKEN_BYTES_MIN);
}

fn head_of(host: &[&str]) -> Parts {
    let mut request = Request::builder().uri("/");
    for host in host {
        request = request.header(HOST, *host);
    }
    request.body(()).unwrap().into_parts().0
}

#[test]
fn only_names_of_the_list_are_allowed() {
    let served = Hosts::served(([127, 0, 0, 1], 9095).into(), &["ops.example".into()], false);
    for good in
        ["127.0.0.1:9095", "localhost:9095", "LOCALHOST:9095", "[::1]:9095", "ops.example:1"]
    {
        assert!(served.check(&head_of(&[good])).is_ok(), "{good}");
    }
    for bad in [
        "evil.example",
        "evil.example:9095",
        "127.0.0.1.evil.example:9095",
        "localhost.:9095",
        "127.0.0.1:9096",
        "127.0.0.1",
        "localhost:9095:9095",
        "localhost:+9095",
        "10.0.0.1:9095",
        "",
    ] {
        assert!(served.check(&head_of(&[bad])).is_err(), "{bad}");
    }
    assert!(served.check(&head_of(&[])).is_err());
    assert!(served.check(&head_of(&["localhost:9095", "localhost:9095"])).is_err());
}

#[test]
fn on_all_addresses_an_address_is_a_good_name_and_a_foreign_name_is_not() {
    let served = Hosts::served(([0, 0, 0, 0], 9095).into(), &[], false);
    assert!(served.check(&head_of(&["10.1.2.3:9095"])).is_ok());
    assert!(served.check(&head_of(&["[fe80::1]:9095"])).is_ok());
    assert!(served.check(&head_of(&["10.1.2.3:9096"])).is_err());
    assert!(served.check(&head_of(&["evil.example:9095"])).is_err());
    let mounted = Hosts::mounted(&["ops.example:8443".into()], false);
    assert!(mounted.check(&head_of(&["localhost:1"])).is_ok());
    assert!(mounted.check(&head_of(&["ops.example:8443"])).is_ok());
    assert!(mounted.check(&head_of(&["ops.example"])).is_err());
}

#[test]
fn the_browser_says_where_a_request_comes_from() {
    let foreign = |name: &'static str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        is_cross_origin(&headers, "localhost:9095")
    };
    assert!(!is_cross_origin(&HeaderMap::new(), "localhost:9095"), "no browser");
    assert!(!foreign("origin", "http://localhost:9095"));
    assert!(!foreign("origin", "https://localhost:9095"));
    assert!(!foreign("sec-fetch-site", "same-origin"));
    for origin in ["http://evil.example", "null", "localhost:9095", "http://localhost:9096"] {
        assert!(foreign("origin", origin), "{origin}");
    }
    assert!(foreign("sec-fetch-site", "cross-site"));
    assert!(foreign("sec-fetch-site", "same-site"));
}
