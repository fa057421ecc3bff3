//! Proofs that entries were sealed: what the commands print and verify, and what a program without the ledger's code finds.
use futures::future::join;
use ledger_core::keys::Key;
use ledger_local::audit_command::{self, CheckCommand, ProveCommand};
use ledger_local::opened::Place;
use ledger_tests::audit::{opt_text, text};
use ledger_tests::http::host::clients;
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Host, World, workers};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);
/// The program, which uses the standard library of Python alone.
const VERIFIER: &str = "../samples/audit/verify_proof.py";

/// A tenant whose entries are sealed, and a clock that is set ahead for bindings.
pub(crate) struct Proven {
    host: Arc<Host>,
    pub(crate) world: World,
    clock: TestClock,
    file: PathBuf,
}

impl Drop for Proven {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Proven {
    pub(crate) async fn new(tenant: &str) -> Self {
        let host = Host::fresh();
        let world = World::with_terms(Arc::clone(&host), tenant, |_| {}).await;
        let file = std::env::temp_dir().join(format!("ledger-proof-{}.json", new_id()));
        Self { host, world, clock: TestClock::default(), file }
    }

    pub(crate) async fn pay(&self, payments: usize) {
        let (merchant, customer) = join(self.world.merchant(), self.world.customer_with("1000")).await;
        for _ in 0..payments {
            let _ = self.world.api.settle(&customer.pays(&merchant, "10")).await.good();
        }
    }

    /// Seals what is due so long after now.
    pub(crate) async fn seal(&self, later: Duration) {
        let stack = self.host.stack();
        let (_, app, _) = clients((stack.dynamodb_url(), stack.table()), stack.stripe(), self.clock.clock()).await;
        self.clock.ahead(later);
        let _ = workers::seal(&app, &self.world.slug()).await.expect("the run succeeds");
    }

