//! The visitors that get in, and the requests that they may send.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::{Clock, SystemClock};
use scheduler_dashboard::Dashboard;

use crate::support::*;

/// All that changes something.
const ACTIONS: [&str; 6] = [
    "/api/v1/tasks/a/run",
    "/api/v1/tasks/a/pause",
    "/api/v1/tasks/a/reschedule",
    "/api/v1/tasks:pause",
    "/api/v1/jobs/01890000-0000-7000-8000-000000000000/retry",
    "/api/v1/jobs:delete",
];

fn served() -> Served {
    serve(&dashboard(), builder().task("a", hourly(), |_| {}).task("x/y", hourly(), |_| {}))
}

/// Nothing has run, nothing is paused, no action was done.
fn is_untouched(served: &Served) -> bool {
    let task = served.task("a").snapshot();
    let actions = served.get("/api/v1/actions").json();
    task.counters.runs == 0 && !task.is_paused && actions["actions"] == serde_json::json!([])
}

fn request(served: &Served, method: &str, target: &str, headers: &[&str]) -> Answer {
    let mut text = format!("{method} {target} HTTP/1.1\r\nAuthorization: Bearer {OPERATOR}\r\n");
    headers.iter().for_each(|header| text.push_str(&format!("{header}\r\n")));
    text.push_str("Connection: close\r\n\r\n");
    served.raw(text.as_bytes())
}

fn assert_no_cors(answer: &Answer) {
    assert!(!answer.head.contains("access-control"), "{answer:?}");
}

#[test]
fn f_ht1_only_requests_for_an_allowed_host_are_answered() {
    let served = served();
    let own = served.address().to_string();
    let port = served.address().port();
    let foreign = [
        vec!["Host: evil.example".to_owned()],
        vec![format!("Host: evil.example:{port}")],
        vec![],
        vec![format!("Host: {own}"), format!("Host: {own}")],
        vec![format!("Host: {own}"), "Host: evil.example".to_owned()],
        vec![format!("Host: 127.0.0.1.evil.example:{port}")],
        vec![format!("Host: localhost.:{port}")],
        vec![format!("Host: 127.0.0.1:{}", port ^ 1)],
        vec!["Host: 127.0.0.1".to_owned()],
        vec![format!("Host: user@127.0.0.1:{port}")],
        vec!["Host: \u{fc}".to_owned()],
    ];
    for headers in &foreign {
        let headers: Vec<&str> = headers.iter().map(|header| &**header).collect();
        for path in ["/", "/api/v1/tasks", "/metrics", "/healthz", "/none"] {
            let answer = request(&served, "GET", path, &headers);
            assert!([400, 403].contains(&answer.status), "{headers:?} {path}: {answer:?}");
            assert_no_cors(&answer);
        }
        let json: Vec<&str> =
            headers.iter().copied().chain(["Content-Type: application/json"]).collect();
        let answer = request(&served, "POST", ACTIONS[0], &json);
        assert!([400, 403].contains(&answer.status), "{headers:?}: {answer:?}");
    }
    let target = "http://evil.example/api/v1/tasks";
    assert_eq!(request(&served, "GET", target, &[&format!("Host: {own}")]).status, 400);
    assert_eq!(request(&served, "GET", target, &["Host: evil.example"]).status, 403);
    for good in [
        own.clone(),
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
    ] {
        let answer = request(&served, "GET", "/api/v1/tasks", &[&format!("Host: {good}")]);
        assert_eq!(answer.status, 200, "{good}");
        assert_no_cors(&answer);
    }
    let refused = request(&served, "GET", "/", &["Host: evil.example"]);
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("allow_host(\"evil.example\")"), "{detail}");
    assert!(is_untouched(&served));
    served.stop();
}

