//! The ids of the demo data, served at `/dev/demo` and printed in the start-up text. They are constants, so that pasted
//! lines and scripts work after a restart.

use serde::Serialize;

/// The ids of the demo tenant's data. The texts use the first of each list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Demo {
    /// Slug of the tenant.
    pub tenant: String,
    /// Customers; the first one has money.
    pub customers: Vec<String>,
    /// Merchants.
    pub merchants: Vec<String>,
    /// Stored-value cards.
    pub cards: Vec<String>,
    /// Storefront terminals.
    pub terminals: Vec<String>,
    /// Staff members, for the merchant API and the operator API.
    pub staff: Vec<String>,
}

impl Demo {
    /// The demo data's ids.
    pub fn fixed() -> Self {
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        Self {
            tenant: "demo".to_owned(),
            customers: ids(&["01890a5d-ac96-774b-bcce-b302099a8001", "01890a5d-ac96-774b-bcce-b302099a8002"]),
            merchants: ids(&["01890a5d-ac96-774b-bcce-b302099a8011"]),
            cards: ids(&["01890a5d-ac96-774b-bcce-b302099a8021"]),
            terminals: ids(&["01890a5d-ac96-774b-bcce-b302099a8031"]),
            staff: ids(&["01890a5d-ac96-774b-bcce-b302099a8041", "01890a5d-ac96-774b-bcce-b302099a8042"]),
        }
    }
}
