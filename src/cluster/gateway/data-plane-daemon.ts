/**
 * The data plane of this node's routes: `keelson gateway-server` as a process of its own, without credentials, which gets
 * snapshots over a unix socket. It outlives Keelson and goes on with its last snapshot; it ends when nothing is to be served.
 */
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { aborted } from '../../base/abort.ts';
import { createBackoff, type Backoff } from '../../base/backoff.ts';
import { createDeferred, type Deferred } from '../../base/deferred.ts';
import { VERSION } from '../../base/version.ts';
import { createLineReader } from '../../gateway/data-plane/control-messages.ts';
import { MAX_REPORT_BYTES, readReport } from '../../gateway/data-plane/data-plane-report.ts';
import type { PublishedSnapshot } from '../../gateway/gateway-controller.ts';
import type { DataPlaneReport } from '../../gateway/snapshot/snapshot.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Duplex } from '../../platform/streams.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { Instance } from '../instance/instance.ts';
import { dataPlaneCommand } from './data-plane-command.ts';
import { gatewayRecord } from './gateway-record.ts';
import { OwnDaemon } from '../node/own-daemon.ts';

type Place = Pick<Instance, 'runDir' | 'logDir'>;

const RETRY_MS = { initialMs: 50, maxMs: 5_000 };
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECT_PERIOD_MS = 10;
/** Connections get ten seconds to finish. */
const END_GRACE_MS = 11_000;
/** Where the pods behind it end as well. */
const REMOVE_GRACE_MS = 500;

export class DataPlaneDaemon {
  readonly #platform: Platform;
  readonly #place: Place;
  readonly #daemon: OwnDaemon;
  #snapshot: PublishedSnapshot | undefined;
  #generation = 0;
  /** The connection over which a snapshot is being sent. */
  #sending: Duplex | undefined;
  #connection: Duplex | undefined;
  #changed: Deferred<void> = createDeferred();
  #report: DataPlaneReport | undefined;
  #command: readonly string[] | undefined;
  readonly #onReport: (report: DataPlaneReport | undefined) => void;

  /** `onReport` gets undefined once no data plane runs any more. */
  constructor(platform: Platform, place: Place, onReport: (report: DataPlaneReport | undefined) => void) {
    this.#platform = platform;
    this.#place = place;
    this.#onReport = onReport;
    this.#daemon = new OwnDaemon(platform, {
      recordFile: gatewayRecord(place),
      logFile: `${place.logDir}/gateway.log`,
      marks: ['gateway-server', socketPath(place)],
      graceMs: END_GRACE_MS,
    });
  }

  /** Serves this from now on. Without listeners no process is needed. */
  publish(snapshot: PublishedSnapshot): void {
    this.#snapshot = snapshot;
    this.#generation++;
    if (snapshot.ports.size === 0 || this.#connection === undefined) this.#changed.resolve();
    else this.#send(this.#connection);
  }

  /** Supervises it until the signal aborts; the process stays. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#platform;
    const log = this.#platform.log.child('gateway');
    const backoff = createBackoff(RETRY_MS);
    while (!signal.aborted) {
      const changed = (this.#changed = createDeferred()).promise;
      const isWanted = this.#isWanted();
      try {
        if (isWanted) await this.#serve(signal, backoff);
        else if (this.#snapshot !== undefined) await this.#end();
        if (!isWanted) await Promise.race([changed, aborted(signal)]);
      } catch (error) {
        if (signal.aborted) return;
        logFailedRound(log, 'the data plane of routes is not reached', { err: error });
        await sleepUnlessAborted(clock, backoff.nextMs(), signal);
      }
    }
  }

  /** Its process, whoever started it; undefined where none runs. */
  pid(): Promise<number | undefined> {
    return this.#daemon.pid();
  }

  /** Ends the process, whoever started it. */
  async remove(): Promise<void> {
    await this.#daemon.remove(REMOVE_GRACE_MS);
    await this.#platform.files.remove(socketDir(this.#place));
  }

  #isWanted(): boolean {
    return this.#snapshot !== undefined && this.#snapshot.ports.size > 0;
  }

  async #end(): Promise<void> {
    this.#connection?.destroy();
    if (this.#report !== undefined || (await this.#platform.files.exists(gatewayRecord(this.#place))))
      await this.#daemon.remove();
    this.#report = undefined;
    this.#onReport(undefined);
  }

  /** Starts it where it does not run, and stays connected until it is not wanted any more. Throws where the connection ends. */
  async #serve(signal: AbortSignal, backoff: Backoff): Promise<void> {
    const { files } = this.#platform;
    await files.makeDir(socketDir(this.#place), { mode: 0o700 });
    const command = (this.#command ??= await dataPlaneCommand(
      this.#platform,
      this.#place.runDir,
      socketPath(this.#place),
    ));
    await this.#daemon.ensure({ command, configuration: [...command, VERSION] });
    const connection = await this.#connect(signal);
    this.#connection = connection;
    try {
      if (this.#isWanted()) this.#changed = createDeferred();
      this.#send(connection);
      const reading = this.#read(connection, backoff).then(() => {
        throw new Error('the data plane ended its control connection');
      });
      await Promise.race([reading, this.#changed.promise, aborted(signal)]);
    } finally {
      this.#connection = undefined;
      connection.destroy();
    }
  }

  /** One snapshot after the other: of those that are published while one is being sent, only the last is sent. */
  #send(connection: Duplex): void {
    if (this.#sending === connection) return;
    this.#sending = connection;
    const { log } = this.#platform;
    this.#sendLatest(connection).catch((error: unknown) => {
      log.warn('a snapshot of routes was not sent, again later', { err: error });
      connection.destroy();
    });
  }

  async #sendLatest(connection: Duplex): Promise<void> {
    let sent: PublishedSnapshot | undefined;
    try {
      while (this.#snapshot !== undefined && this.#snapshot !== sent) {
        sent = this.#snapshot;
        await connection.write(`{"generation":${this.#generation},"snapshot":`);
        for (const piece of sent.pieces) await connection.write(piece);
        await connection.write('}\n');
      }
    } finally {
      if (this.#sending === connection) this.#sending = undefined;
    }
  }

  /** A report of the latest snapshot shows that the connection works. */
  async #read(connection: Duplex, backoff: Backoff): Promise<void> {
    const decoder = new TextDecoder();
    const read = createLineReader((line) => {
      this.#report = readReport(line, this.#snapshot?.ports ?? new Set());
      if (this.#report.applied === this.#generation) backoff.reset();
      this.#onReport(this.#report);
    }, MAX_REPORT_BYTES);
    for await (const chunk of connection.incoming) read(decoder.decode(chunk, { stream: true }));
  }

  /** Its socket is there a moment after its start. */
  async #connect(signal: AbortSignal): Promise<Duplex> {
    const { clock, net } = this.#platform;
    const deadlineMs = clock.monotonicMs() + CONNECT_TIMEOUT_MS;
    for (;;) {
      try {
        return await net.dial({ unixPath: socketPath(this.#place), signal });
      } catch (error) {
        if (signal.aborted || clock.monotonicMs() > deadlineMs || !this.#daemon.isRunning()) throw error;
      }
      await clock.sleep(CONNECT_PERIOD_MS, signal);
    }
  }
}

function socketDir({ runDir }: Place): string {
  return `${runDir}/gateway`;
}

function socketPath(place: Place): string {
  return `${socketDir(place)}/control`;
}
