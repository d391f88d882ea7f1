/** Worlds of the controllers of services, quotas, namespaces and accounts, and of those that protect objects. */
import {
  ClusterRoles,
  ConfigMaps,
  Endpoints,
  Leases,
  Namespaces,
  ReplicaSets,
  ResourceQuotas,
  Secrets,
  ServiceAccounts,
  ServiceCIDRs,
  Services,
  StorageVersions,
  ValidatingAdmissionPolicies,
} from '../../../src/api/gen/resources.ts';
import type { ClusterRole } from '../../../src/api/gen/rbac-v1.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../../../src/api/resource-info.ts';
import { formatTime } from '../../../src/api/time.ts';
import type { ControllerName } from '../../../src/controllers/list.ts';
import type { ServerHarness } from '../../../src/controllers/server-harness-fixture.ts';
import type { CrashWorld, Step } from './run-world-fixture.ts';
import { all, change, create, labelled, remove } from './workloads-fixture.ts';

const port = { ports: [{ port: 80 }] };

/** A service whose pods are created, deleted and scaled. */
const service: CrashWorld = {
  with: ['replicaset-controller'],
  steps: [
    create(ReplicaSets, 'x', { spec: { replicas: 2, ...labelled('x') } }),
    create(Services, 'x', { spec: { selector: { app: 'x' }, ...port } }),
    change(ReplicaSets, 'default/x', (draft) => void (draft.spec!.replicas = 3)),
    change(Services, 'default/x', (draft) => void (draft.spec!.ports![0]!.port = 81)),
    remove(Services as never, 'default/x'),
  ],
  restMs: 8000,
};

const subset = (...ips: string[]): object => ({
  addresses: ips.map((ip) => ({ ip })),
  ports: [{ name: '', port: 5432 }],
});

const rule = (resource: string): object => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });

const token = (account: string, name: string): Step =>
  create(
    Secrets,
    name,
    { type: 'kubernetes.io/service-account-token' },
    {
      annotations: { 'kubernetes.io/service-account.name': account },
    },
  );

const bootstrapToken = (id: string, more: Record<string, string> = {}): Step =>
  create(
    Secrets,
    `bootstrap-token-${id}`,
    {
      type: 'bootstrap.kubernetes.io/token',
      stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true', ...more },
    },
    { namespace: 'kube-system' },
  );

/** An owner with two dependents, one of which has a dependent of its own. */
async function family(h: ServerHarness, name: string, finalizers: string[] = []): Promise<void> {
  const own = async (info: ResourceInfo<KubernetesObject>, child: string, parent: KubernetesObject | undefined) =>
    await h.create(info, {
      metadata: {
        name: child,
        finalizers: parent === undefined ? finalizers : [],
        ownerReferences:
          parent === undefined
            ? []
            : [
                {
                  apiVersion: apiVersionOf(info),
                  kind: info.kind,
                  name: parent.metadata.name,
                  uid: parent.metadata.uid,
                  blockOwnerDeletion: true,
                },
              ],
      },
    });
  const maps = ConfigMaps as unknown as ResourceInfo<KubernetesObject>;
  const head = await own(maps, name, undefined);
  const first = await own(maps, `${name}-1`, head);
  await own(maps, `${name}-2`, head);
  await own(maps, `${name}-1-1`, first);
}

const dayOld = (h: ServerHarness, days: number): string => formatTime(h.clock.nowMs() - days * 86_400_000).slice(0, 10);

