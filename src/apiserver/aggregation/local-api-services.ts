/**
 * The APIServices of what this server serves itself, so that `kubectl get apiservices` shows everything. Upstream:
 * the aggregator's autoregister controller and its table of priorities.
 *
 * An APIService is created when its group version is served and deleted with it; one that a user pointed at a service
 * is left unchanged.
 */
import { APIServices } from '../../api/gen/resources.ts';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import { formatTime } from '../../api/time.ts';
import { CUSTOM_GROUP, priorityOfGroup } from '../discovery/group-priorities.ts';
import { compareVersions } from '../discovery/groups.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { ownContext } from '../own-context.ts';

const MANAGED = 'kube-aggregator.kubernetes.io/automanaged';

const CUSTOM_VERSION = 100;

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** Creates, updates and deletes the local APIServices as needed. Rejects when the store does. */
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
  const priority = priorityOfGroup(group);
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
