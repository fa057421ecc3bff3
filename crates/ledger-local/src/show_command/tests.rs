use super::*;
use crate::engine::{Data, Engine, EngineConfig};
use crate::table;
use crate::testing::TempDir;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use std::path::Path;

const ID: &str = "019a0000-0000-7000-8000-00000000000a";
const TABLE: &str = "ecopay";

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn item(pk: &str, sk: &str, more: &[(&str, AttributeValue)]) -> Stored {
    let keys = [(attr::PK, text(pk)), (attr::SK, text(sk))];
    keys.into_iter().chain(more.iter().cloned()).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn shown(item: &Stored, is_personal: bool) -> String {
    item_text(&ItemPages::read().unwrap(), item.clone(), is_personal)
}

fn entry() -> Stored {
    let number = |number: &str| AttributeValue::N(number.to_owned());
    item(
        &format!("demo#customer#{ID}"),
        &format!("TXN#{ID}"),
        &[
            ("ca", number("1795230000000")),
            ("op", text("pay")),
            ("kt", text("k-1")),
            ("mi", AttributeValue::B(Blob::new(vec![1; 16]))),
            ("po", text("h-5 m+5")),
            ("_tx", AttributeValue::B(Blob::new(vec![0xab; 16]))),
        ],
    )
}

fn profile() -> Stored {
    let odd = ("odd", AttributeValue::Null(true));
    let new = ("new", text("value"));
    let more = [("name", text("Hanako")), ("status", text("active")), ("cards", text("two")), odd, new];
    item(&format!("demo#customer#{ID}"), "PROFILE", &more)
}

#[test]
fn entry_is_shown_expanded_with_meanings() {
    let shown = shown(&entry(), false);
    for line in [
        format!("A journal entry: tenant demo, customer {ID}, entry {ID}"),
        "created_at: 2026-11-21T03:00:00.000Z".to_owned(),
        "operation: pay".to_owned(),
        "merchant_id: 01010101-0101-0101-0101-010101010101".to_owned(),
        format!("_tx: {}", "ab".repeat(16)),
        "    token of the transaction that wrote the item last, 16 bytes (copy) (changes often)".to_owned(),
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
    }
    assert!(shown.contains("postings: [{account: "), "{shown}");
    assert!(!shown.contains("\npo: ") && !shown.contains("No page"), "{shown}");
}

#[test]
fn personal_text_is_shown_only_if_it_is_asked_for() {
    let hidden = shown(&profile(), false);
    assert!(hidden.contains("name: (personal)\n    name (changes often)\n"), "{hidden}");
    assert!(!hidden.contains("Hanako") && !hidden.contains("value"), "{hidden}");
    let shown = shown(&profile(), true);
    assert!(shown.contains("name: Hanako\n"), "{shown}");
}

#[test]
fn what_no_page_declares_is_named() {
    let of_profile = shown(&profile(), true);
    assert!(of_profile.contains("new: value\n    No page declares it.\n"), "{of_profile}");
    assert!(of_profile.contains("cards: two\n    The page declares another type.\n"), "{of_profile}");
    assert!(of_profile.contains("odd: (a type that the ledger does not write)\n"), "{of_profile}");
    let unknown = shown(&item("demo#thing#1", "THING", &[("name", text("Hanako"))]), false);
    assert!(unknown.starts_with("An item of a kind that no page declares\n"), "{unknown}");
    assert!(unknown.contains("uuid: demo#thing#1\n") && !unknown.contains("Hanako"), "{unknown}");
}

#[test]
fn bytes_are_ids_where_the_page_says_so() {
    let ids = AttributeValue::B(Blob::new(vec![1; 32]));
    let active = shown(&item("demo#active#2026-11-20", "ACTIVE#8", &[("customers", ids)]), false);
    let id = "01010101-0101-0101-0101-010101010101";
    assert!(active.contains(&format!("customers: {id}, {id}\n")), "{active}");
}

#[expect(clippy::disallowed_methods, reason = "the table is written as a test wants it")]
async fn write(data: &Path, items: &[Stored]) {
    let engine = Engine::start(&EngineConfig { data: Data::File(data.to_owned()), port: None }).unwrap();
    let url = engine.url();
    let client = table::client(&url).await;
    table::ensure(&client, &url, TABLE).await.unwrap();
    for item in items {
        let put = Put::builder().table_name(TABLE).set_item(Some(item.clone())).build().unwrap();
        let write = client.transact_write_items().transact_items(TransactWriteItem::builder().put(put).build());
        write.send().await.unwrap();
    }
    engine.stop().await;
}

#[tokio::test]
async fn items_of_a_data_file_are_shown_by_key_and_by_partition() {
    let directory = TempDir::make();
    let data = directory.path().join("ledger.db");
    write(&data, &[entry(), profile()]).await;
    let show = async |partition_key: &str, sort_key: Option<&str>| {
        let place = Place::File { data: data.clone(), table: TABLE.to_owned() };
        let sort_key = sort_key.map(str::to_owned);
        let command = ShowCommand { partition_key: partition_key.to_owned(), sort_key, is_personal: false, place };
        let mut printed = Vec::new();
        run(&command, |text| printed.push(text.lines().next().unwrap_or_default().to_owned())).await.map(|()| printed)
    };
    let partition = format!("demo#customer#{ID}");
    let heads = [
        format!("A customer: tenant demo, customer {ID}"),
        format!("A journal entry: tenant demo, customer {ID}, entry {ID}"),
    ];
    assert_eq!(show(&partition, Some("PROFILE")).await.unwrap(), heads[..1]);
    assert_eq!(show(&partition, None).await.unwrap(), heads);
    assert!(matches!(show(&partition, Some("CODE")).await, Err(ShowError::NoItem(_))));
    assert!(matches!(show("demo#customer#2", None).await, Err(ShowError::NoItem(_))));
}
