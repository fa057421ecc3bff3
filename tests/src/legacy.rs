//! Random customers of the legacy models in all shapes, with the split records that each of them means.

use crate::chance::Dice;
use crate::wire::item_to_json;
use ledger_core::dynamo::{Item, Value};
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{self, Key, Partition, Shards, attr};
use ledger_core::migration::{Concern, Layout, Migration, Model, Phase};
use ledger_core::money::{Amount, Asset, AssetSpec, Rate, RegionalKey, Share};
use ledger_core::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase, SignInTerms,
    SpentPoints, TenantTerms, TermsVersion, TopupTerms,
};
use ledger_core::time::Timestamp;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The largest amount of an asset that a God Record may hold.
pub const LARGEST: &str = "999999999999999";

/// A customer of a legacy model, in DynamoDB's JSON.
#[derive(Clone, Debug)]
pub struct Legacy {
    /// The customer's id.
    pub customer: CustomerId,
    /// The God Record.
    pub record: Map<String, Json>,
    /// The aggregates, a separate item only in the half-way model.
    pub metrics: Option<Map<String, Json>>,
    /// The history, oldest first.
    pub history: Vec<Json>,
    /// The attributes of the God Record that the ledger does not know and must keep.
    pub unknown: Map<String, Json>,
}

/// The kinds of values that a customer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Kinds that the core can represent.
    Core,
    /// All kinds of DynamoDB, including nulls and sets.
    All,
}

/// A tenant with money under a cap, points, J-Credits and the regional currency `aoba`.
#[must_use]
pub fn terms() -> TenantTerms {
    let rate = |text: &str| Rate::parse(text).unwrap();
    let yen = |text: &str| Amount::parse(&AssetSpec::ECOPAY, text).unwrap();
    let asset = |spec: AssetSpec| (spec.asset().clone(), AssetTerms::running(spec, None));
    let mut assets: BTreeMap<_, _> =
        [AssetSpec::ECOPAY, AssetSpec::POINT, AssetSpec::JCREDIT, aoba()].map(asset).into();
    if let Some(money) = assets.get_mut(&Asset::Ecopay) {
        money.cap = Some(yen("100000"));
    }
    TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse("Aoba").unwrap(),
        key_phase: KeyPhase::Mandatory,
        assets,
        co2: Co2Terms { rate: rate("0.001"), source: "estimate".to_owned(), version: "1".to_owned() },
        points_rate: Share::parse("0.1").unwrap(),
        card_cap: yen("30000"),
        card_bonus_rate: Share::parse("0").unwrap(),
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Forgive,
        due_shards: Shards::ONE,
        topup: Some(TopupTerms {
            points_rate: Share::parse("0.01").unwrap(),
            abandoned_after: Duration::from_secs(86_400),
        }),
        requests_per_second: None,
        hold_hours: None,
        limits: None,
        settlement: None,
        settlement_schedule: None,
        cash_bonus: CashBonusTerms::Never,
        ceilings: CeilingTerms { refund: yen("100000").as_balance(), cash: yen("1000000").as_balance() },
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    }
}

/// The regional currency.
#[must_use]
pub fn aoba() -> AssetSpec {
    AssetSpec::regional(RegionalKey::parse("aoba").unwrap(), 0).unwrap()
}

/// A tenant's `CONFIG` with a migration at a phase, after `fence` changes.
#[must_use]
pub fn config(tenant: &Tenant, terms: &TenantTerms, phase: Phase, fence: i64, since: Timestamp) -> Item {
    let mut setting = Migration { phase, ..Migration::first(phase.model(), terms, since) }.item();
    setting.insert("fence".to_owned(), Value::int(fence));
    let mut config = terms.item();
    config.insert("migration".to_owned(), Value::M(setting));
    whole(&keys::config(tenant), config)
}

/// The layout of such a `CONFIG`.
#[must_use]
pub fn layout(terms: &TenantTerms, phase: Phase, fence: i64) -> Layout {
    let tenant = Tenant::parse("any").unwrap();
    Layout::read(&config(&tenant, terms, phase, fence, Timestamp::from_millis(0))).unwrap()
}

/// The same while the God Records are being emptied.
#[must_use]
pub fn contracting(terms: &TenantTerms, phase: Phase, fence: i64) -> Layout {
    match layout(terms, phase, fence) {
        Layout::Migrating(migration) => Layout::Migrating(Migration { contracting: true, ..migration }),
        Layout::Split => Layout::Split,
    }
}

