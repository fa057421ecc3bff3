use super::*;
use parse::sections;

const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

fn pages() -> ItemPages {
    ItemPages::read().unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn kind_of_a_key_is_that_of_the_longest_form() {
    let pages = pages();
    for (partition, sort, name) in [
        ("job#1", "JOB".to_owned(), Some("A job")),
        ("job#1", format!("LINE#customer:{ID}"), Some("A line of a job")),
        ("tenant#root", "JOB".to_owned(), None),
        ("tenant#root", "BUDGET#REGIONAL#yama".to_owned(), Some("The budget of an asset")),
        ("customer#1", "LOOKUP#sign_in".to_owned(), Some("A sign-in of a customer")),
        ("customer#1", "LOOKUP#email".to_owned(), Some("What a customer is found by")),
        ("customer#1", "card_op_idem#pay#a#b".to_owned(), Some("A marker")),
        ("customer#1", "history#1#pay#x".to_owned(), Some("A row of the legacy history")),
        ("merchant#1", "PERIOD#L00#00000004".to_owned(), Some("A closed period")),
        ("totals#tenant", "DAY#2026-11-20".to_owned(), Some("A closed day")),
        ("customer#1", "TXN#".to_owned(), None),
        ("customer#1#2", "PROFILE".to_owned(), None),
    ] {
        let found = pages.kind_of(&format!("demo#{partition}"), &sort).map(|kind| kind.section.name);
        assert_eq!(found, name, "{partition} {sort}");
    }
    let marker = pages.kind_of("demo#customer#1", "card_op_idem#pay#a#b").unwrap();
    let parts: Vec<_> = marker.parts.iter().map(|(name, part)| (*name, part.as_str())).collect();
    assert_eq!(parts, [("tenant", "demo"), ("customer", "1"), ("operation", "pay"), ("key", "a#b")]);
    assert_eq!(pages.kind_of("tenants#3", "demo").unwrap().section.name, "A tenant of the registry");
}

#[test]
fn every_key_is_of_its_own_section() {
    let pages = pages();
    for section in pages.sections() {
        for [partition, sort] in &section.keys {
            let sample = |form: &str| form.replace(['<', '>'], "");
            let found = pages.kind_of(&sample(partition), &sample(sort)).map(|kind| kind.section.name);
            assert_eq!(found, Some(section.name), "{partition} {sort}");
        }
    }
}

#[test]
fn attribute_is_that_of_the_kind_before_a_shared_one() {
    let pages = pages();
    let of = |sort: &str, name: &str| {
        let kind = pages.kind_of("demo#customer#1", sort).unwrap();
        pages.attribute(kind.section, name).map(|(section, row)| (section.name, row.name))
    };
    assert_eq!(of("PROFILE", "card_7"), Some(("A customer", "card_<card>")));
    assert_eq!(of("PROFILE", "card_"), None);
    assert_eq!(of("PROFILE", "cards"), Some(("A customer", "cards")));
    assert_eq!(of("PROFILE", "_tx"), Some(("Every item", "_tx")));
    assert_eq!(of("PROFILE", "owner_sk"), Some(("Every item", "owner_sk")));
    assert_eq!(of("LOOKUP#name", "owner_sk"), Some(("What a customer is found by", "owner_sk")));
    assert_eq!(of("TXN#1", "po"), Some(("A journal entry", "po")));
    assert_eq!(of("TXN#1", "op"), Some(("Every entry", "op")));
    assert_eq!(of("TXNREF#1", "po"), None);
    assert_eq!(of("BALANCE#POINT", "use_cash_topup_202611"), Some(("A balance of a customer", "use_<kind>_<day>")));
    assert_eq!(of("customer", "regional_yama_held"), Some(("Every legacy balance", "<asset>_held")));
    assert_eq!(of("customer", "nickname"), Some(("A God Record", "<other>")));
}

#[test]
fn malformed_line_is_a_fault_with_its_place() {
    const HEAD: &str = "# Page\n\n## A thing\n\n`<tenant>#thing#<thing>` / `THING`\n\n";
    const TABLE: &str = "\n\n| attribute | type | meaning | changes |\n|---|---|---|---|\n";
    let fault = |body: &str| {
        let text: &'static str = Box::leak(format!("{HEAD}{body}").into_boxed_str());
        sections(&[("page.md", text)]).err().map(|fault| fault.to_string())
    };
    let row = |row: &str| fault(&format!("Not sealed. No `ttl`.{TABLE}{row}\n"));
    assert_eq!(row("| `a` | text | what | never |"), None);
    for wrong in [
        "| a | text | what | never |",
        "| `a` | string | what | never |",
        "| `a` | text | what | sometimes |",
        "| `a` | text | never |",
        "| `a` | text | what | never",
        "| `a` | text | what | never |\nMore text",
        "| `a` | text | what | never |\n| `a` | text | what | never |",
        "| `ttl` | number | when it expires | never |",
    ] {
        assert!(row(wrong).is_some_and(|fault| fault.starts_with("docs/architecture/page.md:")), "{wrong}");
    }
    for wrong in
        ["", "It is not sealed.", "Sealed.", "Sealed. It stays.", "Not sealed. No `ttl`. With [every thing](x.md)."]
    {
        assert!(fault(wrong).is_some_and(|fault| fault.starts_with("docs/architecture/page.md:3: ")), "{wrong}");
    }
    assert!(fault(&format!("Sealed. No `ttl`.{TABLE}| `a` | text | what | once |\n")).is_some());
    assert_eq!(fault(&format!("Sealed. No `ttl`.{TABLE}| `_a` | text | what | once |\n")), None);
    assert!(fault("Not sealed. No `ttl`.\n\n## A thing\n").is_some());
}
