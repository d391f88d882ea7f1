/** The conditions of the node's status. Upstream: nodestatus/setters.go (ReadyCondition, MemoryPressureCondition and others). */
import type { NodeCondition, NodeStatus } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { aggregateText } from '../../base/errors.ts';
import type { NodeFacts } from './node-facts.ts';

/** Sets one part. */
export type NodeStatusSetter = (status: NodeStatus, facts: NodeFacts) => NodeStatus;

function withCondition(
  status: NodeStatus,
  newCondition: Omit<NodeCondition, 'lastHeartbeatTime' | 'lastTransitionTime'>,
  nowMs: number,
): NodeStatus {
  const now = formatTime(nowMs);
  const before = status.conditions?.find(({ type }) => type === newCondition.type);
  const transitionTime = before?.status === newCondition.status ? before.lastTransitionTime : undefined;
  const condition: NodeCondition = {
    ...newCondition,
    lastHeartbeatTime: now,
    lastTransitionTime: transitionTime ?? now,
  };
  const conditions = status.conditions ?? [];
  return {
    ...status,
    conditions:
      before === undefined
        ? [...conditions, condition]
        : conditions.map((nodeCondition) => (nodeCondition === before ? condition : nodeCondition)),
  };
}

function pressureSetter(input: {
  type: string;
  has: (facts: NodeFacts) => boolean;
  good: readonly [string, string];
  bad: readonly [string, string];
}): NodeStatusSetter {
  return (status, facts) => {
    const pressed = input.has(facts);
    const [reason, message] = pressed ? input.bad : input.good;
    return withCondition(
      status,
      { type: input.type, status: pressed ? 'True' : 'False', reason, message },
      facts.nowMs,
    );
  };
}

export const setMemoryPressure = pressureSetter({
  type: 'MemoryPressure',
  has: ({ pressure }) => pressure.memory,
  good: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  bad: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
});

export const setDiskPressure = pressureSetter({
  type: 'DiskPressure',
  has: ({ pressure }) => pressure.disk,
  good: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  bad: ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
});

export const setPidPressure = pressureSetter({
  type: 'PIDPressure',
  has: ({ pressure }) => pressure.pid,
  good: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  bad: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
});

/** Ready: the runtime and the network are up and the capacity is known. */
export const setReady: NodeStatusSetter = (status, facts) => {
  const problems = [...facts.runtimeErrors, ...facts.networkErrors];
  const missing = ['cpu', 'memory', 'pods', 'ephemeral-storage'].filter(
    (name) => status.capacity?.[name] === undefined,
  );
  if (missing.length > 0) problems.push(`missing node capacity for resources: ${missing.join(', ')}`);
  const condition =
    problems.length === 0
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : {
          type: 'Ready',
          status: 'False',
          reason: 'KubeletNotReady',
          message: aggregateText(problems),
        };
  return withCondition(status, condition, facts.nowMs);
};