/// A customer of a random shape.
#[must_use]
pub fn customer(dice: &mut Dice, model: Model, tenant: &Tenant, customer: CustomerId, kinds: Kinds) -> Legacy {
    let partition = Partition::customer(tenant, customer);
    let mut record = key(&partition.god_record());
    profile(dice, &mut record, kinds);
    if dice.below(5) > 0 {
        record.insert("balance".to_owned(), number(sum(dice, 0)));
    }
    let mut units = Map::new();
    if dice.below(5) > 0 {
        units.insert("point".to_owned(), number(sum(dice, 0)));
    }
    if dice.below(4) > 0 {
        units.insert("jcredit".to_owned(), number(sum(dice, 3)));
    }
    match dice.below(5) {
        0 => {}
        1 => drop(record.insert("regional".to_owned(), json!({ "M": {} }))),
        2 => {
            drop(record.insert("regional".to_owned(), json!({ "M": { "aoba": { "N": "70" }, "gone": { "N": "0" } } })))
        }
        _ => drop(record.insert("regional".to_owned(), json!({ "M": { "aoba": number(sum(dice, 0)) } }))),
    }
    let mut totals = Map::new();
    match dice.below(4) {
        0 => {}
        1 => drop(totals.insert("co2_total".to_owned(), number("0"))),
        2 => drop(totals.insert("co2_total".to_owned(), number("12.3456789"))),
        _ => drop(totals.insert("co2_total".to_owned(), number(sum(dice, 4)))),
    }
    let metrics = match model {
        Model::GodRecord => {
            record.extend(units);
            record.extend(totals);
            None
        }
        Model::HalfWay => {
            if dice.below(2) > 0 {
                totals.insert("payments".to_owned(), number("3"));
                totals.insert("paid_total".to_owned(), number("1200"));
            }
            units.extend(totals);
            (!units.is_empty()).then(|| key(&keys::metrics_of(&partition)).into_iter().chain(units).collect())
        }
    };
    let unknown = unknown(dice, kinds);
    record.extend(unknown.clone());
    Legacy { customer, record, metrics, history: history(dice, &partition), unknown }
}

fn profile(dice: &mut Dice, record: &mut Map<String, Json>, kinds: Kinds) {
    let mut put = |name: &str, value: Json| drop(record.insert(name.to_owned(), value));
    if dice.below(6) > 0 {
        put("name", json!({ "S": "Hana" }));
    }
    for (name, value) in [("email", "hana@example.com"), ("phone_number", "+81312345678")] {
        match dice.below(4) {
            0 => {}
            1 => put(name, json!({ "S": "" })),
            2 if kinds == Kinds::All => put(name, json!({ "NULL": true })),
            _ => put(name, json!({ "S": value })),
        }
    }
    for (name, at) in [("created_at", "2024-05-06T07:08:09Z"), ("updated_at", "2025-01-02T03:04:05.678Z")] {
        if dice.below(3) > 0 {
            put(name, json!({ "S": at }));
        }
    }
}

/// A random sum: nothing, little, much or the largest, with this many decimals.
fn sum(dice: &mut Dice, decimals: u64) -> String {
    let whole = match dice.below(9) {
        0 => return "0".to_owned(),
        1 => return "0.000".to_owned(),
        2 => return LARGEST.to_owned(),
        3 => dice.below(9) + 1,
        4 | 5 => dice.below(900) + 100,
        _ => dice.below(90_000) + 10_000,
    };
    match (decimals, dice.below(3)) {
        (0, _) | (_, 0) => whole.to_string(),
        (_, 1) => format!("{whole}.5"),
        (3, _) => format!("{whole}.345"),
        _ => format!("{whole}.{:04}", dice.below(10_000)),
    }
}

fn unknown(dice: &mut Dice, kinds: Kinds) -> Map<String, Json> {
    let mut unknown = Map::new();
    let core = [
        ("rank", json!({ "S": "gold" })),
        ("visits", json!({ "N": "42" })),
        ("opted_in", json!({ "BOOL": true })),
        ("avatar", json!({ "B": "AAEC" })),
        ("tags", json!({ "L": [{ "S": "a" }, { "N": "1" }] })),
        ("address", json!({ "M": { "zip": { "S": "100-0001" }, "floor": { "N": "3" } } })),
    ];
    let others = [
        ("coupons", json!({ "SS": ["x", "y"] })),
        ("lucky", json!({ "NS": ["7"] })),
        ("last_seen", json!({ "NULL": true })),
        ("device", json!({ "M": { "os": { "NULL": true } } })),
    ];
    let others = others.into_iter().filter(|_| kinds == Kinds::All);
    for (name, value) in core.into_iter().chain(others) {
        if dice.below(3) == 0 {
            unknown.insert(name.to_owned(), value);
        }
    }
    unknown
}

/// A history from before the ledger: at most one item of an operation in a millisecond.
fn history(dice: &mut Dice, partition: &Partition) -> Vec<Json> {
    let operations = ["pay", "charge", "topup", "transfer", "point_grant", "jcredit"];
    let mut history = Vec::new();
    for n in 0..dice.below(4) {
        let millis = 1_700_000_000_000 + n * dice.below(1_000_000);
        let operation = operations[usize::try_from(dice.below(6)).unwrap_or(0)];
        let mut item = Map::from_iter([
            ("uuid".to_owned(), json!({ "S": partition.as_str() })),
            ("type".to_owned(), json!({ "S": format!("history#{millis}#{operation}") })),
        ]);
        if dice.below(4) > 0 {
            item.insert("amount".to_owned(), number("-120"));
        }
        if dice.below(3) == 0 {
            item.insert("point".to_owned(), number("1"));
        }
        if dice.below(3) == 0 {
            item.insert("memo".to_owned(), json!({ "S": "bread" }));
        }
        if dice.below(4) == 0 {
            item.insert("regional".to_owned(), json!({ "M": { "aoba": { "N": "5" } } }));
        }
        if dice.below(4) == 0 {
            item.insert("shop".to_owned(), json!({ "M": { "id": { "S": "7" } } }));
        }
        if history.iter().all(|other: &Json| other["type"] != item["type"]) {
            history.push(Json::Object(item));
        }
    }
    history
}

