import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeTyped } from '../../api/codec/typed.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import { schemaOf } from '../../api/schema/schema.ts';
import { clusterDefinitions } from '../registry/cluster-definitions.ts';
import { rbacDefinitions } from '../registry/rbac/definitions.ts';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from './objects.ts';
import { bootstrapClusterRoleBindings, bootstrapClusterRoles, bootstrapNamespacedRoles } from './policy.ts';

test('parts of bootstrap objects that are stored without decoding are as a reader decodes them', () => {
  const { roles, bindings } = bootstrapNamespacedRoles();
  const all: KubernetesObject[] = [
    ...bootstrapClusterRoles(),
    ...bootstrapClusterRoleBindings(),
    ...roles,
    ...bindings,
    ...bootstrapPriorityLevels(),
    ...bootstrapFlowSchemas(),
  ];
  assert.ok(all.length > 150);
  for (const object of all) {
    const { metadata: _, ...read } = readBack(object);
    for (const [name, part] of Object.entries(object))
      if (name !== 'metadata') assert.equal(JSON.stringify(read[name]), JSON.stringify(part), object.metadata.name);
  }
});

function readBack(object: KubernetesObject): Readonly<Record<string, unknown>> {
  const { info, strategy } = [...rbacDefinitions, ...clusterDefinitions].find(
    (one) => one.info.kind === object.kind && apiVersionOf(one.info) === object.apiVersion,
  )!;
  const decoded = decodeTyped(schemaOf(info.group, info.version, info.kind)!, structuredClone(object)).object;
  strategy.applyDefaults?.(decoded as never);
  return decoded;
}
