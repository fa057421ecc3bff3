//! Lists: the parameters and the response of an endpoint whose response is a page.

use super::{Endpoint, Parameter, Shape, Success};
use crate::request::Listing;
use utoipa::ToSchema;

impl<A: Copy> Endpoint<A> {
    /// Adds the response 200 with a page of items, and the parameters `limit` and `cursor`.
    #[must_use]
    pub const fn pages_of<T: ToSchema>(self) -> Self {
        let shape = Shape::page_of::<T>();
        self.paged().success(Success { status: 200, description: "A page", shape, has_location: false })
    }

    /// As [`Endpoint::pages_of`], with the parameters `from` and `to`: days in Japan.
    #[must_use]
    pub const fn timed_pages_of<T: ToSchema>(self) -> Self {
        self.pages_of::<T>().parameter(Parameter::FROM).parameter(Parameter::TO)
    }

    /// Adds the response 200 with a page of items, without parameters: the body has `limit` and `cursor`.
    #[must_use]
    pub const fn ok_page_of<T: ToSchema>(self, description: &'static str) -> Self {
        self.success(Success { status: 200, description, shape: Shape::page_of::<T>(), has_location: false })
    }

    /// Adds the parameters `limit` and `cursor`.
    #[must_use]
    pub const fn paged(self) -> Self {
        self.parameter(Parameter::LIMIT).parameter(Parameter::CURSOR)
    }

    /// Adds the parameters `from`, `to`, `min` and `max`, for a list whose amounts are all in one asset.
    #[must_use]
    pub const fn in_ranges(self) -> Self {
        self.parameter(Listing::FROM).parameter(Listing::TO).parameter(Listing::MIN).parameter(Listing::MAX)
    }

    /// As [`Endpoint::in_ranges`], with the parameter `asset`, in which `min` and `max` are.
    #[must_use]
    pub const fn in_ranges_of_asset(self) -> Self {
        let timed = self.parameter(Listing::FROM).parameter(Listing::TO).parameter(Listing::ASSET);
        timed.parameter(Listing::MIN).parameter(Listing::MAX)
    }
}
