//! Codes and sign-ins. Times and secrets are arguments; secrets are kept as digests.
//!
//! INVARIANT: a sign-in whose code or earlier refresh token is presented again has ended.

use super::error::{ErrorCode, Refusal};
use crate::issuer::{Api, Grant};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};

/// The scopes that a client may ask for.
pub(super) const SCOPES: [&str; 2] = ["openid", "email"];
/// The lifetime of a code, in seconds: Cognito's.
const CODE_LIFETIME_S: i64 = 5 * 60;
const INVALID_GRANT: Refusal =
    Refusal(ErrorCode::InvalidGrant, "the code or token is unknown, used, expired or revoked");

type Digest = [u8; 32];

/// The times for which a client's tokens are valid, in seconds: those of the clients in template.yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lifetimes {
    pub(super) access_s: i64,
    pub(super) refresh_s: i64,
}

impl Lifetimes {
    pub(super) fn of(api: Api) -> Self {
        match api {
            Api::Customer => Self { access_s: 15 * 60, refresh_s: 30 * 24 * 60 * 60 },
            Api::Merchant => Self { access_s: 15 * 60, refresh_s: 12 * 60 * 60 },
            Api::Admin => Self { access_s: 5 * 60, refresh_s: 8 * 60 * 60 },
        }
    }
}

/// A person who has signed in at a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SignedIn {
    pub(super) client: Api,
    pub(super) person: Grant,
    /// The granted scopes, separated by spaces.
    pub(super) scope: String,
    pub(super) auth_time: i64,
}

impl SignedIn {
    pub(super) fn has_scope(&self, scope: &str) -> bool {
        self.scope.split(' ').any(|granted| granted == scope)
    }
}

/// What a code stands for, until a client redeems it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) signed_in: SignedIn,
    pub(super) redirect_uri: String,
    /// The S256 challenge of PKCE.
    pub(super) challenge: String,
    pub(super) nonce: Option<String>,
}

/// What a client sends to redeem a code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Redemption<'a> {
    pub(super) code: &'a str,
    pub(super) client: Api,
    pub(super) redirect_uri: &'a str,
    pub(super) verifier: &'a str,
}

#[derive(Debug)]
struct Code {
    /// `None` once the code was presented.
    pending: Option<Pending>,
    /// The sign-in that it gave.
    sign_in: Option<String>,
    expires_at: i64,
}

#[derive(Debug)]
struct Session {
    signed_in: SignedIn,
    refresh: Digest,
    earlier: HashSet<Digest>,
    expires_at: i64,
}

/// All codes and sign-ins.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    codes: HashMap<Digest, Code>,
    sign_ins: HashMap<String, Session>,
}

impl Sessions {
    /// Keeps what a fresh code stands for.
    pub(super) fn add_code(&mut self, code: &str, pending: Pending, now_s: i64) {
        self.codes.retain(|_, code| code.expires_at > now_s);
        self.sign_ins.retain(|_, session| session.expires_at > now_s);
        let expires_at = now_s.saturating_add(CODE_LIFETIME_S);
        self.codes.insert(digest(code), Code { pending: Some(pending), sign_in: None, expires_at });
    }

    /// Redeems a code, and starts the sign-in `id` with its first refresh token. A code is good for one attempt.
    ///
    /// # Errors
    /// If the code is not good, or was issued to another client, redirect URI or challenge. A second use also ends the
    /// sign-in that the first one started.
    pub(super) fn redeem(
        &mut self,
        sent: &Redemption<'_>,
        (id, refresh): (&str, &str),
        now_s: i64,
    ) -> Result<(SignedIn, Option<String>), Refusal> {
        let code =
            self.codes.get_mut(&digest(sent.code)).filter(|code| code.expires_at > now_s).ok_or(INVALID_GRANT)?;
        let Some(pending) = code.pending.take() else {
            if let Some(id) = &code.sign_in {
                self.sign_ins.remove(id);
            }
            return Err(INVALID_GRANT);
        };
        if pending.signed_in.client != sent.client || pending.redirect_uri != sent.redirect_uri {
            return Err(Refusal(ErrorCode::InvalidGrant, "the code was issued to another client or redirect_uri"));
        }
        if challenge_of(sent.verifier) != pending.challenge {
            return Err(Refusal(ErrorCode::InvalidGrant, "code_verifier is not that of the challenge"));
        }
        code.sign_in = Some(id.to_owned());
        let expires_at = now_s.saturating_add(Lifetimes::of(sent.client).refresh_s);
        let session = Session {
            signed_in: pending.signed_in.clone(),
            refresh: digest(refresh),
            earlier: HashSet::new(),
            expires_at,
        };
        self.sign_ins.insert(id.to_owned(), session);
        Ok((pending.signed_in, pending.nonce))
    }

