/** A certificate manager: versions converted by a webhook with a caBundle, and service accounts of several namespaces. */
import { CA_BUNDLE } from '../ca-bundle.ts';
import { arrayOf, definitionOf, objectOf, textOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, serviceOf, workload } from '../manifest.ts';

const NAMESPACE = 'certificates';
const GROUP = 'certificates.world.example';

const issuer = objectOf({
  acme: objectOf({ server: textOf(512), email: textOf(320) }, { required: ['server'] }),
  selfSigned: { type: 'object' },
});
const certificate = objectOf(
  {
    secretName: textOf(253),
    dnsNames: arrayOf(textOf(253), 100),
    duration: textOf(32),
    issuerRef: objectOf({ name: textOf(253), kind: textOf(63) }, { required: ['name'] }),
  },
  { required: ['secretName', 'issuerRef'] },
);
const conversion = {
  conversion: {
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v1'],
      clientConfig: { caBundle: CA_BUNDLE, service: { name: 'webhook', namespace: NAMESPACE, path: '/convert' } },
    },
  },
};

export const certificates: Project = {
  name: 'certificates',
  namespace: NAMESPACE,
  definitions: [
    definitionOf({
      group: GROUP,
      kind: 'Certificate',
      versions: [
        { name: 'v1', spec: certificate },
        { name: 'v1alpha2', spec: certificate, more: { deprecated: true } },
      ],
      more: conversion,
    }),
    ...['Issuer', 'ClusterIssuer'].map((kind) =>
      definitionOf({
        group: GROUP,
        kind,
        isClusterScoped: kind === 'ClusterIssuer',
        versions: [{ name: 'v1', spec: issuer }],
      }),
    ),
  ],
  objects: [
    namespaceOf(NAMESPACE),
    ...['controller', 'webhook', 'injector'].flatMap((name) => [
      ...accountWithRole(`certificates-${name}`, NAMESPACE, GROUP),
      manifest('v1', 'ServiceAccount', { name, namespace: NAMESPACE }),
      workload('Deployment', { name, namespace: NAMESPACE }),
    ]),
    serviceOf('webhook', NAMESPACE),
    manifest(
      'rbac.authorization.k8s.io/v1',
      'Role',
      { name: 'certificates-leader', namespace: 'kube-system' },
      {
        rules: [
          {
            apiGroups: ['coordination.k8s.io'],
            resources: ['leases'],
            resourceNames: ['certificates'],
            verbs: ['get', 'update', 'patch'],
          },
        ],
      },
    ),
    manifest(
      'rbac.authorization.k8s.io/v1',
      'RoleBinding',
      { name: 'certificates-leader', namespace: 'kube-system' },
      {
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'certificates-leader' },
        subjects: [{ kind: 'ServiceAccount', name: 'controller', namespace: NAMESPACE }],
      },
    ),
  ],
  samples: [
    manifest(`${GROUP}/v1`, 'ClusterIssuer', { name: 'self-signed' }, { spec: { selfSigned: {} } }),
    manifest(
      `${GROUP}/v1`,
      'Issuer',
      { name: 'acme', namespace: NAMESPACE },
      { spec: { acme: { server: 'https://acme.example/directory' } } },
    ),
    manifest(
      `${GROUP}/v1`,
      'Certificate',
      { name: 'web', namespace: NAMESPACE },
      { spec: { secretName: 'web-tls', dnsNames: ['web.example'], issuerRef: { name: 'acme' } } },
    ),
  ],
};
