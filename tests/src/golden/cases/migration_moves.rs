//! Changes that migrate one customer from a legacy model: adopt, copy, copy back, empty the God Record.

use super::Case;
use super::migrating::*;
use super::world::*;
use crate::golden::command::Does;
use crate::golden::command_migration::MigrationDoes;
use serde_json::{Value as Json, json};

pub(super) fn cases() -> Vec<Case> {
    let mut all = adopted();
    all.extend(not_adopted());
    all.extend(copied());
    all.extend(contracted());
    all
}

fn case(id: &'static str, why: &'static str, does: MigrationDoes) -> Case {
    Case::new(id, why, None, Does::Migration(does)).ends("written")
}

fn adopt(id: &'static str, why: &'static str) -> Case {
    case(id, why, MigrationDoes::Adopt { customer: A.to_owned() })
}

impl Case {
    /// Customer A's legacy amount of an asset is posted as opening balance.
    fn opens(self, asset: &'static str, amount: &'static str, taken: &'static str) -> Self {
        self.moves(&[(OF_A, asset, amount), ("opening_balances", asset, taken)])
    }
}

fn raw(attributes: Json) -> Json {
    item("customer", A, "customer", attributes)
}

/// A God Record as the legacy model wrote it, with an attribute that the ledger does not know.
fn whole() -> Json {
    raw(json!({
        "name": s("Hanako"), "email": s("old@example.jp"), "phone_number": s("090-1234-5678"),
        "balance": n("5000"), "point": n("500"), "jcredit": n("1.250"), "co2_total": n("3.5"),
        "regional": { "M": { "aoba": n("1000"), "yama": n("12.34") } }, "nickname": s("hana"),
    }))
}

fn adopted() -> Vec<Case> {
    let half_way = without(without(without(whole(), "point"), "jcredit"), "co2_total");
    let aggregates = json!({ "point": n("40"), "jcredit": n("0.125"), "co2_total": n("3.5") });
    vec![
        adopt("migration/adopt-god-record", "Every sum opens in the books; what is unknown stays.")
            .on([migrating(GOD_RECORD, 0), whole()])
            .opens("ECOPAY", "5000", "-5000")
            .opens("REGIONAL#aoba", "1000", "-1000")
            .opens("POINT", "500", "-500")
            .opens("JCREDIT", "1.25", "-1.25")
            .opens("REGIONAL#yama", "12.34", "-12.34"),
        adopt("migration/adopt-missing-attributes", "What is not there is nothing, and is there from then on.")
            .on([migrating(GOD_RECORD, 0), raw(json!({ "name": s("Hanako"), "balance": n("10.0") }))])
            .opens("ECOPAY", "10", "-10"),
        adopt("migration/adopt-nothing-at-all", "Whoever has nothing opens no books.")
            .on([migrating(GOD_RECORD, 0), raw(json!({ "name": s(""), "point": n("0") }))]),
        adopt("migration/adopt-part-of-the-map", "A currency that the map does not name comes into it.")
            .on([
                migrating(GOD_RECORD, 0),
                raw(json!({ "name": s("Hanako"), "regional": { "M": { "aoba": n("7"), "gone": n("0") } } })),
            ])
            .opens("REGIONAL#aoba", "7", "-7"),
        adopt("migration/adopt-half-way", "Points and J-Credits open from the aggregates.")
            .on([migrating(HALF_WAY, 0), half_way, item("customer", A, "METRICS", aggregates)])
            .opens("ECOPAY", "5000", "-5000")
            .opens("REGIONAL#aoba", "1000", "-1000")
            .opens("POINT", "40", "-40")
            .opens("JCREDIT", "0.125", "-0.125")
            .opens("REGIONAL#yama", "12.34", "-12.34"),
        adopt("migration/adopt-half-way-without-aggregates", "They come to be with the customer.")
            .on([migrating(HALF_WAY, 0), raw(json!({ "name": s("Hanako"), "balance": n("10") }))])
            .opens("ECOPAY", "10", "-10"),
        adopt("migration/adopt-late", "Whoever comes in a late phase still comes with the God Record alone.")
            .on([migrating(GOD_RECORD, 21), without(whole(), "jcredit")])
            .opens("ECOPAY", "5000", "-5000")
            .opens("REGIONAL#aoba", "1000", "-1000")
            .opens("POINT", "500", "-500")
            .opens("REGIONAL#yama", "12.34", "-12.34"),
        adopt("migration/adopt-born-split", "Whom split records alone know gets a God Record that says so.").on([
            migrating(GOD_RECORD, 10),
            full_profile(),
            wallet(A, "ECOPAY", "5000"),
        ]),
    ]
}

/// A God Record with a value that the ledger cannot keep is not adopted, and the attribute is named.
fn not_adopted() -> Vec<Case> {
    let refused = |id, why, attribute, value, outcome| {
        adopt(id, why).on([migrating(GOD_RECORD, 0), with(whole(), attribute, value)]).ends(outcome)
    };
    vec![
        refused(
            "migration/adopt-negative",
            "A balance below nothing is for a person to look at.",
            "balance",
            n("-1"),
            "refused unadoptable balance",
        ),
        refused(
            "migration/adopt-too-many-decimals",
            "So is a fraction of a point.",
            "point",
            n("0.5"),
            "refused unadoptable point",
        ),
        refused("migration/adopt-text", "And a sum that is a text.", "balance", s("10"), "refused unadoptable balance"),
        refused(
            "migration/adopt-unknown-currency",
            "And a currency that the tenant's terms do not name.",
            "regional",
            json!({ "M": { "gone": n("1") } }),
            "refused unadoptable regional.gone",
        ),
        adopt("migration/adopt-nobody", "There is no such customer.")
            .on([migrating(GOD_RECORD, 0)])
            .ends("refused missing"),
    ]
}

