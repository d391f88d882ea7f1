import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseApiServerOptions } from '../apiserver/options/api-server-options.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createCluster } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { deriveInstance } from './instance.ts';
import { createProgress } from './progress.ts';

const options: ClusterOptions = {
  dataDir: '/data',
  httpsPort: 6443,
  store: { kind: 'memory' },
  clusterDomain: 'cluster.local',
  nodeName: 'node',
  runtimeConfig: '',
};

for (const [name, given, says] of [
  ['API server', { apiServer: parseApiServerOptions({ 'audit-policy-file': '/wrong' }) }, /^--audit-policy-file: \/wr/],
  ['scheduler', { schedulerConfigFile: '/wrong' }, /^--scheduler-config: \/wrong/],
] as const)
  test(`a wrong file of the ${name} is told before anything runs`, async () => {
    const platform = createSimPlatform();
    const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16' };
    const cluster = createCluster(platform, {
      instance: deriveInstance({ ...options, ...ranges }, (text) => platform.crypto.sha256Hex(text)),
      options: { ...options, ...given },
      cniBinDirs: [],
      kubeletPort: { port: 10_250, release: () => Promise.resolve() },
      ownEtcd: false,
      progress: createProgress(platform.clock),
    });
    await assert.rejects(cluster.start(), { message: says });
    await cluster.stop();
    assert.equal(await platform.files.exists('/data'), false);
  });
