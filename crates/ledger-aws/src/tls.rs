//! The HTTPS client of the functions' AWS clients. It trusts the roots that Amazon names for custom trust stores.
//!
//! Reading the system's 140 roots took most of a function's start.

use aws_config::ConfigLoader;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::SharedHttpClient;

/// The five roots of <https://www.amazontrust.com/repository/>. The first of them expires at the end of 2037.
const AMAZON_ROOTS: &str = include_str!("amazon-roots.pem");

/// Adds the client, unless a service may have a certificate of another authority: an endpoint of one's own, or a Region
/// outside AWS's commercial partition. The system's roots are trusted then.
pub(crate) fn with_amazon_roots(loader: ConfigLoader, endpoint_url: Option<&str>) -> ConfigLoader {
    let region = std::env::var("AWS_REGION").unwrap_or_default();
    let given = std::env::vars().filter(|(name, _)| name.starts_with("AWS_ENDPOINT_URL")).map(|(_, url)| url);
    let mut endpoints = given.chain(endpoint_url.map(str::to_owned));
    if !is_commercial(&region) || endpoints.any(|url| url.starts_with("https:")) {
        return loader;
    }
    match client() {
        Some(client) => loader.http_client(client),
        None => loader,
    }
}

/// The client; `None` if its configuration is invalid.
fn client() -> Option<SharedHttpClient> {
    let roots = TrustStore::empty().with_pem_certificate(AMAZON_ROOTS);
    let context = TlsContext::builder().with_trust_store(roots).build().ok()?;
    Some(Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).tls_context(context).build_https())
}

/// Whether a Region is in AWS's commercial partition.
fn is_commercial(region: &str) -> bool {
    let mut parts = region.split('-');
    let (area, place) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    ["af", "ap", "ca", "eu", "il", "me", "mx", "sa", "us"].contains(&area)
        && !place.starts_with("gov")
        && !place.starts_with("iso")
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    /// The SHA-256 of each certificate as Amazon publishes it.
    const PUBLISHED: [&str; 5] = [
        "8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e",
        "1ba5b2aa8c65401a82960118f80bec4f62304d83cec4713a19c39c011ea46db4",
        "18ce6cfe7bf14e60b2e347b8dfe868cb31d02ebb3ada271569f50343b46db3a4",
        "e35d28419ed02025cfa69038cd623962458da5c695fbdea3c22b0bfb25897092",
        "568d6905a2c88708a4b3025190edcfedb1974a606a13c6e5290fcb2ae63edab5",
    ];

    #[test]
    fn roots_are_the_five_that_amazon_publishes() {
        let digests = AMAZON_ROOTS.split("-----BEGIN CERTIFICATE-----").skip(1).map(|pem| {
            let (text, _) = pem.split_once("-----END CERTIFICATE-----").unwrap();
            let der = STANDARD.decode(text.split_whitespace().collect::<String>()).unwrap();
            hex::encode(Sha256::digest(der))
        });
        assert_eq!(digests.collect::<Vec<_>>(), PUBLISHED);
    }

    #[test]
    fn only_regions_of_the_commercial_partition_are_commercial() {
        for region in ["ap-northeast-1", "us-east-1", "eu-central-2", "mx-central-1", "il-central-1"] {
            assert!(is_commercial(region), "{region}");
        }
        for region in ["us-gov-west-1", "us-iso-east-1", "eu-isoe-west-1", "cn-north-1", "eusc-de-east-1", ""] {
            assert!(!is_commercial(region), "{region}");
        }
    }

    /// A client reads its roots when it is made, and panics if it cannot.
    #[tokio::test]
    async fn client_reads_the_roots() {
        let loader = aws_config::defaults(aws_config::BehaviorVersion::v2026_01_12());
        let sdk = loader.region("ap-northeast-1").http_client(client().unwrap()).load().await;
        let _ = aws_sdk_secretsmanager::Client::new(&sdk);
    }
}
