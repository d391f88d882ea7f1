/** A whole control plane without nodes, with real HTTPS on loopback and kubectl, for integration tests. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseApiServerOptions } from '../../src/apiserver/options/api-server-options.ts';
import type { FlagValues } from '../../src/apiserver/options/flags.ts';
import { ConfigMaps, Namespaces, ServiceAccounts } from '../../src/api/gen/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { consoleOf } from '../../src/cluster/console/console-of.ts';
import { loadApiServerSetup } from '../../src/cluster/control-plane/api-server-setup.ts';
import { type ControlPlane, createControlPlane } from '../../src/cluster/control-plane/control-plane.ts';
import { defaultIssuer } from '../../src/cluster/instance/host-address.ts';
import { deriveInstance } from '../../src/cluster/instance/instance.ts';
import { kubeconfigYaml } from '../../src/cluster/kubeconfig.ts';
import type { ServerSettings } from '../../src/cluster/control-plane/server-settings.ts';
import { ensureClusterPki } from '../../src/component-helpers/pki/cluster-pki.ts';
import { type ControllerName, controllers as allControllers } from '../../src/controllers/list.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import { createMemoryStore } from '../../src/storage/memory/memory-store.ts';
import type { HistoryLog } from '../../src/storage/history-log.ts';
import type { Store } from '../../src/storage/store.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { until } from '../integration/fixtures/until.ts';

/** The output and exit code of a program. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running control plane. */
export interface ControlPlaneFixture {
  readonly controlPlane: ControlPlane;
  readonly admin: Client;
  readonly port: number;
  readonly directory: string;
  readonly kubeconfig: string;
  /** `https://127.0.0.1:<port>` with the administrator's certificate, for requests that kubectl does not make. */
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** Runs kubectl as the administrator; does not reject for a failed command. `timeoutMs` ends a command that watches. */
  kubectl(args: readonly string[], input?: string, timeoutMs?: number): Promise<Said>;
  stop(): Promise<void>;
}

/** Settings that differ from the defaults. */
export interface ControlPlaneSetup {
  /** Replaces the memory store; closed with the control plane. */
  readonly store?: (platform: NodePlatform) => Promise<Store>;
  /** Records the history of objects; closed with the control plane. */
  readonly history?: (platform: NodePlatform) => HistoryLog;
  /** The advertised address. */
  readonly hostAddress?: string;
  /** False to run only the API server. */
  readonly components?: boolean;
  /** The value of `--runtime-config`. */
  readonly runtimeConfig?: string;
  /** Controllers that do not run. */
  readonly without?: readonly ControllerName[];
  /** The certificates of another control plane, to share its cluster. */
  readonly pkiDir?: string;
  /** Whether the console is served. */
  readonly console?: boolean;
  /** Flags of the API server. */
  readonly flags?: FlagValues;
  /** Settings for which only a standalone API server has flags. */
  readonly settings?: ServerSettings;
}

/**
 * Waits for the objects that controllers create in every namespace: pods are refused without a service account, and tests that
 * count objects or webhook calls must not run meanwhile.
 */
async function namespacesFilled(admin: Client): Promise<void> {
  const { items } = await admin.resource(Namespaces).list();
  for (const { metadata } of items) {
    const namespace = metadata.name ?? '';
    await until(`what a namespace has: ${namespace}`, async () => {
      await admin.resource(ServiceAccounts).get({ namespace, name: 'default' });
      return Boolean(await admin.resource(ConfigMaps).get({ namespace, name: 'kube-root-ca.crt' }));
    });
  }
}

/** A store that several control planes of a test use one after the other: their end does not close it. */
export function surviving(store: Store): Store {
  const names = ['get', 'range', 'scan', 'put', 'delete', 'watch', 'compact', 'status', 'isStale'] as const;
  const own = names.flatMap((name) => (store[name] === undefined ? [] : [[name, store[name].bind(store)]]));
  return { ...(Object.fromEntries(own) as Store), close: async () => undefined };
}

/** Starts it with its controllers and its scheduler; resolves when the first namespaces have their objects. */
export async function startControlPlane(setup: ControlPlaneSetup = {}): Promise<ControlPlaneFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'keelson-plane-'));
  const platform = createNodePlatform();
  const instance = deriveInstance(
    {
      dataDir: directory,
      nodeName: 'none',
      clusterCidr: '10.222.0.0/16',
      serviceCidr: '10.223.0.0/24',
      clusterDomain: 'cluster.local',
      httpsPort: 6443,
    },
    (text) => platform.crypto.sha256Hex(text),
  );
  const pki = await ensureClusterPki(
    platform.files,
    { crypto: platform.crypto, random: platform.random, nowMs: () => platform.clock.nowMs() },
    {
      dir: setup.pkiDir ?? join(directory, 'pki'),
      names: { nodeName: 'none', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
    },
  );
  const store = (await setup.store?.(platform)) ?? createMemoryStore({ clock: platform.clock });
  const history = setup.history?.(platform);
  const server = { audiences: [defaultIssuer(instance)], servesConsole: setup.console === true };
  const apiServer = await loadApiServerSetup(platform, parseApiServerOptions(setup.flags ?? {}), server);
  const chosen = (Object.keys(allControllers) as ControllerName[]).filter((name) => !setup.without?.includes(name));
  const controlPlane = createControlPlane({
    platform,
    setup: apiServer,
    ...(setup.settings && { settings: setup.settings }),
    store,
    history,
    pki,
    instance,
    hostAddress: setup.hostAddress ?? '127.0.0.1',
    runtimeConfig: setup.runtimeConfig ?? '',
    controllers: { names: chosen },
    console: setup.console === true ? consoleOf(platform) : undefined,
  });
  const lifetime = new AbortController();
  await controlPlane.start(lifetime.signal);
  const components = setup.components ?? true;
  const controllers = components
    ? controlPlane.runControllers(lifetime.signal).catch((error: unknown) => {
        if (!lifetime.signal.aborted) throw error;
      })
    : undefined;
  if (components) await controlPlane.startScheduler(lifetime.signal);
  if (components) await namespacesFilled(controlPlane.admin);
  const { port } = await controlPlane.serve({
    host: '127.0.0.1',
    port: 0,
    tls: { ...pki.apiServer, clientCaPem: pki.ca.certPem },
  });
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(
    kubeconfig,
    kubeconfigYaml({
      server: `https://127.0.0.1:${port}`,
      caPem: pki.ca.certPem,
      ...pki.admin,
      user: 'admin',
      cluster: 'test',
    }),
  );
  const program = kubectlProgram();
  const kubectl: ControlPlaneFixture['kubectl'] = (args, input, timeoutMs = 180_000) =>
    new Promise((resolve) => {
      const all = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(directory, 'cache')}`, ...args];
      const child = execFile(
        program,
        all,
        { timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, HOME: directory } },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 255;
          resolve({ code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() });
        },
      );
      child.stdin?.end(input ?? '');
    });
  return {
    controlPlane,
    admin: controlPlane.admin,
    port,
    directory,
    kubeconfig,
    kubectl,
    tls: { ca: pki.ca.certPem, cert: pki.admin.certPem, key: pki.admin.keyPem },
    async stop() {
      lifetime.abort(new Error('the test is over'));
      await controllers;
      await controlPlane.stop();
      await history?.close();
      await store.close();
      platform.close();
      await rm(directory, { recursive: true });
    },
  };
}
