//! The command that adds the index `by_owner_keys` to a data file of an earlier release is killed and repeated; the stack
//! then lists what was paid before.
use dynoxide::Database;
use ledger_local::stack::TABLE_DEFAULT;
use ledger_tests::http::process::{Process, ledger_local};
use ledger_tests::http::{Call, World};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PAYMENTS: usize = 12;
/// Records of other merchants, so that the command has something to do.
const OTHER_RECORDS: usize = 5_000;
/// When the command is killed: while it starts, adds the index, or compares it.
const KILLS_AFTER_MS: [u64; 6] = [1, 20, 60, 120, 250, 500];

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes the file's table one of an earlier release: `by_owner` instead of `by_owner_keys`.
fn make_earlier(data: &Path) {
    let database = Database::new(data.to_str().expect("a path")).expect("a data file");
    let update = |update: Value, definitions: Value| {
        let request = json!({
            "TableName": TABLE_DEFAULT, "GlobalSecondaryIndexUpdates": [update], "AttributeDefinitions": definitions,
        });
        database.update_table(serde_json::from_value(request).expect("a request")).expect("an update");
    };
    let definitions = ["owner_pk", "owner_sk"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    update(json!({"Delete": {"IndexName": "by_owner_keys"}}), Value::Null);
    update(
        json!({"Create": {
            "IndexName": "by_owner", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [
                {"AttributeName": "owner_pk", "KeyType": "HASH"}, {"AttributeName": "owner_sk", "KeyType": "RANGE"},
            ],
        }}),
        json!(definitions),
    );
    for number in 0..OTHER_RECORDS {
        let id = format!("019a0000-0000-7000-8000-{number:012}");
        let item = json!({
            "uuid": {"S": format!("other#payment#{id}")}, "type": {"S": "PAYMENT"},
            "owner_pk": {"S": format!("other#merchant#m#{}", number % 7)}, "owner_sk": {"S": id},
        });
        let request = json!({"TableName": TABLE_DEFAULT, "Item": item});
        database.put_item(serde_json::from_value(request).expect("a request")).expect("a write");
    }
}

fn indexes(data: &Path) -> Vec<String> {
    let database = Database::new(data.to_str().expect("a path")).expect("a data file");
    let request = serde_json::from_value(json!({"TableName": TABLE_DEFAULT})).expect("a request");
    let described = serde_json::to_value(database.describe_table(request).expect("a table")).expect("JSON");
    let indexes = described["Table"]["GlobalSecondaryIndexes"].as_array().expect("indexes").iter();
    indexes.map(|index| index["IndexName"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_command_is_repeated_and_earlier_payments_are_listed() {
    let name = format!("owner-index-{}", std::process::id());
    let folder = Folder(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let data = folder.0.join("ledger.db");
    let arguments = ["--data", data.to_str().expect("a path"), "--port", "0"];
    let process = Process::start(&arguments);
    let world = World::remote(&process.url, (&process.dynamodb_url, &process.table)).await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("1000").await);
    let mut paid = Vec::new();
    for _ in 0..PAYMENTS {
        paid.push(world.api.settle(&customer.pays(&merchant, "5")).await.good().text("/payment_id"));
    }
    // A token names the stack's URL.
    let port = process.url.rsplit(':').next().expect("a port").to_owned();
    let ended = tokio::task::block_in_place(|| process.interrupt());
    assert_eq!(ended.code(), Some(0), "{ended:?}");
    make_earlier(&data);
    assert_eq!(indexes(&data), ["due", "by_owner"]);

    let command = || {
        let mut command = Command::new(ledger_local());
        let _ = command.args(["index", "--data", data.to_str().expect("a path")]).stdin(Stdio::null());
        command
    };
    for after in KILLS_AFTER_MS {
        let mut running = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
        tokio::time::sleep(Duration::from_millis(after)).await;
        let _ = running.kill();
        let _ = running.wait();
    }
    for _ in 0..2 {
        let ended = command().output().expect("the binary runs");
        let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success() && out.ends_with("by_owner_keys is complete\n"), "{out}{err}");
        // The others, and the demo's merchant, whose id is a constant. What was just paid is young.
        assert!(out.contains("compared 5001 records of 8 owners"), "{out}");
        assert!(out.contains("and 33 younger ones"), "{out}");
    }
    assert_eq!(indexes(&data), ["due", "by_owner", "by_owner_keys"]);

    let process = Process::start(&["--data", data.to_str().expect("a path"), "--port", &port]);
    let world = World::remote(&process.url, (&process.dynamodb_url, &process.table)).await;
    let list = world.api.send(&Call::get("/v1/merchant/payments?limit=100", &merchant.who)).await.good().json();
    let items = list["items"].as_array().expect("items").iter();
    let mut listed: Vec<String> = items.map(|item| item["payment_id"].as_str().expect("an id").to_owned()).collect();
    listed.reverse();
    assert_eq!(listed, paid);
    process.kill();
}
