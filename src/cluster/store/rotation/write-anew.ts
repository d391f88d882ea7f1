/** Writes objects through the API as they are: the server encrypts them with its first key. Upstream: the storage task of encryption. */
import { resourceOfKind } from '../../resource-of-kind.ts';
import { parseJson } from '../../../api/codec/json.ts';
import { Secrets } from '../../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../../api/object.ts';
import { isReason } from '../../../api/status-error.ts';
import type { Client } from '../../../client/client.ts';

const PROBE = { namespace: 'kube-system', name: 'keelson-encryption-probe' } as const;

/**
 * Writes each object by its kind and name. Objects that were deleted or changed meanwhile are left to the next scan of the store.
 */
export async function writeAnew(client: Client, stored: readonly { readonly value: Uint8Array }[]): Promise<void> {
  const resources = new Map<string, Promise<string | undefined>>();
  for (const { value } of stored) {
    const object = parseJson(Buffer.from(value).toString()).value as Stored<KubernetesObject>;
    const { apiVersion = '', kind = '' } = object;
    const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const known = `${base} ${kind}`;
    if (!resources.has(known)) resources.set(known, resourceOf(client, base, kind));
    const resource = await resources.get(known);
    if (resource !== undefined) await writeOne(client, base, resource, object.metadata);
  }
}

/** Replaces a Secret, so that something is written. */
export async function writeProbe(client: Client): Promise<void> {
  await removeProbe(client);
  const metadata = { ...PROBE };
  await client.resource(Secrets).create({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque' });
}

/** Deletes the probe secret; no error when there is none. */
export async function removeProbe(client: Client): Promise<void> {
  await client.resource(Secrets).delete(PROBE).catch(ignoreReasons('NotFound'));
}

async function resourceOf(client: Client, base: string, kind: string): Promise<string | undefined> {
  const { body } = await client.raw({ path: base });
  const { resources } = JSON.parse(Buffer.from(body).toString()) as { resources: { name: string; kind: string }[] };
  return resourceOfKind(resources, kind);
}

async function writeOne(
  client: Client,
  base: string,
  resource: string,
  { namespace, name }: { readonly namespace?: string; readonly name: string },
): Promise<void> {
  const place = namespace === undefined ? base : `${base}/namespaces/${encodeURIComponent(namespace)}`;
  const path = `${place}/${resource}/${encodeURIComponent(name)}`;
  try {
    const { body } = await client.raw({ path });
    await client.raw({ method: 'PUT', path, body: parseJson(Buffer.from(body).toString()).value });
  } catch (error) {
    ignoreReasons('NotFound', 'Conflict')(error);
  }
}

function ignoreReasons(...reasons: readonly ('NotFound' | 'Conflict')[]): (error: unknown) => void {
  return (error) => {
    if (!reasons.some((reason) => isReason(error, reason))) throw error;
  };
}
