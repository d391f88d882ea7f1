/** A policy engine: many definitions of several versions, webhooks that fail open, CronJobs and policies in CEL. */
import { CA_BUNDLE } from '../ca-bundle.ts';
import { definitionOf, largeSpec } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, serviceOf, workload } from '../manifest.ts';

const NAMESPACE = 'policies';
const GROUP = 'policies.world.example';
const kinds = [
  'Policy',
  'ClusterPolicy',
  'Exception',
  'Cleanup',
  'Report',
  'ClusterReport',
  'Update',
  'Mutation',
  'Image',
  'Generating',
];
/** Match resources with their defaults, which are one atomic value in server-side apply. */
const MATCHES = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };
const REGISTRATION = 'admissionregistration.k8s.io/v1';
const webhook = (name: string) => ({
  name: `${name}.${GROUP}`,
  admissionReviewVersions: ['v1'],
  sideEffects: 'NoneOnDryRun',
  failurePolicy: 'Ignore',
  timeoutSeconds: 2,
  clientConfig: { caBundle: CA_BUNDLE, service: { name: 'engine', namespace: NAMESPACE, path: `/${name}` } },
  matchConditions: [{ name: 'not-nodes', expression: "!('system:nodes' in request.userInfo.groups)" }],
  rules: [{ apiGroups: [GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*/*'], scope: '*' }],
});

export const policies: Project = {
  name: 'policies',
  namespace: NAMESPACE,
  definitions: kinds.map((kind) =>
    definitionOf({
      group: GROUP,
      kind,
      isClusterScoped: kind.startsWith('Cluster'),
      versions: ['v1', 'v1beta1'].map((name) => ({ name, spec: largeSpec(3, 2) })),
    }),
  ),
  objects: [
    namespaceOf(NAMESPACE),
    ...['engine', 'reports', 'cleanup'].flatMap((name) => [
      ...accountWithRole(name, NAMESPACE, GROUP),
      serviceOf(name, NAMESPACE),
      workload('Deployment', { name, namespace: NAMESPACE }),
    ]),
    manifest(
      'batch/v1',
      'CronJob',
      { name: 'cleanup', namespace: NAMESPACE },
      {
        spec: {
          schedule: '*/10 * * * *',
          concurrencyPolicy: 'Forbid',
          jobTemplate: {
            spec: {
              template: {
                spec: {
                  restartPolicy: 'Never',
                  serviceAccountName: 'cleanup',
                  containers: [{ name: 'cleanup', image: 'registry.example/cleanup:v1' }],
                },
              },
            },
          },
        },
      },
    ),
    manifest(
      REGISTRATION,
      'MutatingWebhookConfiguration',
      { name: 'policies-mutate' },
      { webhooks: ['mutate-fail', 'mutate-ignore'].map(webhook) },
    ),
    manifest(
      REGISTRATION,
      'ValidatingWebhookConfiguration',
      { name: 'policies-validate' },
      { webhooks: ['validate-fail', 'validate-ignore'].map(webhook) },
    ),
    manifest(
      REGISTRATION,
      'ValidatingAdmissionPolicy',
      { name: 'world-replicas' },
      {
        spec: {
          matchConstraints: {
            ...MATCHES,
            resourceRules: [
              {
                apiGroups: ['apps'],
                apiVersions: ['v1'],
                operations: ['CREATE', 'UPDATE'],
                resources: ['deployments'],
                scope: '*',
              },
            ],
          },
          validations: [
            { expression: 'object.spec.?replicas.orValue(1) <= 50', messageExpression: "'at most 50 replicas'" },
          ],
        },
      },
    ),
    manifest(
      REGISTRATION,
      'ValidatingAdmissionPolicyBinding',
      { name: 'world-replicas' },
      {
        spec: {
          policyName: 'world-replicas',
          validationActions: ['Deny'],
          matchResources: { ...MATCHES, namespaceSelector: { matchLabels: { policed: 'yes' } } },
        },
      },
    ),
  ],
  samples: kinds.map((kind) =>
    manifest(
      `${GROUP}/v1`,
      kind,
      kind.startsWith('Cluster') ? { name: 'sample' } : { name: 'sample', namespace: NAMESPACE },
      {
        spec: { image: 'a:1', group0: { labels: { a: 'b' }, limit: '10%' } },
      },
    ),
  ),
};
