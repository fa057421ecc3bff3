//! Checks of the sources that docs/architecture/absences.md lists, and of the documents' links.

use ledger_tests::costs::{Costs, page};
use ledger_tests::documents::{broken_links, documents, named_paths};
use ledger_tests::{sources, tree};
use std::path::{Path, PathBuf};

/// The text of a source file before its unit tests, without comments.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let code = text.split("mod tests {\n").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_test(file: &Path) -> bool {
    let name = file.to_string_lossy().replace('\\', "/");
    name.ends_with("/tests.rs")
        || name.contains("/tests/")
        || name.ends_with("/testing.rs")
        || name.contains("/testing/")
}

#[track_caller]
fn assert_absent(folders: &[&str], words: &[&str], except: &[&str]) {
    let mut looked_at = 0;
    for file in sources(folders).into_iter().filter(|file| !is_test(file)) {
        let name = file.to_string_lossy().replace('\\', "/");
        if except.iter().any(|except| name.ends_with(except)) {
            continue;
        }
        let code = code(&file);
        for word in words {
            assert!(!code.contains(word), "{name} contains {word}");
        }
        looked_at += 1;
    }
    assert!(looked_at > 0, "no file in {folders:?}");
}

#[test]
fn core_has_no_io_clock_randomness_or_floats() {
    let impure = [
        "SystemTime",
        "Instant::now",
        "Timestamp::now",
        "aws_",
        "tokio",
        "std::fs",
        "std::net",
        "std::env",
        "getrandom",
        " rand::",
        "thread_rng",
        "f32",
        "f64",
        "async fn",
        "println!",
    ];
    assert_absent(&["crates/ledger-core/src"], &impure, &[]);
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/ledger-core/Cargo.toml"));
    for word in ["aws", "tokio", "reqwest", "getrandom", "lambda", "axum"] {
        assert!(!manifest.as_ref().unwrap().contains(word), "the core depends on {word}");
    }
}

