/**
 * The scale sub-resource of an autoscaler's target. Upstream: client-go/scale and the REST mapping of the target's
 * kind.
 */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Scale } from '../../api/gen/autoscaling-v1.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';

/** A scale, and the path it was read from. */
export interface ScaleTarget {
  readonly info: ResourceInfo<KubernetesObject>;
  readonly scale: Scale;
}

/** The resource of a kind in the server's preferred version. Rejects when the kind is not served. */
export async function resourceOfKind(
  client: Client,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  signal: AbortSignal,
): Promise<ResourceInfo<KubernetesObject>> {
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const { resources } = await discoverResources(client, signal);
  const info = resources.find((each) => each.kind === kind && each.group === group);
  if (info === undefined)
    throw new Error(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`);
  return info;
}

export async function readScale(
  client: Client,
  target: { readonly namespace: string; readonly apiVersion: string; readonly kind: string; readonly name: string },
  signal: AbortSignal,
): Promise<ScaleTarget> {
  const info = await resourceOfKind(client, target, signal);
  const { namespace, name } = target;
  const scale = await client.resource(info).getSubresource<Scale>({ namespace, name }, 'scale', { signal });
  return { info, scale };
}

/** Writes the new size; a conflict when the scale has changed since it was read. */
export async function writeScale(
  client: Client,
  { info, scale }: ScaleTarget,
  { replicas, signal }: { readonly replicas: number; readonly signal: AbortSignal },
): Promise<void> {
  const changed = { ...scale, spec: { ...scale.spec, replicas } };
  await client.resource(info).update(changed as KubernetesObject, { subresource: 'scale', signal });
}
