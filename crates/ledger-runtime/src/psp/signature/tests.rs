//! Accepted and refused headers, compared with the verdicts of the provider's library.

use super::*;
use ledger_core::time::Timestamp;

const SECRET: &str = "whsec_test_secret";
const OLD_SECRET: &str = "whsec_old_secret";
const BODY: &[u8] = br#"{"id":"evt_test_webhook","object":"event","type":"payment_intent.succeeded"}"#;
const GOOD: &str = "130dc37d5a27b1b232a61e4f2ff00ed245f498112c11e8b747aff3d0fb754056";
const OLD: &str = "6daa70102e2f431a83f7b08885d93d13ac419307ea83e0fea4941119ca7c9c70";

fn at(after_ms: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000_i64.saturating_add(after_ms))
}

fn secrets(texts: &[&str]) -> Vec<Masked<String>> {
    texts.iter().map(|text| Masked::new((*text).to_owned())).collect()
}

/// Builds a header. `{G}` becomes the good signature, `{B}` a bad one, `{U}` the good one in upper case, `{S}` the good
/// one cut short, `{O}` that of the old secret and `{T}` the time.
fn header(pattern: &str) -> String {
    pattern
        .replace("{T}", "1700000000")
        .replace("{G}", GOOD)
        .replace("{B}", &"0".repeat(64))
        .replace("{U}", &GOOD.to_uppercase())
        .replace("{S}", GOOD.trim_end_matches('6'))
        .replace("{O}", OLD)
}

fn verdict(pattern: &str, after_ms: i64) -> Result<(), Reason> {
    verify(&secrets(&[SECRET]), &header(pattern), BODY, at(after_ms)).map_err(SignatureError::reason)
}

const OK: Result<(), Reason> = Ok(());
const HEADER: Result<(), Reason> = Err(Reason::Header);
const AGE: Result<(), Reason> = Err(Reason::Age);
const MISMATCH: Result<(), Reason> = Err(Reason::Mismatch);

/// Header, milliseconds after its time, and verdict. `WebhookSignature.verify_header` of stripe-python 16.1.0, run on
/// each line with a tolerance of 300 s, returns the same verdicts.
const AS_THE_SDK: &[(&str, i64, Result<(), Reason>)] = &[
    ("t={T},v1={G}", 0, OK),
    ("v1={G},t={T}", 0, OK),
    ("t={T},v1={B},v1={G}", 0, OK),
    ("t={T},v1={G},v1={B}", 0, OK),
    ("t={T},v0={B},v1={G}", 0, OK),
    ("t={T},v1={G},v0={G}", 0, OK),
    ("t={T},v1={G},", 0, OK),
    (",t={T},v1={G}", 0, OK),
    ("t={T},,v1={G}", 0, OK),
    ("t={T},stray,v1={G}", 0, OK),
    ("t={T},stray=,v1={G}", 0, OK),
    ("t={T},v1={G},x=y=z", 0, OK),
    ("t={T},v1=,v1={G}", 0, OK),
    ("t={T},v1={G}", 300_000, OK),
    ("t={T},v1={G}", -300_000, OK),
    ("t={T},v1={G}", 300_001, AGE),
    ("t={T},v1={G}", 301_000, AGE),
    ("t={T},v0={G}", 0, HEADER),
    ("t={T},v2={G}", 0, HEADER),
    ("t={T}", 0, HEADER),
    ("v1={G}", 0, HEADER),
    ("", 0, HEADER),
    (",", 0, HEADER),
    ("{G}", 0, HEADER),
    ("garbage", 0, HEADER),
    ("t=,v1={G}", 0, HEADER),
    ("t,v1={G}", 0, HEADER),
    ("t,t={T},v1={G}", 0, HEADER),
    ("t={T},v1", 0, HEADER),
    ("t={T},v1,v1={G}", 0, HEADER),
    ("t={T},v1=", 0, HEADER),
    ("t=1,t={T},v1={G}", 0, HEADER),
    ("t={T}abc,v1={G}", 0, HEADER),
    ("t=-{T},v1={G}", 0, HEADER),
    ("t=1700000000.0,v1={G}", 0, HEADER),
    ("t=1.7e9,v1={G}", 0, HEADER),
    ("t=0x6553F100,v1={G}", 0, HEADER),
    ("t=99999999999999999999,v1={G}", 0, HEADER),
    ("t={T}, v1={G}", 0, HEADER),
    (" t={T},v1={G}", 0, HEADER),
    ("t={T},v1= {G}", 0, HEADER),
    ("t={T},v1={G} ", 0, HEADER),
    ("t={T},V1={G}", 0, HEADER),
    ("T={T},v1={G}", 0, HEADER),
    ("t={T};v1={G}", 0, HEADER),
    ("t={T},v1={U}", 0, HEADER),
    ("t={T},v1={G}00", 0, HEADER),
    ("t={T},v1={S}", 0, HEADER),
    ("t={T},v1=0x{G}", 0, HEADER),
    ("t={T},v1=\"{G}\"", 0, HEADER),
    ("t={T},v1={B}", 0, MISMATCH),
    ("t={T},v1={O}", 0, MISMATCH),
    ("t=1700000001,v1={G}", 0, MISMATCH),
];

