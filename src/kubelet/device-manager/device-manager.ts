/**
 * Allocates devices of plugins to containers. Upstream: pkg/kubelet/cm/devicemanager/manager.go.
 *
 * Invariants: a device belongs to at most one container, except that containers of a pod reuse those of its init containers; an
 * allocation is on disk before the container is created and survives restarts of the kubelet until the pod has ended.
 */
import { isRestartableInitContainer, podContainers } from '../../api/pod-containers.ts';
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
  /** A running container keeps its devices, even unhealthy ones. */
  readonly isContainerRunning: (podUid: string, container: string) => boolean;
}

export interface DeviceManager extends HintProvider {
  readonly podDevices: Pick<PodDevices, 'ofContainer' | 'podUidsWith'>;
  /** Reads the checkpoint of an earlier run. A damaged one is logged and ignored. */
  restore(): Promise<void>;
  /** Writes the checkpoint; also called when the inventory changes. */
  save(): Promise<void>;
  /** Whether a container of the pod requests a resource of plugins. */
  concerns(pod: Pod): boolean;
  /** How many devices of the resource are allocated. */
  allocated(resource: string): number;
  /** Frees the devices of all other pods. */
  keepOnly(podUids: ReadonlySet<string>): void;
  /** The settings that devices add to the container. Calls PreStartContainer of plugins that require it. */
  containerDevices(pod: Pod, container: Container): Promise<ContainerDevices | undefined>;
}

/** `directory` has the plugins' sockets and the checkpoint. */
export function createDeviceManager(deps: DeviceManagerDeps, directory: string): DeviceManager {
  return new PluginDeviceManager(deps, directory);
}

/** Name of a resource and how many devices of it. */
type DeviceRequest = [resource: string, count: number];

class PluginDeviceManager implements DeviceManager {
  readonly #deps: DeviceManagerDeps;
  readonly podDevices = createPodDevices();
  /** The settings that devices add to the container. */
  readonly containerDevices: DeviceManager['containerDevices'];
  readonly #reusable = new Map<string, Map<string, Set<string>>>();
  readonly #mutex = new KeyedMutex();
  readonly #path: string;
  /** The save that waits for the one under way. */
  #nextSave: Promise<void> | undefined;

  constructor(deps: DeviceManagerDeps, directory: string) {
    this.#deps = deps;
    this.#path = `${directory}/kubelet_internal_checkpoint`;
    this.containerDevices = createContainerShare({
      inventory: deps.inventory,
      podDevices: this.podDevices,
      requestsOf: (pod, container) => this.#deviceRequests(pod, container),
      allocate: (pod, container, hint) => this.allocate(pod, container, hint),
    });
  }

