// What a peer is asked for, a line of JSON each on its standard input, and its answers on its standard output.

import readline from "node:readline";

export function say(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Runs errands by name until nobody asks any more. */
export async function run(errands) {
  say({ event: "ready" });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: name, ...wanted } = JSON.parse(line);
    try {
      say({ ok: (await errands[name](wanted)) ?? null });
    } catch (error) {
      say({ error: String(error?.message ?? error) });
    }
  }
  process.exit(0);
}
