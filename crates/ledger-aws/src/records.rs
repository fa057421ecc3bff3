//! The records of a batch, from a queue or from the table's stream.

use crate::EventError;
use aws_lambda_events::dynamodb::{Event as StreamEvent, EventRecord};
use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::{self, attr};
use ledger_runtime::worker::{Due, Record, Tick};
use serde_dynamo::AttributeValue;

pub(crate) fn of_stream(event: StreamEvent) -> Result<Vec<Record>, EventError> {
    let record = |record: EventRecord| {
        let id = record.change.sequence_number.ok_or(EventError("record_without_id"))?;
        let tenant = match record.change.keys.get(attr::PK) {
            Some(AttributeValue::S(pk)) => keys::tenant_of(pk),
            Some(_) | None => None,
        };
        // A deleted item has no image.
        let changed = item(record.change.new_image).filter(|item| !item.is_empty()).into_iter().collect();
        Ok(Record { id, due: tenant.map(|tenant| Due { changed, ..Due::everything(tenant) }) })
    };
    event.records.into_iter().map(record).collect()
}

pub(crate) fn of_queue(event: SqsEvent) -> Result<Vec<Record>, EventError> {
    let record = |message: SqsMessage| {
        let id = message.message_id.ok_or(EventError("record_without_id"))?;
        let tick: Option<Tick> = serde_json::from_str(message.body.as_deref().unwrap_or_default()).ok();
        Ok(Record { id, due: tick.and_then(|tick| tick.due()) })
    };
    event.records.into_iter().map(record).collect()
}

/// Converts an item; `None` if it has a type that the ledger never writes. The worker then reads it from the table.
fn item(attributes: serde_dynamo::Item) -> Option<Item> {
    attributes.into_inner().into_iter().map(|(name, value)| Some((name, self::value(value)?))).collect()
}

fn value(value: AttributeValue) -> Option<Value> {
    Some(match value {
        AttributeValue::S(text) => Value::S(text),
        AttributeValue::N(number) => Value::N(number),
        AttributeValue::Bool(flag) => Value::Bool(flag),
        AttributeValue::B(bytes) => Value::B(bytes),
        AttributeValue::L(list) => Value::L(list.into_iter().map(self::value).collect::<Option<_>>()?),
        AttributeValue::M(map) => {
            Value::M(map.into_iter().map(|(name, value)| Some((name, self::value(value)?))).collect::<Option<_>>()?)
        }
        AttributeValue::Null(_) | AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => return None,
    })
}
