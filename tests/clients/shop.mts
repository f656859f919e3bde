// A shop over openapi-fetch and the types that openapi-typescript generated: argv has the sandbox's address and its
// secret key.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };

const [baseUrl = "", secretKey = ""] = process.argv.slice(2);
const authorized = (Authorization: string) => createClient<paths>({ baseUrl, headers: { Authorization } });
const bearer = authorized(`Bearer ${secretKey}`);
const basic = authorized(`Basic ${btoa(`${secretKey}:`)}`);
const phone = "+260961234567";

function same(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
  }
}

function found<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

async function created(amount: string): Promise<components["schemas"]["PaymentIntent"]> {
  // The least body: what has a default is left out.
  const body = { amount: Number(amount), currency: "ZMW", payment_method_types: ["mobile_money"] };
  return found(await bearer.POST("/v1/payment_intents", { body }));
}

// A number of JavaScript: two decimals of it are the amount, to the ngwee.
for (const amount of ["0.01", "0.37", "19.99", "150.10", "123456789.12", "9999999999.99"]) {
  same((await created(amount)).amount.toFixed(2), amount);
}

const { id } = await created("150.10");
const path = { intent_id: id };
const confirmed = found(await bearer.POST("/v1/payment_intents/{intent_id}/confirm", {
  params: { path },
  body: { payment_method: { type: "mobile_money", mobile_money: { phone, provider: "mtn" } } },
}));
same(confirmed.status, "requires_action");

found(await bearer.POST("/sandbox/phones/{phone}/input", { params: { path: { phone } }, body: { text: "1234" } }));
found(await bearer.POST("/sandbox/clock/advance", { body: { seconds: 10 } }));
const paid = found(await bearer.GET("/v1/payment_intents/{intent_id}", { params: { path } }));
same(paid.status satisfies "requires_payment_method" | "requires_action" | "processing" | "canceled" | "succeeded",
  "succeeded");
const latest = found(await bearer.GET("/v1/payment_intents", { params: { query: { limit: 1 } } }));
same(latest.data.map((each) => each.id), [id]);

const part = found(await bearer.POST("/v1/refunds", { body: { payment_intent: id, amount: 0.37, reason: "a leaf" } }));
same([part.amount, part.currency, part.reason], [0.37, "ZMW", "a leaf"]);

const sold = found(await basic.POST("/v1/charges", {
  params: { header: { "Idempotency-Key": "order-2" } },
  body: { amount: 1999, currency: "zmw", type: "mobile_money", channel: "mtn", phone },
}));
same(sold.amount, 1999);
const whole = found(await bearer.POST("/v1/refunds", { body: { charge: sold.id } }));
same([whole.amount, whole.currency], [1999, "zmw"]);

const { error, response } = await bearer.POST("/v1/refunds", { body: { charge: sold.id, amount: 1 } });
if (error === undefined) throw new Error("It was refunded twice.");
same([response.status, error.status], [400, 400]);
console.log(error.code);
