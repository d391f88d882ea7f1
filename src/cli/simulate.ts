/**
 * `keelson up --simulate`: a real control plane on a real port, in real time, with simulated nodes. No root, no containerd;
 * containers of any image run for ever and do nothing.
 */
import { Nodes, Pods } from '../api/gen/resources.ts';
import { errorMessage, hasErrorCode } from '../base/errors.ts';
import { KUBERNETES_VERSION, VERSION } from '../base/version.ts';
import { parseYaml } from '../api/codec/yaml.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ApiHandler } from '../api/transport.ts';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import { NO_STORE, type InstanceStatus } from '../cluster/cluster-status.ts';
import { localAddress } from '../cluster/instance/server-addresses.ts';
import { makeDataDir } from '../cluster/instance/prepare-instance.ts';
import { backupStore, openStore } from '../cluster/store/open-store.ts';
import type { Snapshots } from '../cluster/snapshots/run-snapshots.ts';
import { processMemory } from '../cluster/process-memory.ts';
import { PreflightError } from '../cluster/preflight-error.ts';
import type { Progress } from '../cluster/progress.ts';
import type { SimImage } from '../cri/sim/sim-image.ts';
import type { Clock } from '../platform/clock.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { background } from '../platform/unexpected.ts';
import { createSqliteHistory } from '../storage/sqlite/history/sqlite-history.ts';
import type { HistoryLog } from '../storage/history-log.ts';
import type { Store } from '../storage/store.ts';
import { Cluster } from '../testing/cluster.ts';
import { parseImages, type Scenario } from '../testing/scenario.ts';
import { replayFileRoutes, type ReplayFiles } from '../testing/simulation/replay-file-route.ts';
import { simulationRoutes } from '../testing/simulation/simulation-route.ts';
import { makePki, type Listening } from '../testing/listener.ts';
import { readSettings, writeSettings } from './arguments/settings-file.ts';
import type { InstanceStart } from './instance-start.ts';
import { createReplayFiles } from './replay-files.ts';
import { beginRecording, type Recording } from './recording.ts';
import type { RunnableCluster } from './instance-run.ts';
import { runInstance } from './run-instance.ts';
import { SimulatedTime } from './simulated-time.ts';
import { supervision } from './supervision.ts';

interface SimulateOptions extends ClusterOptions {
  readonly nodes: number;
  /** Behaviour of containers by image. */
  readonly imagesFile?: string;
  /** Where a scenario of what clients do is written. */
  readonly recordFile?: string;
  /** How fast virtual time runs at first; undefined: time is real. */
  readonly speed?: number | undefined;
}

/** Runs until stopped; resolves to the exit code. */
export function runSimulated(options: SimulateOptions, start: InstanceStart): Promise<number> {
  return runInstance({
    dataDir: options.dataDir,
    start,
    create: async (platform, progress) => new SimulatedCluster(platform, options, progress),
  });
}

const FIRST_PORT = 6443;
const MAX_PORTS = 200;

class SimulatedCluster implements RunnableCluster {
  readonly failed = new Promise<never>(() => undefined);
  readonly #platform: NodePlatform;
  readonly #options: SimulateOptions;
  readonly #progress: Progress;
  readonly #startedMs: number;
  #cluster: Cluster | undefined;
  #listening: Listening | undefined;
  #store: Store | undefined;
  #recording: Recording | undefined;
  readonly #files: ReplayFiles;
  readonly #time: SimulatedTime;
  #snapshots: Snapshots | undefined;
  readonly #lifetime = new AbortController();

  constructor(platform: NodePlatform, options: SimulateOptions, progress: Progress) {
    this.#platform = platform;
    this.#options = options;
    this.#progress = progress;
    this.#startedMs = platform.clock.monotonicMs();
    this.#time = new SimulatedTime(platform, options.speed);
    this.#files = createReplayFiles({ clock: platform.clock, host: options.bindAddress ?? '127.0.0.1' });
  }

