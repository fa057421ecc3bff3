//! The forms of stored items: those of a later release are refused, not misread.
//!
//! Every item may have the attribute `f`, a number. Its absence means form 1, and this release writes none. A tenant's
//! `CONFIG` has `format`, which is 1: whatever meets a higher one writes nothing for the tenant.
//!
//! An update that does not read its item cannot see `f`. `CONFIG` alone protects such items: a later release raises
//! `format` 90 seconds before it writes the first item of another form, and `CONFIG` is cached for 60 seconds.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::keys::attr;

/// The attribute of `CONFIG` with the highest form of the tenant's items.
pub(crate) const FORMAT: &str = "format";
/// The form of each item and the format of each tenant that this release writes.
const ONE: i64 = 1;

/// Requires that an item has a form that this release reads.
///
/// # Errors
/// [`ItemError`] of a later form, or if `f` is no whole number from 1.
pub fn check_form(item: &Item) -> Result<(), ItemError> {
    match item.opt_int::<i64>(attr::FORM)? {
        None => Ok(()),
        Some(form) => at_most_one(attr::FORM, form),
    }
}

/// Requires that a tenant's `CONFIG` has the format that this release writes.
///
/// # Errors
/// [`ItemError`] of a later form, or if `format` is missing or no whole number from 1.
pub fn check_format(config: &Item) -> Result<(), ItemError> {
    at_most_one(FORMAT, config.int(FORMAT)?)
}

/// The attribute of `CONFIG` for the format that this release writes.
pub(crate) fn format_attribute() -> (String, Value) {
    (FORMAT.to_owned(), Value::int(ONE))
}

fn at_most_one(attribute: &str, form: i64) -> Result<(), ItemError> {
    match form {
        ONE => Ok(()),
        later if later > ONE => Err(ItemError::later_form(attribute)),
        _ => Err(ItemError::invalid(attribute)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(attribute: &str, value: Value) -> Item {
        Item::from([(attribute.to_owned(), value)])
    }

    #[test]
    fn item_without_a_form_or_of_form_one_is_read() {
        assert_eq!(check_form(&Item::new()), Ok(()));
        assert_eq!(check_form(&item("f", Value::int(1))), Ok(()));
        assert_eq!(check_form(&item("f", Value::int(2))), Err(ItemError::later_form("f")));
        assert_eq!(check_form(&item("f", Value::int(0))), Err(ItemError::invalid("f")));
        assert!(check_form(&item("f", Value::s("2"))).is_err());
    }

    #[test]
    fn format_of_a_tenant_is_required_and_one() {
        assert_eq!(check_format(&Item::from([format_attribute()])), Ok(()));
        assert_eq!(check_format(&Item::new()), Err(ItemError::missing(FORMAT)));
        assert_eq!(check_format(&item(FORMAT, Value::int(2))), Err(ItemError::later_form(FORMAT)));
    }
}