#[test]
fn a_refused_change_names_its_origin_and_its_host_and_the_mistake_of_the_proxy() {
    let served = served();
    let own = served.address().to_string();
    let (host, json) = (format!("Host: {own}"), "Content-Type: application/json");
    let told = |origin: &str| {
        let answer = request(&served, "POST", ACTIONS[0], &[&host, json, origin]);
        assert_eq!(answer.status, 403, "{answer:?}");
        answer.json()["detail"].as_str().unwrap().to_owned()
    };
    // A proxy that does not pass `Host` sends its own upstream.
    assert_eq!(
        told("Origin: https://ops.example"),
        format!(
            "the request comes from another site: Origin is \"https://ops.example\", Host is {own:?}\n\
             help: a proxy in front has to pass Host, and Dashboard::allow_host has to name it"
        )
    );
    let long = told(&format!("Origin: https://{}.example", "x".repeat(4_000)));
    assert!(long.len() < 400, "{} bytes", long.len());
    assert!(is_untouched(&served));
    served.stop();
}

#[test]
fn f_ht1_only_json_of_the_same_origin_changes_anything() {
    let served = served();
    let own = served.address().to_string();
    let host = format!("Host: {own}");
    let json = "Content-Type: application/json";
    let origin = format!("Origin: http://{own}");
    let bad: [(&[&str], u16); 13] = [
        (&[json, "Origin: http://evil.example"], 403),
        (&[json, "Origin: null"], 403),
        (&[json, &origin, "Sec-Fetch-Site: cross-site"], 403),
        (&[json, "Sec-Fetch-Site: same-site"], 403),
        (&[json, &origin, "Origin: http://evil.example"], 403),
        (&["Content-Type: text/plain"], 415),
        (&["Content-Type: application/x-www-form-urlencoded"], 415),
        (&["Content-Type: multipart/form-data; boundary=x"], 415),
        (&["Content-Type: application/jsonx"], 415),
        (&[], 415),
        (&[json, "X-HTTP-Method-Override: GET"], 400),
        (&[json, "X-HTTP-Method: PUT"], 400),
        (&[json, "X-Method-Override: DELETE"], 400),
    ];
    for (headers, status) in bad {
        for path in ACTIONS {
            let headers: Vec<&str> = headers.iter().copied().chain([&*host]).collect();
            let answer = request(&served, "POST", path, &headers);
            assert_eq!(answer.status, status, "{headers:?} {path}: {answer:?}");
            assert_no_cors(&answer);
        }
    }
    for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW"] {
        for path in ACTIONS {
            let answer =
                request(&served, method, path, &[&host, json, "Origin: http://evil.example"]);
            assert!(
                [400, 403, 405, 415, 501].contains(&answer.status),
                "{method} {path}: {answer:?}"
            );
            assert_no_cors(&answer);
        }
    }
    assert!(is_untouched(&served));
    let good: [&[&str]; 3] = [
        &[json],
        &["Content-Type: application/json; charset=utf-8", &origin],
        &[json, &origin, "Sec-Fetch-Site: same-origin"],
    ];
    for headers in good {
        let headers: Vec<&str> = headers.iter().copied().chain([&*host]).collect();
        assert_eq!(request(&served, "POST", ACTIONS[1], &headers).status, 202, "{headers:?}");
    }
    served.stop();
}

#[test]
fn f_ht4_only_known_paths_are_answered_and_no_redirect_leaves_the_host() {
    let served = served();
    let host = format!("Host: {}", served.address());
    let long = "/".repeat(8 * 1_024);
    let unknown = [
        "/../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%5c..%5cx",
        "//evil.example/",
        "/%00",
        "/%",
        "/%zz",
        "/%c0%ae%c0%ae/",
        "/api/v1/tasks/%c0%ae",
        "/api/v1/tasks/x%252Fy",
        "/api/v1/tasks/x/y",
        "/api/v1/tasks/..%2fx",
        "/api/v1/../v1/tasks",
        "/api/v1/tasks/",
        "/page.js",
        "/index.html",
        &long,
    ];
    for path in unknown {
        let answer = request(&served, "GET", path, &[&host]);
        assert!([400, 404].contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.head.contains("location:") && !answer.body.contains("root:"), "{path}");
    }
    let found = request(&served, "GET", "/api/v1/tasks/x%2Fy", &[&host]);
    assert_eq!((found.status, &found.json()["name"]), (200, &"x/y".into()));
    assert_eq!(request(&served, "GET", "/api/v1/tasks/x%2fy/runs", &[&host]).status, 200);
    served.stop();
}