/// Customer A of a phase, under its fence, with another truth for one concern.
fn customer_in_phase(phase: usize, concern: &str, truth: &str) -> Vec<Json> {
    let fenced = record_with(customer(GOD_RECORD, phase), "fence_phase", n(&phase.to_string()));
    record_with(fenced, &format!("truth_{concern}"), s(truth))
}

/// The same with another version of one item.
fn beside(customer: Vec<Json>, other: Json) -> Vec<Json> {
    let mut all = item_without(customer, other["type"]["S"].as_str().unwrap());
    all.push(other);
    all
}

fn copied() -> Vec<Case> {
    let copy = |id, why, concern: &str, phase| {
        let does = MigrationDoes::Copy { customer: A.to_owned(), concern: concern.to_owned() };
        case(id, why, does).on([migrating(GOD_RECORD, phase)])
    };
    vec![
        copy("migration/copy-points", "The split record comes to be.", "points", 10)
            .on(item_without(customer_in_phase(10, "points", "legacy"), "BALANCE#POINT")),
        copy(
            "migration/copy-points-of-writers",
            "Writers have added to it already: the difference comes.",
            "points",
            10,
        )
        .on(beside(customer_in_phase(10, "points", "legacy"), wallet(A, "POINT", "-17"))),
        copy("migration/copy-regional", "Every currency of the map at once.", "regional", 16).on(item_without(
            item_without(customer_in_phase(16, "regional", "legacy"), "BALANCE#REGIONAL#aoba"),
            "BALANCE#REGIONAL#yama",
        )),
        copy("migration/copy-metrics", "Totals, by their differences.", "metrics", 7)
            .on(item_without(customer_in_phase(7, "metrics", "legacy"), "METRICS")),
        copy("migration/copy-points-back", "The phase went back: the God Record gets what it lacks.", "points", 10)
            .on(record_with(customer_in_phase(10, "points", "split"), "point", n("483"))),
        copy("migration/copy-money-back", "Before its first move, money stands in the God Record again.", "money", 18)
            .on(record_with(customer_in_phase(18, "money", "split"), "balance", n("1")))
            .on([with(wallet(A, "ECOPAY", "5000"), "frozen", s(BY_OTHER))]),
        copy("migration/copy-profile", "Field by field, if nobody has written meanwhile.", "profile", 1)
            .on(item_without(customer_in_phase(1, "profile", "legacy"), "PROFILE")),
        copy("migration/copy-profile-back", "What was cleared is cleared, what was set is set.", "profile", 1).on(
            beside(
                customer_in_phase(1, "profile", "split"),
                with(without(full_profile(), "email"), "phone", s("+81 90-1111-2222")),
            ),
        ),
        copy("migration/copy-raise", "First whoever plans by an earlier setting is shut out.", "points", 10)
            .on(record_with(customer_in_phase(10, "points", "legacy"), "fence_phase", n("9"))),
        copy("migration/copy-fenced", "Under a later setting than ours nothing is copied.", "points", 10)
            .on(record_with(customer_in_phase(10, "points", "legacy"), "fence_phase", n("11")))
            .ends("refused fenced"),
        copy("migration/copy-not-adopted", "Whom the ledger has not taken over is taken over first.", "points", 10)
            .on([whole()])
            .ends("refused not_adopted"),
    ]
}

fn contracted() -> Vec<Case> {
    let contract = |id, why, model: &str, phase: usize| {
        let config = setting(migrating(model, phase), "contracting", json!({ "BOOL": true }));
        case(id, why, MigrationDoes::Contract { customer: A.to_owned() }).on([config])
    };
    let history = |name: &str, more: Json| item("customer", A, &format!("history#{name}"), more);
    vec![
        contract("migration/contract", "What is unknown stays, and who wrote last.", GOD_RECORD, 28)
            .on(customer(GOD_RECORD, 28)),
        contract("migration/contract-half-way", "Of the aggregates go points and J-Credits.", HALF_WAY, 24)
            .on(customer(HALF_WAY, 24)),
        contract("migration/contract-with-a-strange-currency", "A map that names more stays.", GOD_RECORD, 28).on(
            record_with(
                customer(GOD_RECORD, 28),
                "regional",
                json!({ "M": { "aoba": n("1"), "yama": n("1"), "gone": n("0") } }),
            ),
        ),
        contract("migration/contract-not-copied", "Nothing goes that stands there alone.", GOD_RECORD, 28)
            .on(record_with(customer(GOD_RECORD, 28), "truth_points", s("legacy")))
            .ends("refused not_copied points"),
        contract("migration/contract-fenced", "Under a later setting than ours nothing goes.", GOD_RECORD, 28)
            .on(record_with(customer(GOD_RECORD, 28), "fence_phase", n("29")))
            .ends("refused fenced"),
        case("migration/expire-history", "Legacy history items go in a week.", MigrationDoes::ExpireHistory {})
            .on([migrating(GOD_RECORD, 28)])
            .on([history("1700000000000#pay", json!({ "amount": n("100") }))])
            .on([history("1700000000001#pay", json!({ "amount": n("100"), "ttl": n("1803006300") }))]),
    ]
}
