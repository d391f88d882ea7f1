/** A monitoring stack: headless Services, StatefulSets, an aggregated API's service and rules of long texts. */
import { arrayOf, definitionOf, objectOf, textOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, serviceOf, workload } from '../manifest.ts';

const namespace = 'monitoring';
const group = 'monitoring.world.example';
const rule = objectOf(
  {
    alert: textOf(256),
    expr: { 'x-kubernetes-int-or-string': true },
    for: textOf(32, { pattern: '^(([0-9]+)(s|m|h|d))+$' }),
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  },
  { required: ['expr'] },
);
const definitions = [
  definitionOf({
    group,
    kind: 'Rule',
    versions: [
      {
        name: 'v1',
        spec: objectOf({ groups: arrayOf(objectOf({ name: textOf(128), rules: arrayOf(rule, 64) }), 64) }),
      },
    ],
  }),
  definitionOf({
    group,
    kind: 'Monitor',
    versions: [
      {
        name: 'v1',
        spec: objectOf({
          selector: {
            type: 'object',
            'x-kubernetes-map-type': 'atomic',
            properties: { matchLabels: { type: 'object', additionalProperties: { type: 'string' } } },
          },
        }),
      },
    ],
  }),
];
const names = ['exporter', 'state-metrics', 'collector'];

export const monitoring: Project = {
  name: 'monitoring',
  namespace,
  definitions,
  objects: [
    namespaceOf(namespace),
    ...names.flatMap((name) => [
      ...accountWithRole(name, namespace, group),
      serviceOf(name, namespace, { clusterIP: 'None', ports: [{ name: 'https', port: 8443, targetPort: 'https' }] }),
      manifest(
        'networking.k8s.io/v1',
        'NetworkPolicy',
        { name, namespace },
        {
          spec: {
            podSelector: { matchLabels: { 'app.kubernetes.io/name': name } },
            policyTypes: ['Ingress', 'Egress'],
            egress: [{}],
            ingress: [{ ports: [{ port: 'https', protocol: 'TCP' }] }],
          },
        },
      ),
    ]),
    workload(
      'DaemonSet',
      { name: 'exporter', namespace },
      { hostNetwork: true, hostPID: true, tolerations: [{ operator: 'Exists' }] },
    ),
    workload('Deployment', { name: 'state-metrics', namespace }),
    workload('StatefulSet', { name: 'collector', namespace }),
    manifest(
      'v1',
      'Pod',
      { name: 'probe', namespace },
      { spec: { restartPolicy: 'Never', containers: [{ name: 'probe', image: 'registry.example/probe:v1' }] } },
    ),
    ...Array.from({ length: 20 }, (_, index) =>
      manifest(
        'v1',
        'ConfigMap',
        { name: `dashboard-${index}`, namespace },
        {
          data: {
            'dashboard.json': JSON.stringify({
              panels: Array.from({ length: 200 }, (__, panel) => ({ panel, title: `panel ${panel} of ${index}` })),
            }),
          },
        },
      ),
    ),
  ],
  samples: [
    manifest(
      `${group}/v1`,
      'Rule',
      { name: 'alerts', namespace },
      {
        spec: {
          groups: [
            {
              name: 'nodes',
              rules: [{ alert: 'Down', expr: 'up == 0', for: '5m', labels: { severity: 'critical' } }, { expr: 1 }],
            },
          ],
        },
      },
    ),
    manifest(
      `${group}/v1`,
      'Monitor',
      { name: 'exporter', namespace },
      { spec: { selector: { matchLabels: { app: 'exporter' } } } },
    ),
  ],
};
