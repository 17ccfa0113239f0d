// A browser that does errands: a page is opened, looked at, typed into and photographed by the protocol of its
// developer tools.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import readline from "node:readline";
import { run } from "../../reference/errands.mjs";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--remote-debugging-port=0",
  "--window-size=1400,1000",
];

let browser;
let tools;
let origin;
/** What went wrong on the page, by its own account. */
const problems = [];

/** Shows an address in a browser that knows nothing yet. */
async function open({ program, profile, address }) {
  origin = new URL(address).origin;
  browser = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const { host } = new URL(await toolsAddress(browser));
  const pages = await (await fetch(`http://${host}/json/list`)).json();
  const page = pages.find(({ type }) => type === "page");
  tools = await connected(page.webSocketDebuggerUrl);
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await tools.ask(`${domain}.enable`);
  await tools.ask("Page.navigate", { url: address });
}

async function toolsAddress({ stderr }) {
  let said = "";
  for await (const line of readline.createInterface({ input: stderr })) {
    const [, address] = line.match(/^DevTools listening on (ws:\S+)/) ?? [];
    if (address) {
      stderr.resume();
      return address;
    }
    said += `${line}\n`;
  }
  throw new Error(`the browser ended: ${said}`);
}

async function connected(address) {
  const socket = new WebSocket(address);
  const waiting = new Map();
  let number = 0;
  socket.onmessage = ({ data }) => {
    const { id, method, params, result, error } = JSON.parse(data);
    if (id === undefined) return heard(method, params);
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    return error ? reject(new Error(error.message)) : resolve(result);
  };
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  const ask = (method, params = {}) =>
    new Promise((resolve, reject) => {
      waiting.set((number += 1), { resolve, reject });
      socket.send(JSON.stringify({ id: number, method, params }));
    });
  return { ask };
}

function heard(method, params) {
  if (method === "Runtime.exceptionThrown") {
    const { text, exception } = params.exceptionDetails;
    problems.push(`${text} ${exception?.description ?? ""}`);
  }
  if (method === "Runtime.consoleAPICalled" && params.type === "error") {
    problems.push(params.args.map(({ value, description }) => value ?? description).join(" "));
  }
  if (method === "Log.entryAdded" && params.entry.level === "error") {
    const { text, url } = params.entry;
    // The page wants letters from the internet, which is not there.
    if (!url || url.startsWith(origin)) problems.push(`${text} ${url ?? ""}`);
  }
}

async function evaluate({ expression }) {
  const { result, exceptionDetails } = await tools.ask("Runtime.evaluate", { expression, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

/** Waits until something is so on the page. */
async function wait({ expression, seconds }) {
  const deadline = Date.now() + seconds * 1000;
  while (!(await evaluate({ expression }))) {
    if (Date.now() > deadline) {
      const text = await evaluate({ expression: "document.body.innerText" });
      throw new Error(`not within ${seconds} s: ${expression}\nThe page shows:\n${text}`);
    }
    await new Promise((resume) => setTimeout(resume, 50));
  }
}

/** Types into whatever has the focus, and presses Enter. */
async function type({ text }) {
  await tools.ask("Input.insertText", { text });
  const key = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" };
  await tools.ask("Input.dispatchKeyEvent", { type: "keyDown", ...key });
  await tools.ask("Input.dispatchKeyEvent", { type: "keyUp", ...key });
}

async function photograph({ file }) {
  const { data } = await tools.ask("Page.captureScreenshot", { format: "png" });
  writeFileSync(file, Buffer.from(data, "base64"));
}

async function close() {
  const gone = new Promise((ended) => browser.on("exit", ended));
  await tools.ask("Browser.close");
  await gone;
}

process.on("exit", () => browser?.kill("SIGKILL"));

await run({ open, evaluate, wait, type, photograph, problems: () => problems, close });
