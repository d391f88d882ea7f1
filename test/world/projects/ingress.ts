/** An ingress controller: Jobs that prepare its admission webhook, IngressClass, and a Service of type LoadBalancer. */
import { CA_BUNDLE } from '../ca-bundle.ts';
import { accountWithRole, manifest, namespaceOf, type Project, serviceOf, workload } from '../manifest.ts';

const NAMESPACE = 'ingress';
const job = (name: string) =>
  manifest(
    'batch/v1',
    'Job',
    { name, namespace: NAMESPACE },
    {
      spec: {
        ttlSecondsAfterFinished: 0,
        template: {
          metadata: { name },
          spec: {
            restartPolicy: 'OnFailure',
            serviceAccountName: 'ingress',
            containers: [
              {
                name: 'create',
                image: 'registry.example/certgen:v1',
                env: [{ name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } }],
              },
            ],
          },
        },
      },
    },
  );
const rule = {
  apiGroups: ['networking.k8s.io'],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['ingresses'],
};
const webhook = {
  name: 'validate.ingress.world.example',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  clientConfig: {
    caBundle: CA_BUNDLE,
    service: { name: 'ingress', namespace: NAMESPACE, path: '/v1/ingresses', port: 443 },
  },
  objectSelector: { matchLabels: { 'ingress.world.example/checked': 'yes' } },
  rules: [{ ...rule, scope: '*' }],
};

export const ingress: Project = {
  name: 'ingress',
  namespace: NAMESPACE,
  definitions: [],
  objects: [
    namespaceOf(NAMESPACE),
    ...accountWithRole('ingress', NAMESPACE, 'networking.k8s.io'),
    serviceOf('ingress', NAMESPACE, {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' }],
    }),
    workload('Deployment', { name: 'ingress', namespace: NAMESPACE }),
    job('admission-create'),
    job('admission-patch'),
    manifest(
      'networking.k8s.io/v1',
      'IngressClass',
      { name: 'world' },
      { spec: { controller: 'ingress.world.example/controller' } },
    ),
    manifest(
      'admissionregistration.k8s.io/v1',
      'ValidatingWebhookConfiguration',
      { name: 'ingress-admission' },
      { webhooks: [webhook] },
    ),
  ],
  samples: [
    manifest(
      'networking.k8s.io/v1',
      'Ingress',
      { name: 'web', namespace: NAMESPACE },
      {
        spec: {
          ingressClassName: 'world',
          tls: [{ hosts: ['web.example'], secretName: 'web' }],
          rules: [
            {
              host: 'web.example',
              http: {
                paths: [
                  { path: '/', pathType: 'Prefix', backend: { service: { name: 'ingress', port: { name: 'http' } } } },
                ],
              },
            },
          ],
        },
      },
    ),
  ],
};
