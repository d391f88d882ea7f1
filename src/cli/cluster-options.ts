/** Options that name or shape a cluster, checked one by one with one clear line each. Shared by up, down and status. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { parseDurationMs } from '../api/duration.ts';
import { quantityValue, tryParseQuantity } from '../api/quantity.ts';
import { cidrsOverlap, parseCidr, parseIp, rangeFamily, rangesOf } from '../base/cidr.ts';
import { errorMessage } from '../base/errors.ts';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import type { HistoryLimits } from '../storage/history-log.ts';
import { parseStubDomain } from '../dns/stub-domain.ts';
import { nodePortAddressesProblem } from '../proxy/node-port-addresses.ts';
import { endpointsProblem, type StoreChoice } from '../cluster/store/store-options.ts';
import { apiServerFlags, parseApiServerOptions } from '../apiserver/options/api-server-options.ts';
import { OptionsError } from '../apiserver/options/flags.ts';
import type { RawControllerManagerSettings } from './controller-manager-settings.ts';
import { parseHelm, type RawHelmOptions } from './helm-options.ts';
import { checkClusterName, DEFAULT_DATA_DIR, nameOfDataDir } from './arguments/cluster-name.ts';
import { flagValues } from './flags.ts';
import type { RawKubeletSettings } from './kubelet-settings.ts';
import type { RawSnapshotOptions } from './snapshot/schedule-options.ts';
import { parseRegistry, type RawRegistry } from './registry-option.ts';
import { UserError } from './usage-error.ts';

const MIN_HISTORY_BYTES = 4 * 1024 * 1024;

/** `--data-dir`. Refuses an empty name, which an unset variable gives and which would mean the current directory. */
export function dataDirOption(description = 'where the cluster keeps everything'): Option {
  return new Option('--data-dir <dir>', description).default(DEFAULT_DATA_DIR).argParser((text: string) => {
    if (text === '') throw usage('--data-dir: the name of a directory is missing');
    return text;
  });
}

/** `--name`: stands for a data directory; added to every command that has one. */
export function nameOption(): Option {
  return new Option(
    '--name <name>',
    `name of the cluster: of its context, and of its data directory (${DEFAULT_DATA_DIR}-NAME) unless --data-dir is given`,
  );
}

const MAX_SIMULATED_NODES = 5000;

/** Number of simulated nodes; undefined for a real cluster. Throws `UserError` with exit code 2. */
export function parseNodes({
  simulate,
  nodes,
}: {
  readonly simulate?: boolean;
  readonly nodes?: string;
}): number | undefined {
  if (simulate !== true) return undefined;
  return nodeCount(nodes ?? '1', 0, MAX_SIMULATED_NODES);
}

/** The number of `--nodes`, in decimal digits. Throws `UserError` with exit code 2. */
export function nodeCount(text: string, least: number, most: number): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (count < least || count > most) throw usage(`--nodes: ${text} is not a number between ${least} and ${most}`);
  return count;
}

/** Store options before they are checked. */
export interface RawStoreOptions {
  readonly store: string;
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
}

/** Options of `keelson up` and `keelson server` before they are checked. */
export interface RawServerOptions
  extends RawStoreOptions, RawKubeletSettings, RawControllerManagerSettings, RawSnapshotOptions, RawHelmOptions {
  readonly dataDir: string;
  readonly name?: string;
  readonly httpsPort?: string;
  readonly encryptionProviderConfig?: string;
  readonly historySize?: string;
  readonly historyAge?: string;
  readonly schedulerConfig?: string;
  readonly clusterCidr?: string;
  readonly serviceCidr?: string;
  readonly clusterDomain: string;
  readonly nodeName?: string;
  readonly nodeIp?: string;
  readonly bindAddress?: string;
  readonly advertiseAddress?: string;
  readonly tlsSan?: string;
  readonly cni?: 'keelson' | 'none';
  readonly proxyMode?: 'nftables' | 'iptables' | 'userspace';
  readonly nodeportAddresses?: readonly string[];
  readonly dns?: 'keelson' | 'none';
  readonly dnsStubDomain?: readonly string[];
  readonly gateway?: 'keelson' | 'none';
  readonly gatewayHttpPort?: string;
  readonly gatewayHttpsPort?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly logLevel: string;
  readonly restart?: string;
  readonly detach?: boolean;
  readonly runtimeConfig?: string;
  readonly console?: 'true' | 'false';
  readonly registry?: RawRegistry;
}

