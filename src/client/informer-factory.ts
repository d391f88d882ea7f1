/** Makes informers and shares those of equal selection and projection. Upstream: client-go SharedInformerFactory. */
import type { KubernetesObject } from '../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../api/resource-info.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { Client } from './client.ts';
import type { Informer, InformerFactory, InformerOptions } from './informer.ts';
import { createSharedInformer, type SharedInformer } from './shared-informer.ts';
import { background } from '../platform/unexpected.ts';

/** The source of the informers: clients, clock and log. */
export interface InformerFactoryDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Makes a factory; nothing runs before `start`. */
export function createInformerFactory(deps: InformerFactoryDeps): InformerFactory {
  // The key contains the kind, so the stored informer has the type that the caller asks for.
  const informers = new Map<string, Pick<SharedInformer<never>, 'run' | 'waitForSync'>>();
  const started: Pick<SharedInformer<never>, 'waitForSync'>[] = [];
  let toStart: Pick<SharedInformer<never>, 'run' | 'waitForSync'>[] = [];
  const log = deps.log.child('informer');

  return {
    informer<T extends KubernetesObject>(info: ResourceInfo<T>, options: InformerOptions<T> = {}): Informer<T> {
      const key = shareKey(info, options);
      const existing = informers.get(key);
      if (existing !== undefined) return existing as SharedInformer<T>;
      const random = deps.random.fork(`informer/${key}`);
      const made = createSharedInformer({
        client: deps.client.resource(info),
        options,
        clock: deps.clock,
        random,
        log,
      });
      informers.set(key, made);
      toStart.push(made);
      return made;
    },
    existing: <T extends KubernetesObject>(info: ResourceInfo<T>) =>
      informers.get(shareKey(info, {})) as SharedInformer<T> | undefined,
    start(signal) {
      const starting = toStart;
      toStart = [];
      for (const informer of starting) {
        started.push(informer);
        background(log, 'an informer broke off', informer.run(signal));
      }
    },
    async waitForSync(signal) {
      await Promise.all(started.map((informer) => informer.waitForSync(signal)));
    },
  };
}

function shareKey<T extends KubernetesObject>(info: ResourceInfo, options: InformerOptions<T>): string {
  const { namespace = '', labelSelector = '', fieldSelector = '', projection, metadataOnly = false } = options;
  return JSON.stringify([
    groupResourceOf(info),
    info.version,
    namespace,
    labelSelector,
    fieldSelector,
    projection?.name ?? '',
    ...(metadataOnly ? ['metadata'] : []),
  ]);
}
