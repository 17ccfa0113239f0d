// Turns of the real OpenClaw, with a model that answers at once. Prints one JSON line.
//
// usage: node reference_turns.mjs HOME SESSIONS TURNS

import { gateway, report } from "./reference_gateway.mjs";

const [home, sessions, turns] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];

const running = await gateway(home, (say, end) => {
  say("done;");
  end();
});

await report(running, async (ask) => {
  const turn = async (at) => {
    const session = at % sessions;
    const report = await ask("agent", {
      message: `<${session}-${at}>`,
      sessionKey: `agent:main:telegram:dm:${session}`,
      deliver: false,
      idempotencyKey: `turn-${at}`,
    });
    if (report.status !== "ok") throw new Error(JSON.stringify(report));
  };
  // What it costs to begin is no part of a turn.
  await turn(0);
  await turn(0 + sessions * 1000);
  const times = [];
  for (let at = 1; at <= turns; at++) {
    const began = performance.now();
    await turn(at * sessions);
    times.push((performance.now() - began) / 1000);
  }
  return { times };
});
