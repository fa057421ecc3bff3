//! The start-up text: the stack's addresses, and lines to paste into a second shell.
//!
//! INVARIANT: every line works as printed on the demo data.

use crate::demo::Demo;

/// The values that the text contains.
#[derive(Debug, Clone)]
pub struct Banner<'a> {
    /// Base URL of the API.
    pub url: &'a str,
    /// Endpoint of the table.
    pub dynamodb_url: &'a str,
    /// The table's name.
    pub table: &'a str,
    /// Where the data is kept, as a text.
    pub data: &'a str,
    /// Which Stripe is used, as a text.
    pub stripe: &'a str,
    /// Whether Stripe is the simulator.
    pub simulated: bool,
    /// The options that the `terminal` command needs, such as `--url ...`; empty if its defaults fit.
    pub terminal_options: &'a str,
    /// The demo data's ids.
    pub demo: &'a Demo,
}

/// The whole text.
pub fn text(banner: &Banner<'_>) -> String {
    let Banner { url, dynamodb_url, table, data, stripe, simulated, terminal_options, demo } = banner;
    let first = |ids: &'_ [String]| ids.first().cloned().unwrap_or_default();
    let (tenant, customer, merchant) = (&demo.tenant, first(&demo.customers), first(&demo.merchants));
    let (card, owner) = (first(&demo.cards), demo.shop_owner());
    let terminal = if terminal_options.is_empty() {
        "cargo run -- terminal".to_owned()
    } else {
        format!("cargo run -- terminal {terminal_options}")
    };
    let stripe_lines = if *simulated { stripe_lines(url) } else { String::new() };
    format!(
        r#"EcoPay Ledger is running. Ctrl-C stops it.

  API         {url}
  reference   {url}/docs   (OpenAPI: {url}/openapi.json)
  demo ids    {url}/dev/demo
  table       {table} at {dynamodb_url}
  data        {data}
  Stripe      {stripe}

Paste into a second shell:

# 1. as the customer: get a token and read the balances
CUSTOMER=$(curl -s {url}/dev/token -H 'Content-Type: application/json' -d '{{"tenant":"{tenant}","face":"customer","sub":"{customer}"}}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
curl -s {url}/v1/me/balances -H "Authorization: Bearer $CUSTOMER"; echo

# 2. pay twice with one key: the second response is a replay, without a second payment
KEY=demo-$(date +%s)
pay() {{ curl -si {url}/v1/me/payments -H "Authorization: Bearer $CUSTOMER" -H "Idempotency-Key: $KEY" -H 'Content-Type: application/json' -d '{{"merchant_id":"{merchant}","amount":"1240"}}'; echo; }}
pay
pay

# 3. as the merchant: refund a part of the payment
PAYMENT=$(pay | sed -n 's/.*"payment_id":"\([^"]*\)".*/\1/p')
MERCHANT=$(curl -s {url}/dev/token -H 'Content-Type: application/json' -d '{{"tenant":"{tenant}","face":"merchant","sub":"{owner}","merchant_id":"{merchant}"}}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
curl -s {url}/v1/merchant/payments/$PAYMENT/refunds -H "Authorization: Bearer $MERCHANT" -H "Idempotency-Key: $KEY-refund" -H 'Content-Type: application/json' -d '{{"amount":"240"}}'; echo

# 4. as the storefront terminal, which signs its requests
{terminal} GET /v1/terminal/cards/{card}
{terminal} POST /v1/terminal/cards/{card}/topup '{{"amount":"1000"}}'
{terminal} POST /v1/terminal/cards/{card}/pay '{{"amount":"300"}}'
{stripe_lines}"#
    )
}

/// The lines for a tenant that has played a year: its figures as the operator sees them.
pub fn figures_text(url: &str, (tenant, owner): (&str, &str), (first, last): (&str, &str)) -> String {
    format!(
        r#"
The tenant `{tenant}` has played {first} to {last}. Its figures, as an owner of the operator:

ADMIN=$(curl -s {url}/dev/token -H 'Content-Type: application/json' -d '{{"tenant":"{tenant}","face":"admin","sub":"{owner}"}}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
curl -s "{url}/v1/admin/totals?from={last}&to={last}" -H "Authorization: Bearer $ADMIN"; echo
curl -s "{url}/v1/admin/trial-balance?date={last}" -H "Authorization: Bearer $ADMIN"; echo
curl -s "{url}/v1/admin/prepaid-report?date={last}&format=csv" -H "Authorization: Bearer $ADMIN"; echo
"#
    )
}

/// The lines for the simulator, where the user pays in place of the payer.
fn stripe_lines(url: &str) -> String {
    format!(
        r#"
# 5. top up with a card: request it, pay in place of the customer's browser, and read the balances
TOPUP=$(curl -s {url}/v1/me/topups -H "Authorization: Bearer $CUSTOMER" -H "Idempotency-Key: $KEY-topup" -H 'Content-Type: application/json' -d '{{"amount":"10000"}}'); echo "$TOPUP"
INTENT=$(echo "$TOPUP" | sed 's/.*"payment_intent_id":"\([^"]*\)".*/\1/')
curl -s -X POST {url}/dev/stripe/payment_intents/$INTENT/succeed -H 'Content-Type: application/json' >/dev/null; sleep 1
curl -s {url}/v1/me/balances -H "Authorization: Bearer $CUSTOMER"; echo
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_asked_as_an_owner_of_the_tenant() {
        let text = figures_text("http://127.0.0.1:3000", ("year", "owner-1"), ("2025-04-01", "2026-03-31"));
        for needed in [
            "`year` has played 2025-04-01 to 2026-03-31",
            r#"/dev/token -H 'Content-Type: application/json' -d '{"tenant":"year","face":"admin","sub":"owner-1"}'"#,
            "/v1/admin/totals?from=2026-03-31&to=2026-03-31",
            "/v1/admin/prepaid-report?date=2026-03-31",
        ] {
            assert!(text.contains(needed), "{needed}");
        }
    }

    #[test]
    fn text_names_urls_ids_and_commands() {
        let demo = Demo::fixed();
        let banner = Banner {
            url: "http://127.0.0.1:3000",
            dynamodb_url: "http://127.0.0.1:4000",
            table: "ecopay",
            data: "in memory",
            stripe: "simulated",
            simulated: true,
            terminal_options: "",
            demo: &demo,
        };
        let text = text(&banner);
        for needed in
            ["/docs", "in memory", &demo.customers[0], &demo.cards[0], "cargo run -- terminal GET", "/succeed"]
        {
            assert!(text.contains(needed), "{needed}");
        }
        // The gateway accepts only JSON at its controls.
        for line in text.lines().filter(|line| line.contains("/dev/token") || line.contains("/dev/stripe")) {
            assert!(line.contains("-H 'Content-Type: application/json'"), "{line}");
        }
        let elsewhere = super::text(&Banner { stripe: "at https://x", simulated: false, ..banner.clone() });
        assert!(elsewhere.contains("at https://x") && !elsewhere.contains("/dev/stripe"));
        let with_options = super::text(&Banner { terminal_options: "--url http://127.0.0.1:3001", ..banner });
        assert!(with_options.contains("cargo run -- terminal --url http://127.0.0.1:3001 GET"));
    }
}
