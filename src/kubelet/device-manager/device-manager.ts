/**
 * Gives the devices of plugins to containers. Upstream: pkg/kubelet/cm/devicemanager/manager.go.
 *
 * Invariants: a device is in at most one container, save that containers of a pod inherit those of its init containers;
 * what was given is on disk before the container is made, and holds over a restart of the kubelet until the pod has ended.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { quantityValue } from '../../api/quantity.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { isServedByClaim } from '../../component-helpers/resource-claims.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { ContainerDevices } from '../runtime/container-config.ts';
import type { HintProvider, TopologyHint, TopologyHints } from '../topology-manager/hints.ts';
import { podUid } from '../types/pod-update.ts';
import { readDeviceCheckpoint, writeDeviceCheckpoint } from './checkpoint.ts';
import { chooseDevices } from './choose-devices.ts';
import { createContainerShare } from './container-share.ts';
import { deviceHints, haveTopology } from './device-hints.ts';
import type { DeviceInventory } from './device-inventory.ts';
import { createPodDevices, type PodDevices } from './pod-devices.ts';

export interface DeviceManagerDeps {
  readonly files: Files;
  readonly log: Log;
  readonly inventory: DeviceInventory;
  /** NUMA nodes of the machine. */
  readonly numaNodes: () => readonly number[];
  /** Whether the container ran before this kubelet came: it keeps what it has. */
  readonly isContainerRunning: (podUid: string, container: string) => boolean;
}

export interface DeviceManager extends HintProvider {
  readonly podDevices: Pick<PodDevices, 'ofContainer' | 'inUse' | 'entries'>;
  /** Reads what an earlier run kept; damage is logged and forgotten. */
  restore(): Promise<void>;
  /** Writes what is there; for the inventory's changes. */
  save(): Promise<void>;
  /** Whether a container of the pod asks for a resource of plugins. */
  concerns(pod: Pod): boolean;
  /** How much of a resource all containers have. */
  allocated(resource: string): number;
  /** Frees what other pods had. */
  keepOnly(podUids: ReadonlySet<string>): void;
  /** What the container's devices add to it. Gets them ready first where their plugin wants that. */
  containerDevices(pod: Pod, container: Container): Promise<ContainerDevices | undefined>;
}

