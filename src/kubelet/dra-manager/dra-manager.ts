/**
 * Has the devices of pods' resource claims made ready by their drivers before containers are made, and given back when no
 * pod here uses them any more. Upstream: pkg/kubelet/cm/dra. Not here: health of such devices, share of one device.
 */
import { firstByName } from '../../base/first-by.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { claimNameOf } from '../../component-helpers/resource-claims.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { Log } from '../../platform/log.ts';
import type { Plugin, PluginHandler } from '../plugin-manager/plugin-manager.ts';
import { podName, podNamespace, podUid } from '../types/pod-update.ts';
import type { ClaimInfo, ClaimInfos } from './claim-info.ts';
import {
  DRA_VERSIONS,
  draTable,
  nodePrepareResources,
  nodeUnprepareResources,
  type DraClaim,
  type DraDevice,
  type DraVersion,
} from './dra-api.ts';
import type { SliceWiper } from './slice-wiper.ts';

export interface DraManagerDeps {
  readonly connect: GrpcConnector;
  readonly log: Log;
  readonly infos: ClaimInfos;
  /** Rejects with a NotFound StatusError when there is no such claim. */
  readonly getClaim: (namespace: string, name: string) => Promise<ResourceClaim>;
  readonly wiper: Pick<SliceWiper, 'driverGone' | 'driverBack'>;
}

export interface DraManager {
  /** For the plugin manager. */
  readonly pluginHandler: PluginHandler;
  /** Makes the pod's claims ready; nothing happens to those that are. Rejects with why one cannot be. */
  prepare(pod: Pod): Promise<void>;
  /** Gives back what no other pod uses. */
  unprepare(podUid: string): Promise<void>;
  /** What the container has of its claims, as far as they are ready. */
  claimResources(pod: Pod, container: Container): readonly ClaimResources[];
  /**
   * Names of the container's devices for the runtime, as far as drivers have returned them. Throws when a claim is not known. That
   * no container starts without its devices is up to the sync of the pod, which prepares before there is a sandbox.
   */
  cdiDevices(pod: Pod, container: Container): readonly string[];
  /** Gives back what pods that are gone had. */
  keepOnly(podUids: ReadonlySet<string>): Promise<void>;
}

/** A container's part of one claim. */
export interface ClaimResources {
  readonly claim: DraClaim;
  /** Drivers were called for it, by this kubelet or an earlier run. */
  readonly known: boolean;
  readonly devices: readonly (DraDevice & { readonly driverName: string })[];
}

interface Driver {
  readonly endpoint: string;
  readonly version: DraVersion;
}

export function createDraManager(deps: DraManagerDeps): DraManager {
  const { infos } = deps;
  const drivers = new Map<string, Driver>();
  const mutex = new KeyedMutex();

  async function call<T>(name: string, run: (caller: ReturnType<GrpcConnector>, version: DraVersion) => Promise<T>) {
    const driver = drivers.get(name);
    if (driver === undefined) throw new Error(`DRA driver ${name} is not registered`);
    const caller = deps.connect(driver.endpoint, [draTable(driver.version)]);
    try {
      return await run(caller, driver.version);
    } finally {
      caller.disconnect();
    }
  }

  async function prepareClaim(pod: Pod, claim: ResourceClaim): Promise<void> {
    const info = started(claim, infos.get(claim.metadata.uid ?? ''), podUid(pod));
    // Before any driver is called: its work must be undone even if the kubelet is killed now.
    await infos.set(info);
    if (info.prepared) return;
    const ready: Record<string, readonly DraDevice[]> = {};
    for (const name of Object.keys(info.drivers)) ready[name] = await askDriver(name, info);
    await infos.set({ ...info, drivers: ready, prepared: true });
  }

  async function askDriver(driver: string, info: ClaimInfo): Promise<readonly DraDevice[]> {
    const answers = await call(driver, (caller, version) => nodePrepareResources(caller, version, [claimOf(info)]));
    const answer = answers[info.uid];
    if (answer === undefined) throw new Error('NodePrepareResources skipped 1 ResourceClaims');
    if (answer.error !== '')
      throw new Error(`NodePrepareResources failed for ResourceClaim ${info.namespace}/${info.name}: ${answer.error}`);
    return answer.devices;
  }

  async function release(info: ClaimInfo, uid: string): Promise<void> {
    const podUids = info.podUids.filter((each) => each !== uid);
    if (podUids.length > 0) return infos.set({ ...info, podUids });
    for (const driver of Object.keys(info.drivers)) {
      const answers = await call(driver, (caller, version) => nodeUnprepareResources(caller, version, [claimOf(info)]));
      const error = answers[info.uid]?.error ?? 'it was skipped';
      if (error !== '')
        throw new Error(`NodeUnprepareResources failed for ResourceClaim ${info.namespace}/${info.name}: ${error}`);
    }
    await infos.remove(info.uid);
  }

  function claimResources(pod: Pod, container: Container): ClaimResources[] {
    const namespace = podNamespace(pod);
    return partsOf(pod, container).map(({ name, request }) => {
      const info = infos
        .all()
        .find((each) => each.namespace === namespace && each.name === name && each.podUids.includes(podUid(pod)));
      const devices = Object.entries(info?.drivers ?? {}).flatMap(([driverName, list]) =>
        list.filter((device) => isOfRequest(device, request)).map((device) => ({ ...device, driverName })),
      );
      return { claim: info ?? { namespace, name, uid: '' }, known: info !== undefined, devices };
    });
  }

  const unprepare = (uid: string): Promise<void> =>
    mutex.run('claims', async () => {
      for (const info of infos.all()) if (info.podUids.includes(uid)) await release(info, uid);
    });

  return {
    pluginHandler: handlerOf(drivers, deps),
    unprepare,
    async prepare(pod) {
      const names = claimNames(pod);
      if (names.length === 0) return;
      const claims = await Promise.all(names.map((name) => deps.getClaim(podNamespace(pod), name)));
      for (const claim of claims) checkClaim(pod, claim);
      await mutex.run('claims', async () => {
        for (const claim of claims) await prepareClaim(pod, claim);
      });
    },
    claimResources,
    cdiDevices(pod, container) {
      const parts = claimResources(pod, container);
      const missing = parts.find(({ known }) => !known);
      if (missing !== undefined)
        throw new Error(
          `unable to get claim info for claim ${missing.claim.name} in namespace ${missing.claim.namespace}`,
        );
      return [...new Set(parts.flatMap(({ devices }) => devices.flatMap(({ cdiDeviceIds }) => cdiDeviceIds)))];
    },
    async keepOnly(podUids) {
      const gone = new Set(infos.all().flatMap((info) => info.podUids.filter((uid) => !podUids.has(uid))));
      for (const uid of gone) await unprepare(uid);
    },
  };
}