#[test]
fn every_refusal_is_a_problem_with_a_detail() {
    let served = served();
    let long = "x".repeat(513 * 1_024);
    let refused = |method: &str, path: &str, body: &str, status: u16| {
        let token = format!("Bearer {OPERATOR}");
        let headers = [("Authorization", &*token), ("Content-Type", "application/json")];
        let answer = served.send(method, path, &headers, body);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        let problem = answer.json();
        assert_eq!(problem["status"], status, "{path}");
        assert!(!problem["detail"].as_str().unwrap().is_empty(), "{path}: {problem}");
        answer
    };
    refused("GET", "/none", "", 404);
    refused("GET", "/api/v1/none", "", 404);
    refused("GET", "/api/v1/tasks/%c0%ae", "", 400);
    refused("GET", "/api/v1/tasks/a/runs?limit=x", "", 400);
    refused("POST", "/api/v1/tasks/a/pause", &long, 413);
    refused("POST", "/api/v1/tasks/a/pause", "[", 400);
    let method = refused("GET", "/api/v1/tasks/a/pause", "", 405);
    assert_eq!(method.header("allow"), Some("post"));
    refused("POST", "/metrics", "", 405);
    served.stop();
}

#[test]
fn an_address_that_the_network_reaches_is_refused_without_a_token() {
    let scheduler = builder().spawn().unwrap();
    let refused = |dashboard: Dashboard, address: &str| {
        let error = dashboard.serve(scheduler.tasks(), address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        error.to_string()
    };
    let text = refused(Dashboard::new(), "0.0.0.0:0");
    assert!(text.contains("reachable from the network") && text.contains("help: "), "{text}");
    refused(Dashboard::new(), "[::]:0");
    let text = refused(Dashboard::new().operator("ops", "short"), "127.0.0.1:0");
    assert!(
        text.contains("\"ops\"") && text.contains("16 bytes") && !text.contains("short"),
        "{text}"
    );
    refused(Dashboard::new().operator("ops", ""), "0.0.0.0:0");
    let server = dashboard().serve(scheduler.tasks(), "0.0.0.0:0").unwrap();
    let port = server.address().port();
    assert_eq!(server.link(), format!("http://localhost:{port}/"), "no token of the program");
    server.stop();
    scheduler.shutdown().unwrap();
}

#[test]
fn the_link_has_the_token_in_its_fragment_and_a_new_one_each_time() {
    let served = serve(&Dashboard::new(), builder().task("a", hourly(), |_| {}));
    let (page, token) = served.server.link().split_once("#token=").unwrap();
    assert_eq!(page, format!("http://{}/", served.address()));
    let ask = |token: &str| {
        let token = format!("Bearer {token}");
        served.send("GET", "/api/v1/info", &[("Authorization", &token)], "").status
    };
    assert_eq!((ask(token), ask("wrong"), ask("")), (200, 401, 401));
    assert!(!format!("{:?}", served.server).contains(token));
    let query = format!("/api/v1/info?token={token}");
    assert_eq!(served.send("GET", &query, &[], "").status, 401, "not in an address");
    let other = serve(&Dashboard::new(), builder());
    assert_ne!(other.server.link().split_once('#').unwrap().1, format!("token={token}"));
    other.stop();
    served.stop();
}

#[test]
fn a_viewer_sees_all_and_changes_nothing_and_read_only_is_for_all() {
    let ask = |served: &Served, token: &str, method: &str, path: &str| {
        let token = format!("Bearer {token}");
        let headers = [("Authorization", &*token), ("Content-Type", "application/json")];
        served.send(method, path, &headers, "")
    };
    let served = served();
    assert_eq!(ask(&served, VIEWER, "GET", "/api/v1/tasks").status, 200);
    for path in ACTIONS {
        let answer = ask(&served, VIEWER, "POST", path);
        assert_eq!(answer.status, 403);
        assert!(answer.json()["detail"].as_str().unwrap().contains("viewer"));
    }
    assert!(is_untouched(&served));
    let info = ask(&served, VIEWER, "GET", "/api/v1/info").json();
    assert_eq!(
        (&info["visitor"]["role"], &info["visitor"]["mayAct"]),
        (&"viewer".into(), &false.into())
    );
    served.stop();

    let served = serve(&dashboard().read_only(), builder().task("a", hourly(), |_| {}));
    for path in ACTIONS {
        let answer = ask(&served, OPERATOR, "POST", path);
        assert_eq!(answer.status, 403);
        assert!(answer.json()["detail"].as_str().unwrap().contains("read-only"));
    }
    assert!(is_untouched(&served));
    assert_eq!(served.get("/api/v1/info").json()["visitor"]["mayAct"], false);
    served.stop();
}

#[test]
fn after_ten_wrong_tokens_answers_are_slow_and_the_program_hears_of_it() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&heard);
    let dashboard = dashboard().on_action(move |act| {
        to.lock().unwrap().push([&act.verb, &act.by, &act.address].map(String::clone));
    });
    let served = serve(&dashboard, builder().task("a", hourly(), |_| {}));
    let ask = |token: &str| {
        let token = format!("Bearer {token}");
        served.send("GET", "/api/v1/info", &[("Authorization", &token)], "")
    };
    assert_eq!(ask(OPERATOR).status, 200);
    for _ in 0..10 {
        assert_eq!(ask("wrong").status, 401);
    }
    assert_eq!(*heard.lock().unwrap(), [["wrong_tokens", "unknown", "127.0.0.1"]]);
    // Answers wait; the unit tests of `access` say for how long.
    let clock = SystemClock::new();
    let begun = clock.now();
    let answer = ask("wrong");
    let took = clock.now().since(begun);
    assert_eq!(answer.status, 429);
    assert!(took >= Duration::from_millis(900), "{took:?}");
    assert!(answer.json()["detail"].as_str().unwrap().contains("minute"));
    assert_eq!(ask(OPERATOR).status, 200, "others behind the same address go on");
    assert_eq!(ask(VIEWER).status, 200, "also those who are new, if slowly");
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("\nscheduler_dashboard_wrong_tokens_total 11\n"), "{metrics}");
    served.stop();
}

