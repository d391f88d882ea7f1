/** A monitoring stack: headless Services, StatefulSets, an aggregated API's service and rules of long texts. */
import { arrayOf, definitionOf, objectOf, textOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, serviceOf, workload } from '../manifest.ts';

const NAMESPACE = 'monitoring';
const GROUP = 'monitoring.world.example';
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
    group: GROUP,
    kind: 'Rule',
    versions: [
      {
        name: 'v1',
        spec: objectOf({ groups: arrayOf(objectOf({ name: textOf(128), rules: arrayOf(rule, 64) }), 64) }),
      },
    ],
  }),
  definitionOf({
    group: GROUP,
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
  namespace: NAMESPACE,
  definitions,
  objects: [
    namespaceOf(NAMESPACE),
    ...names.flatMap((name) => [
      ...accountWithRole(name, NAMESPACE, GROUP),
      serviceOf(name, NAMESPACE, { clusterIP: 'None', ports: [{ name: 'https', port: 8443, targetPort: 'https' }] }),
      manifest(
        'networking.k8s.io/v1',
        'NetworkPolicy',
        { name, namespace: NAMESPACE },
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
      { name: 'exporter', namespace: NAMESPACE },
      { hostNetwork: true, hostPID: true, tolerations: [{ operator: 'Exists' }] },
    ),
    workload('Deployment', { name: 'state-metrics', namespace: NAMESPACE }),
    workload('StatefulSet', { name: 'collector', namespace: NAMESPACE }),
    manifest(
      'v1',
      'Pod',
      { name: 'probe', namespace: NAMESPACE },
      { spec: { restartPolicy: 'Never', containers: [{ name: 'probe', image: 'registry.example/probe:v1' }] } },
    ),
    ...Array.from({ length: 20 }, (_, index) =>
      manifest(
        'v1',
        'ConfigMap',
        { name: `dashboard-${index}`, namespace: NAMESPACE },
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
      `${GROUP}/v1`,
      'Rule',
      { name: 'alerts', namespace: NAMESPACE },
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
      `${GROUP}/v1`,
      'Monitor',
      { name: 'exporter', namespace: NAMESPACE },
      { spec: { selector: { matchLabels: { app: 'exporter' } } } },
    ),
  ],
};
