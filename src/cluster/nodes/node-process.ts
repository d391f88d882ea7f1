/**
 * The process that turns namespaces into a node: `keelson agent` under its own supervisor, in its own session. It
 * outlives this process; a start adopts one that has the same command line and version.
 */
import { errorMessage } from '../../base/errors.ts';
import { VERSION } from '../../base/version.ts';
import { LOG_FILE_VARIABLE } from '../../platform/node/log-rotation.ts';
import type { Platform } from '../../platform/platform.ts';
import { ownProcess, stillRuns, type RecordedProcess } from '../../platform/process-identity.ts';
import { isInstanceThere } from '../instance/control-client.ts';
import { endInstance } from '../instance/end-instance.ts';
import { supervisorOf } from '../instance/supervisor-record.ts';
import { NodeNamespaces } from './namespaces.ts';
import type { NodeLocation } from './nodes-file.ts';
import type { KeelsonCommand } from './nodes-options.ts';

export class NodeProcess {
  readonly #platform: Platform;
  readonly #place: NodeLocation;
  readonly #command: KeelsonCommand;
  #started: RecordedProcess = { pid: 0 };

  constructor(platform: Platform, place: NodeLocation, command: KeelsonCommand) {
    this.#platform = platform;
    this.#place = place;
    this.#command = command;
  }

  /** Whether the agent runs or its supervisor is about to restart it. */
  async isAlive(): Promise<boolean> {
    if (await stillRuns(this.#platform.files, this.#started)) return true;
    const { dataDir } = this.#place;
    return supervisorOf(dataDir) !== undefined || (await isInstanceThere(dataDir));
  }

  /** Adopts or starts the agent. */
  async ensure(holder: number, args: readonly string[]): Promise<void> {
    const { crypto, exec, files } = this.#platform;
    const { dataDir, recordDir } = this.#place;
    const command = NodeNamespaces.inside(holder, this.#command(args));
    const recordFile = `${recordDir}/agent`;
    const hash = crypto.sha256Hex(JSON.stringify([VERSION, command]));
    if (await this.isAlive()) {
      if ((await files.readText(recordFile).catch(() => '')) === hash) return;
      await this.end();
    }
    const logFile = `${dataDir}/logs/keelson.log`;
    const env = { [LOG_FILE_VARIABLE]: logFile };
    const pid = await exec.startDaemon(command[0] ?? '', command.slice(1), { logFile, env });
    this.#started = { pid, startTime: (await ownProcess(files, pid))?.startTime };
    await files.writeFileAtomic(recordFile, hash);
  }

  /** Ends the agent in order; its pods and containerd keep running. */
  async end(): Promise<void> {
    await endInstance(this.#platform, this.#place.dataDir);
    this.#started = { pid: 0 };
  }

  /** Ends the node's pods and programs, as `keelson down` does on a machine; resolves to the problems met. */
  async takeDown(holder: number): Promise<string | undefined> {
    const { exec } = this.#platform;
    const args = [process.execPath, process.argv[1] ?? '', 'down', '--data-dir', this.#place.dataDir];
    const [program = '', ...rest] = NodeNamespaces.inside(holder, args);
    try {
      const { exitCode, stderr } = await exec.run(program, rest, { timeoutMs: TAKE_DOWN_TIMEOUT_MS });
      if (exitCode === 0) return undefined;
      return stderr.trim().replace(/^keelson: /, '') || `keelson down ended with ${exitCode}`;
    } catch (error) {
      return errorMessage(error);
    }
  }
}

const TAKE_DOWN_TIMEOUT_MS = 120_000;
