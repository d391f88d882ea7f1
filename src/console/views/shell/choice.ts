/**
 * The choice of container and command. The container may be part of the address; a command, or attach, is chosen only on the
 * page, because a link must not run anything.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { choiceOf } from '../../parts/container-choice.ts';

export interface ShellChoice {
  readonly containers: readonly string[];
  readonly container: string;
  readonly mode: 'exec' | 'attach';
  readonly mayAttach: boolean;
  /** The command as typed; '' for a shell. */
  readonly command: string;
  /** For attach: whether the container's process has a terminal, and reads its input. */
  readonly tty: boolean;
  readonly stdin: boolean;
}

/** The choices on the page. */
export type Chosen = Pick<ShellChoice, 'mode' | 'command'>;

export const NOTHING_CHOSEN: Chosen = { mode: 'exec', command: '' };

export function shellChoiceOf(
  pod: Pod,
  params: URLSearchParams,
  { mayAttach, chosen }: { readonly mayAttach: boolean; readonly chosen: Chosen },
): ShellChoice {
  const { containers, container, spec } = choiceOf(pod, params);
  return {
    containers,
    container,
    mode: mayAttach ? chosen.mode : 'exec',
    mayAttach,
    command: chosen.command,
    tty: spec?.tty === true,
    stdin: spec?.stdin === true,
  };
}

/** The words of a command line; quotes keep spaces. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}
