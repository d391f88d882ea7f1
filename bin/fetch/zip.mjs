// Reads single files out of zip archives (stored or deflated, no encryption, no zip64).
import { inflateRawSync } from 'node:zlib';

const endOfDirectory = 0x06054b50;
const directoryEntry = 0x02014b50;

/**
 * The content of one member of an archive.
 * @param {Buffer} archive
 * @param {string} name
 * @throws Error when there is no such member, or the archive is of another kind
 */
export function zipMember(archive, name) {
  let end = archive.length - 22;
  while (end >= 0 && archive.readUInt32LE(end) !== endOfDirectory) end--;
  if (end < 0) throw new Error('not a zip archive');
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    if (archive.readUInt32LE(at) !== directoryEntry) throw new Error('the zip archive is damaged');
    const nameBytes = archive.readUInt16LE(at + 28);
    if (archive.toString('utf8', at + 46, at + 46 + nameBytes) === name) return content(archive, at);
    at += 46 + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  throw new Error(`the zip archive holds no ${name}`);
}

function content(archive, entry) {
  const method = archive.readUInt16LE(entry + 10);
  const local = archive.readUInt32LE(entry + 42);
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const bytes = archive.subarray(start, start + archive.readUInt32LE(entry + 20));
  if (method === 0) return bytes;
  if (method === 8) return inflateRawSync(bytes);
  throw new Error(`zip compression method ${method} is not supported`);
}
