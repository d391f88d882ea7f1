import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../base/defined-fixture.ts';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { parseServerOptions, type RawServerOptions } from './cluster-options.ts';
import { downCommand } from './down.ts';
import { statusCommand, statusScreen } from './status.ts';
import { upCommand } from './up.ts';
import { UserError } from './usage-error.ts';

const raw: RawServerOptions = {
  dataDir: '/d',
  httpsPort: '6443',
  store: 'sqlite',
  clusterDomain: 'cluster.local',
  nodeName: 'n',
  logLevel: 'info',
};

test('options of the command line become cluster options', () => {
  const options = parseServerOptions({
    ...raw,
    clusterCidr: '10.1.0.0/16',
    containerRuntimeEndpoint: 'unix:///run/c.sock',
    runtimeConfig: 'a/v1=true',
    bindAddress: '10.0.0.5',
    nodeportAddresses: ['10.0.0.0/8', 'fd00::/8'],
  });
  assert.deepEqual(defined(options), {
    dataDir: '/d',
    name: 'd',
    httpsPort: 6443,
    store: { kind: 'sqlite' },
    clusterCidr: '10.1.0.0/16',
    clusterDomain: 'cluster.local',
    nodeName: 'n',
    containerRuntimeEndpoint: 'unix:///run/c.sock',
    runtimeConfig: 'a/v1=true',
    console: true,
    bindAddress: '10.0.0.5',
    nodePortAddresses: ['10.0.0.0/8', 'fd00::/8'],
  });
});

test('--store etcd=URLs names the members of an etcd cluster', () => {
  const { store } = parseServerOptions({
    ...raw,
    store: 'etcd=https://a:2379,https://b:2379',
    etcdCafile: '/ca.crt',
    etcdCertfile: '/c.crt',
    etcdKeyfile: '/c.key',
  });
  assert.deepEqual(store, {
    kind: 'etcd',
    endpoints: ['https://a:2379', 'https://b:2379'],
    caFile: '/ca.crt',
    certFile: '/c.crt',
    keyFile: '/c.key',
  });
});

test('an empty --data-dir is refused, not read as the current directory', async () => {
  for (const command of [upCommand, downCommand, statusCommand]) {
    const parsing = command().exitOverride().parseAsync(['--data-dir', ''], { from: 'user' });
    await assert.rejects(parsing, new UserError('--data-dir: the name of a directory is missing', 2));
  }
});

const wrong: readonly [Partial<RawServerOptions>, RegExp][] = [
  [
    { nodeportAddresses: ['primary', '10.0.0.0/8'] },
    /^--nodeport-addresses: .*\[0\]: Invalid value: "primary": can't use both 'primary' and CIDRs$/,
  ],
  [{ store: 'etcd' }, /^--store: etcd is none of sqlite, memory and etcd=URL/],
  [{ store: 'etcd=10.0.0.1:2379' }, /^--store: 10.0.0.1:2379 is not a URL such as/],
  [{ store: 'etcd=http://a:1,https://b:1' }, /^--store: http and https cannot be mixed/],
  [{ store: 'etcd=https://a:1', etcdCertfile: 'c' }, /go together/],
  [{ store: 'memory', etcdCafile: 'c' }, /only with --store etcd=URL/],
  [{ httpsPort: '0' }, /^--https-port: 0 is not a port/],
  [{ httpsPort: '65536' }, /not a port/],
  [{ httpsPort: '0x50' }, /not a port/],
  [{ clusterCidr: '10.1.0.0' }, /^--cluster-cidr: 10.1.0.0 is not an address range/],
  [{ serviceCidr: 'x/8' }, /^--service-cidr/],
  [{ clusterCidr: '10.0.0.0/8', serviceCidr: '10.1.0.0/16' }, /overlap$/],
  [{ clusterCidr: '10.1.0.0/16,10.2.0.0/16', serviceCidr: '10.3.0.0/16,fd00::/112' }, /has two ranges of one family/],
  [{ clusterCidr: '10.1.0.0/16,fd42::/56' }, /give both where one is of IPv6/],
  [{ clusterCidr: '10.1.0.0/16,fd42::/56', serviceCidr: 'fd43::/112,10.2.0.0/16' }, /not of the same families/],
  [{ clusterCidr: '10.1.0.0/16,fd42::/56', serviceCidr: '10.2.0.0/16,fd42:0:0:1::/112' }, /overlap$/],
  [{ clusterCidr: '10.1.0.0/16,fd42::/40', serviceCidr: '10.2.0.0/16,fd43::/112' }, /between \/48 and \/64/],
  [{ containerRuntimeEndpoint: '/run/c.sock' }, /not of the form unix/],
  [{ nodeName: 'Node_1' }, /^--node-name: Node_1 must consist/],
  [{ clusterDomain: '-x' }, /^--cluster-domain/],
  [{ nodeName: 'a'.repeat(254) }, /^--node-name/],
];
for (const [change, message] of wrong) {
  test(`wrong usage: ${JSON.stringify(change).slice(0, 60)}`, () => {
    assert.throws(
      () => parseServerOptions({ ...raw, ...change }),
      (error: unknown) => error instanceof UserError && error.exitCode === 2 && message.test(error.message),
    );
  });
}

