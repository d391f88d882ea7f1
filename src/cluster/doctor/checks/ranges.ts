/** Address ranges of pods and services beside the machine's routes. */
import { cidrsOverlap, parseCidr, rangesOf } from '../../../base/cidr.ts';
import { warning, worstOf, type Check } from '../finding.ts';

export const ranges: Check = {
  name: 'ranges',
  check({ settled, routes }) {
    if (routes === undefined) return warning('the routes of this machine cannot be read', 'install iproute2');
    if (settled === undefined) return { level: 'ok', message: 'a first start takes ranges that nothing routes' };
    // A warning only: a server without a node routes nothing, and a start keeps to what was settled.
    const own = [...rangesOf(settled.clusterCidr), ...rangesOf(settled.serviceCidr)];
    const problems = own.flatMap((range) =>
      routes
        .filter(({ cidr }) => overlap(cidr, range))
        .map(({ cidr, device }) =>
          warning(`${range} overlaps ${cidr}, which this machine routes to ${device}`, `another range for ${device}`),
        ),
    );
    return worstOf(problems, `pods ${settled.clusterCidr}, services ${settled.serviceCidr}`);
  },
};

function overlap(left: string, right: string): boolean {
  const [a, b] = [parseCidr(left), parseCidr(right)];
  return a !== undefined && b !== undefined && cidrsOverlap(a, b);
}
