/**
 * A program of Keelson's own in a session of its own: it outlives Keelson, a start adopts one that runs with the same
 * configuration and replaces any other. Which process it is, a file in the run directory records.
 */
import type { Platform } from '../../platform/platform.ts';
import { ownProcess, recordedProcess, stillRuns, type RecordedProcess } from '../../platform/process-identity.ts';

interface DaemonRecord extends RecordedProcess {
  readonly configHash: string;
}

export interface OwnDaemonConfig {
  readonly recordFile: string;
  readonly logFile: string;
  /** Arguments by which its command line is known. */
  readonly marks: readonly string[];
  /** How long it may take to end by itself. */
  readonly graceMs: number;
}

/** What it runs, and the text whose change replaces it. */
export interface DaemonCommand {
  readonly command: readonly string[];
  readonly configuration: readonly unknown[];
  /** Added to its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

const END_PERIOD_MS = 20;

export class OwnDaemon {
  readonly #platform: Platform;
  readonly #config: OwnDaemonConfig;
  #current: RecordedProcess = { pid: 0 };

  constructor(platform: Platform, config: OwnDaemonConfig) {
    this.#platform = platform;
    this.#config = config;
  }

  /** Whether its process is there, asked of the kernel alone. */
  isRunning(): boolean {
    return this.#current.pid > 0 && this.#platform.exec.kill(this.#current.pid, 0);
  }

  /** Whether its process is there and no other has its id. */
  stillRuns(): Promise<boolean> {
    return stillRuns(this.#platform.files, this.#current);
  }

  isAlive(): Promise<boolean> {
    return this.#alive(this.#current);
  }

  /** Its process, whoever started it; undefined where none runs. */
  async pid(): Promise<number | undefined> {
    const record = await this.#readRecord();
    return record !== undefined && (await this.#alive(record)) ? record.pid : undefined;
  }

  /** Adopts or starts it. */
  async ensure({ command, configuration, env }: DaemonCommand): Promise<void> {
    const { crypto, exec, files } = this.#platform;
    const { logFile, recordFile } = this.#config;
    const configHash = crypto.sha256Hex(JSON.stringify(configuration));
    const record = await this.#readRecord();
    if (record !== undefined && (await this.#alive(record))) {
      if (record.configHash === configHash) {
        this.#current = record;
        return;
      }
      await this.#end(record);
    }
    const pid = await exec.startDaemon(command[0] ?? '', command.slice(1), { logFile, env });
    this.#current = { pid, startTime: (await ownProcess(files, pid))?.startTime };
    await files.writeFileAtomic(recordFile, JSON.stringify({ ...this.#current, configHash } satisfies DaemonRecord));
  }

  /** Ends it, whoever started it. */
  async remove(graceMs = this.#config.graceMs): Promise<void> {
    await this.#end((await this.#readRecord()) ?? { pid: 0 }, graceMs);
    await this.#platform.files.remove(this.#config.recordFile);
    this.#current = { pid: 0 };
  }

  async #alive(candidate: RecordedProcess): Promise<boolean> {
    const { exec, files } = this.#platform;
    if (candidate.pid <= 0 || !exec.kill(candidate.pid, 0)) return false;
    const { command = [] } = (await recordedProcess(files, candidate)) ?? {};
    return this.#config.marks.every((mark) => command.includes(mark));
  }

  async #readRecord(): Promise<DaemonRecord | undefined> {
    const { files } = this.#platform;
    const { recordFile } = this.#config;
    if (!(await files.exists(recordFile))) return undefined;
    try {
      return JSON.parse(await files.readText(recordFile)) as DaemonRecord;
    } catch {
      return undefined; // Cut short by a crash: as if it were not there.
    }
  }

  async #end(candidate: RecordedProcess, graceMs = this.#config.graceMs): Promise<void> {
    const { clock, exec } = this.#platform;
    if (!(await this.#alive(candidate))) return;
    exec.kill(candidate.pid, 'SIGTERM');
    for (let waitedMs = 0; waitedMs < graceMs; waitedMs += END_PERIOD_MS) {
      if (!(await this.#alive(candidate))) return;
      await clock.sleep(END_PERIOD_MS);
    }
    // With its children: one that hangs does not notice that its parent is gone.
    if (await this.#alive(candidate)) exec.killDaemon(candidate.pid);
  }
}