test('routes are served where they are enabled, or one of their ports is set; `none` overrides stored ports', () => {
  const gatewayOf = (change: Partial<RawServerOptions>) => parseServerOptions({ ...raw, ...change }).gateway;
  const defaults = { http: 80, https: 443 };
  assert.equal(gatewayOf({}), undefined);
  assert.deepEqual(gatewayOf({ gateway: 'keelson' }), defaults);
  assert.deepEqual(gatewayOf({ gatewayHttpPort: '8080' }), { ...defaults, http: 8080 });
  assert.deepEqual(gatewayOf({ gatewayHttpsPort: '8443' }), { ...defaults, https: 8443 });
  assert.equal(gatewayOf({ gateway: 'none', gatewayHttpPort: '8080' }), undefined);
  assert.throws(() => gatewayOf({ gatewayHttpPort: '443' }), /^UserError: --gateway-https-port: it is that of/);
  assert.throws(() => gatewayOf({ gatewayHttpPort: 'x' }), /--gateway-http-port/);
});

test('keelson status prints one screen', () => {
  const status = {
    phase: 'running',
    pid: 7,
    version: '0.1.0',
    kubernetesVersion: 'v1.36.0',
    uptimeSeconds: 61.4,
    memoryBytes: 104_857_600,
    aliveMemoryBytes: 52_428_800,
    server: 'https://h:6443',
    kubeconfig: '/d/admin.kubeconfig',
    containerdSocket: '/run/c.sock',
    clusterCidr: '10.42.0.0/16',
    serviceCidr: '10.43.0.0/16',
    clusterDomain: 'cluster.local',
    components: [
      { name: 'scheduler', healthy: true, message: '' },
      { name: 'node', healthy: false, message: 'no runtime' },
    ],
    nodes: [{ name: 'n', ready: false, message: 'starting', kubeletVersion: 'v1.36.0', runtime: 'containerd://1.7' }],
    podsByPhase: { Running: 2, Pending: 1 },
    store: { kind: 'sqlite', revision: 9, keyCount: 3, sizeBytes: 1_048_576 },
  } as unknown as ClusterStatus;
  const lines = statusScreen(status).split('\n');
  assert.match(lines[0] ?? '', /^keelson {5}0\.1\.0, Kubernetes API v1\.36\.0, pid 7, up 61 s, 100\.0 MiB$/);
  for (const part of [
    'scheduler ok, node (no runtime)',
    'n NotReady (starting), kubelet v1.36.0',
    '2 Running, 1 Pending',
    'sqlite, revision 9, 3 keys, 1.0 MiB',
  ])
    assert.ok(
      lines.some((line) => line.includes(part)),
      part,
    );
  assert.match(statusScreen({ ...status, podsByPhase: {} }), /\npods {8}none\n/);
  const errors = [{ component: 'c', count: 1, lastTime: 't', message: 'a failed\n , because\n' }];
  assert.match(statusScreen({ ...status, errors }), /\nerror {7}c, once, at t: a failed , because\n/);
  assert.equal(statusScreen({ ...status, phase: 'starting' }), 'keelson is starting (pid 7)\n');
});

test('flags of the API server keep their names through commander', () => {
  const { apiServer } = parseServerOptions({
    ...raw,
    enableAdmissionPlugins: ['AlwaysPullImages'],
    authorizationMode: ['RBAC'],
    maxRequestsInflight: '7',
    enablePriorityAndFairness: 'false',
    oidcIssuerUrl: 'https://i',
    oidcClientId: 'c',
  } as RawServerOptions);
  assert.ok(apiServer?.admission.plugins.includes('AlwaysPullImages'));
  assert.deepEqual(apiServer?.authorization.modes, ['RBAC']);
  assert.deepEqual(apiServer?.limits.priorityAndFairness, false);
  assert.deepEqual(apiServer?.limits.maxRequestsInFlight, 7);
  assert.equal(apiServer?.authentication.oidc?.issuerUrl, 'https://i');
  assert.equal(parseServerOptions(raw).apiServer, undefined);
  const unknown = { ...raw, disableAdmissionPlugins: ['Nope'] } as RawServerOptions;
  assert.throws(() => parseServerOptions(unknown), {
    name: 'UserError',
    message: /plugin "Nope" is unknown; there are /,
  });
});
