/** What is opened in which container: from the address. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { choiceOf } from '../../parts/container-choice.ts';

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

export function shellChoiceOf(pod: Pod, params: URLSearchParams, mayAttach: boolean): ShellChoice {
  const { containers, container, spec } = choiceOf(pod, params);
  return {
    containers,
    container,
    mode: mayAttach && params.get('mode') === 'attach' ? 'attach' : 'exec',
    mayAttach,
    command: params.get('command') ?? '',
    tty: spec?.tty === true,
    stdin: spec?.stdin === true,
  };
}

/** Words of a command line; quotes keep spaces. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}
