/**
 * The data plane of this node's routes: `keelson gateway-server`, a separate process without credentials, which receives
 * snapshots over a unix socket. It outlives Keelson and continues with its last snapshot; it is ended when there is nothing to
 * serve.
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
import { LatestSender } from './latest-sender.ts';
import { OwnDaemon } from '../node/own-daemon.ts';

type DaemonDirs = Pick<Instance, 'runDir' | 'logDir'>;

const RETRY_MS = { initialMs: 50, maxMs: 5_000 };
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECT_PERIOD_MS = 10;
/** Longer than the ten seconds that connections have to finish. */
const END_GRACE_MS = 11_000;
/** The grace period when the pods behind the routes end as well. */
const REMOVE_GRACE_MS = 500;

export class DataPlaneDaemon {
  readonly #platform: Platform;
  readonly #place: DaemonDirs;
  readonly #daemon: OwnDaemon;
  #snapshot: PublishedSnapshot | undefined;
  #generation = 0;
  #connection: Duplex | undefined;
  /** Sends snapshots over the current connection. */
  #sender: LatestSender<PublishedSnapshot> | undefined;
  #changed: Deferred<void> = createDeferred();
  #report: DataPlaneReport | undefined;
  #command: readonly string[] | undefined;
  readonly #onReport: (report: DataPlaneReport | undefined) => void;

  /** `onReport` is called with undefined once no data plane runs. */
  constructor(platform: Platform, place: DaemonDirs, onReport: (report: DataPlaneReport | undefined) => void) {
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

  /** Serves this snapshot from now on. Without listeners the process is ended. */
  publish(snapshot: PublishedSnapshot): void {
    this.#snapshot = snapshot;
    this.#generation++;
    if (snapshot.ports.size === 0 || this.#sender === undefined) this.#changed.resolve();
    else this.#sender.offer(snapshot);
  }

  /** Supervises the process until the signal aborts; the process continues. Never rejects. */
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

  /** The pid of the process, also of one that an earlier Keelson started; undefined when none runs. */
  pid(): Promise<number | undefined> {
    return this.#daemon.pid();
  }

  /** Ends the process, also one that an earlier Keelson started. */
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

  /** Starts the process if necessary, and stays connected until it is no longer needed. Throws when the connection ends. */
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
    const sender = new LatestSender<PublishedSnapshot>(
      (snapshot) => this.#send(snapshot, connection),
      (error) => {
        this.#platform.log.warn('a snapshot of routes was not sent, again later', { err: error });
        connection.destroy();
      },
    );
    this.#sender = sender;
    try {
      if (this.#isWanted()) this.#changed = createDeferred();
      if (this.#snapshot !== undefined) sender.offer(this.#snapshot);
      const reading = this.#read(connection, backoff).then(() => {
        throw new Error('the data plane ended its control connection');
      });
      await Promise.race([reading, this.#changed.promise, aborted(signal)]);
    } finally {
      this.#connection = undefined;
      this.#sender = undefined;
      connection.destroy();
    }
  }

  async #send({ pieces }: PublishedSnapshot, connection: Duplex): Promise<void> {
    await connection.write(`{"generation":${this.#generation},"snapshot":`);
    for (const piece of pieces) await connection.write(piece);
    await connection.write('}\n');
  }

  /** A report of the latest snapshot proves that the connection works. */
  async #read(connection: Duplex, backoff: Backoff): Promise<void> {
    const decoder = new TextDecoder();
    const read = createLineReader((line) => {
      this.#report = readReport(line, this.#snapshot?.ports ?? new Set());
      if (this.#report.applied === this.#generation) backoff.reset();
      this.#onReport(this.#report);
    }, MAX_REPORT_BYTES);
    for await (const chunk of connection.incoming) read(decoder.decode(chunk, { stream: true }));
  }

  /** The process opens its socket shortly after its start. */
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

function socketDir({ runDir }: DaemonDirs): string {
  return `${runDir}/gateway`;
}

function socketPath(place: DaemonDirs): string {
  return `${socketDir(place)}/control`;
}
