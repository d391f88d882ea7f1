/**
 * An informer of a resource that the server may not serve, such as an alpha or beta version: it asks once, and then
 * either follows the resource or stays empty. Upstream: informers behind feature gates.
 */
import type { KubernetesObject, Stored } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Client } from './client.ts';
import type { Informer, InformerFactory, InformerHandler, InformerOptions } from './informer.ts';

const RETRY_MS = 5000;
/** A cluster that is starting may lack roles for a moment. */
const MOST_REFUSALS = 3;

export interface OptionalInformerDeps {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reads and events of a resource, if it is served. */
export interface OptionalInformer<T extends KubernetesObject> {
  get(name: string): Stored<T> | undefined;
  list(): Stored<T>[];
  /** Call before `start`. */
  addHandler(handler: InformerHandler<T>): void;
  /**
   * Asks the server until it answers, then waits for the first list. Resolves to whether this client may read the
   * resource: after several refusals it stays empty, since others wait for `start`. Rejects when aborted.
   */
  start(signal: AbortSignal): Promise<boolean>;
}

/** Sends nothing before `start`. */
export function createOptionalInformer<T extends KubernetesObject>(
  deps: OptionalInformerDeps,
  info: ResourceInfo<T>,
  options: InformerOptions<T> = {},
): OptionalInformer<T> {
  const handlers: InformerHandler<T>[] = [];
  let informer: Informer<T> | undefined;
  return {
    get: (name) => informer?.get({ name }),
    list: () => informer?.list() ?? [],
    addHandler: (handler) => handlers.push(handler),
    async start(signal) {
      if (!(await isServed(deps, info, signal))) return false;
      informer = deps.informers.informer(info, options);
      for (const handler of handlers) informer.addHandler(handler);
      deps.informers.start(signal);
      await informer.waitForSync(signal);
      return true;
    },
  };
}

async function isServed<T extends KubernetesObject>(
  { client, clock, log }: OptionalInformerDeps,
  info: ResourceInfo<T>,
  signal: AbortSignal,
): Promise<boolean> {
  for (let refusals = 0; ;) {
    try {
      const { body } = await client.raw({ method: 'GET', path: `/apis/${apiVersionOf(info)}`, signal });
      const { resources = [] } = JSON.parse(Buffer.from(body).toString('utf8')) as { resources?: { name: string }[] };
      if (!resources.some(({ name }) => name === info.resource)) return false;
      await client.resource(info).list({ limit: 1, signal });
      return true;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isReason(error, 'NotFound')) return false;
      if (isReason(error, 'Forbidden') && ++refusals >= MOST_REFUSALS) {
        log.warn('a resource is served, but not to us: going on without it', { resource: info.resource, err: error });
        return false;
      }
      log.warn('cannot ask whether a resource is served', { resource: info.resource, err: error });
    }
    await clock.sleep(RETRY_MS, signal);
  }
}
