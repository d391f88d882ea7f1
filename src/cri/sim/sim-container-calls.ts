/** The calls of the simulated runtime service that concern containers. */
import { CriError } from '../cri-error.ts';
import type { CriRuntimeService } from '../gen/cri-types.ts';
import { leanContainerConfig } from './lean-config.ts';
import { SimContainer } from './sim-container.ts';
import { awaitWithTimeHeld } from './sim-http.ts';
import { durationMs, type SimExecResult } from './sim-image.ts';
import {
  containerOf,
  withLabels,
  labelsOfContainer,
  refuseGroupAlone,
  runningContainer,
  sandboxOf,
} from './sim-runtime-lookup.ts';
import type { SimSandbox } from './sim-sandbox.ts';
import type { SimState } from './sim-state.ts';
import { containerStatus, describeContainer } from './sim-status.ts';

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

/** For images that never crash, whose starts are not counted. */
const neverCrashes = (): boolean => false;

/**
 * Counts starts. A container that was created but never started, because a kubelet died in between, has not crashed.
 */
function startCounter(starts: SimState['starts'], key: string, crashes: number): () => boolean {
  return () => {
    const before = starts.get(key) ?? 0;
    starts.set(key, before + 1);
    return before < crashes;
  };
}

/** With more variables than this, containers share the list. */
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

export function containerCalls(state: SimState): ContainerCalls {
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
      const containers = withLabels(state.containers.values(), labelsOfContainer, filter.labelSelector)
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

export async function runCommand(
  { deps }: SimState,
  container: SimContainer,
  { command, limitMs }: { command: readonly string[]; limitMs: number },
): Promise<SimExecResult> {
  const { image, config } = container.init;
  const call = { command, containerName: config.metadata?.name ?? '', environment: container.environment };
  const result =
    image.exec === undefined
      ? { exitCode: 0 }
      : await awaitWithTimeHeld(deps.clock, `the command ${command.join(' ')}`, () => image.exec!(call));
  const takesMs = durationMs(result.after);
  // A step without duration needs no timer, so that it also ends where time only moves by `advance`.
  if (takesMs > 0) await deps.clock.sleep(Math.min(takesMs, limitMs));
  if (takesMs <= limitMs) return result;
  throw new CriError(
    'DeadlineExceeded',
    `failed to exec in container: timeout ${limitMs / 1000}s exceeded: context deadline exceeded`,
  );
}
