/**
 * Compares the objects of a snapshot with what an API server serves from it: each object is requested in the version
 * in which it is stored. Pure but for the client's requests.
 */
import { resourceOfKind } from '../../resource-of-kind.ts';
import { parseJson } from '../../../api/codec/json.ts';
import type { KubernetesObject, Stored } from '../../../api/object.ts';
import { MASTER_LEASES } from '../../../apiserver/bootstrap/endpoint-leases.ts';
import { deepEqual } from '../../../base/equal.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Client } from '../../../client/client.ts';
import type { StoredEntry } from '../../../storage/store.ts';

/** A decoded entry of the store. */
interface StoredObject {
  readonly key: string;
  readonly object: Stored<KubernetesObject>;
}

/** How well a snapshot matches what is served from it. */
export interface Comparison {
  /** Objects that are served exactly as stored. */
  readonly equal: number;
  /** Objects that a start rewrites, such as each version's roles; only their presence is checked. */
  readonly renewed: number;
  /** Entries that no API serves as objects: allocations and leases of the servers themselves. */
  readonly internal: number;
  /** Missing and differing objects; at most a hundred. */
  readonly problems: readonly string[];
  readonly problemCount: number;
}

const MAX_PROBLEMS = 100;
const PAGE = 500;

/** Prefixes of keys that servers keep beside objects. */
const INTERNAL = [MASTER_LEASES, '/registry/ranges/'] as const;

/** `isRenewed`: whether a server's start rewrites the key. */
export async function compareServed(
  client: Client,
  entries: readonly StoredEntry[],
  isRenewed: (key: string) => boolean,
): Promise<Comparison> {
  const count = { equal: 0, renewed: 0, internal: 0, problemCount: 0 };
  const problems: string[] = [];
  const report = (problem: string): void => {
    count.problemCount++;
    if (problems.length < MAX_PROBLEMS) problems.push(problem);
  };
  const byKind = new Map<string, StoredObject[]>();
  for (const entry of entries) {
    if (INTERNAL.some((prefix) => entry.key.startsWith(prefix))) {
      count.internal++;
      continue;
    }
    const object = objectOf(entry);
    if (object === undefined) {
      report(`${entry.key} is no object`);
      continue;
    }
    const kind = `${object.apiVersion} ${object.kind}`;
    const ofKind = byKind.get(kind);
    if (ofKind === undefined) byKind.set(kind, [{ key: entry.key, object }]);
    else ofKind.push({ key: entry.key, object });
  }
  for (const stored of byKind.values()) {
    const served = await servedObjects(client, stored[0]!.object).catch((error: unknown) => {
      const { apiVersion, kind } = stored[0]!.object;
      report(`${stored.length} objects of ${apiVersion} ${kind} are not served: ${errorMessage(error)}`);
    });
    if (served === undefined) continue;
    for (const { key, object } of stored) {
      const found = served.get(identity(object));
      if (!key.endsWith(`/${object.metadata.name}`)) report(`${key} holds an object of another name`);
      else if (found === undefined) report(`${key} is not served`);
      else if (found.metadata.uid !== object.metadata.uid) report(`${key} is served as another object`);
      else if (isRenewed(key)) count.renewed++;
      else if (isSame(object, found)) count.equal++;
      else report(`${key} is served with another content`);
    }
  }
  return { ...count, problems };
}

function objectOf({ value }: StoredEntry): Stored<KubernetesObject> | undefined {
  try {
    const object = parseJson(Buffer.from(value).toString()).value as Stored<KubernetesObject> | null;
    const isObject = typeof object?.kind === 'string' && typeof object.apiVersion === 'string';
    return isObject && typeof object.metadata?.name === 'string' ? object : undefined;
  } catch {
    return undefined;
  }
}

/** All objects of the resource in this version. */
async function servedObjects(
  client: Client,
  { apiVersion = '', kind = '' }: KubernetesObject,
): Promise<ReadonlyMap<string, Stored<KubernetesObject>>> {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { resources } = await read<{ resources: { name: string; kind: string }[] }>(client, base);
  const resource = resourceOfKind(resources, kind);
  if (resource === undefined) throw new Error(`${apiVersion} has no such kind`);
  const found = new Map<string, Stored<KubernetesObject>>();
  let token: string | undefined;
  do {
    const more = token === undefined ? '' : `&continue=${encodeURIComponent(token)}`;
    const list = await read<{ items: Stored<KubernetesObject>[]; metadata: { continue?: string } }>(
      client,
      `${base}/${resource}?limit=${PAGE}${more}`,
    );
    for (const item of list.items) found.set(identity(item), item);
    token = list.metadata.continue || undefined;
  } while (token !== undefined);
  return found;
}

async function read<T>(client: Client, path: string): Promise<T> {
  const { body } = await client.raw({ path });
  return parseJson(Buffer.from(body).toString()).value as T;
}

function identity({ metadata: { namespace, name } }: Stored<KubernetesObject>): string {
  return `${namespace ?? ''}/${name}`;
}

/** Ignores the resourceVersion, which stored values lack, and the apiVersion and kind, which items of lists lack. */
function isSame(stored: Stored<KubernetesObject>, served: Stored<KubernetesObject>): boolean {
  const { resourceVersion: _revision, ...metadata } = served.metadata;
  const { apiVersion, kind } = stored;
  return deepEqual(stored, { ...served, apiVersion, kind, metadata });
}
