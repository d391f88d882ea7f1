/**
 * The other objects that every new cluster has: namespaces, priority classes, and the priority levels and flow schemas of API
 * priority and fairness. Upstream: controlplane/controller/systemnamespaces, scheduling and flowcontrol bootstrap.
 */
import type { Namespace } from '../../api/gen/core-v1.ts';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import type { PriorityClass } from '../../api/gen/scheduling-v1.ts';

/** Namespaces of a new cluster. */
export function bootstrapNamespaces(): Namespace[] {
  return ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }));
}

/** The two system priority classes. */
export function bootstrapPriorityClasses(): PriorityClass[] {
  const make = (name: string, value: number, description: string): PriorityClass => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name, generation: 1 },
    value,
    description,
    preemptionPolicy: 'PreemptLowerPriority',
  });
  return [
    make(
      'system-node-critical',
      2_000_001_000,
      'Used for system critical pods that must not be moved from their current node.',
    ),
    make(
      'system-cluster-critical',
      2_000_000_000,
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
    ),
  ];
}

const FLOWCONTROL = 'flowcontrol.apiserver.k8s.io/v1';
const AUTOUPDATE = { 'apf.kubernetes.io/autoupdate-spec': 'true' };

/** Names of the flow schemas and of the priority levels no server is without. */
export const MANDATORY_FLOW_OBJECTS: ReadonlySet<string> = new Set(['exempt', 'catch-all']);

/** Shares, lendable percent, and queues (count, hand size) of the limited priority levels. */
const LEVELS: readonly (readonly [
  name: string,
  shares: number,
  lendable: number,
  queues?: readonly [number, number],
])[] = [
  ['system', 30, 33, [64, 6]],
  ['node-high', 40, 25, [64, 6]],
  ['leader-election', 10, 0, [16, 4]],
  ['workload-high', 40, 50, [128, 6]],
  ['workload-low', 100, 90, [128, 6]],
  ['global-default', 20, 50, [128, 6]],
  ['catch-all', 5, 0],
];

/** The mandatory and suggested priority levels. */
export function bootstrapPriorityLevels(): PriorityLevelConfiguration[] {
  const object = (name: string, spec: NonNullable<PriorityLevelConfiguration['spec']>): PriorityLevelConfiguration => ({
    apiVersion: FLOWCONTROL,
    kind: 'PriorityLevelConfiguration',
    metadata: { name, generation: 1, annotations: { ...AUTOUPDATE } },
    spec,
  });
  const limited = LEVELS.map(([name, nominalConcurrencyShares, lendablePercent, queues]) =>
    object(name, {
      type: 'Limited',
      limited: {
        nominalConcurrencyShares,
        lendablePercent,
        limitResponse:
          queues === undefined
            ? { type: 'Reject' }
            : { type: 'Queue', queuing: { queues: queues[0], handSize: queues[1], queueLengthLimit: 50 } },
      },
    }),
  );
  return [
    object('exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
    ...limited,
  ];
}

type Rules = NonNullable<NonNullable<FlowSchema['spec']>['rules']>;
type RuleSubject = Rules[number]['subjects'][number];

const group = (name: string): RuleSubject => ({ kind: 'Group', group: { name } });
const user = (name: string): RuleSubject => ({ kind: 'User', user: { name } });
const account = (name: string, namespace = 'kube-system'): RuleSubject => ({
  kind: 'ServiceAccount',
  serviceAccount: { name, namespace },
});
const all = (subjects: RuleSubject[]): Rules[number] => ({
  subjects,
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
});
const on = (
  subjects: RuleSubject[],
  rule: { apiGroups: string[]; resources: string[]; namespaces?: string[]; clusterScope?: boolean; verbs?: string[] },
): Rules[number] => ({
  subjects,
  resourceRules: [{ verbs: ['*'], ...rule }],
});

const LEASES = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] };

