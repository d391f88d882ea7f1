/** Objects that are accepted with warnings, and the warnings of upstream's API server of v1.36. */
import { podWarningRows } from './pod-warning-rows-fixture.ts';
import {
  CORE,
  labels,
  NAME_RULE,
  OLD_LABEL,
  oldTerm,
  plainContainer,
  USE_NEW_LABEL,
  type WarningRow,
} from './warning-row-fixture.ts';

const APPS = '/apis/apps/v1/namespaces/default';

type Template = { readonly spec?: object; readonly metadata?: object };

const template = ({ spec, metadata }: Template = {}): object => ({
  metadata: { labels, ...metadata },
  spec: { containers: [plainContainer], ...spec },
});

function deployment(parts: Template = {}, name = 'web', replicas = 1): WarningRow['object'] {
  return {
    metadata: { name },
    spec: { replicas, selector: { matchLabels: labels }, template: template(parts) },
  };
}

const IN_POD_NAMES = `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: ${NAME_RULE}`;

const workloads: readonly WarningRow[] = [
  { path: `${APPS}/deployments`, object: deployment({}, 'a.b'), warnings: [IN_POD_NAMES] },
  {
    path: `${APPS}/deployments`,
    object: deployment({ spec: { nodeSelector: { [OLD_LABEL]: 'linux' } } }),
    warnings: [`spec.template.spec.nodeSelector[${OLD_LABEL}]: ${USE_NEW_LABEL}`],
  },
  {
    path: `${APPS}/deployments`,
    old: deployment({ spec: { nodeSelector: { [OLD_LABEL]: 'linux' } } }),
    object: {
      ...deployment({ spec: { nodeSelector: { [OLD_LABEL]: 'linux' } } }),
      metadata: { name: 'web', labels },
    } as WarningRow['object'],
    warnings: [],
  },
  {
    path: `${APPS}/deployments`,
    old: deployment({ spec: { nodeSelector: { [OLD_LABEL]: 'linux' } } }),
    object: deployment({ spec: { nodeSelector: { [OLD_LABEL]: 'linux' } } }, 'web', 2),
    warnings: [`spec.template.spec.nodeSelector[${OLD_LABEL}]: ${USE_NEW_LABEL}`],
  },
  {
    path: `${APPS}/deployments`,
    object: deployment({
      metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/c': 'runtime/default' } },
    }),
    warnings: [
      'spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead',
    ],
  },
  {
    path: `${APPS}/deployments`,
    object: deployment({ spec: { terminationGracePeriodSeconds: -3 } }),
    warnings: [
      'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    ],
  },
  {
    path: `${APPS}/statefulsets`,
    object: {
      metadata: { name: 'web' },
      spec: {
        serviceName: 'web',
        revisionHistoryLimit: -1,
        selector: { matchLabels: labels },
        template: template(),
        volumeClaimTemplates: [
          {
            metadata: { name: 'd' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1500m' } } },
          },
        ],
      },
    },
    warnings: [
      'spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
    ],
  },
  {
    path: '/apis/batch/v1/namespaces/default/jobs',
    object: {
      metadata: { name: 'work' },
      spec: {
        completionMode: 'Indexed',
        completions: 100_001,
        parallelism: 10_001,
        template: {
          spec: { restartPolicy: 'Never', containers: [plainContainer], nodeSelector: { [OLD_LABEL]: 'a' } },
        },
      },
    },
    warnings: [
      'spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail',
      `spec.template.spec.nodeSelector[${OLD_LABEL}]: ${USE_NEW_LABEL}`,
    ],
  },
];

const others: readonly WarningRow[] = [
  {
    path: `${CORE}/services`,
    object: {
      metadata: { name: 's', annotations: { 'service.kubernetes.io/topology-aware-hints': 'auto' } },
      spec: { ports: [{ port: 80 }], externalIPs: ['10.0.0.1'], trafficDistribution: 'PreferClose', externalName: 'a' },
    },
    warnings: [
      'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead',
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  },
  {
    path: `${CORE}/services`,
    object: {
      metadata: { name: 's' },
      spec: { ports: [{ port: 80 }], clusterIP: 'None', externalIPs: ['10.0.0.1'], sessionAffinity: 'ClientIP' },
    },
    warnings: [
      'spec.externalIPs is ignored for headless services',
      'spec.SessionAffinity is ignored for headless services',
    ],
  },
  {
    path: '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
    object: {
      metadata: { name: 'i', annotations: { 'kubernetes.io/ingress.class': 'a' } },
      spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } },
    },
    warnings: [`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`],
  },
  {
    path: '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
    object: {
      metadata: { name: 'n' },
      spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 'FD00::/8', except: ['fd00:0::/16'] } }] }] },
    },
    warnings: [
      'spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")',
      'spec.ingress[0].from[0].ipBlock.except[0]: IPv6 CIDR value "fd00:0::/16" should be in RFC 5952 canonical format ("fd00::/16")',
    ],
  },
  {
    path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    object: { metadata: { name: 'e' }, addressType: 'FQDN', endpoints: [{ addresses: ['a.example.com'] }] },
    warnings: ['spec.addressType: FQDN endpoints are deprecated'],
  },
  {
    path: '/api/v1/persistentvolumes',
    object: {
      metadata: { name: 'v', annotations: { 'volume.beta.kubernetes.io/mount-options': 'ro' } },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Recycle',
        hostPath: { path: '/a' },
        nodeAffinity: { required: { nodeSelectorTerms: [oldTerm] } },
      },
    },
    warnings: [
      'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
      `spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: ${OLD_LABEL} is ${USE_NEW_LABEL}`,
    ],
  },
  {
    path: `${CORE}/persistentvolumeclaims`,
    object: {
      metadata: { name: 'v', annotations: { 'volume.beta.kubernetes.io/storage-class': 'a' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1500m' } } },
    },
    warnings: [
      'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
      'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    ],
  },
  {
    path: '/apis/storage.k8s.io/v1/storageclasses',
    object: {
      metadata: { name: 'c' },
      provisioner: 'a',
      allowedTopologies: [{ matchLabelExpressions: [{ key: OLD_LABEL, values: ['a'] }] }],
    },
    warnings: [`allowedTopologies[0].matchLabelExpressions[0].key: ${USE_NEW_LABEL}`],
  },
  {
    path: '/apis/storage.k8s.io/v1/csidrivers',
    object: { metadata: { name: 'a.b' }, spec: { tokenRequests: [{ audience: 'a' }] } },
    warnings: [
      'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
    ],
  },
  {
    path: '/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities',
    object: { metadata: { name: 'c' }, storageClassName: 'a', nodeTopology: { matchLabels: { [OLD_LABEL]: 'a' } } },
    warnings: [`nodeTopology.matchLabels.${OLD_LABEL}: ${USE_NEW_LABEL}`],
  },
  {
    path: '/apis/node.k8s.io/v1/runtimeclasses',
    object: { metadata: { name: 'r' }, handler: 'a', scheduling: { nodeSelector: { [OLD_LABEL]: 'a' } } },
    warnings: [`scheduling.nodeSelector: ${USE_NEW_LABEL}`],
  },
  {
    path: '/api/v1/nodes',
    object: { metadata: { name: 'n' }, spec: { podCIDRs: ['FD00::/64'], podCIDR: 'FD00::/64', externalID: 'a' } },
    warnings: [
      'spec.externalID: this field is deprecated, and is unused by Kubernetes',
      'spec.podCIDRs[0]: IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")',
    ],
  },
  {
    path: `${CORE}/serviceaccounts`,
    object: { metadata: { name: 's', annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } } },
    warnings: [
      'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
    ],
  },
  {
    path: '/apis/resource.k8s.io/v1/resourceslices',
    object: {
      metadata: { name: 's' },
      spec: { driver: 'GPU.example.com', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, allNodes: true },
    },
    warnings: ['spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters'],
  },
];

/** All rows. */
export const warningRows: readonly WarningRow[] = [...podWarningRows, ...workloads, ...others];
