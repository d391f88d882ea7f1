/** The result of a check of `keelson doctor`. Pure. */
import type { Machine } from './machine.ts';

/** `ok`; `warning`: a cluster works, or may, with restrictions; `error`: a cluster does not work. */
export type Level = 'ok' | 'warning' | 'error';

export interface Finding {
  readonly level: Level;
  readonly message: string;
  /** The remedy; absent without a problem. */
  readonly cure?: string | undefined;
}

export interface Check<Facts = Machine> {
  readonly name: string;
  /** Pure: reads nothing but its argument. */
  check(facts: Facts): Finding;
}

const ORDER: readonly Level[] = ['ok', 'warning', 'error'];

/** One result for several problems: the worst level, with the texts of all; `otherwise` without any. */
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