#[test]
fn only_a_trusted_proxy_names_the_client_and_only_operators_see_it() {
    let from = |dashboard: Dashboard, header: &str| {
        let served = serve(&dashboard, builder().task("a", hourly(), |_| {}));
        let token = |token: &str| format!("Bearer {token}");
        let (ops, wall) = (token(OPERATOR), token(VIEWER));
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", header)];
        let headers = [&headers[..], &[("Authorization", &*ops)]].concat();
        assert_eq!(served.send("POST", "/api/v1/tasks/a/pause", &headers, "").status, 202);
        let seen = served.send("GET", "/api/v1/actions", &[("Authorization", &wall)], "").json();
        assert!(seen["actions"][0]["who"] == "ops" && seen["actions"][0]["from"].is_null());
        let seen = served.get("/api/v1/actions").json();
        served.stop();
        seen["actions"][0]["from"].as_str().unwrap().to_owned()
    };
    let trusting = || dashboard().trust_proxy(|address| address.is_loopback());
    assert_eq!(from(dashboard(), "10.0.0.7"), "127.0.0.1", "no proxy is trusted");
    assert_eq!(from(trusting(), "10.0.0.7"), "10.0.0.7");
    assert_eq!(from(trusting(), "6.6.6.6, 10.0.0.7"), "10.0.0.7", "what a client has sent");
    assert_eq!(from(trusting(), "10.0.0.7, ::1, 127.0.0.2"), "10.0.0.7", "several in a row");
    assert_eq!(from(trusting(), "10.0.0.7, rubbish"), "127.0.0.1");
    let untrusting = dashboard().trust_proxy(|_| false);
    assert_eq!(from(untrusting, "10.0.0.7"), "127.0.0.1");
}

