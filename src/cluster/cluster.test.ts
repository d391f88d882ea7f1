import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseApiServerOptions } from '../apiserver/options/api-server-options.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createCluster } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { deriveInstance } from './instance/instance.ts';
import { createProgress } from './progress.ts';

const options: ClusterOptions = {
  dataDir: '/data',
  name: 'test',
  httpsPort: 6443,
  store: { kind: 'memory' },
  clusterDomain: 'cluster.local',
  nodeName: 'node',
  runtimeConfig: '',
};

const proxyAuthority = parseApiServerOptions({ 'requestheader-client-ca-file': '/data/pki/front-proxy-ca.crt' });
const webhook = parseApiServerOptions({ 'authentication-token-webhook-config-file': '/webhook.kubeconfig' });
const KUBECONFIG = `
clusters: [{ name: a, cluster: { server: 'https://127.0.0.1:9', certificate-authority: /data/pki/ca.crt } }]
contexts: [{ name: a, context: { cluster: a, user: a } }]
users: [{ name: a, user: {} }]
current-context: a
`;

for (const [name, given, says] of [
  ['API server', { apiServer: parseApiServerOptions({ 'audit-policy-file': '/wrong' }) }, /^--audit-policy-file: \/wr/],
  ['scheduler', { schedulerConfigFile: '/wrong' }, /^--scheduler-config: \/wrong/],
  // The files of the API server are read first.
  [
    'scheduler, the API server having found the cluster’s authority',
    { apiServer: proxyAuthority, schedulerConfigFile: '/wrong' },
    /^--scheduler-config: /,
  ],
  [
    'scheduler, the API server having found the authority of a webhook',
    { apiServer: webhook, schedulerConfigFile: '/wrong' },
    /^--scheduler-config: /,
  ],
] as const)
  test(`an invalid file of the ${name}: reported before any component runs`, async () => {
    const platform = createSimPlatform();
    await platform.files.writeFile('/webhook.kubeconfig', KUBECONFIG);
    const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16' };
    const cluster = createCluster(platform, {
      instance: deriveInstance({ ...options, httpsPort: 6443, ...ranges }, (text) => platform.crypto.sha256Hex(text)),
      options: { ...options, ...given },
      cniBinDirs: [],
      kubeletPort: { port: 10_250, release: () => Promise.resolve() },
      apiPort: undefined,
      ownEtcd: false,
      progress: createProgress(platform),
    });
    await assert.rejects(cluster.start(), { message: says });
    await cluster.stop();
    assert.deepEqual(await platform.files.readDir('/data'), ['pki']);
  });
