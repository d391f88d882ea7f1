/** Which container of a pod: from the address, else what most people want. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';

export interface ContainerChoice {
  /** Those that run, and the chosen one. */
  readonly containers: readonly string[];
  readonly container: string;
  /** What the pod says of the chosen container; undefined: it has none. */
  readonly spec: Pick<Container, 'name' | 'tty' | 'stdin'> | undefined;
}

/** Kubectl's annotation for the container that is meant when none is named. */
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
  // One that has ended stays in the choice while it is chosen.
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
