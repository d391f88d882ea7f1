// What V8 compiled of the bundle's scripts in earlier runs of a program. Node.js's own cache keeps what compiling a module
// yields; this one is made when the scripts have run, and so holds each function that was called.
//
// A process writes the file when it ends, or earlier when it lasts. The first one may have done little, so the code of a
// script is made anew RENEWALS times, on top of what was kept. The file stands in the checkout or in the user's own cache,
// never where others may write. V8 refuses code of another version of it and of other flags.
'use strict';

const { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } = require('fs');
const { randomUUID } = require('crypto');
const { homedir } = require('os');
const { dirname, isAbsolute, join } = require('path');
const { setImmediate, setTimeout } = require('timers');
const { crc32 } = require('zlib');

const { codeFileContent, openCodeFile } = require('./code-file.cjs');

/** Taken at the start: a simulation forbids the global one, and a process may end in one. */
const { now } = Date;
const RENEWALS = 3;
const KEPT_MS = 30 * 24 * 3600 * 1000;
/** Files of a folder: each version, program and set of flags of V8 has one. */
const MOST_FILES = 24;
/** A process that ends with a higher one has crashed and is not held up. */
const LAST_EXIT_CODE = 2;

const root = join(__dirname, '..');

class CodeCache {
  #paths;
  #file;
  /** Scripts of this process, { source, script, kept } by name; `kept` is the entry of the file whose code was taken. */
  #ran = new Map();
  #isOver = false;

  constructor(paths) {
    this.#paths = paths;
    for (const path of paths) this.#file ??= openCodeFile(path);
  }

  /** The code of the script `name`, whose text has the check sum `source`. */
  codeOf(name, source) {
    const entry = this.#isOver ? undefined : this.#file?.scripts[name];
    return entry?.source === source ? this.#file.read(entry) : undefined;
  }

  /** Remembers a script that runs in this process; `accepted`: with the code of the file. */
  add(name, { source, script, accepted }) {
    if (!this.#isOver) this.#ran.set(name, { source, script, kept: accepted ? this.#file.scripts[name] : undefined });
  }

  /** Writes the file, if there is something new, in turns of the loop: the code of one script takes up to 10 ms to make. */
  saveInTurns() {
    const codes = this.#codes();
    const next = () => {
      if (this.#isOver) return;
      if (codes.next().done) this.#end();
      else setImmediate(next).unref();
    };
    next();
  }

  /** Writes it at once, if it is not written yet. */
  save() {
    if (this.#isOver) return;
    for (const _ of this.#codes());
    this.#end();
  }

  /** Makes code and writes the file; yields after each script. */
  *#codes() {
    const scripts = new Map();
    for (const [name, ran] of this.#ran) {
      if (ran.kept?.renewals >= RENEWALS) continue;
      scripts.set(name, this.#renewed(ran));
      yield;
    }
    if (scripts.size === 0) return;
    for (const [name, entry] of Object.entries(this.#file?.scripts ?? {})) {
      const code = scripts.has(name) || !existsSync(join(root, 'dist', name)) ? undefined : this.#file.read(entry);
      if (code !== undefined) scripts.set(name, { ...entry, code });
    }
    write(this.#paths, codeFileContent(scripts));
  }

  /** V8 drops code that was not run for long: what was kept may be more. */
  #renewed({ source, script, kept }) {
    const made = script.createCachedData();
    const code = kept?.length > made.length ? (this.#file.read(kept) ?? made) : made;
    return { source, code, renewals: (kept?.renewals ?? 0) + 1 };
  }

  #end() {
    this.#isOver = true;
    this.#ran.clear();
    this.#file?.close();
    this.#file = undefined;
  }
}

/** Into the first folder that takes it. Where none does, the next start compiles again. */
function write(paths, content) {
  for (const path of paths) {
    const draft = `${path}.${randomUUID()}`;
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(draft, content, { flag: 'wx', mode: 0o600 });
      renameSync(draft, path);
    } catch {
      remove(draft); // A full disk gets back what was written.
      continue;
    }
    removeOld(dirname(path));
    return;
  }
}

function remove(path) {
  try {
    rmSync(path, { force: true });
  } catch {
    // It is somebody else's, or the disk is read-only now: nothing more can be done about a cache.
  }
}

/**
 * Files of checkouts and packages that are gone, what a process that was killed left, and the oldest beyond a number. One that
 * is in use is made again.
 */
function removeOld(folder) {
  const files = codeFiles(folder).sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const [index, { path, mtimeMs }] of files.entries())
    if (index >= MOST_FILES || mtimeMs < now() - KEPT_MS) remove(path);
}

function codeFiles(folder) {
  try {
    return readdirSync(folder)
      .filter((name) => name.includes('.code'))
      .flatMap((name) => {
        const path = join(folder, name);
        // Another process may have removed it.
        const stats = statSync(path, { throwIfNoEntry: false });
        return stats === undefined ? [] : [{ path, mtimeMs: stats.mtimeMs }];
      });
  } catch {
    return []; // A folder that cannot be read ends no server.
  }
}

/** The user's own cache; none where the user has no home, or acts in another's (`sudo -E`). */
function userFolders() {
  try {
    const home = homedir();
    if (!isAbsolute(home)) return [];
    const { uid } = statSync(home);
    if (uid !== (process.geteuid?.() ?? uid)) return [];
    return [join(home, '.cache', 'keelson', 'compile')];
  } catch {
    return [];
  }
}

/**
 * The cache of a program, which writes its file after `lastsMs` or at its end. None where coverage is measured: of kept code
 * it is less precise.
 */
function openCodeCache(program, lastsMs) {
  if (process.env.NODE_V8_COVERAGE !== undefined) return undefined;
  // Code for other flags of V8 is refused by V8, and made anew.
  const kind = crc32(JSON.stringify([root, process.version, process.arch, process.geteuid?.()]));
  const folders = userFolders();
  if (existsSync(join(root, 'src'))) folders.unshift(join(root, '.cache', 'compile'));
  const cache = new CodeCache(folders.map((folder) => join(folder, `${program}-${kind.toString(36)}.code`)));
  setTimeout(() => cache.saveInTurns(), lastsMs).unref();
  process.once('exit', (code) => {
    if (code <= LAST_EXIT_CODE) cache.save();
  });
  return cache;
}

module.exports = { openCodeCache };