/// Headers that the library accepts and the ledger refuses, with the library's behaviour.
const STRICTER: &[(&str, i64, Result<(), Reason>, &str)] = &[
    ("t={T},t={T},v1={G}", 0, HEADER, "it takes the first of several times"),
    ("t={T},t=1,v1={G}", 0, HEADER, "it takes the first of several times"),
    ("t={T},v1={G},t=1700000001", 0, HEADER, "it takes the first of several times"),
    ("t={T},v1={G},t=x", 0, HEADER, "it takes the first of several times, and does not read the second"),
    ("t={T}=x,v1={G}", 0, HEADER, "it drops what follows a second `=`"),
    ("t={T},v1={G}=x", 0, HEADER, "it drops what follows a second `=`"),
    ("t=+{T},v1={G}", 0, HEADER, "its `int` reads a sign, and signs the number instead of the text"),
    ("t= {T},v1={G}", 0, HEADER, "its `int` ignores spaces"),
    ("t={T} ,v1={G}", 0, HEADER, "its `int` ignores spaces"),
    ("t=0{T},v1={G}", 0, HEADER, "its `int` reads leading zeros"),
    ("t=1_700_000_000,v1={G}", 0, HEADER, "its `int` reads underscores"),
    ("t=１７００００００００,v1={G}", 0, HEADER, "its `int` reads the digits of every script"),
    ("t={T},v1={G}", -300_001, AGE, "it accepts any time in the future"),
    ("t={T},v1={G}", -301_000, AGE, "it accepts any time in the future"),
];

#[test]
fn headers_are_verified_at_least_as_strictly_as_by_the_official_library() {
    for (pattern, after_ms, want) in AS_THE_SDK {
        assert_eq!(verdict(pattern, *after_ms), *want, "{pattern} after {after_ms} ms");
    }
    for (pattern, after_ms, want, why) in STRICTER {
        assert_eq!(verdict(pattern, *after_ms), *want, "{pattern} after {after_ms} ms: {why}");
    }
}

#[test]
fn signature_of_a_changed_body_is_refused() {
    let header = header("t={T},v1={G}");
    let judge = |body: &[u8]| verify(&secrets(&[SECRET]), &header, body, at(0)).map_err(SignatureError::reason);
    let with = |before: &[u8], after: &[u8]| [before, BODY, after].concat();
    assert_eq!(judge(BODY), OK);
    let value: serde_json::Value = serde_json::from_slice(BODY).unwrap();
    for (what, body) in [
        ("LF at the end", with(b"", b"\n")),
        ("CRLF at the end", with(b"", b"\r\n")),
        ("BOM", with(b"\xef\xbb\xbf", b"")),
        ("NUL at the end", with(b"", b"\0")),
        ("not UTF-8", with(b"", b"\xff")),
        ("serialised again, pretty", serde_json::to_vec_pretty(&value).unwrap()),
        ("cut short", BODY[..BODY.len() - 1].to_vec()),
        ("empty", Vec::new()),
    ] {
        assert_eq!(judge(&body), MISMATCH, "{what}");
    }
}

