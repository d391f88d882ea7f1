/** An operator made with a small framework: finalizers named after its group alone, status and scale subresources. */
import { definitionOf, objectOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, workload } from '../manifest.ts';

const NAMESPACE = 'operator';
const GROUP = 'operator.world.example';
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
  namespace: NAMESPACE,
  definitions: [
    definitionOf({
      group: GROUP,
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
    namespaceOf(NAMESPACE),
    ...accountWithRole('manager', NAMESPACE, GROUP),
    workload('Deployment', { name: 'manager', namespace: NAMESPACE }),
  ],
  samples: Array.from({ length: 5 }, (_, index) =>
    manifest(
      `${GROUP}/v1`,
      'Database',
      { name: `db-${index}`, namespace: NAMESPACE, finalizers: [`databases.${GROUP}`] },
      { spec: { replicas: index, size: index } },
    ),
  ),
  warnings: /prefer a domain-qualified finalizer name including a path/,
};
