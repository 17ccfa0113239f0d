// Functions of the reference by the names they have in its source. Its bundles export some under names that
// change with every release, and some not at all, so each bundle that defines one gets an export more while
// it is loaded. What is installed stays as it is.

import fs from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

// Some bundles act on the command line when they are loaded.
process.argv.length = 1;

const folder = path.join(process.env.REFERENCE, "dist");

/** One bundle that defines all of these functions, and an object with them. */
export async function borrow(...names) {
  const bundle = bundles().find((file) => names.every((name) => defines(file, name)));
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

// The copy for programs that embed the reference comes first: it starts nothing by itself.
function bundles() {
  const files = fs.readdirSync(folder).filter((file) => file.endsWith(".js"));
  const rank = (file) => (file === "extensionAPI.js" ? 0 : 1);
  return files.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

const sources = new Map();

function defines(file, name) {
  if (!sources.has(file)) sources.set(file, fs.readFileSync(path.join(folder, file), "utf8"));
  return new RegExp(`^(async )?function ${name}\\(`, "m").test(sources.get(file));
}

export async function transcriptReader() {
  return await import(pathToFileURL(process.env.TRANSCRIPT_READER).href);
}
