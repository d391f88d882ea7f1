/** Further nodes on this machine, `keelson up --nodes`: what they need, and which of them do not take part. */
import { cidrsOverlap, parseCidr } from '../../../base/cidr.ts';
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
    const range = network === undefined ? undefined : parseCidr(network);
    for (const { cidr, device } of routes) {
      const other = parseCidr(cidr);
      if (range === undefined || other === undefined || !cidrsOverlap(other, range)) continue;
      problems.push(
        warning(
          `${network}, which connects the nodes, overlaps ${cidr}, which this machine routes to ${device}`,
          'keelson up --nodes-network with another range',
        ),
      );
    }
    return worstOf(problems, `1 + ${entries.length} on this machine, connected by ${network}`);
  },
};