const SCHEMAS: readonly (readonly [
  name: string,
  level: string,
  precedence: number,
  method: string | undefined,
  rules: Rules,
])[] = [
  ['exempt', 'exempt', 1, undefined, [all([group('system:masters')])]],
  [
    'probes',
    'exempt',
    2,
    undefined,
    [
      {
        subjects: [group('system:unauthenticated'), group('system:authenticated')],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
      },
    ],
  ],
  [
    'system-leader-election',
    'leader-election',
    100,
    'ByUser',
    [
      on(
        [
          user('system:kube-controller-manager'),
          user('system:kube-scheduler'),
          group('system:serviceaccounts:kube-system'),
        ],
        { ...LEASES, namespaces: ['kube-system'] },
      ),
    ],
  ],
  [
    'endpoint-controller',
    'workload-high',
    150,
    'ByUser',
    [
      on(
        [
          user('system:kube-controller-manager'),
          account('endpoint-controller'),
          account('endpointslicemirroring-controller'),
        ],
        { apiGroups: [''], resources: ['endpoints'], verbs: ['get', 'create', 'update'], namespaces: ['*'] },
      ),
    ],
  ],
  [
    'workload-leader-election',
    'leader-election',
    200,
    'ByUser',
    [on([group('system:serviceaccounts:kube-system')], { ...LEASES, namespaces: ['*'] })],
  ],
  [
    'system-node-high',
    'node-high',
    400,
    'ByUser',
    [
      on([group('system:nodes')], {
        apiGroups: [''],
        resources: ['nodes', 'nodes/status'],
        clusterScope: true,
        namespaces: [], // As the stored object has it: a difference would be repaired again and again.
      }),
      on([group('system:nodes')], { apiGroups: ['coordination.k8s.io'], resources: ['leases'], namespaces: ['*'] }),
    ],
  ],
  ['system-nodes', 'system', 500, 'ByUser', [all([group('system:nodes')])]],
  ['kube-controller-manager', 'workload-high', 800, 'ByNamespace', [all([user('system:kube-controller-manager')])]],
  ['kube-scheduler', 'workload-high', 800, 'ByNamespace', [all([user('system:kube-scheduler')])]],
  [
    'kube-system-service-accounts',
    'workload-high',
    900,
    'ByNamespace',
    [all([group('system:serviceaccounts:kube-system')])],
  ],
  ['service-accounts', 'workload-low', 9000, 'ByUser', [all([group('system:serviceaccounts')])]],
  [
    'global-default',
    'global-default',
    9900,
    'ByUser',
    [all([group('system:unauthenticated'), group('system:authenticated')])],
  ],
  ['catch-all', 'catch-all', 10000, 'ByUser', [all([group('system:unauthenticated'), group('system:authenticated')])]],
];

/** The mandatory and suggested flow schemas. */
export function bootstrapFlowSchemas(): FlowSchema[] {
  return SCHEMAS.map(([name, level, matchingPrecedence, method, rules]) => ({
    apiVersion: FLOWCONTROL,
    kind: 'FlowSchema',
    metadata: { name, generation: 1, annotations: { ...AUTOUPDATE } },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence,
      rules,
      ...(method === undefined ? {} : { distinguisherMethod: { type: method } }),
    },
  }));
}

/** The spec that the flow schema of this name always has; undefined for those an operator may change. */
export function mandatoryFlowSchema(name = ''): FlowSchema['spec'] {
  return mandatorySpec(bootstrapFlowSchemas, name);
}

/** The spec that the priority level of this name always has. */
export function mandatoryPriorityLevel(name = ''): PriorityLevelConfiguration['spec'] {
  return mandatorySpec(bootstrapPriorityLevels, name);
}

function mandatorySpec<T extends FlowSchema | PriorityLevelConfiguration>(
  mandatoryObjects: () => T[],
  name: string,
): T['spec'] {
  return MANDATORY_FLOW_OBJECTS.has(name)
    ? mandatoryObjects().find(({ metadata }) => metadata.name === name)?.spec
    : undefined;
}
