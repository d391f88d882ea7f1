/**
 * The static policy: guaranteed pods get their memory and huge pages from the fewest NUMA nodes that suffice, and
 * their containers are bound to these. Upstream: pkg/kubelet/cm/memorymanager. With the None policy there is no such
 * manager.
 *
 * Differs: the checkpoint `memory_manager_state` has only the allocations; upstream's also has what follows from
 * them.
 */
import { isRestartableInitContainer, podContainers } from '../../api/pod-containers.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import { quantityFromValue, quantityValue } from '../../api/quantity.ts';
import { fnv32a } from '../../base/fnv.ts';
import type { Files } from '../../platform/files.ts';
import type { HostNumaNode } from '../../platform/host.ts';
import type { HintProvider, TopologyHint, TopologyHints } from '../topology-manager/hints.ts';
import { podUid } from '../types/pod-update.ts';
import { chooseNodes, memoryHints, takeMemory, type Bytes, type MemoryBlock, type MemoryMap } from './memory-blocks.ts';

/** The memory reserved on each NUMA node; their sum must equal the reservations and the hard eviction threshold. */
export interface MemoryManagerConfig {
  readonly reservedMemory: readonly {
    readonly numaNode: number;
    readonly limits: Readonly<Record<string, string>>;
  }[];
  /** The reserved memory of node allocatable, by kind. */
  readonly reservedByNode: (capacityBytes: number) => Bytes;
}

export interface MemoryManager extends HintProvider {
  /** Reads the checkpoint of an earlier run. Rejects when it contradicts the machine or the configuration. */
  start(nodes: readonly HostNumaNode[]): Promise<void>;
  /** Whether the pod's containers are bound to NUMA nodes. */
  concerns(pod: Pod): boolean;
  keepOnly(podUids: ReadonlySet<string>): Promise<void>;
  /** NUMA nodes the container is bound to; undefined: none. */
  nodesOf(podUid: string, container: string): readonly number[] | undefined;
  blocksOf(podUid: string, container: string): readonly MemoryBlock[];
  allocatable(): readonly MemoryBlock[];
}

type Entries = Readonly<Record<string, Readonly<Record<string, readonly MemoryBlock[]>>>>;

/** The checkpoint is `memory_manager_state` in the directory. */
export function createMemoryManager(
  deps: { files: Files },
  directory: string,
  config: MemoryManagerConfig,
): MemoryManager {
  const { files } = deps;
  const path = `${directory}/memory_manager_state`;
  let allocatable: ReadonlyMap<number, Bytes> = new Map();
  let entries: Entries = {};

  const map = (own: Entries = entries): MemoryMap => ({
    allocatable,
    blocks: Object.values(own).flatMap((containers) => Object.values(containers).flat()),
  });

  async function save(): Promise<void> {
    const kept = { policyName: 'Static', entries };
    const checkpoint = JSON.stringify({ ...kept, checksum: fnv32a(JSON.stringify(kept)) });
    await files.writeFileAtomic(path, checkpoint, { mode: 0o600 });
  }

  async function restore(): Promise<void> {
    if (!(await files.exists(path))) return;
    const { checksum, ...kept } = JSON.parse(await files.readText(path)) as {
      policyName: string;
      entries: Entries;
      checksum: number;
    };
    if (kept.policyName !== 'Static' || checksum !== fnv32a(JSON.stringify(kept)))
      throw new Error(
        `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete the memory manager checkpoint file "${path}" before restarting Kubelet`,
      );
    entries = kept.entries;
  }

  /** The allocations of the pod's init containers without what this container may reuse of them. */
  function withoutInit(pod: Pod, container: Container): Entries {
    const own = entries[podUid(pod)];
    if (own === undefined) return entries;
    const before = (pod.spec?.initContainers ?? []).filter(
      ({ name, restartPolicy }) => name !== container.name && restartPolicy !== 'Always',
    );
    const emptied = before.flatMap(({ name }) =>
      own[name] === undefined ? [] : [[name, own[name].map((block) => ({ ...block, amounts: {} }))] as const],
    );
    return { ...entries, [podUid(pod)]: { ...own, ...Object.fromEntries(emptied) } };
  }

  const requestOf = (pod: Pod, container: Container): Bytes => (isBound(pod) ? requestedBytes(container) : {});

  function hintsOf(on: MemoryMap, request: Bytes): TopologyHints {
    const hints = memoryHints(on, request);
    return Object.fromEntries(Object.keys(request).map((type) => [type, hints]));
  }

  return {
    concerns: (pod) =>
      isBound(pod) && podContainers(pod.spec).some((each) => Object.keys(requestedBytes(each)).length > 0),
    blocksOf: (uid, name) => entries[uid]?.[name] ?? [],
    nodesOf(uid, name) {
      const nodes = (entries[uid]?.[name] ?? []).flatMap(({ numaAffinity }) => numaAffinity);
      return nodes.length === 0 ? undefined : [...new Set(nodes)].sort((a, b) => a - b);
    },
    allocatable: () =>
      [...allocatable].flatMap(([node, bytes]) =>
        Object.entries(bytes).map(([type, size]) => ({ numaAffinity: [node], type, size, amounts: { [node]: size } })),
      ),
    topologyHints(pod, container) {
      const request = requestOf(pod, container);
      if (Object.keys(request).length === 0) return {};
      const held = entries[podUid(pod)]?.[container.name];
      if (held !== undefined) return hintsOfHeld(held);
      return hintsOf(map(withoutInit(pod, container)), request);
    },
    podTopologyHints(pod) {
      const request = isBound(pod) ? podBytes(pod) : {};
      if (Object.keys(request).length === 0) return {};
      const held = Object.values(entries[podUid(pod)] ?? {}).flat();
      return held.length > 0 ? hintsOfHeld(held) : hintsOf(map(), request);
    },
    async allocate(pod: Pod, container: Container, hint: TopologyHint) {
      const request = requestOf(pod, container);
      const uid = podUid(pod);
      if (Object.keys(request).length === 0 || entries[uid]?.[container.name] !== undefined) return;
      const base = withoutInit(pod, container);
      const mask = chooseNodes(map(base), request, hint.affinity);
      const blocks = takeMemory(map(base), request, mask);
      entries = { ...base, [uid]: { ...base[uid], [container.name]: blocks } };
      await save();
    },
    async keepOnly(podUids) {
      const remaining = Object.entries(entries).filter(([uid]) => podUids.has(uid));
      if (remaining.length === Object.keys(entries).length) return;
      entries = Object.fromEntries(remaining);
      await save();
    },
    async start(nodes) {
      allocatable = allocatableOf(nodes, config);
      await restore();
      await save();
    },
  };
}

