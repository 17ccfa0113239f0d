// The gateway of the real OpenClaw in a folder that is given, with a model in the wire format of chat
// completions, streamed. Everything listens on the loopback of a network of its own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const port = 18789;
const token = "bench";

/**
 * Starts both. `answer` gets a function that says a piece of an answer, and one that ends it; `hear` gets
 * what the gateway tells unasked.
 */
export async function gateway(home, answer, hear = () => {}) {
  const state = join(home, "state");
  const model = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const chunk = (choice, usage) =>
        response.write(
          `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "stub", choices: [choice], usage })}\n\n`,
        );
      const say = (content) => chunk({ index: 0, delta: { role: "assistant", content }, finish_reason: null });
      const end = () => {
        chunk({ index: 0, delta: {}, finish_reason: "stop" }, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
        response.end("data: [DONE]\n\n");
      };
      answer(say, end);
    });
  });
  model.listen(0, "127.0.0.1");
  await once(model, "listening");
  configure(home, state, model.address().port);
  const program = spawn(process.execPath, [join(process.env.REFERENCE, "openclaw.mjs"), "gateway"], {
    env: { ...process.env, OPENCLAW_STATE_DIR: state, OPENCLAW_SKIP_CHANNELS: "1", OPENCLAW_SKIP_CRON: "1" },
    stdio: ["ignore", "ignore", "inherit"],
    // The program that is started starts another one, which is to end with it.
    detached: true,
  });
  const ended = once(program, "exit").then(() => {
    throw new Error("the gateway ended by itself");
  });
  const close = () => {
    process.kill(-program.pid, "SIGKILL");
    model.close();
  };
  try {
    return { ask: await Promise.race([asking(await connected(), hear), ended]), ended, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Measures, prints one JSON line, and ends whatever was started. */
export async function report(running, measure) {
  try {
    console.log(JSON.stringify(await Promise.race([measure(running.ask), running.ended])));
  } finally {
    running.close();
  }
  process.exit(0);
}

function configure(home, state, modelPort) {
  mkdirSync(state, { recursive: true });
  writeFileSync(
    join(state, "openclaw.json"),
    JSON.stringify({
      gateway: { mode: "local", port, auth: { mode: "token", token } },
      models: {
        providers: {
          stub: {
            baseUrl: `http://127.0.0.1:${modelPort}/v1`,
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
}

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

async function asking(socket, hear) {
  const waiting = new Map();
  socket.onmessage = ({ data }) => {
    const frame = JSON.parse(data);
    if (frame.type === "event") return hear(frame);
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
  return ask;
}