#[test]
fn metrics_need_a_token_where_the_network_reaches_them_and_health_says_only_up() {
    let critical = || hourly().tags(["critical"]);
    let scheduler = builder().task("secret-name", critical(), |_| {}).spawn().unwrap();
    let ask = |dashboard: Dashboard, path: &str| {
        let server = dashboard.serve(scheduler.tasks(), "0.0.0.0:0").unwrap();
        let port = server.address().port();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        let answer =
            Answer::of(&exchange(([127, 0, 0, 1], port).into(), request.as_bytes(), LIMIT));
        server.stop();
        answer
    };
    for path in
        ["/metrics", "/actuator/prometheus", "/actuator/health", "/actuator", "/api/v1/tasks"]
    {
        assert_eq!(ask(dashboard(), path).status, 401, "{path}");
    }
    assert_eq!(ask(dashboard().public_metrics(), "/metrics").status, 200);
    for path in ["/healthz", "/readyz"] {
        let answer = ask(dashboard(), path);
        assert_eq!((answer.status, &*answer.body), (200, r#"{"status":"UP"}"#));
    }
    scheduler.shutdown().unwrap();
}

#[test]
fn through_a_proxy_metrics_and_health_need_a_token_as_elsewhere() {
    let critical = hourly().tags(["critical"]);
    let tasks = builder().task("secret-name", critical, |_| {});
    let served = serve(&dashboard().allow_host("jobs.example.com"), tasks);
    let paths = ["/metrics", "/actuator/prometheus", "/actuator/health"];
    for path in paths {
        assert_eq!(served.send("GET", path, &[], "").status, 200, "{path}");
        for header in ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via"] {
            let answer = served.send("GET", path, &[(header, "x")], "");
            assert_eq!(answer.status, 401, "{path} {header}");
        }
        let of_name =
            format!("GET {path} HTTP/1.1\r\nHost: jobs.example.com\r\nConnection: close\r\n\r\n");
        assert_eq!(served.raw(of_name.as_bytes()).status, 401, "{path}");
        let token = format!("Bearer {VIEWER}");
        let headers = [("Authorization", &*token), ("X-Forwarded-For", "10.0.0.7")];
        assert_eq!(served.send("GET", path, &headers, "").status, 200, "{path}");
    }
    assert!(served.send("GET", "/readyz", &[], "").body.contains("secret-name"));
    let ready = served.send("GET", "/readyz", &[("X-Forwarded-For", "10.0.0.7")], "");
    assert_eq!((ready.status, &*ready.body), (200, r#"{"status":"UP"}"#));
    served.stop();
}

#[test]
fn every_answer_has_the_headers_that_browsers_obey() {
    let served = served();
    for path in ["/", "/api/v1/info", "/api/v1/none", "/metrics", "/none"] {
        for answer in [served.get(path), served.send("GET", path, &[], "")] {
            let policy = answer.header("content-security-policy").unwrap();
            assert!(
                policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'")
            );
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
            assert_eq!(answer.header("set-cookie"), None);
            assert_no_cors(&answer);
        }
    }
    let nonce = |answer: &Answer| {
        let policy = answer.header("content-security-policy").unwrap().to_owned();
        let (_, nonce) = policy.split_once("script-src 'nonce-").unwrap();
        nonce.split('\'').next().unwrap().to_owned()
    };
    let (one, other) = (served.get("/"), served.get("/"));
    assert_ne!(nonce(&one), nonce(&other));
    assert!(one.body.contains(&format!("<script nonce=\"{}\">", nonce(&one))));
    served.stop();
}

#[test]
fn a_header_that_decides_may_stand_once() {
    let served = serve(&dashboard(), builder());
    let token = format!("Bearer {OPERATOR}");
    for (name, values) in [
        ("Authorization", [&*token, "Bearer x"]),
        ("Content-Type", ["application/json", "text/plain"]),
        ("Sec-Fetch-Site", ["same-origin", "cross-site"]),
    ] {
        let twice = values.map(|value| (name, value));
        let headers =
            [&[("Authorization", &*token)][usize::from(name == "Authorization")..], &twice];
        let answer = served.send("GET", "/api/v1/info", &headers.concat(), "");
        let why = format!("the request has the header {} twice", name.to_lowercase());
        assert_eq!((answer.status, &answer.json()["detail"]), (400, &why.into()));
    }
    served.stop();
}
