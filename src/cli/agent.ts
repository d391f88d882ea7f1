/** `keelson agent`: makes this machine a node of a cluster whose control plane is elsewhere. */
import { Command } from 'commander';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { AgentOptions } from '../cluster/join/agent-options.ts';
import { parseJoinToken, type JoinToken } from '../cluster/join/join-token.ts';
import { DEFAULT_DATA_DIR, parseEndpoint, parseNodeName } from './cluster-options.ts';
import { checkPrivileges, logLevelOption } from './server-options.ts';
import { UserError } from './usage-error.ts';

interface RawAgentOptions {
  readonly dataDir: string;
  readonly server?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly discoveryTokenCaCertHash?: readonly string[];
  readonly nodeName?: string;
  readonly nodeIp?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly logLevel: string;
  readonly detach?: boolean;
}

/** The command. */
export function agentCommand(): Command {
  return new Command('agent')
    .description('join this machine to a cluster as a node: kubelet, service proxy and DNS')
    .option('--server <urls>', 'https://host:port of the cluster’s servers, separated by commas')
    .option('--token <token>', 'what keelson token create printed; needed to join, not to start again')
    .option('--token-file <file>', 'reads the token from a file, so that no process list shows it')
    .option('--discovery-token-ca-cert-hash <hashes...>', 'sha256:<hex> of the authority, for tokens without it')
    .option('--data-dir <dir>', 'where the node keeps everything', DEFAULT_DATA_DIR)
    .option('--node-name <name>', 'name of this node (default: the host name)')
    .option('--node-ip <address>', 'address of this node (default: the first of a real device)')
    .option(
      '--container-runtime-endpoint <endpoint>',
      'use this CRI endpoint (unix:///path) instead of a containerd of our own',
    )
    .addOption(logLevelOption())
    .option('--detach', 'return when the node is Ready and leave it running')
    .action(async (raw: RawAgentOptions) => {
      const options = await parseAgentOptions(raw);
      checkPrivileges();
      if (raw.detach === true) {
        const { runDetached } = await import('./detach.ts');
        process.exitCode = await runDetached(options.dataDir, raw.logLevel);
      } else process.exitCode = await runAgent(options, raw.logLevel as 'info');
    });
}

async function parseAgentOptions(raw: RawAgentOptions): Promise<AgentOptions> {
  const servers = raw.server?.split(',').map(serverUrl);
  const token = await joinToken(raw);
  const endpoint = parseEndpoint(raw.containerRuntimeEndpoint);
  if (raw.nodeIp !== undefined && isIP(raw.nodeIp) === 0) throw usage(`--node-ip: ${raw.nodeIp} is no address`);
  return {
    dataDir: resolve(raw.dataDir),
    nodeName: parseNodeName(raw.nodeName),
    ...(servers === undefined ? {} : { servers }),
    ...(token === undefined ? {} : { token }),
    ...(raw.nodeIp === undefined ? {} : { nodeIp: raw.nodeIp }),
    ...(endpoint === undefined ? {} : { containerRuntimeEndpoint: endpoint }),
  };
}

async function joinToken(raw: RawAgentOptions): Promise<JoinToken | undefined> {
  const { token, tokenFile, discoveryTokenCaCertHash } = raw;
  if (token !== undefined && tokenFile !== undefined) throw usage('--token and --token-file exclude each other');
  let text = token;
  if (tokenFile !== undefined) {
    const { readFile } = await import('node:fs/promises');
    text = (await readFile(tokenFile, 'utf8')).trim();
  }
  if (text === undefined) return undefined;
  try {
    return parseJoinToken(text, discoveryTokenCaCertHash);
  } catch (error) {
    throw usage(`--token: ${(error as Error).message}`);
  }
}

function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.pathname !== '/' || url.search !== '')
    throw usage(`--server: ${text} is not of the form https://host:port`);
  return `https://${url.hostname}:${url.port === '' ? '443' : url.port}`;
}

function usage(text: string): UserError {
  return new UserError(text, 2);
}

async function runAgent(options: AgentOptions, logLevel: 'info'): Promise<number> {
  const { runInstance } = await import('./run-instance.ts');
  const { prepareAgent } = await import('../cluster/join/prepare-agent.ts');
  const { createAgent } = await import('../cluster/join/agent.ts');
  return runInstance({
    dataDir: options.dataDir,
    logLevel,
    async create(platform, progress) {
      const prepared = await progress.phase('machine checked', () => prepareAgent(platform, options));
      return createAgent(platform, { ...prepared, options, progress });
    },
  });
}