/** Checks everything that can be checked without looking at the machine. Throws `UserError` with exit code 2. */
export function parseServerOptions(raw: RawServerOptions): ClusterOptions {
  const clusterCidr = raw.clusterCidr === undefined ? undefined : range('--cluster-cidr', raw.clusterCidr);
  const serviceCidr = raw.serviceCidr === undefined ? undefined : range('--service-cidr', raw.serviceCidr);
  checkPair(clusterCidr, serviceCidr);
  const endpoint = parseEndpoint(raw.containerRuntimeEndpoint);
  return {
    dataDir: resolve(raw.dataDir),
    name: parseClusterName(raw),
    httpsPort: raw.httpsPort === undefined ? undefined : parsePort('--https-port', raw.httpsPort),
    store: parseStore(raw),
    encryptionConfigFile:
      raw.encryptionProviderConfig === undefined ? undefined : resolve(raw.encryptionProviderConfig),
    history: parseHistory(raw),
    schedulerConfigFile: raw.schedulerConfig === undefined ? undefined : resolve(raw.schedulerConfig),
    clusterCidr,
    serviceCidr,
    clusterDomain: dnsName('--cluster-domain', raw.clusterDomain),
    nodeName: parseNodeName(raw.nodeName),
    containerRuntimeEndpoint: endpoint,
    runtimeConfig: raw.runtimeConfig ?? '',
    console: raw.console !== 'false',
    cni: raw.cni,
    dns: raw.dns,
    ...parseStubDomains(raw.dnsStubDomain),
    ...parseGateway(raw),
    ...parseHelm(raw),
    ...parseRegistry(raw.registry),
    proxyMode: raw.proxyMode,
    ...parseNodePortAddresses(raw.nodeportAddresses),
    ...addresses(raw),
    ...apiServer(raw),
  };
}

/** The ports of routes; nothing where none are served. Throws `UserError` with exit code 2. */
function parseGateway(raw: RawServerOptions): Pick<ClusterOptions, 'gateway'> {
  const { gateway, gatewayHttpPort, gatewayHttpsPort } = raw;
  const isWanted = gateway === 'keelson' || gatewayHttpPort !== undefined || gatewayHttpsPort !== undefined;
  // Ports that were remembered are no wish against `--gateway none`.
  if (gateway === 'none' || !isWanted) return {};
  const http = parsePort('--gateway-http-port', gatewayHttpPort ?? '80');
  const https = parsePort('--gateway-https-port', gatewayHttpsPort ?? '443');
  if (http === https) throw usage('--gateway-https-port: it is that of --gateway-http-port');
  return { gateway: { http, https } };
}

/** The name that was given, else the data directory's. Throws `UserError` with exit code 2. */
function parseClusterName({ name, dataDir }: { readonly name?: string; readonly dataDir: string }): string {
  return name === undefined ? nameOfDataDir(resolve(dataDir)) : checkClusterName(name);
}

/** How much history is kept; nothing when either is 0 or was not settled. Throws `UserError` with exit code 2. */
function parseHistory({
  historySize,
  historyAge,
}: Pick<RawServerOptions, 'historySize' | 'historyAge'>): HistoryLimits | undefined {
  if (historySize === undefined || historyAge === undefined) return undefined;
  const quantity = tryParseQuantity(historySize);
  const sizeBytes = quantity === undefined ? Number.NaN : quantityValue(historySize);
  const ageMs = parseDurationMs(historyAge) ?? Number.NaN;
  if (Number.isNaN(sizeBytes) || sizeBytes < 0)
    throw usage(`--history-size: ${historySize} is not a size such as 256Mi, or 0`);
  if (sizeBytes > 0 && sizeBytes < MIN_HISTORY_BYTES)
    throw usage(`--history-size: ${historySize} is less than 4Mi, which object histories need; 0 switches them off`);
  if (Number.isNaN(ageMs) || ageMs < 0) throw usage(`--history-age: ${historyAge} is not a duration such as 24h, or 0`);
  return sizeBytes === 0 || ageMs === 0 ? undefined : { sizeBytes, ageMs };
}

/** Options of the API server; absent when none of its flags was given. */
function apiServer(raw: RawServerOptions): Pick<ClusterOptions, 'apiServer'> {
  const values = flagValues(apiServerFlags, raw);
  if (Object.keys(values).length === 0) return {};
  try {
    return { apiServer: parseApiServerOptions(values) };
  } catch (error) {
    throw error instanceof OptionsError ? usage(error.message) : error;
  }
}

/** `--store` and the files that go with etcd. Throws `UserError`. */
export function parseStore({ store, etcdCafile, etcdCertfile, etcdKeyfile }: RawStoreOptions): StoreChoice {
  const paths = { caFile: etcdCafile, certFile: etcdCertfile, keyFile: etcdKeyfile };
  const files = Object.fromEntries(
    Object.entries(paths).flatMap(([name, path]) => (path === undefined ? [] : [[name, resolve(path)]])),
  );
  if (!store.startsWith('etcd=')) {
    if (Object.keys(files).length > 0)
      throw usage('--etcd-cafile, --etcd-certfile, --etcd-keyfile: only with --store etcd=URL');
    if (store === 'sqlite' || store === 'memory') return { kind: store };
    throw usage(`--store: ${store} is none of sqlite, memory and etcd=URL,...`);
  }
  const endpoints = store.slice('etcd='.length).split(',');
  const problem = endpointsProblem(endpoints);
  if (problem !== undefined) throw usage(`--store: ${problem}`);
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined))
    throw usage('--etcd-certfile and --etcd-keyfile go together');
  return { kind: 'etcd', endpoints, ...files };
}

