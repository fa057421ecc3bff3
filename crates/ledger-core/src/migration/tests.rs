//! Migration of one customer, action by action. Actions are compared as text, with names and values in place of
//! placeholders: `SET fence_phase = 3 IF attribute_exists(uuid)`.

mod adopt;
mod copy;
mod ends;
mod setting;

use super::*;
use crate::dynamo::{Item, Value};
use crate::ids::{CustomerId, Tenant};
use crate::keys::{Key, Partition, Shards, attr, metrics_of};
use crate::money::{AssetSpec, RegionalKey};
use crate::terms::{EntryTerms, TermsVersion};
use crate::time::Timestamp;
use crate::transaction::{RenderedAction, TransactItem};

const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

fn customer_ref() -> CustomerRef {
    CustomerRef { tenant: Tenant::parse("demo").unwrap(), customer: CustomerId::parse(ID).unwrap() }
}

fn partition() -> Partition {
    customer_ref().partition()
}

/// A migration of a tenant with money, points and the regional currency `aoba`, which has two decimals.
fn migration(model: Model, phase: u8, fence: i64) -> Migration {
    let aoba = AssetSpec::regional(RegionalKey::parse("aoba").unwrap(), 2).unwrap();
    Migration {
        phase: Phase::new(model, phase).unwrap(),
        fence: Fence(fence),
        since: now(),
        contracting: false,
        assets: vec![AssetSpec::ECOPAY, AssetSpec::POINT, aoba],
        entries: EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
    }
}

/// The first phase in which a concern is at a stage.
fn at_stage(concern: Concern, stage: Stage) -> u8 {
    Phase::all(Model::GodRecord).find(|phase| phase.stage(concern) == stage).unwrap().number()
}

fn s(text: &str) -> Value {
    Value::s(text)
}

fn n(number: &str) -> Value {
    Value::N(number.to_owned())
}

fn m(values: &[(&str, Value)]) -> Value {
    Value::M(item(values))
}

fn item(values: &[(&str, Value)]) -> Item {
    values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn god() -> Key {
    partition().god_record()
}

fn metrics() -> Key {
    metrics_of(&partition())
}

/// The God Record of an adopted customer. Every concern is in the legacy model unless `truths` says otherwise.
fn adopted(fence: i64, truths: &[(Concern, &str)], more: &[(&str, Value)]) -> Item {
    let mut record = item(&[(attr::PK, s(god().pk())), (attr::SK, s(god().sk())), ("fence_phase", Value::int(fence))]);
    let all = Concern::ALL.map(|concern| (concern, "legacy"));
    for (concern, truth) in all.iter().chain(truths) {
        record.insert(format!("truth_{}", concern.name()), s(truth));
    }
    record.extend(item(more));
    record
}

fn seen(items: &[(Key, Item)]) -> Snapshot {
    Snapshot::new(items.iter().map(|(key, item)| (key.clone(), Some(item.clone()))), Vec::new())
}

/// Every action as text.
fn action_texts(change: &Change) -> Vec<String> {
    change.items().iter().map(plain).collect()
}

fn plain(item: &TransactItem) -> String {
    let rendered = item.render().unwrap();
    let of = |text: &str| {
        let mut plain = String::new();
        for part in text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || "#:_".contains(c))) {
            let placeholder = part.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let name = rendered.names.get(placeholder).cloned();
            let replacement = name.or_else(|| rendered.values.get(placeholder).map(shown));
            plain.push_str(&replacement.unwrap_or_else(|| placeholder.to_owned()));
            plain.push_str(part.strip_prefix(placeholder).unwrap());
        }
        plain
    };
    let action = match &rendered.action {
        RenderedAction::Put(item) => {
            let rest = item.iter().filter(|(name, _)| ![attr::PK, attr::SK].contains(&name.as_str()));
            format!("PUT {}", shown(&Value::M(rest.map(|(name, value)| (name.clone(), value.clone())).collect())))
        }
        RenderedAction::Update(_, update) => of(update),
        RenderedAction::ConditionCheck(_) => "CHECK".to_owned(),
    };
    let condition = rendered.condition.as_deref().map(|condition| format!(" IF {}", of(condition)));
    format!("{}: {action}{}", item.key().sk(), condition.unwrap_or_default())
}

fn shown(value: &Value) -> String {
    let all = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::S(text) => format!("'{text}'"),
        Value::N(number) => number.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::B(bytes) => format!("{bytes:?}"),
        Value::L(list) => format!("[{}]", all(list.iter().map(shown).collect())),
        Value::M(map) => {
            format!("{{{}}}", all(map.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect()))
        }
    }
}
