/** The runtime service of the simulated runtime. */
import { CriError } from '../cri-error.ts';
import type { CriRuntimeService, StatusResponse, VersionResponse } from '../gen/cri-types.ts';
import { leanContainerConfig, leanSandboxConfig } from './lean-config.ts';
import { SimContainer } from './sim-container.ts';
import { forwardUrl, heldWhile } from './sim-http.ts';
import { durationMs, type SimExecResult } from './sim-image.ts';
import type { SimSandbox } from './sim-sandbox.ts';
import { containerStats, containerStatus, describeContainer, describeSandbox, sandboxStatus } from './sim-status.ts';
import type { SimState } from './sim-state.ts';
import type { PendingStream } from './sim-streaming.ts';

type Labels = Readonly<Record<string, string>>;

function unimplemented(method: string): never {
  throw new CriError('Unimplemented', `method ${method} not implemented`);
}

/** Those with the labels, which are looked at before anything is told of them: most questions are about one pod of many. */
function labelled<T>(all: Iterable<T>, labelsOf: (item: T) => Labels | undefined, selector: Labels | undefined): T[] {
  const wanted = Object.entries(selector ?? {});
  const found: T[] = [];
  each: for (const item of all) {
    const labels = labelsOf(item);
    for (const [key, value] of wanted) if (labels?.[key] !== value) continue each;
    found.push(item);
  }
  return found;
}

const labelsOfSandbox = ({ config }: SimSandbox): Labels | undefined => config.labels;
const labelsOfContainer = ({ init }: SimContainer): Labels | undefined => init.config.labels;

function isNameTaken(state: SimState, uid: string | undefined, attempt: number): boolean {
  for (const { config } of state.sandboxes.values())
    if (config.metadata?.uid === uid && (config.metadata?.attempt ?? 0) === attempt) return true;
  return false;
}

function sandboxOf(state: SimState, id: string | undefined): SimSandbox {
  const sandbox = state.sandboxes.get(id ?? '');
  if (sandbox === undefined) throw new CriError('NotFound', `an error occurred when try to find sandbox: not found`);
  return sandbox;
}

function containerOf(state: SimState, id: string | undefined): SimContainer {
  const container = state.containers.get(id ?? '');
  if (container === undefined)
    throw new CriError('NotFound', `an error occurred when try to find container "${id}": not found`);
  return container;
}

interface RequestedUser {
  readonly runAsUser?: { readonly value?: number } | undefined;
  readonly runAsUsername?: string | undefined;
  readonly runAsGroup?: { readonly value?: number } | undefined;
}

/** containerd takes a group only beside a user. */
function refuseGroupAlone({ runAsUser, runAsUsername = '', runAsGroup }: RequestedUser = {}): void {
  if (runAsGroup === undefined || runAsUser !== undefined || runAsUsername !== '') return;
  const why = `user group "${runAsGroup.value ?? 0}" is specified without user`;
  throw new CriError('Unknown', `failed to generate user string: ${why}`);
}

type SandboxCalls = Pick<
  CriRuntimeService,
  'runPodSandbox' | 'stopPodSandbox' | 'removePodSandbox' | 'podSandboxStatus' | 'listPodSandbox'
>;

