//! Reads requests: bounded JSON bodies, idempotency keys, path ids and query parameters. An error names the field and
//! never repeats the value.

mod amount;
mod body;
mod fields;
mod json;
mod listing;
mod params;
mod patch;
mod pin;

pub use amount::AmountText;
pub(crate) use body::read_body;
pub use body::{BODY_BYTES_MAX, Json, KeyedJson, RawBody, RequestKey};
pub use fields::{
    ASSET_NOT_RUN, Empty, MEMO_CHARS_MAX, ProfileBody, SentProfile, SentText, StatusBody, amount, amount_in, email, id,
    kana, memo, name, phone, text_of, word,
};
pub use listing::{HistoryListing, Listing, RecordListing, SealedListing, TenantListing, TopupListing};
pub use params::{Page, Params, ParseId, PathId, PathOf, TimedPage, search_limit};
pub use patch::PatchField;
pub use pin::PinText;
