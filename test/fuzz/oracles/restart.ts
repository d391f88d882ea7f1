// The next process must read the objects that the last one had.
import { isDeepStrictEqual } from 'node:util';
import type { OwnClient } from '../targets/own-client.ts';
import type { Problem } from './answers.ts';

/** No controller deletes one of these without an owner, and few change it. */
const collections = [
  '/api/v1/configmaps',
  '/api/v1/limitranges',
  '/api/v1/podtemplates',
  '/api/v1/secrets',
  '/api/v1/services',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/apis/apps/v1/controllerrevisions',
  '/apis/fuzz.io/v1/as',
  '/apis/fuzz.io/v1/bs',
  '/apis/fuzz.io/v1/cs',
  '/apis/networking.k8s.io/v1/ingresses',
  '/apis/networking.k8s.io/v1/networkpolicies',
  '/apis/node.k8s.io/v1/runtimeclasses',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/rbac.authorization.k8s.io/v1/roles',
  '/apis/scheduling.k8s.io/v1/priorityclasses',
  '/apis/storage.k8s.io/v1/storageclasses',
];

interface Item {
  readonly metadata: {
    readonly uid: string;
    readonly name: string;
    readonly resourceVersion: string;
    readonly ownerReferences?: readonly unknown[];
    readonly deletionTimestamp?: string;
  };
}

/** Objects by collection and uid. */
export type Sample = ReadonlyMap<string, Item>;

export async function sampleOf(client: OwnClient): Promise<Sample> {
  const found = new Map<string, Item>();
  for (const path of collections) {
    const { status, body } = await client.send('GET', path);
    if (status !== 200) continue; // definitions are created and deleted
    for (const item of body['items'] as readonly Item[]) {
      const { uid, ownerReferences, deletionTimestamp } = item.metadata;
      if (ownerReferences === undefined && deletionTimestamp === undefined) found.set(`${path} ${uid}`, item);
    }
  }
  return found;
}

/** Lost objects, and objects that differ at the same resource version. */
export function differences(before: Sample, after: Sample): Problem[] {
  const problems: Problem[] = [];
  for (const [key, old] of before) {
    const now = after.get(key);
    const signature = `after a restart: ${key.split(' ')[0]}`;
    const detail = `${old.metadata.name}: ${JSON.stringify(old).slice(0, 250)}, then ${JSON.stringify(now)?.slice(0, 250)}`;
    if (now === undefined) problems.push({ signature: `${signature} is lost`, detail });
    else if (old.metadata.resourceVersion === now.metadata.resourceVersion && !isDeepStrictEqual(old, now))
      problems.push({ signature: `${signature} differs`, detail });
  }
  return problems;
}
