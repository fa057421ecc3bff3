//! The clients whose tokens each API accepts, from the environment.

use crate::gateway::{FACE, TokenClaims};

/// Each API with the variable that has the ids of its clients.
const VARIABLES: [(&str, &str); 3] =
    [("customer", "CUSTOMER_CLIENTS"), ("merchant", "MERCHANT_CLIENTS"), ("admin", "ADMIN_CLIENTS")];

/// The API of each client id. A function has the clients of its own API alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenClients(Vec<(&'static str, String)>);

impl TokenClients {
    /// Reads the variables by name: ids that commas separate. Without them no token is good for any API.
    #[must_use]
    pub fn from_vars(set: impl Fn(&str) -> Option<String>) -> Self {
        let mut clients = Vec::new();
        for (face, name) in VARIABLES {
            let ids = set(name).unwrap_or_default();
            let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
            clients.extend(ids.map(|id| (face, id.to_owned())));
        }
        Self(clients)
    }

    /// Sets [`FACE`] to the API whose client the token was issued to: `aud` names the client, or `client_id` does if there is
    /// no `aud`, as API Gateway compares them. A token of another client has no `face`.
    // INVARIANT: what the token itself says of `face` is removed.
    pub fn set_face(&self, claims: &mut TokenClaims) {
        let named = claims.get("aud").or_else(|| claims.get("client_id"));
        let face = named.and_then(|named| {
            // API Gateway passes an array on as `[a b]`.
            let list = named.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let is_named = |id: &str| list.map_or(named == id, |list| list.split(' ').any(|one| one == id));
            self.0.iter().find(|(_, id)| is_named(id)).map(|(face, _)| (*face).to_owned())
        });
        claims.remove(FACE);
        if let Some(face) = face {
            claims.insert(FACE.to_owned(), face);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(vars: &[(&str, &str)]) -> TokenClients {
        TokenClients::from_vars(|name| vars.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()))
    }

    fn face(clients: &TokenClients, claims: &[(&str, &str)]) -> Option<String> {
        let mut claims = claims.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        clients.set_face(&mut claims);
        claims.remove(FACE)
    }

    #[test]
    fn face_follows_from_the_client_alone() {
        let known = clients(&[("CUSTOMER_CLIENTS", "app, kiosk"), ("ADMIN_CLIENTS", "office")]);
        for (claims, want) in [
            (vec![("client_id", "app")], Some("customer")),
            (vec![("client_id", "kiosk"), ("face", "admin")], Some("customer")),
            (vec![("client_id", "office")], Some("admin")),
            (vec![("aud", "office"), ("client_id", "app")], Some("admin")),
            (vec![("aud", "[other app]")], Some("customer")),
            (vec![("aud", "[]"), ("client_id", "app")], None),
            (vec![("aud", "app office")], None),
            (vec![("client_id", "other"), ("face", "admin")], None),
            (vec![("client_id", ""), ("face", "admin")], None),
            (vec![("face", "customer")], None),
        ] {
            assert_eq!(face(&known, &claims).as_deref(), want, "{claims:?}");
        }
    }

    #[test]
    fn without_clients_no_token_is_good() {
        for none in [clients(&[]), clients(&[("ADMIN_CLIENTS", " , ")])] {
            assert_eq!(none, TokenClients::default());
            for client in ["", " ", "admin"] {
                assert_eq!(face(&none, &[("client_id", client), ("face", "admin")]), None, "{client:?}");
            }
        }
    }
}