function hintsOfHeld(held: readonly MemoryBlock[]): TopologyHints {
  return Object.fromEntries(
    held.map(({ type, numaAffinity }) => [
      type,
      [{ affinity: numaAffinity.reduce((mask, node) => mask | (1 << node), 0), preferred: true }],
    ]),
  );
}

function isBound(pod: Pod): boolean {
  return podQosClass(pod) === 'Guaranteed' && pod.spec?.resources === undefined;
}

function requestedBytes({ resources }: Container): Bytes {
  return Object.fromEntries(
    Object.entries({ ...resources?.limits, ...resources?.requests }).flatMap(([name, quantity]) => {
      const bytes = name === 'memory' || name.startsWith('hugepages-') ? quantityValue(quantity) : 0;
      return bytes === 0 ? [] : [[name, bytes]];
    }),
  );
}

/** The sum of containers and sidecars, or the largest init container with the sidecars before it. */
function podBytes(pod: Pod): Bytes {
  const add = (a: Bytes, b: Bytes): Bytes => merge(a, b, (x, y) => x + y);
  let [sidecars, init]: Bytes[] = [{}, {}];
  for (const container of pod.spec?.initContainers ?? []) {
    const own = requestedBytes(container);
    if (isRestartableInitContainer(container)) sidecars = add(sidecars!, own);
    else init = merge(init!, add(sidecars!, own), Math.max);
  }
  const sum = (pod.spec?.containers ?? []).reduce((total, each) => add(total, requestedBytes(each)), sidecars!);
  return merge(init!, sum, Math.max);
}

function merge(a: Bytes, b: Bytes, how: (x: number, y: number) => number): Bytes {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, how(a[name] ?? 0, b[name] ?? 0)]));
}

function allocatableOf(nodes: readonly HostNumaNode[], config: MemoryManagerConfig): ReadonlyMap<number, Bytes> {
  const total = nodes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  const reserved = config.reservedMemory.reduce<Bytes>(
    (sum, { limits }) =>
      merge(sum, Object.fromEntries(Object.entries(limits).map(([n, q]) => [n, quantityValue(q)])), (x, y) => x + y),
    {},
  );
  const expected = config.reservedByNode(total);
  for (const type of new Set([...Object.keys(reserved), ...Object.keys(expected)]))
    if ((reserved[type] ?? 0) !== (expected[type] ?? 0))
      throw new Error(
        `the total amount "${formatBytes(reserved[type] ?? 0)}" of type "${type}" is not equal to the value "${formatBytes(expected[type] ?? 0)}" determined by Node Allocatable feature`,
      );
  return new Map(
    nodes.map(({ node, memoryBytes, hugePages }) => {
      const own = config.reservedMemory.filter(({ numaNode }) => numaNode === node);
      const kept = (type: string): number =>
        own.reduce((sum, { limits }) => sum + quantityValue(limits[type] ?? '0'), 0);
      const pages = hugePages.map(({ pageSizeBytes, count }): [string, number] => [
        `hugepages-${formatBytes(pageSizeBytes)}`,
        pageSizeBytes * count,
      ]);
      // Huge pages are part of the node's memory.
      const memory = memoryBytes - pages.reduce((sum, [, bytes]) => sum + bytes, 0);
      const amounts: [string, number][] = [['memory', memory], ...pages];
      return [node, Object.fromEntries(amounts.map(([type, bytes]) => [type, Math.max(0, bytes - kept(type))]))];
    }),
  );
}

function formatBytes(bytes: number): string {
  return quantityFromValue(bytes, 'BinarySI');
}
