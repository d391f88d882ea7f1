/**
 * Refuses privileged containers without `--allow-privileged`, in pods and in everything that creates pods. Stored
 * objects that have them may be changed otherwise. Upstream: validation of security contexts by pkg/capabilities.
 */
import type { Container } from '../../../api/gen/core-v1.ts';
import { isObject } from '../../../api/codec/own-property.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import { invalid } from '../../../api/status-error.ts';
import type { AdmissionPlugin } from '../contract.ts';

/** The paths of pod specs by kind. */
const SPEC_PATHS: Readonly<Record<string, readonly string[]>> = {
  '/pods': ['spec'],
  '/podtemplates': ['template', 'spec'],
  '/replicationcontrollers': ['spec', 'template', 'spec'],
  'apps/replicasets': ['spec', 'template', 'spec'],
  'apps/deployments': ['spec', 'template', 'spec'],
  'apps/daemonsets': ['spec', 'template', 'spec'],
  'apps/statefulsets': ['spec', 'template', 'spec'],
  'batch/jobs': ['spec', 'template', 'spec'],
  'batch/cronjobs': ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
};

const pathOf = ({ group, resource }: Pick<ResourceInfo, 'group' | 'resource'>): readonly string[] | undefined =>
  SPEC_PATHS[`${group}/${resource}`];

/** The paths of the fields that make a container privileged. */
function privilegedIn(object: unknown, path: readonly string[]): string[] {
  let spec = object;
  for (const name of path) spec = isObject(spec) ? spec[name] : undefined;
  if (!isObject(spec)) return [];
  const held = spec as Readonly<Record<string, readonly Container[] | undefined>>;
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    (held[list] ?? []).flatMap(({ securityContext }, index) =>
      securityContext?.privileged === true ? [`${path.join('.')}.${list}[${index}].securityContext.privileged`] : [],
    ),
  );
}

export function createPrivilegedContainers(): AdmissionPlugin {
  return {
    name: 'PrivilegedContainers',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      (subresource === '' || subresource === 'ephemeralcontainers') &&
      pathOf(resource) !== undefined,
    validate({ object, oldObject, resource, name }) {
      const path = pathOf(resource) ?? [];
      const before = new Set(oldObject === undefined ? [] : privilegedIn(oldObject, path));
      const fields = privilegedIn(object, path).filter((field) => !before.has(field));
      if (fields.length === 0) return;
      throw invalid(
        resource,
        name,
        fields.map((field) => ({
          reason: 'FieldValueForbidden',
          field,
          text: 'Forbidden: disallowed by cluster policy',
        })),
      );
    },
  };
}
