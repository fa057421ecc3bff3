// A merchant presents a QR code, a customer scans and pays it. The drawing is rendered, read and parsed by libraries that
// know nothing of this ledger.

import { Resvg } from "@resvg/resvg-js";
import emvqr from "emvqr";
import jsQR from "jsqr";
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [base, customer, merchant] = process.argv.slice(2) as [string, string, string];
const client = (token: string) =>
  createClient<paths>({ baseUrl: base, headers: { authorization: `Bearer ${token}` } });
const [till, wallet] = [client(merchant), client(customer)];

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

function scan(svg: string) {
  const image = new Resvg(svg, { fitTo: { mode: "width", value: 600 } }).render();
  const found = (jsQR as unknown as typeof jsQR.default)(new Uint8ClampedArray(image.pixels), image.width, image.height);
  check(found !== null, "the drawing is a QR code");
  return found.data;
}

async function present(amount?: string) {
  const { data, error } = await till.GET("/v1/merchant/qr", { params: { query: amount ? { amount } : {} } });
  check(data !== undefined, `presented: ${JSON.stringify(error)}`);
  const text = scan(data.svg);
  check(text === data.payload, `the drawing says ${text}, the payload ${data.payload}`);
  return emvqr.decode(text);
}

const scanned = await present("1240");
const account = scanned["26"]?.data;
check(typeof account === "object", JSON.stringify(scanned));
const [code, amount] = [account["01"]?.data, scanned["54"]?.data];
check(code !== undefined && amount === "1240", JSON.stringify(scanned));
check(scanned["01"]?.data.toString().startsWith("12") === true, "a code with an amount is dynamic");
check((await present())["54"] === undefined, "a static code has no amount");

const payee = await wallet.GET("/v1/me/merchants/{code}", { params: { path: { code } } });
check(payee.data?.status === "active", JSON.stringify(payee.error));
const paid = await wallet.POST("/v1/me/payments", {
  params: { header: { "Idempotency-Key": crypto.randomUUID() } },
  body: { merchant_id: payee.data.merchant_id, amount },
});
check(paid.data?.amount === "1240", JSON.stringify(paid.error));
console.log(`TypeScript: scanned the code of ${payee.data.name}, paid ${paid.data.amount} ${paid.data.asset}`);

declare const process: { argv: string[] };