  async start(): Promise<void> {
    const { files } = this.#platform;
    const { dataDir, store, nodes, encryptionConfigFile, imagesFile, runtimeConfig, bindAddress } = this.#options;
    await makeDataDir({ files }, dataDir);
    await writeSettings(files, dataDir, { ...readSettings(dataDir), simulated: true });
    const images = imagesFile === undefined ? [] : await this.#readImages(imagesFile);
    this.#recording = await this.#record();
    const pki = await this.#progress.phase('certificates', () =>
      makePki(this.#platform, `${dataDir}/pki`, [localAddress({ bindAddress })]),
    );
    const cluster = await this.#progress.phase('API server and controllers', () =>
      Cluster.start({
        ...this.#time.options,
        routes: this.#routes(),
        log: this.#platform.log,
        nodes: 0,
        images,
        pki,
        runtimeConfig,
        console: this.#options.console,
        history: this.#history(),
        store: async (clock) =>
          (this.#store = await openStore(
            { ...this.#platform, clock },
            {
              choice: store,
              file: `${dataDir}/state.db`,
              hasLog: this.#options.snapshots?.log !== undefined,
              encryption: encryptionConfigFile === undefined ? undefined : { file: encryptionConfigFile, reload: true },
            },
          )),
      }),
    );
    this.#cluster = cluster;
    const listening = await this.#listen(cluster, this.#recording);
    if (this.#recording === undefined && store.kind === 'sqlite')
      await writeSettings(files, dataDir, { ...readSettings(dataDir), 'ran-unrecorded': true });
    await files.writeFileAtomic(this.#kubeconfig, listening.kubeconfig, { mode: 0o600 });
    this.#listening = listening;
    await this.#progress.phase(`${nodes} simulated node${nodes === 1 ? '' : 's'} Ready`, () =>
      cluster.nodes.addMany(Array.from({ length: nodes }, () => ({}))),
    );
    await this.#scheduleSnapshots(cluster);
    this.#time.start(cluster);
  }

