//! Path segments and query parameters. A path that names no possible resource is answered with 404, an unknown query
//! parameter with 400.

use crate::cursor::{Cursor, PairCursor, PlacedCursor, SealedCursor, TimedCursor};
use crate::parameter::{CSV, FORMATS};
use crate::problem::Problem;
use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use ledger_core::canonical::parse_canonical;
use ledger_core::ids::{
    ApprovalId, AuditId, BankFileId, CardId, CustomerId, FindingId, IdError, JobId, MerchantId, PaymentId, RefundId,
    RunId, SettlementId, ShopId, StaffId, TerminalId, TopupId, TransactionId, least_born_at,
};
use ledger_core::time::{BusinessDate, BusinessMonth, Timestamp, UtcDay};
use serde::de::DeserializeOwned;

const LIMIT: &str = "limit";
const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 100;
const CURSOR: &str = "cursor";

/// The only id in a path; 404 if it is malformed.
#[derive(Clone, Copy, Debug)]
pub struct PathId<T>(pub T);

/// All variable segments of a path, decoded.
#[derive(Clone, Debug)]
pub struct PathOf<T>(pub T);

/// An id that can be read from a path.
pub trait ParseId: Sized {
    /// Parses an id.
    ///
    /// # Errors
    /// [`IdError`] if the text is malformed.
    fn parse_id(text: &str) -> Result<Self, IdError>;
}

/// The query parameters of a request, to be taken one by one; [`Params::finish`] refuses the rest.
#[derive(Clone, Debug)]
pub struct Params(Vec<(String, String)>);

/// `limit` and `cursor`, and no other query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The number of items, 1 to 100.
    pub limit: usize,
    /// The position that the page begins after; `None` for the first page.
    pub cursor: Option<Cursor>,
}

/// `from`, `to`, `limit` and `cursor` of a list by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedPage {
    /// The number of items, 1 to 100.
    pub limit: usize,
    /// The position that the page begins after; `None` for the first page.
    pub cursor: Option<TimedCursor>,
    /// The first instant of the list; `None`: from the first record on.
    pub from: Option<Timestamp>,
    /// The first instant after the list; `None`: up to the last record.
    pub until: Option<Timestamp>,
}

macro_rules! parse_id {
    ($($id:ty),*) => {$(
        impl ParseId for $id {
            fn parse_id(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }
    )*};
}

parse_id!(
    ApprovalId,
    AuditId,
    BankFileId,
    CardId,
    CustomerId,
    JobId,
    MerchantId,
    PaymentId,
    RefundId,
    StaffId,
    TerminalId,
    ShopId,
    TopupId,
    TransactionId,
    RunId,
    FindingId,
    SettlementId
);

impl<T: ParseId, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let PathOf(text) = PathOf::<String>::from_request_parts(parts, state).await?;
        T::parse_id(&text).map(Self).map_err(|_| Problem::not_found())
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let segments = Path::<T>::from_request_parts(parts, state).await;
        segments.map(|Path(segments)| Self(segments)).map_err(|_| Problem::not_found())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        pairs.map(|Query(pairs)| Self(pairs)).map_err(|_| Problem::invalid("The query string cannot be read."))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Page {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = Params::from_request_parts(parts, state).await?;
        let page = params.page()?;
        params.finish()?;
        Ok(page)
    }
}

impl Page {
    /// The same page without items created after the end of the day (UTC).
    #[must_use]
    pub fn not_after(self, day: Option<UtcDay>) -> Self {
        let Some(day) = day else { return self };
        let end = Cursor::after(least_born_at(day.end()));
        let cursor = self.cursor.filter(|cursor| cursor.id() < end.id()).unwrap_or(end);
        Self { cursor: Some(cursor), ..self }
    }
}

/// The number of results on a page of a search, as its body has it: 1 to 100, 20 if absent.
///
/// # Errors
/// 400 for another number.
pub fn search_limit(limit: Option<u32>) -> Result<usize, Problem> {
    limit.map_or(Ok(LIMIT_DEFAULT), |limit| within(usize::try_from(limit).ok()))
}

fn within(limit: Option<usize>) -> Result<usize, Problem> {
    limit
        .filter(|limit| (1..=LIMIT_MAX).contains(limit))
        .ok_or_else(|| Problem::invalid_field(LIMIT, "must be a whole number from 1 to 100"))
}

