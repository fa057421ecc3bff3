//! Stripe's lists: newest first, in pages, between cursors and times. A cursor is the id of an object of the same kind.

use crate::error::StripeError;
use crate::forms::Params;
use crate::objects::Object;
use crate::store::Collection;
use serde_json::{Value, json};

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: i64 = 100;

/// The parameters of a page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    limit: usize,
    starting_after: Option<String>,
    ending_before: Option<String>,
    /// First and last second of creation, inclusive.
    created: (i64, i64),
}

impl Page {
    /// Takes `limit`, the cursors and `created` out of the parameters.
    pub(crate) fn parse(params: &mut Params) -> Result<Self, StripeError> {
        let limit = match params.integer("limit")? {
            None => LIMIT_DEFAULT,
            Some(limit) => {
                usize::try_from(limit).ok().filter(|_| (1..=LIMIT_MAX).contains(&limit)).ok_or_else(|| {
                    let message = format!("Invalid limit: must be between 1 and {LIMIT_MAX}.");
                    StripeError::parameter("parameter_invalid_integer", "limit", message)
                })?
            }
        };
        let (starting_after, ending_before) = (params.text("starting_after")?, params.text("ending_before")?);
        if starting_after.is_some() && ending_before.is_some() {
            let message = "You cannot parameterize both starting_after and ending_before.";
            return Err(StripeError::refused(None, message).not_executed().about("starting_after"));
        }
        Ok(Self { limit, starting_after, ending_before, created: created(params)? })
    }

    fn holds(&self, created: i64) -> bool {
        (self.created.0..=self.created.1).contains(&created)
    }
}

/// A page of the matching objects of a collection at `url`.
pub(crate) fn list<T: Object>(
    collection: &Collection<T>,
    page: &Page,
    url: &str,
    matches: impl Fn(&T) -> bool,
    render: impl Fn(&T) -> Value,
) -> Result<Value, StripeError> {
    let listed = |item: &&T| page.holds(item.created()) && matches(item);
    let all = collection.newest_first();
    let (data, has_more): (Vec<&T>, bool) = if let Some(cursor) = &page.ending_before {
        collection.find(cursor, "ending_before")?;
        let newer: Vec<&T> = all.take_while(|item| item.id() != cursor).filter(listed).collect();
        // Of the objects newer than the cursor, the page closest to it.
        let skipped = newer.len().saturating_sub(page.limit);
        (newer.into_iter().skip(skipped).collect(), skipped > 0)
    } else {
        if let Some(cursor) = &page.starting_after {
            collection.find(cursor, "starting_after")?;
        }
        let passed = |item: &&T| page.starting_after.as_deref().is_some_and(|cursor| item.id() != cursor);
        let skipped = usize::from(page.starting_after.is_some());
        let mut older = all.skip_while(passed).skip(skipped).filter(listed);
        let data = older.by_ref().take(page.limit).collect();
        (data, older.next().is_some())
    };
    let data: Vec<Value> = data.into_iter().map(render).collect();
    Ok(json!({"object": "list", "url": url, "has_more": has_more, "data": data}))
}

fn created(params: &mut Params) -> Result<(i64, i64), StripeError> {
    let (mut first, mut last) = (i64::MIN, i64::MAX);
    if let Some(exactly) = params.integer("created")? {
        (first, last) = (exactly, exactly);
    }
    if let Some(gte) = params.integer("created[gte]")? {
        first = first.max(gte);
    }
    if let Some(gt) = params.integer("created[gt]")? {
        first = first.max(gt.saturating_add(1));
    }
    if let Some(lte) = params.integer("created[lte]")? {
        last = last.min(lte);
    }
    if let Some(lt) = params.integer("created[lt]")? {
        last = last.min(lt.saturating_sub(1));
    }
    Ok((first, last))
}
