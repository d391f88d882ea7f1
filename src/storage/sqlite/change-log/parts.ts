/**
 * The form of the change log in files: parts, each a gzip member of its own, so that parts are joined by writing one after
 * the other. A member's checksum shows whether it is whole. Pure.
 *
 * A part is `KLOG1`, the length of its head, the head as JSON, and its commits: time, number of changes, and per change the
 * revision, revision of creation, previous revision, time of expiry (-1: never), lengths of key and value (-1: a deletion)
 * and both.
 */
import { gunzip, gzip } from 'node:zlib';
import { promisify } from 'node:util';
import { errorMessage } from '../../../base/errors.ts';
import { StoreError } from '../../store.ts';

const MAGIC = Buffer.from('KLOG1');
const COMMIT_HEAD_BYTES = 12;
const CHANGE_HEAD_BYTES = 40;
/** A part is read whole into memory: one commit at most beyond what is asked for. */
const MAX_PART_BYTES = 1024 * 1024 * 1024;

/** One row of the store's table. */
export interface LoggedChange {
  readonly revision: number;
  readonly created: number;
  readonly previous: number;
  /** -1: never. */
  readonly expiresMs: number;
  readonly key: string;
  /** Absent: a deletion. */
  readonly value: Uint8Array | undefined;
}

/** The changes of one transaction. */
export interface LoggedCommit {
  readonly timeMs: number;
  readonly changes: readonly LoggedChange[];
}

/** A part without its commits. */
export interface PartHead {
  readonly identity: string;
  readonly after: number;
  readonly to: number;
}

export interface ReadPart extends PartHead {
  readonly commits: readonly LoggedCommit[];
}

export function encodeCommit({ timeMs, changes }: LoggedCommit): Buffer {
  const head = Buffer.alloc(COMMIT_HEAD_BYTES);
  head.writeDoubleBE(timeMs, 0);
  head.writeUInt32BE(changes.length, 8);
  return Buffer.concat([head, ...changes.flatMap(encodeChange)]);
}

export function encodePart(head: PartHead, commits: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.byteLength, 0);
  return new Uint8Array(Buffer.concat([MAGIC, length, text, ...commits]));
}

/** Compresses a part for its file. */
export function sealPart(bytes: Uint8Array): Promise<Uint8Array> {
  return promisify(gzip)(bytes);
}

/** The parts of a file. Rejects with `StoreError` corrupt. */
export async function readParts(file: Uint8Array, name: string): Promise<readonly ReadPart[]> {
  try {
    const bytes = await promisify(gunzip)(file, { maxOutputLength: MAX_PART_BYTES });
    return [...decodeParts(bytes)];
  } catch (error) {
    throw new StoreError('corrupt', `the change log ${name} is damaged: ${errorMessage(error)}`, { cause: error });
  }
}

function encodeChange({
  revision,
  created,
  previous,
  expiresMs,
  key,
  value,
}: LoggedChange): [Buffer, Buffer, Uint8Array] {
  const head = Buffer.alloc(CHANGE_HEAD_BYTES);
  const name = Buffer.from(key);
  for (const [at, number] of [revision, created, previous, expiresMs].entries()) head.writeDoubleBE(number, at * 8);
  head.writeInt32BE(name.byteLength, 32);
  head.writeInt32BE(value?.byteLength ?? -1, 36);
  return [head, name, value ?? new Uint8Array()];
}

function* decodeParts(bytes: Buffer): Generator<ReadPart> {
  let at = 0;
  while (at < bytes.byteLength) {
    if (!bytes.subarray(at, at + MAGIC.byteLength).equals(MAGIC)) throw new Error(`no part begins at byte ${at}`);
    at += MAGIC.byteLength;
    const length = bytes.readUInt32BE(at);
    const head = JSON.parse(bytes.toString('utf8', at + 4, at + 4 + length)) as PartHead;
    at += 4 + length;
    const commits: LoggedCommit[] = [];
    for (let last = head.after; last < head.to; last = commits.at(-1)!.changes.at(-1)!.revision) {
      const { commit, end } = decodeCommit(bytes, at);
      commits.push(commit);
      at = end;
    }
    yield { ...head, commits };
  }
}

function decodeCommit(bytes: Buffer, start: number): { commit: LoggedCommit; end: number } {
  const count = bytes.readUInt32BE(start + 8);
  if (count === 0) throw new Error(`the commit at byte ${start} has no changes`);
  const changes: LoggedChange[] = [];
  let at = start + COMMIT_HEAD_BYTES;
  for (let index = 0; index < count; index++) {
    const keyLength = bytes.readInt32BE(at + 32);
    // It would lead back, to the same change for ever.
    if (keyLength < 0) throw new Error(`the change at byte ${at} has no key`);
    const keyEnd = at + CHANGE_HEAD_BYTES + keyLength;
    const valueLength = bytes.readInt32BE(at + 36);
    const end = keyEnd + Math.max(0, valueLength);
    if (end > bytes.byteLength) throw new Error(`the change at byte ${at} ends beyond the part`);
    changes.push({
      revision: bytes.readDoubleBE(at),
      created: bytes.readDoubleBE(at + 8),
      previous: bytes.readDoubleBE(at + 16),
      expiresMs: bytes.readDoubleBE(at + 24),
      key: bytes.toString('utf8', at + CHANGE_HEAD_BYTES, keyEnd),
      value: valueLength < 0 ? undefined : bytes.subarray(keyEnd, end),
    });
    at = end;
  }
  return { commit: { timeMs: bytes.readDoubleBE(start), changes }, end: at };
}
