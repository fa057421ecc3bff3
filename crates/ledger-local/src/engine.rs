//! The embedded DynamoDB-compatible engine: a separate thread that listens on the loopback.
//!
//! Streams stay off, because each streamed write costs more: locally the sweeps do their work.

mod activity;
mod server;

pub use activity::Activity;

use axum::Router;
use dynoxide::Database;
use std::fs::OpenOptions;
use std::future::IntoFuture;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// The interval at which items whose `ttl` has passed are deleted. DynamoDB itself may take days.
const TTL_SWEEP_PERIOD: Duration = Duration::from_secs(60);
/// The longest time that a stop waits for unfinished requests.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// Where the engine keeps the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// In a file, which is created with its directories if it does not exist.
    File(PathBuf),
    /// In memory, lost when the engine stops.
    Memory,
    /// The same, and items are kept after their `ttl`, for functions whose clock is not the system's.
    MemoryWithoutExpiry,
}

/// The configuration of an engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Where the table is kept.
    pub data: Data,
    /// The port to listen on; `None` chooses a free one.
    pub port: Option<u16>,
}

/// Why the engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The data file cannot be created or written.
    #[error("cannot write the data file {}: {cause}; choose another with --data, or use --in-memory", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The data file is not a database, or the database cannot be opened.
    #[error("cannot open the data {place}: {cause}; move it away, or choose another with --data")]
    Open {
        /// The file, or "in memory".
        place: String,
        /// The engine's error.
        cause: String,
    },
    /// Another program listens on the port.
    #[error("port {0} of the embedded DynamoDB is taken: choose another with --dynamodb-port")]
    PortTaken(u16),
    /// The system refused a listener, a thread or a runtime.
    #[error("cannot start the embedded DynamoDB: {0}")]
    System(#[from] io::Error),
}

/// A running engine. On drop it stops without waiting; [`Engine::stop`] waits.
#[derive(Debug)]
pub struct Engine {
    address: SocketAddr,
    activity: Activity,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Engine {
    /// Opens the data and starts to listen.
    ///
    /// # Errors
    /// [`EngineError`] if the data cannot be opened or the port is not available.
    pub fn start(config: &EngineConfig) -> Result<Self, EngineError> {
        let listener = listen(config.port)?;
        let address = listener.local_addr()?;
        let database = open(&config.data)?;
        // A separate runtime, because the engine's handlers block their thread while they wait for its lock: on a
        // shared runtime no thread might be left for the handler that holds the lock.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("dynamodb")
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let activity = Activity::default();
        let router = server::router(database.clone(), activity.clone(), address.port());
        let swept = match config.data {
            Data::File(_) | Data::Memory => Some(database),
            Data::MemoryWithoutExpiry => None,
        };
        let thread = std::thread::Builder::new().name("dynamodb-engine".to_owned()).spawn(move || {
            runtime.block_on(serve(listener, swept, router, stopped));
            runtime.shutdown_timeout(STOP_GRACE);
        })?;
        Ok(Self { address, activity, stop, thread })
    }

    /// The counts of its requests.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The URL for `endpoint_url`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for running requests, at most five seconds, and closes the data.
    pub async fn stop(self) {
        let Self { stop, thread, .. } = self;
        // An engine that ended by itself does not receive this.
        let _ = stop.send(());
        let joined = tokio::task::spawn_blocking(|| thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the embedded DynamoDB did not stop cleanly");
        }
    }
}

fn listen(port: Option<u16>) -> Result<TcpListener, EngineError> {
    let port = port.unwrap_or(0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        if error.kind() == io::ErrorKind::AddrInUse { EngineError::PortTaken(port) } else { EngineError::System(error) }
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn open(data: &Data) -> Result<Database, EngineError> {
    let (opened, place) = match data {
        Data::Memory | Data::MemoryWithoutExpiry => (Database::memory(), "in memory".to_owned()),
        Data::File(path) => {
            check_writable(path).map_err(|cause| EngineError::Unwritable { path: path.clone(), cause })?;
            let text = path.to_str().ok_or_else(|| EngineError::Unwritable {
                path: path.clone(),
                cause: io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8"),
            })?;
            (Database::new(text), format!("file {text}"))
        }
    };
    opened.map_err(|error| EngineError::Open { place, cause: error.to_string() })
}

/// Checked first, because SQLite only says "unable to open database file".
fn check_writable(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    OpenOptions::new().append(true).create(true).open(path).map(drop)
}

/// Answers requests until it is stopped, and deletes expired items of the database that is given for that.
async fn serve(listener: TcpListener, swept: Option<Database>, router: Router, stopped: oneshot::Receiver<()>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "the embedded DynamoDB cannot listen");
            return;
        }
    };
    let sweep = swept.map(|database| tokio::spawn(sweep_forever(database)));
    let (begin_stop, stopping) = oneshot::channel::<()>();
    let serving = axum::serve(listener, router).with_graceful_shutdown(async {
        // Sent or dropped: both mean stop.
        let _ = stopped.await;
        drop(begin_stop);
    });
    let too_long = async {
        let _ = stopping.await;
        tokio::time::sleep(STOP_GRACE).await;
    };
    tokio::select! {
        served = serving.into_future() => if let Err(error) = served {
            tracing::error!(%error, "the embedded DynamoDB ended");
        },
        () = too_long => tracing::warn!("the embedded DynamoDB closed a connection that had not ended"),
    }
    if let Some(sweep) = sweep {
        sweep.abort();
    }
}

