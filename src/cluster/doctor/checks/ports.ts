/** Ports that a server or node needs, and the processes that use them. */
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';
import type { PortFacts } from '../machine.ts';

export const ports: Check = {
  name: 'ports',
  check: ({ ports: all }) =>
    worstOf(
      all.flatMap(problemOf),
      all.map(({ port, purpose, isOurs }) => `${port} (${purpose}) ${isOurs ? 'ours' : 'free'}`).join(', '),
    ),
};

function problemOf({ port, purpose, flag, isSettled, holder }: PortFacts): Finding[] {
  if (holder === undefined) return [];
  const taken = `${port} (${purpose}) is taken by ${holder}`;
  if (!isSettled) return [warning(taken, `a start takes the next free one${flag ? `; or choose it by ${flag}` : ''}`)];
  return [
    failure(taken, flag === undefined ? 'stop that program' : `stop that program, or start with another ${flag}`),
  ];
}