function addresses(
  raw: RawServerOptions,
): Pick<ClusterOptions, 'bindAddress' | 'advertiseAddress' | 'nodeIp' | 'tlsNames'> {
  const { bindAddress, advertiseAddress, nodeIp, tlsSan } = raw;
  for (const [flag, address] of [
    ['--bind-address', bindAddress],
    ['--advertise-address', advertiseAddress],
    ['--node-ip', nodeIp],
  ] as const)
    if (address !== undefined && parseIp(address) === undefined) throw usage(`${flag}: ${address} is no address`);
  const sans = tlsSan?.split(',').filter((name) => name !== '') ?? [];
  const dnsNames = sans.filter((name) => parseIp(name) === undefined).map((name) => dnsName('--tls-san', name));
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
      throw usage(`--dns-stub-domain: ${errorMessage(error)}`);
    }
  }
  return texts.length === 0 ? {} : { dnsStubDomains: texts };
}

/** Addresses that serve node ports. Throws `UserError` with exit code 2. */
export function parseNodePortAddresses(
  nodePortAddresses: readonly string[] = [],
): Pick<ClusterOptions, 'nodePortAddresses'> {
  const problem = nodePortAddressesProblem(nodePortAddresses);
  if (problem !== '') throw usage(`--nodeport-addresses: ${problem}`);
  return nodePortAddresses.length === 0 ? {} : { nodePortAddresses };
}

/** A CRI endpoint. Throws `UserError` with exit code 2. */
export function parseEndpoint(endpoint: string | undefined): string | undefined {
  if (endpoint !== undefined && !endpoint.startsWith('unix:///'))
    throw usage(`--container-runtime-endpoint: ${endpoint} is not of the form unix:///path`);
  return endpoint;
}

/** The given node name, by default the host's. Throws `UserError` with exit code 2. */
export function parseNodeName(name: string | undefined): string {
  return dnsName('--node-name', name ?? hostname().toLowerCase());
}

function usage(text: string): UserError {
  return new UserError(text, 2);
}

function range(flag: string, text: string): string {
  const cidrs = rangesOf(text).map((each) => {
    const cidr = parseCidr(each);
    if (cidr === undefined) throw usage(`${flag}: ${each} is not an address range such as 10.42.0.0/16`);
    return cidr;
  });
  if (cidrs.length === 0 || cidrs.length > 2) throw usage(`${flag}: one range, or one of each family`);
  if (cidrs.length === 2 && cidrs[0]!.family === cidrs[1]!.family)
    throw usage(`${flag}: ${text} has two ranges of one family`);
  return text;
}

/** Checks that the ranges of pods and services have the same IP families in the same order and do not overlap. */
function checkPair(clusterCidr: string | undefined, serviceCidr: string | undefined): void {
  const families = (text: string): string => rangesOf(text).map(rangeFamily).join();
  const both = clusterCidr !== undefined && serviceCidr !== undefined;
  if (!both && [clusterCidr, serviceCidr].some((text) => text !== undefined && families(text) !== '4'))
    throw usage('--cluster-cidr and --service-cidr: give both where one is of IPv6 or of two families');
  if (!both) return;
  if (families(clusterCidr) !== families(serviceCidr))
    throw usage(`--cluster-cidr ${clusterCidr} and --service-cidr ${serviceCidr} are not of the same families`);
  for (const [at, pods] of rangesOf(clusterCidr).entries())
    if (cidrsOverlap(parseCidr(pods)!, parseCidr(rangesOf(serviceCidr)[at]!)!))
      throw usage(`--cluster-cidr ${clusterCidr} and --service-cidr ${serviceCidr} overlap`);
  checkNodeRanges(clusterCidr);
}

/** Checks an IPv6 pod range: each node takes a /64, so the prefix must leave some and not more than can be counted. */
function checkNodeRanges(clusterCidr: string): void {
  const wrong = rangesOf(clusterCidr).find((text) => {
    const { family, prefixLength } = parseCidr(text)!;
    return family === 6 && (prefixLength > 64 || prefixLength < 48);
  });
  if (wrong !== undefined)
    throw usage(`--cluster-cidr: ${wrong} is cut into a /64 per node: it must be between /48 and /64`);
}

/** A port. Throws `UserError` with exit code 2. */
export function parsePort(flag: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 65_535)
    throw usage(`${flag}: ${text} is not a port between 1 and 65535`);
  return value;
}

function dnsName(flag: string, text: string): string {
  if (text.length > 253 || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text)) {
    throw usage(
      `${flag}: ${text} must consist of lower case letters, digits, '-' and '.', and start and end with a letter or digit`,
    );
  }
  return text;
}