impl Params {
    /// Takes a parameter, if it was sent.
    ///
    /// # Errors
    /// 400 if it was sent more than once.
    pub fn take(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let (mut taken, rest): (Vec<_>, Vec<_>) = self.0.drain(..).partition(|(sent, _)| sent == name);
        self.0 = rest;
        let value = taken.pop().map(|(_, value)| value);
        if taken.is_empty() { Ok(value) } else { Err(Problem::invalid_field(name, "is given twice")) }
    }

    /// Takes a required parameter.
    ///
    /// # Errors
    /// 400 if it is missing or was sent more than once.
    pub fn require(&mut self, name: &str) -> Result<String, Problem> {
        self.take(name)?.ok_or_else(|| Problem::invalid_field(name, "is missing"))
    }

    /// Takes a parameter that is one of a few words, if it was sent.
    ///
    /// # Errors
    /// 400 that lists the words if it is another, or was sent more than once.
    pub fn word(&mut self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Problem> {
        let Some(sent) = self.take(name)? else { return Ok(None) };
        let known = words.iter().copied().find(|word| *word == sent);
        known.map(Some).ok_or_else(|| Problem::invalid_field(name, format!("must be one of: {}", words.join(", "))))
    }

    /// Takes `format`: whether the response is a file of comma-separated values.
    ///
    /// # Errors
    /// 400 if it is another word than `json` and `csv`.
    pub fn wants_csv(&mut self) -> Result<bool, Problem> {
        Ok(self.word("format", FORMATS)? == Some(CSV))
    }

    /// Takes `limit` and `cursor`.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn page(&mut self) -> Result<Page, Problem> {
        let limit = self.limit()?;
        let cursor = self.take(CURSOR)?.as_deref().map(Cursor::parse).transpose()?;
        Ok(Page { limit, cursor })
    }

