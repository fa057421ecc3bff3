use super::super::objects::Body;
use super::*;
use crate::metrics::{Counting, Metric};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::{BoxFuture, ready};
use futures::stream::{self, StreamExt};
use ledger_core::time::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const AT: &str = "2026-11-21T03:00:00.000Z";
const EXPORT: &str = "exports/r/AWSDynamoDB/01693685827463-2d8752fd";
const KEYS: [&str; 2] = ["a.json.gz", "b.json.gz"];

type Kept = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Objects in memory. Bytes arrive in pieces of 7; puts fail once `puts_left` is 0.
#[derive(Clone, Default)]
struct Memory {
    kept: Kept,
    puts_left: Arc<Mutex<Option<usize>>>,
}

impl Memory {
    fn set(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.kept.lock().unwrap().insert(format!("{EXPORT}/{name}"), bytes.into());
    }

    fn kept(&self) -> BTreeMap<String, Vec<u8>> {
        self.kept.lock().unwrap().clone()
    }
}

impl Objects for Memory {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Body, ObjectError>> {
        let bytes = self.kept.lock().unwrap().get(name).cloned();
        Box::pin(ready(bytes.ok_or_else(|| ObjectError::Missing(name.to_owned())).map(|bytes| {
            let pieces: Vec<_> = bytes.chunks(7).map(|piece| Ok(piece.to_vec().into())).collect();
            stream::iter(pieces).boxed()
        })))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ObjectError>> {
        let mut left = self.puts_left.lock().unwrap();
        if *left == Some(0) {
            let why = "SlowDown".to_owned();
            return Box::pin(ready(Err(ObjectError::Unavailable { name: name.to_owned(), why })));
        }
        *left = left.map(|left| left.saturating_sub(1));
        self.kept.lock().unwrap().insert(name.to_owned(), bytes);
        Box::pin(ready(Ok(())))
    }
}

impl ReportFiles for Memory {
    fn put<'a>(&'a self, name: &'a str, lines: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        self.kept.lock().unwrap().insert(name.to_owned(), lines);
        Box::pin(ready(Ok(())))
    }
}

/// Two data files. The first has a balance without postings and a balance below 0; the second an item that cannot be
/// read.
struct Rig {
    objects: Memory,
    counting: Counting,
    exports: Exports,
    of: ExportRun,
}

impl Rig {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("exports-{}-{number}", std::process::id()));
        let (objects, clock) = (Memory::default(), Clock::from_fn(|| Timestamp::parse(AT).unwrap()));
        let counting = Counting::new(clock.clone());
        let places = (Arc::new(objects.clone()) as _, Arc::new(objects.clone()) as _);
        let exports = Exports::new(places, (Metrics::to(counting.clone()), clock), directory);
        let rig = Self { objects, counting, exports, of: ExportRun::new("r", EXPORT, 3).unwrap() };
        rig.export([data(&[balance("a", "5"), balance("b", "-1")]), data(&[incomplete_payment()])], [2, 1], 3);
        rig
    }

    fn export(&self, files: [Vec<u8>; 2], listed: [u64; 2], all: u64) {
        let mut manifest = String::new();
        for (at, bytes) in files.into_iter().enumerate() {
            self.objects.set(&format!("data/{}", KEYS[at]), bytes);
            let key = format!("{EXPORT}/data/{}", KEYS[at]);
            let line = json!({"itemCount": listed[at], "md5Checksum": "x", "etag": "y", "dataFileS3Key": key});
            manifest.push_str(&format!("{line}\n"));
        }
        self.objects.set("manifest-files.json", manifest);
        let summary = json!({"version": "2020-06-30", "exportTime": AT, "itemCount": all});
        self.objects.set("manifest-summary.json", summary.to_string());
    }

    async fn files(&self) -> Vec<ExportTask> {
        self.exports.files(&self.of).await.unwrap().into_iter().map(ExportTask::Facts).collect()
    }

    async fn run(&self, task: &ExportTask) -> Result<ExportDone, ExportError> {
        self.exports.run(&self.of, task).await
    }

    async fn all(&self) -> Result<ExportDone, ExportError> {
        for task in self.files().await {
            self.run(&task).await?;
        }
        for part in 0..3 {
            self.run(&ExportTask::Fold(part)).await?;
        }
        self.run(&ExportTask::Report).await
    }

    fn report(&self) -> Vec<Value> {
        let kept = self.objects.kept();
        let lines = std::str::from_utf8(&kept["demo/reconciliation-r.jsonl"]).unwrap().lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.exports.directory);
    }
}

