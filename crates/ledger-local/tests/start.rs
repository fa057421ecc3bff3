//! What does not start says so in one line on standard error, and exits with a code that is not 0.
//! The binary itself is run, which is also how `cargo test` comes to build it.
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

/// Ten ticks of the workers that run twice a second.
const TEN_TICKS: Duration = Duration::from_secs(5);
/// Longer than the binary takes to start and a worker to notice.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of this test binary's own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("start-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Runs the binary to its end, which must come by itself, and gives its one line of complaint.
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
fn a_data_path_that_cannot_be_written() {
    let folder = folder("data");
    let file = folder.join("a-file");
    std::fs::write(&file, "not a database, and long enough to be taken for the header of none").unwrap();
    let below_a_file = file.join("ledger.db").display().to_string();
    let (a_folder, garbage) = (folder.display().to_string(), file.display().to_string());
    for (path, says) in [
        (below_a_file.as_str(), "cannot write the data file"),
        (a_folder.as_str(), "cannot write the data file"),
        (garbage.as_str(), "cannot open the data"),
    ] {
        let line = complaint(&["--port", "0", "--data", path]);
        assert!(line.contains(says) && line.contains(path) && line.contains("--data"), "{line}");
    }
    let untouched = std::fs::read_to_string(&file).unwrap();
    assert!(untouched.starts_with("not a database"), "a file that is not ours was overwritten");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let line = complaint(&["--in-memory", "--port", &port]);
    assert!(line.contains(&port) && line.contains("--port"), "{line}");
    let line = complaint(&["--in-memory", "--port", "0", "--dynamodb-port", &port]);
    assert!(line.contains(&port) && line.contains("--dynamodb-port"), "{line}");
}

#[test]
fn an_endpoint_that_does_not_answer() {
    let folder = folder("endpoint");
    let data = folder.join("ledger.db").display().to_string();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{closed}"), "nonsense".to_owned()] {
        let line = complaint(&["--port", "0", "--data", &data, "--endpoint-url", &url, "--endpoint-wait", "0"]);
        assert!(line.contains("cannot reach DynamoDB") && line.contains(&url), "{line}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A DynamoDB that refuses a worker's query while it is set to.
#[derive(Clone)]
struct Refusing {
    engine_url: String,
    http: reqwest::Client,
    is_refusing: Arc<AtomicBool>,
}

async fn forward(State(store): State<Refusing>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    // The engine's own address takes its place.
    parts.headers.remove("host");
    let body: Bytes = to_bytes(body, usize::MAX).await.unwrap();
    let is_of_holds = String::from_utf8_lossy(&body).contains("#due#hold#");
    if is_of_holds && store.is_refusing.load(Ordering::SeqCst) {
        let refusal = r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"from the test"}"#;
        return (StatusCode::BAD_REQUEST, refusal).into_response();
    }
    let request = store.http.post(&store.engine_url).headers(parts.headers).body(body);
    let answer = request.send().await.unwrap();
    (answer.status(), answer.bytes().await.unwrap()).into_response()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_the_store_refuses_is_logged_once_and_its_recovery_once() {
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
        assert!(tokio::time::timeout(PATIENCE, logged).await.is_ok(), "{what}: {:?}", lines.lock().unwrap());
    };
    until_logged("worker failed").await;
    tokio::time::sleep(TEN_TICKS).await;
    assert_eq!(has("Query due hold: ValidationException"), 1, "{:?}", lines.lock().unwrap());
    assert_eq!((has("worker failed"), has("the store refused a read")), (1, 1), "{:?}", lines.lock().unwrap());
    is_refusing.store(false, Ordering::SeqCst);
    until_logged("worker recovered").await;
    tokio::time::sleep(TEN_TICKS).await;
    assert_eq!((has("worker failed"), has("worker recovered")), (1, 1), "{:?}", lines.lock().unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    serving.abort();
    engine.stop().await;
    std::fs::remove_dir_all(folder).unwrap();
}
