//! Requests refused for their form: headers, parameters and covered components. Each test changes one thing in a signed
//! request.

use super::*;

#[test]
fn missing_or_repeated_header_is_refused() {
    for (name, label) in
        [("content-digest", CONTENT_DIGEST), ("signature", SIGNATURE), ("signature-input", SIGNATURE_INPUT)]
    {
        let mut missing = signed();
        missing.headers.remove(name);
        assert_eq!(missing.verify(), Err(SignatureError::HeaderMissing(label)));
        let mut twice = signed();
        let value = twice.headers[name].clone();
        twice.headers.append(name, value);
        assert_eq!(twice.verify(), Err(SignatureError::HeaderDuplicated(label)));
    }
    let mut twice = signed();
    twice.headers.append("idempotency-key", HeaderValue::from_static("t1-7-2"));
    assert_eq!(twice.verify(), Err(SignatureError::HeaderDuplicated(IDEMPOTENCY_KEY)));
}

#[test]
fn missing_or_unexpected_component_is_refused() {
    for skipped in COVERED {
        let mut request = unsigned();
        let covered: Vec<_> = COVERED.into_iter().filter(|c| *c != skipped).collect();
        request.sign(&covered, |_| ());
        assert!(matches!(request.verify(), Err(SignatureError::NotCovered(name)) if name == skipped));
    }

    // A key that was added in transit is not covered.
    let mut added = unsigned();
    added.headers.remove("idempotency-key");
    added.sign(&COVERED[..4], |_| ());
    added.set("idempotency-key", "t1-7-1");
    assert_eq!(added.verify(), Err(SignatureError::NotCovered(IDEMPOTENCY_KEY)));

    // A key that was removed in transit is covered but missing.
    let mut removed = signed();
    removed.headers.remove("idempotency-key");
    assert_eq!(removed.verify(), Err(SignatureError::UnexpectedComponent));

    for components in [
        r#""@method" "@path" "@query" "content-digest" "idempotency-key" "@authority""#,
        r#""@method" "@path" "@query" "content-digest" "idempotency-key" "@method""#,
        r#""@method";req "@path" "@query" "content-digest" "idempotency-key""#,
        r#""@method" "@path" "@query" "content-digest";sf "idempotency-key""#,
        r#"1 "@path" "@query" "content-digest" "idempotency-key""#,
    ] {
        let mut request = signed();
        let params = format!(";created={NOW};alg=\"ecdsa-p256-sha256\";keyid=\"demo/t/1\"");
        request.set("signature-input", &format!("sig1=({components}){params}"));
        assert_eq!(request.verify(), Err(SignatureError::UnexpectedComponent), "{components}");
    }
}

#[test]
fn created_must_be_within_five_minutes_either_way() {
    let request = signed();
    assert_eq!(request.verify_at(PUBLIC, NOW + 300), Ok(()));
    assert_eq!(request.verify_at(PUBLIC, NOW - 300), Ok(()));
    for now in [NOW + 301, NOW - 301, i64::MIN, i64::MAX] {
        let refused = Err(SignatureError::Created { server_time_epoch_s: now });
        assert_eq!(request.verify_at(PUBLIC, now), refused);
    }
    let mut expired = unsigned();
    expired.sign(&COVERED, |params| {
        params.set_expires(NOW as u64 - 1);
    });
    assert_eq!(expired.verify(), Err(SignatureError::Expired { server_time_epoch_s: NOW }));
}

#[test]
fn missing_or_mistyped_parameter_is_refused() {
    type Change = fn(&mut HttpSignatureParams);
    let changes: [(Change, SignatureError); 6] = [
        (|p| p.created = None, SignatureError::Parameter("created")),
        (|p| p.keyid = None, SignatureError::Parameter("keyid")),
        (|p| p.alg = None, SignatureError::Algorithm),
        (|p| p.alg = Some("hmac-sha256".to_owned()), SignatureError::Algorithm),
        (|p| p.keyid = Some("demo/t".to_owned()), SignatureError::KeyId),
        (|p| p.keyid = Some("demo#x/t/1".to_owned()), SignatureError::KeyId),
    ];
    for (change, expected) in changes {
        let mut request = unsigned();
        request.sign(&COVERED, change);
        assert_eq!(request.verify(), Err(expected));
    }
    let mut request = signed();
    let input = request.header("signature-input").replace(&format!("created={NOW}"), "created=\"now\"");
    request.set("signature-input", &input);
    assert_eq!(request.verify(), Err(SignatureError::Parameter("created")));
}

