/** Expectations of scenarios about pods. */
import type { Pod } from '../api/gen/core-v1.ts';
import { Pods } from '../api/gen/resources.ts';
import { parseLabelSelector } from '../api/label-selector-parser.ts';
import { isPodReady } from '../component-helpers/pods.ts';
import type { Cluster } from './cluster.ts';

/** The pods that a selector matches, and how many of them meet the conditions. */
export interface PodsExpectation {
  readonly selector: string;
  readonly count?: number;
  readonly ready?: number;
  readonly phase?: string;
  readonly node?: string;
  readonly notOn?: string;
  readonly restarts?: number;
  readonly maxRestarts?: number;
}

export function checkPods(cluster: Cluster, expected: PodsExpectation): void {
  const matcher = parseLabelSelector(expected.selector);
  const pods = cluster.peek(Pods).filter(({ metadata }) => matcher.matches(metadata.labels));
  const podTexts = (): string => pods.map(podText).join('; ') || 'none';
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`pods ${expected.selector}: ${what} expected, there are: ${podTexts()}`);
  };
  const { count, ready, phase, node, notOn, restarts, maxRestarts } = expected;
  // Without any pods, a condition on all pods would be met and test nothing.
  if (count === undefined && (phase ?? node ?? notOn ?? restarts ?? maxRestarts) !== undefined)
    demand(pods.length > 0, 'any');
  if (count !== undefined) demand(pods.length === count, `${count}`);
  if (ready !== undefined) demand(pods.filter(isPodReady).length === ready, `${ready} ready`);
  if (phase !== undefined)
    demand(
      pods.every(({ status }) => status?.phase === phase),
      `phase ${phase}`,
    );
  if (node !== undefined)
    demand(
      pods.every(({ spec }) => spec?.nodeName === node),
      `all on ${node}`,
    );
  if (notOn !== undefined)
    demand(
      pods.every(({ spec }) => spec?.nodeName !== notOn),
      `none on ${notOn}`,
    );
  if (maxRestarts !== undefined)
    demand(
      pods.every((pod) => restartsOf(pod) <= maxRestarts),
      `at most ${maxRestarts} restarts`,
    );
  if (restarts !== undefined)
    demand(
      pods.every((pod) => restartsOf(pod) === restarts),
      `${restarts} restarts`,
    );
}

function restartsOf(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

function podText(pod: Pod): string {
  const waiting =
    pod.status?.containerStatuses
      ?.map(({ state }) => state?.waiting?.reason)
      .filter((reason) => reason !== undefined) ?? [];
  return `${pod.metadata.name} ${pod.status?.phase}${pod.metadata.deletionTimestamp === undefined ? '' : ' terminating'} on ${pod.spec?.nodeName} restarts=${restartsOf(pod)}${waiting.length > 0 ? ` ${waiting.join()}` : ''}`;
}