    /// Takes `from`, `to`, `limit` and `cursor` of a list by time. `from` and `to` are days in Japan.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn timed_page(&mut self) -> Result<TimedPage, Problem> {
        let limit = self.limit()?;
        let cursor = self.take(CURSOR)?.as_deref().map(TimedCursor::parse).transpose()?;
        let (from, until) = self.times()?;
        Ok(TimedPage { limit, cursor, from, until })
    }

    /// Takes `from` and `to`, which are days in Japan: the first instant, and the first one after.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn times(&mut self) -> Result<(Option<Timestamp>, Option<Timestamp>), Problem> {
        let (from, to) = (self.day("from")?, self.day("to")?);
        Ok((from.map(|(start, _)| start), to.map(|(_, end)| end)))
    }

    /// Takes `limit`, and the `cursor` of a list that is sorted by one id within another.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn pair_page(&mut self) -> Result<(usize, Option<PairCursor>), Problem> {
        Ok((self.limit()?, self.take(CURSOR)?.as_deref().map(PairCursor::parse).transpose()?))
    }

    /// Takes `limit`, and the `cursor` of a list of sealed entries.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn sealed_page(&mut self) -> Result<(usize, Option<SealedCursor>), Problem> {
        Ok((self.limit()?, self.take(CURSOR)?.as_deref().map(SealedCursor::parse).transpose()?))
    }

    /// Takes `limit`, and the `cursor` of a list that is sorted by sort keys.
    ///
    /// # Errors
    /// 400 if one of them is malformed.
    pub fn placed_page(&mut self) -> Result<(usize, Option<PlacedCursor>), Problem> {
        Ok((self.limit()?, self.take(CURSOR)?.as_deref().map(PlacedCursor::parse).transpose()?))
    }

    fn limit(&mut self) -> Result<usize, Problem> {
        match self.take(LIMIT)? {
            None => Ok(LIMIT_DEFAULT),
            Some(text) => within(parse_canonical(&text)),
        }
    }

    /// A day.
    ///
    /// # Errors
    /// 400 if it is no date.
    pub fn date(&mut self, name: &str) -> Result<Option<BusinessDate>, Problem> {
        let wrong = |_| Problem::invalid_field(name, "must be a date: 2026-11-21");
        self.take(name)?.map(|day| BusinessDate::parse(&day).map_err(wrong)).transpose()
    }

    /// Takes `from` and `to`, days in Japan up to `today`, which each of them is if absent. A `from` after today gives no days:
    /// it is after the `to` that is returned.
    ///
    /// # Errors
    /// 400 if one of them is malformed, or `from` is later.
    pub fn past_days(&mut self, today: BusinessDate) -> Result<(BusinessDate, BusinessDate), Problem> {
        let (from, to) = (self.date("from")?.unwrap_or(today), self.date("to")?.unwrap_or(today));
        if from > to {
            return Err(Problem::invalid_field("from", "must not be after `to`"));
        }
        Ok((from, to.min(today)))
    }

    /// Takes a required month in Japan that has begun by `today`.
    ///
    /// # Errors
    /// 400 if it is missing, malformed or to come.
    pub fn month(&mut self, name: &str, today: BusinessDate) -> Result<BusinessMonth, Problem> {
        let wrong = |_| Problem::invalid_field(name, "must be a month: 2026-11");
        let month = BusinessMonth::parse(&self.require(name)?).map_err(wrong)?;
        if month.first() > today {
            return Err(Problem::invalid_field(name, "must not be after the present one"));
        }
        Ok(month)
    }

    /// The first instant of a day in Japan and the first one after it.
    fn day(&mut self, name: &str) -> Result<Option<(Timestamp, Timestamp)>, Problem> {
        Ok(self.date(name)?.map(BusinessDate::bounds))
    }

    /// Refuses parameters that have not been taken.
    ///
    /// # Errors
    /// 400 that names the first one.
    pub fn finish(self) -> Result<(), Problem> {
        match self.0.into_iter().next() {
            Some((name, _)) => {
                Err(Problem::invalid_field(&super::json::printable(&name), "is not a query parameter of this request"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn page(query: &str) -> Result<Page, String> {
        let (mut parts, ()) = http::Request::get(format!("/x{query}")).body(()).unwrap().into_parts();
        Page::from_request_parts(&mut parts, &()).await.map_err(|problem| problem.detail().to_owned())
    }

    #[tokio::test]
    async fn page_parameters_have_limits_and_known_names() {
        assert_eq!(page("").await, Ok(Page { limit: 20, cursor: None }));
        assert_eq!(page("?limit=100").await, Ok(Page { limit: 100, cursor: None }));
        for wrong in ["0", "101", "-1", "+5", "05", "", "x", "1.0", "99999999999999999999"] {
            assert_eq!(
                page(&format!("?limit={wrong}")).await.unwrap_err(),
                "limit: must be a whole number from 1 to 100"
            );
        }
        assert_eq!(page("?limt=5").await.unwrap_err(), "limt: is not a query parameter of this request");
        assert_eq!(page("?a%20b=5").await.unwrap_err(), "a?b: is not a query parameter of this request");
        assert_eq!(page("?limit=5&limit=6").await.unwrap_err(), "limit: is given twice");
        assert!(page("?cursor=zzz").await.unwrap_err().starts_with("cursor: "));
    }

    #[tokio::test]
    async fn days_of_a_list_by_time_are_those_of_japan() {
        let timed = async |query: &str| {
            let (mut parts, ()) = http::Request::get(format!("/x{query}")).body(()).unwrap().into_parts();
            let mut params = Params::from_request_parts(&mut parts, &()).await.unwrap();
            let page = params.timed_page().map_err(|problem| problem.detail().to_owned())?;
            params.finish().map_err(|problem| problem.detail().to_owned())?;
            Ok::<_, String>(page)
        };
        let page = timed("?from=2026-11-20&to=2026-11-21&limit=3").await.unwrap();
        let at = |text: &str| Some(Timestamp::parse(text).unwrap());
        assert_eq!((page.limit, page.cursor), (3, None));
        assert_eq!((page.from, page.until), (at("2026-11-19T15:00:00Z"), at("2026-11-21T15:00:00Z")));
        assert_eq!(timed("?from=yesterday").await.unwrap_err(), "from: must be a date: 2026-11-21");
        assert_eq!(timed("?until=2026-11-21").await.unwrap_err(), "until: is not a query parameter of this request");
    }
}