#[test]
fn malformed_keyid_is_refused() {
    for keyid in ["", "/", "//", "demo/t/", "demo//1", "/t/1", "demo/t/x", "demo/t/1/2", "Demo/t/1", "demo/t t/1"] {
        let mut request = unsigned();
        request.sign(&COVERED, |p| {
            p.set_keyid(keyid);
        });
        assert_eq!(key_id(&request.headers), Err(SignatureError::KeyId), "{keyid}");
    }
}

#[test]
fn other_than_one_signature_under_one_label_is_refused() {
    let good = signed();
    let (input, signature) = (good.header("signature-input"), good.header("signature"));
    let second = (input.replace("sig1=", "sig2="), signature.replace("sig1=", "sig2="));

    let mut two = good.clone();
    two.set("signature-input", &format!("{input}, {}", second.0));
    two.set("signature", &format!("{signature}, {}", second.1));
    assert_eq!(two.verify(), Err(SignatureError::OneSignature));
    assert_eq!(key_id(&two.headers), Err(SignatureError::OneSignature));

    let mut two_values = good.clone();
    two_values.set("signature", &format!("{signature}, {}", second.1));
    assert_eq!(two_values.verify(), Err(SignatureError::OneSignature));

    let mut other_label = good.clone();
    other_label.set("signature", &second.1);
    assert_eq!(other_label.verify(), Err(SignatureError::OneSignature));

    let mut none = good.clone();
    none.set("signature-input", "");
    assert_eq!(none.verify(), Err(SignatureError::OneSignature));
}

#[test]
fn content_digest_without_sha_256_is_refused() {
    let sha_512 = "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:";
    let mut other = signed();
    other.set("content-digest", sha_512);
    assert!(matches!(other.verify(), Err(SignatureError::HeaderMalformed(CONTENT_DIGEST, _))));

    let mut both = unsigned();
    let digest = format!("{sha_512}, {}", digest_of(&both.body));
    both.set("content-digest", &digest);
    both.sign(&COVERED, |_| ());
    assert_eq!(both.verify(), Ok(()));
}

#[test]
fn malformed_headers_are_refused_without_panic() {
    let values: [&[u8]; 12] = [
        b"",
        b"=",
        b"sig1",
        b"sig1=()",
        b"sig1=:AAAA:",
        b"sig1=:?:",
        b"sig1=(\"@bogus\");created=-1",
        b"sig1=(\"@method\";key)",
        b"sig1=(\"@method\" \"@path\" \"@query\" \"content-digest\" \"idempotency-key\");created=999999999999999",
        b"\xff\xfe\xfd",
        b"sha-256=1",
        b"sha-256=(a b)",
    ];
    for name in ["signature-input", "signature", "content-digest", "idempotency-key"] {
        for value in values {
            let mut request = signed();
            request.headers.insert(name, HeaderValue::from_bytes(value).unwrap());
            assert!(request.verify().is_err(), "{name}: {value:?}");
            let _ = key_id(&request.headers);
        }
    }
}

#[test]
fn signature_with_any_bit_flipped_is_refused() {
    let good = signed();
    for name in ["signature", "signature-input", "content-digest"] {
        let value = good.headers[name].as_bytes().to_vec();
        for position in 0..value.len() {
            let mut spoilt = value.clone();
            spoilt[position] ^= 1;
            let Ok(value) = HeaderValue::from_bytes(&spoilt) else {
                continue;
            };
            let mut request = good.clone();
            request.headers.insert(name, value);
            assert!(request.verify().is_err(), "{name} at {position}");
        }
    }
}

#[test]
fn public_key_other_than_p_256_in_pem_is_refused() {
    assert_eq!(check_public_key(PUBLIC), Ok(()));
    for bad in ["", "garbage", PRIVATE, &PUBLIC.replace("PUBLIC KEY", "EC PUBLIC KEY")] {
        assert_eq!(check_public_key(bad), Err(SignatureError::PublicKey));
    }
}
