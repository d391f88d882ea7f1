/** The definitions of all resources over a store of plain objects: for tests of the definitions themselves. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { RequestContext } from '../request-context.ts';
import type { ServiceAllocatorConfig } from './core/services/allocation.ts';
import { ServiceAllocator } from './core/services/service-allocator.ts';
import { createResourceDefinitions } from './list.ts';
import type { ObjectStore } from './object-store.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import type { RegistryServices } from './services.ts';

export const context = { user: { name: 'ann', groups: ['g'] } } as unknown as RequestContext;

/** A store over a map: reads, guarded updates and deletes, nothing else. */
function mapStore(): ObjectStore & { put(info: ResourceInfo, object: KubernetesObject): void } {
  const objects = new Map<string, KubernetesObject>();
  const key = (info: ResourceInfo, namespace: string, name: string) => `${info.resource}/${namespace}/${name}`;
  const listeners: ((object: never, old: never) => void)[] = [];
  const put = (info: ResourceInfo, object: KubernetesObject) => {
    const at = key(info, object.metadata.namespace ?? '', object.metadata.name ?? '');
    const old = objects.get(at);
    objects.set(at, object);
    if (info.resource === 'services') for (const listener of listeners) listener(object as never, old as never);
  };
  const get = (info: ResourceInfo, namespace: string, name: string) => objects.get(key(info, namespace, name)) as never;
  const list = (info: ResourceInfo) =>
    [...objects].filter(([at]) => at.startsWith(`${info.resource}/`)).map(([, object]) => object) as never;
  return {
    put,
    get,
    list,
    listInTurns: async (info) => list(info),
    onChange(_info, listener) {
      listeners.push(listener as never);
      return () => undefined;
    },
    getFresh: async (info, namespace, name) => get(info, namespace, name),
    async guaranteedUpdate(...asked) {
      const [info, namespace, name, change] = asked;
      const next = change(get(info, namespace, name));
      if (next !== undefined) put(info, next);
      return get(info, namespace, name);
    },
    ensure: async (_info, object) => object as never,
    async delete(info, { namespace, name }) {
      const old = get(info, namespace, name) as KubernetesObject;
      objects.delete(key(info, namespace, name));
      if (info.resource === 'services') for (const listener of listeners) listener(undefined as never, old as never);
      return old as never;
    },
  };
}

/** All of them, with services of these address ranges. */
export function setUp(
  extra: Partial<RegistryServices> = {},
  ranges: readonly string[] = ['10.96.0.0/24'],
  addresses: Pick<ServiceAllocatorConfig, 'dnsAddress'> = {},
) {
  const platform = createSimPlatform();
  const objects = mapStore();
  const serviceAllocator = new ServiceAllocator(
    { objects, random: platform.random.fork('services') },
    { serviceClusterIpRanges: ranges, nodePortRange: { first: 30000, last: 30019 }, ...addresses },
  );
  serviceAllocator.start();
  const authorizer = { authorize: () => ({ decision: 'allow' as const, reason: '' }) };
  const definitions = createResourceDefinitions({ objects, platform, serviceAllocator, authorizer, ...extra });
  const find = (info: ResourceInfo): ResourceDefinition => definitions.find((definition) => definition.info === info)!;
  return { platform, objects, definitions, find, serviceAllocator };
}
