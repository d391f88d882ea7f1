/**
 * Routes on a node that joined: receives snapshots from any server that responds, and passes them to the node's data plane, which
 * is started by the first snapshot with a route. Without a server the last snapshot stays in force.
 */
import { onAbort } from '../../../base/abort.ts';
import { createBackoff, type Backoff } from '../../../base/backoff.ts';
import type { Client } from '../../../client/client.ts';
import { NODE_ROUTES_PATH } from '../../../component-helpers/gateway-class.ts';
import { createLineReader } from '../../../gateway/data-plane/control-messages.ts';
import type { PublishedSnapshot } from '../../../gateway/gateway-controller.ts';
import type { DataPlaneReport } from '../../../gateway/snapshot/snapshot.ts';
import { sleepUnlessAborted, type CancelTimer } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Duplex } from '../../../platform/streams.ts';
import { logFailure } from '../../../platform/unexpected.ts';
import type { ComponentStatus } from '../../cluster-status.ts';
import type { Instance } from '../../instance/instance.ts';
import type { DataPlaneDaemon } from '../data-plane-daemon.ts';
import { gatewayRecord } from '../gateway-record.ts';
import { LatestSender } from '../latest-sender.ts';
import { portProblem, withHolders } from '../port-problem.ts';
import { NODE_ROUTES_PROTOCOL, readSnapshotLine, reportLine, SILENCE_MS } from './protocol.ts';

/** The node's own data plane, possibly left by an earlier start. */
export interface NodeDataPlane {
  wasLeft(): Promise<boolean>;
  open(onReport: (report: DataPlaneReport | undefined) => void): Promise<Pick<DataPlaneDaemon, 'publish' | 'run'>>;
}

export interface JoinedRoutesDeps {
  readonly platform: Pick<Platform, 'clock' | 'files' | 'log' | 'random'>;
  /** A client with the node's identity. */
  readonly client: Pick<Client, 'upgrade'>;
  readonly dataPlane: NodeDataPlane;
}

/** The data plane's code is loaded when it is opened. */
export function nodeDataPlane(platform: Platform, instance: Pick<Instance, 'runDir' | 'logDir'>): NodeDataPlane {
  return {
    wasLeft: () => platform.files.exists(gatewayRecord(instance)),
    async open(onReport) {
      const { DataPlaneDaemon: Daemon } = await import('../data-plane-daemon.ts');
      return new Daemon(platform, instance, onReport);
    },
  };
}

/** A snapshot, and the connection on which it arrived. */
interface Received {
  readonly snapshot: PublishedSnapshot;
  readonly socket: Duplex;
  readonly signal: AbortSignal;
}

const RETRY_MS = { initialMs: 200, maxMs: 10_000, jitter: 0.2 };

export class JoinedRoutes {
  readonly #deps: JoinedRoutesDeps;
  #daemon: Pick<DataPlaneDaemon, 'publish' | 'run'> | undefined;
  #running: Promise<void> = Promise.resolve();
  #report: DataPlaneReport | undefined;
  /** Whether the log already states that no server provides routes. */
  #isLogged = false;
  /** The connection to a server. */
  #socket: Duplex | undefined;
  /** Sends reports over the connection, once a snapshot from it is served. */
  #reports: LatestSender<DataPlaneReport | undefined> | undefined;
  /** Shared by all connections: the last snapshot counts, even when its connection has ended. */
  readonly #snapshots: LatestSender<Received>;

  constructor(deps: JoinedRoutesDeps) {
    this.#deps = deps;
    this.#snapshots = new LatestSender<Received>(
      (received) => this.#use(received),
      (error) => {
        deps.platform.log.unexpected('a snapshot of routes was not used, again later', error);
        this.#socket?.destroy();
      },
    );
  }

  /** Runs until the signal aborts; the data plane continues. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, random } = this.#deps.platform;
    const backoff = createBackoff(RETRY_MS, () => random.next());
    while (!signal.aborted) {
      try {
        await this.#follow(backoff, signal);
      } catch (error) {
        if (!signal.aborted && !this.#isLogged) logFailure(log, 'no server gives routes; those of before stay', error);
        this.#isLogged = true;
      }
      await sleepUnlessAborted(clock, backoff.nextMs(), signal);
    }
    await this.#running;
  }

  /** Empty while no data plane runs. */
  status(): readonly ComponentStatus[] {
    if (this.#report === undefined) return [];
    const problems = this.#report.listeners.map((state) => portProblem(state)).filter((text) => text !== undefined);
    return [{ name: 'gateway', healthy: problems.length === 0, message: problems.join('; ') }];
  }

  /** Rejects when the connection cannot be opened, or ends for a reason other than its server's close. */
  async #follow(backoff: Backoff, signal: AbortSignal): Promise<void> {
    const { client, platform } = this.#deps;
    const headers = { connection: 'Upgrade', upgrade: NODE_ROUTES_PROTOCOL };
    const socket = await client.upgrade({ path: NODE_ROUTES_PATH, headers, signal });
    this.#socket = socket;
    const stop = onAbort(signal, () => socket.destroy());
    const silence = new IdleTimeout(platform, socket);
    const decoder = new TextDecoder();
    const read = createLineReader((line) => {
      if (line === '') return;
      this.#snapshots.offer({ snapshot: readSnapshotLine(line), socket, signal });
      backoff.reset();
      this.#isLogged = false;
    });
    try {
      for await (const chunk of socket.incoming) {
        silence.end();
        read(decoder.decode(chunk, { stream: true }));
        silence.begin();
      }
    } finally {
      silence.end();
      stop();
      this.#socket = undefined;
      this.#reports = undefined;
      socket.destroy();
    }
  }

  /** Loads nothing on a node that has nothing to serve and never had. */
  async #use({ snapshot, socket, signal }: Received): Promise<void> {
    const { dataPlane } = this.#deps;
    if (socket === this.#socket)
      this.#reports ??= new LatestSender(
        (report) => socket.write(reportLine(report)),
        () => socket.destroy(),
      );
    if (this.#daemon === undefined) {
      if (snapshot.ports.size === 0 && !(await dataPlane.wasLeft())) return this.#reports?.offer(undefined);
      const reports = this.#namedReports();
      this.#daemon = await dataPlane.open((report) => reports.offer(report));
      this.#running = this.#daemon.run(signal);
    }
    this.#daemon.publish(snapshot);
  }

  /** Stores reports and forwards them with the programs that hold their ports. */
  #namedReports(): LatestSender<DataPlaneReport | undefined> {
    const { files, log } = this.#deps.platform;
    return new LatestSender(
      async (report) => {
        this.#report = report && (await withHolders(files, report));
        this.#reports?.offer(this.#report);
      },
      (error) => log.unexpected('a report of routes was not read', error),
    );
  }
}

/** Ends a connection on which nothing has arrived for long, because its server may have vanished. */
class IdleTimeout {
  readonly #platform: Pick<Platform, 'clock'>;
  readonly #socket: Duplex;
  #cancel: CancelTimer | undefined;

  constructor(platform: Pick<Platform, 'clock'>, socket: Duplex) {
    this.#platform = platform;
    this.#socket = socket;
    this.begin();
  }

  begin(): void {
    const gone = new Error(`the server has sent nothing for ${SILENCE_MS / 1000} s`);
    this.#cancel = this.#platform.clock.setTimer(SILENCE_MS, () => this.#socket.destroy(gone));
  }

  end(): void {
    this.#cancel?.();
  }
}
