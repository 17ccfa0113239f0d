//! The server over streamable HTTP: on this machine only, and for whoever has the token.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

use super::MemoryServer;

/// Where it answers.
pub const PATH: &str = "/mcp";

/// Pages of programs on this machine. Any other page has no business here, token or not.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// A server that listens.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
}

impl HttpServer {
    /// Begins to listen; port 0 takes any that is free.
    pub async fn bind(server: MemoryServer, port: u16, token: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        // Addresses of others that lead to this machine are how pages of strangers reach programs on it:
        // besides the origin, the name that we are called by has to be ours, which is the default here.
        let config = StreamableHttpServerConfig::default().with_allowed_origins(ORIGINS);
        let service: StreamableHttpService<MemoryServer, LocalSessionManager> =
            StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config);
        let expected = fingerprint(token);
        let guard = middleware::from_fn(move |request: Request, next: Next| async move {
            match has_token(request.headers(), &expected) {
                true => next.run(request).await,
                false => refusal(),
            }
        });
        let router = Router::new().nest_service(PATH, service).layer(guard);
        Ok(Self { listener, address, router })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves for as long as it is waited for.
    pub async fn run(self) -> io::Result<()> {
        axum::serve(self.listener, self.router).await
    }
}

fn refusal() -> Response {
    let headers = [(header::WWW_AUTHENTICATE, "Bearer")];
    let words = "the token is missing or wrong; it was told when the server was started\n";
    (StatusCode::UNAUTHORIZED, headers, words).into_response()
}

fn has_token(headers: &HeaderMap, expected: &[u8; 32]) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.split_once(' '));
    given.is_some_and(|(scheme, token)| {
        scheme.eq_ignore_ascii_case("bearer") && are_same(&fingerprint(token.trim()), expected)
    })
}

/// Fingerprints are compared: they have one length, and say nothing about what they are of.
fn fingerprint(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Looks at every byte, so that the time it takes tells nothing.
fn are_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens() {
        let expected = fingerprint("right");
        //  header             opens
        let table = [
            (Some("Bearer right"), true),
            (Some("bearer right"), true),
            (Some("Bearer  right "), true),
            (Some("Bearer wrong"), false),
            (Some("Bearer righ"), false),
            (Some("Bearer right2"), false),
            (Some("Bearer "), false),
            (Some("Basic right"), false),
            (Some("right"), false),
            (None, false),
        ];
        for (given, opens) in table {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(header::AUTHORIZATION, given.parse().unwrap());
            }
            assert_eq!(has_token(&headers, &expected), opens, "{given:?}");
        }
    }
}
