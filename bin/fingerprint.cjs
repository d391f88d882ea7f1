// The fingerprint of a checkout's sources: paths, sizes and modification times of everything a build reads. Cheap
// enough (a stat per file, no contents) to be taken at every start, to know whether the bundle is of these sources.
'use strict';

const { readdirSync, statSync } = require('fs');
const { join } = require('path');

/** The fingerprint of the files below `folder` that are no tests, as text; '' when there is no such folder. */
function sourceFingerprint(folder) {
  let entries;
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
  const lines = [];
  for (const entry of entries) {
    if (!entry.isFile() || entry.name.endsWith('.test.ts')) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const { size, mtimeMs } = statSync(path);
    lines.push(`${path.slice(folder.length)} ${size} ${mtimeMs}`);
  }
  return `${lines.length} ${hash(lines.sort().join('\n'))}`;
}

// Two rounds of FNV-1a, 32 bits each: loading node:crypto would cost more than the whole fingerprint.
function hash(text) {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code ^ index, 0x01000193);
  }
  return `${(low >>> 0).toString(16)}${(high >>> 0).toString(16)}`;
}

module.exports = { sourceFingerprint };
