/** A client of a cluster for commands: by `--kubeconfig`, `KUBECONFIG`, or the administrator's file of the data directory. */
import { resolve } from 'node:path';
import type { Client } from '../client/client.ts';
import { loadKubeconfig } from '../client/kubeconfig.ts';
import { createRestClient } from '../client/rest-client.ts';
import { createNodePlatform } from '../platform/node/node-platform.ts';
import { UserError } from './usage-error.ts';

export interface ClusterChoice {
  readonly dataDir: string;
  readonly kubeconfig?: string;
  readonly namespace?: string;
}

/** A client with the platform it runs on. */
export interface KubeClient {
  readonly client: Client;
  /** The chosen one, else that of the kubeconfig's context, else `default`. */
  readonly namespace: string;
  readonly nowMs: () => number;
  /** The API server's URL, without a slash at its end. */
  readonly server: string;
  close(): void;
}

/** Reads the kubeconfig; nothing is connected before the first call. Rejects with `UserError` when there is no such file. */
export async function openKubeClient(choice: ClusterChoice, userAgent: string): Promise<KubeClient> {
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  try {
    const path = resolve(choice.kubeconfig ?? (process.env['KUBECONFIG'] || `${choice.dataDir}/admin.kubeconfig`));
    if (!(await platform.files.exists(path))) throw new UserError(`no cluster: ${path} is not there`);
    const found = await loadKubeconfig({ ...platform, userAgent }, path);
    return {
      client: createRestClient(found),
      namespace: choice.namespace ?? found.namespace ?? 'default',
      nowMs: () => platform.clock.nowMs(),
      server: found.server.replace(/\/+$/, ''),
      close: () => platform.close(),
    };
  } catch (error) {
    platform.close();
    throw error;
  }
}
