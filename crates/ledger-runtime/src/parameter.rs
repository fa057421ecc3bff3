//! The parameters of an endpoint: variable segments of its path, and query parameters.

use utoipa::openapi::path::{Parameter as Documented, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Required};

/// A terminal's idempotency key: `<terminal id>-<epoch>-<sequence>`.
pub(crate) const TERMINAL_KEY_PATTERN: &str =
    "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)$";
/// A client's idempotency key: 1 to 255 visible ASCII characters.
pub(crate) const KEY_PATTERN: &str = "^[!-~]{1,255}$";

/// The forms of a response.
pub(crate) const FORMATS: &[&str] = &["json", CSV];
pub(crate) const CSV: &str = "csv";

/// A path or query parameter of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    name: &'static str,
    description: &'static str,
    kind: Kind,
    place: Place,
}

/// The form of a parameter's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An id of this API: a UUID.
    Id,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text; holds an example.
    Text(&'static str),
    /// Text of a pattern; holds the pattern and an example.
    Form(&'static str, &'static str),
    /// A date, `YYYY-MM-DD`.
    Day,
    /// A whole number; holds the least, the most, and the default.
    Number(u32, u32, u32),
    /// A terminal's idempotency key.
    TerminalKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Path,
    Query { required: bool },
}

impl Parameter {
    /// The number of items on a page.
    pub(crate) const LIMIT: Self = Self::in_query("limit", "The maximum number of items.", Kind::Number(1, 100, 20));
    /// The place in the list where a page begins.
    pub(crate) const CURSOR: Self =
        Self::in_query("cursor", "The `next_cursor` of the previous page.", Kind::Text("MDE5YWE3ZmUtM2MwMC03MDAw"));

    /// Whether the response is a file of comma-separated values.
    pub(crate) const FORMAT: Self =
        Self::in_query("format", "`csv` for a file of comma-separated values; `json` if absent.", Kind::Word(FORMATS));

    /// The first day of a list by time.
    pub(crate) const FROM: Self =
        Self::in_query("from", "The first day, in Japan, on which what is listed was made.", Kind::Day);
    /// The last day of a list by time.
    pub(crate) const TO: Self =
        Self::in_query("to", "The last day, in Japan, on which what is listed was made.", Kind::Day);

    /// Declares a variable segment of the path.
    #[must_use]
    pub const fn in_path(name: &'static str, description: &'static str, kind: Kind) -> Self {
        Self { name, description, kind, place: Place::Path }
    }

    /// Declares an optional query parameter.
    #[must_use]
    pub const fn in_query(name: &'static str, description: &'static str, kind: Kind) -> Self {
        Self { name, description, kind, place: Place::Query { required: false } }
    }

    /// Declares a required query parameter.
    #[must_use]
    pub const fn required_in_query(name: &'static str, description: &'static str, kind: Kind) -> Self {
        Self { name, description, kind, place: Place::Query { required: true } }
    }

    pub(crate) fn is_in_query(&self) -> bool {
        self.place != Place::Path
    }

    pub(crate) fn document(&self) -> Documented {
        let (place, required) = match self.place {
            Place::Path => (ParameterIn::Path, Required::True),
            Place::Query { required } => (ParameterIn::Query, if required { Required::True } else { Required::False }),
        };
        ParameterBuilder::new()
            .name(self.name)
            .parameter_in(place)
            .required(required)
            .description(Some(self.description))
            .schema(Some(self.kind.schema()))
            .build()
    }
}

impl Kind {
    fn schema(self) -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        let format = |name: &str| Some(SchemaFormat::Custom(name.to_owned()));
        let schema = match self {
            Self::Id => text.format(format("uuid")).examples(["019aa7fe-3c00-7000-8000-000000000001"]),
            Self::Word(words) => text.enum_values(Some(words.iter().copied())),
            Self::Text(example) => text.min_length(Some(1)).examples([example]),
            Self::Form(pattern, example) => text.pattern(Some(pattern)).examples([example]),
            Self::Day => text.format(format("date")).examples(["2026-11-21"]),
            Self::Number(least, most, absent) => ObjectBuilder::new()
                .schema_type(Type::Integer)
                .minimum(Some(least))
                .maximum(Some(most))
                .default(Some(absent.into())),
            Self::TerminalKey => {
                text.pattern(Some(TERMINAL_KEY_PATTERN)).examples(["019aa7fe-3c00-7000-8000-000000000001-1-1"])
            }
        };
        RefOr::T(Schema::Object(schema.build()))
    }
}