function sandboxCalls(state: SimState): SandboxCalls {
  const { clock } = state.deps;
  const containersOf = (id: string): SimContainer[] =>
    [...state.containers.values()].filter((container) => container.init.sandboxId === id);
  const stop = async (sandbox: SimSandbox): Promise<void> => {
    await Promise.all(containersOf(sandbox.id).map((container) => container.stop(0)));
    if (!sandbox.ready) return;
    sandbox.ready = false;
    sandbox.ip = '';
    state.emit({ containerId: sandbox.id, type: 'stopped', exitCode: 137 });
  };
  return {
    async runPodSandbox({ config = {}, runtimeHandler = '' }, options) {
      await clock.sleep(durationMs(state.config.sandboxStart), options?.signal);
      const { uid, attempt = 0 } = config.metadata ?? {};
      if (isNameTaken(state, uid, attempt))
        throw new CriError('Unknown', `failed to reserve sandbox name: name is reserved for ${uid} attempt ${attempt}`);
      refuseGroupAlone(config.linux?.securityContext);
      const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
      const id = state.newId();
      state.sandboxes.set(id, {
        id,
        config: state.config.lean === true ? leanSandboxConfig(config) : config,
        runtimeHandler,
        hostNetwork,
        createdAtMs: clock.nowMs(),
        ready: true,
        ip: hostNetwork ? '' : state.allocateIp(),
      });
      state.emit({ containerId: id, type: 'created' });
      state.emit({ containerId: id, type: 'started' });
      return { podSandboxId: id };
    },
    async stopPodSandbox({ podSandboxId }) {
      const sandbox = state.sandboxes.get(podSandboxId ?? '');
      if (sandbox !== undefined) await stop(sandbox);
      return {};
    },
    async removePodSandbox({ podSandboxId }) {
      const sandbox = state.sandboxes.get(podSandboxId ?? '');
      if (sandbox === undefined) return {};
      await stop(sandbox);
      for (const container of containersOf(sandbox.id)) state.containers.delete(container.init.id);
      state.sandboxes.delete(sandbox.id);
      state.emit({ containerId: sandbox.id, type: 'deleted' });
      return {};
    },
    async podSandboxStatus({ podSandboxId }) {
      return {
        status: sandboxStatus(sandboxOf(state, podSandboxId)),
        info: {},
        containersStatuses: [],
        timestampMs: 0,
      };
    },
    async listPodSandbox({ filter = {} }) {
      const wanted = filter.state?.state;
      const items = labelled(state.sandboxes.values(), labelsOfSandbox, filter.labelSelector)
        .map(describeSandbox)
        .filter(
          (sandbox) =>
            (!filter.id || sandbox.id === filter.id) &&
            (filter.state === undefined || sandbox.state === (wanted ?? 'SANDBOX_READY')),
        );
      return { items };
    },
  };
}

type ContainerCalls = Pick<
  CriRuntimeService,
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'listContainers'
  | 'containerStatus'
  | 'updateContainerResources'
  | 'reopenContainerLog'
  | 'execSync'
>;

/** Stands for images that never crash: nobody counts how often they were started. */
const neverCrashes = (): boolean => false;

/** A container that was made and never started, by a kubelet that died in between, has not crashed. */
function startCounter(starts: SimState['starts'], key: string, crashes: number): () => boolean {
  return () => {
    const before = starts.get(key) ?? 0;
    starts.set(key, before + 1);
    return before < crashes;
  };
}

/** More variables than this stay the list that containers share. */
const MANY_VARIABLES = 1000;

function environmentOf(state: SimState, { envs = [] }: SimContainer['init']['config']): () => Record<string, string> {
  const made = (): Record<string, string> =>
    Object.fromEntries(envs.map(({ key = '', value = '' }) => [key, state.texts.intern(value)]));
  if (envs.length > MANY_VARIABLES) return made;
  const environment = made();
  return () => environment;
}

function newContainer(state: SimState, sandbox: SimSandbox, config: SimContainer['init']['config']): SimContainer {
  const wanted = config.image?.image ?? '';
  const image = state.store.find(wanted);
  if (image === undefined) throw new CriError('NotFound', `failed to resolve image "${wanted}": not found`);
  const key = `${sandbox.config.metadata?.uid}/${config.metadata?.name}/${image.name}`;
  const id = state.newId();
  const { logDirectory = '' } = sandbox.config;
  const logPath = logDirectory === '' || !config.logPath ? '' : `${logDirectory}/${config.logPath}`;
  const init = {
    id,
    environment: environmentOf(state, config),
    config: state.config.lean === true ? leanContainerConfig(config) : config,
    image,
    logPath,
    sandboxId: sandbox.id,
    imageId: state.store.idOf(image),
    podIp: sandbox.ip,
    memoryLimitBytes: config.linux?.resources?.memoryLimitInBytes ?? 0,
    countStart: image.crashes === undefined ? neverCrashes : startCounter(state.starts, key, image.crashes.times),
    onChange: state.onChange,
  };
  return new SimContainer(init, state.deps);
}

