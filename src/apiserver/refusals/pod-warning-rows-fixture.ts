/** Pods that are accepted with warnings. */
import {
  CORE,
  NAME_RULE,
  OLD_LABEL,
  oldTerm,
  plainContainer,
  USE_NEW_LABEL,
  type WarningRow,
} from './warning-row-fixture.ts';

function pod(spec: object, metadata: object = {}): WarningRow['object'] {
  return { metadata: { name: 'p', ...metadata }, spec: { containers: [plainContainer], ...spec } };
}

const podRow = (warnings: readonly string[], spec: object, metadata: object = {}): WarningRow => ({
  path: `${CORE}/pods`,
  object: pod(spec, metadata),
  warnings,
});

const NO_SELECTOR = 'a null labelSelector results in matching no pod';
const LABEL_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

export const podWarningRows: readonly WarningRow[] = [
  podRow([`spec.nodeSelector[${OLD_LABEL}]: ${USE_NEW_LABEL}`], { nodeSelector: { [OLD_LABEL]: 'linux' } }),
  podRow(
    [
      `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: ${OLD_LABEL} is ${USE_NEW_LABEL}`,
      `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: ${OLD_LABEL} is ${USE_NEW_LABEL}`,
      `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].preference.matchExpressions[0].values[0]: a b is invalid, ${LABEL_RULE}`,
    ],
    {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [oldTerm] },
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: oldTerm },
            { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['a b'] }] } },
          ],
        },
      },
    },
  ),
  podRow(
    [
      `spec.topologySpreadConstraints[0].topologyKey: ${OLD_LABEL} is ${USE_NEW_LABEL}`,
      `spec.topologySpreadConstraints[0].labelSelector: ${NO_SELECTOR}`,
    ],
    { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: OLD_LABEL, whenUnsatisfiable: 'DoNotSchedule' }] },
  ),
  podRow(
    [
      `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: ${NO_SELECTOR}`,
      `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: ${NO_SELECTOR}`,
    ],
    {
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'a' }] },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'a' } }],
        },
      },
    },
  ),
  podRow(
    [
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
      'metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
    ],
    {},
    {
      annotations: {
        'scheduler.alpha.kubernetes.io/critical-pod': '',
        'security.alpha.kubernetes.io/sysctls': 'kernel.sem=1',
      },
    },
  ),
  podRow(
    [
      'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
      'spec.volumes[1].glusterfs: deprecated in v1.25, non-functional in v1.26+',
      'spec.volumes[2].cephfs: deprecated in v1.28, non-functional in v1.31+',
      'spec.volumes[3].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    ],
    {
      volumes: [
        { name: 'a', gitRepo: { repository: 'b' } },
        { name: 'b', glusterfs: { endpoints: 'a', path: 'b' } },
        { name: 'c', cephfs: { monitors: ['a'] } },
        {
          name: 'd',
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1500m' } } },
            },
          },
        },
      ],
    },
  ),
  podRow(
    [
      'volume "a" (ConfigMap "m"): overlapping paths: "x/y" with "x"',
      'volume "b" (Projected): overlapping paths: "k/l" (Secret "s") with "k" (ConfigMap "m")',
    ],
    {
      volumes: [
        {
          name: 'a',
          configMap: {
            name: 'm',
            items: [
              { key: 'a', path: 'x' },
              { key: 'b', path: 'x/y' },
            ],
          },
        },
        {
          name: 'b',
          projected: {
            sources: [
              { configMap: { name: 'm', items: [{ key: 'a', path: 'k' }] } },
              { secret: { name: 's', items: [{ key: 'a', path: 'k/l' }] } },
            ],
          },
        },
      ],
    },
  ),
  podRow(
    [
      'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
      'spec.imagePullSecrets[1].name: duplicate name "a"',
      'spec.imagePullSecrets[2].name: invalid empty name ""',
      'spec.hostAliases[2].ip: IPv6 address "fd00:0::1" should be in RFC 5952 canonical format ("fd00::1")',
    ],
    {
      hostAliases: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }, { ip: 'fd00:0::1' }],
      imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}],
    },
  ),
  podRow(
    [
      'metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead',
      'metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in v1.27+; use the "seccompProfile" field instead',
    ],
    {},
    {
      annotations: {
        'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default',
        'container.seccomp.security.alpha.kubernetes.io/c': 'runtime/default',
      },
    },
  ),
  podRow(
    [
      'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ],
    {
      containers: [
        {
          ...plainContainer,
          resources: { limits: { memory: '1500m' } },
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
            { name: 'B', value: '1' },
            { name: 'B', value: '$(B):2' },
          ],
        },
      ],
    },
  ),
  podRow(
    [
      'spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]',
      'spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[0]',
      'spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[1]',
      'spec.containers[1].ports[0]: duplicate port name "a" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
    ],
    {
      containers: [
        {
          ...plainContainer,
          ports: [
            { name: 'a', containerPort: 80, hostPort: 81 },
            { name: 'b', containerPort: 80 },
          ],
        },
        { name: 'd', image: 'i', ports: [{ name: 'a', containerPort: 80 }] },
      ],
    },
  ),
  {
    path: `${CORE}/pods`,
    object: pod({}, { name: 'a.b' }),
    warnings: [
      `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: ${NAME_RULE}`,
    ],
  },
];