  save(): Promise<void> {
    if (!this.#mutex.isBusy('save')) return this.#mutex.run('save', () => this.#write());
    this.#nextSave ??= this.#mutex.run('save', () => {
      this.#nextSave = undefined;
      return this.#write();
    });
    return this.#nextSave;
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint): Promise<void> {
    return this.#mutex.run('allocate', async () => {
      const requests = this.#deviceRequests(pod, container);
      if (requests.length === 0) return;
      const before = this.podDevices.version;
      for (const request of requests) await this.#allocateResource(pod, container, { request, hint });
      this.#updateReusable(pod, container);
      if (this.podDevices.version !== before) await this.save();
    });
  }

  concerns(pod: Pod): boolean {
    return podContainers(pod.spec).some((container) => this.#deviceRequests(pod, container).length > 0);
  }

  allocated(resource: string): number {
    return this.podDevices.inUse(resource).size;
  }

  keepOnly(podUids: ReadonlySet<string>): void {
    for (const uid of this.podDevices.podUids()) if (!podUids.has(uid)) this.podDevices.remove(uid);
    for (const uid of this.#reusable.keys()) if (!podUids.has(uid)) this.#reusable.delete(uid);
  }

  topologyHints(pod: Pod, container: Container): TopologyHints {
    return Object.fromEntries(
      this.#deviceRequests(pod, container).map(([resource, request]) => {
        const held = this.podDevices.get(podUid(pod), container.name, resource)?.ids;
        return [resource, this.#resourceHints(pod, resource, { request, held })];
      }),
    );
  }

  podTopologyHints(pod: Pod): TopologyHints {
    const names = new Set(
      podContainers(pod.spec).flatMap((container) => this.#deviceRequests(pod, container).map(([name]) => name)),
    );
    return Object.fromEntries(
      [...names].map((resource) => {
        const request = podRequest(pod, resource);
        const ids = podContainers(pod.spec).flatMap(
          ({ name }) => this.podDevices.get(podUid(pod), name, resource)?.ids ?? [],
        );
        const held = ids.length === 0 ? undefined : [...new Set(ids)];
        return [resource, this.#resourceHints(pod, resource, { request, held })];
      }),
    );
  }

  async restore(): Promise<void> {
    try {
      const checkpoint = await readDeviceCheckpoint(this.#deps.files, this.#path);
      for (const entry of checkpoint?.entries ?? []) this.podDevices.set(entry);
      for (const resource of Object.keys(checkpoint?.registered ?? {})) this.#deps.inventory.restored(resource);
    } catch (error) {
      this.#deps.log.error(
        'Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date',
        {
          path: this.#path,
          err: error,
        },
      );
    }
  }

  #write(): Promise<void> {
    const { files, inventory } = this.#deps;
    return writeDeviceCheckpoint(files, this.#path, {
      entries: this.podDevices.entries(),
      registered: Object.fromEntries(inventory.resources().map((name) => [name, [...inventory.healthy(name)]])),
    });
  }

  #isPluginResource(resource: string): boolean {
    return this.#deps.inventory.isKnown(resource) || this.allocated(resource) > 0;
  }

  /** The container's requests to device plugins. Resources that a claim serves belong to DRA drivers. */
  #deviceRequests(pod: Pod, { name, resources }: Container): DeviceRequest[] {
    return Object.entries(resources?.limits ?? {}).flatMap(([resource, quantity]): DeviceRequest[] =>
      resource.includes('/') && this.#isPluginResource(resource) && !isServedByClaim(pod, resource, name)
        ? [[resource, quantityValue(quantity)]]
        : [],
    );
  }

  #reusableOf(pod: Pod, resource: string): ReadonlySet<string> {
    return this.#reusable.get(podUid(pod))?.get(resource) ?? new Set();
  }

  /** The devices that the container has already; undefined: none. @throws Error when it cannot keep them */
  #allocatedDevices(pod: Pod, container: Container, [resource, count]: DeviceRequest): readonly string[] | undefined {
    const held = this.podDevices.get(podUid(pod), container.name, resource);
    if (held === undefined) return undefined;
    if (held.ids.length !== count)
      throw new Error(
        `pod "${podUid(pod)}" container "${container.name}" changed request for resource "${resource}" from ${held.ids.length} to ${count}`,
      );
    if (this.#deps.isContainerRunning(podUid(pod), container.name)) return held.ids;
    const healthy = this.#deps.inventory.healthy(resource);
    if (!this.#deps.inventory.isKnown(resource)) throw new Error(`cannot allocate unregistered device ${resource}`);
    if (healthy.size === 0)
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    if (!held.ids.every((id) => healthy.has(id)))
      throw new Error(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      );
    return held.ids;
  }

  async #allocateResource(
    pod: Pod,
    container: Container,
    { request, hint }: { readonly request: DeviceRequest; readonly hint: TopologyHint },
  ): Promise<void> {
    const [resource, count] = request;
    if (count === 0 || this.#allocatedDevices(pod, container, request) !== undefined) return;
    const endpoint = this.#deps.inventory.endpoint(resource);
    if (!this.#deps.inventory.isKnown(resource)) throw new Error(`cannot allocate unregistered device ${resource}`);
    const ids = await chooseDevices(
      {
        resource,
        count,
        reusable: this.#reusableOf(pod, resource),
        inUse: this.podDevices.inUse(resource),
        affinity: hint.affinity,
      },
      this.#deps.inventory,
    );
    if (endpoint === undefined) throw new Error(`unknown Device Plugin ${resource}`);
    const response = await endpoint.allocate(ids);
    const devices = this.#deps.inventory.devices(resource);
    const nodes = ids.flatMap((id): [string, number[]][] => {
      const deviceNodes = (devices.get(id)?.topology?.nodes ?? []).map(({ ID }) => ID);
      return deviceNodes.length === 0 ? [] : [[id, deviceNodes]];
    });
    const entry = { podUid: podUid(pod), container: container.name, resource };
    this.podDevices.set({ ...entry, ids, nodes: Object.fromEntries(nodes), response });
  }

  /** Devices of an init container can be reused by the containers after it, each device once. */
  #updateReusable(pod: Pod, container: Container): void {
    const uid = podUid(pod);
    const init = (pod.spec?.initContainers ?? []).some(({ name }) => name === container.name);
    const endsBeforeOthers = init && container.restartPolicy !== 'Always';
    const reusable = this.#reusable.get(uid) ?? new Map<string, Set<string>>();
    this.#reusable.set(uid, reusable);
    for (const [resource, { ids }] of this.podDevices.ofContainer(uid, container.name)) {
      const pool = reusable.get(resource) ?? new Set<string>();
      reusable.set(resource, pool);
      for (const id of ids) {
        if (endsBeforeOthers) pool.add(id);
        else pool.delete(id);
      }
    }
  }

  #resourceHints(
    pod: Pod,
    resource: string,
    { request, held }: { readonly request: number; readonly held: readonly string[] | undefined },
  ): TopologyHint[] | undefined {
    const devices = this.#deps.inventory.devices(resource);
    if (!haveTopology(devices)) return undefined;
    const hintInput = { devices, request, numaNodes: this.#deps.numaNodes() };
    if (held !== undefined)
      return held.length === request
        ? deviceHints({ ...hintInput, available: new Set(held), reusable: new Set() })
        : [];
    const inUse = this.podDevices.inUse(resource);
    const available = new Set([...this.#deps.inventory.healthy(resource)].filter((id) => !inUse.has(id)));
    const reusable = this.#reusableOf(pod, resource);
    return available.size + reusable.size < request ? [] : deviceHints({ ...hintInput, available, reusable });
  }
}

/** The sum of containers and sidecars, or the largest init container with the sidecars before it if that is more. */
function podRequest(pod: Pod, resource: string): number {
  const amount = (container: Container): number => quantityValue(container.resources?.limits?.[resource] ?? '0');
  let [sidecars, init] = [0, 0];
  for (const container of pod.spec?.initContainers ?? []) {
    if (isRestartableInitContainer(container)) sidecars += amount(container);
    else init = Math.max(init, amount(container) + sidecars);
  }
  return Math.max(init, sidecars + (pod.spec?.containers ?? []).reduce((sum, each) => sum + amount(each), 0));
}
