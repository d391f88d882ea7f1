/** What a check of `keelson doctor` finds. Pure. */
import type { Machine } from './machine.ts';

/** `ok`; `warning`: works, or may, with less; `error`: a cluster does not work so. */
export type Level = 'ok' | 'warning' | 'error';

export interface Finding {
  readonly level: Level;
  readonly message: string;
  /** What helps. Absent where nothing is wrong. */
  readonly cure?: string | undefined;
}

export interface Check {
  readonly name: string;
  /** Pure: reads nothing but its argument. */
  check(machine: Machine): Finding;
}

const ORDER: readonly Level[] = ['ok', 'warning', 'error'];

/** One finding of several: the worst level, with the problems of that and of lower levels; `otherwise` where there is none. */
export function worstOf(problems: readonly Finding[], otherwise: string): Finding {
  if (problems.length === 0) return { level: 'ok', message: otherwise };
  const sorted = problems.toSorted((a, b) => ORDER.indexOf(b.level) - ORDER.indexOf(a.level));
  const cures = new Set(sorted.flatMap(({ cure }) => (cure === undefined ? [] : [cure])));
  return {
    level: sorted[0]!.level,
    message: sorted.map(({ message }) => message).join('; '),
    cure: cures.size === 0 ? undefined : [...cures].join('; '),
  };
}

export function warning(message: string, cure: string): Finding {
  return { level: 'warning', message, cure };
}

export function failure(message: string, cure: string): Finding {
  return { level: 'error', message, cure };
}
