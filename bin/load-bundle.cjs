// Loads the bundle: scripts in dist/ (tools/chunk-script.ts makes them), with the code that V8 compiled of them in earlier runs.
'use strict';

const { readFileSync } = require('fs');
const { join } = require('path');
const { pathToFileURL } = require('url');
const { Script } = require('vm');
const { crc32 } = require('zlib');

const { openCodeCache } = require('./code-cache.cjs');

const LASTS_MS = 10_000;

const dist = join(__dirname, '..', 'dist');
const distUrl = pathToFileURL(dist).href;

/** What the scripts of this process export, by name. */
const loaded = new Map();
/** Those that are being run. */
const running = new Set();
let cache;

/** Keeps compiled code for the next process that runs this program, once this one has lasted so long or ends. */
function keepCodeOf(program, lastsMs = LASTS_MS) {
  cache ??= openCodeCache(program, lastsMs);
}

/** Runs a script of the bundle and all that it needs, each once. Returns its exports. */
function load(name) {
  let exports = loaded.get(name);
  if (exports === undefined) {
    if (running.has(name)) throw new Error(`${name} needs itself while it is loaded`);
    running.add(name);
    exports = run(name);
    running.delete(name);
    loaded.set(name, exports);
  }
  return exports;
}

function run(name) {
  const path = join(dist, name);
  const url = `${distUrl}/${name}`;
  const text = readFileSync(path);
  const source = crc32(text);
  const cachedData = cache?.codeOf(name, source);
  // The text is ASCII.
  const script = new Script(text.latin1Slice(), { filename: url, cachedData });
  cache?.add(name, { source, script, accepted: cachedData !== undefined && !script.cachedDataRejected });
  return script.runInThisContext()(requireFrom, importChunk, { url, filename: path, dirname: dist });
}

function requireFrom(name) {
  return name.startsWith('./') ? load(name.slice(2)) : require(name);
}

/** Later than what runs now, as `import()` of modules: a script that is being run is never run again for it. */
async function importChunk(name) {
  await undefined;
  return requireFrom(name);
}

module.exports = { keepCodeOf, load };
