/**
 * The client for tests: its objects are copies, a call that needs virtual time to advance (a slow store, a signature) advances it
 * only that far, misspelt fields are refused, and errors show the test's line.
 */
import type { CustomResourceDefinition } from '../api/gen/apiextensions-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Client, ResourceClient, WatchEvent, WriteOptions } from '../client/client.ts';
import { withCaller } from './caller.ts';
import type { Pace } from './pace.ts';
import { proposeFields } from './unknown-fields.ts';

export interface UserClientDeps {
  readonly pace: Pace;
  /** Called first by every call, with its name. Throws when the call is not possible. */
  readonly before: (call: string) => void;
  /** The field validation of calls that do not set it. */
  readonly fieldValidation: WriteOptions['fieldValidation'];
  readonly definitions: () => readonly CustomResourceDefinition[];
}

/** A client that forwards to the current one, which a restart of the API server replaces. */
export function forwardingClient(current: () => Client): Client {
  return {
    resource: (info) => current().resource(info),
    raw: (request) => current().raw(request),
    upgrade: (request) => current().upgrade(request),
  };
}

export function createUserClient(client: Client, deps: UserClientDeps): Client {
  const { pace, before } = deps;
  const own = <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) => {
    const calling = (...args: A): Promise<R> => {
      return withCaller(calling, async () => {
        before(`client.${name}`);
        return await pace.drive(call(...args));
      });
    };
    return calling;
  };
  return {
    resource: (info) => userResource(client.resource(info), info, deps),
    raw: own('raw', (request: Parameters<Client['raw']>[0]) => client.raw(request)),
    upgrade: own('upgrade', (request: Parameters<Client['upgrade']>[0]) => client.upgrade(request)),
  };
}

function userResource<T extends KubernetesObject>(
  inner: ResourceClient<T>,
  info: ResourceInfo<T>,
  { pace, before, fieldValidation, definitions }: UserClientDeps,
): ResourceClient<T> {
  const work = async <R>(name: string, call: () => Promise<R>): Promise<R> => {
    before(`client.resource(${info.kind}).${name}`);
    try {
      return structuredClone(await pace.drive(call()));
    } catch (error) {
      proposeFields(error, info, definitions);
      throw error;
    }
  };
  const own = <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) => {
    const calling = (...args: A): Promise<R> => {
      return withCaller(calling, () => work(name, () => call(...args)));
    };
    return calling;
  };
  const withValidation = (options?: WriteOptions): WriteOptions => ({
    ...options,
    fieldValidation: options?.fieldValidation ?? fieldValidation,
  });
  return {
    info,
    get: own('get', (key, options) => inner.get(key, options)),
    list: own('list', (options) => inner.list(options)),
    watch(options) {
      before(`client.resource(${info.kind}).watch`);
      return ownEvents(inner.watch(options));
    },
    create: own('create', (object, options) => inner.create(object, withValidation(options))),
    update: own('update', (object, options) => inner.update(object, withValidation(options))),
    updateStatus: own('updateStatus', (object, options) => inner.updateStatus(object, withValidation(options))),
    patch: own('patch', (key, body, options) => inner.patch(key, body, withValidation(options))),
    delete: own('delete', (key, options) => inner.delete(key, options)),
    deleteCollection: own('deleteCollection', (options) => inner.deleteCollection(options)),
    getSubresource: own('getSubresource', (key, subresource, options) =>
      inner.getSubresource(key, subresource, options),
    ) as ResourceClient<T>['getSubresource'],
    createSubresource: own('createSubresource', (key, subresource, body, options) =>
      inner.createSubresource(key, subresource, body, withValidation(options)),
    ) as ResourceClient<T>['createSubresource'],
  };
}

async function* ownEvents<T>(
  events: AsyncIterable<readonly WatchEvent<T>[]>,
): AsyncGenerator<readonly WatchEvent<T>[]> {
  for await (const batch of events) yield structuredClone(batch);
}
