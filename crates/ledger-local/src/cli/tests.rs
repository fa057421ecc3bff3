use super::*;
use crate::opened::Place;
use clap::CommandFactory;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("ledger-local").chain(line.split_whitespace()))
}

fn terminal(line: &str) -> TerminalCommand {
    let Some(Command::Terminal(args)) = parse(line).unwrap().command else { panic!("{line}") };
    args.command()
}

#[test]
fn command_line_definition_is_valid() {
    Cli::command().debug_assert();
}

#[test]
fn stack_runs_without_a_sub_command() {
    let run = parse("").unwrap().run;
    let config = run.config();
    assert_eq!(config.port, 3000);
    assert_eq!(config.state_directory, Some(PathBuf::from("target/ecopay")));
    assert!(matches!(config.store, Store::Embedded(EngineConfig { data: Data::File(_), port: None })));
    assert_eq!(run.terminal_options("u"), "");

    let run = parse("--in-memory --port 0 --dynamodb-port 8000").unwrap().run;
    let config = run.config();
    assert!(matches!(config.store, Store::Embedded(EngineConfig { data: Data::Memory, port: Some(8000) })));
    assert_eq!(config.state_directory, None);
    assert_eq!(run.terminal_options("u"), "--url u --key-file 'target/ecopay/terminal-in-memory.json'");

    let config = parse("--endpoint-url http://x:8000 --table t").unwrap().run.config();
    assert!(matches!(&config.store, Store::Endpoint(url) if url == "http://x:8000"));
    assert_eq!(config.endpoint_wait, Duration::from_secs(30));
    assert!(parse("--in-memory --endpoint-url http://x").is_err());
    assert!(parse("--endpoint-wait 5").is_err());
}

