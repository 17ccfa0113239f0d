// One connection to a gateway, by the class that the reference's own programs connect with.

import { borrow } from "../../reference/borrowed.mjs";
import { run } from "../../reference/errands.mjs";

const { GatewayClient } = await borrow("GatewayClient");

let client;
const events = [];

/** Connects as the command line does; what the gateway greets it with. */
function connect({ url, token }) {
  return new Promise((greeted, refused) => {
    client = new GatewayClient({
      url,
      token,
      clientName: "cli",
      mode: "cli",
      scopes: ["operator.admin", "operator.approvals", "operator.pairing"],
      onHelloOk: greeted,
      onConnectError: refused,
      onEvent: (event) => events.push(event),
      onGap: (gap) => events.push({ event: "gap", payload: gap }),
    });
    client.start();
  });
}

/** What a method answers, or why it does not. */
async function call({ method, params, expectFinal }) {
  try {
    return { answer: (await client.request(method, params, { expectFinal })) ?? null };
  } catch (error) {
    return { refused: String(error?.message ?? error) };
  }
}

await run({ connect, call, events: () => events, end: () => client.stop() });
