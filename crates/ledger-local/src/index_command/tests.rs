use super::*;
use crate::table::testing::{create_earlier, put};
use std::sync::Mutex;

const TABLE: &str = "ledger";
const HOUR: Duration = Duration::from_secs(3600);

/// The time before which records are compared.
fn until() -> Timestamp {
    Timestamp::parse("2026-11-24T03:00:00.000Z").unwrap()
}

/// An id that was born so long before that time.
fn id(age: Duration) -> String {
    least_born_at(until().minus(age)).to_string()
}

fn listed(records: &[(&str, Duration)]) -> Listed {
    let mut listed = Listed::default();
    for (owner, age) in records {
        listed.add((*owner).to_owned(), &id(*age), &id(Duration::ZERO));
    }
    listed
}

#[test]
fn index_that_lists_what_the_table_has_is_complete() {
    let records = [("a#merchant#m#0", HOUR), ("a#merchant#m#0", HOUR), ("a#merchant#m#1", HOUR)];
    let (text, complete) = verdict(&listed(&records), &listed(&records), until());
    assert!(complete && text.starts_with("compared 3 records of 2 owners"), "{text}");
    let (text, complete) = verdict(&Listed::default(), &Listed::default(), until());
    assert!(complete && text.starts_with("compared 0 records of 0 owners"), "{text}");
}

/// One owner's additional record does not make up for another's missing one.
#[test]
fn missing_record_of_one_owner_is_found_beside_an_additional_one() {
    let table = listed(&[("a#merchant#m#0", HOUR), ("a#merchant#m#1", HOUR)]);
    let index = listed(&[("a#merchant#m#0", HOUR), ("a#merchant#m#0", HOUR)]);
    let (text, complete) = verdict(&table, &index, until());
    assert!(!complete, "{text}");
    assert!(text.contains("a#merchant#m#0: 1 in the table, 2 in the index\n"), "{text}");
    assert!(text.contains("a#merchant#m#1: 1 in the table, 0 in the index\n"), "{text}");
    assert!(text.contains("NOT complete: 2 owners differ"), "{text}");
}

/// A record that is written while the table is read may be in the index alone; never in the table alone.
#[test]
fn younger_records_of_the_table_must_be_in_the_index() {
    let (old, young) = (Duration::from_millis(1), Duration::ZERO);
    let table = [("a#merchant#m#0", old), ("a#merchant#m#0", young)];
    let index = [("a#merchant#m#0", old), ("a#merchant#m#0", young), ("a#merchant#n#0", young)];
    let (text, complete) = verdict(&listed(&table), &listed(&index), until());
    assert!(complete && text.starts_with("compared 1 records of 1 owners") && text.contains("and 1 younger"), "{text}");
    let (text, complete) = verdict(&listed(&index), &listed(&table), until());
    assert!(!complete && text.contains("0 owners differ, 1 younger records are missing"), "{text}");
    assert!(!verdict(&listed(&[]), &listed(&table), until()).1);
    assert!(!verdict(&listed(&table), &listed(&[]), until()).1);
}

#[test]
fn units_are_spread_over_time() {
    for (units, per_second, millis) in [(0, 1000, 0), (500, 1000, 500), (3000, 1000, 3000), (7, 0, 7000)] {
        assert_eq!(time_for(units, per_second), Duration::from_millis(millis));
    }
}

/// More than one page of the table, some owners without a full page.
#[tokio::test]
async fn index_is_added_to_a_table_of_an_earlier_release_and_compared() {
    let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
    let url = engine.url();
    let client = table::client(&url).await;
    create_earlier(&client, TABLE).await;
    for number in 0..1_100_u64 {
        let id = id(Duration::from_secs(1 + number));
        put(&client, TABLE, &format!("a#payment#{id}"), Some((&format!("a#merchant#m#{}", number % 4), &id))).await;
    }
    put(&client, TABLE, "a#customer#c", None).await;
    let lines = Mutex::new(Vec::new());
    let progress = |line: &str| lines.lock().unwrap().push(line.to_owned());
    for added in [1, 1] {
        let (text, complete) = in_table(TABLE, Some(&url), 1_000_000, until(), &progress).await.unwrap();
        assert!(complete, "{text}");
        assert!(text.starts_with("compared 1100 records of 4 owners, born before 2026-11-24T03:00:00.000Z, and 0 "));
        assert_eq!(lines.lock().unwrap().len(), added, "added once");
    }
    let young = id(Duration::ZERO);
    put(&client, TABLE, "a#payment#young", Some(("a#merchant#m#0", &young))).await;
    let (text, complete) = in_table(TABLE, Some(&url), 1_000_000, until(), &progress).await.unwrap();
    assert!(complete && text.contains("and 1 younger ones"), "{text}");
    engine.stop().await;
}

#[tokio::test]
async fn table_that_does_not_exist_or_has_another_index_is_refused() {
    let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
    let url = engine.url();
    let missing = in_table(TABLE, Some(&url), 1000, until(), &|_| {}).await.unwrap_err();
    assert!(matches!(missing, IndexError::Table(TableError::Refused { call: "DescribeTable", .. })), "{missing}");
    let client = table::client(&url).await;
    crate::table::testing::create_with_other_keys_index(&client, TABLE).await;
    let other = in_table(TABLE, Some(&url), 1000, until(), &|_| {}).await.unwrap_err();
    assert!(matches!(other, IndexError::OtherShape(_)), "{other}");
    let file = PathBuf::from("no-such-directory/ledger.db");
    let place = Place::File { data: file, table: TABLE.to_owned() };
    let missing = run(&IndexCommand { place, units_per_second: 1 }, |_| {}).await.unwrap_err();
    assert!(matches!(missing, IndexError::NoFile(_)), "{missing}");
    engine.stop().await;
}
