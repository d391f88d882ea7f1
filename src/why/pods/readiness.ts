/** Explains why a pod with running containers is not ready: probes, completed containers, and readiness gates. */
import { podContainers } from '../../api/pod-containers.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Container, ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import type { ProbeAnswer } from '../../api/pod-node-state.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { nodeStateOf } from './node-state.ts';
import { latestEventCause } from './pod-events.ts';
import { probeText } from './probe-text.ts';
import { appendAll } from '../../base/lists.ts';

/** The limit of causes; further containers usually have the same ones. */
const MAX_CAUSES = 20;

export async function readinessCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const byName = new Map(statuses.map((status) => [status.name, status]));
  for (const container of podContainers(pod.spec)) {
    if (causes.length >= MAX_CAUSES) break;
    const status = byName.get(container.name);
    if (status?.state?.running !== undefined && !status.ready)
      appendAll(causes, await probeCauses(pod, container, status, evidence));
  }
  return [...causes, ...completedCauses(pod), ...gateCauses(pod)];
}

/** Containers that have completed and are not restarted, while others run. */
function completedCauses(pod: Pod): readonly Cause[] {
  const { containers = [], restartPolicy = 'Always' } = pod.spec ?? {};
  const policies = new Map(containers.map((one) => [one.name, one.restartPolicy ?? restartPolicy]));
  return (pod.status?.containerStatuses ?? []).flatMap(({ name, state }) => {
    const policy = policies.get(name) ?? 'Always';
    if (state?.terminated?.exitCode !== 0 || policy === 'Always') return [];
    return [
      cause({
        code: 'ContainerCompleted',
        object: nameOfObject(Pods, pod),
        message: `container ${name} has ended with exit code 0 and is not started again (restartPolicy ${policy}), while others run`,
        since: state.terminated.finishedAt ?? undefined,
        cure: {
          text: `make the containers that only help ${name} init containers with restartPolicy: Always, which end with it; else let ${name} run on`,
        },
      }),
    ];
  });
}

/** A running container that is not ready waits for its startup probe, then for its readiness probe. */
async function probeCauses(
  pod: Pod,
  container: Container,
  status: ContainerStatus,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const isStartup = container.startupProbe !== undefined && status.started !== true;
  const probe = isStartup ? container.startupProbe : container.readinessProbe;
  if (probe === undefined) return [];
  const kind = isStartup ? 'start-up' : 'readiness';
  const [failure] = await latestEventCause(pod, evidence, {
    reasons: ['Unhealthy'],
    code: isStartup ? 'StartupProbe' : 'ReadinessProbe',
    message: `the ${kind} probe of container ${container.name} fails: ${probeText(probe)}`,
    cure: { text: 'see whether the program listens where the probe asks, and what it answers' },
    field: `{${container.name}}`,
  });
  const { lastTransitionTime } = podCondition(pod, 'ContainersReady') ?? {};
  const failed = failure ?? waitingForProbe(pod, container, kind);
  const found = { ...failed, since: lastTransitionTime ?? failed.since };
  const type = isStartup ? 'startup' : 'readiness';
  const answers = (await nodeStateOf(pod, evidence))?.probes ?? [];
  const answer = answers.find((one) => one.container === container.name && one.type === type);
  return [answer === undefined ? found : { ...found, facts: [...(found.facts ?? []), answerText(answer)] }];
}

/** A probe result: `2026-…: failure, 2 in a row of 3: HTTP probe failed with statuscode: 500`. */
function answerText({ at, result, inRow, threshold, output }: ProbeAnswer): string {
  return `last answer at ${at}: ${result}, ${inRow} in a row of ${threshold}${output === '' ? '' : `: ${output.trimEnd()}`}`;
}

function waitingForProbe(pod: Pod, { name }: Container, kind: string): Cause {
  return cause({
    code: 'ProbeNotYetPassed',
    object: nameOfObject(Pods, pod),
    message: `the ${kind} probe of container ${name} has not succeeded yet`,
  });
}

function gateCauses(pod: Pod): readonly Cause[] {
  return (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = podCondition(pod, conditionType);
    if (condition?.status === 'True') return [];
    const text = [condition?.reason, condition?.message].filter((part) => part !== undefined && part !== '');
    return [
      cause({
        code: 'ReadinessGate',
        object: nameOfObject(Pods, pod),
        message: `readiness gate ${conditionType} is ${condition === undefined ? 'not set' : condition.status}`,
        since: condition?.lastTransitionTime ?? undefined,
        facts: text.length === 0 ? [] : [text.join(': ')],
        cure: { text: `see why the controller that sets the condition ${conditionType} does not` },
      }),
    ];
  });
}
