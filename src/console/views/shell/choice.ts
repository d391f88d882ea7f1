/**
 * What is opened in which container. The container may stand in the address; a command, or whether to attach, is chosen on the page
 * alone: a link must not run anything.
 */
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

/** What is chosen on the page. */
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

/** Words of a command line; quotes keep spaces. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}
