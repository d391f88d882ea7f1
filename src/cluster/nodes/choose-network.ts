/** Which range connects the nodes of this machine. Pure. */
import { cidrsOverlap, parseCidr, rangesOf } from '../../base/cidr.ts';
import { PreflightError } from '../preflight-error.ts';

/** A range that something else has, and what. */
export interface OtherRange {
  readonly cidr: string;
  readonly device: string;
  /** It only leads there: a range inside of it that this machine has itself goes before it. */
  readonly isRoute?: boolean;
}

const thirds = (prefix: string, from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}.${from + at}.0/24`);

/**
 * Tried in this order. In 10/8 below them are ranges of clusters, above them podman's. The others are for machines with a route
 * to all of 10/8, as of a company's network, and for those with one to two of the private ranges.
 */
const NETWORKS: readonly string[] = [
  ...thirds('10.58', 0, 64),
  ...thirds('172.29', 240, 16),
  ...thirds('192.168', 224, 16),
];

/** The first range that overlaps none of these; undefined where all do. */
export function chooseNetwork(others: readonly OtherRange[]): string | undefined {
  return NETWORKS.find((network) => overlapping(network, others) === undefined);
}

/** The first of these that this range overlaps. */
export function overlapping(network: string, others: readonly OtherRange[]): OtherRange | undefined {
  const own = parseCidr(network)!;
  return others.find(({ cidr }) => rangesOf(cidr).some((range) => cidrsOverlap(parseCidr(range)!, own)));
}

/** A user's choice: routes to wider ranges are no hindrance. Throws `PreflightError`. */
export function checkNetwork(network: string, others: readonly OtherRange[]): void {
  const own = parseCidr(network)!;
  const isWider = ({ cidr, isRoute }: OtherRange): boolean =>
    isRoute === true && parseCidr(cidr)!.prefixLength < own.prefixLength;
  const other = overlapping(
    network,
    others.filter((each) => !isWider(each)),
  );
  if (other !== undefined)
    throw new PreflightError(
      `--nodes-network: ${network} overlaps ${other.cidr}, which ${other.device} has; choose another`,
    );
}
