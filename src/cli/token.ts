/** `keelson token create|list|delete`: the tokens machines join with. Talks to the cluster with its kubeconfig. */
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import type { Client } from '../client/client.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { dataDirOption } from './cluster-options.ts';
import { columns } from './columns.ts';
import { UserError } from './usage-error.ts';

interface RawOptions {
  readonly dataDir: string;
  readonly kubeconfig?: string;
}

interface RawCreateOptions extends RawOptions {
  readonly ttl: string;
  readonly description?: string;
  readonly groups: string;
  readonly printJoinCommand?: boolean;
  readonly server?: boolean;
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function tokenCommand(): Command {
  const root = new Command('token').description('make, list and delete the tokens machines join with');
  const create = withConnectionOptions(new Command('create'))
    .description('make a token and print it')
    .argument('[token]', '<id>.<secret> (default: made up)')
    .option('--ttl <time>', 'how long it may be used, e.g. 30m, 24h, 7d; 0: for ever', '24h')
    .option('--description <text>', 'what it is for')
    .option('--groups <groups>', 'more groups of its bearer, below system:bootstrappers:', '')
    .option('--server', 'for machines that become servers (keelson server --join): its bearer gets the cluster’s keys')
    .option('--print-join-command', 'print the command to run on the machine that joins')
    .action((token: string | undefined, raw: RawCreateOptions) =>
      withCluster(raw, (at) => createToken(at, raw, token)),
    );
  const list = withConnectionOptions(new Command('list'))
    .description('list the tokens')
    .action((raw: RawOptions) =>
      withCluster(raw, async ({ client }) => {
        const { listBootstrapTokens } = await import('../cluster/join/bootstrap-tokens.ts');
        const rows = (await listBootstrapTokens(client)).map((info) => [
          info.token,
          info.expiration === '' ? '<forever>' : info.expiration,
          info.usages.join(','),
          info.description === '' ? '<none>' : info.description,
          info.groups.join(',') || '<none>',
        ]);
        process.stdout.write(columns([['TOKEN', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'], ...rows]));
      }),
    );
  const remove = withConnectionOptions(new Command('delete'))
    .description('delete a token')
    .argument('<id>', 'id or token')
    .action((id: string, raw: RawOptions) =>
      withCluster(raw, async ({ client }) => {
        const { deleteBootstrapToken } = await import('../cluster/join/bootstrap-tokens.ts');
        if (!(await deleteBootstrapToken(client, id))) throw new UserError(`there is no token ${id.split('.')[0]}`);
      }),
    );
  return root.addCommand(create).addCommand(list).addCommand(remove);
}

function withConnectionOptions(command: Command): Command {
  return command
    .addOption(dataDirOption('the server’s data directory'))
    .option('--kubeconfig <file>', 'reach the cluster with this kubeconfig instead');
}

interface TokenAccess {
  readonly client: Client;
  readonly platform: NodePlatform;
  readonly caPem: string;
}

async function withCluster(raw: RawOptions, work: (at: TokenAccess) => Promise<void>): Promise<void> {
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const platform = createNodePlatform({ startSpawner: false });
  const path = resolve(raw.kubeconfig ?? join(raw.dataDir, 'admin.kubeconfig'));
  try {
    if (!(await platform.files.exists(path))) throw new UserError(`no cluster: ${path} is not there`);
    const config = await loadKubeconfig({ ...platform, userAgent: 'keelson-token' }, path);
    await work({ client: createRestClient(config), platform, caPem: config.tls?.caPem ?? '' });
  } finally {
    platform.close();
  }
}

async function createToken(
  { client, platform, caPem }: TokenAccess,
  raw: RawCreateOptions,
  requested: string | undefined,
): Promise<void> {
  const { createBootstrapToken } = await import('../cluster/join/bootstrap-tokens.ts');
  const { SERVER_GROUP } = await import('../apiserver/bootstrap/server-join.ts');
  const { formatJoinToken } = await import('../cluster/join/join-token.ts');
  const { readCertificate } = await import('../component-helpers/pki/read-certificate.ts');
  const ttlMs = durationMs(raw.ttl);
  const token = await createBootstrapToken(client, platform.random, {
    groups: [...raw.groups.split(',').filter((group) => group !== ''), ...(raw.server === true ? [SERVER_GROUP] : [])],
    token: requested,
    expiresAtMs: ttlMs === 0 ? undefined : platform.clock.nowMs() + ttlMs,
    description: raw.description,
  });
  const { publicKeyHash } = readCertificate(platform, caPem);
  const text = formatJoinToken(publicKeyHash, token);
  const server = raw.printJoinCommand === true ? await publishedServer(client) : '';
  const command = raw.server === true ? 'server --join' : 'agent --server';
  const flags = server !== '' && raw.server === true ? await flagsOfServers(client) : '';
  process.stdout.write(server === '' ? `${text}\n` : `keelson ${command} ${server} --token ${text}${flags}\n`);
}

/** Address of the API server for other machines, from the cluster's own objects. */
async function publishedServer(client: Client): Promise<string> {
  const { ConfigMaps } = await import('../api/gen/resources.ts');
  const info = await client.resource(ConfigMaps).get({ namespace: 'kube-public', name: 'cluster-info' });
  return /server: (\S+)/.exec(info.data?.['kubeconfig'] ?? '')?.[1] ?? '';
}

/** Flags that all servers of the cluster must have. */
async function flagsOfServers(client: Client): Promise<string> {
  const { ConfigMaps } = await import('../api/gen/resources.ts');
  const { joiningFlags } = await import('../cluster/join/critical-settings.ts');
  const { data } = await client.resource(ConfigMaps).get({ namespace: 'kube-system', name: 'keelson-config' });
  return joiningFlags(data ?? {});
}

/** Throws `UserError` with exit code 2. */
function durationMs(text: string): number {
  if (text === '0') return 0;
  const parts = [...text.matchAll(/(\d+)([smhd])/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text)
    throw new UserError(`--ttl: ${text} is not a time such as 30m, 24h or 7d`, 2);
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0);
}
