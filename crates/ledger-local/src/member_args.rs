//! Staff members as a command line or a file names them: `<id>:<e-mail>` and `<id>:<e-mail>:<role>+<role>`.

use ledger_core::ids::{Employer, StaffId};
use ledger_core::personal::FreeText;
use ledger_core::staff::{Founder, StaffRole};
use std::collections::BTreeSet;

/// Why a member is malformed. It does not repeat the e-mail address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The parts are not separated by colons.
    #[error("is not <id>:<e-mail>, or <id>:<e-mail>:<role>+<role>")]
    Parts,
    /// The id is not a UUID.
    #[error("its id is not a UUID: it is the subject of the person's tokens")]
    Id,
    /// The e-mail address is malformed.
    #[error("its e-mail address is malformed")]
    Email,
    /// A role is unknown.
    #[error("its roles are not of: {0}")]
    Roles(String),
}

/// Parses `<id>:<e-mail>`.
///
/// # Errors
/// [`MemberError`] says which part is malformed.
pub fn founder(text: &str) -> Result<Founder, MemberError> {
    let (staff_id, address) = text.split_once(':').ok_or(MemberError::Parts)?;
    Ok(Founder { id: id(staff_id)?, email: email(address)? })
}

/// Parses `<id>:<e-mail>:<role>+<role>`.
///
/// # Errors
/// As [`founder`].
pub fn member(employer: Employer, text: &str) -> Result<(Founder, BTreeSet<StaffRole>), MemberError> {
    let (person, names) = text.rsplit_once(':').ok_or(MemberError::Parts)?;
    Ok((founder(person)?, roles(employer, names)?))
}

/// Parses a person's id.
///
/// # Errors
/// [`MemberError::Id`].
pub fn id(text: &str) -> Result<StaffId, MemberError> {
    StaffId::parse(text.trim()).map_err(|_| MemberError::Id)
}

/// Parses an e-mail address.
///
/// # Errors
/// [`MemberError::Email`].
pub fn email(text: &str) -> Result<FreeText, MemberError> {
    FreeText::email(text).map_err(|_| MemberError::Email)
}

/// Parses roles, joined by `+`.
///
/// # Errors
/// [`MemberError::Roles`] names the known ones.
pub fn roles(employer: Employer, names: &str) -> Result<BTreeSet<StaffRole>, MemberError> {
    let known = || StaffRole::all(employer.staff()).map(StaffRole::name).collect::<Vec<_>>().join(", ");
    let role = |name: &str| StaffRole::parse(employer.staff(), name.trim());
    names.split('+').map(role).collect::<Option<_>>().ok_or_else(|| MemberError::Roles(known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8041";

    #[test]
    fn member_is_parsed_and_its_faults_are_named() {
        let text = format!("{ID}:hanako@example.jp:owner+auditor");
        let (person, roles) = member(Employer::Operator, &text).unwrap();
        assert_eq!((person.id.to_string().as_str(), person.email.expose()), (ID, "hanako@example.jp"));
        assert_eq!(roles.len(), 2);
        assert_eq!(founder("hanako@example.jp"), Err(MemberError::Parts));
        assert_eq!(founder("1:hanako@example.jp"), Err(MemberError::Id));
        assert_eq!(founder(&format!("{ID}:hanako")), Err(MemberError::Email));
        let cashier = member(Employer::Operator, &format!("{ID}:hanako@example.jp:cashier")).unwrap_err();
        assert!(cashier.to_string().contains("treasurer") && !cashier.to_string().contains('@'), "{cashier}");
    }
}