    /// Replaces the refresh token of sign-in `id` by the next one.
    ///
    /// # Errors
    /// If the token is not good or was issued to another client. An earlier token also ends the sign-in.
    pub(super) fn refresh(
        &mut self,
        (id, token, next): (&str, &str, &str),
        client: Api,
        now_s: i64,
    ) -> Result<SignedIn, Refusal> {
        let session = self.sign_ins.get_mut(id).filter(|session| session.expires_at > now_s).ok_or(INVALID_GRANT)?;
        if session.signed_in.client != client {
            return Err(Refusal(ErrorCode::InvalidGrant, "the token was issued to another client"));
        }
        let sent = digest(token);
        if sent != session.refresh {
            if session.earlier.contains(&sent) {
                self.sign_ins.remove(id);
            }
            return Err(INVALID_GRANT);
        }
        session.earlier.insert(sent);
        session.refresh = digest(next);
        Ok(session.signed_in.clone())
    }

    /// Ends sign-in `id`, whose present or earlier refresh token is `token`. Another token ends nothing.
    ///
    /// # Errors
    /// If the token was issued to another client.
    pub(super) fn revoke(&mut self, (id, token): (&str, &str), client: Api) -> Result<(), Refusal> {
        let sent = digest(token);
        let Some(session) = self.sign_ins.get(id) else { return Ok(()) };
        if sent != session.refresh && !session.earlier.contains(&sent) {
            return Ok(());
        }
        if session.signed_in.client != client {
            return Err(Refusal(ErrorCode::UnauthorizedClient, "the token was issued to another client"));
        }
        self.sign_ins.remove(id);
        Ok(())
    }

    /// The person of sign-in `id`, unless it has ended.
    pub(super) fn person(&self, id: &str, now_s: i64) -> Option<&SignedIn> {
        self.sign_ins.get(id).filter(|session| session.expires_at > now_s).map(|session| &session.signed_in)
    }
}

/// The S256 challenge of a verifier (RFC 7636).
pub(super) fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

