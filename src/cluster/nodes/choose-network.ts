/** Chooses the range of the network between this machine's nodes. Pure. */
import { cidrsOverlap, parseCidr, rangesOf } from '../../base/cidr.ts';
import { PreflightError } from '../preflight-error.ts';

/** A range that is in use, and by what. */
export interface OtherRange {
  readonly cidr: string;
  readonly device: string;
  /** Whether it is in use by a route: a narrower range on this machine takes precedence over a route. */
  readonly isRoute?: boolean;
}

const thirds = (prefix: string, from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}.${from + at}.0/24`);

/**
 * The candidates, in order. They lie between common cluster ranges and podman's ranges in 10/8; the later ones are
 * for machines that route all of 10/8 elsewhere, as in company networks, or two of the private ranges.
 */
const NETWORKS: readonly string[] = [
  ...thirds('10.58', 0, 64),
  ...thirds('172.29', 240, 16),
  ...thirds('192.168', 224, 16),
];

/** The first candidate that overlaps none of `others`; undefined where all do. */
export function chooseNetwork(others: readonly OtherRange[]): string | undefined {
  return NETWORKS.find((network) => overlapping(network, others) === undefined);
}

/** The first of `others` that this range overlaps. */
export function overlapping(network: string, others: readonly OtherRange[]): OtherRange | undefined {
  const own = parseCidr(network)!;
  return others.find(({ cidr }) => rangesOf(cidr).some((range) => cidrsOverlap(parseCidr(range)!, own)));
}

/**
 * The first of `others` that conflicts with this range. A route to a wider range does not, since the kernel prefers
 * the narrower one.
 */
export function conflictingRange(network: string, others: readonly OtherRange[]): OtherRange | undefined {
  const own = parseCidr(network)!;
  const isWider = ({ cidr, isRoute }: OtherRange): boolean =>
    isRoute === true && parseCidr(cidr)!.prefixLength < own.prefixLength;
  return overlapping(
    network,
    others.filter((each) => !isWider(each)),
  );
}

/** Checks the user's choice; routes to wider ranges are allowed. Throws `PreflightError`. */
export function checkNetwork(network: string, others: readonly OtherRange[]): void {
  const other = conflictingRange(network, others);
  if (other !== undefined)
    throw new PreflightError(
      `--nodes-network: ${network} overlaps ${other.cidr}, which ${other.device} has; choose another`,
    );
}
