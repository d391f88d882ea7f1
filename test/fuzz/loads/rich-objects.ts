// Valid objects with an item in each list, of kinds whose samples have few.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';

const labels = { app: 'a' };
const selector = { matchLabels: labels, matchExpressions: [{ key: 'k', operator: 'NotIn', values: ['x'] }] };
const podTerm = {
  topologyKey: 'kubernetes.io/hostname',
  labelSelector: selector,
  namespaces: ['n'],
  namespaceSelector: selector,
};
const nodeTerm = {
  matchExpressions: [{ key: 'k', operator: 'NotIn', values: ['x'] }],
  matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['x'] }],
};
const podAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: [podTerm],
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: podTerm }],
};
const container = {
  name: 'c',
  image: 'i',
  command: ['c'],
  args: ['$(E)'],
  ports: [{ name: 'p', containerPort: 80 }],
  env: [{ name: 'E', value: '$(D)' }],
  envFrom: [{ prefix: 'P', configMapRef: { name: 'm', optional: true } }],
  volumeMounts: [{ name: 'v', mountPath: '/v' }],
  resources: { limits: { cpu: '1', 'a.io/b': '1' }, requests: { cpu: '1', 'a.io/b': '1' } },
};

export const richObjects: readonly JsonObject[] = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'default', labels },
    spec: {
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [nodeTerm] },
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: nodeTerm }],
        },
        podAntiAffinity: podAffinity,
      },
      tolerations: [{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: selector },
      ],
      hostAliases: [{ ip: '10.1.1.1', hostnames: ['h'] }],
      imagePullSecrets: [{ name: 's' }],
      dnsConfig: { nameservers: ['10.1.1.1'], searches: ['a'], options: [{ name: 'o', value: '1' }] },
      securityContext: { supplementalGroups: [1], sysctls: [{ name: 'net.ipv4.ip_local_port_range', value: '1' }] },
      volumes: [
        { name: 'v', emptyDir: {} },
        {
          name: 'w',
          projected: { sources: [{ configMap: { name: 'm', optional: true, items: [{ key: 'k', path: 'p' }] } }] },
        },
      ],
      initContainers: [{ name: 'i', image: 'i' }],
      containers: [container],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'a', namespace: 'default' },
    spec: {
      type: 'LoadBalancer',
      selector: labels,
      ports: [{ name: 'p', port: 80 }],
      externalIPs: ['11.1.1.1'],
      loadBalancerSourceRanges: ['10.0.0.0/8'],
    },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'a', namespace: 'default' },
    spec: {
      podSelector: selector,
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ port: 80 }], from: [{ podSelector: selector, namespaceSelector: selector }] }],
      egress: [
        { ports: [{ port: 80, endPort: 90 }], to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.1.0/24'] } }] },
      ],
    },
  },
];
