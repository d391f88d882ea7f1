// The fingerprint of a checkout's sources: paths, sizes and modification times of everything a build reads. Cheap
// enough (a stat per file, no contents) to be taken at every start, to know whether the bundle is of these sources.
'use strict';

const { lstatSync, readdirSync } = require('fs');

/** The fingerprint of the files below `folder` that are no tests, as text; '' when there is no such folder. */
function sourceFingerprint(folder) {
  const total = { files: 0, low: 0, high: 0 };
  try {
    addFolder(total, folder, '');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
  return `${total.files} ${total.low.toString(16)} ${total.high.toString(16)}`;
}

function addFolder(total, folder, relative) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const { name } = entry;
    if (entry.isDirectory()) addFolder(total, `${folder}/${name}`, `${relative}/${name}`);
    else if (!name.endsWith('.test.ts')) {
      const { size, mtimeMs } = lstatSync(`${folder}/${name}`);
      addFile(total, `${relative}/${name} ${size} ${mtimeMs}`);
    }
  }
}

// FNV-1a from two starts, added up so that the order of the files does not matter: sorting would cost as much as the
// stats, and loading node:crypto more.
function addFile(total, text) {
  let low = 0x811c9dc5;
  let high = 0x2f3a6c15;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x01000193);
  }
  total.files += 1;
  total.low = (total.low + (low >>> 0)) >>> 0;
  total.high = (total.high + (high >>> 0)) >>> 0;
}

module.exports = { sourceFingerprint };
