//! The shape of a body: a type's schema, as `utoipa` derives it.

use crate::views::Page;
use std::borrow::Cow;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

type Schemas = Vec<(String, RefOr<Schema>)>;

/// What a body looks like.
#[derive(Clone, Copy, Debug)]
pub struct Shape(ShapeKind);

#[derive(Clone, Copy, Debug)]
enum ShapeKind {
    /// JSON of a type, which is a schema of the document.
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

    /// The JSON of a page of a type's.
    #[must_use]
    pub const fn page_of<T: ToSchema>() -> Self {
        Self(ShapeKind::Type { name: page_name::<T>, parts: page_parts::<T> })
    }

    /// JSON of any shape.
    #[must_use]
    pub const fn text(description: &'static str) -> Self {
        Self(ShapeKind::Text(description))
    }

    /// Its schema, by reference where it has a name.
    pub(super) fn schema(&self) -> RefOr<Schema> {
        match self.0 {
            ShapeKind::Type { name, .. } => RefOr::Ref(Ref::from_schema_name(name())),
            ShapeKind::Text(_) => RefOr::T(Schema::Object(ObjectBuilder::new().schema_type(Type::Object).build())),
        }
    }

    /// Its description, if it has no name.
    pub(super) fn description(&self) -> Option<&'static str> {
        match self.0 {
            ShapeKind::Type { .. } => None,
            ShapeKind::Text(description) => Some(description),
        }
    }

    /// Adds the schemas that it is made of.
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

/// As the name of a page is made where it is a field.
fn page_name<T: ToSchema>() -> Cow<'static, str> {
    format!("Page_{}", T::name()).into()
}

/// A page's own schema has its items inline: their schema is added by its name.
fn page_parts<T: ToSchema>(schemas: &mut Schemas) {
    schemas.push((page_name::<T>().into_owned(), Page::<T>::schema()));
    parts::<T>(schemas);
}
