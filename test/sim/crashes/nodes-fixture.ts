/** Worlds of the controllers of nodes, of devices, and of certificates. */
import assert from 'node:assert/strict';
import {
  CertificateSigningRequests,
  ClusterRoleBindings,
  Leases,
  Nodes,
  Pods,
  ResourceClaims,
  ResourceClaimTemplates,
  ResourceSlices,
} from '../../../src/api/gen/resources.ts';
import type { Toleration } from '../../../src/api/gen/core-v1.ts';
import { formatMicroTime, formatTime } from '../../../src/api/time.ts';
import { createAuthority, createRequest } from '../../../src/component-helpers/pki/certificates.ts';
import type { ControllerName } from '../../../src/controllers/list.ts';
import type { ServerHarness } from '../../../src/controllers/server-harness-fixture.ts';
import { createSimCrypto } from '../../../src/platform/sim/crypto.ts';
import { createSeededRandom } from '../../../src/platform/sim/random.ts';
import { VirtualClock } from '../../../src/platform/sim/virtual-clock.ts';
import type { CrashWorld, Step } from './run-world-fixture.ts';
import { addNodes, all, change, create, remove } from './workloads-fixture.ts';

const CONTAINERS = [{ name: 'c', image: 'i' }];

/** Sets a node's Ready condition. */
export const ready =
  (name: string, status: string): Step =>
  async (h) => {
    const now = formatTime(h.clock.nowMs());
    const told = { type: 'Ready', status, reason: 'KubeletReady', lastHeartbeatTime: now, lastTransitionTime: now };
    await change(Nodes, name, (draft) => void ((draft.status ??= {}).conditions = [told]), 'status')(h);
  };

const podOn = (name: string, nodeName: string, tolerations: Toleration[] = []): Step =>
  create(Pods, name, { spec: { nodeName, containers: CONTAINERS, tolerations, terminationGracePeriodSeconds: 0 } });

const taint = (name: string, ...taints: { key: string; effect: string }[]): Step =>
  change(Nodes, name, (draft) => void ((draft.spec ??= {}).taints = taints));

/** Keeps the kubelet of a node alive long enough that silent nodes are noticed even by a controller that starts meanwhile. */
async function live(h: ServerHarness, name: string): Promise<void> {
  for (let round = 0; round < 16; round++) {
    const renewTime = formatMicroTime(h.clock.nowMs());
    await h.update(Leases, `kube-node-lease/${name}`, (draft) => void (draft.spec!.renewTime = renewTime));
    await h.clock.advance(10_000);
  }
}

const silence: CrashWorld = {
  before: all(
    addNodes('n1', 'n2', 'n3'),
    ready('n1', 'True'),
    ready('n2', 'True'),
    ready('n3', 'True'),
    async (h) => {
      const spec = { holderIdentity: 'n1', renewTime: formatMicroTime(h.clock.nowMs()) };
      await h.create(Leases, { metadata: { namespace: 'kube-node-lease', name: 'n1' }, spec });
    },
    podOn('a', 'n1'),
    podOn('b', 'n2'),
  ),
  steps: [
    (h) => live(h, 'n1'),
    all(ready('n2', 'True'), ready('n3', 'False')),
    change(Nodes, 'n3', (draft) => void (draft.spec!.unschedulable = true)),
  ],
  restMs: 10_000,
  stepMs: 1000,
};

const DRIVER = 'gpu.example.com';
const sliceOf = (...taints: { key: string; effect: string }[]): object => ({
  driver: DRIVER,
  nodeName: 'n',
  pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
  devices: [{ name: 'd', taints }],
});

const reserve =
  (claim: string, pod: string, tolerations: object[] = []): Step =>
  async (h) => {
    const { metadata } = await h.get(Pods, `default/${pod}`);
    const reservedFor = [{ resource: 'pods', name: pod, uid: metadata.uid! }];
    const result = { driver: DRIVER, pool: 'p', device: 'd', request: 'gpu', tolerations };
    const status = { allocation: { devices: { results: [result] } }, reservedFor };
    await h.update(ResourceClaims, `default/${claim}`, (draft) => void (draft.status = status), 'status');
  };

const requests = [{ name: 'gpu', exactly: { deviceClassName: 'gpus' } }];

const claims: CrashWorld = {
  steps: [
    create(ResourceClaimTemplates, 'cards', { spec: { spec: { devices: { requests } } } }),
    create(Pods, 'web', {
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { claims: [{ name: 'one' }, { name: 'two' }] } }],
        resourceClaims: ['one', 'two'].map((name) => ({ name, resourceClaimTemplateName: 'cards' })),
      },
    }),
    async (h) => {
      for (const { metadata } of await h.list(ResourceClaims)) {
        const key = `default/${metadata.name}`;
        await h.update(
          ResourceClaims,
          key,
          (draft) => void (draft.metadata.finalizers = ['resource.kubernetes.io/delete-protection']),
        );
        await reserve(metadata.name!, 'web')(h);
      }
    },
    async (h) => await h.finish(await h.get(Pods, 'default/web'), 'Succeeded'),
  ],
  restMs: 8000,
};

const clock = new VirtualClock();
const keys = {
  crypto: createSimCrypto(clock),
  random: createSeededRandom(2),
  nowMs: () => clock.nowMs(),
};
const clusterSigning = await clock.drive(createAuthority(keys, 'ca', 10 * 365 * 86_400_000));

async function requestOf(name: string, parts: object): Promise<string> {
  const spec = { dnsNames: [], ipAddresses: [], ...parts, commonName: name, organizations: ['system:nodes'] };
  const { requestPem } = await clock.drive(createRequest(keys, spec as never));
  return Buffer.from(requestPem).toString('base64');
}
const clientRequest = await requestOf('system:node:a', {});
const servingRequest = await requestOf('system:node:a', { dnsNames: ['a'], ipAddresses: ['10.0.0.2'] });