const legacyTokens: CrashWorld = {
  before: async (h) => {
    await h.create(ServiceAccounts, {
      metadata: { name: 'a' },
      secrets: ['unused', 'over', 'used'].map((name) => ({ name })),
    });
    const label = (name: string, text: string): object => ({ [`kubernetes.io/legacy-token-${name}`]: text });
    const labels = {
      unused: label('last-used', dayOld(h, 800)),
      over: { ...label('last-used', dayOld(h, 800)), ...label('invalid-since', dayOld(h, 400)) },
      used: label('last-used', dayOld(h, -364)),
    };
    for (const [name, own] of Object.entries(labels))
      await h.create(Secrets, {
        metadata: { name, labels: own, annotations: { 'kubernetes.io/service-account.name': 'a' } },
        type: 'kubernetes.io/service-account-token',
      });
  },
  // A secret's own age counts too.
  steps: [async (h) => h.clock.jumpWall(366 * 86_400_000)],
  restMs: 26 * 3_600_000,
  stepMs: 3_600_000,
};

const apiServer = (name: string): Step =>
  create(
    Leases,
    name,
    { spec: { holderIdentity: name } },
    { namespace: 'kube-system', labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' } },
  );

const recorded = (name: string, versions: Readonly<Record<string, string>>): Step => {
  const [common, ...others] = new Set(Object.values(versions));
  return all(
    create(StorageVersions, name, { spec: {} }),
    change(
      StorageVersions,
      name,
      (draft) =>
        void (draft.status = {
          storageVersions: Object.entries(versions).map(([apiServerID, encodingVersion]) => ({
            apiServerID,
            encodingVersion,
            decodableVersions: [encodingVersion],
          })),
          commonEncodingVersion: others.length === 0 ? common : undefined,
        }),
      'status',
    ),
  );
};

/** By the controllers' names. */
export const serviceWorlds = {
  'endpointslice-controller': service,
  'endpoints-controller': service,
  'endpointslice-mirroring-controller': {
    steps: [
      all(
        create(Services, 'db', { spec: port }),
        create(Endpoints, 'db', { subsets: [subset('192.0.2.1', '2001:db8::1')] }),
      ),
      change(Endpoints, 'default/db', (draft) => void (draft.subsets = [subset('192.0.2.9') as never])),
      remove(Services as never, 'default/db'),
    ],
    restMs: 8000,
  },
  'resourcequota-controller': {
    with: ['replicaset-controller'],
    steps: [
      create(ResourceQuotas, 'q', { spec: { hard: { pods: '3', 'count/configmaps': '5' } } }),
      create(ReplicaSets, 'x', { spec: { replicas: 3, ...labelled('x') } }),
      all(
        change(ReplicaSets, 'default/x', (draft) => void (draft.spec!.replicas = 1)),
        change(ResourceQuotas, 'default/q', (draft) => void (draft.spec!.hard!['pods'] = '4')),
      ),
    ],
    restMs: 10_000,
  },
  'namespace-controller': {
    steps: [
      all(
        create(Namespaces, 'gone'),
        create(ConfigMaps, 'a', {}, { namespace: 'gone' }),
        create(ConfigMaps, 'held', {}, { namespace: 'gone', finalizers: ['test/hold'] }),
        create(Secrets, 'b', {}, { namespace: 'gone' }),
        create(ServiceAccounts, 'default', {}, { namespace: 'gone' }),
      ),
      remove(Namespaces as never, 'gone'),
      change(ConfigMaps, 'gone/held', (draft) => void delete draft.metadata.finalizers),
    ],
    restMs: 40_000,
    stepMs: 1000,
  },
  'serviceaccount-controller': {
    steps: [create(Namespaces, 'new'), remove(ServiceAccounts as never, 'new/default'), create(Namespaces, 'other')],
    restMs: 5000,
  },
  'serviceaccount-token-controller': {
    config: {
      rootCaPem: 'the authority',
      automaticTokenSecrets: true,
      signServiceAccountToken: (account) => Promise.resolve(`token of ${account.metadata.name}`),
    },
    steps: [
      create(ServiceAccounts, 'a'),
      token('a', 'extra'),
      change(Secrets, 'default/extra', (draft) => void delete draft.data!['token']),
      remove(ServiceAccounts as never, 'default/a'),
    ],
    restMs: 8000,
  },
  'legacy-serviceaccount-token-cleaner-controller': legacyTokens,
  'root-ca-certificate-publisher-controller': {
    config: { rootCaPem: 'the authority' },
    steps: [
      create(Namespaces, 'new'),
      change(ConfigMaps, 'new/kube-root-ca.crt', (draft) => void (draft.data = { 'ca.crt': 'another' })),
      remove(ConfigMaps as never, 'new/kube-root-ca.crt'),
    ],
    restMs: 5000,
  },
  'garbage-collector-controller': {
    before: async (h) => {
      for (const name of ['back', 'fore', 'free']) await family(h, name);
    },
    steps: [
      all(
        remove(ConfigMaps as never, 'default/back'),
        remove(ConfigMaps as never, 'default/fore', 'Foreground'),
        remove(ConfigMaps as never, 'default/free', 'Orphan'),
      ),
    ],
    restMs: 60_000,
    stepMs: 2000,
  },
  'clusterrole-aggregation-controller': {
    steps: [
      create(ClusterRoles, 'whole', {
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'yes' } }] },
      }),
      create(ClusterRoles, 'one', { rules: [rule('pods')] }, { labels: { part: 'yes' } }),
      create(ClusterRoles, 'two', { rules: [rule('secrets')] }, { labels: { part: 'yes' } }),
      change<ClusterRole>(ClusterRoles, 'one', (draft) => void delete draft.metadata.labels),
    ],
    restMs: 5000,
  },
  'bootstrap-signer-controller': {
    steps: [
      all(
        bootstrapToken('abcdef'),
        create(ConfigMaps, 'cluster-info', { data: { kubeconfig: 'the config' } }, { namespace: 'kube-public' }),
      ),
      bootstrapToken('ghijkl'),
      remove(Secrets as never, 'kube-system/bootstrap-token-abcdef'),
    ],
    restMs: 5000,
  },
  'token-cleaner-controller': {
    steps: [
      bootstrapToken('aaaaaa', { expiration: '2026-01-01T00:00:30Z' }),
      bootstrapToken('bbbbbb', { expiration: '2026-01-01T00:00:45Z' }),
      bootstrapToken('cccccc'),
    ],
    restMs: 30_000,
    stepMs: 1000,
  },
  'service-cidr-controller': {
    config: { serviceCidrs: ['10.43.0.0/16'] },
    steps: [
      create(ServiceCIDRs, 'kubernetes', { spec: { cidrs: ['10.43.0.0/16'] } }),
      create(ServiceCIDRs, 'more', { spec: { cidrs: ['10.77.0.0/16'] } }),
      remove(ServiceCIDRs as never, 'more'),
      remove(ServiceCIDRs as never, 'kubernetes'),
      async (h) => {
        for (const { metadata } of await h.list(Services))
          await h.remove(Services, `${metadata.namespace}/${metadata.name}`);
      },
    ],
    restMs: 5000,
  },
  'storageversion-garbage-collector-controller': {
    before: all(apiServer('a'), apiServer('b')),
    steps: [
      all(
        recorded('apps.deployments', { a: 'apps/v1', b: 'apps/v1beta1', gone: 'apps/v1' }),
        recorded('core.pods', { gone: 'v1' }),
        recorded('core.secrets', { b: 'v1' }),
      ),
      remove(Leases as never, 'kube-system/b'),
      remove(Leases as never, 'kube-system/a'),
    ],
    restMs: 5000,
  },
  'validatingadmissionpolicy-status-controller': {
    steps: [
      create(ValidatingAdmissionPolicies, 'p', {
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
            ],
          },
          validations: [{ expression: 'object.spec.replicas < 100' }],
        },
      }),
      change(
        ValidatingAdmissionPolicies,
        'p',
        (draft) => void (draft.spec!.validations![0]!.expression = 'object.spec.nope < 100'),
      ),
    ],
    restMs: 5000,
  },
} satisfies Partial<Record<ControllerName, CrashWorld>>;
