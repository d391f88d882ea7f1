/**
 * Further nodes on this machine (`keelson up --nodes`): their requirements, and nodes that are stopped or
 * partitioned.
 */
import { parseCidr } from '../../../base/cidr.ts';
import { conflictingRange } from '../../nodes/choose-network.ts';
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';

export const nodes: Check = {
  name: 'nodes',
  check({ nodes: { missing, entries, network }, routes = [] }) {
    const install = `apt-get install ${missing.map((text) => /Debian: ([^)]+)/.exec(text)?.[1] ?? '').join(' ')}`;
    if (entries.length === 0) {
      if (missing.length === 0) return { level: 'ok', message: 'one; --nodes makes others' };
      return { level: 'ok', message: `one; others (--nodes) need ${missing.join(', ')}` };
    }
    const problems: Finding[] = missing.length === 0 ? [] : [failure(`missing: ${missing.join(', ')}`, install)];
    for (const { name, stopped, partitioned } of entries) {
      if (partitioned === true) problems.push(warning(`${name} is partitioned`, `keelson node heal ${name}`));
      if (stopped === true) problems.push(warning(`${name} is stopped`, `keelson node start ${name}`));
    }
    const others = routes.flatMap(({ cidr, device }) =>
      parseCidr(cidr) === undefined ? [] : { cidr, device, isRoute: true },
    );
    const other = network === undefined ? undefined : conflictingRange(network, others);
    if (other !== undefined)
      problems.push(
        warning(
          `${network}, which connects the nodes, overlaps ${other.cidr}, which this machine routes to ${other.device}`,
          'keelson up --nodes-network with another range',
        ),
      );
    return worstOf(problems, `1 + ${entries.length} on this machine, connected by ${network}`);
  },
};
