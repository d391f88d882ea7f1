/**
 * Labels and annotations that link sandboxes and containers to pods. The kubelet reads them after a restart: they
 * have everything needed to kill a container whose pod is gone from the API. Upstream: kuberuntime/labels.go,
 * kubelettypes.
 */
import { stringifyJson } from '../../api/codec/json.ts';
import type { Container, Lifecycle, Pod } from '../../api/gen/core-v1.ts';
import { resourcesInPod, resourcesToKeep, type ContainerResources } from '../allocation/resources.ts';
import { containerHash } from './container-hash.ts';

const POD_NAME_LABEL = 'io.kubernetes.pod.name';
const POD_NAMESPACE_LABEL = 'io.kubernetes.pod.namespace';
export const POD_UID_LABEL = 'io.kubernetes.pod.uid';
export const CONTAINER_NAME_LABEL = 'io.kubernetes.container.name';

const HASH_ANNOTATION = 'io.kubernetes.container.hash';
const RESTART_COUNT_ANNOTATION = 'io.kubernetes.container.restartCount';
const MESSAGE_PATH_ANNOTATION = 'io.kubernetes.container.terminationMessagePath';
const MESSAGE_POLICY_ANNOTATION = 'io.kubernetes.container.terminationMessagePolicy';
const PRE_STOP_ANNOTATION = 'io.kubernetes.container.preStopHandler';
const PORTS_ANNOTATION = 'io.kubernetes.container.ports';
/** Keelson's own: upstream stores the resources of containers in a file. */
const RESOURCES_ANNOTATION = 'keelson.dev/container.resources';
const POD_GRACE_ANNOTATION = 'io.kubernetes.pod.terminationGracePeriod';
const POD_DELETION_GRACE_ANNOTATION = 'io.kubernetes.pod.deletionGracePeriod';

type Texts = Readonly<Record<string, string>>;

/** A container's labels and annotations, decoded, with upstream's zero values for missing ones. */
export interface ContainerFacts {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  readonly containerName: string;
  readonly hash: string;
  readonly restartCount: number;
  /** CPU and memory at its creation; absent for containers of another kubelet. */
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
  return { ...podIdentity(pod), [CONTAINER_NAME_LABEL]: container.name };
}

function podIdentity(pod: Pod): Record<string, string> {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  return { [POD_NAME_LABEL]: name, [POD_NAMESPACE_LABEL]: namespace, [POD_UID_LABEL]: uid };
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
    [HASH_ANNOTATION]: containerHash(container),
    [RESTART_COUNT_ANNOTATION]: String(input.restartCount),
    [RESOURCES_ANNOTATION]: stringifyJson(resourcesToKeep(resourcesInPod(pod, container))),
    [MESSAGE_PATH_ANNOTATION]: container.terminationMessagePath ?? '',
    [MESSAGE_POLICY_ANNOTATION]: container.terminationMessagePolicy ?? 'File',
  };
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (deletionGracePeriodSeconds !== undefined)
    annotations[POD_DELETION_GRACE_ANNOTATION] = String(deletionGracePeriodSeconds);
  const grace = pod.spec?.terminationGracePeriodSeconds;
  if (grace !== undefined) annotations[POD_GRACE_ANNOTATION] = String(grace);
  if (container.lifecycle?.preStop !== undefined)
    annotations[PRE_STOP_ANNOTATION] = stringifyJson(container.lifecycle.preStop);
  if (container.ports !== undefined && container.ports.length > 0)
    annotations[PORTS_ANNOTATION] = stringifyJson(container.ports);
  return annotations;
}

/** Decodes both. Invalid values, which only another program can have written, count as absent. */
export function containerFacts(labels: Texts, annotations: Texts): ContainerFacts {
  const integer = (key: string): number | undefined => {
    const text = annotations[key];
    return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
  };
  return {
    podName: labels[POD_NAME_LABEL] ?? '',
    podNamespace: labels[POD_NAMESPACE_LABEL] ?? '',
    podUid: labels[POD_UID_LABEL] ?? '',
    containerName: labels[CONTAINER_NAME_LABEL] ?? '',
    hash: annotations[HASH_ANNOTATION] ?? '',
    restartCount: integer(RESTART_COUNT_ANNOTATION) ?? 0,
    terminationMessagePath: annotations[MESSAGE_PATH_ANNOTATION] ?? '',
    terminationMessagePolicy: annotations[MESSAGE_POLICY_ANNOTATION] ?? '',
    preStop: parsed<Lifecycle['preStop']>(annotations[PRE_STOP_ANNOTATION]),
    madeWith: parsed<ContainerResources>(annotations[RESOURCES_ANNOTATION]),
    podTerminationGracePeriodSeconds: integer(POD_GRACE_ANNOTATION),
    podDeletionGracePeriodSeconds: integer(POD_DELETION_GRACE_ANNOTATION),
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