async fn sweep_forever(database: Database) {
    let mut timer = tokio::time::interval(TTL_SWEEP_PERIOD);
    loop {
        timer.tick().await;
        let database = database.clone();
        let swept = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
        match swept {
            Ok(Ok(deleted)) => tracing::debug!(deleted, "TTL sweep"),
            Ok(Err(error)) => tracing::warn!(%error, "TTL sweep failed"),
            Err(error) => tracing::warn!(%error, "TTL sweep ended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn engine_listens_until_it_stops() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let answer = reqwest::get(&url).await.unwrap().text().await.unwrap();
        assert!(answer.starts_with("healthy"), "{answer}");
        engine.stop().await;
        assert!(reqwest::get(&url).await.is_err());
    }

    #[tokio::test]
    async fn request_from_other_hosts_or_sites_is_refused() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let (url, port) = (engine.url(), engine.address.port());
        let http = reqwest::Client::new();
        let list = |name: &str, value: String| {
            let request = http.post(&url).header("x-amz-target", "DynamoDB_20120810.ListTables").body("{}");
            let request = request.header("authorization", "AWS4-HMAC-SHA256 Credential=k/20261121/r/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=s");
            request.header("x-amz-date", "20261121T000000Z").header(name, value).send()
        };
        for own in ["127.0.0.1", "localhost", "[::1]"] {
            let answer = list("host", format!("{own}:{port}")).await.unwrap();
            assert_eq!(answer.status(), 200, "{own}");
            assert!(answer.text().await.unwrap().contains("TableNames"), "{own}");
        }
        for other in [format!("evil.example:{port}"), "127.0.0.1:1".to_owned(), "localhost".to_owned()] {
            assert_eq!(list("host", other.clone()).await.unwrap().status(), 421, "{other}");
        }
        let answer = list("origin", "http://evil.example".to_owned()).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers().get("access-control-allow-origin")), (403, None));
        assert_eq!(list("sec-fetch-site", "cross-site".to_owned()).await.unwrap().status(), 403);
        let own = list("origin", format!("http://localhost:{port}")).await.unwrap();
        assert_eq!(own.headers().get("access-control-allow-origin"), None, "no page reads the table");
        engine.stop().await;
    }

    #[tokio::test]
    async fn unfinished_request_does_not_delay_the_stop_beyond_its_grace() {
        use std::io::Write;
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let mut half = std::net::TcpStream::connect(engine.address).unwrap();
        half.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{").unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        tokio::time::timeout(STOP_GRACE * 3, engine.stop()).await.unwrap();
    }

    /// Read where the engine opens a file, because `synchronous` belongs to the connection.
    #[test]
    fn data_file_is_synced_before_a_write_is_answered() {
        let dir = crate::testing::TempDir::make();
        let file = dir.path().join("ledger.db");
        let storage = dynoxide::storage::Storage::new(file.to_str().unwrap()).unwrap();
        let journal: String = storage.conn().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        let synchronous: i64 = storage.conn().query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
        assert_eq!((journal.as_str(), synchronous), ("wal", 2), "2 is FULL");
    }

    #[test]
    fn taken_port_and_unwritable_path_are_named_in_the_error() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = Engine::start(&EngineConfig { data: Data::Memory, port: Some(port) }).unwrap_err();
        assert!(matches!(error, EngineError::PortTaken(p) if p == port));

        let dir = crate::testing::TempDir::make();
        let file = dir.path().join("file");
        std::fs::write(&file, "this is not a database, and longer than its header ".repeat(40)).unwrap();
        for path in [dir.path().to_owned(), file.join("ledger.db")] {
            let error = Engine::start(&EngineConfig { data: Data::File(path), port: None }).unwrap_err();
            assert!(matches!(error, EngineError::Unwritable { .. }), "{error}");
        }
        let error = Engine::start(&EngineConfig { data: Data::File(file), port: None }).unwrap_err();
        assert!(matches!(error, EngineError::Open { .. }), "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}