function containerCalls(state: SimState): ContainerCalls {
  const { files } = state.deps;
  return {
    async createContainer({ podSandboxId, config = {} }) {
      const sandbox = sandboxOf(state, podSandboxId);
      if (!sandbox.ready) throw new CriError('Unknown', `sandbox container "${podSandboxId}" is not running`);
      refuseGroupAlone(config.linux?.securityContext);
      const container = newContainer(state, sandbox, config);
      state.containers.set(container.init.id, container);
      state.emit({ containerId: container.init.id, type: 'created' });
      return { containerId: container.init.id };
    },
    async startContainer({ containerId }, options) {
      const container = containerOf(state, containerId);
      if (container.state !== 'CONTAINER_CREATED')
        throw new CriError('Unknown', `container is in ${container.state} state`);
      const { startError } = container.init.image;
      if (startError !== undefined) {
        await container.exit(128, 'StartError');
        throw new CriError('Unknown', startError);
      }
      await container.start(options?.signal);
      return {};
    },
    async stopContainer({ containerId, timeoutSeconds = 0 }, options) {
      await state.containers.get(containerId ?? '')?.stop(timeoutSeconds * 1000, options?.signal);
      return {};
    },
    async removeContainer({ containerId }) {
      const container = state.containers.get(containerId ?? '');
      if (container === undefined) return {};
      await container.stop(0);
      state.containers.delete(container.init.id);
      state.emit({ containerId: container.init.id, type: 'deleted' });
      return {};
    },
    async listContainers({ filter = {} }) {
      const wanted = filter.state === undefined ? undefined : (filter.state.state ?? 'CONTAINER_CREATED');
      const containers = labelled(state.containers.values(), labelsOfContainer, filter.labelSelector)
        .filter(
          ({ state: is, init }) =>
            (wanted === undefined || is === wanted) &&
            (!filter.id || init.id === filter.id) &&
            (!filter.podSandboxId || init.sandboxId === filter.podSandboxId),
        )
        .map(describeContainer);
      return { containers };
    },
    async containerStatus({ containerId }) {
      return { status: containerStatus(containerOf(state, containerId)), info: {} };
    },
    async updateContainerResources({ containerId, linux }) {
      const container = containerOf(state, containerId);
      if (linux?.memoryLimitInBytes) container.limitMemory(Math.max(0, linux.memoryLimitInBytes));
      return {};
    },
    async reopenContainerLog({ containerId }) {
      const container = containerOf(state, containerId);
      if (container.state !== 'CONTAINER_RUNNING') throw new CriError('Unknown', 'container is not running');
      if (container.init.logPath !== '' && !(await files.exists(container.init.logPath)))
        await files.writeFile(container.init.logPath, '');
      return {};
    },
    async execSync({ containerId, cmd = [], timeoutSeconds = 0 }) {
      const container = runningContainer(state, containerId);
      const limitMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 : Number.POSITIVE_INFINITY;
      const { exitCode, stdout = '', stderr = '' } = await runCommand(state, container, { command: cmd, limitMs });
      return { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) };
    },
  };
}

function runningContainer(state: SimState, containerId: string | undefined): SimContainer {
  const container = containerOf(state, containerId);
  if (container.state !== 'CONTAINER_RUNNING')
    throw new CriError('Unknown', `container is in ${container.state} state`);
  return container;
}

async function runCommand(
  { deps }: SimState,
  container: SimContainer,
  { command, limitMs }: { command: readonly string[]; limitMs: number },
): Promise<SimExecResult> {
  const { image, config } = container.init;
  const call = { command, containerName: config.metadata?.name ?? '', environment: container.environment };
  const result =
    image.exec === undefined
      ? { exitCode: 0 }
      : await heldWhile(deps.clock, `the command ${command.join(' ')}`, () => image.exec!(call));
  const takesMs = durationMs(result.after);
  // What takes no time is done at once, also where time only moves when it is told to.
  if (takesMs > 0) await deps.clock.sleep(Math.min(takesMs, limitMs));
  if (takesMs <= limitMs) return result;
  throw new CriError(
    'DeadlineExceeded',
    `failed to exec in container: timeout ${limitMs / 1000}s exceeded: context deadline exceeded`,
  );
}

type StreamRequest = Parameters<CriRuntimeService['exec']>[0] & Parameters<CriRuntimeService['attach']>[0];

/** Where the client's connection is to be joined with what runs. */
function streamUrl(
  state: SimState,
  request: StreamRequest,
  { call, run }: { call: 'Exec' | 'Attach'; run: PendingStream['run'] },
): string {
  if (state.streamingAt === undefined) return unimplemented(call);
  const token = state.newId().slice(0, 16);
  const { stdin = false, stdout = false, stderr = false, tty = false } = request;
  state.pendingStreams.set(token, { run, stdin, stdout, stderr, tty });
  return `http://${state.streamingAt}/${call.toLowerCase()}/${token}`;
}

