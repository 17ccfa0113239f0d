// The reference's side of `cargo xtask interop`: answers questions and does errands with the reference's own
// code. One JSON object per line in, one or more per line out, as `store_worker serve` does it for yabby.
// What is compared exactly travels as JSON text inside a string.

import fs from "node:fs";
import path from "node:path";
import { run, say } from "../reference/errands.mjs";
import { borrow, transcriptReader } from "../reference/borrowed.mjs";

// Its JSON parser has opinions about characters in strings.
console.warn = () => {};

// To a pipe this comes back when all of it is written.

const sessions = await borrow("loadSessionStore", "saveSessionStore", "updateSessionStore", "withSessionStoreLock");
const runs = await borrow("prepareSessionManagerForRun", "acquireSessionWriteLock");
const { SessionManager } = await transcriptReader();

const entryTexts = (store) => Object.entries(store).map(([key, entry]) => [key, JSON.stringify(entry)]);

/** What is held by `hold`, by path, and how to let go of it. */
const held = new Map();

const errands = {
  list: ({ store }) => ({ entries: entryTexts(sessions.loadSessionStore(store, { skipCache: true })) }),

  async save({ store, text }) {
    await sessions.saveSessionStore(store, JSON.parse(text));
  },

  async resave({ store, to }) {
    await sessions.saveSessionStore(to, sessions.loadSessionStore(store, { skipCache: true }));
  },

  async update({ store, key, set, remove }) {
    await sessions.updateSessionStore(store, (all) => {
      const entry = { ...all[key], ...set };
      for (const field of remove ?? []) delete entry[field];
      all[key] = entry;
    });
  },

  async remove({ store, key }) {
    await sessions.updateSessionStore(store, (all) => { delete all[key]; });
  },

  // Each round is two updates: a record of its own, and a field of its own in the shared one.
  async storm({ store, who, first, count, shared }) {
    for (let i = first; i < first + count; i += 1) {
      await sessions.updateSessionStore(store, (all) => {
        all[`agent:main:${who}:${i}`] = { sessionId: `${who}-${i}`, updatedAt: 1768469400000 + i, [who]: i };
      });
      await sessions.updateSessionStore(store, (all) => {
        all[shared] = { ...all[shared], [`${who}${i}`]: i };
      });
      say({ event: "updated", number: i });
    }
  },

  async hold({ store }) {
    await new Promise((taken) => {
      const wait = sessions.withSessionStoreLock(store, () => new Promise((release) => {
        held.set(store, { release, wait: () => wait });
        taken();
      }));
    });
  },

  async release({ store }) {
    const lock = held.get(store);
    held.delete(store);
    lock.release();
    await lock.wait();
  },

  async holdTranscript({ file, timeout }) {
    held.set(file, await runs.acquireSessionWriteLock({ sessionFile: file, timeoutMs: timeout }));
  },

  async releaseTranscript({ file }) {
    await held.get(file).release();
    held.delete(file);
  },

  context: ({ file }) => {
    const manager = SessionManager.open(file);
    return {
      context: JSON.stringify(manager.buildSessionContext()),
      session: manager.getSessionId(),
      leaf: manager.getLeafId(),
      name: manager.getSessionName() ?? null,
      entries: manager.getEntries().length,
      branch: manager.getBranch().map((entry) => entry.id),
      labels: manager.getEntries().map((entry) => manager.getLabel(entry.id) ?? null),
    };
  },

  async write({ file, session, cwd, steps }) {
    const hadSessionFile = fs.existsSync(file);
    const manager = SessionManager.open(file);
    if (session) {
      await runs.prepareSessionManagerForRun({
        sessionManager: manager, sessionFile: file, hadSessionFile, sessionId: session, cwd,
      });
    }
    const ids = [];
    const forks = [];
    const id = (name) => (name?.startsWith("@") ? ids[Number(name.slice(1))] : name);
    for (const [kind, value] of steps.map((step) => Object.entries(step)[0])) {
      ids.push(take(kind, value) ?? null);
    }
    return { ids, forks };

    function take(kind, value) {
      switch (kind) {
        case "message": return manager.appendMessage(value);
        case "thinking": return manager.appendThinkingLevelChange(value);
        case "model": return manager.appendModelChange(value.provider, value.id);
        case "compaction":
          return manager.appendCompaction(
            value.summary, id(value.firstKept), value.tokensBefore, value.details, value.fromHook,
          );
        case "custom": return manager.appendCustomEntry(value.type, value.data);
        case "customMessage":
          return manager.appendCustomMessageEntry(value.type, value.content, value.display, value.details);
        case "label": return manager.appendLabelChange(id(value.target), value.label ?? undefined);
        case "name": return manager.appendSessionInfo(value);
        case "move": return value === null ? manager.resetLeaf() : manager.branch(id(value));
        case "branch":
          return manager.branchWithSummary(id(value.to), value.summary, value.details, value.fromHook);
        // By a second reader of the file: the first would go on in memory as the fork.
        case "fork": return forks.push(SessionManager.open(file).createBranchedSession(id(value))) && null;
        case "forkWhole":
          return forks.push(SessionManager.forkFrom(file, value, path.dirname(file)).getSessionFile()) && null;
        default: throw new Error(`no step is called ${kind}`);
      }
    }
  },
};

await run(errands);