impl Legacy {
    /// Every item of the customer.
    #[must_use]
    pub fn items(&self) -> Vec<Json> {
        let records = std::iter::once(&self.record).chain(&self.metrics).cloned().map(Json::Object);
        records.chain(self.history.iter().cloned()).collect()
    }

    /// The split records that a customer with this profile and these sums would have, written independently of the
    /// core.
    #[must_use]
    pub fn meaning(&self, tenant: &Tenant, terms: &TenantTerms) -> Vec<Item> {
        let partition = Partition::customer(tenant, self.customer);
        let text = |name: &str| self.record.get(name).and_then(|value| value["S"].as_str()).filter(|s| !s.is_empty());
        let mut profile = json!({
            "customer_id": { "S": self.customer.to_string() },
            "name": { "S": text("name").unwrap_or_default() },
            "status": { "S": "active" },
            "accounts": { "N": terms.assets.len().to_string() },
        });
        for (name, value) in [("email", text("email")), ("phone", text("phone_number"))] {
            if let Some(value) = value {
                profile[name] = json!({ "S": value });
            }
        }
        let mut meaning = vec![whole(&partition.profile(), crate::wire::item_from_json(&profile))];
        for asset in terms.assets.keys() {
            let sum = ["balance", "exposure"].map(|name| (name.to_owned(), Value::N(self.sum(asset))));
            let held = ("held".to_owned(), Value::int(0));
            meaning.push(whole(&partition.balance(asset), sum.into_iter().chain([held]).collect()));
        }
        let mut totals = Item::new();
        for name in ["co2_total", "payments", "paid_total", "refunds", "refunded_total"] {
            let found = std::iter::once(&self.record).chain(&self.metrics).find_map(|item| item.get(name));
            if let Some(number) = found.and_then(|value| value["N"].as_str()) {
                totals.insert(name.to_owned(), Value::N(number.to_owned()));
            }
        }
        meaning.push(whole(&keys::metrics_of(&partition), totals));
        meaning
    }

    /// The customer's sum of an asset.
    #[must_use]
    pub fn sum(&self, asset: &Asset) -> String {
        let units = self.metrics.as_ref();
        let found = match asset {
            Asset::Ecopay => self.record.get("balance"),
            Asset::Point => self.record.get("point").or_else(|| units?.get("point")),
            Asset::Jcredit => self.record.get("jcredit").or_else(|| units?.get("jcredit")),
            Asset::Regional(name) => self.record.get("regional").and_then(|map| map["M"].get(name.as_str())),
        };
        found.and_then(|value| value["N"].as_str()).unwrap_or("0").to_owned()
    }
}

/// An adopted God Record of the customer in whose partition `of` is: much of every asset, and every concern in both
/// models.
#[must_use]
pub fn adopted(of: &Key, terms: &TenantTerms) -> Item {
    let mut record = Item::from([
        (attr::PK.to_owned(), Value::s(of.pk())),
        (attr::SK.to_owned(), Value::s("customer")),
        ("fence_phase".to_owned(), Value::int(0)),
        ("name".to_owned(), Value::s("Hana")),
        ("phone_number".to_owned(), Value::s("+81312345678")),
    ]);
    for concern in Concern::ALL {
        record.insert(format!("truth_{}", concern.name()), Value::s("both"));
    }
    let words = terms.assets.keys().map(|asset| match asset {
        Asset::Ecopay => "balance".to_owned(),
        Asset::Point => "point".to_owned(),
        Asset::Jcredit => "jcredit".to_owned(),
        Asset::Regional(key) => format!("regional_{}", key.as_str()),
    });
    for word in words {
        record.insert(format!("{word}_held"), Value::int(5_000));
        record.insert(format!("{word}_exposure"), Value::int(55_000));
        if !word.starts_with("regional") {
            record.insert(word, Value::int(50_000));
        }
    }
    record.insert("regional".to_owned(), Value::M(Item::from([("aoba".to_owned(), Value::int(50_000))])));
    record
}

fn number(text: impl Into<String>) -> Json {
    json!({ "N": text.into() })
}

fn key(key: &Key) -> Map<String, Json> {
    match item_to_json(&whole(key, Item::new())) {
        Json::Object(map) => map,
        other => panic!("no item: {other}"),
    }
}

/// An item with a key's attributes added.
#[must_use]
pub fn whole(key: &Key, mut item: Item) -> Item {
    item.insert(attr::PK.to_owned(), Value::s(key.pk()));
    item.insert(attr::SK.to_owned(), Value::s(key.sk()));
    item
}
