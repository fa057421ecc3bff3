//! The declaration of every attribute in the table: the pages `docs/architecture/items-*.md`, parsed strictly.
//!
//! A section of a page is a kind of item, if it has keys, or else a set of attributes that kinds share.

mod form;
mod parse;

use form::{literal_bytes, matches_name, values_in};
use ledger_core::dynamo::Value;
pub use parse::PageFault;

/// The section whose attributes every item may have.
const EVERY_ITEM: &str = "Every item";

/// The pages, by their file's name.
const PAGES: [(&str, &str); 14] = [
    ("items-every.md", include_str!("../../../docs/architecture/items-every.md")),
    ("items-entries.md", include_str!("../../../docs/architecture/items-entries.md")),
    ("items-trail.md", include_str!("../../../docs/architecture/items-trail.md")),
    ("items-accounts.md", include_str!("../../../docs/architecture/items-accounts.md")),
    ("items-merchants.md", include_str!("../../../docs/architecture/items-merchants.md")),
    ("items-payments.md", include_str!("../../../docs/architecture/items-payments.md")),
    ("items-topups.md", include_str!("../../../docs/architecture/items-topups.md")),
    ("items-settlements.md", include_str!("../../../docs/architecture/items-settlements.md")),
    ("items-bank-files.md", include_str!("../../../docs/architecture/items-bank-files.md")),
    ("items-runs.md", include_str!("../../../docs/architecture/items-runs.md")),
    ("items-staff.md", include_str!("../../../docs/architecture/items-staff.md")),
    ("items-tenant.md", include_str!("../../../docs/architecture/items-tenant.md")),
    ("items-figures.md", include_str!("../../../docs/architecture/items-figures.md")),
    ("items-migration.md", include_str!("../../../docs/architecture/items-migration.md")),
];

/// The type of an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    /// A string.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// Bytes.
    Bytes,
    /// A list.
    List,
    /// A map.
    Map,
    /// Whatever another system wrote.
    Any,
}

/// How often an attribute changes after its item was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Never.
    Never,
    /// It is set, changed or removed once.
    Once,
    /// Often.
    Often,
}

/// An attribute, as a page declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredAttribute {
    /// The name. What is in angle brackets differs: `captured_<asset>`.
    pub name: &'static str,
    /// The type of its value.
    pub value: AttributeType,
    /// Whether it is text of or about a person.
    pub is_personal: bool,
    /// What it means.
    pub meaning: &'static str,
    /// How often it changes.
    pub change: Change,
}

/// A section of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading.
    pub name: &'static str,
    /// Partition key and sort key of its items. What is in angle brackets differs: `PAYMENT`, `TXN#<entry>`. None: the
    /// attributes are shared by other sections.
    pub keys: Vec<[&'static str; 2]>,
    /// What the page says of the kind, in one line.
    pub prose: String,
    /// Whether a seal covers its items.
    pub is_sealed: bool,
    /// Whether its items expire.
    pub has_ttl: bool,
    /// The names of the sections whose attributes its items may also have.
    pub with: Vec<String>,
    /// Its attributes.
    pub attributes: Vec<DeclaredAttribute>,
}

/// The kind of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundKind<'a> {
    /// Its section.
    pub section: &'a Section,
    /// What the key has in the place of each name in angle brackets.
    pub parts: Vec<(&'static str, String)>,
}

/// The declarations of all pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemPages {
    sections: Vec<Section>,
}

impl AttributeType {
    /// Whether a value has this type.
    #[must_use]
    pub const fn is_of(self, value: &Value) -> bool {
        match value {
            Value::S(_) => matches!(self, Self::Text | Self::Any),
            Value::N(_) => matches!(self, Self::Number | Self::Any),
            Value::Bool(_) => matches!(self, Self::Flag | Self::Any),
            Value::B(_) => matches!(self, Self::Bytes | Self::Any),
            Value::L(_) => matches!(self, Self::List | Self::Any),
            Value::M(_) => matches!(self, Self::Map | Self::Any),
        }
    }
}

impl ItemPages {
    /// Reads the pages that this program was built with.
    ///
    /// # Errors
    /// [`PageFault`] names the line that cannot be read. A test reads them too, so no build that passes has one.
    pub fn read() -> Result<Self, PageFault> {
        parse::sections(&PAGES).map(|sections| Self { sections })
    }

    /// Every section.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The kind of the item under a key; `None` if no page declares it.
    #[must_use]
    pub fn kind_of(&self, partition_key: &str, sort_key: &str) -> Option<FoundKind<'_>> {
        let found = self.sections.iter().flat_map(|section| section.keys.iter().map(move |key| (section, *key)));
        let found = found.filter_map(|(section, [partition, sort])| {
            let mut parts = values_in(partition, partition_key)?;
            parts.extend(values_in(sort, sort_key)?);
            let literal = literal_bytes(partition).saturating_add(literal_bytes(sort));
            Some((literal, FoundKind { section, parts }))
        });
        // `LOOKUP#sign_in` says more than `LOOKUP#<what>`.
        found.max_by_key(|(literal, _)| *literal).map(|(_, kind)| kind)
    }

    /// The declaration of an attribute of a kind, with the section that has it; `None` if no page declares it.
    #[must_use]
    pub fn attribute(&self, of: &Section, name: &str) -> Option<(&Section, DeclaredAttribute)> {
        let shared = |section: &&Section| section.name == EVERY_ITEM || of.with.iter().any(|with| with == section.name);
        let sections = self.sections.iter().filter(|section| section.name == of.name || shared(section));
        let rows = sections.flat_map(|section| section.attributes.iter().map(move |row| (section, *row)));
        // The own row of a kind comes before a shared one, and a name before a form of names.
        rows.filter(|(_, row)| matches_name(row.name, name))
            .max_by_key(|(section, row)| (!row.name.contains('<'), literal_bytes(row.name), section.name == of.name))
    }
}

#[cfg(test)]
mod tests;