function handlerOf(drivers: Map<string, Driver>, { log, wiper }: DraManagerDeps): PluginHandler {
  const versionOf = ({ supportedVersions }: Plugin): DraVersion | undefined =>
    DRA_VERSIONS.find((version) => supportedVersions.includes(`${version}.DRAPlugin`));
  return {
    async validatePlugin(plugin) {
      if (versionOf(plugin) !== undefined) return;
      const known = DRA_VERSIONS.map((version) => `${version}.DRAPlugin`).join(', ');
      throw new Error(
        `DRA plugin ${plugin.name} supports none of the services ${known}: ${plugin.supportedVersions.join(', ')}`,
      );
    },
    async registerPlugin(plugin) {
      drivers.set(plugin.name, { endpoint: plugin.endpoint, version: versionOf(plugin)! });
      wiper.driverBack(plugin.name);
      log.info('Registered DRA plugin', { driver: plugin.name, endpoint: plugin.endpoint });
    },
    async deregisterPlugin({ name, endpoint }, signal) {
      // Another instance of the driver may have taken over.
      if (drivers.get(name)?.endpoint !== endpoint) return;
      drivers.delete(name);
      wiper.driverGone(name, signal);
    },
  };
}

const claimOf = ({ namespace, uid, name }: DraClaim): DraClaim => ({ namespace, uid, name });

/** The claim with the pod among those that use it. */
function started({ metadata, status }: ResourceClaim, known: ClaimInfo | undefined, uid: string): ClaimInfo {
  const podUids = [...new Set([...(known?.podUids ?? []), uid])];
  if (known !== undefined) return { ...known, podUids };
  const names = new Set((status?.allocation?.devices?.results ?? []).map(({ driver }) => driver));
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    podUids,
    prepared: false,
    drivers: Object.fromEntries([...names].map((driver) => [driver, []])),
  };
}

/** Names of the claims that exist for the pod. Throws while one is still to be made. */
function claimNames(pod: Pod): string[] {
  const extended = pod.status?.extendedResourceClaimStatus;
  const known = new Set(pod.status?.resourceClaimStatuses?.map(({ name }) => name));
  const own = (pod.spec?.resourceClaims ?? []).flatMap((podClaim) => {
    const name = claimNameOf(pod, podClaim);
    if (name !== undefined) return [name];
    // The template's claim was not needed.
    if (known.has(podClaim.name)) return [];
    throw new Error(`ResourceClaim not created yet for pod claim ${podClaim.name}`);
  });
  return extended === undefined ? own : [...own, extended.resourceClaimName];
}

/** The claim requests of the container: those it names, and those of its extended resources. */
function partsOf(pod: Pod, { name, resources }: Container): { name: string; request: string | undefined }[] {
  const podClaims = firstByName(resources?.claims === undefined ? [] : pod.spec?.resourceClaims);
  const named = (resources?.claims ?? []).flatMap(({ name: wanted, request }) => {
    const podClaim = podClaims.get(wanted);
    const claim = podClaim === undefined ? undefined : claimNameOf(pod, podClaim);
    return claim === undefined ? [] : [{ name: claim, request }];
  });
  const extended = pod.status?.extendedResourceClaimStatus;
  const ofContainer = extended?.requestMappings.filter(({ containerName }) => containerName === name) ?? [];
  return [
    ...named,
    ...ofContainer.map(({ requestName }) => ({ name: extended!.resourceClaimName, request: requestName })),
  ];
}

function checkClaim(pod: Pod, { metadata, status }: ResourceClaim): void {
  const claim = `${metadata.namespace}/${metadata.name}`;
  const owner = controllerOf({ metadata });
  if (owner?.kind === 'Pod' && owner.uid !== podUid(pod))
    throw new Error(
      `ResourceClaim ${claim} was not created for pod ${podNamespace(pod)}/${podName(pod)} (pod is not owner)`,
    );
  if (status?.allocation === undefined) throw new Error(`ResourceClaim ${claim} is not allocated`);
  if (status.reservedFor?.some(({ uid }) => uid === podUid(pod)) !== true)
    throw new Error(
      `pod ${podName(pod)}(${podUid(pod)}) is not allowed to use resource claim ${metadata.name}(${metadata.uid})`,
    );
}

/** A device of no request in particular is for all. */
function isOfRequest({ requestNames }: DraDevice, request: string | undefined): boolean {
  if (request === undefined || request === '' || requestNames.length === 0) return true;
  return requestNames.some((name) => name === request || name.split('/')[0] === request);
}
