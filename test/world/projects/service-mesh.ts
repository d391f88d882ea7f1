/** A service mesh: rules in CEL over lists and maps, mutating webhooks, and a DaemonSet on the host's network. */
import { arrayOf, definitionOf, objectOf, rulesOf, textOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, serviceOf, workload } from '../manifest.ts';

const NAMESPACE = 'mesh-system';
const GROUP = 'mesh.world.example';

const labels = {
  type: 'object',
  maxProperties: 128,
  additionalProperties: textOf(63),
  ...rulesOf('self.all(key, size(key) < 63 && key.matches("^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$"))'),
};
const endpoint = objectOf(
  { address: textOf(256), labels, network: textOf(2048), weight: { type: 'integer', minimum: 0 } },
  rulesOf(
    'has(self.address) || has(self.network)',
    "has(self.address) ? !self.address.startsWith('unix://') || !has(self.weight) : true",
  ),
);
const serviceEntry = objectOf(
  {
    hosts: arrayOf(textOf(253), 256, { minItems: 1 }),
    endpoints: arrayOf(endpoint, 4096),
    ports: arrayOf(
      objectOf(
        { number: { type: 'integer', minimum: 1, maximum: 65_535 }, name: textOf(63) },
        { required: ['number', 'name'] },
      ),
      256,
      {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        ...rulesOf('self.all(l1, self.exists_one(l2, l1.number == l2.number))'),
      },
    ),
    resolution: { type: 'string', enum: ['NONE', 'STATIC', 'DNS'] },
  },
  { required: ['hosts'], ...rulesOf("!(has(self.endpoints) && has(self.resolution) && self.resolution == 'NONE')") },
);

const webhook = (name: string, rule: object) => ({
  name: `${name}.${GROUP}`,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Ignore',
  reinvocationPolicy: 'IfNeeded',
  timeoutSeconds: 5,
  clientConfig: { service: { name: 'pilot', namespace: NAMESPACE, path: `/${name}`, port: 443 } },
  namespaceSelector: { matchLabels: { 'mesh.world.example/inject': 'enabled' } },
  rules: [{ ...rule, scope: '*' }],
});
const pods = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };
const entries = { apiGroups: [GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'] };

export const serviceMesh: Project = {
  name: 'service mesh',
  namespace: NAMESPACE,
  definitions: [
    definitionOf({
      group: GROUP,
      kind: 'ServiceEntry',
      versions: [
        { name: 'v1', spec: serviceEntry },
        { name: 'v1beta1', spec: serviceEntry },
      ],
    }),
    definitionOf({
      group: GROUP,
      kind: 'Sidecar',
      versions: [{ name: 'v1', spec: objectOf({ outbound: { 'x-kubernetes-preserve-unknown-fields': true } }) }],
    }),
  ],
  objects: [
    namespaceOf(NAMESPACE, { 'pod-security.kubernetes.io/enforce': 'privileged' }),
    ...accountWithRole('pilot', NAMESPACE, GROUP),
    serviceOf('pilot', NAMESPACE),
    workload('Deployment', { name: 'pilot', namespace: NAMESPACE }),
    ...accountWithRole('node-agent', NAMESPACE, GROUP),
    workload(
      'DaemonSet',
      { name: 'node-agent', namespace: NAMESPACE },
      {
        hostNetwork: true,
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name: 'agent',
            image: 'registry.example/agent:v1',
            ports: [{ name: 'metrics', containerPort: 9120 }],
            securityContext: { privileged: true },
          },
        ],
      },
    ),
    manifest(
      'admissionregistration.k8s.io/v1',
      'MutatingWebhookConfiguration',
      { name: 'mesh-injector' },
      { webhooks: [webhook('inject', pods)] },
    ),
    manifest(
      'admissionregistration.k8s.io/v1',
      'ValidatingWebhookConfiguration',
      { name: 'mesh-checks' },
      { webhooks: [{ ...webhook('check', entries), reinvocationPolicy: undefined }] },
    ),
    manifest(
      'autoscaling/v2',
      'HorizontalPodAutoscaler',
      { name: 'pilot', namespace: NAMESPACE },
      {
        spec: {
          maxReplicas: 5,
          minReplicas: 1,
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'pilot' },
          metrics: [
            { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
          ],
        },
      },
    ),
    manifest(
      'policy/v1',
      'PodDisruptionBudget',
      { name: 'pilot', namespace: NAMESPACE },
      { spec: { minAvailable: 1, selector: { matchLabels: { 'app.kubernetes.io/name': 'pilot' } } } },
    ),
  ],
  samples: ['v1', 'v1beta1'].flatMap((version) =>
    ['pay', 'mail'].map((name) =>
      manifest(
        `${GROUP}/${version}`,
        'ServiceEntry',
        { name: `${name}-${version}`, namespace: NAMESPACE },
        {
          spec: {
            hosts: [`${name}.example`],
            ports: [{ number: 443, name: 'https' }],
            resolution: 'STATIC',
            endpoints: [{ address: '192.0.2.1', labels: { zone: 'a' } }],
          },
        },
      ),
    ),
  ),
};