function execUrl(state: SimState, request: StreamRequest): string {
  const container = runningContainer(state, request.containerId);
  const how = { command: request.cmd ?? [], limitMs: Number.POSITIVE_INFINITY };
  return streamUrl(state, request, {
    call: 'Exec',
    async run(write) {
      const { exitCode, stdout = '', stderr = '' } = await runCommand(state, container, how);
      await write('stdout', stdout);
      await write('stderr', stderr);
      return exitCode;
    },
  });
}

/** Lines as they are logged, until the container ends. */
function attachUrl(state: SimState, request: StreamRequest): string {
  const container = runningContainer(state, request.containerId);
  return streamUrl(state, request, {
    call: 'Attach',
    async run(write) {
      let written = Promise.resolve();
      const leave = container.onLine((line, stream) => {
        // Whoever broke off is told nothing more.
        written = written.then(() => write(stream, `${line}\n`)).catch(() => undefined);
      });
      await container.ended;
      leave();
      await written;
      return 0;
    },
  });
}

const VERSION: VersionResponse = {
  version: '0.1.0',
  runtimeName: 'simulated',
  runtimeVersion: '1.0.0',
  runtimeApiVersion: 'v1',
};

/** Kubelets ask every few seconds: the answers are made once. */
function runtimeStatus({ config }: SimState, networkReady: boolean): StatusResponse {
  const why = networkReady
    ? { reason: '', message: '' }
    : { reason: 'NetworkPluginNotReady', message: 'Network plugin returns error: cni plugin not initialized' };
  const conditions = [
    { type: 'RuntimeReady', status: true, reason: '', message: '' },
    { type: 'NetworkReady', status: networkReady, ...why },
  ];
  const features = { recursiveReadOnlyMounts: false, userNamespaces: config.userNamespaces ?? false };
  return { status: { conditions }, info: {}, runtimeHandlers: [{ name: '', features }] };
}

export function createSimRuntimeService(state: SimState): CriRuntimeService {
  const { clock } = state.deps;
  const ready = runtimeStatus(state, true);
  const unready = runtimeStatus(state, false);
  return {
    ...sandboxCalls(state),
    ...containerCalls(state),
    version: async () => VERSION,
    status: async () => (state.config.networkReady !== false && state.network.podCidr !== undefined ? ready : unready),
    async updateRuntimeConfig({ runtimeConfig }) {
      const podCidr = runtimeConfig?.networkConfig?.podCidr;
      if (podCidr && state.config.networkReady === 'with-range') state.network.podCidr = podCidr;
      return {};
    },
    runtimeConfig: async () => ({ linux: { cgroupDriver: 'CGROUPFS' } }),
    updatePodSandboxResources: async () => ({}),
    containerStats: async ({ containerId }) => ({
      stats: containerStats(containerOf(state, containerId), clock.nowMs()),
    }),
    async listContainerStats({ filter = {} }) {
      const all = labelled(state.containers.values(), labelsOfContainer, filter.labelSelector).filter(
        ({ init }) =>
          (!filter.id || init.id === filter.id) && (!filter.podSandboxId || init.sandboxId === filter.podSandboxId),
      );
      return { stats: all.map((container) => containerStats(container, clock.nowMs())) };
    },
    exec: async (request) => ({ url: execUrl(state, request) }),
    attach: async (request) => ({ url: attachUrl(state, request) }),
    portForward: async (request) => ({ url: forwardUrl(state, request) }),
    podSandboxStats: async () => unimplemented('PodSandboxStats'),
    listPodSandboxStats: async () => unimplemented('ListPodSandboxStats'),
    checkpointContainer: async () => unimplemented('CheckpointContainer'),
    listMetricDescriptors: async () => unimplemented('ListMetricDescriptors'),
    listPodSandboxMetrics: async () => unimplemented('ListPodSandboxMetrics'),
    streamPodSandboxes: () => refuse('StreamPodSandboxes'),
    streamContainers: () => refuse('StreamContainers'),
    streamContainerStats: () => refuse('StreamContainerStats'),
    streamPodSandboxStats: () => refuse('StreamPodSandboxStats'),
    streamPodSandboxMetrics: () => refuse('StreamPodSandboxMetrics'),
    getContainerEvents: () => refuse('GetContainerEvents'),
  };
}

/** A stream that fails at its first value. */
function refuse(method: string): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: async () => unimplemented(method) }) };
}
