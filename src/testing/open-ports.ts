/**
 * The real HTTPS ports of a cluster, its kubeconfig and links to its console. The certificate authority is created with the first
 * port.
 */
import { ConfigMaps } from '../api/gen/resources.ts';
import type { Client } from '../client/client.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import { createMemoryFiles } from '../platform/sim/files.ts';
import type { ClusterState } from './cluster-state.ts';
import { makePki, openListener, type ListenAt, type Listening } from './listener.ts';

interface OpenPortsDeps {
  readonly state: ClusterState;
  /** A client with the administrator's rights. */
  readonly client: Client;
  readonly restartControllers: () => Promise<void>;
}

export class OpenPorts {
  readonly #deps: OpenPortsDeps;
  readonly #listening = new Set<Listening>();

  constructor(deps: OpenPortsDeps) {
    this.#deps = deps;
  }

  async listen(at: ListenAt): Promise<Listening> {
    const { state } = this.#deps;
    const { createNodePlatform } = await import('../platform/node/node-platform.ts');
    const real = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    state.pki ??= await makePki({ ...real, files: createMemoryFiles({ nowMs: () => real.clock.nowMs() }) }, '/pki', [
      ...(at.host === undefined ? [] : [at.host]),
      ...(at.names ?? []),
    ]);
    if (at.leaveCluster !== true) await this.#publishAuthority(state.pki.ca);
    const opened = await openListener(
      {
        pace: state.pace,
        random: real.random,
        handler: () => (state.world.serverUp ? state.world.server.handler : undefined),
        listenHttp: real.listenHttp,
        threads: real.threads,
        pki: state.pki,
      },
      at,
    );
    const listening: Listening = {
      ...opened,
      close: async () => {
        this.#listening.delete(listening);
        await opened.close();
      },
    };
    this.#listening.add(listening);
    return listening;
  }

  /** The first port; opens one when there is none. */
  async first(): Promise<Listening> {
    const [open] = this.#listening;
    return open ?? (await this.listen({}));
  }

  async consoleLink(admin: Client): Promise<string> {
    const { url } = await this.first();
    const release = this.#deps.state.pace.clock.holdBusy('the code of a link to the console');
    try {
      const { body } = await admin.raw({ method: 'POST', path: '/console/link' });
      return `${url}${(JSON.parse(Buffer.from(body).toString()) as { readonly path: string }).path}`;
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#listening].map((listening) => listening.close()));
  }

  /** Pods and clients inside the cluster find the real port's authority in `kube-root-ca.crt`. */
  async #publishAuthority(ca: ClusterPki['ca']): Promise<void> {
    const { state, client, restartControllers } = this.#deps;
    if (state.world.authority.certPem === ca.certPem) return;
    state.world.authority = ca;
    const { items } = await client.resource(ConfigMaps).list({ fieldSelector: 'metadata.name=kube-root-ca.crt' });
    if (items.length === 0) return;
    await restartControllers(); // controllers read the authority when they start, and correct config maps that differ
  }
}
