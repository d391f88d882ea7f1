/**
 * Writes a store's changes into the segments of a log, and continues an existing log. The last segment grows up to a
 * size: each time, a longer segment is written under its new name before the shorter is removed. So every file is
 * complete at any time.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Files } from '../../../platform/files.ts';
import type { LogPart, StoreChangeLog } from '../../../storage/change-log.ts';
import { sealPart } from '../../../storage/sqlite/change-log/parts.ts';
import { StoreError } from '../../../storage/store.ts';
import { listLogFiles } from './log-folder.ts';
import { type LogSegment, readLogContent, segmentName } from './log-names.ts';

/** Segments of at least this size are not extended. */
const SEGMENT_BYTES = 256 * 1024;
/** The size of changes read at once, during which the store is blocked. */
const PART_BYTES = 512 * 1024;

export interface LogWriterDeps {
  readonly files: Files;
  readonly clock: Pick<Clock, 'holdBusy'>;
  readonly changeLog: StoreChangeLog;
}

export class LogWriter {
  readonly #deps: LogWriterDeps;
  readonly #dir: string;
  readonly #identity: string;
  #end = 0;
  #tail: LogSegment | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(deps: LogWriterDeps, dir: string, identity: string) {
    this.#deps = deps;
    this.#dir = dir;
    this.#identity = identity;
  }

  /** The last revision in the log; there may be gaps before it. */
  get end(): number {
    return this.#end;
  }

  /**
   * Finds the end of the log: its last segment, or its last snapshot when no segment was written. Changes that were
   * compacted since then leave a gap.
   */
  async open({
    revision,
    readableAfter,
  }: {
    readonly revision: number;
    readonly readableAfter: number;
  }): Promise<void> {
    await this.#deps.files.makeDir(this.#dir, { mode: 0o700 });
    const { segments, bases } = readLogContent(await listLogFiles(this.#deps.files, this.#dir));
    this.#tail = segments.at(-1);
    this.#end = this.#tail?.to ?? bases.at(-1)?.revision ?? revision;
    if (this.#end < readableAfter) this.#leaveGap(readableAfter);
  }

  /** Writes the changes that the log lacks. Concurrent calls share one write. */
  write(): Promise<void> {
    const writing = this.#running.then(() => this.#write());
    this.#running = writing.catch(() => undefined); // every caller gets the errors of its own call
    return writing;
  }

  /** Removes files while no write is in progress. */
  remove(names: readonly string[]): Promise<void> {
    const removing = this.#running.then(async () => {
      for (const name of names) {
        if (name === this.#tail?.name) this.#tail = undefined;
        await this.#deps.files.remove(`${this.#dir}/${name}`);
      }
    });
    this.#running = removing.catch(() => undefined);
    return removing;
  }

  async #write(): Promise<void> {
    const { changeLog } = this.#deps;
    for (;;) {
      const part = await changeLog.read(this.#end, PART_BYTES).catch(async (error: unknown) => {
        if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
        this.#leaveGap((await changeLog.begin(this.#identity)).readableAfter);
        return changeLog.read(this.#end, PART_BYTES);
      });
      if (part === undefined) return;
      await this.#append(part);
      if (part.bytes.byteLength < PART_BYTES) return;
    }
  }

  async #append(part: LogPart): Promise<void> {
    const { files, clock } = this.#deps;
    const tail = this.#tail !== undefined && this.#tail.sizeBytes < SEGMENT_BYTES ? this.#tail : undefined;
    const release = clock.holdBusy('change log');
    const sealed = await sealPart(part.bytes).finally(release);
    const bytes =
      tail === undefined ? sealed : Buffer.concat([await files.readFile(`${this.#dir}/${tail.name}`), sealed]);
    const segment = { ...part, after: tail?.after ?? part.after, firstMs: tail?.firstMs ?? part.firstMs };
    const name = segmentName(segment);
    await files.writeFileAtomic(`${this.#dir}/${name}`, bytes, { mode: 0o600 });
    const { after, to, firstMs, lastMs } = segment;
    this.#tail = { name, sizeBytes: bytes.byteLength, after, to, firstMs, lastMs };
    this.#end = to;
    if (tail !== undefined) await files.remove(`${this.#dir}/${tail.name}`);
  }

  #leaveGap(end: number): void {
    this.#end = end;
    this.#tail = undefined;
  }
}