fn digest(secret: &str) -> Digest {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLBACK: &str = "http://localhost:8976/callback";
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    fn pending() -> Pending {
        let person = Grant {
            tenant: "demo".to_owned(),
            sub: "s1".to_owned(),
            face: "admin".to_owned(),
            merchant_id: None,
            roles: None,
            email: None,
            email_verified: false,
        };
        let scope = "openid".to_owned();
        Pending {
            signed_in: SignedIn { client: Api::Admin, person, scope, auth_time: 100 },
            redirect_uri: CALLBACK.to_owned(),
            challenge: challenge_of(VERIFIER),
            nonce: Some("n".to_owned()),
        }
    }

    const GOOD: Redemption<'static> =
        Redemption { code: "c", client: Api::Admin, redirect_uri: CALLBACK, verifier: VERIFIER };

    fn with_code() -> Sessions {
        let mut sessions = Sessions::default();
        sessions.add_code("c", pending(), 100);
        sessions
    }

    #[test]
    fn challenge_is_that_of_rfc_7636() {
        assert_eq!(challenge_of(VERIFIER), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn code_is_good_once_and_its_second_use_ends_the_sign_in() {
        let mut sessions = with_code();
        let (signed_in, nonce) = sessions.redeem(&GOOD, ("id", "r1"), 200).unwrap();
        assert_eq!((signed_in, nonce.as_deref()), (pending().signed_in, Some("n")));
        assert!(sessions.person("id", 200).is_some());
        assert_eq!(sessions.redeem(&GOOD, ("other", "r"), 201), Err(INVALID_GRANT));
        assert!(sessions.person("id", 201).is_none() && sessions.person("other", 201).is_none());
        assert_eq!(sessions.refresh(("id", "r1", "r2"), Api::Admin, 201), Err(INVALID_GRANT));
    }

    #[test]
    fn code_of_another_client_uri_verifier_or_time_is_refused_and_used_up() {
        for bad in [
            Redemption { client: Api::Merchant, ..GOOD },
            Redemption { redirect_uri: "http://localhost:8976/callback/", ..GOOD },
            Redemption { verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK", ..GOOD },
        ] {
            let mut sessions = with_code();
            assert_eq!(sessions.redeem(&bad, ("id", "r1"), 200).unwrap_err().0, ErrorCode::InvalidGrant, "{bad:?}");
            assert_eq!(sessions.redeem(&GOOD, ("id", "r1"), 200), Err(INVALID_GRANT), "{bad:?}");
        }
        assert_eq!(with_code().redeem(&GOOD, ("id", "r1"), 400), Err(INVALID_GRANT), "expired");
        assert_eq!(with_code().redeem(&Redemption { code: "d", ..GOOD }, ("id", "r1"), 200), Err(INVALID_GRANT));
        assert!(with_code().redeem(&GOOD, ("id", "r1"), 399).is_ok());
    }

    #[test]
    fn earlier_refresh_token_ends_the_sign_in() {
        let mut sessions = with_code();
        sessions.redeem(&GOOD, ("id", "r1"), 200).unwrap();
        assert!(sessions.refresh(("id", "r1", "r2"), Api::Admin, 300).is_ok());
        assert!(sessions.refresh(("id", "r2", "r3"), Api::Admin, 300).is_ok());
        // A token that was never issued, or another client's request, ends nothing.
        assert_eq!(sessions.refresh(("id", "x", "r4"), Api::Admin, 300), Err(INVALID_GRANT));
        assert_eq!(sessions.refresh(("id", "r1", "r4"), Api::Customer, 300).unwrap_err().0, ErrorCode::InvalidGrant);
        assert!(sessions.refresh(("id", "r3", "r4"), Api::Admin, 300).is_ok());
        assert_eq!(sessions.refresh(("id", "r1", "r5"), Api::Admin, 300), Err(INVALID_GRANT));
        assert_eq!(sessions.refresh(("id", "r4", "r5"), Api::Admin, 300), Err(INVALID_GRANT));
    }

    #[test]
    fn sign_in_ends_at_its_time_whatever_was_refreshed() {
        let mut sessions = with_code();
        sessions.redeem(&GOOD, ("id", "r1"), 200).unwrap();
        let end = 200 + Lifetimes::of(Api::Admin).refresh_s;
        assert!(sessions.refresh(("id", "r1", "r2"), Api::Admin, end - 1).is_ok());
        assert_eq!(sessions.refresh(("id", "r2", "r3"), Api::Admin, end), Err(INVALID_GRANT));
    }

    #[test]
    fn only_a_token_of_the_sign_in_and_its_client_revokes_it() {
        let mut sessions = with_code();
        sessions.redeem(&GOOD, ("id", "r1"), 200).unwrap();
        assert_eq!(sessions.revoke(("id", "x"), Api::Admin), Ok(()));
        assert_eq!(sessions.revoke(("other", "r1"), Api::Admin), Ok(()));
        assert_eq!(sessions.revoke(("id", "r1"), Api::Customer).unwrap_err().0, ErrorCode::UnauthorizedClient);
        assert!(sessions.person("id", 300).is_some());
        assert_eq!(sessions.revoke(("id", "r1"), Api::Admin), Ok(()));
        assert!(sessions.person("id", 300).is_none());
    }
}
