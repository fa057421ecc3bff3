//! A failed start prints one line on standard error, and exits with a code other than 0. The tests run the binary, so
//! `cargo test` builds it.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use ledger_local::engine::{Data, Engine, EngineConfig};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Ten ticks of a worker that runs twice per second.
const FOUR_TICKS: Duration = Duration::from_secs(2);
/// Longer than the binary needs to start and a worker to fail.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A folder for this run of this test.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("start-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Runs the binary, which must exit by itself with an error, and returns its only line on standard error.
#[track_caller]
fn complaint(arguments: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_ledger-local")).args(arguments).stdin(Stdio::null()).output().unwrap();
    let (out, err) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert!(run.status.code().is_some_and(|code| code != 0), "{arguments:?} ended with {}", run.status);
    assert_eq!(out, "", "{arguments:?}");
    assert_eq!(err.lines().count(), 1, "{arguments:?}: {err}");
    err.trim_end().to_owned()
}

#[test]
fn data_path_that_cannot_be_written_or_opened_is_named() {
    let folder = folder("data");
    let file = folder.join("a-file");
    std::fs::write(&file, "not a database, and longer than the header of one, with more text").unwrap();
    let below_a_file = file.join("ledger.db").display().to_string();
    let (a_folder, garbage) = (folder.display().to_string(), file.display().to_string());
    for (path, expected) in [
        (below_a_file.as_str(), "cannot write the data file"),
        (a_folder.as_str(), "cannot write the data file"),
        (garbage.as_str(), "cannot open the data"),
    ] {
        let line = complaint(&["--port", "0", "--data", path]);
        assert!(line.contains(expected) && line.contains(path) && line.contains("--data"), "{line}");
    }
    let untouched = std::fs::read_to_string(&file).unwrap();
    assert!(untouched.starts_with("not a database"), "a file that is not ours was overwritten");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn taken_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let line = complaint(&["--in-memory", "--port", &port]);
    assert!(line.contains(&port) && line.contains("--port"), "{line}");
    let line = complaint(&["--in-memory", "--port", "0", "--dynamodb-port", &port]);
    assert!(line.contains(&port) && line.contains("--dynamodb-port"), "{line}");
}

#[test]
fn unreachable_endpoint_is_named() {
    let folder = folder("endpoint");
    let data = folder.join("ledger.db").display().to_string();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{closed}"), "nonsense".to_owned()] {
        let line = complaint(&["--port", "0", "--data", &data, "--endpoint-url", &url, "--endpoint-wait", "0"]);
        assert!(line.contains("cannot reach DynamoDB") && line.contains(&url), "{line}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A DynamoDB that refuses a worker's query while `is_refusing` is set.
#[derive(Clone)]
struct Refusing {
    engine_url: String,
    http: reqwest::Client,
    is_refusing: Arc<AtomicBool>,
}

async fn forward(State(store): State<Refusing>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    // Replaced by the engine's own address.
    parts.headers.remove("host");
    let body: Bytes = to_bytes(body, usize::MAX).await.unwrap();
    // Writes of the demo's data name the partition too.
    let is_query = parts.headers.get("x-amz-target").is_some_and(|target| target.as_bytes().ends_with(b".Query"));
    let is_of_publications = String::from_utf8_lossy(&body).contains("#due#publish#");
    if is_query && is_of_publications && store.is_refusing.load(Ordering::SeqCst) {
        let refusal = r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"from the test"}"#;
        return (StatusCode::BAD_REQUEST, refusal).into_response();
    }
    let request = store.http.post(&store.engine_url).headers(parts.headers).body(body);
    let answer = request.send().await.unwrap();
    (answer.status(), answer.bytes().await.unwrap()).into_response()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_worker_and_its_recovery_are_each_logged_once() {
    let folder = folder("refused");
    let data = folder.join("ledger.db").display().to_string();
    let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
    let is_refusing = Arc::new(AtomicBool::new(true));
    let store =
        Refusing { engine_url: engine.url(), http: reqwest::Client::new(), is_refusing: Arc::clone(&is_refusing) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving =
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(forward).with_state(store)).await });
    let mut child = Command::new(env!("CARGO_BIN_EXE_ledger-local"))
        .args(["--port", "0", "--data", &data, "--endpoint-url", &url])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = Arc::new(Mutex::new(Vec::<String>::new()));
    let (read, errors) = (Arc::clone(&lines), BufReader::new(child.stderr.take().unwrap()));
    std::thread::spawn(move || {
        for line in errors.lines().map_while(Result::ok) {
            read.lock().unwrap().push(line);
        }
    });
    let has = |what: &str| lines.lock().unwrap().iter().filter(|line| line.contains(what)).count();
    let until_logged = async |what: &str| {
        let logged = async {
            while has(what) == 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        assert!(tokio::time::timeout(START_TIMEOUT, logged).await.is_ok(), "{what}: {:?}", lines.lock().unwrap());
    };
    until_logged("worker failed").await;
    tokio::time::sleep(FOUR_TICKS).await;
    assert_eq!(has("Query due publish: ValidationException"), 1, "{:?}", lines.lock().unwrap());
    assert_eq!((has("worker failed"), has("the store refused a read")), (1, 1), "{:?}", lines.lock().unwrap());
    is_refusing.store(false, Ordering::SeqCst);
    until_logged("worker recovered").await;
    tokio::time::sleep(FOUR_TICKS).await;
    assert_eq!((has("worker failed"), has("worker recovered")), (1, 1), "{:?}", lines.lock().unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    serving.abort();
    engine.stop().await;
    std::fs::remove_dir_all(folder).unwrap();
}
