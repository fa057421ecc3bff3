//! The extractors of bodies: `Json`, and `KeyedJson` with the idempotency key.

use super::json;
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use ledger_core::idempotency::{IdempotencyKey, KeyError};
use serde::de::DeserializeOwned;

/// The largest size of a request's body, in bytes.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A JSON body.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

/// A request's idempotency key and its JSON body. The body's field `idempotencyKey` has been removed.
#[derive(Clone, Debug)]
pub struct KeyedJson<T>(pub RequestKey, pub T);

/// A body as received, byte for byte.
#[derive(Clone, Debug)]
pub struct RawBody(pub Bytes);

/// The request's idempotency key, or why there is none. [`crate::app::App::claim`] decides by the tenant's terms
/// whether a missing key is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey(pub(crate) Result<IdempotencyKey, KeyError>);

impl RequestKey {
    /// Reads the key from the header's values and the body's field (`Some(None)`: the field is not a string).
    fn of(headers: &HeaderMap, field: Option<Option<String>>) -> Self {
        let field = match field {
            Some(None) => return Self(Err(KeyError::Malformed)),
            Some(Some(text)) => Some(text),
            None => None,
        };
        let values: Result<Vec<&str>, _> =
            headers.get_all(IDEMPOTENCY_KEY).iter().map(|value| value.to_str()).collect();
        Self(match values {
            Ok(values) => IdempotencyKey::from_request(values, field.as_deref()),
            Err(_) => Err(KeyError::Malformed),
        })
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (_, bytes) = json_bytes(request).await?;
        json::parse(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for KeyedJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (headers, bytes) = json_bytes(request).await?;
        let (body, field) = json::parse_keyed(&bytes)?;
        Ok(Self(RequestKey::of(&headers, field), body))
    }
}

impl<S: Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        read_body(&parts.headers, body).await.map(Self)
    }
}

async fn json_bytes(request: Request) -> Result<(HeaderMap, Bytes), Problem> {
    let (parts, body) = request.into_parts();
    let bytes = read_body(&parts.headers, body).await?;
    if !bytes.is_empty() && !is_json(&parts.headers) {
        return Err(Problem::unsupported_media_type());
    }
    Ok((parts.headers, bytes))
}

/// Reads the whole body, up to [`BODY_BYTES_MAX`].
pub(crate) async fn read_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let too_large = || Problem::body_too_large(BODY_BYTES_MAX);
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| usize::try_from(length).map_or(true, |length| length > BODY_BYTES_MAX)) {
        return Err(too_large());
    }
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Problem::invalid("The body is incomplete.")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(Ok(value)), None) = (types.next().map(|value| value.to_str()), types.next()) else {
        return false;
    };
    let mut parts = value.split(';').map(str::trim);
    let json = parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    let utf_8 = parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
        !name.trim().eq_ignore_ascii_case("charset") || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    });
    let plain =
        headers.get(header::CONTENT_ENCODING).is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    json && utf_8 && plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_json_in_utf_8_without_encoding_is_accepted() {
        for good in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/json; v=1",
        ] {
            assert!(is_json(&headers(&[("content-type", good)])), "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json; charset=shift_jis",
            "application/problem+json",
        ] {
            assert!(!is_json(&headers(&[("content-type", bad)])), "{bad}");
        }
        assert!(!is_json(&headers(&[])));
        assert!(!is_json(&headers(&[("content-type", "application/json"), ("content-encoding", "gzip")])));
    }

    #[tokio::test]
    async fn body_above_the_limit_is_refused() {
        let read = |bytes: usize| async move { read_body(&HeaderMap::new(), Body::from(vec![b' '; bytes])).await };
        assert_eq!(read(BODY_BYTES_MAX).await.unwrap().len(), BODY_BYTES_MAX);
        assert_eq!(read(BODY_BYTES_MAX + 1).await.unwrap_err().status(), 413);
        let declared = headers(&[("content-length", "99999999999999999")]);
        assert_eq!(read_body(&declared, Body::empty()).await.unwrap_err().status(), 413);
    }

    #[test]
    fn one_key_from_two_places() {
        let text = |key: RequestKey| key.0.map(|key| key.as_str().to_owned());
        let both = headers(&[("idempotency-key", "\"a\"")]);
        assert_eq!(text(RequestKey::of(&both, Some(Some("a".to_owned())))), Ok("a".to_owned()));
        assert_eq!(text(RequestKey::of(&both, Some(Some("b".to_owned())))), Err(KeyError::Differ));
        assert_eq!(text(RequestKey::of(&both, Some(None))), Err(KeyError::Malformed));
        assert_eq!(text(RequestKey::of(&HeaderMap::new(), None)), Err(KeyError::Missing));
        let mut latin = HeaderMap::new();
        latin.insert(IDEMPOTENCY_KEY, HeaderValue::from_bytes(b"\xe9").unwrap());
        assert_eq!(text(RequestKey::of(&latin, None)), Err(KeyError::Malformed));
    }
}