fn id(letter: &str) -> String {
    format!("00000000-0000-7000-8000-00000000000{letter}")
}

fn balance(letter: &str, balance: &str) -> Value {
    let uuid = format!("demo#customer#{}", id(letter));
    json!({"Item": {"uuid": {"S": uuid}, "type": {"S": "BALANCE#ECOPAY"}, "asset": {"S": "ECOPAY"},
        "balance": {"N": balance}, "held": {"N": "0"}, "updated_at": {"S": "2026-11-20T00:00:00.000Z"},
        "exposure": {"N": balance}}})
}

fn incomplete_payment() -> Value {
    json!({"Item": {"uuid": {"S": format!("demo#payment#{}", id("c"))}, "type": {"S": "PAYMENT"}}})
}

fn data(lines: &[Value]) -> Vec<u8> {
    let mut data = GzEncoder::new(Vec::new(), Compression::fast());
    for line in lines {
        writeln!(data, "{line}").unwrap();
    }
    data.finish().unwrap()
}

#[tokio::test]
async fn breaks_pass_through_all_tasks_and_are_counted() {
    let rig = Rig::new();
    let done = rig.all().await.unwrap();
    let report = rig.report();
    let ExportDone::Report { items, tenants, breaks } = done else { panic!("{done:?}") };
    assert_eq!((items, tenants, usize::try_from(breaks).unwrap()), (3, 1, report.len() - 1), "{report:?}");
    let kinds: BTreeSet<&str> = report[1..].iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert!(
        kinds.is_superset(&BTreeSet::from(["balance_differs", "negative_balance", "unreadable_item"])),
        "{kinds:?}"
    );
    assert_eq!((&report[0]["status"], &report[0]["run_id"]), (&json!("breaks"), &json!("r")));
    assert_eq!((&report[0]["exported_at"], &report[0]["left_out"]), (&json!(AT), &json!(0)));
    let total = |metric| i64::try_from(rig.counting.total(metric)).unwrap();
    assert_eq!((total(Metric::ReconciliationBreak), total(Metric::Reconciled)), (breaks, 1));
    assert_eq!(total(Metric::NegativeBalance), 1);
    let again: Vec<Value> =
        report[1..].iter().map(|of| line(&crate::reconcile::report::read_line(&of.to_string()).unwrap())).collect();
    assert_eq!(again, report[1..], "a finding is read back as it was written");
}

#[tokio::test]
async fn repeated_and_reordered_tasks_change_nothing() {
    let rig = Rig::new();
    let _ = rig.all().await.unwrap();
    let kept = rig.objects.kept();
    for task in rig.files().await.iter().rev().chain(&[ExportTask::Fold(2), ExportTask::Fold(0), ExportTask::Report]) {
        let once = rig.run(task).await.unwrap();
        assert_eq!(rig.run(task).await.unwrap(), once);
    }
    assert_eq!(rig.objects.kept(), kept);
}

/// A task that fails between any two of its puts is run again, in the directory that it left behind.
#[tokio::test]
async fn task_that_failed_at_any_put_can_be_repeated() {
    let whole = Rig::new();
    let _ = whole.all().await.unwrap();
    let rig = Rig::new();
    let mut tasks = rig.files().await;
    tasks.extend([ExportTask::Fold(0), ExportTask::Fold(1), ExportTask::Fold(2), ExportTask::Report]);
    for task in &tasks {
        for puts in 0.. {
            *rig.objects.puts_left.lock().unwrap() = Some(puts);
            fs::create_dir_all(rig.exports.directory.join("facts")).unwrap();
            let ended = rig.run(task).await;
            *rig.objects.puts_left.lock().unwrap() = None;
            match ended {
                Ok(_) => break,
                Err(error) => assert_eq!(error.name(), UNAVAILABLE, "{error}"),
            }
        }
    }
    assert_eq!(rig.objects.kept(), whole.objects.kept());
}

