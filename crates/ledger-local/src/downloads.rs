//! The files that staff fetch, on the local stack: in memory, behind links that expire.

use crate::clock;
use crate::problem::problem;
use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use http::{HeaderValue, StatusCode, header};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::file_store::{FileStore, StoredFile};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where links are answered.
const PATH: &str = "/dev/files";

/// Stores files in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LocalDownloads {
    /// The stack's URL.
    url: String,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    files: BTreeMap<String, StoredFile>,
    /// By the secret of a link: the object, and when the link ends, in milliseconds since 1970.
    links: BTreeMap<String, (String, u64)>,
}

impl LocalDownloads {
    /// A store whose links are answered by the stack at this URL.
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }

    /// The route of the links.
    pub(crate) fn router(&self) -> Router {
        Router::new().route(&format!("{PATH}/{{secret}}"), get(fetch)).with_state(self.clone())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file of a link that has not ended.
    fn file(&self, secret: &str) -> Option<StoredFile> {
        let kept = self.kept();
        let (object, end) = kept.links.get(secret)?;
        if clock::epoch_ms() < *end { kept.files.get(object).cloned() } else { None }
    }
}

impl FileStore for LocalDownloads {
    fn put(&self, file: StoredFile) -> BoxFuture<'_, Result<(), String>> {
        self.kept().files.insert(file.object.clone(), file);
        Box::pin(std::future::ready(Ok(())))
    }

    fn link<'a>(&'a self, object: &'a str, valid: Duration) -> BoxFuture<'a, Result<String, String>> {
        let secret = Entropy::system().bytes::<16>().map(hex::encode);
        let link = secret.map_err(|error| error.to_string()).map(|secret| {
            let valid = u64::try_from(valid.as_millis()).unwrap_or(u64::MAX);
            let end = clock::epoch_ms().saturating_add(valid);
            let url = format!("{}{PATH}/{secret}", self.url);
            self.kept().links.insert(secret, (object.to_owned(), end));
            url
        });
        Box::pin(std::future::ready(link))
    }
}

async fn fetch(State(downloads): State<LocalDownloads>, Path(secret): Path<String>) -> Response {
    let Some(file) = downloads.file(&secret) else {
        return problem(StatusCode::FORBIDDEN, "link_expired", "the link has ended: ask for another one");
    };
    let mut response = file.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    if let Ok(name) = HeaderValue::from_str(&format!("attachment; filename=\"{}\"", file.name)) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: &[u8]) -> StoredFile {
        let name = "payouts.csv".to_owned();
        StoredFile { object: "demo/1".to_owned(), name, media_type: "text/csv", bytes: bytes.to_vec() }
    }

    #[tokio::test]
    async fn link_gives_its_file_until_it_ends() {
        let downloads = LocalDownloads::at("http://127.0.0.1:3000");
        downloads.put(stored(b"1")).await.unwrap();
        downloads.put(stored(b"2")).await.unwrap();
        let secret = |link: String| link.strip_prefix("http://127.0.0.1:3000/dev/files/").unwrap().to_owned();
        let valid = secret(downloads.link("demo/1", Duration::from_secs(60)).await.unwrap());
        let ended = secret(downloads.link("demo/1", Duration::ZERO).await.unwrap());
        let of_nothing = secret(downloads.link("demo/2", Duration::from_secs(60)).await.unwrap());
        assert_eq!(downloads.file(&valid), Some(stored(b"2")));
        for none in [ended.as_str(), of_nothing.as_str(), "", "x"] {
            assert_eq!(downloads.file(none), None, "{none}");
        }
    }
}
