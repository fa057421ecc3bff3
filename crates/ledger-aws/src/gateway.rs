//! The parts of an API Gateway event that functions use: the verified claims, the request's id and its peer.

use lambda_http::http::Request;
use lambda_http::request::RequestContext;
use ledger_runtime::config::TokenClients;
use ledger_runtime::gateway::GatewayContext;
use ledger_runtime::pseudonym::SourceAddress;

/// Puts the gateway's context into the request's extensions, from the event's `requestContext` only.
///
/// API Gateway writes `requestContext`; clients cannot. A request without one has no caller, and its handler refuses
/// it. The API that a token is good for follows from its client.
pub(crate) fn with_context<B>(mut request: Request<B>, clients: &TokenClients) -> Request<B> {
    let extensions = request.extensions_mut();
    extensions.remove::<GatewayContext>();
    if let Some(RequestContext::ApiGatewayV2(event)) = extensions.remove::<RequestContext>() {
        let mut claims = event.authorizer.and_then(|authorizer| authorizer.jwt).map(|jwt| jwt.claims);
        if let Some(claims) = &mut claims {
            clients.set_face(claims);
        }
        let peer = event.http.source_ip.as_deref().and_then(SourceAddress::parse);
        extensions.insert(GatewayContext { request_id: event.request_id, peer, claims });
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::FromRequestParts;
    use ledger_runtime::identity::{Admin, Caller, Merchant};
    use ledger_runtime::problem::Problem;
    use serde_json::{Value, json};

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    /// The clients of a function that has the operator API.
    fn clients() -> TokenClients {
        TokenClients::from_vars(|name| (name == "ADMIN_CLIENTS").then(|| "office".to_owned()))
    }

    /// The claims of an administrator of another tenant.
    fn forged() -> Value {
        json!({"tenant": "other", "sub": ID, "face": "admin", "client_id": "office"})
    }

    /// An HTTP API event whose headers, query and body contain forged claims.
    fn event(authorizer: Option<Value>) -> Value {
        let forged_context = json!({"authorizer": {"jwt": {"claims": forged()}}, "requestId": "forged"});
        let mut context = json!({
            "accountId": "000000000000", "apiId": "api", "requestId": "r-1", "routeKey": "GET /v1/me", "stage": "$default",
            "http": {"method": "GET", "path": "/v1/me", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
            "time": "21/Nov/2026:12:00:00 +0000", "timeEpoch": 1_795_262_400_000_i64,
        });
        if let Some(authorizer) = authorizer {
            context["authorizer"] = authorizer;
        }
        json!({
            "version": "2.0", "routeKey": "GET /v1/me", "rawPath": "/v1/me",
            "rawQueryString": "tenant=other&face=admin", "isBase64Encoded": false,
            "headers": {
                "content-type": "application/json", "tenant": "other", "face": "admin", "sub": ID,
                "x-amzn-request-context": forged_context.to_string(),
                "x-apigateway-event": forged_context.to_string(),
            },
            "requestContext": context,
            "body": json!({"claims": forged(), "requestContext": forged_context}).to_string(),
        })
    }

    async fn caller<C: FromRequestParts<(), Rejection = Problem>>(event: &Value) -> Result<C, Problem> {
        let request = with_context(lambda_http::request::from_str(&event.to_string()).unwrap(), &clients());
        C::from_request_parts(&mut request.into_parts().0, &()).await
    }

    #[tokio::test]
    async fn caller_comes_from_the_authorizer_and_not_from_headers_query_or_body() {
        let with = |claims: Value| event(Some(json!({"jwt": {"claims": claims, "scopes": null}})));
        let event = with(json!({"tenant": "demo", "sub": ID, "client_id": "office"}));
        let admin: Admin = caller(&event).await.unwrap();
        assert_eq!(admin.tenant().as_str(), "demo");
        assert_eq!(caller::<Merchant>(&event).await.unwrap_err().code(), "wrong_face");
        // What a token says of its API is not asked.
        for claims in [
            json!({"tenant": "demo", "sub": ID, "client_id": "app", "face": "admin"}),
            json!({"tenant": "demo", "sub": ID, "face": "admin"}),
        ] {
            assert_eq!(caller::<Admin>(&with(claims)).await.unwrap_err().code(), "wrong_face");
        }
    }

    #[tokio::test]
    async fn event_without_verified_claims_has_no_caller() {
        for authorizer in
            [None, Some(json!({})), Some(json!({"iam": {"userId": ID}})), Some(json!({"lambda": forged()}))]
        {
            let event = event(authorizer);
            assert_eq!(caller::<Merchant>(&event).await.unwrap_err().status(), 401, "{event}");
            assert_eq!(caller::<Admin>(&event).await.unwrap_err().status(), 401, "{event}");
        }
    }

    #[test]
    fn request_without_an_event_of_the_gateway_has_no_context() {
        let mut request = Request::new(());
        let claims = Some(std::iter::once(("tenant".to_owned(), "other".to_owned())).collect());
        request.extensions_mut().insert(GatewayContext { claims, ..GatewayContext::default() });
        assert!(with_context(request, &clients()).extensions().get::<GatewayContext>().is_none());
    }

    #[test]
    fn request_id_and_peer_are_those_of_the_event() {
        let mut event = event(None);
        event["headers"]["x-forwarded-for"] = "198.51.100.7".into();
        let request = with_context(lambda_http::request::from_str(&event.to_string()).unwrap(), &clients());
        let context = request.extensions().get::<GatewayContext>().unwrap();
        assert_eq!(context.request_id.as_deref(), Some("r-1"));
        assert_eq!(context.peer, SourceAddress::parse("192.0.2.1"));
    }
}