/// A crate's dependencies, without those of its tests.
fn dependencies(package: &str) -> Vec<String> {
    let manifest = std::fs::read_to_string(tree::root().join(package).join("Cargo.toml")).unwrap();
    let listed = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = listed.lines().map(|line| line.split(['.', ' ', '=']).next().unwrap_or_default());
    names.filter(|name| !name.is_empty() && !name.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn stripe_simulator_depends_on_nothing_of_the_ledger() {
    for name in dependencies("crates/stripe-simulator") {
        assert!(!name.starts_with("ledger") && !name.starts_with("aws"), "the simulator depends on {name}");
    }
}

#[test]
fn cargo_run_compiles_one_sdk_and_nothing_of_lambda() {
    let mut packages: Vec<String> = ["ledger-core", "ledger-runtime", "ledger-local", "stripe-simulator"]
        .map(|name| format!("crates/{name}"))
        .into();
    let local = dependencies("crates/ledger-local");
    packages
        .extend(local.iter().map(|name| format!("functions/{name}")).filter(|path| tree::root().join(path).is_dir()));
    assert!(packages.len() > 10, "{packages:?}");
    for package in packages {
        for name in dependencies(&package) {
            assert!(!name.contains("lambda"), "{package} depends on {name}");
            assert!(!name.starts_with("aws-sdk-") || name == "aws-sdk-dynamodb", "{package} depends on {name}");
        }
    }
}

#[test]
fn money_is_written_by_one_file_and_the_sdk_is_called_by_named_files() {
    let writes = [
        ".transact_write_items(",
        ".put_item(",
        ".update_item(",
        ".delete_item(",
        ".batch_write_item(",
        ".execute_statement(",
        ".execute_transaction(",
        ".batch_execute_statement(",
    ];
    // The first writes the table of money. The second writes the registry, a table of its own without money, with its own
    // conditions; the third what a legacy system would have written.
    let writers =
        ["ledger-runtime/src/dynamo.rs", "ledger-runtime/src/dynamo/registry.rs", "ledger-local/src/legacy.rs"];
    assert_absent(&["crates", "functions"], &writes, &writers);
}

/// The files of `ledger_core::reads`.
const CORE_READS: [&str; 12] = [
    "reads/accounts.rs",
    "reads/due.rs",
    "reads/figures.rs",
    "reads/finding.rs",
    "reads/items.rs",
    "reads/merchants.rs",
    "reads/query.rs",
    "reads/range.rs",
    "reads/registry.rs",
    "reads/table.rs",
    "reads/tenants.rs",
    "reads/trail.rs",
];

#[test]
fn only_clock_files_read_the_clock() {
    assert_absent(&["crates", "functions"], &["SystemTime::now"], &["/clock.rs"]);
}

#[test]
fn only_one_file_reads_the_table() {
    let reads = [".get_item(", ".batch_get_item(", ".transact_get_items(", ".query()\n", ".scan()\n"];
    // The second file prints any item, also one that the ledger cannot read.
    let readers = ["ledger-runtime/src/dynamo/ask.rs", "ledger-local/src/show_command.rs"];
    assert_absent(&["crates", "functions"], &reads, &readers);
    let built = ["Request::GetItem", "Request::BatchGetItem", "Request::Query(", "Request::Scan(", "SortRange"];
    assert_absent(
        &["crates", "functions"],
        &built,
        &["ledger-runtime/src/dynamo/ask.rs"].into_iter().chain(CORE_READS).collect::<Vec<_>>(),
    );
}

#[test]
fn ids_are_parsed_in_one_file() {
    let parsers =
        ["Uuid::parse_str", "Uuid::try_parse", "Uuid::from_str", "parse::<Uuid>", "Deserialize<'de> for Uuid"];
    assert_absent(&["crates", "functions"], &parsers, &["ledger-core/src/ids.rs"]);
}

#[test]
fn functions_scan_nothing_and_build_no_keys() {
    assert_absent(&["crates", "functions"], &[".scan_page("], &["ledger-runtime/src/reconcile/read.rs"]);
    assert_absent(&["crates", "functions"], &[".scan_customers("], &["ledger-runtime/src/migration/slice.rs"]);
    assert_absent(
        &["functions", "crates/ledger-runtime/src"],
        &["BALANCE#\"", "TXN#\"", "\"PROFILE\"", "card_op_idem", "ledger_idem", "format!(\"{tenant}#"],
        &[],
    );
}

#[test]
fn handlers_take_the_tenant_from_the_identity_only() {
    // This function makes the identity from the operator's data.
    assert_absent(&["functions"], &["Tenant::parse"], &["token-claims/src/lib.rs"]);
}

/// A path is written once, in its endpoint's declaration, from which the rest follows.
#[test]
fn handlers_do_not_repeat_their_paths() {
    let folders = [
        "functions/customer/src",
        "functions/merchant/src",
        "functions/admin/src",
        "functions/terminal/src",
        "functions/stripe-webhook/src",
        "crates/ledger-runtime/src/views",
    ];
    let mut declared = std::collections::BTreeSet::new();
    for file in sources(&folders).into_iter().filter(|file| !is_test(file)) {
        let code = code(&file);
        for (at, _) in code.match_indices("\"/v1/") {
            let line = code[..at].rsplit('\n').next().unwrap_or_default();
            let path = code[at..].split('"').nth(1).unwrap_or_default();
            let method = line.split("Endpoint::").nth(1).and_then(|call| call.strip_suffix('('));
            let method = method.or_else(|| line.ends_with(": &str = ").then_some("get"));
            let method = method.unwrap_or_else(|| panic!("{} repeats {path}", file.display()));
            assert!(declared.insert((method.to_owned(), path.to_owned())), "{method} {path} is declared twice");
        }
    }
    assert!(declared.len() > 70, "{} declarations", declared.len());
}

#[test]
fn keyed_requests_are_performed_by_the_app() {
    // `App::perform` replays the stored response even if the plan cannot be made.
    assert_absent(&["functions"], &["ledger().perform(", "desk.perform("], &[]);
}

#[test]
fn files_have_at_most_450_lines() {
    for file in sources(&["bench", "crates", "functions", "tests"]) {
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 450, "{} has {lines} lines: split it", file.display());
    }
}

#[test]
fn main_files_only_start_the_runtime() {
    for file in sources(&["functions"]).into_iter().filter(|file| file.ends_with("main.rs")) {
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 25, "{} does more than start the runtime", file.display());
    }
}

#[test]
fn documented_costs_are_the_measured_ones() {
    let costs = Costs::read();
    assert!(costs.requests.len() > 20 && costs.lives.len() > 20, "{costs:?}");
    for path in page::PAGES {
        let text = page::read(path);
        assert!(text == page::filled(&text, &costs), "{path}: run `cargo run -p ledger-tests --bin costs -- --update`");
    }
}

/// The modules that a crate's documentation lists, in order: the words in backquotes after its first list number.
fn declared_order(library: &str) -> Vec<String> {
    let list = library.split("\n//! 1. ").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// The names that follow `prefix` in a text.
fn names_after<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.split(prefix).skip(1).map(move |rest| rest.split(|c| !is_name(c)).next().unwrap_or_default())
}

