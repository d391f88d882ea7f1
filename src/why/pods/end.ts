/** Explains why a pod has failed: the component that ended it, or the container that failed. */
import { podContainers } from '../../api/pod-containers.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { appendAll } from '../../base/lists.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { disruptionCauses } from './disruption.ts';
import { terminationCause } from './termination.ts';

/** Cures by `status.reason`, as the kubelet and controllers write it. Upstream: kubelet/lifecycle, kubelet/eviction. */
const CURES: Readonly<Record<string, string>> = {
  Evicted: 'free what the node ran short of, or give the pod requests (and limits) as large as what it really uses',
  DeadlineExceeded: 'raise activeDeadlineSeconds, or make the work shorter',
  NodeAffinity:
    'the labels of its node do not match its node selector or affinity: change one of them, or leave out spec.nodeName',
  NodePorts: 'another pod of its node holds the host port: choose another port or node, or leave out hostPort',
  TaintToleration: 'tolerate the taint of its node, or leave out spec.nodeName',
  Terminated: 'the node was shut down; the owner of the pod creates another',
  NodeShutdown: 'the node was being shut down; the owner of the pod creates another',
  PodOSNotSupported: 'leave out spec.os, or run it on a node with that operating system',
  PodOSSelectorNodeLabelDoesNotMatch: 'let the node selector kubernetes.io/os say what its node is',
  PodFeatureUnsupported: 'leave out what the node does not support, or upgrade its kubelet',
  SysctlForbidden: "leave out the sysctl, or allow it by the kubelet's allowedUnsafeSysctls",
  HostNamespaceForbidden: 'leave out hostNetwork, hostPID and hostIPC, which its node does not allow',
  TopologyAffinityError: 'request what fits into one NUMA node, or use a less strict topology manager policy',
  SMTAlignmentError: 'request processors in whole cores, or leave out full-pcpus-only of the CPU manager',
  UnexpectedAdmissionError: 'read the log of the kubelet of its node',
};

export async function endCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const { reason = '', message = '' } = pod.status ?? {};
  const causes: Cause[] = [];
  if (reason !== '') causes.push(endedBy(pod, reason, message));
  if (reason !== 'Evicted') appendAll(causes, await disruptionCauses(pod, evidence));
  if (causes.length > 0) return causes;
  for (const status of [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])])
    if (status.state?.terminated !== undefined && status.state.terminated.exitCode !== 0)
      causes.push(
        await terminationCause(pod, { status, terminated: status.state.terminated, previous: false }, evidence),
      );
  return causes;
}

function endedBy(pod: Pod, code: string, message: string): Cause {
  return cause({
    code,
    object: nameOfObject(Pods, pod),
    message: `the pod was ended (${code})`,
    facts: message === '' ? [] : [message],
    cure: cureOf(pod, code),
  });
}

function cureOf(pod: Pod, reason: string): Cure | undefined {
  const resource = /^OutOf(.+)$/.exec(reason)?.[1];
  if (resource !== undefined)
    return {
      text: `request less ${resource}, or leave out spec.nodeName so that the scheduler finds a node with room`,
    };
  const text = CURES[reason];
  if (text === undefined) return undefined;
  const limits = reason === 'Evicted' ? diskLimits(pod) : [];
  return {
    text: limits.length === 0 ? text : `${text}; if the message names its own limit, raise ${limits.join(', ')}`,
  };
}

/** Limits at which the kubelet evicts the pod even when the node has space: `ephemeral-storage of container web (1Gi)`. */
function diskLimits({ spec }: Pod): readonly string[] {
  const ofContainers = podContainers(spec).flatMap(limitOf);
  const ofVolumes = (spec?.volumes ?? []).flatMap(({ name, emptyDir }) =>
    emptyDir?.sizeLimit === undefined ? [] : [`sizeLimit of volume ${name} (${emptyDir.sizeLimit})`],
  );
  return [...ofContainers, ...ofVolumes];
}

function limitOf({ name, resources }: Container): readonly string[] {
  const limit = resources?.limits?.['ephemeral-storage'];
  return limit === undefined ? [] : [`ephemeral-storage of container ${name} (${limit})`];
}