  #routes(): ReturnType<typeof simulationRoutes> {
    const { running: clock } = this.#time;
    const routes = simulationRoutes({ cluster: () => this.#cluster, clock, recording: this.#recording });
    return this.#options.console === false ? routes : [...routes, ...replayFileRoutes(this.#files)];
  }

  async #scheduleSnapshots(cluster: Cluster): Promise<void> {
    const { snapshots: options, store: choice, dataDir, nodeName } = this.#options;
    if (options === undefined || this.#store === undefined) return;
    const { createSnapshots } = await import('../cluster/snapshots/run-snapshots.ts');
    const source = { store: this.#store, etcd: choice.kind === 'etcd' ? choice : undefined };
    const clientFor = cluster.clientFor.bind(cluster);
    const deps = { platform: this.#platform, clientFor, source };
    this.#snapshots = createSnapshots(deps, { options, dataDir, nodeName });
    background(this.#platform.log, 'snapshots ended', this.#snapshots.run(this.#lifetime.signal));
  }

  /** On the port that was chosen, or the first free one. */
  async #listen(cluster: Cluster, recording: Recording | undefined): Promise<Listening> {
    const wrapHandler = recording && ((handler: ApiHandler) => recording.wrap(handler));
    const { httpsPort, bindAddress, name } = this.#options;
    for (let port = httpsPort ?? FIRST_PORT; ; port++) {
      try {
        return await cluster.listen({
          host: bindAddress ?? '127.0.0.1',
          port,
          clusterName: name,
          wrapHandler,
          timeRuns: true,
        });
      } catch (error) {
        if (hasErrorCode(error, 'EADDRNOTAVAIL'))
          throw new PreflightError(`--bind-address: ${bindAddress} is not an address of this machine`);
        if (!hasErrorCode(error, 'EADDRINUSE')) throw error;
        if (httpsPort !== undefined || port >= FIRST_PORT + MAX_PORTS)
          throw new PreflightError(`port ${port} is taken; choose another with --https-port`);
      }
    }
  }

  #history(): ((clock: Clock) => HistoryLog) | undefined {
    const { history: limits, dataDir, speed } = this.#options;
    if (limits === undefined) return undefined;
    // Virtual time starts anew with each simulation: a kept history would mix its times with those of the last.
    const path = speed === undefined ? `${dataDir}/history.db` : ':memory:';
    return (clock) => createSqliteHistory({ path, limits, clock, log: this.#platform.log });
  }

  /** Undefined without `--record`. */
  async #record(): Promise<Recording | undefined> {
    const { recordFile, imagesFile, nodes, dataDir, store } = this.#options;
    if (recordFile === undefined) return undefined;
    const images =
      imagesFile === undefined
        ? undefined
        : (parseYaml(await this.#platform.files.readText(imagesFile)).value as NonNullable<Scenario['images']>);
    return await beginRecording(this.#platform, {
      file: recordFile,
      dataDir,
      store: store.kind,
      settings: readSettings(dataDir),
      clock: this.#time.clock,
      isRestart: supervision?.lastEnd !== undefined,
      cluster: { nodes, images },
      find: (reference) => this.#cluster && foundIn(this.#cluster, reference),
    });
  }

  async #readImages(file: string): Promise<SimImage[]> {
    try {
      return parseImages(await this.#platform.files.readText(file));
    } catch (error) {
      throw new PreflightError(`--images: ${file}: ${errorMessage(error)}`);
    }
  }

  async stop(): Promise<void> {
    this.#lifetime.abort(new Error('keelson is stopping'));
    await this.#files.close();
    await this.#time.stop();
    await this.#cluster?.stop();
    await this.#recording?.close();
  }

  get #kubeconfig(): string {
    return `${this.#options.dataDir}/admin.kubeconfig`;
  }

  async backup(file: string): Promise<void> {
    await backupStore(this.#store, file);
  }

  async status(): Promise<InstanceStatus> {
    const cluster = this.#cluster;
    const pods = Map.groupBy(cluster?.peek(Pods) ?? [], ({ status }) => status?.phase ?? 'Pending');
    return {
      phase: this.#listening === undefined ? 'starting' : 'running',
      simulated: true,
      pid: process.pid,
      version: VERSION,
      kubernetesVersion: KUBERNETES_VERSION,
      uptimeSeconds: (this.#platform.clock.monotonicMs() - this.#startedMs) / 1000,
      ...processMemory(),
      server: this.#listening?.url ?? '',
      kubeconfig: this.#kubeconfig,
      containerdSocket: 'none: containers are simulated',
      clusterCidr: '10.128.0.0/9',
      serviceCidr: '10.96.0.0/16',
      clusterDomain: 'cluster.local',
      components: [
        {
          name: 'apiserver',
          healthy: this.#listening !== undefined,
          message: this.#listening === undefined ? 'not ready' : '',
        },
      ],
      nodes: (cluster?.peek(Nodes) ?? []).map(({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === 'Ready');
        return {
          name: metadata.name ?? '',
          ready: ready?.status === 'True',
          message: ready?.message ?? '',
          kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
          runtime: status?.nodeInfo?.containerRuntimeVersion ?? '',
        };
      }),
      podsByPhase: Object.fromEntries([...pods].map(([phase, list]) => [phase, list.length])),
      store: (await cluster?.storeStatus()) ?? NO_STORE,
      snapshots: await this.#snapshots?.status(),
    };
  }
}

/** The object of that kind and name, custom kinds included; undefined when it is not there. */
function foundIn(cluster: Cluster, reference: string): KubernetesObject | undefined {
  let resolved;
  try {
    resolved = cluster.resolve(reference);
  } catch {
    return undefined; // A kind that only an aggregated server knows.
  }
  return cluster.peekOne(resolved);
}
