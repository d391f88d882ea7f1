/** Which container, and what in it: from the address, else what most people want. */
import type { Container, Pod } from '../../../api/gen/core-v1.ts';

export interface ShellChoice {
  readonly containers: readonly string[];
  readonly container: string;
  readonly mode: 'exec' | 'attach';
  readonly mayAttach: boolean;
  /** As it was typed; '' is a shell. */
  readonly command: string;
  /** Attach: whether the container's process has a terminal, and reads. */
  readonly tty: boolean;
  readonly stdin: boolean;
}

/** Kubectl's annotation for the container that is meant when none is named. */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

export function choiceOf({ metadata, spec, status }: Pod, params: URLSearchParams, mayAttach: boolean): ShellChoice {
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
    mode: mayAttach && params.get('mode') === 'attach' ? 'attach' : 'exec',
    mayAttach,
    command: params.get('command') ?? '',
    tty: chosen?.tty === true,
    stdin: chosen?.stdin === true,
  };
}

/** Words of a command line; quotes keep spaces. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}