    /// The hashes of the bindings, in their order.
    pub(crate) async fn heads(&self) -> Vec<String> {
        let books = self.world.books().await;
        let hash = |(_, _, row): (&str, &str, &ledger_core::dynamo::Item)| match &row["hash"] {
            ledger_core::dynamo::Value::B(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            other => panic!("{other:?}"),
        };
        books.under("BINDING#").map(hash).collect()
    }

    /// The customers' entries, as the command takes them; those that are sealed first.
    pub(crate) async fn entries(&self) -> Vec<String> {
        let books = self.world.books().await;
        let customers = format!("{}#customer#", self.world.tenant);
        let mut entries: Vec<(bool, String)> = books
            .under("TXN#")
            .filter_map(|(pk, sk, row)| {
                let (account, id) = (pk.strip_prefix(&customers)?, sk.strip_prefix("TXN#")?);
                Some((opt_text(row, "_sealed").is_none(), format!("customer:{account}/{id}")))
            })
            .collect();
        entries.sort();
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    pub(crate) async fn prove(&self, entry: &str, head: &str) -> Result<String, String> {
        let stack = self.host.stack();
        let place =
            Place::Table { name: stack.table().to_owned(), endpoint_url: Some(stack.dynamodb_url().to_owned()) };
        let (slug, entry, head) = (self.world.tenant.clone(), entry.to_owned(), head.to_owned());
        let done = audit_command::prove(&ProveCommand { slug, entry, head, place }).await;
        done.map_err(|error| error.to_string())
    }

    /// Whether the command and the program both find that a proof leads to a head. They never differ.
    pub(crate) fn is_proven(&self, proof: &str, head: &str) -> bool {
        std::fs::write(&self.file, proof).expect("a file");
        let check = CheckCommand { proof: self.file.clone(), head: head.to_owned() };
        let by_command = audit_command::check(&check).is_ok_and(|(_, proven)| proven);
        let by_program = by_program(&self.file, head);
        assert_eq!(by_command, by_program, "{proof} {head}");
        by_command
    }
}

fn by_program(file: &Path, head: &str) -> bool {
    let done = Command::new("python3").arg(VERIFIER).arg(file).arg(head).output().expect("Python 3");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() || said.starts_with("not proven: "), "{said}");
    done.status.success()
}

/// The proof with one value changed: the first character that has another of its kind.
fn tampered(proof: &Value) -> Vec<String> {
    fn each(json: &Value, at: &str, found: &mut Vec<(String, String)>) {
        match json {
            Value::Object(members) => {
                members.iter().for_each(|(name, inner)| each(inner, &format!("{at}/{name}"), found));
            }
            Value::Array(all) => all.iter().enumerate().for_each(|(n, inner)| each(inner, &format!("{at}/{n}"), found)),
            Value::String(text) => found.push((at.to_owned(), text.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut texts = Vec::new();
    each(proof, "", &mut texts);
    let change = |(at, text): &(String, String)| {
        let mut changed = proof.clone();
        let (first, rest) = text.split_at(1);
        let other = if first == "1" { "2" } else { "1" };
        *changed.pointer_mut(at).expect("the value") = json!(format!("{other}{rest}"));
        changed.to_string()
    };
    texts.iter().map(change).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_entries_are_proven_by_the_command_and_by_another_program() {
    let proven = Proven::new("proven").await;
    proven.pay(6).await;
    proven.seal(Duration::ZERO).await;
    proven.pay(4).await;
    proven.seal(HOUR).await;
    proven.pay(1).await;
    proven.seal(HOUR * 2).await;
    let (entries, heads) = (proven.entries().await, proven.heads().await);
    assert!(entries.len() >= 10 && heads.len() == 3, "{entries:?} {heads:?}");
    let last = &heads[2];
    let mut tried = 0;
    for entry in entries.iter().take(10) {
        let proof = proven.prove(entry, last).await.expect("a proof");
        assert!(proven.is_proven(&proof, last), "{entry}");
        assert!(!proven.is_proven(&proof, &heads[0]), "{entry}: another head");
        let (_, id) = entry.split_once('/').expect("an id");
        let shown: Value = serde_json::from_str(&proof).expect("JSON");
        assert_eq!(shown["record"]["type"]["S"], json!(format!("TXN#{id}")));
        let neighbours = entries.iter().filter(|other| *other != entry).filter_map(|other| other.split_once('/'));
        assert!(neighbours.clone().all(|(_, other)| !proof.contains(other)), "{entry} is shown with others");
        tried += 1;
    }
    assert_eq!(tried, 10);
    let proof = proven.prove(&entries[0], last).await.expect("a proof");
    let changed = tampered(&serde_json::from_str(&proof).expect("JSON"));
    assert!(changed.len() > 20, "{}", changed.len());
    for changed in changed {
        assert!(!proven.is_proven(&changed, last), "{changed}");
    }
    proven.world.books().await.check_sealed();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entry_that_cannot_be_proven_is_refused_with_what_to_do() {
    let proven = Proven::new("unproven").await;
    proven.pay(1).await;
    let entry = proven.entries().await.remove(0);
    let zeros = "0".repeat(64);
    let refused = async |entry: &str, head: &str| proven.prove(entry, head).await.expect_err("no proof");
    assert!(refused(&entry, &zeros).await.starts_with("the entry is not sealed yet"));
    proven.seal(Duration::ZERO).await;
    assert!(refused(&entry, &zeros).await.starts_with("the entry is not bound yet"));
    proven.pay(1).await;
    proven.seal(HOUR).await;
    let heads = proven.heads().await;
    assert_eq!(heads.len(), 2);
    assert!(refused(&entry, &zeros).await.starts_with(&format!("no binding has the hash {zeros}")));
    assert!(refused(&entry, &heads[0]).await.contains("was written before the entry was bound"));
    let (account, _) = entry.split_once('/').expect("an account");
    assert!(refused(&format!("{account}/{}", new_id()), &heads[1]).await.starts_with("there is no such entry"));
    for malformed in ["customer:1/2", account, "fees/019a0000-0000-7000-8000-000000000001"] {
        assert!(refused(malformed, &heads[1]).await.contains("is not an entry"), "{malformed}");
    }
    assert!(refused(&entry, "abc").await.contains("is not the hash of a binding"));
    // A segment beside it that was changed leads elsewhere.
    let books = proven.world.books().await;
    let (_, _, row) = books.under("SEGMENT#").next().expect("a segment");
    let mut changed = row.clone();
    let _ = changed.insert("sealed_at".to_owned(), ledger_tests::audit::s("2026-11-21T03:00:00.000Z"));
    proven.world.plant(changed).await;
    let entry = books.under("TXN#").find(|(_, _, row)| opt_text(row, "_sealed") == Some("L0/1")).expect("an entry");
    let key = Key::stored(&proven.world.slug(), entry.0, text(entry.2, "type")).expect("a key");
    let (account, id) = key.entry().expect("an entry");
    assert!(refused(&format!("{account}/{id}"), &heads[1]).await.contains("run `audit verify`"));
}
