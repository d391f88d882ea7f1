/** A project whose webhooks have a server: it changes, refuses and converts objects, and while it fails none can be created. */
import { CA_BUNDLE } from '../ca-bundle.ts';
import { definitionOf, objectOf, textOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project } from '../manifest.ts';

const NAMESPACE = 'hooks';
const GROUP = 'hooks.world.example';
const count = { type: 'integer', minimum: 0, default: 1 };
const image = textOf(253);

/** Objects in both versions: those stored as v1 are read as v1beta1, and the other way round. */
const samples = [
  manifest(`${GROUP}/v1`, 'Site', { name: 'new', namespace: NAMESPACE }, { spec: { image: 'site:1', replicas: 2 } }),
  manifest(`${GROUP}/v1beta1`, 'Site', { name: 'old', namespace: NAMESPACE }, { spec: { image: 'site:1', size: 3 } }),
  manifest(
    `${GROUP}/v1beta1`,
    'Site',
    { name: 'kept', namespace: NAMESPACE, finalizers: [`${GROUP}/cleanup`], labels: { own: 'label' } },
    { spec: { image: 'site:1' } },
  ),
];

/** The project; its webhooks are below this URL. */
export function hooks(url: string): Project {
  const clientConfig = (path: string) => ({ url: `${url}${path}`, caBundle: CA_BUNDLE });
  const hook = (name: string) => ({
    name: `${name}.${GROUP}`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    clientConfig: clientConfig(`/${name}`),
    rules: [
      { apiGroups: [GROUP], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['sites'], scope: '*' },
    ],
  });
  return {
    name: 'hooks',
    namespace: NAMESPACE,
    definitions: [
      definitionOf({
        group: GROUP,
        kind: 'Site',
        versions: [
          { name: 'v1', spec: objectOf({ image, replicas: count }, { required: ['image'] }) },
          { name: 'v1beta1', spec: objectOf({ image, size: count }, { required: ['image'] }) },
        ],
        more: {
          conversion: {
            strategy: 'Webhook',
            webhook: { conversionReviewVersions: ['v1'], clientConfig: clientConfig('/convert') },
          },
        },
      }),
    ],
    objects: [
      namespaceOf(NAMESPACE),
      ...accountWithRole('hooks', NAMESPACE, GROUP),
      manifest(
        'admissionregistration.k8s.io/v1',
        'MutatingWebhookConfiguration',
        { name: 'hooks' },
        { webhooks: [hook('mutate')] },
      ),
      manifest(
        'admissionregistration.k8s.io/v1',
        'ValidatingWebhookConfiguration',
        { name: 'hooks' },
        { webhooks: [hook('validate')] },
      ),
    ],
    samples,
  };
}
