//! Grants of an asset to one customer, or to many in one request.

pub mod bulk;
pub mod grant;
