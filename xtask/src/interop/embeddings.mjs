// Stands in for OpenAI's embeddings on the loopback, and runs the reference where it can be reached. A text is
// how many of its words fall into each of sixteen boxes, as `hashed_embedder.rs` has it.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import http from "node:http";
import path from "node:path";
import { run } from "../reference/errands.mjs";

let asked = [];

function boxes(text) {
  const counts = new Array(16).fill(0);
  for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
    counts[createHash("sha256").update(word).digest()[0] % 16] += 1;
  }
  if (counts.every((count) => count === 0)) counts[0] = 1;
  return counts;
}

const server = http.createServer(async (request, response) => {
  let body = "";
  request.setEncoding("utf8");
  for await (const piece of request) body += piece;
  const { input } = JSON.parse(body);
  asked.push(...input);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ data: input.map((text, index) => ({ index, embedding: boxes(text) })) }));
});
// A connection that is kept for long may be used again at any time.
server.keepAliveTimeout = 0;
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));

/** What the reference's command line prints, and the texts it had embedded meanwhile. */
async function openclaw({ words }) {
  asked = [];
  const script = path.join(process.env.REFERENCE, "openclaw.mjs");
  const child = spawn(process.execPath, [script, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  const printed = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"]) {
    child[stream].on("data", (piece) => (printed[stream] += piece));
  }
  const status = await new Promise((ended) => child.on("close", ended));
  return { status, ...printed, asked };
}

await run({
  address: () => `http://127.0.0.1:${server.address().port}/v1`,
  openclaw,
});
