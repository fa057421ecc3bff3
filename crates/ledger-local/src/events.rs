//! The local stack's events: a list served at `/dev/events`, and a file with one event per line, so that a restart
//! keeps it. The position of an event never changes. Announcements, which go to an event bus on AWS, have a separate
//! list.

use crate::problem::{json_body, problem};
use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use futures::future::{BoxFuture, FutureExt};
use http::StatusCode;
use ledger_core::events::{Announcement, DeadLetter, Event};
use ledger_runtime::announcer::Announcer;
use ledger_runtime::publishing::{EventSink, Sent, SinkError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const EVENTS_FILE: &str = "events.jsonl";
const DEAD_LETTERS_FILE: &str = "event-dead-letters.jsonl";
const ANNOUNCEMENTS_FILE: &str = "announcements.jsonl";
const PAGE_ITEMS: usize = 100;
const PAGE_MAX: usize = 1000;

/// The events cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep events in {path}: {cause}")]
pub struct EventsError {
    path: PathBuf,
    cause: io::Error,
}

/// Events, dead letters and announcements, in the order of arrival. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LocalEvents(Arc<Mutex<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    events: Lines,
    dead_letters: Lines,
    announcements: Lines,
}

/// Lines in memory, or in a file whose line ends are known.
#[derive(Debug)]
enum Lines {
    Memory(Vec<String>),
    File { file: File, ends: Vec<u64> },
}

impl LocalEvents {
    /// Creates empty lists that end with the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Opens the lists in the files of a directory.
    ///
    /// # Errors
    /// [`EventsError`] if they cannot be read or written.
    pub fn in_directory(directory: &Path) -> Result<Self, EventsError> {
        let lines = |name: &str| {
            let path = directory.join(name);
            Lines::in_file(&path).map_err(|cause| EventsError { path, cause })
        };
        let lists = Lists {
            events: lines(EVENTS_FILE)?,
            dead_letters: lines(DEAD_LETTERS_FILE)?,
            announcements: lines(ANNOUNCEMENTS_FILE)?,
        };
        Ok(Self(Arc::new(Mutex::new(lists))))
    }

