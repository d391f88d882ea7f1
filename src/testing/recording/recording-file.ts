/**
 * The file of a recording. It is written at most once a second, never twice at once, and at the end; the text is built when a
 * write begins, so that a request only marks the recording as changed.
 */
import type { Platform } from '../../platform/platform.ts';

const WRITE_PERIOD_MS = 1000;

export interface RecordingFileDeps extends Pick<Platform, 'clock' | 'files' | 'log'> {
  /** An absolute path. */
  readonly path: string;
  readonly text: () => string;
}

export class RecordingFile {
  readonly #deps: RecordingFileDeps;
  #isChanged = false;
  #isFailing = false;
  #isClosed = false;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;

  constructor(deps: RecordingFileDeps) {
    this.#deps = deps;
  }

  /** Records that the text differs from the file's. */
  markChanged(): void {
    this.#isChanged = true;
    this.#schedule();
  }

  /** Resolves when the last change is on disk, or could not be written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    await this.#writing;
    if (this.#isChanged) await this.#write();
  }

  #schedule(): void {
    if (this.#isClosed || this.#cancelTimer !== undefined || this.#writing !== undefined) return;
    this.#cancelTimer = this.#deps.clock.setTimer(WRITE_PERIOD_MS, () => {
      this.#cancelTimer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        if (this.#isChanged) this.#schedule();
      });
    });
  }

  /** A failed write is repeated a second later, and logged once. */
  async #write(): Promise<void> {
    const { files, log, path, text } = this.#deps;
    this.#isChanged = false;
    try {
      await files.writeFileAtomic(path, text(), { mode: 0o600 });
      this.#isFailing = false;
    } catch (error) {
      this.#isChanged = true;
      if (!this.#isFailing) log.error('The recording could not be written', { file: path, err: error });
      this.#isFailing = true;
    }
  }
}