#[test]
fn demo_year_is_played_in_memory() {
    let run = parse("--demo year").unwrap().run;
    let config = run.config();
    assert!(matches!(config.store, Store::Embedded(EngineConfig { data: Data::Memory, port: None })));
    assert_eq!(config.state_directory, None);
    assert_eq!(run.terminal_options("u"), "--key-file 'target/ecopay/terminal-in-memory.json'");
    for bad in
        ["--demo month", "--demo year --data a.db", "--demo year --endpoint-url http://x", "--demo year --legacy 5"]
    {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn callback_urls_are_absolute_and_without_fragment() {
    let run = parse("--callback-url http://localhost:5173/callback --callback-url com.example.pay:/in").unwrap().run;
    assert_eq!(run.config().callbacks, ["http://localhost:5173/callback", "com.example.pay:/in"]);
    for bad in ["/callback", "localhost", "http://localhost:5173/#x"] {
        assert!(parse(&format!("--callback-url {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn token_command_needs_an_api_and_a_person_for_its_tenant() {
    let Some(Command::Token(args)) = parse("token --api admin").unwrap().command else { panic!("token") };
    assert_eq!((args.issuer.as_str(), args.person), ("http://127.0.0.1:3000", None));
    assert!(parse("token --api admin --tenant demo --as 1").is_ok());
    for bad in ["token", "token --api terminal", "token --api merchant --merchant 1"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn stripe_is_the_simulator_unless_both_secrets_are_set() {
    let choice = |set: &'static [(&'static str, &'static str)]| {
        stripe_choice(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()))
    };
    assert!(matches!(choice(&[]), Ok(StripeChoice::Simulator)));
    assert!(matches!(choice(&[("STRIPE_API_KEY", "")]), Ok(StripeChoice::Simulator)));
    let given = choice(&[("STRIPE_API_KEY", "sk_1"), ("STRIPE_WEBHOOK_SECRET", "whsec_1")]).unwrap();
    let StripeChoice::Given(access) = given else { panic!("given") };
    assert_eq!(access.base_url, "https://api.stripe.com");
    assert_eq!(access.api_key.expose(), "sk_1");
    assert!(!format!("{access:?}").contains("sk_1"));
    let error = choice(&[("STRIPE_API_KEY", "sk_1")]).unwrap_err().to_string();
    assert!(error.contains("STRIPE_WEBHOOK_SECRET=whsec_"), "{error}");
    let error = choice(&[("STRIPE_WEBHOOK_SECRET", "whsec_1")]).unwrap_err().to_string();
    assert!(error.contains("STRIPE_API_KEY=sk_test_"), "{error}");
}

#[test]
fn tenant_commands_that_write_require_a_table() {
    let tenant = |line: &str| match parse(line).unwrap().command {
        Some(Command::Tenant(sub)) => sub.command(),
        other => panic!("{other:?}"),
    };
    let TenantCommand::Open(open) = tenant("tenant open aoba --terms t.json --marker-keys k.json --table ledger")
    else {
        panic!("open")
    };
    assert_eq!((open.slug.as_str(), open.table.as_str(), open.endpoint_url), ("aoba", "ledger", None));
    assert!(parse("tenant open aoba --terms t.json --marker-keys k.json").is_err());
    assert!(parse("tenant open aoba --terms t.json --table ledger").is_err());
    assert!(
        parse("tenant open aoba --terms t.json --marker-keys k.json --table ledger --owner hanako@example.jp").is_err()
    );
    let TenantCommand::Shards(raise) = tenant("tenant shards aoba --due 64 --table ledger") else { panic!("shards") };
    assert_eq!((raise.slug.as_str(), raise.due, raise.table.as_str()), ("aoba", 64, "ledger"));
    assert!(parse("tenant shards aoba --due 64").is_err());
    let TenantCommand::Home(home) = tenant("tenant home aoba --table restored --registry ledger-registry") else {
        panic!("home")
    };
    assert_eq!((home.table.as_str(), home.registry_name.as_str()), ("restored", "ledger-registry"));
    assert!(parse("tenant home aoba --table restored").is_err(), "a restored table has no registry of its own");
}

#[test]
fn tenant_terms_requests_a_change_if_a_file_is_named() {
    let tenant = |line: &str| match parse(line).unwrap().command {
        Some(Command::Tenant(sub)) => sub.command(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(tenant("tenant terms"), TenantCommand::TermsToBeginWith));
    let line = "tenant terms c.json --from 2026-12-01T15:00:00Z --token-file t";
    let TenantCommand::TermsChange(change) = tenant(line) else { panic!("a change") };
    assert_eq!((change.changes, change.from.as_str()), (PathBuf::from("c.json"), "2026-12-01T15:00:00Z"));
    assert_eq!((change.url.as_str(), change.token_file), ("http://127.0.0.1:3000", Some(PathBuf::from("t"))));
    assert_eq!((change.tenant.as_str(), change.reason), ("demo", None));
    for bad in ["tenant terms c.json", "tenant terms --from 2026-12-01T15:00:00Z", "tenant terms --token-file t"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn audit_verify_reads_the_data_file_unless_a_table_is_named() {
    let audit = |line: &str| match parse(line).unwrap().command {
        Some(Command::Audit(sub)) => sub.command(),
        other => panic!("{other:?}"),
    };
    let verify = |line: &str| match audit(line) {
        AuditCommand::Verify(command) => command,
        other @ (AuditCommand::Check(_) | AuditCommand::Prove(_)) => panic!("{other:?}"),
    };
    let local = verify("audit verify --tenant demo --from 2026-11-21 --head abc");
    assert_eq!((local.slug.as_str(), local.head.as_deref(), local.to), ("demo", Some("abc"), None));
    assert!(matches!(local.place, Place::File { data, .. } if data == Path::new(DATA_DEFAULT)));
    let there = verify("audit verify --tenant demo --table t --endpoint-url http://x");
    let table = Place::Table { name: "t".to_owned(), endpoint_url: Some("http://x".to_owned()) };
    assert_eq!(there.place, table);
    assert!(parse("audit verify").is_err());
    let AuditCommand::Check(check) = audit("audit verify --proof p.json --head abc") else { panic!("a proof") };
    assert_eq!((check.proof, check.head.as_str()), (PathBuf::from("p.json"), "abc"));
    let AuditCommand::Prove(prove) = audit("audit proof customer:a/b --tenant demo --head abc") else {
        panic!("an entry")
    };
    assert_eq!((prove.slug.as_str(), prove.entry.as_str(), prove.head.as_str()), ("demo", "customer:a/b", "abc"));
    assert!(matches!(prove.place, Place::File { data, .. } if data == Path::new(DATA_DEFAULT)));
    for bad in [
        "audit verify --proof p.json",
        "audit verify --proof p.json --head abc --tenant demo",
        "audit proof x --tenant demo",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn show_takes_a_key_and_a_table() {
    let show = |line: &str| {
        let Some(Command::Show(args)) = parse(line).unwrap().command else { panic!("{line}") };
        args.command()
    };
    let item = show("show demo#payment#1 PAYMENT");
    assert_eq!((item.partition_key.as_str(), item.sort_key.as_deref()), ("demo#payment#1", Some("PAYMENT")));
    assert!(!item.is_personal && matches!(item.place, Place::File { data, .. } if data == Path::new(DATA_DEFAULT)));
    let partition = show("show demo#payment#1 --personal --table t");
    assert!(partition.is_personal && partition.sort_key.is_none());
    assert_eq!(partition.place, Place::Table { name: "t".to_owned(), endpoint_url: None });
    for bad in ["show", "show demo#payment#1 PAYMENT --table t --data f", "show a b c"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn tenant_request_rate_comes_from_the_environment() {
    let given = |text: &str| {
        tenant_requests(|name| (name == "TENANT_REQUESTS_PER_SECOND").then(|| text.to_owned()))
            .map(RequestRate::per_second)
            .map_err(|error| error.to_string())
    };
    assert_eq!((given(""), given("7")), (Ok(200), Ok(7)));
    assert!(given("none").unwrap_err().contains("TENANT_REQUESTS_PER_SECOND=200"));
}

#[test]
fn terminal_requests_and_enrolments_parse() {
    let TerminalCommand::Send(send) =
        terminal("terminal --url http://x POST /v1/terminal/cards/c/pay {} --idempotency-key k --dry-run")
    else {
        panic!("a request");
    };
    assert_eq!((send.method, send.path.as_str()), (Method::POST, "/v1/terminal/cards/c/pay"));
    assert_eq!((send.body.as_deref(), send.idempotency_key.as_deref()), (Some("{}"), Some("k")));
    assert!(send.dry_run);
    assert_eq!(send.key_file, PathBuf::from("target/ecopay/terminal.json"));
    let TerminalCommand::Enrol(enrol) = terminal("terminal enrol --key-file f --terminal t") else {
        panic!("an enrolment");
    };
    assert_eq!((enrol.key_file, enrol.terminal.as_deref()), (PathBuf::from("f"), Some("t")));
    assert!(parse("terminal").is_err());
    assert!(parse("terminal GET").is_err());
}
