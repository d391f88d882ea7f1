/** The ports of services of type NodePort. Upstream: ServerRunOptions. */
import { type Flag, type FlagValues, OptionsError, textOf } from './flags.ts';

export const NODE_PORT_FLAGS: readonly Flag[] = [
  {
    name: 'service-node-port-range',
    value: '<range>',
    description: 'ports of node-port services (default 30000-32767)',
  },
];

/** The port range, both ends included. */
export interface NodePortOptions {
  readonly first: number;
  readonly last: number;
}

/** Parses `first-last` or `first+more`. Throws `OptionsError`. */
export function parseNodePortOptions(values: FlagValues): NodePortOptions {
  const text = textOf(values, 'service-node-port-range') ?? '30000-32767';
  const [, first, last] = /^(\d+)-(\d+)$/.exec(text) ?? /^(\d+)\+(\d+)$/.exec(text) ?? [];
  const range = { first: Number(first), last: text.includes('+') ? Number(first) + Number(last) : Number(last) };
  if (first === undefined || range.first < 1 || range.last > 65_535 || range.first > range.last)
    throw new OptionsError(`--service-node-port-range: ${text} is no port range such as 30000-32767`);
  return range;
}
