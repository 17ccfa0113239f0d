// Functions of the reference by the names they have in its source. Its bundles export some under names that
// change with every release, and some not at all, so each bundle that defines one gets an export more while
// it is loaded. What is installed stays as it is.

import fs from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

let candidates;

const folder = path.join(process.env.REFERENCE, "dist");

/** One bundle that defines all of these functions or classes, and an object with them. */
export async function borrow(...names) {
  const bundle = (candidates ??= bundles()).find((file) => names.every((name) => defines(file, name)));
  if (!bundle) throw new Error(`no bundle of the reference defines ${names.join(", ")}`);
  const url = pathToFileURL(path.join(folder, bundle)).href;
  const alias = (name) => `borrowed_${name}`;
  const exported = names.map((name) => `${name} as ${alias(name)}`).join(", ");
  const hooks = registerHooks({
    load(address, context, next) {
      const loaded = next(address, context);
      if (address !== url) return loaded;
      return { ...loaded, source: `${loaded.source}\nexport { ${exported} };\n` };
    },
  });
  const module = await import(url);
  hooks.deregister();
  return Object.fromEntries(names.map((name) => [name, module[alias(name)]]));
}

// Not those that lead to the command line, which would start itself.
function bundles() {
  const files = fs.readdirSync(folder).filter((file) => file.endsWith(".js")).sort();
  return files.filter((file) => !leadsTo("entry.js", file));
}

function leadsTo(target, file, seen = new Set()) {
  if (file === target) return true;
  if (seen.has(file)) return false;
  seen.add(file);
  const imports = source(file).matchAll(/^import .*?from "\.\/([^"]+)";$/gm);
  return [...imports].some(([, imported]) => leadsTo(target, imported, seen));
}

function defines(file, name) {
  return new RegExp(`^((async )?function ${name}\\(|var ${name} = class )`, "m").test(source(file));
}

const sources = new Map();

function source(file) {
  if (!sources.has(file)) sources.set(file, fs.readFileSync(path.join(folder, file), "utf8"));
  return sources.get(file);
}

export async function transcriptReader() {
  return await import(pathToFileURL(process.env.TRANSCRIPT_READER).href);
}
