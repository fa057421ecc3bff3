//! The promises of the endpoints whose transactions differ between the versions of the records, under the first version.

use super::{Endpoint, check_promises_of};
use ledger_core::terms::RecordVersion;

#[tokio::test]
async fn customer_payments() {
    Box::pin(check_promises_of(Endpoint::Pay, RecordVersion::V1)).await;
}

#[tokio::test]
async fn merchant_charges() {
    Box::pin(check_promises_of(Endpoint::Charge, RecordVersion::V1)).await;
}

#[tokio::test]
async fn merchant_payments_capture() {
    Box::pin(check_promises_of(Endpoint::Capture, RecordVersion::V1)).await;
}

#[tokio::test]
async fn merchant_refunds() {
    Box::pin(check_promises_of(Endpoint::Refund, RecordVersion::V1)).await;
}