const BOOTSTRAPPERS = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:bootstrappers' };
const allow = (name: string, role: string, subject: object = BOOTSTRAPPERS): Step =>
  create(ClusterRoleBindings, name, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [subject],
  });

const ask =
  (name: string, user: string, spec: object): Step =>
  (h) => {
    const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    const headers = {
      'impersonate-user': user,
      'impersonate-group': user.startsWith('system:node:') ? 'system:nodes' : 'system:bootstrappers',
    };
    return h.clock.drive(h.admin.raw({ method: 'POST', path, body: { metadata: { name }, spec }, headers }));
  };
const CLIENT = {
  request: clientRequest,
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
};
const SERVING = {
  request: servingRequest,
  signerName: 'kubernetes.io/kubelet-serving',
  usages: ['digital signature', 'server auth'],
};
const mayAsk = all(
  allow('ask', 'system:node-bootstrapper'),
  allow('ask-nodes', 'system:node-bootstrapper', { ...BOOTSTRAPPERS, name: 'system:nodes' }),
  allow('get', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient'),
);
const approve =
  (name: string): Step =>
  async (h) => {
    const csr = await h.get(CertificateSigningRequests, name);
    const conditions = [{ type: 'Approved', status: 'True', reason: 'ByHand', message: 'ok' }];
    const approved = { ...csr, status: { conditions } };
    await h.clock.drive(h.admin.resource(CertificateSigningRequests).update(approved, { subresource: 'approval' }));
  };
const BOOTSTRAP = 'system:bootstrap:abcdef';

const HOUR_MS = 3_600_000;

/** By the controllers' names. */
export const nodeWorlds = {
  'node-ipam-controller': {
    config: { clusterCidrs: ['10.42.0.0/22'], serviceCidrs: ['10.43.0.0/16'] },
    steps: [addNodes('a'), addNodes('b'), remove(Nodes as never, 'a'), addNodes('c', 'd')],
    restMs: 8000,
    async holds(h) {
      const ranges = (await h.list(Nodes)).map(({ spec }) => spec?.podCIDR);
      assert.equal(new Set(ranges).size, ranges.length, `a range given twice: ${ranges.join()}`);
    },
  },
  'node-lifecycle-controller': silence,
  'cloud-node-lifecycle-controller': {
    config: {
      cloudNodes: {
        stateOf: ({ metadata }) => Promise.resolve(metadata.name === 'off' ? 'off' : 'gone'),
      },
    },
    before: all(addNodes('off', 'gone'), ready('off', 'True'), ready('gone', 'True')),
    steps: [all(ready('off', 'Unknown'), ready('gone', 'Unknown')), ready('off', 'True')],
    stepMs: 1000,
  },
  'taint-eviction-controller': {
    before: all(
      addNodes('node'),
      podOn('plain', 'node'),
      podOn('bears', 'node', [{ key: 'out', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 }]),
      podOn('stays', 'node', [{ operator: 'Exists' }]),
    ),
    steps: [taint('node', { key: 'out', effect: 'NoExecute' })],
    // A new controller counts from when it first sees the taint.
    restMs: 90_000,
    stepMs: 1000,
  },
  'device-taint-eviction-controller': {
    before: all(
      addNodes('n'),
      create(ResourceSlices, 's', { spec: sliceOf() }),
      podOn('plain', 'n'),
      podOn('bears', 'n'),
      create(ResourceClaims, 'plain', { spec: { devices: { requests } } }),
      create(ResourceClaims, 'bears', { spec: { devices: { requests } } }),
      reserve('plain', 'plain'),
      reserve('bears', 'bears', [{ key: 'broken', operator: 'Exists', tolerationSeconds: 20 }]),
    ),
    steps: [
      change(
        ResourceSlices,
        's',
        (draft) => void (draft.spec = sliceOf({ key: 'broken', effect: 'NoExecute' }) as never),
      ),
    ],
    restMs: 40_000,
    stepMs: 1000,
  },
  'resourceclaim-controller': claims,
  'certificatesigningrequest-signing-controller': {
    config: { clusterSigning },
    before: mayAsk,
    steps: [
      all(ask('r', BOOTSTRAP, CLIENT), approve('r')),
      all(ask('wrong', BOOTSTRAP, { ...CLIENT, request: servingRequest }), approve('wrong')),
    ],
    restMs: 5000,
  },
  'certificatesigningrequest-approving-controller': {
    before: mayAsk,
    steps: [ask('r', BOOTSTRAP, CLIENT), ask('s', BOOTSTRAP, CLIENT)],
    restMs: 5000,
  },
  'kubelet-serving-certificate-approving-controller': {
    before: all(
      mayAsk,
      addNodes('a'),
      change(
        Nodes,
        'a',
        (draft) => void ((draft.status ??= {}).addresses = [{ type: 'InternalIP', address: '10.0.0.2' }]),
        'status',
      ),
    ),
    steps: [ask('r', 'system:node:a', SERVING), ask('s', 'system:node:a', SERVING)],
    restMs: 5000,
  },
  'certificatesigningrequest-cleaner-controller': {
    before: all(mayAsk, ask('judged', BOOTSTRAP, CLIENT), ask('pending', BOOTSTRAP, CLIENT), approve('judged')),
    steps: [create(CertificateSigningRequests, 'by-hand', { spec: { ...CLIENT, signerName: 'example.com/own' } })],
    restMs: 30 * HOUR_MS,
    stepMs: HOUR_MS / 2,
  },
} satisfies Partial<Record<ControllerName, CrashWorld>>;
