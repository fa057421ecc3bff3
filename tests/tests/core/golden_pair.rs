//! How differences of vectors from an earlier commit are found and named.

use ledger_tests::golden::pair::{Differences, Rule, Vectors, differences, rule_of, vectors_of};
use ledger_tests::golden::vector;
use serde_json::{Value as Json, json};
use std::fs;
use std::process::Command;

/// A vector of the files, and the same with a change.
fn changed(id: &str, change: impl FnOnce(&mut Json)) -> (Json, Json) {
    let file = vector::all().iter().find(|file| file.id == id).expect("it exists");
    let before: Json = serde_json::from_str(&file.text).unwrap();
    let mut after = before.clone();
    change(&mut after);
    (before, after)
}

fn found(id: &str, change: impl FnOnce(&mut Json)) -> Vec<String> {
    let (before, after) = changed(id, change);
    let of = |json: Json| Vectors::from([(id.to_owned(), json)]);
    let differences: Differences = differences(&of(before), &of(after));
    assert!(differences.values().all(|names| names.iter().eq([id])));
    differences.into_keys().collect()
}

#[test]
fn vector_without_a_change_differs_in_nothing() {
    assert_eq!(found("pay/money", |_| ()), [""; 0]);
}

#[test]
fn vector_with_its_actions_in_another_order_differs_in_nothing() {
    let reversed = |vector: &mut Json| {
        let actions = vector["request"].as_array_mut().unwrap();
        actions.reverse();
        let last = actions.len() - 1;
        for row in vector["verdicts"].as_array_mut().unwrap() {
            let Some(reasons) = row["if"].as_object_mut() else { continue };
            let moved = std::mem::take(reasons).into_iter();
            reasons.extend(moved.map(|(at, reason)| ((last - at.parse::<usize>().unwrap()).to_string(), reason)));
        }
    };
    assert_eq!(found("pay/money", reversed), [""; 0]);
}

#[test]
fn every_kind_of_change_has_its_line() {
    let effects = |vector: &mut Json| vector["effects"]["points_issued"]["POINT"] = json!("-18");
    assert_eq!(found("pay/money", effects), ["effects"]);
    let outcome = |vector: &mut Json| vector["verdicts"][0]["then"] = json!("replay");
    assert_eq!(found("pay/money", outcome), ["outcome: applied is replay"]);
    let marker_text = "{\"S\":\"x\"}";
    let attribute = |vector: &mut Json| {
        let put = vector["request"].as_array_mut().unwrap().iter_mut().find(|one| one.get("Put").is_some()).unwrap();
        put["Put"]["Item"]["more"] = serde_json::from_str(marker_text).unwrap();
    };
    let lines = found("pay/money", attribute);
    assert!(lines.len() == 1 && lines[0].starts_with("Put customer ") && lines[0].ends_with("with attribute more S"));
    let clause = |vector: &mut Json| {
        let update =
            vector["request"].as_array_mut().unwrap().iter_mut().find(|one| one.get("Update").is_some()).unwrap();
        let condition = update["Update"]["ConditionExpression"].as_str().unwrap().to_owned();
        update["Update"]["ConditionExpression"] = json!(format!("{condition} AND #more = :more"));
    };
    let lines = found("pay/money", clause);
    assert!(lines.len() == 1 && lines[0].ends_with("with clause #more = :more"), "{lines:?}");
    let row = |vector: &mut Json| {
        let rows = vector["verdicts"].as_array_mut().unwrap();
        rows.remove(1);
    };
    let lines = found("pay/money", row);
    assert!(lines.len() == 1 && lines[0].starts_with("row removed: "), "{lines:?}");
    let action = |vector: &mut Json| {
        let last = vector["request"].as_array_mut().unwrap().pop();
        assert!(last.is_some());
    };
    assert!(found("pay/money", action).iter().any(|line| line.starts_with("action removed: ")));
}

#[test]
fn vector_that_is_added_or_removed_is_named_by_its_operation() {
    let (one, other) = changed("pay/money", |_| ());
    let [before, after] = [("pay/a", one), ("pay/b", other)].map(|(id, json)| Vectors::from([(id.to_owned(), json)]));
    let lines: Vec<String> = differences(&before, &after).into_keys().collect();
    assert_eq!(lines, ["vector added: pay", "vector removed: pay"]);
}

#[test]
fn no_rule_names_the_books_or_the_outcome() {
    let rules = [Rule { name: "any", lines: &["*"] }, Rule { name: "other", lines: &["effects", "items of *"] }];
    for line in ["effects", "outcome: applied is replay", "items of balances"] {
        assert!(rule_of(&rules, line).is_none(), "{line}");
    }
    let of = |pattern: &'static [&'static str], line| rule_of(&[Rule { name: "one", lines: pattern }], line).is_some();
    assert!(of(&["Put * with attribute *"], "Put customer TXN with attribute more S"));
    assert!(!of(&["Put * with attribute *"], "Put customer TXN without attribute more S"));
    assert!(!of(&["row"], "row added: x"));
}

#[test]
fn vectors_of_a_commit_are_the_newest_of_each_name_in_either_layout_of_folders() {
    let root = std::env::temp_dir().join(format!("golden-pair-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(&root).args(["-c", "user.name=a", "-c", "user.email=a@b.example"]).args(arguments);
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    };
    let write = |path: &str, text: &str| {
        let path = root.join("golden").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    git(&["init", "--quiet"]);
    for (path, text) in [("v1/pay/money.json", "1"), ("v2/pay/money.json", "2"), ("v1/pay/points.json", "3")] {
        write(path, text);
    }
    write("reads/v1/balances/all.json", "\"é\"");
    write("worlds/one.json", "4");
    write("README.md", "no vector");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "versions"]);
    let of = |vectors: &[(&str, Json)]| vectors.iter().map(|(name, json)| ((*name).to_owned(), json.clone())).collect();
    let versions: Vectors =
        of(&[("pay/money", json!(2)), ("pay/points", json!(3)), ("reads/balances/all", json!("é"))]);
    assert_eq!(vectors_of(&root, Some("HEAD")), Ok(versions));
    fs::remove_dir_all(root.join("golden")).unwrap();
    write("pay/money.json", "5");
    write("reads/balances/all.json", "6");
    let flat: Vectors = of(&[("pay/money", json!(5)), ("reads/balances/all", json!(6))]);
    assert_eq!(vectors_of(&root, None), Ok(flat));
    assert!(vectors_of(&root, Some("HEAD~1")).is_err(), "there is no such commit");
    fs::remove_dir_all(root).unwrap();
}
