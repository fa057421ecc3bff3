//! Staff members, as the operator and merchant APIs show them.

use super::words;
use ledger_core::account::Account;
use ledger_core::staff::{Declared, StaffMember};
use serde::Serialize;
use utoipa::ToSchema;

/// A staff member.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StaffView {
    /// The person: the subject of the person's tokens.
    pub staff_id: String,
    /// The person's verified e-mail address.
    pub email: String,
    /// The roles.
    #[schema(value_type = Vec<words::StaffRoleWord>)]
    pub roles: Vec<&'static str>,
    /// The shop whose payments alone the person sees and changes; absent if those of all shops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shop_id: Option<String>,
    /// The accounts that are declared as the person's own, or of the person's family or business; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beneficiary_of: Vec<BeneficiaryView>,
    /// `invited` until the person accepts; `disabled` members may do nothing.
    #[schema(value_type = words::StaffStatus)]
    pub status: &'static str,
    /// The time at which the record was made.
    pub created_at: String,
    /// The time of the last change.
    pub updated_at: String,
}

/// An account that a staff record declares.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BeneficiaryView {
    /// The account: `customer:<id>`, `card:<id>` or `merchant:<id>`.
    pub account: String,
    /// `own`, `family` or `business`.
    #[schema(value_type = words::BeneficiaryKindWord)]
    pub kind: &'static str,
    /// The staff member who declared it.
    pub declared_by: String,
    /// The time at which it was declared.
    pub declared_at: String,
}

/// The accounts that the caller's record declares.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BeneficiariesView {
    /// The accounts.
    pub beneficiary_of: Vec<BeneficiaryView>,
}

/// The statuses of staff members.
pub const STAFF_STATUSES: &[&str] = &["invited", "active", "disabled"];

/// A staff member who was invited or changed, or who accepted.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StaffChangeView {
    /// The person: the subject of the person's tokens.
    pub staff_id: String,
    /// The roles.
    #[schema(value_type = Vec<words::StaffRoleWord>)]
    pub roles: Vec<&'static str>,
    /// The shop whose payments alone the person sees and changes; absent if those of all shops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shop_id: Option<String>,
    /// `invited` until the person accepts; `disabled` members may do nothing.
    #[schema(value_type = words::StaffStatus)]
    pub status: &'static str,
    /// The time of the change.
    pub updated_at: String,
}

impl From<&StaffMember> for StaffView {
    fn from(member: &StaffMember) -> Self {
        Self {
            staff_id: member.id.to_string(),
            email: member.email.expose().to_owned(),
            roles: member.roles.iter().map(|role| role.name()).collect(),
            shop_id: member.shop.map(|shop| shop.to_string()),
            beneficiary_of: member.beneficiary_of.iter().map(BeneficiaryView::from).collect(),
            status: member.state.name(),
            created_at: member.created_at.to_string(),
            updated_at: member.updated_at.to_string(),
        }
    }
}

impl From<&StaffMember> for BeneficiariesView {
    fn from(member: &StaffMember) -> Self {
        Self { beneficiary_of: member.beneficiary_of.iter().map(BeneficiaryView::from).collect() }
    }
}

impl From<(&Account, &Declared)> for BeneficiaryView {
    fn from((account, declared): (&Account, &Declared)) -> Self {
        Self {
            account: account.to_string(),
            kind: declared.kind.name(),
            declared_by: declared.by.to_string(),
            declared_at: declared.at.to_string(),
        }
    }
}

impl From<&StaffMember> for StaffChangeView {
    fn from(member: &StaffMember) -> Self {
        Self {
            staff_id: member.id.to_string(),
            roles: member.roles.iter().map(|role| role.name()).collect(),
            shop_id: member.shop.map(|shop| shop.to_string()),
            status: member.state.name(),
            updated_at: member.updated_at.to_string(),
        }
    }
}
