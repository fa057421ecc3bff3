//! The same checks over a table's export to S3, in files of the format that DynamoDB documents.

use aws_sdk_dynamodb::types::AttributeValue;
use flate2::Compression;
use flate2::write::GzEncoder;
use ledger_local::export::{ExportCommand, ExportError, Exported, reconcile};
use ledger_tests::http::World;
use ledger_tests::http::books::{Books, Row, text};
use ledger_tests::http::endpoints::Stage;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

fn typed(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::Bool(flag) => json!({"BOOL": flag}),
        AttributeValue::L(list) => json!({"L": list.iter().map(typed).collect::<Vec<_>>()}),
        AttributeValue::M(map) => {
            json!({"M": map.iter().map(|(name, of)| (name.clone(), typed(of))).collect::<serde_json::Map<_, _>>()})
        }
        other => panic!("the ledger writes no {other:?}"),
    }
}

/// An export of these rows in two files, as it lies in a directory.
fn export(name: &str, books: &Books, said: impl Fn(usize) -> usize) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("export-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(directory.join("data")).expect("a directory");
    let rows: Vec<&Row> = books.rows.values().collect();
    let mut manifest = String::new();
    for (at, some) in rows.chunks(rows.len().div_ceil(2)).enumerate() {
        let file = format!("part{at}.json.gz");
        let mut data =
            GzEncoder::new(File::create(directory.join("data").join(&file)).expect("a file"), Compression::fast());
        for row in some {
            let item: serde_json::Map<String, Value> = row.iter().map(|(name, of)| (name.clone(), typed(of))).collect();
            writeln!(data, "{}", json!({"Item": item})).expect("a line");
        }
        data.finish().expect("a file");
        let key = format!("AWSDynamoDB/01693685827463-2d8752fd/data/{file}");
        let line = json!({"itemCount": said(some.len()), "md5Checksum": "x", "etag": "y", "dataFileS3Key": key});
        manifest.push_str(&format!("{line}\n"));
    }
    fs::write(directory.join("manifest-files.json"), manifest).expect("a file");
    let now = ledger_runtime::clock::Clock::system().now().to_string();
    let summary =
        json!({"version": "2020-06-30", "exportTime": now, "outputFormat": "DYNAMODB_JSON", "itemCount": rows.len()});
    fs::write(directory.join("manifest-summary.json"), summary.to_string()).expect("a file");
    directory
}

fn reconciled(directory: PathBuf) -> Result<Exported, ExportError> {
    let temporary = directory.join("temporary");
    let done = reconcile(&ExportCommand { directory: directory.clone(), parts: 3, temporary });
    let _ = fs::remove_dir_all(directory);
    done
}

#[tokio::test]
async fn an_export_is_reconciled_by_the_same_checks() {
    let stage = Stage::set(World::alone("exported").await).await;
    let (customer, payment) = stage.paid("1000").await;
    let _ = stage.world.api.settle(&stage.merchant.refunds(&payment, "300")).await.good();
    let _ = stage.held("500").await;
    let books = stage.world.books().await;
    let good = reconciled(export("good", &books, |count| count)).expect("an export");
    assert_eq!(good.items, u64::try_from(books.rows.len()).expect("few"));
    assert!(good.findings.is_empty(), "{:?}", good.findings);

    let mut bad = books.clone();
    let key = (format!("exported#customer#{}", customer.id), "BALANCE#ECOPAY".to_owned());
    bad.rows.get_mut(&key).expect("a balance").insert("balance".to_owned(), AttributeValue::N("12345".to_owned()));
    let entry = bad.rows.iter().find(|((_, sk), row)| sk.starts_with("TXN#") && text(row, "operation") == "refund");
    let entry = entry.map(|(key, _)| key.clone()).expect("an entry");
    bad.rows.remove(&entry);
    let found = reconciled(export("bad", &bad, |count| count)).expect("an export").findings;
    let kinds: Vec<&str> = found.iter().map(|finding| finding.kind.name()).collect();
    assert!(kinds.contains(&"balance_differs") && kinds.contains(&"entry_missing"), "{kinds:?}");

    let short = reconciled(export("short", &books, |count| count + 1));
    assert!(matches!(short, Err(ExportError::Count { .. })), "{short:?}");
}
