/** Options of a cluster's network: addresses, ranges, ports and names, each checked with one clear line. */
import { hostname } from 'node:os';
import { cidrsOverlap, parseCidr, parseIp, rangeFamily, rangesOf } from '../base/cidr.ts';
import { errorMessage } from '../base/errors.ts';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import { parseStubDomain } from '../dns/stub-domain.ts';
import { nodePortAddressesProblem } from '../proxy/node-port-addresses.ts';
import { wrongUsage } from './usage-error.ts';

/** The flags of addresses as they were given. */
export interface RawAddresses {
  readonly bindAddress?: string;
  readonly advertiseAddress?: string;
  readonly nodeIp?: string;
  readonly tlsSan?: string;
}

/** The addresses and names under which the server is reached. Throws `UserError` with exit code 2. */
export function parseAddresses(
  raw: RawAddresses,
): Pick<ClusterOptions, 'bindAddress' | 'advertiseAddress' | 'nodeIp' | 'tlsNames'> {
  const { bindAddress, advertiseAddress, nodeIp, tlsSan } = raw;
  for (const [flag, address] of [
    ['--bind-address', bindAddress],
    ['--advertise-address', advertiseAddress],
    ['--node-ip', nodeIp],
  ] as const)
    if (address !== undefined && parseIp(address) === undefined) throw wrongUsage(`${flag}: ${address} is no address`);
  const sans = tlsSan?.split(',').filter((name) => name !== '') ?? [];
  const dnsNames = sans.filter((name) => parseIp(name) === undefined).map((name) => parseDnsName('--tls-san', name));
  const ipAddresses = sans.filter((name) => parseIp(name) !== undefined);
  return {
    bindAddress,
    advertiseAddress,
    nodeIp,
    tlsNames: sans.length === 0 ? undefined : { dnsNames, ipAddresses },
  };
}

/** Checks stub domains. Throws `UserError` with exit code 2. */
export function parseStubDomains(texts: readonly string[] = []): Pick<ClusterOptions, 'dnsStubDomains'> {
  for (const text of texts) {
    try {
      parseStubDomain(text);
    } catch (error) {
      throw wrongUsage(`--dns-stub-domain: ${errorMessage(error)}`);
    }
  }
  return texts.length === 0 ? {} : { dnsStubDomains: texts };
}

/** Addresses that serve node ports. Throws `UserError` with exit code 2. */
export function parseNodePortAddresses(
  nodePortAddresses: readonly string[] = [],
): Pick<ClusterOptions, 'nodePortAddresses'> {
  const problem = nodePortAddressesProblem(nodePortAddresses);
  if (problem !== '') throw wrongUsage(`--nodeport-addresses: ${problem}`);
  return nodePortAddresses.length === 0 ? {} : { nodePortAddresses };
}

/** The given node name, by default the host's. Throws `UserError` with exit code 2. */
export function parseNodeName(name: string | undefined): string {
  return parseDnsName('--node-name', name ?? hostname().toLowerCase());
}

/** One range, or one of each family. Throws `UserError` with exit code 2. */
export function parseRange(flag: string, text: string): string {
  const cidrs = rangesOf(text).map((each) => {
    const cidr = parseCidr(each);
    if (cidr === undefined) throw wrongUsage(`${flag}: ${each} is not an address range such as 10.42.0.0/16`);
    return cidr;
  });
  if (cidrs.length === 0 || cidrs.length > 2) throw wrongUsage(`${flag}: one range, or one of each family`);
  if (cidrs.length === 2 && cidrs[0]!.family === cidrs[1]!.family)
    throw wrongUsage(`${flag}: ${text} has two ranges of one family`);
  return text;
}

/** Checks that the ranges of pods and services have the same IP families in the same order and do not overlap. */
export function checkRanges(clusterCidr: string | undefined, serviceCidr: string | undefined): void {
  const families = (text: string): string => rangesOf(text).map(rangeFamily).join();
  const both = clusterCidr !== undefined && serviceCidr !== undefined;
  if (!both && [clusterCidr, serviceCidr].some((text) => text !== undefined && families(text) !== '4'))
    throw wrongUsage('--cluster-cidr and --service-cidr: give both where one is of IPv6 or of two families');
  if (!both) return;
  if (families(clusterCidr) !== families(serviceCidr))
    throw wrongUsage(`--cluster-cidr ${clusterCidr} and --service-cidr ${serviceCidr} are not of the same families`);
  for (const [at, pods] of rangesOf(clusterCidr).entries())
    if (cidrsOverlap(parseCidr(pods)!, parseCidr(rangesOf(serviceCidr)[at]!)!))
      throw wrongUsage(`--cluster-cidr ${clusterCidr} and --service-cidr ${serviceCidr} overlap`);
  checkNodeRanges(clusterCidr);
}

/** Checks an IPv6 pod range: each node takes a /64, so the prefix must leave some and not more than can be counted. */
function checkNodeRanges(clusterCidr: string): void {
  const wrong = rangesOf(clusterCidr).find((text) => {
    const { family, prefixLength } = parseCidr(text)!;
    return family === 6 && (prefixLength > 64 || prefixLength < 48);
  });
  if (wrong !== undefined)
    throw wrongUsage(`--cluster-cidr: ${wrong} is cut into a /64 per node: it must be between /48 and /64`);
}

/** A port. Throws `UserError` with exit code 2. */
export function parsePort(flag: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 65_535)
    throw wrongUsage(`${flag}: ${text} is not a port between 1 and 65535`);
  return value;
}

/** A lower-case DNS name. Throws `UserError` with exit code 2. */
export function parseDnsName(flag: string, text: string): string {
  if (text.length > 253 || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text)) {
    throw wrongUsage(
      `${flag}: ${text} must consist of lower case letters, digits, '-' and '.', and start and end with a letter or digit`,
    );
  }
  return text;
}