/** Makes the manager. The checkpoint lies in the directory of the plugins' sockets. */
export function createDeviceManager(deps: DeviceManagerDeps, directory: string): DeviceManager {
  const { inventory, files, log } = deps;
  const podDevices = createPodDevices();
  const reusable = new Map<string, Map<string, Set<string>>>();
  const mutex = new KeyedMutex();
  const path = `${directory}/kubelet_internal_checkpoint`;

  const isOurs = (resource: string): boolean =>
    inventory.isKnown(resource) || podDevices.entries().some((entry) => entry.resource === resource);
  /** What a claim serves is the DRA drivers' business, whatever plugins there were. */
  const wantedBy = (pod: Pod, { name, resources }: Container): [string, number][] =>
    Object.entries(resources?.limits ?? {}).flatMap(([resource, quantity]): [string, number][] =>
      resource.includes('/') && isOurs(resource) && !isServedByClaim(pod, resource, name)
        ? [[resource, quantityValue(quantity)]]
        : [],
    );
  const reusableOf = (pod: Pod, resource: string): ReadonlySet<string> =>
    reusable.get(podUid(pod))?.get(resource) ?? new Set();

  const save = (): Promise<void> =>
    mutex.run('save', () =>
      writeDeviceCheckpoint(files, path, {
        entries: podDevices.entries(),
        registered: Object.fromEntries(inventory.resources().map((name) => [name, [...inventory.healthy(name)]])),
      }),
    );

  /** What the container has already; undefined: it has to be given it. Throws when it cannot keep it. */
  function kept(pod: Pod, container: Container, [resource, count]: [string, number]): readonly string[] | undefined {
    const held = podDevices.get(podUid(pod), container.name, resource);
    if (held === undefined) return undefined;
    if (held.ids.length !== count)
      throw new Error(
        `pod "${podUid(pod)}" container "${container.name}" changed request for resource "${resource}" from ${held.ids.length} to ${count}`,
      );
    if (deps.isContainerRunning(podUid(pod), container.name)) return held.ids;
    const healthy = inventory.healthy(resource);
    if (!inventory.isKnown(resource)) throw new Error(`cannot allocate unregistered device ${resource}`);
    if (healthy.size === 0)
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    if (!held.ids.every((id) => healthy.has(id)))
      throw new Error(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      );
    return held.ids;
  }

  async function give(pod: Pod, container: Container, of: { wanted: [string, number]; hint: TopologyHint }) {
    const { wanted, hint } = of;
    const [resource, count] = wanted;
    if (count === 0 || kept(pod, container, wanted) !== undefined) return;
    const endpoint = inventory.endpoint(resource);
    if (!inventory.isKnown(resource)) throw new Error(`cannot allocate unregistered device ${resource}`);
    const ids = await chooseDevices(
      {
        resource,
        count,
        reusable: reusableOf(pod, resource),
        inUse: podDevices.inUse(resource),
        affinity: hint.affinity,
      },
      inventory,
    );
    if (endpoint === undefined) throw new Error(`unknown Device Plugin ${resource}`);
    const response = await endpoint.allocate(ids);
    const known = inventory.devices(resource);
    const nodes = ids.flatMap((id): [string, number[]][] => {
      const own = (known.get(id)?.topology?.nodes ?? []).map(({ ID }) => ID);
      return own.length === 0 ? [] : [[id, own]];
    });
    const entry = { podUid: podUid(pod), container: container.name, resource };
    podDevices.set({ ...entry, ids, nodes: Object.fromEntries(nodes), response });
  }

  /** What an init container leaves is for the containers after it, once each. */
  function passOn(pod: Pod, container: Container): void {
    const uid = podUid(pod);
    const init = (pod.spec?.initContainers ?? []).some(({ name }) => name === container.name);
    const leaves = init && container.restartPolicy !== 'Always';
    const left = reusable.get(uid) ?? new Map<string, Set<string>>();
    reusable.set(uid, left);
    for (const [resource, { ids }] of podDevices.ofContainer(uid, container.name)) {
      const pool = left.get(resource) ?? new Set<string>();
      left.set(resource, pool);
      for (const id of ids) {
        if (leaves) pool.add(id);
        else pool.delete(id);
      }
    }
  }

  function allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    return mutex.run('allocate', async () => {
      const wanted = wantedBy(pod, container);
      if (wanted.length === 0) return;
      const before = podDevices.entries().length;
      for (const each of wanted) await give(pod, container, { wanted: each, hint });
      passOn(pod, container);
      if (podDevices.entries().length !== before) await save();
    });
  }

  function hintsOf(pod: Pod, resource: string, of: { request: number; held: readonly string[] | undefined }) {
    const { request, held } = of;
    const devices = inventory.devices(resource);
    if (!haveTopology(devices)) return undefined;
    const common = { devices, request, numaNodes: deps.numaNodes() };
    if (held !== undefined)
      return held.length === request ? deviceHints({ ...common, available: new Set(held), reusable: new Set() }) : [];
    const inUse = podDevices.inUse(resource);
    const available = new Set([...inventory.healthy(resource)].filter((id) => !inUse.has(id)));
    const reuse = reusableOf(pod, resource);
    return available.size + reuse.size < request ? [] : deviceHints({ ...common, available, reusable: reuse });
  }

  return {
    podDevices,
    save,
    allocate,
    concerns: (pod) => allContainers(pod).some((container) => wantedBy(pod, container).length > 0),
    allocated: (resource) => podDevices.inUse(resource).size,
    keepOnly(podUids) {
      for (const uid of podDevices.podUids()) if (!podUids.has(uid)) podDevices.remove(uid);
      for (const uid of reusable.keys()) if (!podUids.has(uid)) reusable.delete(uid);
    },
    topologyHints(pod, container): TopologyHints {
      return Object.fromEntries(
        wantedBy(pod, container).map(([resource, request]) => {
          const held = podDevices.get(podUid(pod), container.name, resource)?.ids;
          return [resource, hintsOf(pod, resource, { request, held })];
        }),
      );
    },
    podTopologyHints(pod): TopologyHints {
      const names = new Set(allContainers(pod).flatMap((container) => wantedBy(pod, container).map(([name]) => name)));
      return Object.fromEntries(
        [...names].map((resource) => {
          const request = podRequest(pod, resource);
          const ids = allContainers(pod).flatMap(({ name }) => podDevices.get(podUid(pod), name, resource)?.ids ?? []);
          const held = ids.length === 0 ? undefined : [...new Set(ids)];
          return [resource, hintsOf(pod, resource, { request, held })];
        }),
      );
    },
    containerDevices: createContainerShare({ inventory, podDevices, wantedBy, allocate }),
    async restore() {
      try {
        const checkpoint = await readDeviceCheckpoint(files, path);
        for (const entry of checkpoint?.entries ?? []) podDevices.set(entry);
        for (const resource of Object.keys(checkpoint?.registered ?? {})) inventory.restored(resource);
      } catch (error) {
        log.error('Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date', {
          path,
          err: error,
        });
      }
    },
  };
}

function allContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

/** Of a resource: containers and sidecars together, or the largest init container with the sidecars before it. */
function podRequest(pod: Pod, resource: string): number {
  const amount = (container: Container): number => quantityValue(container.resources?.limits?.[resource] ?? '0');
  let [sidecars, init] = [0, 0];
  for (const container of pod.spec?.initContainers ?? []) {
    if (container.restartPolicy === 'Always') sidecars += amount(container);
    else init = Math.max(init, amount(container) + sidecars);
  }
  return Math.max(init, sidecars + (pod.spec?.containers ?? []).reduce((sum, each) => sum + amount(each), 0));
}
