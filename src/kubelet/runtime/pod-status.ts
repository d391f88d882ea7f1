/**
 * Reads pods from the runtime: a cheap listing for the PLEG, and the full status of one pod. Upstream:
 * kuberuntime_manager.go (GetPods, GetPodStatus), kuberuntime_container.go (getPodContainerStatuses).
 *
 * An exited container never changes: its status, including its message, is read once and kept until the container is
 * removed.
 */
import type {
  CriRuntimeService,
  Container as CriContainer,
  ContainerStatus as CriContainerStatus,
  PodSandbox,
  PodSandboxStatus,
} from '../../cri/gen/cri-types.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import type { ContainerState, ContainerStatus, PodStatus, RuntimePod, SandboxStatus } from '../container/runtime.ts';
import { Creations } from './creations.ts';
import { ExitedStatuses } from './exited-statuses.ts';
import { containerFacts, POD_UID_LABEL } from './labels.ts';
import type { TerminationMessages } from './termination-message.ts';

export interface PodStatusDeps {
  readonly runtime: CriRuntimeService;
  readonly messages: TerminationMessages;
}

export interface PodStatusReader {
  getPods(all: boolean): Promise<readonly RuntimePod[]>;
  getPodStatus(uid: string, name: string, namespace: string): Promise<PodStatus>;
  /** The pod uid of a container or sandbox from a listing; undefined when unknown. */
  podUidOf(id: string): string | undefined;
  /** Runs the creation of a container or sandbox and records its id for the pod. */
  learning(podUid: string, create: () => Promise<string>): Promise<string>;
  /** Resolves when all creations in progress have ended or failed; undefined: there are none. */
  creations(): Promise<void> | undefined;
  /** Removes what is kept of a pod. */
  forgetPod(uid: string): void;
}

/** Translates CRI's state. */
export function containerState(state: CriContainer['state']): ContainerState {
  switch (state) {
    case 'CONTAINER_CREATED':
      return 'created';
    case 'CONTAINER_RUNNING':
      return 'running';
    case 'CONTAINER_EXITED':
      return 'exited';
    case 'CONTAINER_UNKNOWN':
      return 'unknown';
    default: // a number beyond CRI's enum, which the codec passes on as text
      return 'unknown';
  }
}

function sandboxIps(status: PodSandboxStatus): string[] {
  const { ip = '', additionalIps = [] } = status.network ?? {};
  const addresses = [ip, ...additionalIps.map((other) => other.ip)].filter((address) => address !== '');
  return addresses.slice(); // a copy without spare capacity: `filter` reserves 17 elements
}

function sandboxStatus(status: PodSandboxStatus): SandboxStatus {
  return {
    id: status.id,
    ready: status.state === 'SANDBOX_READY',
    attempt: status.metadata?.attempt ?? 0,
    createdAtMs: status.createdAtMs,
    ips: sandboxIps(status),
    networkNamespace: status.linux?.namespaces?.options?.network === 'NODE' ? 'node' : 'pod',
  };
}

function containerStatus(status: CriContainerStatus, podSandboxId: string, message: string): ContainerStatus {
  const facts = containerFacts(status.labels, status.annotations);
  const exited = status.state === 'CONTAINER_EXITED';
  const limits = status.resources?.linux;
  const user = status.user?.linux;
  return {
    id: status.id,
    name: facts.containerName,
    state: containerState(status.state),
    createdAtMs: status.createdAtMs,
    startedAtMs: status.startedAtMs,
    // A process that exits at once may have done so before the recorded start.
    finishedAtMs: exited ? Math.max(status.finishedAtMs, status.startedAtMs) : 0,
    exitCode: exited ? status.exitCode : 0,
    image: status.image?.userSpecifiedImage || status.image?.image || '',
    imageId: status.imageId || status.imageRef,
    imageRef: status.imageRef,
    hash: facts.hash,
    restartCount: facts.restartCount,
    reason: status.reason,
    message,
    podSandboxId,
    madeWith: facts.madeWith,
    resources: limits && {
      cpuQuota: limits.cpuQuota,
      cpuPeriod: limits.cpuPeriod,
      cpuShares: limits.cpuShares,
      memoryLimitBytes: limits.memoryLimitInBytes,
    },
    user: user && { uid: user.uid, gid: user.gid, supplementalGroups: user.supplementalGroups },
  };
}

interface PodDraft {
  uid: string;
  name: string;
  namespace: string;
  createdAtMs: number;
  containers: RuntimePod['containers'][number][];
  sandboxes: RuntimePod['sandboxes'][number][];
}

