//! The payments, captures and refunds of other cases under version 2 of the records: the customer's aggregates are
//! beside a balance instead of in `METRICS`. Everything else is as in the case under version 1, and so are the effects.

use super::migrating::{GOD_RECORD, migrating, setting};
use super::world::*;
use super::{Case, card_reverse, cards, charge, debts, holds, pay, refund, refund_points};
use crate::golden::build_scale::ScaleDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// The case under version 1, that under version 2, and what the latter shows.
const UNDER_2: [(&str, &str, &str); 28] = [
    ("pay/money", "pay/records-2-money", "The aggregates are beside the debited balance: one item less."),
    ("pay/with-points", "pay/records-2-with-points", "They are beside the money, not beside the points."),
    ("pay/points-used-equal-earned", "pay/records-2-points-used-equal-earned", "The points are still only checked."),
    ("pay/three-assets", "pay/records-2-three-assets", "32.40 kg and 3,240, beside the first balance: the money."),
    ("pay/regional-whole", "pay/records-2-regional-whole", "Beside a regional currency, if it alone is debited."),
    ("pay/points-only", "pay/records-2-points-only", "Beside the points, if they alone are debited."),
    ("pay/earns-nothing", "pay/records-2-earns-nothing", "The estimate of a payment that earns no points."),
    ("pay/one-short", "pay/records-2-one-short", "The guard on the balance is the same, and nothing is counted."),
    ("pay/frozen", "pay/records-2-frozen", "So is the guard on a freeze."),
    ("pay/no-wallet", "pay/records-2-no-wallet", "No item is created for the aggregates."),
    ("pay/replayed", "pay/records-2-replayed", "A payment that was made under version 1 is replayed."),
    ("charge/charged", "charge/records-2-charged", "The aggregates are beside the debited balance."),
    ("charge/short", "charge/records-2-short", "A short balance leaves the code and the aggregates as they were."),
    ("capture/full", "capture/records-2-full", "The aggregates are beside the balance of the hold."),
    ("capture/part", "capture/records-2-part", "The captured part is counted."),
    ("capture/three-assets", "capture/records-2-three-assets", "Beside the first balance of the hold: the money."),
    ("capture/three-assets-1", "capture/records-2-three-assets-1", "One point is captured, beside the released money."),
    ("refund/partial", "refund/records-2-partial", "The aggregates are beside the credited balance."),
    ("refund/full", "refund/records-2-full", "All of it is counted back."),
    ("refund/frozen", "refund/records-2-frozen", "A freeze does not stop it."),
    ("refund/regional", "refund/records-2-regional", "Beside the regional currency that is returned."),
    ("refund/three-assets-1240", "refund/records-2-three-assets-1240", "12.40 kg off, beside the money."),
    (
        "refund/three-assets-2000-more",
        "refund/records-2-three-assets-2000-more",
        "20 kg off, beside the first balance.",
    ),
    ("refund/overtaken", "refund/records-2-overtaken", "A plan that was overtaken counts nothing."),
    (
        "refund/points-all-spent-deducted",
        "refund/records-2-points-all-spent-deducted",
        "The points are only checked, for the money is credited.",
    ),
    (
        "refund/points-eat-the-money",
        "refund/records-2-points-eat-the-money",
        "No balance changes: the check of the points becomes an update of the aggregates alone, with its guard.",
    ),
    ("refund/owing-more", "refund/records-2-owing-more", "Beside the balance whose debt is repaid."),
    ("refund/payer-gone", "refund/records-2-payer-gone", "No item is created for the aggregates."),
];

/// Cases under version 4, in which the seal of the entry credits the merchant, and not the record.
const UNDER_4: [(&str, &str, &str); 14] = [
    ("pay/money", "pay/records-4-money", "The payment is not due: its entry says that its seal credits the merchant."),
    ("pay/three-assets", "pay/records-4-three-assets", "So it is with several assets."),
    ("pay/one-short", "pay/records-4-one-short", "The guards are the same."),
    ("charge/charged", "charge/records-4-charged", "A charge is a payment."),
    ("authorize/held", "authorize/records-4-held", "Nothing is owed yet."),
    ("capture/full", "capture/records-4-full", "The entry of the capture credits."),
    ("capture/part", "capture/records-4-part", "The captured part alone."),
    ("refund/partial", "refund/records-4-partial", "The refund says by asset what is taken from the merchant."),
    ("refund/three-assets-1240", "refund/records-4-three-assets-1240", "By each of its assets."),
    ("card_pay/paid", "card_pay/records-4-paid", "A card's payment is credited in the same way."),
    ("card_refund/partial", "card_refund/records-4-partial", "So is its refund."),
    ("card_reverse/pay", "card_reverse/records-4-pay", "The reversal of a payment is taken from the merchant."),
    ("card_reverse/refund", "card_reverse/records-4-refund", "The reversal of a refund is given back to it."),
    ("card_topup/loaded", "card_topup/records-4-loaded", "An entry that owes no merchant is as before."),
];

