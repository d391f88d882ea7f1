/** `keelson status`: one screen about a running cluster, or JSON. */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { requestControl } from '../cluster/instance/control-client.ts';
import { supervisorOf } from '../cluster/instance/supervisor-record.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

export function statusCommand(): Command {
  return new Command('status')
    .description('show what a running cluster is doing')
    .addOption(dataDirOption())
    .addOption(new Option('--output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (raw: { dataDir: string; output: string }) => {
      const dataDir = resolve(raw.dataDir);
      const status = (await requestControl(dataDir, 'status')) as ClusterStatus | undefined;
      if (status === undefined && supervisorOf(dataDir) !== undefined)
        throw new UserError(`keelson on ${dataDir} ended abnormally and will be started again; see ${dataDir}/crashes`);
      if (status === undefined)
        throw new UserError(`no cluster runs on ${dataDir} (keelson up --data-dir ${dataDir} starts it)`);
      process.stdout.write(raw.output === 'json' ? `${JSON.stringify(status, undefined, 2)}\n` : statusScreen(status));
    });
}

/** Formats the status screen. Pure. */
export function statusScreen(status: ClusterStatus): string {
  if (status.phase === 'starting') return `keelson is starting (pid ${status.pid})\n`;
  const lines: (readonly [string, string])[] = [
    [
      'keelson',
      `${status.version}, Kubernetes API ${status.kubernetesVersion}, pid ${status.pid}, up ${Math.round(status.uptimeSeconds)} s, ${mib(status.memoryBytes)}`,
    ],
    [status.role === 'agent' ? 'agent of' : 'server', status.server],
    ...(status.kubeconfig === undefined ? [] : [['kubeconfig', status.kubeconfig] as const]),
    ['components', status.components.map((c) => `${c.name} ${c.healthy ? 'ok' : `(${c.message})`}`).join(', ')],
    ...restartsLine(status),
    ...(status.nodes ?? []).map(
      (n) =>
        [
          'node',
          `${n.name} ${n.ready ? 'Ready' : `NotReady (${n.message})`}, kubelet ${n.kubeletVersion}, ${n.runtime}`,
        ] as const,
    ),
    ...podsLine(status),
    ['ranges', `pods ${status.clusterCidr}, services ${status.serviceCidr}, domain ${status.clusterDomain}`],
    ['containerd', status.containerdSocket],
    ...storeLine(status),
  ];
  return lines.map(([name, value]) => `${name.padEnd(11)} ${value}\n`).join('');
}

function restartsLine({ restarts }: ClusterStatus): (readonly [string, string])[] {
  if (restarts === undefined) return [];
  const { count, lastTime, lastEnd, report } = restarts;
  return [['restarts', `${count}, the last ${lastTime} after ${lastEnd} (${report})`]];
}

function podsLine({ podsByPhase }: ClusterStatus): (readonly [string, string])[] {
  if (podsByPhase === undefined) return [];
  const phases = Object.entries(podsByPhase).map(([phase, count]) => `${count} ${phase}`);
  return [['pods', phases.join(', ') || 'none']];
}

function storeLine({ store }: ClusterStatus): (readonly [string, string])[] {
  if (store === undefined) return [];
  const { kind, revision, keyCount, sizeBytes, problem } = store;
  const failing = problem === undefined ? '' : `; the last write failed: ${problem}`;
  return [['store', `${kind}, revision ${revision}, ${keyCount} keys, ${mib(sizeBytes)}${failing}`]];
}

function mib(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
