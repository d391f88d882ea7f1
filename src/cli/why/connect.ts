/** The cluster that a question goes to, with the rights of a kubeconfig. */
import { resolve } from 'node:path';
import type { Client } from '../../client/client.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { createRestClient } from '../../client/rest-client.ts';
import { createNodePlatform } from '../../platform/node/node-platform.ts';
import { UserError } from '../usage-error.ts';

export interface ConnectOptions {
  readonly dataDir: string;
  readonly kubeconfig?: string;
  readonly namespace?: string;
}

export interface Connection {
  readonly client: Client;
  /** The one asked for, else that of the kubeconfig. */
  readonly namespace: string;
  readonly nowMs: () => number;
  close(): void;
}

/** Rejects with `UserError` when there is no cluster. */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { dataDir, kubeconfig, namespace } = options;
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  try {
    const path = resolve(kubeconfig ?? (process.env['KUBECONFIG'] || `${dataDir}/admin.kubeconfig`));
    if (!(await platform.files.exists(path))) throw new UserError(`no cluster: ${path} is not there`);
    const found = await loadKubeconfig({ ...platform, userAgent: 'keelson-why' }, path);
    return {
      client: createRestClient(found),
      namespace: namespace ?? found.namespace ?? 'default',
      nowMs: () => platform.clock.nowMs(),
      close: () => platform.close(),
    };
  } catch (error) {
    platform.close();
    throw error;
  }
}