    /// At most `limit` events after the first `after`.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn events(&self, after: usize, limit: usize) -> io::Result<Vec<String>> {
        self.lists().events.read(after, limit)
    }

    /// The references to entries that could not be published.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn dead_letters(&self) -> io::Result<Vec<String>> {
        self.lists().dead_letters.read(0, PAGE_MAX)
    }

    /// The announcements, which on AWS go to an event bus.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn announcements(&self) -> io::Result<Vec<String>> {
        self.lists().announcements.read(0, PAGE_MAX)
    }

    /// `GET /dev/events`, `GET /dev/events/dead-letters` and `GET /dev/events/announcements`.
    pub(crate) fn router(&self) -> Router {
        let (events, dead_letters) = (get(events), get(dead_letters));
        Router::new()
            .route("/dev/events", events)
            .route("/dev/events/dead-letters", dead_letters)
            .route("/dev/events/announcements", get(announcements))
            .with_state(self.clone())
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for LocalEvents {
    fn send<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Vec<Sent>> {
        let mut lists = self.lists();
        let taken = events.iter().map(|event| match lists.events.append(&event.body) {
            Ok(()) => Sent::Taken,
            Err(error) => Sent::Later(error.to_string()),
        });
        let taken: Vec<Sent> = taken.collect();
        std::future::ready(taken).boxed()
    }

    fn keep<'a>(&'a self, letter: &'a DeadLetter) -> BoxFuture<'a, Result<(), SinkError>> {
        let kept = self.lists().dead_letters.append(&letter.text()).map_err(|error| SinkError(error.to_string()));
        std::future::ready(kept).boxed()
    }
}

impl Announcer for LocalEvents {
    fn announce<'a>(&'a self, event: &'a Announcement) -> BoxFuture<'a, Result<(), String>> {
        let kept = event.envelope().map_err(io::Error::from).and_then(|envelope| {
            let envelope = envelope.to_string();
            tracing::warn!(event = envelope, "announced");
            self.lists().announcements.append(&envelope)
        });
        std::future::ready(kept.map_err(|error| error.to_string())).boxed()
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self::Memory(Vec::new())
    }
}

impl Lines {
    fn in_file(path: &Path) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let ends: Vec<u64> = (1..).zip(&text).filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end).collect();
        // A process that was killed may have left an incomplete line.
        file.set_len(ends.last().copied().unwrap_or(0))?;
        Ok(Self::File { file, ends })
    }

    /// Adds a line atomically.
    fn append(&mut self, line: &str) -> io::Result<()> {
        match self {
            Self::Memory(lines) => lines.push(line.to_owned()),
            Self::File { file, ends } => {
                let start = file.seek(SeekFrom::Start(ends.last().copied().unwrap_or(0)))?;
                let line = format!("{line}\n");
                if let Err(error) = file.write_all(line.as_bytes()) {
                    file.set_len(start)?;
                    return Err(error);
                }
                ends.push(file.stream_position()?);
            }
        }
        Ok(())
    }

    fn read(&mut self, after: usize, limit: usize) -> io::Result<Vec<String>> {
        match self {
            Self::Memory(lines) => Ok(lines.iter().skip(after).take(limit).cloned().collect()),
            Self::File { file, ends } => {
                let end_of = |lines: usize| lines.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0);
                let to = after.saturating_add(limit).min(ends.len());
                let (start, end) = (end_of(after.min(to)), end_of(to));
                let mut text = String::new();
                file.seek(SeekFrom::Start(start))?;
                file.take(end.saturating_sub(start)).read_to_string(&mut text)?;
                Ok(text.lines().map(str::to_owned).collect())
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    #[serde(default)]
    after: usize,
    limit: Option<usize>,
}

async fn events(State(events): State<LocalEvents>, Query(page): Query<Page>) -> Response {
    let limit = page.limit.unwrap_or(PAGE_ITEMS).clamp(1, PAGE_MAX);
    let list = events.events(page.after, limit);
    let next = list.as_ref().map_or(page.after, |list| page.after.saturating_add(list.len()));
    listed("events", list, |body| {
        body["next"] = json!(next);
    })
}

async fn dead_letters(State(events): State<LocalEvents>) -> Response {
    listed("dead_letters", events.dead_letters(), |_| {})
}

async fn announcements(State(events): State<LocalEvents>) -> Response {
    listed("announcements", events.announcements(), |_| {})
}

fn listed(name: &str, lines: io::Result<Vec<String>>, more: impl FnOnce(&mut Value)) -> Response {
    let parsed = lines.and_then(|lines| {
        let values: Result<Vec<Value>, serde_json::Error> =
            lines.iter().map(|line| serde_json::from_str(line)).collect();
        Ok(values?)
    });
    match parsed {
        Ok(values) => {
            let mut body = json!({name: values});
            more(&mut body);
            json_body(StatusCode::OK, &body)
        }
        Err(error) => {
            tracing::error!(%error, "events cannot be read");
            problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the events cannot be read")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn event(body: &str) -> Event {
        let id = ledger_core::ids::TransactionId::new(uuid::Uuid::nil());
        let created_at = ledger_core::time::Timestamp::from_millis(0);
        Event { id, group: "g".to_owned(), created_at, body: body.to_owned() }
    }

    async fn send(events: &LocalEvents, bodies: &[&str]) {
        for body in bodies {
            assert_eq!(events.send(&[event(body)]).await, [Sent::Taken]);
        }
    }

    #[tokio::test]
    async fn position_of_an_event_stays_after_a_restart() {
        let dir = TempDir::make();
        let kept = LocalEvents::in_directory(&dir.path().join("state")).unwrap();
        let memory = LocalEvents::in_memory();
        for events in [&kept, &memory] {
            assert_eq!(events.events(0, 10).unwrap(), Vec::<String>::new());
            send(events, &["1", "2", "3"]).await;
            assert_eq!(events.events(0, 2).unwrap(), ["1", "2"]);
            assert_eq!(events.events(2, 2).unwrap(), ["3"]);
            assert_eq!(events.events(3, 2).unwrap(), Vec::<String>::new());
            assert_eq!(events.events(9, 2).unwrap(), Vec::<String>::new());
        }
        drop(kept);
        // The process was killed while it wrote a line.
        let file = dir.path().join("state").join(EVENTS_FILE);
        OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"half").unwrap();
        let again = LocalEvents::in_directory(&dir.path().join("state")).unwrap();
        send(&again, &["4"]).await;
        assert_eq!(again.events(1, 10).unwrap(), ["2", "3", "4"]);
    }

    #[tokio::test]
    async fn announcements_are_kept_after_a_restart() {
        let dir = TempDir::make();
        let event = Announcement { detail_type: "ReconciliationBreak", detail: r#"{"run_id":"r"}"#.to_owned() };
        assert_eq!(LocalEvents::in_directory(dir.path()).unwrap().announce(&event).await, Ok(()));
        let kept = LocalEvents::in_directory(dir.path()).unwrap();
        let announced: Value = serde_json::from_str(&kept.announcements().unwrap()[0]).unwrap();
        assert_eq!(announced, event.envelope().unwrap());
        assert!(kept.events(0, 10).unwrap().is_empty(), "the request is not counted as a transaction");
    }
}
