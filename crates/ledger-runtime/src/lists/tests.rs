use super::*;
use crate::config::Config;
use crate::testing::{Step, Store};
use serde_json::{Value, json};

const MERCHANT: &str = "019a0000-0000-7000-8000-0000000000e1";
const OWNER: &str = "demo#merchant#019a0000-0000-7000-8000-0000000000e1#0";

fn id(number: u8) -> String {
    format!("019a0000-0000-7000-8000-{number:012}")
}

fn key(number: u8) -> Value {
    json!({"uuid": {"S": format!("demo#payment#{}", id(number))}, "type": {"S": "PAYMENT"}})
}

/// An entry of the index.
fn entry(number: u8) -> Value {
    let mut entry = key(number);
    entry["owner_pk"] = json!({"S": OWNER});
    entry["owner_sk"] = json!({"S": id(number)});
    entry
}

fn record(number: u8, state: &str) -> Value {
    let mut record = entry(number);
    record["state"] = json!({"S": state});
    record
}

async fn page(app: &App, limit: usize) -> Result<(Vec<Item>, Option<String>), Problem> {
    let (tenant, merchant) = (Tenant::parse("demo").unwrap(), MerchantId::parse(MERCHANT).unwrap());
    let page = crate::request::Page { limit, cursor: None };
    app.merchant_records(&tenant, (merchant, Shards::ONE), page.into(), &RecordFilter::default()).await
}

/// The app over a script.
fn app(store: &Store) -> App {
    let (ledger, _) = store.ledger();
    App::new(ledger, Config::of_table("ledger"))
}

#[tokio::test]
async fn merchants_records_are_read_by_the_keys_of_the_index() {
    let store = Store::script([
        Step::Ok(json!({"Items": [entry(9), entry(8), entry(7)]})),
        Step::Ok(json!({"Responses": {"ledger": [record(8, "captured"), record(9, "refunded")]}})),
    ]);
    let (records, next) = page(&app(&store), 2).await.unwrap();
    let states: Vec<_> = records.iter().map(|record| record.text("state").unwrap()).collect();
    assert_eq!(states, ["refunded", "captured"], "newest first");
    assert_eq!(next, Some(Cursor::after(parse_uuid(&id(8)).unwrap()).to_string()));
    let seen = store.seen();
    let [query, batch] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((query.target.as_str(), &query.body["IndexName"]), ("Query", &json!("by_owner")));
    let read = &batch.body["RequestItems"]["ledger"];
    assert_eq!(read["ConsistentRead"], true);
    assert_eq!(read["Keys"], json!([key(8), key(9)]), "what the page shows, in one call");
}

#[tokio::test]
async fn record_that_no_longer_exists_is_left_out_and_its_page_goes_on() {
    let store = Store::script([
        Step::Ok(json!({"Items": [entry(9), entry(8), entry(7)]})),
        Step::Ok(json!({"Responses": {"ledger": [record(9, "captured")]}})),
    ]);
    let (records, next) = page(&app(&store), 2).await.unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(next, Some(Cursor::after(parse_uuid(&id(8)).unwrap()).to_string()));
}

#[tokio::test]
async fn empty_list_reads_no_record() {
    let store = Store::script([Step::Ok(json!({"Items": []}))]);
    assert_eq!(page(&app(&store), 2).await.unwrap(), (Vec::new(), None));
    assert!(store.is_through());
}

/// DynamoDB refuses a read from an index that it is still building, as in a table that is being restored.
#[tokio::test]
async fn index_that_is_being_built_gives_no_list() {
    let store = Store::script([Step::Error(400, "ValidationException")]);
    let problem = page(&app(&store), 2).await.unwrap_err();
    assert_eq!(problem.status().as_u16(), 500);
}

#[tokio::test]
async fn entry_of_another_tenant_is_refused() {
    let mut foreign = entry(9);
    foreign["uuid"] = json!({"S": format!("other#payment#{}", id(9))});
    let store = Store::script([Step::Ok(json!({"Items": [foreign]}))]);
    let problem = page(&app(&store), 2).await.unwrap_err();
    assert_eq!(problem.status().as_u16(), 500);
    assert_eq!(store.seen().len(), 1, "nothing of it is read");
}
