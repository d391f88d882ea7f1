/**
 * Labels and annotations that tie sandboxes and containers to pods. They are the kubelet's memory across restarts: what is
 * needed to kill a container after its pod is gone from the API is here. Upstream: kuberuntime/labels.go, kubelettypes.
 */
import { stringifyJson } from '../../api/codec/json.ts';
import type { Container, Lifecycle, Pod } from '../../api/gen/core-v1.ts';
import { resourcesInPod, resourcesToKeep, type ContainerResources } from '../allocation/resources.ts';
import { containerHash } from './container-hash.ts';

export const podNameLabel = 'io.kubernetes.pod.name';
export const podNamespaceLabel = 'io.kubernetes.pod.namespace';
export const podUidLabel = 'io.kubernetes.pod.uid';
export const containerNameLabel = 'io.kubernetes.container.name';

const hashAnnotation = 'io.kubernetes.container.hash';
const restartCountAnnotation = 'io.kubernetes.container.restartCount';
const messagePathAnnotation = 'io.kubernetes.container.terminationMessagePath';
const messagePolicyAnnotation = 'io.kubernetes.container.terminationMessagePolicy';
const preStopAnnotation = 'io.kubernetes.container.preStopHandler';
const portsAnnotation = 'io.kubernetes.container.ports';
/** Not upstream's: upstream keeps the resources of containers in a file of its own. */
const resourcesAnnotation = 'keelson.dev/container.resources';
const podGraceAnnotation = 'io.kubernetes.pod.terminationGracePeriod';
const podDeletionGraceAnnotation = 'io.kubernetes.pod.deletionGracePeriod';

type Texts = Readonly<Record<string, string>>;

/** A container's labels and annotations, decoded, with upstream's zero values for missing ones. */
export interface ContainerFacts {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  readonly containerName: string;
  readonly hash: string;
  readonly restartCount: number;
  /** CPU and memory it was made with; absent for containers of another kubelet. */
  readonly madeWith?: ContainerResources;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly preStop?: Lifecycle['preStop'];
  readonly podTerminationGracePeriodSeconds?: number;
  readonly podDeletionGracePeriodSeconds?: number;
}

/** Labels of a sandbox: the pod's own and the three that name it. */
export function podLabels(pod: Pod): Texts {
  return { ...pod.metadata.labels, ...podIdentity(pod) };
}

export function containerLabels(container: Container, pod: Pod): Texts {
  return { ...podIdentity(pod), [containerNameLabel]: container.name };
}

function podIdentity(pod: Pod): Record<string, string> {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  return { [podNameLabel]: name, [podNamespaceLabel]: namespace, [podUidLabel]: uid };
}

export function containerAnnotations(input: {
  container: Container;
  pod: Pod;
  restartCount: number;
  deviceAnnotations?: Texts;
}): Texts {
  const { container, pod } = input;
  const annotations: Record<string, string> = {
    ...input.deviceAnnotations,
    [hashAnnotation]: containerHash(container),
    [restartCountAnnotation]: String(input.restartCount),
    [resourcesAnnotation]: stringifyJson(resourcesToKeep(resourcesInPod(pod, container))),
    [messagePathAnnotation]: container.terminationMessagePath ?? '',
    [messagePolicyAnnotation]: container.terminationMessagePolicy ?? 'File',
  };
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (deletionGracePeriodSeconds !== undefined)
    annotations[podDeletionGraceAnnotation] = String(deletionGracePeriodSeconds);
  const grace = pod.spec?.terminationGracePeriodSeconds;
  if (grace !== undefined) annotations[podGraceAnnotation] = String(grace);
  if (container.lifecycle?.preStop !== undefined)
    annotations[preStopAnnotation] = stringifyJson(container.lifecycle.preStop);
  if (container.ports !== undefined && container.ports.length > 0)
    annotations[portsAnnotation] = stringifyJson(container.ports);
  return annotations;
}

/** Reads both back. Damaged values read as absent: they can only come from another program. */
export function containerFacts(labels: Texts, annotations: Texts): ContainerFacts {
  const integer = (key: string): number | undefined => {
    const text = annotations[key];
    return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
  };
  return {
    podName: labels[podNameLabel] ?? '',
    podNamespace: labels[podNamespaceLabel] ?? '',
    podUid: labels[podUidLabel] ?? '',
    containerName: labels[containerNameLabel] ?? '',
    hash: annotations[hashAnnotation] ?? '',
    restartCount: integer(restartCountAnnotation) ?? 0,
    terminationMessagePath: annotations[messagePathAnnotation] ?? '',
    terminationMessagePolicy: annotations[messagePolicyAnnotation] ?? '',
    preStop: parsed<Lifecycle['preStop']>(annotations[preStopAnnotation]),
    madeWith: parsed<ContainerResources>(annotations[resourcesAnnotation]),
    podTerminationGracePeriodSeconds: integer(podGraceAnnotation),
    podDeletionGracePeriodSeconds: integer(podDeletionGraceAnnotation),
  };
}

function parsed<T>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
