//! Owners as a command line names them: `<id>:<e-mail>`.

use ledger_core::ids::StaffId;
use ledger_core::personal::FreeText;
use ledger_core::staff::Founder;

/// Why a member is malformed. It does not repeat the e-mail address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The parts are not separated by colons.
    #[error("is not <id>:<e-mail>")]
    Parts,
    /// The id is not a UUID.
    #[error("its id is not a UUID: it is the subject of the person's tokens")]
    Id,
    /// The e-mail address is malformed.
    #[error("its e-mail address is malformed")]
    Email,
}

/// Parses `<id>:<e-mail>`.
///
/// # Errors
/// [`MemberError`] says which part is malformed.
pub fn founder(text: &str) -> Result<Founder, MemberError> {
    let (staff_id, address) = text.split_once(':').ok_or(MemberError::Parts)?;
    Ok(Founder { id: id(staff_id)?, email: email(address)? })
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

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8041";

    #[test]
    fn owner_is_parsed_and_its_faults_are_named() {
        let person = founder(&format!("{ID}:hanako@example.jp")).unwrap();
        assert_eq!((person.id.to_string().as_str(), person.email.expose()), (ID, "hanako@example.jp"));
        assert_eq!(founder("hanako@example.jp"), Err(MemberError::Parts));
        assert_eq!(founder("1:hanako@example.jp"), Err(MemberError::Id));
        assert_eq!(founder(&format!("{ID}:hanako")), Err(MemberError::Email));
    }
}
