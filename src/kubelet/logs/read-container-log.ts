/**
 * Reads a container's log for `kubectl logs`: tail, since, limit, timestamps, one stream or both, and follow.
 * Upstream: cri-client/pkg/logs (ReadLogs).
 *
 * Without follow, the log is read up to its size when it was opened, so `--tail=2` is two lines however fast the
 * container writes. Follow survives rotation: when another file appears at the path, the rest of the old one is read
 * first.
 */
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';
import type { ByteSink } from '../../platform/streams.ts';
import type { FileHandle, Files } from '../../platform/files.ts';
import { parseTime } from '../../api/time.ts';
import { parseLogLine, type LogEntry } from './cri-log.ts';
import { tailOffset } from './log-tail.ts';

/** The lines to read. Limits count content only, without the CRI log's own fields. */
export interface ReadLogOptions {
  readonly follow?: boolean;
  /** Only the last lines; undefined: all. */
  readonly tailLines?: number;
  /** Most bytes of the log. */
  readonly limitBytes?: number;
  /** Only entries at or after this wall-clock time. */
  readonly sinceMs?: number;
  /** Writes the timestamp before each line. */
  readonly timestamps?: boolean;
  /** Default All. */
  readonly stream?: 'All' | 'Stdout' | 'Stderr';
}

export interface ReadLogDeps {
  readonly files: Files;
  readonly clock: Clock;
  /** Whether the container still runs; called only while following. */
  isRunning(): Promise<boolean>;
}

const NEWLINE = 0x0a;
const BLOCK_BYTES = 64 * 1024;
/** A longer line cannot come from the runtime and is dropped, so that memory is bounded. */
const MAX_LINE_BYTES = 1024 * 1024;
/** Period in which followed files are read without a notification. */
const POLL_MS = 1000;

/** Writes entries for the client, within the byte limit, and tracks partial lines. */
class EntryWriter {
  readonly #sink: ByteSink;
  readonly #options: ReadLogOptions;
  #remaining: number;
  #midLine = false;
  #batch: Uint8Array[] = [];

  constructor(sink: ByteSink, options: ReadLogOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#remaining = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  get full(): boolean {
    return this.#remaining <= 0;
  }

  add(entry: LogEntry): void {
    const { stream = 'All', sinceMs, timestamps } = this.#options;
    if (stream !== 'All' && entry.stream !== stream.toLowerCase()) return;
    if (sinceMs !== undefined && parseTime(entry.timestamp) < sinceMs) return;
    if (timestamps && !this.#midLine) this.#put(Buffer.from(`${entry.timestamp} `));
    this.#put(entry.content);
    if (!entry.partial) this.#put(Buffer.from('\n'));
    this.#midLine = entry.partial;
  }

  async flush(): Promise<void> {
    if (this.#batch.length === 0) return;
    const chunk = this.#batch.length === 1 ? this.#batch[0]! : Buffer.concat(this.#batch);
    this.#batch = [];
    await this.#sink.write(chunk);
  }

  #put(bytes: Uint8Array): void {
    if (this.full || bytes.length === 0) return;
    const piece = bytes.length <= this.#remaining ? bytes : bytes.subarray(0, this.#remaining);
    this.#remaining -= piece.length;
    this.#batch.push(piece);
  }
}

/** Reads whole lines from an offset on, and keeps the start of an unfinished line. */
class LineReader {
  readonly handle: FileHandle;
  readonly #end: number;
  #offset: number;
  #rest: Uint8Array = new Uint8Array();
  #skipping = false;

