/** `keelson controller-manager`: the controllers alone, against any API server. Exit code 1 when leadership is lost. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Command, Option } from 'commander';
import type { ControllersConfig } from '../controllers/controller.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import type { RawControllerManagerOptions } from './controller-manager-options.ts';
import { UserError } from './usage-error.ts';

/** The command. */
export function controllerManagerCommand(): Command {
  const command = new Command('controller-manager')
    .description('run the controllers alone, against any API server')
    .option('--kubeconfig <file>', 'how to reach the API server')
    .option('--master <url>', 'address of the API server (overrides the kubeconfig)')
    .option('--controllers <list>', "which to run: '*' all, 'name' this one, '-name' not this one", '*')
    .option('--use-service-account-credentials', 'each controller acts as a service account of its own')
    .option('--address <address>', 'where to serve health and metrics, without TLS', '127.0.0.1')
    .option('--port <port>', 'port of these; 0 serves nothing', '10252')
    .addOption(
      new Option('--log-level <level>', 'debug, info, warn or error')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    );
  return withControllerOptions(withElectionOptions(command)).action(async (raw: RawControllerManagerOptions) => {
    process.exitCode = await run(raw);
  });
}

function withElectionOptions(command: Command): Command {
  return command
    .option('--leader-elect [bool]', 'agree with other instances on who works (default: true)')
    .option('--leader-elect-lease-duration <duration>', 'how long others wait for a silent leader', '15s')
    .option('--leader-elect-renew-deadline <duration>', 'how long a leader tries to renew before it gives up', '10s')
    .option('--leader-elect-retry-period <duration>', 'between tries', '2s')
    .option('--leader-elect-resource-name <name>', 'name of the Lease', 'kube-controller-manager')
    .option('--leader-elect-resource-namespace <namespace>', 'its namespace', 'kube-system');
}

function withControllerOptions(command: Command): Command {
  return command
    .option('--allocate-node-cidrs', 'give each node a range of pod addresses')
    .option('--cluster-cidr <ranges>', 'addresses of pods')
    .option('--service-cluster-ip-range <ranges>', 'addresses of services: never given to nodes')
    .option('--node-cidr-mask-size <bits>', 'size of a node’s range (24)')
    .option('--node-cidr-mask-size-ipv4 <bits>', 'the same, IPv4 (24)')
    .option('--node-cidr-mask-size-ipv6 <bits>', 'the same, IPv6 (64)')
    .option('--cluster-signing-cert-file <file>', 'certificate of the authority that signs certificate requests')
    .option('--cluster-signing-key-file <file>', 'its private key')
    .option('--root-ca-file <file>', 'certificates published in every namespace and in token secrets')
    .option('--service-account-private-key-file <file>', 'RSA or EC key that signs the tokens of secrets')
    .option('--automatic-token-secrets', 'as the early releases: a token secret for every service account')
    .option('--node-monitor-grace-period <duration>', 'how long a node may be silent', '50s')
    .option('--node-monitor-period <duration>', 'between looks at the nodes', '5s')
    .option('--terminated-pod-gc-threshold <count>', 'how many ended pods may stay', '12500');
}

async function run(raw: RawControllerManagerOptions): Promise<number> {
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: raw.logLevel } });
  try {
    return await runOn(platform, raw);
  } finally {
    platform.close();
  }
}

async function runOn(platform: NodePlatform, raw: RawControllerManagerOptions): Promise<number> {
  const { parseControllerManagerOptions } = await import('./controller-manager-options.ts');
  const options = parseControllerManagerOptions(raw);
  const fromFiles = await readFiles(platform, raw);
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const { createAccountClients } = await import('../cluster/service-account-clients.ts');
  const { createStandaloneControllers } = await import('../cluster/standalone-controllers.ts');
  const { measuredNet } = await import('../client/measured-net.ts');
  const net = measuredNet(platform.net, platform);
  const found = await loadKubeconfig({ ...platform, net, userAgent: 'kube-controller-manager' }, options.kubeconfig);
  const base = raw.master === undefined ? found : { ...found, server: raw.master };
  const client = createRestClient(base);
  const accountClient = createAccountClients(base, client);
  const standalone = createStandaloneControllers(
    {
      platform,
      client,
      clientFor(account) {
        const userAgent = `kube-controller-manager/${account}`;
        return raw.useServiceAccountCredentials === true
          ? accountClient(account, userAgent)
          : createRestClient({ ...base, userAgent });
      },
    },
    {
      names: options.names,
      controllers: { ...options.controllers, ...fromFiles },
      ...(options.leaderElection === undefined
        ? {}
        : { leaderElection: { ...options.leaderElection, identity: `${hostname()}_${randomUUID()}` } }),
    },
  );
  const server =
    options.port === 0
      ? undefined
      : await platform.listenHttp({ host: raw.address, port: options.port }, standalone.http);
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
  const ended = await standalone.run(stop.signal);
  await server?.close(500);
  if (ended === 'stopped') return 0;
  throw new UserError('leaderelection lost');
}

async function readFiles(
  { files }: NodePlatform,
  raw: RawControllerManagerOptions,
): Promise<Partial<ControllersConfig>> {
  const read = async (flag: string, path: string | undefined): Promise<string | undefined> =>
    path === undefined
      ? undefined
      : await files.readText(path).catch((error: unknown) => {
          throw new UserError(`${flag}: ${(error as Error).message}`, 2, { cause: error });
        });
  const rootCaPem = await read('--root-ca-file', raw.rootCaFile);
  const certPem = await read('--cluster-signing-cert-file', raw.clusterSigningCertFile);
  const keyPem = await read('--cluster-signing-key-file', raw.clusterSigningKeyFile);
  const tokenKey = await read('--service-account-private-key-file', raw.serviceAccountPrivateKeyFile);
  return {
    ...(rootCaPem === undefined ? {} : { rootCaPem }),
    ...(certPem === undefined || keyPem === undefined ? {} : { clusterSigning: { certPem, keyPem } }),
    ...(tokenKey === undefined ? {} : { signServiceAccountToken: await signerOf(tokenKey) }),
  };
}

async function signerOf(pem: string): Promise<NonNullable<ControllersConfig['signServiceAccountToken']>> {
  const { createTokenSigner } = await import('../cluster/token-signer.ts');
  try {
    return createTokenSigner(pem);
  } catch (error) {
    throw new UserError(`--service-account-private-key-file: ${(error as Error).message}`, 2, { cause: error });
  }
}
