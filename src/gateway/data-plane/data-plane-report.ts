/**
 * Parses reports of a data plane. The process handles untrusted requests and may be compromised, so nothing else is accepted from
 * it.
 */
import type { DataPlaneReport, ListenerState } from '../snapshot/snapshot.ts';

/** Room for the states of all ports and the limit of problems. */
export const MAX_REPORT_BYTES = 1024 * 1024;
const MAX_PROBLEMS = 100;
const MAX_TEXT = 1000;

/** The problems up to the limits of a report: names in them have any number and length. */
export function boundedProblems(problems: readonly string[]): string[] {
  return problems.slice(0, MAX_PROBLEMS).map((text) => text.slice(0, MAX_TEXT));
}

/** Throws for a message that is no report of these ports. States of other ports are dropped. */
export function readReport(line: string, ports: ReadonlySet<number>): DataPlaneReport {
  const { applied, listeners, problems } = JSON.parse(line) as Partial<Record<keyof DataPlaneReport, unknown>>;
  if (!Number.isSafeInteger(applied) || !Array.isArray(listeners) || !Array.isArray(problems)) throw notOne();
  const states = listeners.map(readState).filter(({ port }) => ports.has(port));
  return {
    applied: Number(applied),
    // each port once
    listeners: [...new Map(states.map((state) => [state.port, state])).values()],
    problems: boundedProblems(problems.map(readText)),
  };
}

function readState(state: unknown): ListenerState {
  const { port, problem, holder } = Object(state) as Partial<Record<keyof ListenerState, unknown>>;
  if (typeof port !== 'number') throw notOne();
  if (problem === undefined) return { port };
  const failed = { port, problem: readText(problem) };
  return holder === undefined ? failed : { ...failed, holder: readText(holder) };
}

function readText(text: unknown): string {
  if (typeof text !== 'string') throw notOne();
  return text.slice(0, MAX_TEXT);
}

function notOne(): Error {
  return new Error('the data plane sent what is no report');
}
