/**
 * A Keelson program in a session of its own: it outlives Keelson; a start adopts a process that runs with the same
 * configuration and replaces any other. A file in the run directory records the process. The file exists, empty,
 * before the process is started: when Keelson is killed in between, the process is found by its environment, which
 * names the file.
 */
import type { Files } from '../../platform/files.ts';
import type { Platform } from '../../platform/platform.ts';
import { ownProcess, recordedProcess, stillRuns, type RecordedProcess } from '../../platform/process-identity.ts';

interface DaemonRecord extends RecordedProcess {
  readonly configHash: string;
}

export interface OwnDaemonConfig {
  readonly recordFile: string;
  readonly logFile: string;
  /** Arguments by which the daemon's command line is recognized. */
  readonly marks: readonly string[];
  /** How long the process gets to end after SIGTERM. */
  readonly graceMs: number;
}

/** The command, and a configuration text: the process is replaced when the text changes. */
export interface DaemonCommand {
  readonly command: readonly string[];
  readonly configuration: readonly unknown[];
  /** Environment variables added for the process. */
  readonly env?: Readonly<Record<string, string>>;
}

const END_PERIOD_MS = 20;
/** The environment variable that names a daemon's record file. */
const RECORD_VARIABLE = 'KEELSON_DAEMON_RECORD';

/** Whether the process is the daemon of this record or a descendant of it. */
export async function isDaemonOf(files: Pick<Files, 'readText'>, recordFile: string, pid: number): Promise<boolean> {
  const environment = await files.readText(`/proc/${pid}/environ`).catch(() => '');
  return environment.split('\0').includes(`${RECORD_VARIABLE}=${recordFile}`);
}

export class OwnDaemon {
  readonly #platform: Platform;
  readonly #config: OwnDaemonConfig;
  #current: RecordedProcess = { pid: 0 };

  constructor(platform: Platform, config: OwnDaemonConfig) {
    this.#platform = platform;
    this.#config = config;
  }

  /** Whether the process exists, without reading any file. */
  isRunning(): boolean {
    return this.#current.pid > 0 && this.#platform.exec.kill(this.#current.pid, 0);
  }

  /** Whether the process exists and its id was not reused. */
  stillRuns(): Promise<boolean> {
    return stillRuns(this.#platform.files, this.#current);
  }

  isAlive(): Promise<boolean> {
    return this.#alive(this.#current);
  }

  /** The process's pid, also when an earlier Keelson started it; undefined where none runs. */
  async pid(): Promise<number | undefined> {
    const record = await this.#readRecord();
    return record !== undefined && (await this.#alive(record)) ? record.pid : undefined;
  }

  /** Adopts the running process or starts one. */
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
    await this.#endUnrecorded();
    await files.writeFile(recordFile, '');
    const marked = { ...env, [RECORD_VARIABLE]: recordFile };
    const pid = await exec.startDaemon(command[0] ?? '', command.slice(1), { logFile, env: marked });
    this.#current = { pid, startTime: (await ownProcess(files, pid))?.startTime };
    await files.writeFileAtomic(recordFile, JSON.stringify({ ...this.#current, configHash } satisfies DaemonRecord));
  }

  /** Ends the process, also when an earlier Keelson started it. */
  async remove(graceMs = this.#config.graceMs): Promise<void> {
    await this.#end((await this.#readRecord()) ?? { pid: 0 }, graceMs);
    await this.#endUnrecorded();
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
      return undefined; // truncated by a crash
    }
  }

  /** Ends a process whose start was interrupted before it was recorded. */
  async #endUnrecorded(): Promise<void> {
    const { files } = this.#platform;
    const { recordFile } = this.#config;
    if (!(await files.exists(recordFile)) || (await this.#readRecord()) !== undefined) return;
    if (!(await files.exists('/proc'))) return; // processes cannot be inspected here
    const pids = (await files.readDir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    for (const pid of pids) if (await isDaemonOf(files, recordFile, pid)) await this.#end({ pid });
  }

  async #end(candidate: RecordedProcess, graceMs = this.#config.graceMs): Promise<void> {
    const { clock, exec } = this.#platform;
    if (!(await this.#alive(candidate))) return;
    exec.kill(candidate.pid, 'SIGTERM');
    for (let waitedMs = 0; waitedMs < graceMs; waitedMs += END_PERIOD_MS) {
      if (!(await this.#alive(candidate))) return;
      await clock.sleep(END_PERIOD_MS);
    }
    // With its children, which may hang and not notice that their parent is gone.
    if (await this.#alive(candidate)) exec.killDaemon(candidate.pid);
  }
}
