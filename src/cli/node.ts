/** `keelson node`: the nodes of a cluster on this machine, those of `keelson up --nodes`. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { requestControl } from '../cluster/instance/control-client.ts';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import type { NodeAction } from '../cluster/nodes/node-actions.ts';
import type { NodeStatus } from '../cluster/nodes/node-status.ts';
import type { NodePlatformOptions } from '../platform/node/node-platform.ts';
import { dataDirOption } from './cluster-options.ts';
import { columns } from './columns.ts';
import { withPlatform } from './run-once.ts';
import { checkPrivileges } from './server-options.ts';
import { UserError } from './usage-error.ts';

/** Programs are started on the machine. */
const MACHINE: NodePlatformOptions = { log: { level: 'warn' } };

interface RawOptions {
  readonly dataDir: string;
}

export function nodeCommand(): Command {
  return new Command('node')
    .description('nodes of this machine (keelson up --nodes): list, stop, start, kill, partition, heal')
    .addCommand(listCommand())
    .addCommand(actionCommand('stop', 'shut a node down: its pods end in order, and it is NotReady after 40 s'))
    .addCommand(actionCommand('start', 'start a node that was stopped or killed'))
    .addCommand(actionCommand('kill', 'end a node at once, as a machine that loses its power'))
    .addCommand(actionCommand('partition', 'cut a node off from all others, as a cable that is pulled'))
    .addCommand(actionCommand('heal', 'connect a node again'));
}

function listCommand(): Command {
  return new Command('ls')
    .description('list the nodes of this machine')
    .addOption(dataDirOption())
    .addOption(
      new Option('-o, --output <format>', 'text, json, or names alone')
        .choices(['text', 'json', 'name'])
        .default('text'),
    )
    .action(async ({ dataDir, output }: RawOptions & { readonly output: string }) => {
      const nodes = await machineNodes(resolve(dataDir));
      if (output === 'json') process.stdout.write(`${JSON.stringify(nodes, undefined, 2)}\n`);
      else if (output === 'name') process.stdout.write(nodes.map(({ name }) => `${name}\n`).join(''));
      else {
        const rows = nodes.map(({ name, state, address, dataDir: own }) => [name, state, address, own]);
        process.stdout.write(columns([['NAME', 'STATE', 'ADDRESS', 'DATA DIRECTORY'], ...rows]));
        for (const { name, problem } of nodes)
          if (problem !== undefined) process.stderr.write(`keelson: ${name} cannot be started: ${problem}\n`);
      }
    });
}

function actionCommand(action: NodeAction, description: string): Command {
  return new Command(action)
    .description(description)
    .argument('<node>', 'its name')
    .addOption(dataDirOption())
    .action(async (name: string, raw: RawOptions) => {
      const dataDir = resolve(raw.dataDir);
      if (!/^[a-z0-9.-]+$/.test(name)) throw new UserError(`${name} is no name of a node`, 2);
      const answer = (await requestControl(dataDir, `node ${action} ${name}`)) as
        | { readonly done?: string; readonly error?: string }
        | undefined;
      if (answer === undefined) process.stdout.write(`${await withoutServer(dataDir, action, name)}\n`);
      else if (answer.done === undefined) throw new UserError(answer.error ?? 'the cluster gave no answer');
      else process.stdout.write(`${answer.done}\n`);
    });
}

/** No server runs. Its nodes may; what cannot be done now is recorded for the next start. */
async function withoutServer(dataDir: string, action: NodeAction, name: string): Promise<string> {
  if (!existsSync(dataDir)) throw new UserError(`no cluster is in ${dataDir} (keelson ls lists those there are)`);
  checkPrivileges();
  const { actOffline } = await import('../cluster/nodes/offline-nodes.ts');
  return withPlatform((platform) => actOffline(platform, dataDir, { action, name }), MACHINE);
}

async function machineNodes(dataDir: string): Promise<readonly NodeStatus[]> {
  if (!existsSync(dataDir)) throw new UserError(`no cluster is in ${dataDir} (keelson ls lists those there are)`);
  const status = (await requestControl(dataDir, 'status')) as Partial<ClusterStatus> | undefined;
  const nodes = status?.machineNodes ?? (await statusWithoutServer(dataDir));
  if (nodes === undefined || nodes.length === 0)
    throw new UserError('this cluster has no further nodes on this machine (keelson up --nodes 3)');
  return nodes;
}

async function statusWithoutServer(dataDir: string): Promise<readonly NodeStatus[] | undefined> {
  const { offlineStatus } = await import('../cluster/nodes/offline-nodes.ts');
  return withPlatform((platform) => offlineStatus(platform, dataDir), MACHINE);
}
