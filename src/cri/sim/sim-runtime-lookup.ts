/** Finds sandboxes and containers of the simulated runtime, with containerd's errors for those that are not there. */
import { CriError } from '../cri-error.ts';
import type { SimContainer } from './sim-container.ts';
import type { SimSandbox } from './sim-sandbox.ts';
import type { SimState } from './sim-state.ts';

type Labels = Readonly<Record<string, string>>;

export function unimplemented(method: string): never {
  throw new CriError('Unimplemented', `method ${method} not implemented`);
}

/** Objects with the labels. Labels are compared before statuses are built: most questions are about one pod of many. */
export function withLabels<T>(
  all: Iterable<T>,
  labelsOf: (item: T) => Labels | undefined,
  selector: Labels | undefined,
): T[] {
  const wanted = Object.entries(selector ?? {});
  const found: T[] = [];
  each: for (const item of all) {
    const labels = labelsOf(item);
    for (const [key, value] of wanted) if (labels?.[key] !== value) continue each;
    found.push(item);
  }
  return found;
}

export const labelsOfSandbox = ({ config }: SimSandbox): Labels | undefined => config.labels;

export const labelsOfContainer = ({ init }: SimContainer): Labels | undefined => init.config.labels;

export function isNameTaken(state: SimState, uid: string | undefined, attempt: number): boolean {
  for (const { config } of state.sandboxes.values())
    if (config.metadata?.uid === uid && (config.metadata?.attempt ?? 0) === attempt) return true;
  return false;
}

export function sandboxOf(state: SimState, id: string | undefined): SimSandbox {
  const sandbox = state.sandboxes.get(id ?? '');
  if (sandbox === undefined) throw new CriError('NotFound', `an error occurred when try to find sandbox: not found`);
  return sandbox;
}

export function containerOf(state: SimState, id: string | undefined): SimContainer {
  const container = state.containers.get(id ?? '');
  if (container === undefined)
    throw new CriError('NotFound', `an error occurred when try to find container "${id}": not found`);
  return container;
}

interface RequestedUser {
  readonly runAsUser?: { readonly value?: number } | undefined;
  readonly runAsUsername?: string | undefined;
  readonly runAsGroup?: { readonly value?: number } | undefined;
}

/** containerd takes a group only beside a user. */
export function refuseGroupAlone({ runAsUser, runAsUsername = '', runAsGroup }: RequestedUser = {}): void {
  if (runAsGroup === undefined || runAsUser !== undefined || runAsUsername !== '') return;
  const why = `user group "${runAsGroup.value ?? 0}" is specified without user`;
  throw new CriError('Unknown', `failed to generate user string: ${why}`);
}

export function runningContainer(state: SimState, containerId: string | undefined): SimContainer {
  const container = containerOf(state, containerId);
  if (container.state !== 'CONTAINER_RUNNING')
    throw new CriError('Unknown', `container is in ${container.state} state`);
  return container;
}
