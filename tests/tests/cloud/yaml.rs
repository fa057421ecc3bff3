//! Checks the reader of CloudFormation's YAML.

use ledger_tests::cloud::yaml::read;
use serde_json::json;

#[test]
fn short_tags_become_long_forms() {
    let text = "a: !Ref X\nb: [!Sub '${X}-1', !GetAtt X.Arn]\nc: !If [Y, {d: 0.05}, !Ref AWS::NoValue]\n";
    let long = json!({
        "a": {"Ref": "X"},
        "b": [{"Fn::Sub": "${X}-1"}, {"Fn::GetAtt": "X.Arn"}],
        "c": {"Fn::If": ["Y", {"d": 0.05}, {"Ref": "AWS::NoValue"}]},
    });
    assert_eq!(read(text), Ok(long));
}

#[test]
fn unknown_tags_values_and_repeated_keys_are_errors() {
    for text in ["a: !Reference X", "a: !!int x", "a: 1\na: 2", "a: *b", "1: a", "a: [", "--- a\n--- b"] {
        assert!(read(text).is_err(), "{text}");
    }
}
