// A file of V8's code of scripts: a line with the length of the index, the index as JSON, then the code of each script.
'use strict';

const { closeSync, constants, fstatSync, openSync, readSync } = require('fs');
const { crc32 } = require('zlib');

const { O_NONBLOCK = 0, O_RDONLY } = constants;
const HEAD = /^keelson code 1 (\d{8})\n$/;
const HEAD_BYTES = 24;

/**
 * Opens the file, if there is one that only this user can have written: V8 runs what it holds.
 * `scripts`, by name, are { source, sum, at, length, renewals }: check sums of a script's text and of its code, and where
 * the code is.
 */
function openCodeFile(path) {
  let fd;
  try {
    fd = openSync(path, O_RDONLY | O_NONBLOCK);
    const stats = fstatSync(fd);
    const index = stats.isFile() && isOwn(stats) ? readIndex(fd) : undefined;
    if (index !== undefined) return codeFile(fd, index);
  } catch {
    // Where nothing can be read everything is compiled.
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

function isOwn({ uid, mode }) {
  return process.geteuid === undefined || (uid === process.geteuid() && (mode & 0o022) === 0);
}

function codeFile(fd, { scripts, end }) {
  return {
    scripts,
    /** The code of a script; undefined where the file is damaged. */
    read({ at, length, sum }) {
      try {
        const code = readAt(fd, end + at, length);
        return code !== undefined && crc32(code) === sum ? code : undefined;
      } catch {
        return undefined;
      }
    },
    close: () => closeSync(fd),
  };
}

function readIndex(fd) {
  const [, bytes] = HEAD.exec(readAt(fd, 0, HEAD_BYTES)?.latin1Slice() ?? '') ?? [];
  if (bytes === undefined) return undefined;
  try {
    const text = readAt(fd, HEAD_BYTES, Number(bytes))?.latin1Slice() ?? '';
    return { scripts: JSON.parse(text), end: HEAD_BYTES + Number(bytes) };
  } catch {
    return undefined; // The file was cut off.
  }
}

function readAt(fd, at, length) {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let done = 0; done < length;) {
    const read = readSync(fd, bytes, done, length - done, at + done);
    if (read === 0) return undefined;
    done += read;
  }
  return bytes;
}

/** The content of a file of these scripts, { source, code, renewals } by name. */
function codeFileContent(scripts) {
  const index = {};
  const codes = [];
  let at = 0;
  for (const [name, { source, code, renewals }] of scripts) {
    index[name] = { source, sum: crc32(code), at, length: code.length, renewals };
    codes.push(code);
    at += code.length;
  }
  const text = JSON.stringify(index);
  return Buffer.concat([Buffer.from(`keelson code 1 ${String(text.length).padStart(8, '0')}\n${text}`), ...codes]);
}

module.exports = { openCodeFile, codeFileContent };
