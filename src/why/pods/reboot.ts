/** Explains containers that ended because their machine was restarted. */
import { fieldSelectorOf } from '../../api/field-selector.ts';
import { Events, Nodes } from '../../api/gen/resources.ts';
import type { ContainerStateTerminated, Pod } from '../../api/gen/core-v1.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import { timeOfEvent, type Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOf } from '../object-name.ts';

/** The exit code that runtimes report for a container that was lost with its machine. */
const LOST_EXIT_CODE = 255;
/** A container that ended longer before the node's restart, or after it, may have another cause. */
const NEAR_MS = 10 * 60_000;

export async function rebootCauses(
  pod: Pod,
  { exitCode, reason, startedAt, finishedAt }: ContainerStateTerminated,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const name = pod.spec?.nodeName ?? '';
  if (name === '' || (exitCode !== LOST_EXIT_CODE && reason !== 'ContainerStatusUnknown')) return [];
  // As upstream, events about nodes have the node's name as uid.
  const fields = { 'involvedObject.kind': 'Node', 'involvedObject.name': name, reason: 'Rebooted' };
  const fieldSelector = fieldSelectorOf(fields);
  const endMs = parseTime(finishedAt) || undefined;
  const startMs = parseTime(startedAt) || parseTime(pod.status?.startTime) || 0;
  const reboots = (await evidence.list(Events, { namespace: 'default', fieldSelector }))
    .map(timeOfEvent)
    .filter((atMs) => atMs > startMs && (endMs === undefined || Math.abs(atMs - endMs) < NEAR_MS))
    .toSorted((a, b) => b - a);
  const [last] = reboots;
  if (last === undefined) return [];
  const at = formatTime(last);
  return [
    cause({
      code: 'NodeRebooted',
      object: nameOf(Nodes, { name }),
      message: `its node ${name} was rebooted: the kubelet saw it at ${at}`,
      since: at,
      cure: { text: 'see why the machine was started anew', command: `kubectl describe node ${name}` },
    }),
  ];
}
