/**
 * The record of a manifest file: an Addon in kube-system, k3s's kind. It has the file's path, the checksum of the
 * applied content and the applied objects, so that objects removed from the file can be deleted. The kind is defined
 * together with the first Addon.
 */
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import type { Clock } from '../../platform/clock.ts';

/** Identifies an object. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface Addon extends KubernetesObject {
  readonly spec: { readonly source: string; readonly checksum: string; readonly server: string };
  readonly status?: { readonly objects: readonly ObjectReference[]; readonly message?: string };
}

/** The namespace of all Addons. */
export const ADDON_NAMESPACE = 'kube-system';

const GROUP = 'k3s.cattle.io';
const NAME = `addons.${GROUP}`;
const ESTABLISHED_TIMEOUT_MS = 30_000;
const ESTABLISHED_PERIOD_MS = 50;

const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

const DEFINITION: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: NAME },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'addons', singular: 'addon', kind: 'Addon', listKind: 'AddonList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: OPEN, status: OPEN } } },
        additionalPrinterColumns: [
          { name: 'Source', type: 'string', jsonPath: '.spec.source' },
          { name: 'Checksum', type: 'string', jsonPath: '.spec.checksum' },
          { name: 'Message', type: 'string', jsonPath: '.status.message' },
        ],
      },
    ],
  },
};

/** Whether the kind is defined. */
export async function isAddonDefined(client: Client, signal: AbortSignal): Promise<boolean> {
  try {
    await client.resource(CustomResourceDefinitions).get({ name: NAME }, { signal });
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound')) return false;
    throw error;
  }
}

/** The kind, which is defined first if necessary. */
export async function addonResource(client: Client, clock: Clock, signal: AbortSignal): Promise<ResourceInfo<Addon>> {
  if (!(await isAddonDefined(client, signal)))
    await client.resource(CustomResourceDefinitions).create(DEFINITION, { signal });
  const deadlineMs = clock.monotonicMs() + ESTABLISHED_TIMEOUT_MS;
  for (;;) {
    const { resources } = await discoverResources(client, signal);
    const info = resources.find(({ group, kind }) => group === GROUP && kind === 'Addon');
    if (info !== undefined) return info as ResourceInfo<Addon>;
    if (clock.monotonicMs() > deadlineMs) throw new Error(`the kind ${NAME} is not served`);
    await clock.sleep(ESTABLISHED_PERIOD_MS, signal);
  }
}

/** A reference to an Addon that may not exist yet. */
export function addonReference(name: string): ObjectReference {
  return { apiVersion: `${GROUP}/v1`, kind: 'Addon', namespace: ADDON_NAMESPACE, name };
}

/** Why a file is refused whose Addon belongs to another server. */
export function takenMessage(name: string, server: string): string {
  return `server ${server} has applied a file of this name; when that is gone, kubectl delete addon ${name} -n ${ADDON_NAMESPACE} lets it go`;
}

/**
 * Creates the Addon, or replaces spec and status of an existing one. Throws when another server has created it
 * meanwhile.
 */
export async function saveAddon(
  client: Client,
  info: ResourceInfo<Addon>,
  { name, spec, status }: { readonly name: string } & Pick<Addon, 'spec' | 'status'>,
  signal: AbortSignal,
): Promise<Stored<Addon>> {
  const addons = client.resource(info);
  const key = { namespace: ADDON_NAMESPACE, name };
  const object: Addon = { apiVersion: `${GROUP}/v1`, kind: 'Addon', metadata: key, spec, status };
  try {
    return await addons.create(object, { signal });
  } catch (error) {
    if (!isReason(error, 'AlreadyExists')) throw error;
    const { server } = (await addons.get(key, { signal })).spec;
    if (server !== spec.server) throw new Error(takenMessage(name, server));
    // Null removes a field that a merge would keep.
    const patch = { spec, status: { message: null, ...status } };
    return await addons.patch(key, { type: 'merge', patch }, { signal });
  }
}
