// Turns of the real OpenClaw: its gateway in a folder that is given, with a model that answers at once.
// Everything listens on the loopback of a network of its own. Prints one JSON line.
//
// usage: node reference_turns.mjs HOME SESSIONS TURNS

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [home, sessions, turns] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const state = join(home, "state");
const port = 18789;
const token = "bench";

// A model in the wire format of chat completions, streamed.
const model = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (choice, usage) =>
      response.write(
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "stub", choices: [choice], usage })}\n\n`,
      );
    chunk({ index: 0, delta: { role: "assistant", content: "done;" }, finish_reason: null });
    chunk({ index: 0, delta: {}, finish_reason: "stop" }, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
    response.end("data: [DONE]\n\n");
  });
});
model.listen(0, "127.0.0.1");
await once(model, "listening");

mkdirSync(state, { recursive: true });
writeFileSync(
  join(state, "openclaw.json"),
  JSON.stringify({
    gateway: { mode: "local", port, auth: { mode: "token", token } },
    models: {
      providers: {
        stub: {
          baseUrl: `http://127.0.0.1:${model.address().port}/v1`,
          apiKey: "none",
          api: "openai-completions",
          models: [
            { id: "stub", name: "stub", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 200000, maxTokens: 4096 },
          ],
        },
      },
    },
    agents: { defaults: { model: { primary: "stub/stub" }, workspace: join(home, "workspace"), skipBootstrap: true } },
  }),
);

const gateway = spawn(process.execPath, [join(process.env.REFERENCE, "openclaw.mjs"), "gateway"], {
  env: { ...process.env, OPENCLAW_STATE_DIR: state, OPENCLAW_SKIP_CHANNELS: "1", OPENCLAW_SKIP_CRON: "1" },
  stdio: ["ignore", "ignore", "inherit"],
});
const ended = once(gateway, "exit").then(() => {
  throw new Error("the gateway ended by itself");
});

async function connected() {
  for (let tries = 0; tries < 600; tries++) {
    try {
      const socket = new WebSocket(`ws://127.0.0.1:${port}`);
      await new Promise((opened, failed) => {
        socket.onopen = opened;
        socket.onerror = failed;
      });
      return socket;
    } catch {
      await new Promise((later) => setTimeout(later, 100));
    }
  }
  throw new Error("the gateway does not listen");
}

async function measure() {
  const socket = await connected();
  const waiting = new Map();
  socket.onmessage = ({ data }) => {
    const frame = JSON.parse(data);
    const asked = frame.type === "res" && waiting.get(frame.id);
    if (!asked || (frame.ok && frame.payload?.status === "accepted")) return;
    waiting.delete(frame.id);
    frame.ok ? asked.done(frame.payload) : asked.failed(new Error(frame.error?.message));
  };
  let number = 0;
  const ask = (method, params) =>
    new Promise((done, failed) => {
      const id = `r${++number}`;
      waiting.set(id, { done, failed });
      socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  await ask("connect", {
    minProtocol: 3,
    maxProtocol: 3,
    client: { id: "test", version: "1", platform: "linux", mode: "test" },
    auth: { token },
  });
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
  return times;
}

try {
  const times = await Promise.race([measure(), ended]);
  console.log(JSON.stringify({ times }));
} finally {
  gateway.kill("SIGKILL");
  model.close();
}
process.exit(0);
