// The reference's side of `cargo xtask bench store`. Each errand is a line of JSON in and one out, as with
// `store_worker serve`; with BENCH_CONTEXT set it opens that transcript once and ends, to be timed from outside.

import fs from "node:fs";
import path from "node:path";
import { run, say } from "../reference/errands.mjs";

// To a pipe this comes back when all of it is written.

/** The most memory this process ever had, in bytes. */
function peakMemory() {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
}

/** Looks at every message, so that none is left unread. */
const characters = (messages) => messages.reduce((sum, message) => sum + textLength(message), 0);

function textLength({ content, summary }) {
  if (typeof summary === "string") return summary.length;
  if (typeof content === "string") return content.length;
  return content.reduce((sum, block) => sum + (block.text?.length ?? 0), 0);
}

if (process.env.BENCH_CONTEXT) {
  const { SessionManager } = await import(process.env.TRANSCRIPT_READER);
  const { messages } = SessionManager.open(process.env.BENCH_CONTEXT).buildSessionContext();
  say({ messages: messages.length, characters: characters(messages), peakMemory: peakMemory() });
  process.exit(0);
}

const { borrow, transcriptReader } = await import("../reference/borrowed.mjs");
const { updateSessionStore } = await borrow("updateSessionStore");
const transcripts = await borrow("readSessionPreviewItemsFromTranscript", "readFirstUserMessageFromTranscript");
const { SessionManager } = await transcriptReader();

const seconds = () => performance.now() / 1000;

const errands = {
  // As its gateway does after a turn: a few fields of one entry. `count` updates by each of `writers`.
  async updates({ store, keys, writers, count }) {
    const times = [];
    let refused = 0;
    const begin = seconds();
    await Promise.all(Array.from({ length: writers }, async (_, writer) => {
      for (let i = 0; i < count; i += 1) {
        const key = keys[(writer * count + i) % keys.length];
        const started = seconds();
        try {
          await updateSessionStore(store, (all) => {
            all[key] = { ...all[key], updatedAt: Date.now(), inputTokens: i, outputTokens: i, totalTokens: 2 * i };
          });
          times.push(seconds() - started);
        } catch {
          refused += 1;
        }
      }
    }));
    return { wall: seconds() - begin, times, refused };
  },

  // Its appends are never synced; 64 writers are 64 files that take turns, as in its one thread they must.
  appends({ folder, writers, count, message }) {
    const managers = Array.from({ length: writers }, (_, writer) => {
      const manager = SessionManager.open(path.join(folder, `reference-${writers}-${writer}.jsonl`));
      manager.appendMessage(message);
      return manager;
    });
    const times = [];
    const begin = seconds();
    for (let i = 0; i < count; i += 1) {
      for (const manager of managers) {
        const started = seconds();
        manager.appendMessage(message);
        times.push(seconds() - started);
      }
    }
    return { wall: seconds() - begin, times, refused: 0 };
  },

  preview({ file, session, rounds }) {
    const times = [];
    for (let i = 0; i < rounds; i += 1) {
      const started = seconds();
      const items = transcripts.readSessionPreviewItemsFromTranscript(session, undefined, file, undefined, 12, 240);
      const title = transcripts.readFirstUserMessageFromTranscript(session, undefined, file, undefined);
      times.push(seconds() - started);
      if (items.length === 0 || !title) throw new Error("the preview is empty");
    }
    return { times };
  },
};

await run(errands);
