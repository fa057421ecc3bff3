//! The same checks run over a table's export to S3, in the file format that DynamoDB documents.

use flate2::Compression;
use flate2::write::GzEncoder;
use ledger_core::dynamo::Item;
use ledger_local::export::{Directories, ExportCommand, Exported, reconcile};
use ledger_local::reports::LocalReports;
use ledger_runtime::clock::Clock;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::reconcile::ObjectError;
use ledger_runtime::reconcile::export::{ExportDone, ExportError, ExportRun, ExportTask, Exports};
use ledger_tests::audit::{Books, n, text};
use ledger_tests::http::World;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::wire;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes an export of these rows in two data files; `count_stated` gives the item count that the manifest states.
pub(crate) fn export(name: &str, books: &Books, count_stated: impl Fn(usize) -> usize) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("export-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(directory.join("data")).expect("a directory");
    let rows: Vec<&Item> = books.rows.values().collect();
    let mut manifest = String::new();
    for (at, some) in rows.chunks(rows.len().div_ceil(2)).enumerate() {
        let file = format!("part{at}.json.gz");
        let mut data =
            GzEncoder::new(File::create(directory.join("data").join(&file)).expect("a file"), Compression::fast());
        for row in some {
            writeln!(data, "{}", json!({"Item": wire::item_to_json(row)})).expect("a line");
        }
        data.finish().expect("a file");
        let key = format!("AWSDynamoDB/01693685827463-2d8752fd/data/{file}");
        let line =
            json!({"itemCount": count_stated(some.len()), "md5Checksum": "x", "etag": "y", "dataFileS3Key": key});
        manifest.push_str(&format!("{line}\n"));
    }
    fs::write(directory.join("manifest-files.json"), manifest).expect("a file");
    let now = ledger_runtime::clock::Clock::system().now().to_string();
    let summary =
        json!({"version": "2020-06-30", "exportTime": now, "outputFormat": "DYNAMODB_JSON", "itemCount": rows.len()});
    fs::write(directory.join("manifest-summary.json"), summary.to_string()).expect("a file");
    directory
}

pub(crate) async fn reconciled(directory: &Path) -> Result<Exported, ExportError> {
    let command = ExportCommand { directory: directory.to_owned(), parts: 3, temporary: std::env::temp_dir() };
    reconcile(&command).await
}

/// The kinds and subjects of the breaks in the only tenant's report.
pub(crate) fn found(exported: &Exported) -> BTreeSet<(String, String)> {
    let [report] = &exported.reports.values().collect::<Vec<_>>()[..] else { panic!("one tenant: {exported:?}") };
    let lines = String::from_utf8_lossy(report).into_owned();
    let lines = lines.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.map(|line| ["kind", "subject"].map(|name| line[name].as_str().expect("a text").to_owned()).into()).collect()
}

#[tokio::test]
async fn export_is_reconciled_by_the_same_checks() {
    let stage = Stage::new(World::alone("exported").await).await;
    let (customer, payment) = stage.paid("1000").await;
    let _ = stage.world.api.settle(&stage.merchant.refunds(&payment, "300")).await.good();
    let _ = stage.held("500").await;
    let books = stage.world.books().await;
    let directory = export("good", &books, |count| count);
    let good = reconciled(&directory).await.expect("an export");
    assert_eq!(good.items, u64::try_from(books.rows.len()).expect("few"));
    assert!(good.breaks == 0 && found(&good).is_empty(), "{:?}", found(&good));
    assert_eq!(good.reports.keys().collect::<Vec<_>>(), ["exported/reconciliation-local.jsonl"]);

    // Several at once do not share their files.
    let runtime = tokio::runtime::Handle::current();
    let at_once = (0..8).map(|_| {
        let (runtime, directory) = (runtime.clone(), directory.clone());
        tokio::task::spawn_blocking(move || runtime.block_on(reconciled(&directory)))
    });
    for same in futures::future::join_all(at_once).await {
        let same = same.expect("a thread").expect("an export");
        assert_eq!((same.items, same.breaks), (good.items, 0));
    }

    let mut bad = books.clone();
    let key = (format!("exported#customer#{}", customer.id), "BALANCE#ECOPAY".to_owned());
    bad.rows.get_mut(&key).expect("a balance").insert("balance".to_owned(), n("12345"));
    let entry = bad.rows.iter().find(|((_, sk), row)| sk.starts_with("TXN#") && text(row, "operation") == "refund");
    let (entry, id) = entry.map(|(key, row)| (key.clone(), text(row, "transaction_id").to_owned())).expect("an entry");
    bad.rows.remove(&entry);
    let bad = export("bad", &bad, |count| count);
    let broken = reconciled(&bad).await.expect("an export");
    let (broken, breaks) = (found(&broken), broken.breaks);
    for (kind, subject) in
        [("balance_differs", format!("customer:{}", customer.id)), ("entry_missing", format!("transaction:{id}"))]
    {
        assert!(breaks >= 2 && broken.contains(&(kind.to_owned(), subject)), "{kind}: {broken:?}");
    }

    let short = export("short", &books, |count| count + 1);
    let counted = reconciled(&short).await;
    assert!(matches!(counted, Err(ExportError::Count { .. })), "{counted:?}");
    fs::remove_file(directory.join("data/part1.json.gz")).expect("a file");
    let missing = reconciled(&directory).await;
    assert!(matches!(missing, Err(ExportError::Object(ObjectError::Missing(_)))), "{missing:?}");
    for directory in [directory, bad, short] {
        let _ = fs::remove_dir_all(directory);
    }
}

/// The postings of an account and the credits of a merchant's period are summed per data file, so that the part of a
/// merchant with very many payers does not grow.
#[tokio::test]
async fn postings_and_credits_are_summed_per_data_file() {
    let directory = std::env::temp_dir().join(format!("export-crowd-{}", std::process::id()));
    let (transactions, _) = ledger_tests::bulk::write(&directory, 100, 1, |_| {}).expect("a disk");
    let work = directory.join("work");
    let objects = Arc::new(Directories { export: directory.clone(), work: work.clone() });
    let clock = Clock::system();
    let metrics = Metrics::to(Counting::new(clock.clone()));
    let places = (objects as Arc<_>, Arc::new(LocalReports::default()) as Arc<_>);
    let exports = Exports::new(places, (metrics, clock), directory.join("sorting"));
    let of = ExportRun::new("crowd", "export", 1).expect("a run");
    let files = exports.files(&of).await.expect("a manifest");
    let _ = exports.run(&of, &ExportTask::Facts(files[0].clone())).await.expect("facts");
    let _ = exports.run(&of, &ExportTask::Fold(0)).await.expect("a part");
    let done = exports.run(&of, &ExportTask::Report).await.expect("a report");
    assert!(matches!(done, ExportDone::Report { tenants: 1, breaks: 0, .. }), "{done:?}");
    let facts = fs::read_to_string(work.join("runs/crowd/facts/0000/part00000.json.gz")).expect("facts");
    let with = |start: &str, kind: &str| -> Vec<&str> {
        facts.lines().filter(|line| line.starts_with(start) && line.contains(kind)).collect()
    };
    let (posted, credited) = (with("bulk/account/customer:", "Posted"), with("bulk/period/", "Credited"));
    // Two customers with money and points, and three merchants with one period in one lane.
    assert_eq!((posted.len(), credited.len()), (4, 3), "{posted:?} {credited:?}");
    assert!(transactions > 50, "{transactions}");
    let _ = fs::remove_dir_all(directory);
}
