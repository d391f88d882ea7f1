/**
 * The audit log: a line per event in a file that is rotated when it grows too large. Rotated files are named after
 * the time, `audit-2026-01-02T03-04-05.678.log`, and deleted when there are too many or they are too old. Upstream:
 * plugin/audit/log over lumberjack. Lines are written in order; events that arrive during a write share the next one.
 */
import { stringifyJson } from '../../api/codec/json.ts';
import { formatMicroTime } from '../../api/time.ts';
import type { Clock } from '../../platform/clock.ts';
import type { FileHandle, Files } from '../../platform/files.ts';
import type { AuditLogOptions } from '../options/audit-options.ts';
import { type AuditSink, legacyLine } from './event.ts';

export interface LogSinkDeps {
  readonly files: Files;
  readonly clock: Clock;
}

const MIB = 1024 * 1024;
/** Events may hold Secrets: only the owner may read the file, as upstream. */
const AUDIT_LOG_MODE = 0o600;
/** The most bytes of one write. */
const WRITE_BYTES = 4 * MIB;
const DAY_MS = 86_400_000;

/** Opens the file with the first event. */
export function createLogSink(deps: LogSinkDeps, options: AuditLogOptions): AuditSink {
  const file = new RotatingFile(deps, options);
  let waiting: Buffer[] = [];
  let writing: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> => {
    const lines = waiting;
    waiting = [];
    return file.append(lines);
  };
  return {
    encode: (event) => Buffer.from(`${options.format === 'json' ? stringifyJson(event) : legacyLine(event)}\n`),
    async send(events) {
      for (const event of events) waiting.push(event);
      // Events that arrive during a write share the next one.
      if (waiting.length === events.length) writing = writing.catch(() => undefined).then(flush);
      await writing;
    },
    async stop() {
      await writing.catch(() => undefined);
      await file.close();
    },
  };
}

class RotatingFile {
  readonly #deps: LogSinkDeps;
  readonly #options: AuditLogOptions;
  #handle: FileHandle | undefined;
  #size = 0;

  constructor(deps: LogSinkDeps, options: AuditLogOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Appends whole lines, as many at a time as fit into a file. */
  async append(lines: readonly Buffer[]): Promise<void> {
    const maxBytes = this.#options.maxSizeMib === 0 ? Infinity : this.#options.maxSizeMib * MIB;
    let pending: Buffer[] = [];
    let pendingBytes = 0;
    for (const bytes of lines) {
      await this.#open();
      const isFull = this.#size + pendingBytes + bytes.length > maxBytes && this.#size + pendingBytes > 0;
      if (isFull || pendingBytes >= WRITE_BYTES) {
        await this.#write(pending, pendingBytes);
        if (isFull) await this.#rotate();
        [pending, pendingBytes] = [[], 0];
      }
      pending.push(bytes);
      pendingBytes += bytes.length;
    }
    await this.#write(pending, pendingBytes);
  }

  async #open(): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle;
    const { path } = this.#options;
    const handle = await this.#deps.files.open(path === '-' ? '/dev/stdout' : path, 'a', {
      mode: AUDIT_LOG_MODE,
    });
    this.#size = path === '-' ? 0 : (await handle.stat()).sizeBytes;
    this.#handle = handle;
    return handle;
  }

  async #write(chunks: readonly Buffer[], length: number): Promise<void> {
    if (length === 0) return;
    const handle = await this.#open();
    await handle.append(Buffer.concat(chunks, length));
    this.#size += length;
  }

  async #rotate(): Promise<void> {
    const { path } = this.#options;
    if (path === '-') return;
    await this.close();
    const { files, clock } = this.#deps;
    await files.rename(path, this.#backupName(clock.nowMs()));
    await this.#prune();
    await this.#open();
  }

  #parts(): { readonly folder: string; readonly prefix: string; readonly extension: string } {
    const { path } = this.#options;
    const slash = path.lastIndexOf('/');
    const name = path.slice(slash + 1);
    const dot = name.lastIndexOf('.');
    const stem = dot < 0 ? name : name.slice(0, dot);
    return { folder: path.slice(0, slash) || '/', prefix: `${stem}-`, extension: dot < 0 ? '' : name.slice(dot) };
  }

  #backupName(nowMs: number): string {
    const { folder, prefix, extension } = this.#parts();
    return `${folder}/${prefix}${formatMicroTime(nowMs).slice(0, 23).replaceAll(':', '-')}${extension}`;
  }

  /** The names sort by time. */
  async #prune(): Promise<void> {
    const { maxBackups, maxAgeDays } = this.#options;
    const { files, clock } = this.#deps;
    const { folder, prefix, extension } = this.#parts();
    const oldest = this.#backupName(clock.nowMs() - maxAgeDays * DAY_MS).slice(folder.length + 1);
    const stamped = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;
    const backups = (await files.readDir(folder))
      .filter((name) => name.startsWith(prefix) && name.endsWith(extension))
      .filter((name) => stamped.test(name.slice(prefix.length, name.length - extension.length)))
      .toSorted()
      .toReversed();
    const gone = backups.filter(
      (name, index) => (maxBackups > 0 && index >= maxBackups) || (maxAgeDays > 0 && name < oldest),
    );
    for (const name of gone) await files.remove(`${folder}/${name}`);
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}
