/** Conflicts between the address ranges of pods and services and the machine's routes. */
import { cidrsOverlap, parseCidr, rangesOf } from '../../../base/cidr.ts';
import type { MachineRoute } from '../../instance/preflight.ts';
import { ROUTE_PROTOCOL } from '../../network/node-links.ts';
import { warning, worstOf, type Check } from '../finding.ts';
import type { SettledFacts } from '../machine.ts';

export const ranges: Check = {
  name: 'ranges',
  check({ settled, routes }) {
    if (routes === undefined) return warning('the routes of this machine cannot be read', 'install iproute2');
    if (settled === undefined) return { level: 'ok', message: 'a first start takes ranges that nothing routes' };
    // Only a warning: a server without a node needs no routes, and a start keeps its settled ranges.
    const own = [...rangesOf(settled.clusterCidr), ...rangesOf(settled.serviceCidr)];
    const foreign = routes.filter((route) => !isOwn(route, settled));
    const problems = own.flatMap((range) =>
      foreign
        .filter(({ cidr }) => overlap(cidr, range))
        .map(({ cidr, device }) =>
          warning(`${range} overlaps ${cidr}, which this machine routes to ${device}`, `another range for ${device}`),
        ),
    );
    return worstOf(problems, `pods ${settled.clusterCidr}, services ${settled.serviceCidr}`);
  },
};

/**
 * Routes inside the pods' ranges are the cluster's: to other nodes' pods, to pods with point-to-point links, and
 * those of a user's CNI plugin.
 */
function isOwn({ cidr, device, protocol }: MachineRoute, { clusterCidr, ownCni }: SettledFacts): boolean {
  if (!rangesOf(clusterCidr).some((range) => containsRange(range, cidr))) return false;
  return protocol === ROUTE_PROTOCOL || !ownCni || (device.startsWith('veth') && /\/(32|128)$/.test(cidr));
}

function containsRange(range: string, part: string): boolean {
  const [whole, own] = [parseCidr(range), parseCidr(part)];
  return overlap(range, part) && whole !== undefined && own !== undefined && own.prefixLength >= whole.prefixLength;
}

function overlap(left: string, right: string): boolean {
  const [a, b] = [parseCidr(left), parseCidr(right)];
  return a !== undefined && b !== undefined && cidrsOverlap(a, b);
}