pub(super) fn cases() -> Vec<Case> {
    let all = [pay::cases(), charge::cases(), holds::cases(), refund::cases(), refund_points::cases(), debts::cases()];
    let all: Vec<Case> = all.into_iter().flatten().collect();
    let under_2 = UNDER_2.iter().map(|(of, id, why)| under(&all, (of, id, why), "2"));
    let mut cases: Vec<Case> = under_2.collect();
    let of_4: Vec<Case> = all.into_iter().chain(cards::cases()).chain(card_reverse::cases()).collect();
    cases.extend(UNDER_4.iter().map(|(of, id, why)| under(&of_4, (of, id, why), "4")));
    cases.extend(switched());
    cases
}

/// A case under another version of the records.
pub(super) fn under(all: &[Case], (of, id, why): (&str, &'static str, &'static str), version: &str) -> Case {
    let case = all.iter().find(|case| case.id == of).unwrap_or_else(|| panic!("no case {of}"));
    let mut given = case.given.clone();
    for item in given.state.iter_mut().filter(|item| is_config(item)) {
        item["records"] = n(version);
    }
    Case { id, why, given, version: "v1", effects: case.effects.clone(), ..*case }
}

fn is_config(item: &Json) -> bool {
    item["type"] == s("CONFIG")
}

fn records(id: &'static str, why: &'static str, version: &str) -> Case {
    let does = ScaleDoes::Records { version: version.to_owned(), actor: "system".to_owned() };
    Case::new(id, why, None, Does::Scale(does))
}

fn of_version_2(config: Json) -> Json {
    with(config, "records", n("2"))
}

/// Opening a tenant with version 2, and raising the version of an open one.
fn switched() -> Vec<Case> {
    let contracted = setting(migrating(GOD_RECORD, 28), "contracted_at", s(EARLIER));
    let contracting = setting(migrating(GOD_RECORD, 28), "contracting", json!({ "BOOL": true }));
    let mut terms = of_version_2(config());
    for key in ["uuid", "type"] {
        terms = without(terms, key);
    }
    vec![
        Case::new(
            "tenant/opened-with-records-2",
            "A tenant that writes version 2 from the beginning.",
            None,
            Does::TenantOpen { terms: terms.clone() },
        ),
        Case::new(
            "tenant/opened-with-records-3",
            "A tenant that writes version 3 from the beginning.",
            None,
            Does::TenantOpen { terms: with(terms.clone(), "records", n("3")) },
        ),
        Case::new(
            "tenant/opened-with-records-4",
            "A tenant that writes version 4 from the beginning.",
            None,
            Does::TenantOpen { terms: with(terms, "records", n("4")) },
        ),
        records("tenant/records-raised-to-4", "From version 3 to version 4.", "4").on([with(
            config(),
            "records",
            n("3"),
        )]),
        records("tenant/records-raised-to-3", "From version 2 to version 3.", "3").on([of_version_2(config())]),
        records("tenant/records-raised-to-3-at-once", "From version 1 to version 3.", "3").on([config()]),
        records("tenant/records-raised", "Version 2 of the records, and an audit record.", "2").on([config()]),
        records("tenant/records-as-they-are", "Another raised it in between.", "2")
            .on([of_version_2(config())])
            .ends("rejected wrong_state by config"),
        records("tenant/records-lowered", "What the later version wrote would be read in part.", "1")
            .on([of_version_2(config())])
            .ends("rejected wrong_state by config"),
        records("tenant/records-of-a-later-release", "A version above is not lowered either.", "2")
            .on([with(config(), "records", n("3"))])
            .ends("rejected wrong_state by config"),
        records("tenant/records-missing", "There is no such tenant.", "2").ends("rejected account_missing by config"),
        records("tenant/records-while-migrating", "The legacy model has no place for it.", "2")
            .on([migrating(GOD_RECORD, 0)])
            .ends("rejected stale_plan by config"),
        records("tenant/records-before-the-end", "Nor while God Records are being emptied.", "2")
            .on([contracting])
            .ends("rejected stale_plan by config"),
        records("tenant/records-after-the-end", "Once the migration has ended.", "2").on([contracted]),
    ]
}
