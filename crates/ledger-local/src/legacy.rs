//! Data of a legacy system: customers that are one item each. For trying out a migration.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, TryStreamExt, stream};
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{GOD_RECORD, Partition, attr, sk};
use ledger_core::migration::Model;
use std::collections::HashMap;
use uuid::Uuid;

/// The slug of the legacy tenant.
pub const TENANT: &str = "legacy";
/// The number of customers that are written in parallel.
const CUSTOMERS_IN_PARALLEL: usize = 16;
/// The store's error for a put of an item that exists.
const ITEM_EXISTS: &str = "ConditionalCheckFailedException";

/// The legacy tenant to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Legacy {
    /// The legacy model.
    pub model: Model,
    /// The number of customers.
    pub customers: u32,
}

/// The id of the customer with this number, from 0.
#[must_use]
pub fn customer(number: u32) -> CustomerId {
    CustomerId::new(Uuid::from_u128(0x0189_0a5d_ac96_774b_bcce_0000_0000_0000 | u128::from(number)))
}

/// Writes the customers in the legacy model. Existing items are not changed.
///
/// # Errors
/// The store's error, as text.
pub async fn write(client: &Client, table: &str, tenant: &Tenant, legacy: Legacy) -> Result<(), String> {
    let one = async |number| {
        for item in items(tenant, legacy.model, number) {
            put(client, table, item).await?;
        }
        Ok(())
    };
    stream::iter((0..legacy.customers).map(one)).buffer_unordered(CUSTOMERS_IN_PARALLEL).try_collect().await
}

#[expect(clippy::disallowed_methods, reason = "this is what a legacy system wrote, before there was a ledger")]
async fn put(client: &Client, table: &str, item: HashMap<String, AttributeValue>) -> Result<(), String> {
    let request = client.put_item().table_name(table).set_item(Some(item));
    let absent = request.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", attr::PK);
    match absent.send().await {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(ITEM_EXISTS) => Ok(()),
        Err(error) => Err(DisplayErrorContext(error).to_string()),
    }
}

/// The items of one customer: everything in one item, or with the aggregates in a second; and the history.
fn items(tenant: &Tenant, model: Model, number: u32) -> Vec<HashMap<String, AttributeValue>> {
    let partition = Partition::customer(tenant, customer(number));
    let key = |sort_key: &str| {
        let part = |name: &str, text: &str| (name.to_owned(), AttributeValue::S(text.to_owned()));
        HashMap::from([part(attr::PK, partition.as_str()), part(attr::SK, sort_key)])
    };
    let text = |text: String| AttributeValue::S(text);
    let n = |number: String| AttributeValue::N(number);
    let mut record = key(GOD_RECORD);
    let mut put = |name: &str, value: AttributeValue| record.insert(name.to_owned(), value);
    put("name", text(format!("Customer {number}")));
    put("balance", n("10000".to_owned()));
    put("created_at", text("2021-04-01T00:00:00.000Z".to_owned()));
    put("updated_at", text("2026-11-01T09:30:00.000Z".to_owned()));
    put("loyalty_tier", text(if number.is_multiple_of(3) { "gold" } else { "silver" }.to_owned()));
    if number.is_multiple_of(2) {
        put("email", text(format!("customer{number}@example.com")));
        put("regional", AttributeValue::M(HashMap::from([("aoba".to_owned(), n((number % 7).to_string()))])));
    }
    match number % 3 {
        0 => put("phone_number", text(format!("+81-90-{:08}", number))),
        1 => put("phone_number", AttributeValue::Null(true)),
        _ => None,
    };
    let aggregates = [
        ("point", (number % 900).to_string()),
        ("jcredit", format!("{}.125", number % 5)),
        ("co2_total", format!("{}.4", number % 50)),
    ];
    let mut items = Vec::new();
    match model {
        Model::GodRecord => {
            for (name, number) in aggregates {
                put(name, n(number));
            }
        }
        Model::HalfWay => {
            let mut metrics = key("METRICS");
            metrics.extend(aggregates.map(|(name, number)| (name.to_owned(), n(number))));
            items.push(metrics);
        }
    }
    items.push(record);
    for (millis, operation, amount) in
        [(1_617_235_200_000_i64, "topup", "12000"), (1_698_796_800_000, "payment", "-2000")]
    {
        let mut row = key(&format!("{}{millis}#{operation}", sk::HISTORY));
        row.insert("amount".to_owned(), n(amount.to_owned()));
        items.push(row);
    }
    items
}
