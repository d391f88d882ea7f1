/** Runs one admission plugin on made-up requests, for tests. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import type { Principal } from '../../api/transport.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import {
  type AdmissionAttributes,
  type AdmissionOperation,
  type AdmissionPlugin,
  newReinvocation,
} from './contract.ts';

/** The fields of a request that a test sets; the others have defaults. */
export interface TestRequest {
  readonly operation?: AdmissionOperation;
  /** The request's verb, for plugins that look at it. */
  readonly verb?: string;
  readonly subresource?: string;
  readonly object?: KubernetesObject;
  readonly oldObject?: KubernetesObject;
  readonly namespace?: string;
  readonly name?: string;
  readonly user?: Principal;
  readonly dryRun?: boolean;
  /** Collects the warnings. */
  readonly warnings?: string[];
  /** Collects the audit annotations. */
  readonly annotations?: Map<string, string>;
}

/** A registry of these resources, for what matches requests; versions of one resource share their storage. */
export function testingRegistry(...resources: ResourceInfo[]): ResourceRegistry {
  const stores = resources.map((info) => ({
    info,
    definition: { storagePrefix: `/registry/${info.resource}/`, strategy: {} },
    get schema() {
      return schemaOf(info.group, info.version, info.kind);
    },
  }));
  const known = ({ group, version, resource }: ResourceInfo): unknown =>
    stores.find(({ info }) => info.group === group && info.version === version && info.resource === resource);
  return { known, served: stores } as unknown as ResourceRegistry;
}

/** The attributes of a made-up request. */
export function admissionAttributesOf(resource: ResourceInfo, request: TestRequest): AdmissionAttributes {
  const { operation = 'CREATE', subresource = '', object, oldObject } = request;
  const meta = (object ?? oldObject)?.metadata;
  const namespace = request.namespace ?? meta?.namespace ?? '';
  const user = request.user ?? { name: 'admin', groups: [] };
  const name = request.name ?? meta?.name ?? '';
  return {
    operation,
    resource,
    subresource,
    namespace,
    name,
    ...(object === undefined ? {} : { object }),
    ...(oldObject === undefined ? {} : { oldObject }),
    options: {},
    dryRun: request.dryRun ?? false,
    reinvocation: newReinvocation(),
    context: {
      user,
      info: { name: operation === 'CREATE' ? '' : name, verb: request.verb },
      signal: new AbortController().signal,
      addWarning: (text: string) => void request.warnings?.push(text),
      addAuditAnnotation: (key: string, value: string) => request.annotations?.set(key, value),
    },
  } as unknown as AdmissionAttributes;
}

/** Admits a request through the plugin, if it handles it. Rejects with what the plugin refuses. */
export async function admit(plugin: AdmissionPlugin, resource: ResourceInfo, request: TestRequest): Promise<void> {
  const attributes = admissionAttributesOf(resource, request);
  if (!plugin.handles(attributes.operation, resource, attributes.subresource)) return;
  await plugin.mutate?.(attributes);
  await plugin.validate?.(attributes);
}
