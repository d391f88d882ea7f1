/** `keelson status`: one screen about a running cluster, or JSON. */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { errorMessage } from '../base/errors.ts';
import type { ClusterStatus, SnapshotLogStatus } from '../cluster/cluster-status.ts';
import { requestControl } from '../cluster/instance/control-client.ts';
import { supervisorOf } from '../cluster/instance/supervisor-record.ts';
import { firstCauses, objectText } from '../why/explanation.ts';
import type { Trouble, Troubles } from '../why/trouble.ts';
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
      const trouble = await troublesOf(status);
      const whole: WholeStatus = { ...status, trouble };
      process.stdout.write(raw.output === 'json' ? `${JSON.stringify(whole, undefined, 2)}\n` : statusScreen(whole));
    });
}

/** The status with the objects of the cluster. */
export interface WholeStatus extends ClusterStatus {
  /** Absent while the API does not answer, and on machines that have no control plane. */
  readonly trouble?: Troubles | undefined;
}

const NO_TROUBLE: Troubles = { apiVersion: 'keelson/v1', kind: 'Troubles', found: [], notShown: 0, notReadable: [] };

/** Longer than any healthy server takes; a sick one must not keep its status from being seen. */
const TROUBLE_TIMEOUT_MS = 10_000;

async function troublesOf(status: ClusterStatus): Promise<Troubles | undefined> {
  if (status.kubeconfig === undefined || status.phase !== 'running') return undefined;
  const { openKubeClient } = await import('./kube-client.ts');
  const { requestTroubles } = await import('../why/request-explanation.ts');
  const { client, nowMs, close } = await openKubeClient(
    { dataDir: '', kubeconfig: status.kubeconfig },
    'keelson-status',
  );
  try {
    return await requestTroubles({ client, nowMs: nowMs(), signal: AbortSignal.timeout(TROUBLE_TIMEOUT_MS) });
  } catch (error) {
    return { ...NO_TROUBLE, notReadable: [`the objects of the cluster: ${errorMessage(error)}`] };
  } finally {
    close();
  }
}

/** A name and its text. */
type Line = readonly [string, string];

/** Formats the status screen. Pure. */
export function statusScreen(status: WholeStatus): string {
  if (status.phase === 'starting') return `keelson is starting (pid ${status.pid})\n`;
  const lines: Line[] = [
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
    ...machineNodesLine(status),
    ...podsLine(status),
    ['ranges', `pods ${status.clusterCidr}, services ${status.serviceCidr}, domain ${status.clusterDomain}`],
    ['containerd', status.containerdSocket],
    ...storeLine(status),
    ...snapshotsLine(status),
    ...diskLine(status),
    ...errorLines(status),
    ...troubleLines(status),
  ];
  return lines.map(([name, value]) => `${name.padEnd(11)} ${value}\n`).join('');
}

function restartsLine({ restarts }: ClusterStatus): Line[] {
  if (restarts === undefined) return [];
  const { count, lastTime, lastEnd, report } = restarts;
  return [['restarts', `${count}, the last ${lastTime} after ${lastEnd} (${report})`]];
}

function machineNodesLine({ machineNodes }: ClusterStatus): Line[] {
  if (machineNodes === undefined || machineNodes.length === 0) return [];
  const shown = machineNodes.map(({ name, state, address }) => `${name} ${state} (${address})`).join(', ');
  const problems = machineNodes.flatMap(({ name, problem }): Line[] =>
    problem === undefined ? [] : [['trouble', `the node ${name} cannot be started: ${problem}`]],
  );
  return [['on machine', shown], ...problems];
}

function podsLine({ podsByPhase }: ClusterStatus): Line[] {
  if (podsByPhase === undefined) return [];
  const phases = Object.entries(podsByPhase).map(([phase, count]) => `${count} ${phase}`);
  return [['pods', phases.join(', ') || 'none']];
}

function storeLine({ store }: ClusterStatus): Line[] {
  if (store === undefined) return [];
  const { kind, revision, keyCount, sizeBytes, problem } = store;
  const failing = problem === undefined ? '' : `; the last write failed: ${problem}`;
  return [['store', `${kind}, revision ${revision}, ${keyCount} keys, ${mib(sizeBytes)}${failing}`]];
}

function snapshotsLine({ snapshots }: ClusterStatus): Line[] {
  if (snapshots === undefined) return [];
  const { schedule, nextTime, last, failure } = snapshots;
  const parts = [
    last === undefined ? 'none yet' : `the last ${last.time} (${last.name}, ${mib(last.sizeBytes)})`,
    ...(failure === undefined ? [] : [`the last attempt failed at ${failure.time}: ${failure.message}`]),
    `the next ${nextTime ?? 'not known yet'} (${schedule})`,
    ...logParts(snapshots.log),
  ];
  return [['snapshots', parts.join('; ')]];
}

function logParts(log: SnapshotLogStatus | undefined): string[] {
  if (log === undefined) return [];
  const { range, failure } = log;
  return [
    range === undefined ? 'no log of changes yet' : `any moment from ${range.fromTime} to ${range.toTime}`,
    ...(failure === undefined ? [] : [`the log of changes failed at ${failure.time}: ${failure.message}`]),
  ];
}

function diskLine({ disk }: ClusterStatus): Line[] {
  if (disk === undefined) return [];
  const share = Math.round((disk.availableBytes / disk.totalBytes) * 100);
  return [['disk', `${gib(disk.availableBytes)} of ${gib(disk.totalBytes)} free (${share} %)`]];
}

function errorLines({ errors = [] }: ClusterStatus): Line[] {
  return errors.map(({ component, count, lastTime, message }) => {
    const times = count === 1 ? `once, at ${lastTime}` : `${count} times, the last at ${lastTime}`;
    return ['error', `${component || 'keelson'}, ${times}: ${message.trim().replaceAll(/\s*\n\s*/g, ' ')}`];
  });
}

function troubleLines({ trouble }: WholeStatus): Line[] {
  if (trouble === undefined) return [];
  const { found, notShown, notReadable } = trouble;
  const lines = found.map((each): Line => ['trouble', troubleText(each)]);
  if (notShown > 0) lines.push(['', `and ${notShown} more objects: keelson why pods -A, and so on by kind`]);
  for (const what of notReadable) lines.push(['not read', what]);
  return lines.length === 0 ? [['trouble', 'none']] : lines;
}

function troubleText({ object, more, summary, causes }: Trouble): string {
  const others = more === 0 ? '' : ` (and ${more} more of its owner)`;
  const [first] = firstCauses(causes);
  const cause = first === undefined ? 'not known why' : `${first.message} [${first.code}, ${objectText(first.object)}]`;
  return `${objectText(object)}${others} ${summary}: ${cause}`;
}

function gib(bytes: number): string {
  return `${(bytes / 1_073_741_824).toFixed(1)} GiB`;
}

function mib(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
