/** Reads what a data plane reports. It reads what anybody sends, and may have been taken over: nothing else is taken from it. */
import type { DataPlaneReport, ListenerState } from '../snapshot/snapshot.ts';

/** All ports, and as many problems as a report has at most. */
export const MAX_REPORT_BYTES = 1024 * 1024;
const MAX_PROBLEMS = 100;
const MAX_TEXT = 1000;

/** As much of the problems as a report may hold: names in them are of any number and length. */
export function boundedProblems(problems: readonly string[]): string[] {
  return problems.slice(0, MAX_PROBLEMS).map((text) => text.slice(0, MAX_TEXT));
}

/** Throws for what is no report of these ports; states of others are left out. */
export function readReport(line: string, ports: ReadonlySet<number>): DataPlaneReport {
  const { applied, listeners, problems } = JSON.parse(line) as Partial<Record<keyof DataPlaneReport, unknown>>;
  if (!Number.isSafeInteger(applied) || !Array.isArray(listeners) || !Array.isArray(problems)) throw notOne();
  const states = listeners.map(readState).filter(({ port }) => ports.has(port));
  return {
    applied: Number(applied),
    // A port has one state.
    listeners: [...new Map(states.map((state) => [state.port, state])).values()],
    problems: boundedProblems(problems.map(readText)),
  };
}

function readState(state: unknown): ListenerState {
  const { port, problem } = Object(state) as Partial<Record<keyof ListenerState, unknown>>;
  if (typeof port !== 'number') throw notOne();
  return problem === undefined ? { port } : { port, problem: readText(problem) };
}

function readText(text: unknown): string {
  if (typeof text !== 'string') throw notOne();
  return text.slice(0, MAX_TEXT);
}

function notOne(): Error {
  return new Error('the data plane sent what is no report');
}