/// Signatures by Python's `hmac` of bodies that are easily changed in transit. The library agrees on all but the one
/// that is not UTF-8: it decodes the body before it verifies, and raises.
#[test]
fn signed_line_ends_byte_order_mark_and_invalid_utf8_are_verified() {
    let signed: [(&[u8], &str); 5] = [
        (b"", "316b9ab98c15bfa039d243f3196acee619cf29749a91a634e6a8154e2f7b6727"),
        (b"a\r\nb", "e04f7d5c640203851b5df0c5e2e3f524b1a3972b12e7aec229b2ce2193e39a4d"),
        (b"\xef\xbb\xbf{}", "d39d0da0451408c5303a1de0e6ac487f302183f463f595cacf67857e01f244c5"),
        (b"\xff\xfe", "d8796b8d4c730fb166f674bc1b3d964e6ba5f33da1e3beac08f37bafeaebc400"),
        ("円".as_bytes(), "89ad8fd7ce4266a1f26738f152522de698b8ada9b61bd4a771c995303b124339"),
    ];
    for (body, signature) in signed {
        let header = format!("t=1700000000,v1={signature}");
        assert_eq!(verify(&secrets(&[SECRET]), &header, body, at(0)), Ok(()), "{body:?}");
    }
    let changed = format!("t=1700000000,v1={}", signed[1].1);
    assert!(verify(&secrets(&[SECRET]), &changed, b"a\nb", at(0)).is_err(), "CRLF became LF");
}

#[test]
fn signature_by_any_configured_secret_is_accepted() {
    let cases: &[(&[&str], &str, Result<(), Reason>)] = &[
        (&[SECRET, OLD_SECRET], "t={T},v1={G}", OK),
        (&[OLD_SECRET, SECRET], "t={T},v1={G}", OK),
        (&[SECRET, OLD_SECRET], "t={T},v1={O}", OK),
        (&[SECRET, OLD_SECRET], "t={T},v1={B},v1={O}", OK),
        (&[OLD_SECRET], "t={T},v1={O},v1={G}", OK),
        (&[OLD_SECRET], "t={T},v1={G}", MISMATCH),
        (&["test_secret"], "t={T},v1={G}", MISMATCH),
        (&["whsec_test_secret\n"], "t={T},v1={G}", MISMATCH),
        (&["", SECRET], "t={T},v1={G}", OK),
    ];
    for (with, pattern, want) in cases {
        let verdict = verify(&secrets(with), &header(pattern), BODY, at(0)).map_err(SignatureError::reason);
        assert_eq!(verdict, *want, "{with:?} {pattern}");
    }
}

#[test]
fn signature_by_a_blank_secret_is_refused() {
    for blank in ["", " ", "\t\r\n"] {
        let mac = Hmac::<Sha256>::new_from_slice(blank.as_bytes()).unwrap();
        let signature = mac.chain_update(b"1700000000.").chain_update(BODY).finalize().into_bytes();
        let header = format!("t=1700000000,v1={}", hex::encode(signature));
        for with in [&[blank][..], &[blank, blank], &[]] {
            let refused = verify(&secrets(with), &header, BODY, at(0)).unwrap_err();
            assert_eq!(refused.reason(), Reason::NoSecret);
        }
        assert_eq!(verify(&secrets(&[blank, SECRET]), &header, BODY, at(0)).map_err(SignatureError::reason), MISMATCH);
    }
}

#[test]
fn error_text_does_not_name_the_reason() {
    let texts: Vec<String> = ["", "t={T},v1={B}", "t=1,v1={G}"]
        .iter()
        .map(|pattern| verify(&secrets(&[SECRET]), &header(pattern), BODY, at(0)).unwrap_err().to_string())
        .collect();
    assert_eq!(texts, vec!["the signature does not match"; 3]);
    let names = [Reason::Header, Reason::Age, Reason::Mismatch, Reason::NoSecret].map(Reason::name);
    assert_eq!(names, ["header", "age", "mismatch", "no_secret"]);
}