#[test]
fn modules_use_only_modules_before_them() {
    for package in [
        "crates/ledger-core",
        "crates/ledger-runtime",
        "crates/ledger-local",
        "crates/stripe-simulator",
        "bench/festival",
        "bench/ledger",
    ] {
        let folder = format!("{package}/src");
        let root = format!("{}/../{folder}/", env!("CARGO_MANIFEST_DIR"));
        let order = declared_order(&std::fs::read_to_string(format!("{root}lib.rs")).unwrap());
        let place = |module: &str| order.iter().position(|declared| declared == module);
        let mut seen = std::collections::BTreeSet::new();
        for file in sources(&[&folder]).into_iter().filter(|file| !is_test(file)) {
            let name = file.to_string_lossy().replace('\\', "/");
            let path =
                name.split(&format!("{folder}/")).last().unwrap().trim_end_matches(".rs").trim_end_matches("/mod");
            let module = path.split('/').next().unwrap();
            if ["lib", "main", "bin"].contains(&module) {
                continue;
            }
            let own = place(module).unwrap_or_else(|| panic!("{package}: lib.rs does not list `{module}`"));
            let code = code(&file);
            let to_the_root = "super::".repeat(path.split('/').count());
            assert!(!code.contains(&to_the_root), "{name}: names a module of the crate by `super::`: write `crate::`");
            for used in names_after(&code, "crate::").filter(|used| *used != module) {
                let Some(used_place) = place(used) else { continue };
                assert!(used_place < own, "{name}: `{module}` uses `{used}`, which comes after it in lib.rs");
            }
            seen.insert(module.to_owned());
        }
        assert_eq!(seen, order.into_iter().collect(), "{package}: lib.rs lists a module that does not exist");
    }
}

/// The shared tests' modules without the feature `stack`, from one file down. Modules of other crates are left out.
fn without_stack(file: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    found.push(file.to_owned());
    let (code, mut is_left_out) = (code(file), false);
    for line in code.lines() {
        let module = line.trim_start_matches("pub ").strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        if let Some(module) = module.filter(|_| !is_left_out) {
            let (flat, nested) = (folder.join(format!("{module}.rs")), folder.join(module).join("mod.rs"));
            without_stack(if flat.exists() { &flat } else { &nested }, &folder.join(module), found);
        }
        is_left_out = line == "#[cfg(feature = \"stack\")]" || line.starts_with("#[path = ");
    }
}

/// Only `.ci/run --release` compiles them so.
#[test]
fn modules_without_the_feature_stack_name_no_crate_of_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let names: Vec<_> = manifest.split("\"dep:").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.contains(&"ledger-local"), "{names:?}");
    let mut files = Vec::new();
    without_stack(&folder.join("src/lib.rs"), &folder.join("src"), &mut files);
    assert!(files.contains(&folder.join("src/audit/rows.rs")), "{files:?}");
    for file in files {
        let code = code(&file);
        for name in &names {
            let uses = format!("use {}::", name.replace('-', "_"));
            assert!(!code.contains(&uses), "{}: {uses} without the feature `stack`", file.display());
        }
    }
}

#[test]
fn targets_without_a_test_binary_have_no_test() {
    let mut without = Vec::new();
    for manifest in tree::files(&["crates", "functions", "bench", "tests"], "toml") {
        let (text, package) = (std::fs::read_to_string(&manifest).unwrap(), manifest.parent().unwrap().to_owned());
        if text.contains("[lib]\ntest = false\n") {
            without.push(package.join("src"));
        }
        for target in text.split("[[bin]]\n").skip(1).filter_map(|target| target.split("\n\n").next()) {
            if target.contains("test = false") {
                let name = target.split('"').nth(1).unwrap();
                let file = package.join("src/bin").join(format!("{name}.rs"));
                without.push(if file.exists() { file } else { package.join("src/main.rs") });
            }
        }
    }
    assert!(without.len() > 20, "{without:?}");
    let is_in = |file: &Path| without.iter().any(|without| file.starts_with(without));
    for file in sources(&["crates", "functions", "bench", "tests"]).into_iter().filter(|file| is_in(file)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let has_test = ["#[test]", "::test]", "::test(", "#[cfg(test)]"].iter().any(|mark| text.contains(mark));
        assert!(!has_test, "{}: Cargo.toml builds no test binary for it", file.display());
    }
}

#[test]
fn documents_link_to_files_that_exist() {
    let read = |path: &Path| std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut broken = Vec::new();
    for document in documents() {
        let name = document.strip_prefix(tree::root()).unwrap().display().to_string();
        broken.extend(broken_links(&document, read).into_iter().map(|link| format!("{name}: {link}")));
    }
    assert!(broken.is_empty(), "links without a file or heading:\n{}", broken.join("\n"));
}

#[test]
fn documents_name_paths_that_exist() {
    // The changelog names files as they were.
    for document in documents().into_iter().filter(|document| !document.ends_with("CHANGELOG.md")) {
        for path in named_paths(&std::fs::read_to_string(&document).unwrap()) {
            assert!(tree::root().join(&path).exists(), "{} names {path}", document.display());
        }
    }
}

#[test]
fn documents_keep_their_word_limits() {
    for document in documents().into_iter().filter(|document| !document.ends_with("CHANGELOG.md")) {
        let words_max = if document == tree::root().join("README.md") { 900 } else { 1500 };
        let words = std::fs::read_to_string(&document).unwrap().split_whitespace().count();
        assert!(words <= words_max, "{} has {words} words, of at most {words_max}: split it", document.display());
    }
}
