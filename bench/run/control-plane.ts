// A control plane in this process, with its own store, for benchmarks of the path through the API server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControlPlane, type ControlPlane } from '../../src/cluster/control-plane/control-plane.ts';
import { deriveInstance } from '../../src/cluster/instance/instance.ts';
import { openStore } from '../../src/cluster/store/open-store.ts';
import { createTokenKey } from '../../src/component-helpers/pki/cluster-pki.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import { API_SERVER_CLIENT, PLACEHOLDER_CA_PEM } from '../../src/testing/sim-identities.ts';

export interface BenchControlPlane {
  readonly controlPlane: ControlPlane;
  readonly platform: NodePlatform;
  /** Ends what runs with it; `stop` aborts it, too. */
  readonly signal: AbortSignal;
  stop(): Promise<void>;
}

/** Starts it without controllers or scheduler. */
export async function startControlPlane(storeKind: string): Promise<BenchControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-bench-'));
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  const store = await openStore(platform, {
    choice: { kind: storeKind as 'memory' },
    file: join(folder, 'store.db'),
  });
  const instance = deriveInstance(
    {
      dataDir: folder,
      nodeName: 'cp',
      clusterCidr: '10.128.0.0/9',
      serviceCidr: '10.96.0.0/16',
      clusterDomain: 'cluster.local',
      httpsPort: 6443,
    },
    (text) => platform.crypto.sha256Hex(text),
  );
  const controlPlane = createControlPlane({
    platform,
    store,
    instance,
    hostAddress: '127.0.0.1',
    runtimeConfig: '',
    pki: {
      ca: { certPem: PLACEHOLDER_CA_PEM },
      kubeletClient: API_SERVER_CLIENT,
      serviceAccount: await createTokenKey(platform),
    },
  });
  const life = new AbortController();
  await controlPlane.start(life.signal);
  return {
    controlPlane,
    platform,
    signal: life.signal,
    async stop() {
      life.abort(new Error('measured'));
      await controlPlane.stop();
      await store.close();
      platform.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs `work` for each index, a few dozen at once. */
export async function eachOf(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 64 }, lane));
}
