/**
 * Pods in the view of network policies: addresses, labels and ports, and their membership in sets. Pure. Pods on the
 * host's network have no address of their own, and ended ones none any more.
 */
import { sidecarsOf } from '../../api/pod-containers.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { Stored } from '../../api/object.ts';
import { parseIp } from '../../base/cidr.ts';
import { MAX_NAMED_PORTS } from './policy-budget.ts';
import { portId, type PodSelection, type PodSet } from './policy-rules.ts';

type Labels = Readonly<Record<string, string>>;

/** The fields of pods that policies read. */
export const policyPodProjection = {
  name: 'network-policy',
  apply: ({ metadata, spec, status }: Stored<Pod>): Stored<Pod> => {
    const { namespace, name, uid, resourceVersion, labels } = metadata;
    const containers = (spec?.containers ?? []).map(({ name: container, ports }) => ({
      name: container,
      ...(ports === undefined ? {} : { ports }),
    }));
    const sidecars = (spec?.initContainers ?? [])
      .filter(({ restartPolicy, ports }) => restartPolicy === 'Always' && ports !== undefined)
      .map(({ name: container, ports, restartPolicy }) => ({
        name: container,
        ports: ports ?? [],
        restartPolicy: restartPolicy ?? '',
      }));
    const { phase, podIPs, podIP } = status ?? {};
    return {
      metadata: {
        namespace,
        name,
        uid,
        resourceVersion,
        ...(labels && { labels }),
      },
      spec: {
        containers: containers,
        ...(sidecars.length === 0 ? {} : { initContainers: sidecars }),
        ...(spec?.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
        ...(spec?.hostNetwork === true ? { hostNetwork: true } : {}),
      },
      status: { ...(phase && { phase }), ...(podIPs && { podIPs }), ...(podIP && { podIP }) },
    };
  },
};

export interface PodView {
  readonly namespace: string;
  readonly labels: Labels;
  readonly address: string;
  readonly here: boolean;
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
}

/** Undefined for a pod without an address of its own in this family. */
export function podView(pod: Pod, { family, nodeName }: { family: 4 | 6; nodeName: string }): PodView | undefined {
  const { podIPs, podIP, phase } = pod.status ?? {};
  if (pod.spec?.hostNetwork === true || isPodPhaseTerminal(phase)) return undefined;
  const addresses = podIPs?.map(({ ip = '' }) => ip) ?? [podIP ?? ''];
  const address = addresses.find((text) => parseIp(text)?.family === family);
  if (address === undefined) return undefined;
  const sidecars = sidecarsOf(pod.spec);
  const ports = [...(pod.spec?.containers ?? []), ...sidecars].flatMap(({ ports: list }) =>
    (list ?? []).flatMap(({ name, protocol = 'TCP', containerPort }) =>
      name === undefined ? [] : [{ name, protocol: protocol.toLowerCase(), port: containerPort }],
    ),
  );
  return {
    namespace: pod.metadata.namespace ?? '',
    labels: pod.metadata.labels ?? {},
    address,
    here: pod.spec?.nodeName === nodeName,
    // A policy may refer to these by name; further ports can be reached by number only.
    ports: ports.slice(0, MAX_NAMED_PORTS),
  };
}

/** Whether the selection includes the pod. `labelsOf`: a namespace's labels; undefined when it does not exist. */
export function selects(
  { namespace, namespaceSelector, podSelector }: PodSelection,
  pod: PodView,
  labelsOf: (namespace: string) => Labels | undefined,
): boolean {
  if (namespace !== undefined && namespace !== pod.namespace) return false;
  if (namespace === undefined) {
    const labels = labelsOf(pod.namespace);
    if (labels === undefined || !compileLabelSelector(namespaceSelector).matches(labels)) return false;
  }
  return compileLabelSelector(podSelector).matches(pod.labels);
}

/** The elements a pod puts into a set; none when it is not in it. */
export function elementsOf(
  set: PodSet,
  pod: PodView,
  labelsOf: (namespace: string) => Labels | undefined,
): readonly string[] {
  if (!set.selections.some((selection) => selects(selection, pod, labelsOf))) return [];
  const { portIds } = set;
  if (portIds === undefined) return [pod.address];
  return pod.ports
    .filter((port) => portIds.has(portId(port)))
    .map(({ protocol, port }) => `${pod.address} . ${protocol} . ${port}`);
}
