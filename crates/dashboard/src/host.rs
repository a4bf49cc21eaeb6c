//! The names to which the dashboard answers: the list stops DNS rebinding.
//!
//! A page of a foreign site may let its own name point to 127.0.0.1. Its requests then come from the browser of the
//! user with the foreign name in `Host`, equal to `Origin`: only a list of names tells them from good ones.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Version};

use crate::problem::Problem;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The names that are allowed.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    is_any_allowed: bool,
    /// With or without a port; without, all ports are allowed.
    names: Vec<String>,
    /// The port of addresses as names, where the server listens on all addresses.
    any_address_at: Option<u16>,
}

impl Hosts {
    /// For a server of the program: loopback names with any port, and what the program allows.
    pub(crate) fn mounted(allowed: &[String], is_any_allowed: bool) -> Self {
        let loopback = LOOPBACK.map(str::to_owned);
        let names = loopback.into_iter().chain(allowed.iter().cloned()).collect();
        Self { is_any_allowed, names, any_address_at: None }
    }

    /// For a server of our own at an address.
    pub(crate) fn served(address: SocketAddr, allowed: &[String], is_any_allowed: bool) -> Self {
        let host_name = SocketAddr::new(address.ip(), 0).to_string();
        let host_name = host_name.trim_end_matches(":0");
        let names = LOOPBACK.into_iter().chain([host_name]);
        let port = address.port();
        let names = names.flat_map(|name| {
            let bare = (port == 80).then(|| format!("{name}:80"));
            bare.into_iter().chain([format!("{name}:{port}")])
        });
        let names = names.chain(allowed.iter().cloned()).collect();
        let any_address_at = address.ip().is_unspecified().then_some(port);
        Self { is_any_allowed, names, any_address_at }
    }

    /// Returns the host of a request if it is allowed.
    pub(crate) fn check(&self, head: &Parts) -> Result<String, Problem> {
        let host = host_of(head)?;
        if self.is_any_allowed || self.allows(&host) {
            return Ok(host);
        }
        let shown: String = host.chars().filter(|letter| !letter.is_control()).take(100).collect();
        let help = format!("help: Dashboard::new().allow_host({shown:?})");
        Err(Problem::forbidden(format!("the host {shown:?} is not allowed\n{help}")))
    }

    fn allows(&self, host: &str) -> bool {
        let (name, port) = split(host);
        // A name cannot be an address, so that no name server can make it point elsewhere.
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if is_address && self.any_address_at.is_some_and(|ours| port.unwrap_or(80) == ours) {
            return true;
        }
        self.names.iter().any(|allowed| match split(allowed) {
            (allowed, None) => allowed.eq_ignore_ascii_case(name),
            (allowed, at) => {
                let port = port.or(Some(80));
                allowed.eq_ignore_ascii_case(name) && port == at
            }
        })
    }
}

/// The host of a request: one, and the same in all places.
fn host_of(head: &Parts) -> Result<String, Problem> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return Err(Problem::bad_request("the request has two Host headers"));
    }
    let text = first.map(|host| host.to_str().map(str::to_owned)).transpose();
    let text = text.map_err(|_| Problem::bad_request("the Host header is no text"))?;
    let target = head.uri.authority().map(ToString::to_string);
    match (text, target) {
        (Some(host), Some(target)) if host != target => {
            Err(Problem::bad_request("the target of the request and its Host header differ"))
        }
        (Some(host), _) if !host.is_empty() => Ok(host),
        (None, Some(target)) if head.version >= Version::HTTP_2 => Ok(target),
        _ => Err(Problem::bad_request("the request has no Host header")),
    }
}

/// Returns true if nothing says that a proxy has passed a request on: it is for this machine by name, and has no header of
/// proxies.
pub(crate) fn is_direct(headers: &HeaderMap, host: &str) -> bool {
    let (name, _) = split(host);
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_loopback = address
        .map_or(name.eq_ignore_ascii_case("localhost"), |ip| ip.to_canonical().is_loopback());
    let is_passed_on = |name: &str| {
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
    };
    is_loopback && !headers.keys().any(|name| is_passed_on(name.as_str()))
}

/// The name, and the port if there is one. A port that is no number belongs to the name.
fn split(host: &str) -> (&str, Option<u16>) {
    let Some((name, port)) = host.rsplit_once(':') else { return (host, None) };
    if name.starts_with('[') && !name.ends_with(']') {
        return (host, None);
    }
    let is_number = port.chars().all(|letter| letter.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_number => (name, Some(port)),
        _ => (host, None),
    }
}

/// Returns whether a page of another site may have made the request.
pub(crate) fn is_cross_origin(headers: &HeaderMap, host: &str) -> bool {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return true;
    }
    let mut origins = headers.get_all("origin").iter();
    origins.any(|origin| {
        let origin = origin.to_str().unwrap_or("null");
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        !site.is_some_and(|site| site.eq_ignore_ascii_case(host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn head(host: &[&str]) -> Parts {
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
            assert!(served.check(&head(&[good])).is_ok(), "{good}");
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
            assert!(served.check(&head(&[bad])).is_err(), "{bad}");
        }
        assert!(served.check(&head(&[])).is_err());
        assert!(served.check(&head(&["localhost:9095", "localhost:9095"])).is_err());
    }

    #[test]
    fn on_all_addresses_an_address_is_a_good_name_and_a_foreign_name_is_not() {
        let served = Hosts::served(([0, 0, 0, 0], 9095).into(), &[], false);
        assert!(served.check(&head(&["10.1.2.3:9095"])).is_ok());
        assert!(served.check(&head(&["[fe80::1]:9095"])).is_ok());
        assert!(served.check(&head(&["10.1.2.3:9096"])).is_err());
        assert!(served.check(&head(&["evil.example:9095"])).is_err());
        let mounted = Hosts::mounted(&["ops.example:8443".into()], false);
        assert!(mounted.check(&head(&["localhost:1"])).is_ok());
        assert!(mounted.check(&head(&["ops.example:8443"])).is_ok());
        assert!(mounted.check(&head(&["ops.example"])).is_err());
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
}
