/** Which settings a joining server must share with the cluster. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterOptions } from '../cluster-options.ts';
import { checkCriticalSettings, joiningFlags, publishedParts } from './critical-settings.ts';

const usual: ClusterOptions = {
  dataDir: '/d',
  name: 'c',
  httpsPort: undefined,
  store: { kind: 'sqlite' },
  clusterDomain: 'cluster.local',
  nodeName: 'n',
  runtimeConfig: '',
};
const published = (options: Partial<ClusterOptions> = {}): Record<string, string> => ({
  clusterCidr: '10.42.0.0/16',
  serviceCidr: '10.43.0.0/16',
  clusterDomain: options.clusterDomain ?? 'cluster.local',
  cni: options.cni ?? 'keelson',
  dns: options.dns ?? 'keelson',
  flannelBackend: options.flannelBackend ?? 'vxlan',
  ...publishedParts({ ...usual, ...options }),
});
const checked = (own: Partial<ClusterOptions>, cluster: Record<string, string>): string => {
  try {
    checkCriticalSettings({ ...usual, ...own }, cluster);
    return '';
  } catch (error) {
    return String(error);
  }
};

const gateway = { http: 8080, https: 443 };
const CASES: readonly [flags: string, options: Partial<ClusterOptions>][] = [
  ['--cluster-domain example.org', { clusterDomain: 'example.org' }],
  ['--cni none', { cni: 'none' }],
  ['--dns none', { dns: 'none' }],
  ['--load-balancer none', { loadBalancer: 'none' }],
  ['--local-path none', { localPath: 'none' }],
  ['--metrics none', { metrics: 'none' }],
  ['--gateway keelson --gateway-http-port 8080', { gateway }],
];

for (const [flags, options] of CASES) {
  test(`a cluster with ${flags} takes servers with the same flags alone`, () => {
    assert.equal(checked(options, published(options)), '');
    const refusal = checked({}, published(options));
    assert.match(refusal, /critical configuration value mismatch between servers/);
    for (const flag of flags.split(' --')) assert.ok(refusal.includes(flag), refusal);
    assert.equal(joiningFlags(published(options)), ` ${flags}`);
  });
  test(`a cluster with defaults refuses a server with ${flags}`, () =>
    assert.match(checked(options, published()), new RegExp(flags.split(' ')[0]!)));
}

test('ranges and backend that are left out are the cluster’s; others are refused', () => {
  assert.equal(checked({}, published({ flannelBackend: 'wireguard-native' })), '');
  assert.match(checked({ clusterCidr: '10.9.0.0/16' }, published()), /--cluster-cidr 10\.42\.0\.0\/16 \(this server/);
  assert.match(checked({ flannelBackend: 'wireguard-native' }, published()), /--flannel-backend vxlan/);
});

test('a server without a node joins a cluster with routes, and does not publish that it has none', () => {
  assert.equal(checked({ disableAgent: true }, published({ gateway })), '');
  assert.equal(publishedParts({ ...usual, disableAgent: true })['gateway'], undefined);
});

test('what an older server does not publish is not compared', () => {
  const { metrics: _, ...older } = published();
  assert.equal(checked({ metrics: 'none' }, older), '');
  assert.equal(joiningFlags({}), '');
});
