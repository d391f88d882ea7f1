/** The selected container of a pod: that of the address, else the default one. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';

export interface ContainerChoice {
  /** The running containers, and the selected one. */
  readonly containers: readonly string[];
  readonly container: string;
  /** The selected container in the pod's spec; undefined when it is not there. */
  readonly spec: Pick<Container, 'name' | 'tty' | 'stdin'> | undefined;
}

/** Kubectl's annotation for the default container of a pod. */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

export function choiceOf({ metadata, spec, status }: Pod, params: URLSearchParams): ContainerChoice {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  const all: readonly Pick<Container, 'name' | 'tty' | 'stdin'>[] = [
    ...containers,
    ...initContainers,
    ...ephemeralContainers,
  ];
  const running = new Set(
    [
      ...(status?.containerStatuses ?? []),
      ...(status?.initContainerStatuses ?? []),
      ...(status?.ephemeralContainerStatuses ?? []),
    ].flatMap(({ name, state }) => (state?.running === undefined ? [] : [name])),
  );
  // A container that has ended stays in the list while it is selected.
  const asked = params.get('container') ?? '';
  const offered = all.filter(({ name }) => running.has(name) || name === asked).map(({ name }) => name);
  const preferred = [asked, metadata.annotations?.[DEFAULT_CONTAINER] ?? '', offered[0] ?? '', all[0]?.name ?? ''];
  const container = preferred.find((name) => all.some((one) => one.name === name)) ?? '';
  const chosen = all.find(({ name }) => name === container);
  return {
    containers: offered.includes(container) ? offered : [container, ...offered],
    container,
    spec: chosen,
  };
}