  /** `end`: bytes that are written during the read are left out. */
  constructor(handle: FileHandle, offset: number, end = Number.POSITIVE_INFINITY) {
    this.handle = handle;
    this.#offset = offset;
    this.#end = end;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The next lines; undefined at the current end. */
  async next(): Promise<Uint8Array[] | undefined> {
    const block = await this.handle.read(this.#offset, Math.min(BLOCK_BYTES, this.#end - this.#offset));
    if (block.length === 0) return undefined;
    this.#offset += block.length;
    const bytes = this.#rest.length === 0 ? block : Buffer.concat([this.#rest, block]);
    const lines: Uint8Array[] = [];
    let at = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, at)) {
      if (!this.#skipping) lines.push(bytes.subarray(at, end));
      this.#skipping = false;
      at = end + 1;
    }
    this.#rest = bytes.subarray(at);
    if (this.#rest.length > MAX_LINE_BYTES) {
      this.#rest = new Uint8Array();
      this.#skipping = true;
    }
    return lines;
  }

  /** The text after the last newline: the last line of a truncated log. */
  takeRest(): Uint8Array | undefined {
    const rest = this.#rest;
    this.#rest = new Uint8Array();
    return rest.length === 0 ? undefined : rest;
  }
}

function addLines(lines: readonly Uint8Array[], writer: EntryWriter): void {
  for (const line of lines) {
    const entry = parseLogLine(line);
    if (entry !== undefined) writer.add(entry);
  }
}

/** Writes everything up to the current end. */
async function drain(reader: LineReader, writer: EntryWriter): Promise<void> {
  for (let lines = await reader.next(); lines !== undefined && !writer.full; lines = await reader.next()) {
    addLines(lines, writer);
    await writer.flush();
  }
}

/** Whether the path now has another file than the open one, or the open one was truncated. */
async function wasReplaced(files: Files, path: string, reader: LineReader): Promise<boolean> {
  const [opened, now] = await Promise.all([reader.handle.stat(), files.stat(path).catch(() => undefined)]);
  if (now === undefined) return false;
  return now.ino !== opened.ino || now.dev !== opened.dev || now.sizeBytes < reader.offset;
}

/** Resolves when the file changes, after a period, or when aborted. */
async function untilChange(input: { files: Files; clock: Clock; path: string; signal: AbortSignal }): Promise<void> {
  const wake = new AbortController();
  const directory = input.path.slice(0, input.path.lastIndexOf('/'));
  const watch = input.files.watch(
    directory,
    () => wake.abort(),
    () => undefined,
  );
  await sleepUnlessAborted(input.clock, POLL_MS, AbortSignal.any([wake.signal, input.signal]));
  watch.stop();
}

async function follow(input: {
  reader: LineReader;
  writer: EntryWriter;
  path: string;
  deps: ReadLogDeps;
  signal: AbortSignal;
}): Promise<LineReader> {
  const { writer, path, deps, signal } = input;
  let { reader } = input;
  while (!signal.aborted && !writer.full) {
    const running = await deps.isRunning();
    await drain(reader, writer);
    if (await wasReplaced(deps.files, path, reader)) {
      const next = new LineReader(await deps.files.open(path, 'r'), 0);
      // Lines written between the last read and the rotation.
      await drain(reader, writer);
      await reader.handle.close();
      reader = next;
      continue;
    }
    if (!running || writer.full) break;
    await untilChange({ files: deps.files, clock: deps.clock, path, signal });
  }
  return reader;
}

/**
 * Writes the log at `path` to the sink, and ends when it is over: at the end of the file, or with `follow` when the
 * container has ended, the limit is reached or the signal aborts. Rejects when the file cannot be read or the sink fails.
 */
export async function readContainerLog(
  input: { path: string; sink: ByteSink; signal: AbortSignal },
  options: ReadLogOptions,
  deps: ReadLogDeps,
): Promise<void> {
  const { path, sink, signal } = input;
  const handle = await deps.files.open(path, 'r');
  const writer = new EntryWriter(sink, options);
  let reader = new LineReader(handle, 0);
  try {
    const { sizeBytes } = await handle.stat();
    const { tailLines } = options;
    const start = tailLines === undefined ? 0 : await tailOffset(handle, sizeBytes, tailLines);
    reader = new LineReader(handle, start, options.follow ? undefined : sizeBytes);
    await drain(reader, writer);
    if (options.follow) reader = await follow({ reader, writer, path, deps, signal });
    const rest = reader.takeRest();
    if (rest !== undefined && !writer.full) addLines([rest], writer);
    await writer.flush();
  } finally {
    await reader.handle.close();
  }
}
