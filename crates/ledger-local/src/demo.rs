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
    /// Owners, of the operator and the first also of the merchant.
    pub staff: Vec<String>,
    /// A staff member of every role; the owners are among them.
    pub members: Vec<DemoMember>,
}

/// A staff member of the demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DemoMember {
    /// The person: the subject of the person's tokens.
    pub staff_id: String,
    /// The merchant whose staff it is; absent for the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchant_id: Option<String>,
    /// The role.
    pub role: String,
    /// The e-mail address.
    #[serde(skip)]
    pub email: String,
}

/// The merchant with staff.
const SHOP: &str = "01890a5d-ac96-774b-bcce-b302099a8011";
/// The end of each member's id, the merchant whose staff it is, the role, and the name in the e-mail address.
const MEMBERS: [(&str, Option<&str>, &str, &str); 11] = [
    ("41", None, "owner", "hanako"),
    ("42", None, "owner", "taro"),
    ("43", None, "viewer", "viewer"),
    ("44", None, "support", "support"),
    ("45", None, "operator", "operator"),
    ("46", None, "treasurer", "treasurer"),
    ("47", None, "approver", "approver"),
    ("48", None, "auditor", "auditor"),
    ("4b", Some(SHOP), "owner", "midori"),
    ("49", Some(SHOP), "manager", "manager"),
    ("4a", Some(SHOP), "cashier", "cashier"),
];

impl DemoMember {
    fn of((last, merchant_id, role, name): &(&str, Option<&str>, &str, &str)) -> Self {
        Self {
            staff_id: format!("01890a5d-ac96-774b-bcce-b302099a80{last}"),
            merchant_id: merchant_id.map(str::to_owned),
            role: (*role).to_owned(),
            email: format!("{name}@example.com"),
        }
    }
}

impl Demo {
    /// The tenant's first owners.
    pub fn founders(&self) -> Vec<&DemoMember> {
        self.members.iter().filter(|member| member.merchant_id.is_none() && member.role == "owner").collect()
    }

    /// The id of the owner of the merchant with staff: no member of the operator's staff, who would then do nothing for it.
    pub fn shop_owner(&self) -> &str {
        let owner = self.members.iter().find(|member| member.merchant_id.is_some() && member.role == "owner");
        owner.map_or("", |member| &member.staff_id)
    }

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
            members: MEMBERS.iter().map(DemoMember::of).collect(),
        }
    }
}
