// A purchase with the client that openapi-typescript and openapi-fetch make of openapi.json, and a refused one
// whose error is typed. `tsc` compiles this strictly: a code that the operation cannot answer is a compile error.

import createClient from "openapi-fetch";
import type { paths } from "./api.js";

type Error400 = paths["/v1/me/payments"]["post"]["responses"][400]["content"]["application/problem+json"];
type Code = Error400["code"];

// The list is closed in both directions: exactly these codes.
const REFUSALS: Record<Code, true> = {
  account_frozen: true,
  idempotency_key_invalid: true,
  idempotency_key_missing: true,
  insufficient_balance: true,
  limit_exceeded: true,
  invalid_request: true,
  legacy_record_unreadable: true,
  wrong_state: true,
};
// @ts-expect-error A payment is never refused with the code of a refund.
const NOT_OF_A_PAYMENT: Code = "over_refund";

const [base, token, merchant] = process.argv.slice(2) as [string, string, string];
const api = createClient<paths>({ baseUrl: base, headers: { authorization: `Bearer ${token}` } });

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

function pay(amount: string) {
  return api.POST("/v1/me/payments", {
    params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { merchant_id: merchant, amount },
  });
}

const paid = await pay("1240");
check(paid.data !== undefined, `paid: ${JSON.stringify(paid.error)}`);
check(paid.data.amount === "1240" && paid.data.status === "captured", `paid: ${JSON.stringify(paid.data)}`);
check(paid.response.headers.get("request-id") !== null, "the answer names its request");

const refused = await pay("999999999");
check(refused.error !== undefined && "code" in refused.error, "it is refused with a code");
const code: string = refused.error.code;
check(refused.response.status === 400 && code === "insufficient_balance", JSON.stringify(refused.error));
check(code in REFUSALS && !(NOT_OF_A_PAYMENT in REFUSALS), "the code is one of the closed list");
check(refused.error.balance_short !== undefined, "the problem says how much is missing");

const wallet = await api.GET("/v1/me/balances");
const ecopay = wallet.data?.balances.find((balance) => balance.asset === "ECOPAY");
check(ecopay !== undefined && !ecopay.frozen, "the wallet has yen");
console.log(`TypeScript: paid ${paid.data.amount} ${paid.data.asset}, refused with ${code}, ${ecopay.balance} left`);

declare const process: { argv: string[] };
