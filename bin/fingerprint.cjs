// The fingerprint of a checkout's sources: paths, sizes and modification times of everything a build reads. Cheap
// enough (a stat per file, no contents) to be taken at every start, to know whether the bundle is of these sources.
'use strict';

const { lstatSync, readdirSync } = require('fs');

/** The fingerprint of the files below `folder` that are no tests, as text; '' when there is no such folder. */
function sourceFingerprint(folder) {
  const total = { files: 0, low: 0, high: 0 };
  try {
    addFolder(total, folder, hashed('', 0));
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
  return `${total.files} ${total.low.toString(16)} ${total.high.toString(16)}`;
}

/** `start`: the hash of the folder's own path. */
function addFolder(total, folder, start) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const { name } = entry;
    if (entry.isDirectory()) addFolder(total, `${folder}/${name}`, hashed(name, start));
    else if (!name.endsWith('.test.ts')) {
      const { size, mtimeMs } = lstatSync(`${folder}/${name}`);
      addFile(total, hashed(name, start), size, mtimeMs);
    }
  }
}

// FNV-1a. A name is read once: of what this takes at a start, a loop over characters that is not compiled yet is most.
function hashed(name, start) {
  let hash = start ^ 0x811c9dc5;
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  return Math.imul(hash ^ 0x2f, 0x01000193);
}

// Added up so that the order of the files does not matter: sorting would cost as much as the stats, and loading
// node:crypto more. Of a time, microseconds count.
function addFile(total, path, size, mtimeMs) {
  const seconds = Math.floor(mtimeMs / 1000);
  const mixed = mix(mix(mix(path, size), seconds), Math.round((mtimeMs - seconds * 1000) * 1000));
  total.files += 1;
  total.low = (total.low + mixed) >>> 0;
  total.high = (total.high + mix(mixed ^ path, 0x2f3a6c15)) >>> 0;
}

// The finalizer of MurmurHash3: each bit of both numbers changes about half of the bits.
function mix(hash, number) {
  let mixed = Math.imul(hash ^ number, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

module.exports = { sourceFingerprint };
