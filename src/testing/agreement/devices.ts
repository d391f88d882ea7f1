/** Devices are allocated once, and prepared on the nodes of their pods. */
import { Pods, ResourceClaims } from '../../api/gen/resources.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import { isPodReady, isPodTerminal } from '../../component-helpers/pods.ts';
import type { Cluster } from '../cluster.ts';
import { isInReach, nameOf } from './comparisons.ts';

/** Each device belongs to one claim and is prepared exactly for the pods that have it. */
export function devices(cluster: Cluster): string[] {
  return [...allocatedTwice(cluster), ...devicesReady(cluster)];
}

/** Claims with admin access, and shares of a device, may overlap with others. */
function allocatedTwice(cluster: Cluster): string[] {
  const seen = new Map<string, string>();
  return cluster.peek(ResourceClaims).flatMap((claim) =>
    (claim.status?.allocation?.devices?.results ?? [])
      .filter(({ adminAccess, shareID }) => adminAccess !== true && shareID === undefined)
      .flatMap(({ driver, pool, device }) => {
        const key = `${driver}/${pool}/${device}`;
        const other = seen.get(key);
        seen.set(key, nameOf(claim));
        return other === undefined ? [] : [`${other} and ${nameOf(claim)} both have the device ${key}`];
      }),
  );
}

function devicesReady(cluster: Cluster): string[] {
  const equipped = cluster.nodes
    .names()
    .map((node) => cluster.nodes.machine(node))
    .filter(({ name, drivers }) => drivers.sockets.length > 0 && isInReach(cluster, name));
  if (equipped.length === 0) return [];
  const had = Map.groupBy(cluster.peek(ResourceClaims).flatMap(devicesHad), ({ podUid }) => podUid);
  const running = cluster.peek(Pods).filter((pod) => !isPodTerminal(pod));
  const podsByNode = Map.groupBy(running, ({ spec }) => spec?.nodeName);
  return equipped.flatMap(({ name, drivers: { ready: readyDrivers } }) => {
    const pods = (podsByNode.get(name) ?? []).map((pod) => {
      return { pod, keys: (had.get(pod.metadata.uid!) ?? []).map(({ key }) => key) };
    });
    const owned = new Set(pods.flatMap(({ keys }) => keys));
    const stray = [...readyDrivers].filter((key) => !owned.has(key));
    return [
      ...stray.map((key) => `${name} keeps the devices of driver/claim ${key} ready, which no pod there has`),
      ...pods
        .filter(({ pod }) => isPodReady(pod))
        .flatMap(({ pod, keys }) =>
          keys
            .filter((key) => !readyDrivers.has(key))
            .map((key) => `${nameOf(pod)} runs without the devices of driver/claim ${key}`),
        ),
    ];
  });
}

/** The claim's users with each driver of its devices: `driver/uid`. */
function devicesHad({ metadata, status }: ResourceClaim): { podUid: string; key: string }[] {
  const drivers = new Set(status?.allocation?.devices?.results?.map(({ driver }) => driver));
  const keys = [...drivers].map((driver) => `${driver}/${metadata.uid}`);
  return (status?.reservedFor ?? []).flatMap(({ uid }) => keys.map((key) => ({ podUid: uid, key })));
}
