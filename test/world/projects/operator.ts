/** An operator made with a small framework: finalizers named after its group alone, status and scale subresources. */
import { definitionOf, objectOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, workload } from '../manifest.ts';

const namespace = 'operator';
const group = 'operator.world.example';
const replicas = { type: 'integer', format: 'int32', minimum: 0, default: 1 };
const scale = {
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
};

export const operator: Project = {
  name: 'operator',
  namespace,
  definitions: [
    definitionOf({
      group,
      kind: 'Database',
      versions: [
        {
          name: 'v1',
          spec: objectOf({
            replicas,
            size: { type: 'integer', pattern: '^[0-9]+.*', 'x-kubernetes-int-or-string': true },
          }),
          more: { subresources: { status: {}, ...scale }, selectableFields: [{ jsonPath: '.spec.replicas' }] },
        },
      ],
    }),
  ],
  objects: [
    namespaceOf(namespace),
    ...accountWithRole('manager', namespace, group),
    workload('Deployment', { name: 'manager', namespace }),
  ],
  samples: Array.from({ length: 5 }, (_, index) =>
    manifest(
      `${group}/v1`,
      'Database',
      { name: `db-${index}`, namespace, finalizers: [`databases.${group}`] },
      { spec: { replicas: index, size: index } },
    ),
  ),
  warnings: /prefer a domain-qualified finalizer name including a path/,
};
