//! The real binary on its data file: killed during payments and restarted, interrupted and restarted.
//! Clients retry unanswered requests under their keys, and the totals are exact.
use futures::future::join_all;
use ledger_core::keys::attr;
use ledger_local::audit_command::{self, VerifyCommand};
use ledger_tests::audit::{Books, opt_text};
use ledger_tests::http::process::{self, Process};
use ledger_tests::http::{Answer, Call, World};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 6;
const PAYMENTS_EACH: usize = 40;
const YEN: usize = 7;
const OPENING: usize = 10_000;
/// The number of answered payments before each `kill -9`.
const KILLS_AFTER: [usize; 2] = [50, 130];
/// How long a client retries a request.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// A folder for one test's data, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// The arguments of a stack on a data file in this folder, on these ports.
    fn arguments(&self, port: &str, dynamodb_port: &str) -> Vec<String> {
        let data = self.0.join("ledger.db").display().to_string();
        ["--data", &data, "--port", port, "--dynamodb-port", dynamodb_port].map(str::to_owned).to_vec()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        process::forget(&self.0.join("ledger.db"));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(arguments: &[String]) -> Process {
    Process::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn port(url: &str) -> &str {
    url.rsplit(':').next().expect("a port")
}

/// Sends a request until it is answered with anything but a 503.
async fn insist(world: &World, call: &Call) -> Answer {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        match world.api.try_send(call).await {
            Ok(answer) if answer.status != 503 => return answer,
            Ok(_) | Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
    panic!("no answer to {call:?}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_survive_kill_and_restart() {
    let folder = Folder::new("kill");
    let mut process = start(&folder.arguments("0", "0"));
    let again = folder.arguments(port(&process.url), port(&process.dynamodb_url));
    let world = World::remote(&process.url, (&process.dynamodb_url, &process.table)).await;
    let merchant = world.merchant().await;
    let customers = join_all((0..CLIENTS).map(|_| world.customer_with("10000"))).await;

    let answered = AtomicUsize::new(0);
    let clients = join_all(customers.iter().map(|customer| async {
        let mut done = Vec::new();
        for _ in 0..PAYMENTS_EACH {
            let call = customer.pays(&merchant, &YEN.to_string());
            done.push((insist(&world, &call).await.good(), call));
            answered.fetch_add(1, Ordering::SeqCst);
        }
        done
    }));
    let killer = async {
        for kill_after in KILLS_AFTER {
            while answered.load(Ordering::SeqCst) < kill_after {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            process.kill();
            process = tokio::task::block_in_place(|| start(&again));
        }
        process
    };
    let (done, process) = futures::join!(clients, killer);

    for (answer, call) in done.iter().flatten() {
        let replay = insist(&world, call).await;
        assert_eq!((replay.stored(), replay.replayed()), (answer.stored(), true));
    }
    let books = world.check_books().await;
    assert_eq!(books.entries_of("pay"), CLIENTS * PAYMENTS_EACH);
    let total = u64::try_from(CLIENTS * PAYMENTS_EACH * YEN).expect("small");
    assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), total.into());
    for customer in &customers {
        assert_eq!(world.balance(customer, "ECOPAY").await, (OPENING - PAYMENTS_EACH * YEN).to_string());
    }
    process.kill();
}

/// The books once the stack's own workers have no work left and have released their leases.
async fn at_rest(world: &World) -> Books {
    let is_sealed = |books: &Books| {
        let mut due = books.rows.values().filter_map(|row| opt_text(row, attr::DUE_PK));
        !due.any(|partition| partition.contains("#due#publish#"))
    };
    let mut before = world.check_books().await;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let books = world.check_books().await;
        if is_sealed(&books) && books.changes_since(&before).is_empty() {
            return books;
        }
        before = books;
    }
    panic!("the workers do not come to rest")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_stack_keeps_everything_after_restart() {
    let folder = Folder::new("interrupt");
    let process = start(&folder.arguments("0", "0"));
    let again = folder.arguments(port(&process.url), port(&process.dynamodb_url));
    let world = World::remote(&process.url, (&process.dynamodb_url, &process.table)).await;
    let merchant = world.merchant().await;
    let (customer, card) = (world.customer_with("1000").await, world.card(None, "0").await);
    let terminal = world.till(&merchant, "500").await;
    let calls = [customer.pays(&merchant, "300"), terminal.does("topup", &card, &json!({"amount": "500"}))];
    let mut first = Vec::new();
    for call in &calls {
        first.push(world.api.settle(call).await.good());
    }
    let before = at_rest(&world).await;
    let ended = tokio::task::block_in_place(|| process.interrupt());
    assert_eq!(ended.code(), Some(0), "{ended:?}");
    assert!(world.api.try_send(&calls[0]).await.is_err(), "the process no longer listens");

    let process = tokio::task::block_in_place(|| start(&again));
    let mut changes = at_rest(&world).await.changes_since(&before);
    // A process leases requests when it starts, in the window of that time.
    changes.retain(|(_, kind), _| kind != "rate RATE");
    assert!(changes.is_empty(), "a restart changed something: {changes:?}");
    // Tokens, the terminal's key and the stored responses are still valid.
    for (call, first) in calls.iter().zip(&first) {
        let replay = world.api.settle(call).await;
        assert_eq!((replay.stored(), replay.replayed()), (first.stored(), true));
    }
    assert_eq!(
        (world.balance(&customer, "ECOPAY").await, world.card_balance(&card).await),
        ("700".into(), "500".into())
    );
    let ended = tokio::task::block_in_place(|| process.interrupt());
    assert_eq!(ended.code(), Some(0), "{ended:?}");
    // The sealed trail is verified in the data file.
    let place = process::place(&folder.0.join("ledger.db"));
    let verify = VerifyCommand { slug: world.tenant.clone(), from: None, to: None, head: None, place };
    let (report, is_whole) = audit_command::run(&verify).await.expect("a trail");
    assert!(is_whole && report.ends_with("nothing is wrong") && !report.starts_with("0 segments"), "{report}");
}