function groupByPod(sandboxes: readonly PodSandbox[], containers: readonly CriContainer[]): Map<string, PodDraft> {
  const pods = new Map<string, PodDraft>();
  const draftOf = (uid: string, name: string, namespace: string): PodDraft => {
    const draft = pods.get(uid) ?? { uid, name, namespace, createdAtMs: 0, containers: [], sandboxes: [] };
    pods.set(uid, draft);
    return draft;
  };
  for (const sandbox of sandboxes) {
    const { uid = '', name = '', namespace = '' } = sandbox.metadata ?? {};
    if (sandbox.labels[POD_UID_LABEL] === undefined) continue;
    const draft = draftOf(uid, name, namespace);
    draft.createdAtMs = Math.max(draft.createdAtMs, sandbox.createdAtMs);
    draft.sandboxes.push({ id: sandbox.id, state: sandbox.state === 'SANDBOX_READY' ? 'running' : 'exited' });
  }
  for (const container of containers) {
    const facts = containerFacts(container.labels, container.annotations);
    if (facts.podUid === '') continue;
    draftOf(facts.podUid, facts.podName, facts.podNamespace).containers.push({
      id: container.id,
      name: facts.containerName,
      state: containerState(container.state),
      hash: facts.hash,
    });
  }
  return pods;
}

export function createPodStatusReader({ runtime, messages }: PodStatusDeps): PodStatusReader {
  const exited = new ExitedStatuses();
  const podUids = new Map<string, string>();
  const creations = new Creations();

  const learnAll = (sandboxes: readonly PodSandbox[], containers: readonly CriContainer[]): void => {
    for (const sandbox of sandboxes) podUids.set(sandbox.id, sandbox.metadata?.uid ?? '');
    for (const container of containers) podUids.set(container.id, container.labels[POD_UID_LABEL] ?? '');
  };

  const readContainer = async (container: CriContainer, uid: string): Promise<ContainerStatus | undefined> => {
    const cached = exited.get(uid, container.id);
    if (cached !== undefined) return cached;
    try {
      const { status } = await runtime.containerStatus({ containerId: container.id });
      if (status === undefined) return undefined;
      const result = containerStatus(status, container.podSandboxId, await messages.messageOf(status));
      if (result.state === 'exited') exited.set(uid, result);
      return result;
    } catch (error) {
      // removed between listing and reading
      if (isCriCode(error, 'NotFound')) return undefined;
      throw error;
    }
  };

  const readSandbox = async (sandbox: PodSandbox): Promise<SandboxStatus | undefined> => {
    try {
      const { status } = await runtime.podSandboxStatus({ podSandboxId: sandbox.id });
      return status === undefined ? undefined : sandboxStatus(status);
    } catch (error) {
      if (isCriCode(error, 'NotFound')) return undefined;
      throw error;
    }
  };

  return {
    async getPods(all) {
      const ready = all ? {} : { filter: { state: { state: 'SANDBOX_READY' as const } } };
      const running = all ? {} : { filter: { state: { state: 'CONTAINER_RUNNING' as const } } };
      const knownBefore = all ? [...podUids.keys()] : [];
      const [{ items }, { containers }] = await Promise.all([
        runtime.listPodSandbox(ready),
        runtime.listContainers(running),
      ]);
      for (const id of knownBefore) podUids.delete(id);
      learnAll(items, containers);
      return [...groupByPod(items, containers).values()].sort((a, b) => b.createdAtMs - a.createdAtMs);
    },
    async getPodStatus(uid, name, namespace) {
      const labelSelector = { [POD_UID_LABEL]: uid };
      const [{ items }, { containers }] = await Promise.all([
        runtime.listPodSandbox({ filter: { labelSelector } }),
        runtime.listContainers({ filter: { labelSelector } }),
      ]);
      learnAll(items, containers);
      exited.keepOnly(uid, new Set(containers.map((container) => container.id)));
      const [sandboxes, statuses] = await Promise.all([
        Promise.all(items.map(readSandbox)),
        Promise.all(containers.map((container) => readContainer(container, uid))),
      ]);
      const sandboxStatuses = sandboxes
        .filter((sandbox) => sandbox !== undefined)
        .toSorted((a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs);
      const newest = sandboxStatuses[0];
      return {
        uid,
        name,
        namespace,
        sandboxes: sandboxStatuses,
        ips: newest?.ready ? newest.ips : [],
        containers: statuses.filter((status) => status !== undefined).toSorted((a, b) => b.createdAtMs - a.createdAtMs),
      };
    },
    podUidOf: (id) => podUids.get(id),
    learning: (podUid, create) =>
      creations.run(async () => {
        const id = await create();
        podUids.set(id, podUid);
        return id;
      }),
    creations: () => creations.ended(),
    forgetPod(uid) {
      exited.forgetPod(uid);
      for (const [id, podUid] of podUids) if (podUid === uid) podUids.delete(id);
    },
  };
}
