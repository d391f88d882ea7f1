/**
 * Reason and message of a pod's conditions that are True. The API server writes PodScheduled when it binds a pod; the
 * kubelet writes that and the others. Texts depend on the specification alone, so a condition changes only with its status.
 *
 * Differs: upstream leaves reason and message of these out.
 */
import type { Pod, PodCondition } from '../api/gen/core-v1.ts';

type Text = Required<Pick<PodCondition, 'reason' | 'message'>>;

const SCHEDULED: Text = { reason: 'Scheduled', message: 'bound to a node' };
const SANDBOX: Text = { reason: 'PodSandboxReady', message: 'sandbox and network are up' };
const NO_INIT_CONTAINERS: Text = { reason: 'ContainersInitialized', message: 'no init containers' };
const INITIALIZED: Text = { reason: 'ContainersInitialized', message: 'init containers are done' };
const CONTAINERS: Text = { reason: 'ContainersReady', message: 'all containers are ready' };
const GATES: Text = { reason: 'ReadinessGatesReady', message: 'all containers and readiness gates are ready' };

/** Types of conditions that a kubelet sets to True on every pod that runs. */
export type PodConditionType =
  | 'PodScheduled'
  | 'PodReadyToStartContainers'
  | 'Initialized'
  | 'ContainersReady'
  | 'Ready';

const TEXTS: Readonly<Record<PodConditionType, (spec: Pod['spec']) => Text>> = {
  PodScheduled: () => SCHEDULED,
  PodReadyToStartContainers: () => SANDBOX,
  Initialized: (spec) => ((spec?.initContainers ?? []).length === 0 ? NO_INIT_CONTAINERS : INITIALIZED),
  ContainersReady: () => CONTAINERS,
  Ready: (spec) => ((spec?.readinessGates ?? []).length === 0 ? CONTAINERS : GATES),
};

export function isPodConditionType(type: string): type is PodConditionType {
  return Object.hasOwn(TEXTS, type);
}

export function trueConditionText({ spec }: Pick<Pod, 'spec'>, type: PodConditionType): Text {
  return TEXTS[type](spec);
}
