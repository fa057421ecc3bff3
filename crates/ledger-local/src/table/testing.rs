//! Tables of earlier releases, and items in them.

use super::{BY_OWNER, BY_OWNER_KEYS, DUE, IndexShape, definition, key_schema};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, BillingMode, GlobalSecondaryIndex, Projection, ProjectionType};
use ledger_core::keys::attr;

/// Creates a table as an earlier release does.
pub(crate) async fn create_earlier(client: &Client, table: &str) {
    create_with(client, table, [BY_OWNER, DUE]).await;
}

/// Creates a table whose index has the right name and another projection.
pub(crate) async fn create_with_other_keys_index(client: &Client, table: &str) {
    create_with(client, table, [IndexShape { projection: ProjectionType::All, ..BY_OWNER_KEYS }, DUE]).await;
}

async fn create_with(client: &Client, table: &str, indexes: [IndexShape; 2]) {
    let mut request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(key_schema(attr::PK, attr::SK).unwrap()));
    for name in [attr::PK, attr::SK, attr::OWNER_PK, attr::OWNER_SK, attr::DUE_PK, attr::DUE_SK] {
        request = request.attribute_definitions(definition(name).unwrap());
    }
    for shape in indexes {
        let index = GlobalSecondaryIndex::builder()
            .index_name(shape.name)
            .set_key_schema(Some(key_schema(shape.partition, shape.sort).unwrap()))
            .projection(Projection::builder().projection_type(shape.projection).build());
        request = request.global_secondary_indexes(index.build().unwrap());
    }
    request.send().await.unwrap();
}

/// Writes an item, with its keys in the indexes by owner if it is listed there.
#[expect(clippy::disallowed_methods, reason = "a test writes what no builder makes")]
pub(crate) async fn put(client: &Client, table: &str, pk: &str, owner: Option<(&str, &str)>) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let mut request = client.put_item().table_name(table).item(attr::PK, text(pk)).item(attr::SK, text("PAYMENT"));
    if let Some((owner_pk, owner_sk)) = owner {
        request = request.item(attr::OWNER_PK, text(owner_pk)).item(attr::OWNER_SK, text(owner_sk));
    }
    request.send().await.unwrap();
}
