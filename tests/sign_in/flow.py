"""Signs people in at the local stack with Authlib, an independent OAuth and OpenID Connect client.

Run by .ci/sign-in; --url is the stack's, which is also its issuer's. For each API: discovery, a code with PKCE, a call,
a refresh, the earlier refresh token refused, and a revocation. Then one person signs in at each client.
"""

import argparse
import os
import secrets
import urllib.parse

# Authlib refuses an issuer without TLS otherwise; this one is on this machine.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import requests
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url
from joserfc import jwt
from joserfc.jwk import KeySet

CALLBACK = "http://localhost:8976/callback"
CALLS = {"customer": "/v1/me/balances", "merchant": "/v1/merchant", "admin": "/v1/admin/attention"}


def discover(url):
    document = requests.get(get_well_known_url(url, external=True), timeout=10).json()
    metadata = OpenIDProviderMetadata(document)
    for key in metadata.REGISTRY_KEYS:
        # RS256 is required of an issuer; this one signs with ES256, which every client here verifies.
        if key != "id_token_signing_alg_values_supported":
            getattr(metadata, f"validate_{key}", lambda: None)()
    assert metadata["issuer"] == url, metadata["issuer"]
    return metadata


def person(client, demo):
    """Each API has a person of its own."""
    if client == "customer":
        return {"sub": demo["customers"][0]}
    if client == "merchant":
        owner = next(of for of in demo["members"] if of.get("merchant_id") and of["role"] == "owner")
        return {"sub": owner["staff_id"], "merchant_id": owner["merchant_id"]}
    return {"sub": demo["staff"][0]}


def session(client):
    return OAuth2Session(
        client_id=client,
        redirect_uri=CALLBACK,
        scope="openid email",
        code_challenge_method="S256",
        token_endpoint_auth_method="none",
        revocation_endpoint_auth_method="none",
    )


def sign_in(metadata, client, who):
    """Signs a person in at a client, and returns the client with its tokens, and what it sent."""
    oauth, verifier, nonce = session(client), secrets.token_urlsafe(48), secrets.token_urlsafe(16)
    url, state = oauth.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce)
    page = requests.get(url, timeout=10, allow_redirects=False)
    assert page.status_code == 200 and "Person&#39;s id" in page.text or "Person's id" in page.text, page.text
    form = {"request": urllib.parse.urlsplit(url).query, "tenant": "demo", **who}
    form["email"] = "hanako@example.com"
    sent = requests.post(metadata["authorization_endpoint"], data=form, timeout=10, allow_redirects=False)
    assert sent.status_code == 303, (sent.status_code, sent.text)
    redirect = sent.headers["Location"]
    assert redirect.startswith(CALLBACK + "?"), redirect
    token = oauth.fetch_token(
        metadata["token_endpoint"], authorization_response=redirect, state=state, code_verifier=verifier
    )
    return oauth, token, {"nonce": nonce, "verifier": verifier, "redirect": redirect, "state": state}


def claims(metadata, token):
    keys = KeySet.import_key_set(requests.get(metadata["jwks_uri"], timeout=10).json())
    return jwt.decode(token, keys, algorithms=["ES256"]).claims


def refused(error, call):
    try:
        answer = call()
    except OAuthError as raised:
        assert raised.error == error, raised
        return
    raise AssertionError(f"{error} was expected: {answer}")


def call(url, client, token):
    answer = requests.get(url + CALLS[client], headers={"Authorization": f"Bearer {token}"}, timeout=10)
    return answer.status_code


def one_subject(url, metadata, demo):
    """A customer is the same subject at the clients of staff, and has no permission without a record."""
    for client in CALLS:
        who = {"sub": demo["customers"][0]}
        if client == "merchant":
            who["merchant_id"] = demo["merchants"][0]
        _, token, _ = sign_in(metadata, client, who)
        access = claims(metadata, token["access_token"])
        assert (access["sub"], access["client_id"], access.get("face")) == (who["sub"], client, None), access
        status = call(url, client, token["access_token"])
        assert status == (200 if client == "customer" else 403), (client, status)
    print("one person: the same subject at each client")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    url = parser.parse_args().url
    metadata = discover(url)
    demo = requests.get(f"{url}/dev/demo", timeout=10).json()
    token_endpoint = metadata["token_endpoint"]
    for client in CALLS:
        who = person(client, demo)
        oauth, token, sent = sign_in(metadata, client, who)
        identity = claims(metadata, token["id_token"])
        jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": url},
            aud={"essential": True, "value": client},
            nonce={"essential": True, "value": sent["nonce"]},
            exp={"essential": True},
            sub={"essential": True, "value": who["sub"]},
        ).validate(identity)
        assert claims(metadata, token["access_token"])["client_id"] == client

        for other in CALLS:
            status = call(url, other, token["access_token"])
            assert status == (200 if other == client else 401), (client, other, status)
        assert call(url, client, token["id_token"]) == 401, "an ID token is no access token"
        user = oauth.get(metadata["userinfo_endpoint"], timeout=10)
        assert user.json() == {"sub": identity["sub"], "email": "hanako@example.com"}, user.text

        first = token["refresh_token"]
        second = oauth.refresh_token(token_endpoint, refresh_token=first)
        assert second["refresh_token"] != first
        assert call(url, client, second["access_token"]) == 200
        # The earlier one is refused, and ends the sign-in: the present one is refused too.
        refused("invalid_grant", lambda: session(client).refresh_token(token_endpoint, refresh_token=first))
        refused(
            "invalid_grant",
            lambda: session(client).refresh_token(token_endpoint, refresh_token=second["refresh_token"]),
        )

        oauth, token, sent = sign_in(metadata, client, who)
        answer = oauth.revoke_token(
            metadata["revocation_endpoint"], token=token["refresh_token"], token_type_hint="refresh_token"
        )
        assert answer.status_code == 200, answer.text
        refused(
            "invalid_grant",
            lambda: session(client).refresh_token(token_endpoint, refresh_token=token["refresh_token"]),
        )

        oauth, token, sent = sign_in(metadata, client, who)
        again = {"authorization_response": sent["redirect"], "state": sent["state"], "code_verifier": sent["verifier"]}
        refused("invalid_grant", lambda: session(client).fetch_token(token_endpoint, **again))
        refused(
            "invalid_grant",
            lambda: session(client).refresh_token(token_endpoint, refresh_token=token["refresh_token"]),
        )
        print(f"{client}: signed in, called, refreshed, refused a second use, revoked")
    one_subject(url, metadata, demo)


main()
