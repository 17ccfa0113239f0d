// The reference's side of `cargo xtask bench memory`: an embedding service on loopback, and the reference's own
// command line, timed where the service can be reached.

import { spawn } from "node:child_process";
import http from "node:http";
import path from "node:path";
import { Worker, isMainThread, parentPort } from "node:worker_threads";
import { run } from "../reference/errands.mjs";

const DIMENSIONS = 384;

/** Numbers that depend on the text, and cost nothing. */
function vector(text) {
  let seed = 7;
  for (let at = 0; at < text.length; at += 13) seed = (seed * 31 + text.charCodeAt(at)) >>> 0;
  return Array.from({ length: DIMENSIONS }, () => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return seed / 2147483648 - 1;
  });
}

if (!isMainThread) {
  const server = http.createServer(async (request, response) => {
    let body = "";
    request.setEncoding("utf8");
    for await (const piece of request) body += piece;
    const { input } = JSON.parse(body);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: input.map((text, index) => ({ index, embedding: vector(text) })) }));
  });
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
} else {
  const worker = new Worker(new URL(import.meta.url));
  const port = await new Promise((ready) => worker.once("message", ready));
  const timed = async (program, words, { environment = {}, limit } = {}) => {
    const begun = performance.now();
    const env = { ...process.env, ...environment };
    // A group of its own: OpenClaw starts itself a second time, and both are to be stopped.
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], env, detached: true });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (printed += piece));
    let late = false;
    const stop = limit && setTimeout(() => ((late = true), process.kill(-child.pid, "SIGKILL")), limit * 1000);
    const status = await new Promise((ended) => child.on("close", ended));
    clearTimeout(stop);
    return { status, late, seconds: (performance.now() - begun) / 1000, printed };
  };
  await run({
    address: () => `http://127.0.0.1:${port}/v1`,
    openclaw: ({ words, limit }) =>
      timed(process.execPath, [path.join(process.env.REFERENCE, "openclaw.mjs"), ...words], { limit }),
    other: ({ program, words, environment }) => timed(program, words, { environment }),
  });
  process.exit(0);
}
