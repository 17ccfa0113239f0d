// How long the first word of an answer takes through the real OpenClaw: the word is the time at which the
// service says it, and whoever listens to the gateway's events knows how long it took. Prints one JSON line.
//
// usage: node reference_models.mjs HOME ANSWERS

import { gateway, report } from "./reference_gateway.mjs";

const [home, answers] = [process.argv[2], Number(process.argv[3])];
// A conversation that grows would be measured as well, so that each is a short one.
const TURNS = 10;

let first;
const running = await gateway(
  home,
  (say, end) => {
    // What comes before the first word is on its way already.
    say("");
    setTimeout(() => {
      say(`at ${performance.now()} `);
      end();
    }, 1);
  },
  (frame) => {
    const now = performance.now();
    const { stream, data } = frame.payload ?? {};
    const said = frame.event === "agent" && stream === "assistant" && /^at ([\d.]+)/.exec(data?.text ?? "");
    if (said) first ??= (now - Number(said[1])) / 1000;
  },
);

await report(running, async (ask) => {
  const delays = [];
  // What it costs to begin is no part of it.
  for (let at = -2; at < answers; at++) {
    first = undefined;
    const report = await ask("agent", {
      message: "go on",
      sessionKey: `agent:main:telegram:dm:${Math.floor(at / TURNS)}`,
      deliver: false,
      idempotencyKey: `turn-${at}`,
    });
    if (report.status !== "ok") throw new Error(JSON.stringify(report));
    if (first === undefined) throw new Error("the first word was not heard");
    if (at >= 0) delays.push(first);
  }
  return { delays };
});
