//! Adds the caller's claims to an access token: tenant and merchant from attributes that only the operator can write, the
//! verified e-mail address, roles from groups. A user without a tenant gets no token.
//!
//! One user signs in at the clients of all APIs. The API is not claimed: functions see it from the client.

use aws_lambda_events::cognito::{
    ClaimsAndScopeOverrideDetailsV2, CognitoAccessTokenGenerationV2, CognitoEventUserPoolsPreTokenGenV2,
};
use ledger_core::ids::{MerchantId, Tenant};
use serde_json::Value;
use std::collections::HashMap;

const TENANT: &str = "custom:tenant";
const MERCHANT: &str = "custom:merchant_id";

/// Why a user gets no token: a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimsError(pub &'static str);

/// Answers Cognito's event with the claims of an access token.
///
/// # Errors
/// [`ClaimsError`] if the operator has not set the user's attributes, or not to valid values. Cognito then issues no
/// token.
pub fn add(mut event: CognitoEventUserPoolsPreTokenGenV2) -> Result<CognitoEventUserPoolsPreTokenGenV2, ClaimsError> {
    let mut token = CognitoAccessTokenGenerationV2::default();
    token.claims_to_add_or_override = claims(&event.request.user_attributes)?;
    let groups = &event.request.group_configuration;
    token.claims_to_add_or_override.insert("roles".to_owned(), groups.groups_to_override.clone().into());
    let mut details = ClaimsAndScopeOverrideDetailsV2::default();
    details.group_override_details = groups.clone();
    details.access_token_generation = Some(token);
    event.response.claims_and_scope_override_details = Some(details);
    Ok(event)
}

fn claims(attributes: &HashMap<String, String>) -> Result<HashMap<String, Value>, ClaimsError> {
    let attribute = |name: &str| attributes.get(name).map(String::as_str);
    let tenant = attribute(TENANT).and_then(|tenant| Tenant::parse(tenant).ok()).ok_or(ClaimsError("no_tenant"))?;
    let mut claims = HashMap::from([("tenant".to_owned(), tenant.as_str().into())]);
    // The merchant whose staff record is asked. The claim permits nothing.
    if let Some(merchant) = attribute(MERCHANT) {
        let merchant = MerchantId::parse(merchant).map_err(|_| ClaimsError("merchant_malformed"))?;
        claims.insert("merchant_id".to_owned(), merchant.to_string().into());
    }
    // An access token of Cognito has no address by itself. One that the person has not shown to be theirs is none.
    let email = attribute("email").filter(|_| attribute("email_verified") == Some("true"));
    if let Some(email) = email {
        claims.insert("email".to_owned(), email.into());
        claims.insert("email_verified".to_owned(), true.into());
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MERCHANT_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8011";

    /// An event as Cognito sends it.
    fn event(attributes: &Value, groups: &Value) -> CognitoEventUserPoolsPreTokenGenV2 {
        let mut all = json!({
            "sub": "d7e0c9b2-3b51-4a62-9f0e-1c9f4b7f0a11", "email": "hanako@example.com", "email_verified": "true",
            "cognito:user_status": "CONFIRMED",
        });
        for (name, value) in attributes.as_object().unwrap() {
            all[name] = value.clone();
        }
        let event = json!({
            "version": "2", "triggerSource": "TokenGeneration_Authentication", "region": "ap-northeast-1",
            "userPoolId": "ap-northeast-1_abcdef", "userName": "d7e0c9b2-3b51-4a62-9f0e-1c9f4b7f0a11",
            "callerContext": {"awsSdkVersion": "aws-sdk-unknown-unknown", "clientId": "1example23456789"},
            "request": {
                "userAttributes": all,
                "groupConfiguration": {"groupsToOverride": groups, "iamRolesToOverride": [], "preferredRole": null},
                "scopes": ["aws.cognito.signin.user.admin"],
            },
            "response": {"claimsAndScopeOverrideDetails": null},
        });
        serde_json::from_value(event).unwrap()
    }

    fn added(attributes: &Value, groups: &Value) -> Result<Value, &'static str> {
        let answer = add(event(attributes, groups)).map_err(|error| error.0)?;
        let answer = serde_json::to_value(answer).unwrap();
        let details = &answer["response"]["claimsAndScopeOverrideDetails"];
        assert_eq!(details["groupOverrideDetails"]["groupsToOverride"], *groups, "groups stay");
        Ok(details["accessTokenGeneration"]["claimsToAddOrOverride"].clone())
    }

    #[test]
    fn user_gets_the_claims_of_the_attributes() {
        let customer = json!({TENANT: "aoba"});
        let with_email = |mut claims: Value| {
            (claims["email"], claims["email_verified"]) = (json!("hanako@example.com"), json!(true));
            claims
        };
        let claims = with_email(json!({"tenant": "aoba", "roles": []}));
        assert_eq!(added(&customer, &json!([])), Ok(claims));
        let merchant = json!({TENANT: "aoba", MERCHANT: MERCHANT_ID});
        let claims = json!({"tenant": "aoba", "merchant_id": MERCHANT_ID, "roles": ["refunds", "auditor"]});
        assert_eq!(added(&merchant, &json!(["refunds", "auditor"])), Ok(with_email(claims)));
        // An address that was not verified is not in the token.
        let unverified = json!({TENANT: "aoba", "email_verified": "false"});
        assert_eq!(added(&unverified, &json!([])), Ok(json!({"tenant": "aoba", "roles": []})));
    }

    #[test]
    fn claims_are_the_same_at_every_client() {
        let user = json!({TENANT: "aoba", MERCHANT: MERCHANT_ID});
        let of_client = |client: &str| {
            let mut event = serde_json::to_value(event(&user, &json!([]))).unwrap();
            event["callerContext"]["clientId"] = client.into();
            let answer = serde_json::to_value(add(serde_json::from_value(event).unwrap()).unwrap()).unwrap();
            answer["response"]["claimsAndScopeOverrideDetails"]["accessTokenGeneration"].clone()
        };
        assert_eq!(of_client("1example23456789"), of_client("2example34567890"));
    }

    #[test]
    fn sign_in_page_and_refresh_get_the_claims_too() {
        for source in ["TokenGeneration_HostedAuth", "TokenGeneration_RefreshTokens"] {
            let mut sent = serde_json::to_value(event(&json!({TENANT: "aoba"}), &json!([]))).unwrap();
            sent["triggerSource"] = source.into();
            sent["request"]["scopes"] = json!(["openid", "email"]);
            let answer = serde_json::to_value(add(serde_json::from_value(sent).unwrap()).unwrap()).unwrap();
            let claims = &answer["response"]["claimsAndScopeOverrideDetails"]["accessTokenGeneration"];
            assert_eq!(claims["claimsToAddOrOverride"]["tenant"], "aoba", "{source}");
        }
    }

    #[test]
    fn user_without_valid_attributes_gets_no_token() {
        for (attributes, why) in [
            (json!({}), "no_tenant"),
            (json!({MERCHANT: MERCHANT_ID}), "no_tenant"),
            (json!({TENANT: "a#b"}), "no_tenant"),
            (json!({TENANT: "aoba", MERCHANT: "me"}), "merchant_malformed"),
        ] {
            assert_eq!(added(&attributes, &json!([])), Err(why), "{attributes}");
        }
    }
}
