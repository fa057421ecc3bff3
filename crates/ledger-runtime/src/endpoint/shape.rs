//! The shape of a body: the schema of a type, as `utoipa` derives it.

use crate::views::Page;
use std::borrow::Cow;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

type Schemas = Vec<(String, RefOr<Schema>)>;

/// The shape of a request's or response's body.
#[derive(Clone, Copy, Debug)]
pub struct Shape(ShapeKind);

#[derive(Clone, Copy, Debug)]
enum ShapeKind {
    /// JSON of a type whose schema is in the document.
    Type { name: fn() -> Cow<'static, str>, parts: fn(&mut Schemas) },
    /// JSON of any shape, with a description.
    Text(&'static str),
}

impl Shape {
    /// The JSON of a type.
    #[must_use]
    pub const fn of<T: ToSchema>() -> Self {
        Self(ShapeKind::Type { name: T::name, parts: parts::<T> })
    }

    /// The JSON of a page of items of a type.
    #[must_use]
    pub const fn page_of<T: ToSchema>() -> Self {
        Self(ShapeKind::Type { name: page_name::<T>, parts: page_parts::<T> })
    }

    /// JSON of any shape.
    #[must_use]
    pub const fn text(description: &'static str) -> Self {
        Self(ShapeKind::Text(description))
    }

    /// Returns the schema, by reference if it has a name.
    pub(super) fn schema(&self) -> RefOr<Schema> {
        match self.0 {
            ShapeKind::Type { name, .. } => RefOr::Ref(Ref::from_schema_name(name())),
            ShapeKind::Text(_) => RefOr::T(Schema::Object(ObjectBuilder::new().schema_type(Type::Object).build())),
        }
    }

    /// Returns the description, if the shape has no named schema.
    pub(super) fn description(&self) -> Option<&'static str> {
        match self.0 {
            ShapeKind::Type { .. } => None,
            ShapeKind::Text(description) => Some(description),
        }
    }

    /// Adds the schemas that the shape consists of.
    pub(super) fn collect(&self, schemas: &mut Schemas) {
        if let ShapeKind::Type { parts, .. } = self.0 {
            parts(schemas);
        }
    }
}

fn parts<T: ToSchema>(schemas: &mut Schemas) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

/// The name that `utoipa` gives a page where it is the type of a field.
fn page_name<T: ToSchema>() -> Cow<'static, str> {
    format!("Page_{}", T::name()).into()
}

/// Adds the schemas of a page. Its own schema has the items inline, so their schema is added by name.
fn page_parts<T: ToSchema>(schemas: &mut Schemas) {
    schemas.push((page_name::<T>().into_owned(), Page::<T>::schema()));
    parts::<T>(schemas);
}
