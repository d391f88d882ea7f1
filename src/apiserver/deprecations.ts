/** Warnings to clients of deprecated API versions. Upstream: APILifecycleDeprecated of the types, handlers/warning. */
import type { ResourceDefinition } from './registry/resource-definition.ts';

/** By group, version and resource. Only what is served although deprecated. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ['/v1/endpoints', 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  ['/v1/componentstatuses', 'v1 ComponentStatus is deprecated in v1.19+'],
]);

/** The warning for clients that use the resource, if any. */
export function deprecationOf({ info, deprecationWarning }: ResourceDefinition): string | undefined {
  const { group, version, resource } = info;
  return deprecationWarning ?? TEXTS.get(`${group}/${version}/${resource}`);
}
