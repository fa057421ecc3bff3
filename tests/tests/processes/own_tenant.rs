//! A tenant that `tenant open` opens beside a running stack is served by the stack's workers.

use ledger_tests::http::process::{self, Process};
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Call, World};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const SLUG: &str = "own";
/// How often the merchant's balance is read, a fifth of a second apart.
const READS_MAX: u32 = 300;

fn run(arguments: &[&str]) -> String {
    let output = Command::new(process::ledger_local()).args(arguments).output().expect("the binary runs");
    let [text, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("a text"));
    assert!(output.status.success(), "{arguments:?}: {error}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payment_in_a_tenant_of_ones_own_is_credited() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("own-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (data, terms) = (folder.join("ledger.db").display().to_string(), folder.join("terms.json"));
    let process = Process::start(&["--data", &data, "--port", "0"]);
    fs::write(&terms, run(&["tenant", "terms"])).expect("a file");
    let owners = [new_id(), new_id()];
    let [first, second] = [0, 1].map(|at| format!("{}:owner{at}@example.com", owners[at]));
    let (terms, table, url) = (terms.display().to_string(), &process.table, &process.dynamodb_url);
    let keys = folder.join("marker-keys.json").display().to_string();
    let place = ["--table", table, "--endpoint-url", url];
    let opened = run(&[
        &["tenant", "open", SLUG, "--terms", &terms, "--marker-keys", &keys, "--owner", &first, "--owner", &second],
        &place[..],
    ]
    .concat());
    assert_eq!(opened.trim(), format!("{SLUG} is open in {table}"));
    let listed = run(&[&["tenant", "list"], &place[..]].concat());
    let lines: Vec<&str> = listed.trim().lines().collect();
    let [demo, own] = lines[..] else { panic!("{listed}") };
    assert!(demo.starts_with("demo open ") && own.starts_with(&format!("{SLUG} open ")), "{listed}");
    assert!(own.ends_with(&format!(" local/{table} epoch 1")), "{listed}");

    let world = World::at(&process.url, (url, table), SLUG, owners).await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("1000").await);
    let _ = world.api.settle(&customer.pays(&merchant, "300")).await.good();
    let balances = Call::get("/v1/merchant/balances", &merchant.who);
    let mut credited = Value::Null;
    for _ in 0..READS_MAX {
        credited = world.api.settle(&balances).await.good().json()["balances"][0]["credited"].clone();
        if credited == "300" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(credited, "300", "the outbox of the tenant seals and credits");
    world.check_books().await;
    process.kill();
    process::forget(&folder.join("ledger.db"));
    let _ = fs::remove_dir_all(&folder);
}
