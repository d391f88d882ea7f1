/** The result type and limits that all kinds of probes share. */
import type { Container } from '../../api/gen/core-v1.ts';

/** The result of one try. `warning` counts as success. */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure';
  readonly output: string;
}

/** A probe's port: a number, or the name of one of the container's ports. */
export function resolvePort(port: number | string, container: Container): number {
  const number =
    typeof port === 'number' || /^\d+$/.test(port)
      ? Number(port)
      : (container.ports?.find((candidate) => candidate.name === port)?.containerPort ?? 0);
  if (number <= 0 || number >= 65_536)
    throw new Error(`invalid port number: ${typeof port === 'number' ? port : `could not find port ${port}`}`);
  return number;
}
