/**
 * The APIServices of what this server answers itself: `kubectl get apiservices` shows all there is. Upstream: the
 * aggregator's autoregister controller and its table of priorities.
 *
 * They are made for what is served, taken away with it, and left alone where somebody put a service of their own in.
 */
import { APIServices } from '../../api/gen/resources.ts';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { formatTime } from '../../api/time.ts';
import { compareVersions } from '../discovery/groups.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { ownContext } from '../own-context.ts';

const MANAGED = 'kube-aggregator.kubernetes.io/automanaged';

/** Priorities of groups among one another, as upstream's; custom ones come last. */
const PRIORITIES: Readonly<Record<string, number>> = {
  '': 18_000,
  'apiregistration.k8s.io': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'storagemigration.k8s.io': 16_800,
  'apiextensions.k8s.io': 16_700,
  'admissionregistration.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'resource.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'internal.apiserver.k8s.io': 16_000,
};
const CUSTOM_GROUP = 1000;
const CUSTOM_VERSION = 100;

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** Brings the local APIServices in line with what is served. Rejects when the store does. */
export async function syncLocalApiServices(
  objects: ObjectStore,
  served: readonly GroupVersion[],
  nowMs: number,
): Promise<void> {
  const wanted = new Map(served.map((one) => [`${one.version}.${one.group}`, one]));
  const versions = Map.groupBy(served, ({ group }) => group);
  const work: Promise<unknown>[] = [];
  for (const [name, one] of wanted) {
    if (objects.get(APIServices, '', name) !== undefined) continue;
    work.push(objects.ensure(APIServices, localService(name, one, { versions: versions.get(one.group) ?? [], nowMs })));
  }
  for (const { metadata, spec } of objects.list(APIServices)) {
    const managed = metadata.labels?.[MANAGED] !== undefined && spec?.service === undefined;
    if (!managed || wanted.has(metadata.name)) continue;
    const { resourceVersion = '' } = metadata;
    const key = { namespace: '', name: metadata.name };
    work.push(
      objects.delete(APIServices, key, { preconditions: { resourceVersion } }, ownContext('delete', APIServices, key)),
    );
  }
  await Promise.all(work);
}

function localService(
  name: string,
  { group, version }: GroupVersion,
  { versions, nowMs }: { readonly versions: readonly GroupVersion[]; readonly nowMs: number },
): APIService {
  const priority = Object.hasOwn(PRIORITIES, group) ? PRIORITIES[group] : undefined;
  const order = versions.map((one) => one.version).sort(compareVersions);
  const builtIn = priority !== undefined;
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name, labels: { [MANAGED]: builtIn ? 'onstart' : 'true' } },
    spec: {
      group,
      version,
      groupPriorityMinimum: priority ?? CUSTOM_GROUP,
      versionPriority: builtIn ? 15 + 5 * (order.length - 1 - order.indexOf(version)) : CUSTOM_VERSION,
    },
    status: {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          reason: 'Local',
          message: 'Local APIServices are always available',
          lastTransitionTime: formatTime(nowMs),
        },
      ],
    },
  };
}