#[tokio::test]
async fn missing_object_fails_the_task() {
    let rig = Rig::new();
    let _ = rig.all().await.unwrap();
    for (name, task) in [
        ("runs/r/facts/0001/b.json.gz".to_owned(), ExportTask::Fold(1)),
        ("runs/r/items/a.json.gz".to_owned(), ExportTask::Report),
        ("runs/r/folded/0002".to_owned(), ExportTask::Report),
        (format!("{EXPORT}/data/b.json.gz"), rig.files().await.remove(1)),
        (format!("{EXPORT}/manifest-summary.json"), ExportTask::Report),
    ] {
        let bytes = rig.objects.kept.lock().unwrap().remove(&name).unwrap();
        let missing = rig.run(&task).await.unwrap_err();
        assert_eq!((&missing, missing.name()), (&ExportError::Object(ObjectError::Missing(name.clone())), BROKEN));
        rig.objects.kept.lock().unwrap().insert(name, bytes);
    }
    assert!(rig.run(&ExportTask::Report).await.is_ok());
}

#[tokio::test]
async fn export_that_differs_from_its_manifest_is_refused() {
    let rig = Rig::new();
    let (one, two) = (data(&[balance("a", "5")]), data(&[incomplete_payment()]));
    let count = |name: &str, listed, found| ExportError::Count { name: name.to_owned(), listed, found };
    let of_data = format!("{EXPORT}/data/a.json.gz");
    rig.export([one.clone(), two.clone()], [2, 1], 3);
    assert_eq!(rig.all().await, Err(count(&of_data, 2, 1)));
    // A manifest that lacks a data file.
    rig.export([one.clone(), two.clone()], [1, 1], 3);
    assert_eq!(rig.all().await, Err(count("the export", 3, 2)));
    for invalid_file in [one[..one.len() - 9].to_vec(), one[..12].to_vec(), b"no gz".to_vec(), data(&[json!({"x": 1})])]
    {
        rig.export([invalid_file.clone(), two.clone()], [1, 1], 2);
        let error = rig.all().await.unwrap_err();
        assert!(
            matches!(&error, ExportError::Unreadable { name, .. } if *name == of_data),
            "{invalid_file:?}: {error:?}"
        );
        assert_eq!(error.name(), BROKEN);
    }
    // Several gzip members in sequence are one file.
    rig.export([[one.clone(), one].concat(), two], [2, 1], 3);
    assert!(rig.all().await.is_ok());
}

#[test]
fn invalid_task_is_refused() {
    let file = json!({"itemCount": 1, "dataFileS3Key": format!("{EXPORT}/data/a.json.gz"), "etag": "y"});
    let read = |changes: Value| {
        let mut input = json!({"run": "r", "export": EXPORT, "parts": 3});
        input.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        serde_json::from_value::<ExportInput>(input).ok().and_then(|input| input.read().ok())
    };
    for good in [
        json!({"task": "facts", "file": file}),
        json!({"task": "fold", "part": 2}),
        json!({"task": "report", "parts": PARTS_MAX}),
    ] {
        assert!(read(good.clone()).is_some(), "{good}");
    }
    for bad in [
        json!({"task": "facts"}),
        json!({"task": "fold", "part": 3}),
        json!({"task": "fold", "part": 0, "file": file}),
        json!({"task": "report", "parts": 0}),
        json!({"task": "report", "parts": PARTS_MAX + 1}),
        json!({"task": "report", "run": "../r"}),
        json!({"task": "report", "run": ""}),
        json!({"task": "report", "export": ""}),
        json!({"task": "report", "tenant": "demo"}),
        json!({"task": "undo"}),
    ] {
        assert!(read(bad.clone()).is_none(), "{bad}");
    }
}

#[tokio::test]
async fn data_file_outside_the_export_is_refused() {
    let rig = Rig::new();
    let file = json!({"itemCount": 1, "dataFileS3Key": "elsewhere/a.json.gz"});
    let task = ExportTask::Facts(serde_json::from_value(file).unwrap());
    assert_eq!(rig.run(&task).await, Err(ExportError::Input));
}
