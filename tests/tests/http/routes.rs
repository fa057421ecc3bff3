//! The function of each path: every other list of routes is compared with openapi.json.
use ledger_tests::lambda::{Kind, events, function_of_event, names};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Every method and path of the API, such as `GET /v1/me`, with its function.
fn api() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut routes = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let face = operation["tags"][0].as_str().unwrap();
            let function = if face == "stripe" { "stripe-webhook" } else { face };
            routes.insert(format!("{} {path}", method.to_uppercase()), function.to_owned());
        }
    }
    assert!(routes.len() > 40, "{} routes", routes.len());
    routes
}

#[test]
fn cargo_lambda_watch_routes_each_path_to_its_function() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo).args(metadata).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    // The library that cargo-lambda itself matches with.
    let mut router = matchit::Router::new();
    for (path, function) in document["metadata"]["lambda"]["watch"]["router"].as_object().unwrap() {
        router.insert(path, function.as_str().unwrap().to_owned()).unwrap();
    }
    for (route, function) in api() {
        let path = route.split(' ').nth(1).unwrap().replace(['{', '}'], "");
        assert_eq!(router.at(&path).map(|found| found.value), Ok(&function), "{route}");
    }
    assert!(router.at("/v1/unknown").is_err() && router.at("/").is_err());
}

#[test]
fn every_sample_event_fits_its_function() {
    let (api, mut functions) = (api(), BTreeSet::new());
    for (name, event) in events::all() {
        let function =
            function_of_event(&name).unwrap_or_else(|| panic!("{name} must begin with the name of a function"));
        functions.insert(function.name);
        let route = event["routeKey"].as_str();
        match function.kind {
            Kind::Http => {
                let route = route.unwrap_or_else(|| panic!("{name} must have a routeKey"));
                assert_eq!(api.get(route).map(String::as_str), Some(function.name), "{name}");
                assert_eq!(event["requestContext"]["routeKey"], route, "{name}");
                assert_eq!(event["requestContext"]["http"]["path"], event["rawPath"], "{name}");
            }
            Kind::Worker | Kind::Trigger | Kind::Task | Kind::Objects => {
                assert_eq!(route, None, "{name} must have no routeKey")
            }
        }
    }
    assert_eq!(functions, BTreeSet::from(names()), "each function has an event");
}
