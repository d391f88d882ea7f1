/**
 * The client handed to tests: what it returns is the test's own to change, and a call that needs virtual time to move (a
 * slow store, a signature) moves it that far and no further.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Client, ResourceClient, WatchEvent } from '../client/client.ts';
import type { Pace } from './pace.ts';

/** Wraps a client. */
export function createUserClient(client: Client, pace: Pace): Client {
  return {
    resource: (info) => userResource(client.resource(info), info, pace),
    raw: (request) => pace.drive(client.raw(request)),
    upgrade: (request) => pace.drive(client.upgrade(request)),
  };
}

function userResource<T extends KubernetesObject>(
  inner: ResourceClient<T>,
  info: ResourceInfo<T>,
  pace: Pace,
): ResourceClient<T> {
  const own = async <R>(work: Promise<R>): Promise<R> => structuredClone(await pace.drive(work));
  return {
    info,
    get: (...args) => own(inner.get(...args)),
    list: (...args) => own(inner.list(...args)),
    watch: (options) => ownEvents(inner.watch(options)),
    create: (...args) => own(inner.create(...args)),
    update: (...args) => own(inner.update(...args)),
    updateStatus: (...args) => own(inner.updateStatus(...args)),
    patch: (...args) => own(inner.patch(...args)),
    delete: (...args) => own(inner.delete(...args)),
    deleteCollection: (...args) => own(inner.deleteCollection(...args)),
    getSubresource: (...args) => own(inner.getSubresource(...args)),
    createSubresource: (...args) => own(inner.createSubresource(...args)),
  };
}

async function* ownEvents<T>(
  events: AsyncIterable<readonly WatchEvent<T>[]>,
): AsyncGenerator<readonly WatchEvent<T>[]> {
  for await (const batch of events) yield structuredClone(batch);
}
