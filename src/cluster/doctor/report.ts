/** The results of all checks on a machine, as an object and as text. Pure. */
import type { Check, Finding, Level } from './finding.ts';
import { CHECKS } from './list.ts';
import type { Machine } from './machine.ts';

export interface DoctorReport {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'DoctorReport';
  /** The worst level of all results. */
  readonly level: Level;
  readonly checks: readonly (Finding & { readonly name: string })[];
}

const MARKS: Readonly<Record<Level, string>> = { ok: '✓', warning: '!', error: '✖' };

export function examine(machine: Machine): DoctorReport {
  return examineBy(CHECKS, machine);
}

/** The report of other checks on other facts. */
export function examineBy<Facts>(list: readonly Check<Facts>[], facts: Facts): DoctorReport {
  const checks = list.map(({ name, check }) => ({ name, ...check(facts) }));
  const level = (['error', 'warning'] as const).find((each) => checks.some((check) => check.level === each)) ?? 'ok';
  return { apiVersion: 'keelson/v1', kind: 'DoctorReport', level, checks };
}

/** One line for each check. */
export function reportText({ checks }: DoctorReport): string {
  return checks
    .map(({ name, level, message, cure }) => {
      const line = `${MARKS[level]} ${name.padEnd(13)}${message}${cure === undefined ? '' : ` → ${cure}`}`;
      return `${line.replaceAll(/\s*\n\s*/g, ' ')}\n`;
    })
    .join('');
}
