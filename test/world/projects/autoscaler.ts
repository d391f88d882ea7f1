/** An autoscaler of nodes: optionals, has and formats in CEL, cluster-scoped resources, defaults and prices as quantities. */
import { arrayOf, definitionOf, objectOf, rulesOf, textOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, workload } from '../manifest.ts';

const NAMESPACE = 'autoscaler';
const GROUP = 'autoscaler.world.example';
const budget = objectOf({
  nodes: textOf(10, { default: '10%', pattern: '^((100|[0-9]{1,2})%|[0-9]+)$' }),
  schedule: textOf(64),
  duration: textOf(32),
});
const requirement = objectOf(
  {
    key: textOf(316, rulesOf("self in ['zone', 'arch'] || !self.contains('reserved')")),
    operator: { type: 'string', enum: ['In', 'Exists'] },
    values: arrayOf(textOf(63), 50),
  },
  { required: ['key', 'operator'] },
);
const spec = objectOf(
  {
    name: textOf(
      63,
      rulesOf(
        'size(self) == 0 || !format.dns1123Label().validate(self).hasValue()',
        'format.dns1123Label().validate(self) != null',
      ),
    ),
    zone: textOf(63),
    weight: { type: 'integer', minimum: 1, maximum: 100 },
    budgets: arrayOf(budget, 50, {
      default: [{ nodes: '10%' }],
      ...rulesOf('self.all(x, has(x.schedule) == has(x.duration))'),
    }),
    requirements: arrayOf(
      requirement,
      30,
      rulesOf("self.all(x, x.operator == 'In' ? has(x.values) && x.values.size() != 0 : true)"),
    ),
    limits: {
      type: 'object',
      additionalProperties: {
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        pattern: '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$',
        'x-kubernetes-int-or-string': true,
      },
    },
  },
  {
    ...rulesOf("self.?zone.orValue('a') != 'forbidden'", 'self.?weight.optMap(w, w * 2).orValue(2) <= 200'),
  },
);

export const autoscaler: Project = {
  name: 'autoscaler',
  namespace: NAMESPACE,
  definitions: ['NodePool', 'NodeClaim'].map((kind) =>
    definitionOf({
      group: GROUP,
      kind,
      isClusterScoped: true,
      versions: [
        { name: 'v1', spec },
        { name: 'v1beta1', spec, more: { served: false } },
      ],
    }),
  ),
  objects: [
    namespaceOf(NAMESPACE),
    ...accountWithRole('autoscaler', NAMESPACE, GROUP),
    workload(
      'Deployment',
      { name: 'autoscaler', namespace: NAMESPACE },
      {
        priorityClassName: 'system-cluster-critical',
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'autoscaler' } },
          },
        ],
        containers: [
          {
            name: 'a',
            image: 'registry.example/autoscaler:v1',
            env: [
              {
                name: 'MEMORY',
                valueFrom: { resourceFieldRef: { containerName: 'a', resource: 'limits.memory', divisor: '0' } },
              },
            ],
          },
        ],
      },
    ),
  ],
  samples: ['general', 'spot'].map((name) =>
    manifest(
      `${GROUP}/v1`,
      'NodePool',
      { name },
      {
        spec: {
          name,
          weight: 10,
          limits: { cpu: 1000, memory: '10Gi' },
          requirements: [{ key: 'zone', operator: 'In', values: ['a'] }],
        },
      },
    ),
  ),
};
