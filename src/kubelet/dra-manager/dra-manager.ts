/**
 * Has drivers prepare the devices of pods' resource claims before containers are created, and unprepare them when no
 * pod of the node uses them any more. Upstream: pkg/kubelet/cm/dra. Missing: health of such devices, shared parts of
 * one device.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { Log } from '../../platform/log.ts';
import { MAX_RESPONSE_CHARACTERS } from '../device-manager/device-limits.ts';
import type { Plugin, PluginHandler } from '../plugin-manager/plugin-manager.ts';
import { podNamespace, podUid } from '../types/pod-update.ts';
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
import {
  claimOf,
  withPodReference,
  claimNames,
  containerClaimRequests,
  checkClaim,
  belongsToRequest,
} from './pod-claims.ts';

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
  /** Prepares the pod's claims; prepared ones are skipped. Rejects with the reason why one cannot be prepared. */
  prepare(pod: Pod): Promise<void>;
  /** Unprepares claims that no other pod uses. */
  unprepare(podUid: string): Promise<void>;
  /** The container's devices of its claims, as far as they are prepared. */
  claimResources(pod: Pod, container: Container): readonly ClaimResources[];
  /**
   * CDI names of the container's devices, as far as drivers have returned them. Throws for an unknown claim. The sync
   * of the pod prepares claims before it creates a sandbox, so no container starts without its devices.
   */
  cdiDevices(pod: Pod, container: Container): readonly string[];
  /** Unprepares the claims of all other pods. */
  keepOnly(podUids: ReadonlySet<string>): Promise<void>;
}

/** A container's part of one claim. */
export interface ClaimResources {
  readonly claim: DraClaim;
  /** This kubelet or an earlier run has called drivers for it. */
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

  async function prepareClaims(pod: Pod, claims: readonly ResourceClaim[]): Promise<void> {
    const changed = claims.flatMap((claim) => {
      const known = infos.get(claim.metadata.uid ?? '');
      const isDone = known?.prepared === true && known.podUids.includes(podUid(pod));
      return isDone ? [] : [withPodReference(claim, known, podUid(pod))];
    });
    // Stored before any driver is called: the preparation must be undone even if the kubelet is killed now.
    await infos.set(changed);
    const withoutDriver: ClaimInfo[] = [];
    for (const info of changed) {
      if (info.prepared) continue;
      const ready: Record<string, readonly DraDevice[]> = {};
      for (const name of Object.keys(info.drivers)) ready[name] = await askDriver(name, info);
      const prepared = { ...info, drivers: ready, prepared: true };
      if (usesDriver(info)) await infos.set([prepared]);
      else withoutDriver.push(prepared);
    }
    await infos.set(withoutDriver);
  }

  async function askDriver(driver: string, info: ClaimInfo): Promise<readonly DraDevice[]> {
    const answers = await call(driver, (caller, version) => nodePrepareResources(caller, version, [claimOf(info)]));
    const answer = answers[info.uid];
    if (answer === undefined) throw new Error('NodePrepareResources skipped 1 ResourceClaims');
    if (answer.error !== '')
      throw new Error(`NodePrepareResources failed for ResourceClaim ${info.namespace}/${info.name}: ${answer.error}`);
    if (JSON.stringify(answer.devices).length > MAX_RESPONSE_CHARACTERS)
      throw new Error(
        `NodePrepareResources of ${driver} answered more than ${MAX_RESPONSE_CHARACTERS} characters for ResourceClaim ${info.namespace}/${info.name}`,
      );
    return answer.devices;
  }

  async function releaseAll(uid: string): Promise<void> {
    const used = infos.all().filter(({ podUids }) => podUids.includes(uid));
    const others = used.map((info) => ({ ...info, podUids: info.podUids.filter((each) => each !== uid) }));
    await infos.set(others.filter(({ podUids }) => podUids.length > 0));
    const unused = others.filter(({ podUids }) => podUids.length === 0);
    await infos.remove(unused.filter((info) => !usesDriver(info)).map((info) => info.uid));
    for (const info of unused) if (usesDriver(info)) await release(info);
  }

  async function release(info: ClaimInfo): Promise<void> {
    for (const driver of Object.keys(info.drivers)) {
      const answers = await call(driver, (caller, version) => nodeUnprepareResources(caller, version, [claimOf(info)]));
      const error = answers[info.uid]?.error ?? 'it was skipped';
      if (error !== '')
        throw new Error(`NodeUnprepareResources failed for ResourceClaim ${info.namespace}/${info.name}: ${error}`);
    }
    await infos.remove([info.uid]);
  }

  function claimResources(pod: Pod, container: Container): ClaimResources[] {
    const requests = containerClaimRequests(pod, container);
    if (requests.length === 0) return [];
    const namespace = podNamespace(pod);
    const ofPod = infos.ofPod(podUid(pod));
    return requests.map(({ name, request }) => {
      const info = ofPod.get(name);
      const devices = Object.entries(info?.drivers ?? {}).flatMap(([driverName, list]) =>
        list.filter((device) => belongsToRequest(device, request)).map((device) => ({ ...device, driverName })),
      );
      return { claim: info ?? { namespace, name, uid: '' }, known: info !== undefined, devices };
    });
  }

  const unprepare = (uid: string): Promise<void> => mutex.run('claims', () => releaseAll(uid));

  return {
    pluginHandler: handlerOf(drivers, deps),
    unprepare,
    async prepare(pod) {
      const names = claimNames(pod);
      if (names.length === 0) return;
      const claims = await Promise.all(names.map((name) => deps.getClaim(podNamespace(pod), name)));
      for (const claim of claims) checkClaim(pod, claim);
      await mutex.run('claims', () => prepareClaims(pod, claims));
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

function usesDriver({ drivers }: ClaimInfo): boolean {
  return Object.keys(drivers).length > 0;
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
      // Another instance of the driver may serve it already.
      if (drivers.get(name)?.endpoint !== endpoint) return;
      drivers.delete(name);
      wiper.driverGone(name, signal);
    },
  };
}
