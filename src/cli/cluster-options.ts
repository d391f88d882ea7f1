/** Options that name or shape a cluster, checked one by one with one clear line each. Shared by up, down and status. */
import { resolve } from 'node:path';
import { Option } from 'commander';
import { parseDurationMs } from '../api/duration.ts';
import { quantityValue, tryParseQuantity } from '../api/quantity.ts';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import type { FlannelBackend } from '../cluster/instance/instance.ts';
import type { HistoryLimits } from '../storage/history-log.ts';
import { endpointsProblem, type StoreChoice } from '../cluster/store/store-options.ts';
import { apiServerFlags, parseApiServerOptions } from '../apiserver/options/api-server-options.ts';
import { OptionsError } from '../apiserver/options/flags.ts';
import type { RawControllerManagerSettings } from './controller-manager-settings.ts';
import { parseHelm, type RawHelmOptions } from './helm-options.ts';
import { checkClusterName, DEFAULT_DATA_DIR, nameOfDataDir } from './arguments/cluster-name.ts';
import { flagValues } from './flags.ts';
import {
  checkRanges,
  parseAddresses,
  parseDnsName,
  parseNodeName,
  parseNodePortAddresses,
  parsePort,
  parseRange,
  parseStubDomains,
  type RawAddresses,
} from './network-options.ts';
import type { RawKubeletSettings } from './kubelet-settings.ts';
import type { RawSnapshotOptions } from './snapshot/schedule-options.ts';
import { parseRegistry, type RawRegistry } from './registry-option.ts';
import { wrongUsage } from './usage-error.ts';

const MIN_HISTORY_BYTES = 4 * 1024 * 1024;

/** `--data-dir`. Refuses an empty name, which an unset variable gives and which would mean the current directory. */
export function dataDirOption(description = 'where the cluster keeps everything'): Option {
  return new Option('--data-dir <dir>', description).default(DEFAULT_DATA_DIR).argParser((text: string) => {
    if (text === '') throw wrongUsage('--data-dir: the name of a directory is missing');
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
  if (count < least || count > most) throw wrongUsage(`--nodes: ${text} is not a number between ${least} and ${most}`);
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
  extends
    RawStoreOptions,
    RawAddresses,
    RawKubeletSettings,
    RawControllerManagerSettings,
    RawSnapshotOptions,
    RawHelmOptions {
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
  readonly cni?: 'keelson' | 'none';
  readonly flannelBackend?: FlannelBackend;
  readonly proxyMode?: 'nftables' | 'iptables' | 'userspace';
  readonly nodeportAddresses?: readonly string[];
  readonly dns?: 'keelson' | 'none';
  readonly dnsStubDomain?: readonly string[];
  readonly gateway?: 'keelson' | 'none';
  readonly loadBalancer?: 'keelson' | 'none';
  readonly localPath?: 'keelson' | 'none';
  readonly metrics?: 'keelson' | 'none';
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
  const clusterCidr = raw.clusterCidr === undefined ? undefined : parseRange('--cluster-cidr', raw.clusterCidr);
  const serviceCidr = raw.serviceCidr === undefined ? undefined : parseRange('--service-cidr', raw.serviceCidr);
  checkRanges(clusterCidr, serviceCidr);
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
    clusterDomain: parseDnsName('--cluster-domain', raw.clusterDomain),
    nodeName: parseNodeName(raw.nodeName),
    containerRuntimeEndpoint: endpoint,
    runtimeConfig: raw.runtimeConfig ?? '',
    console: raw.console !== 'false',
    cni: raw.cni,
    flannelBackend: raw.flannelBackend,
    dns: raw.dns,
    ...parseStubDomains(raw.dnsStubDomain),
    ...parseGateway(raw),
    loadBalancer: raw.loadBalancer,
    localPath: raw.localPath,
    metrics: raw.metrics,
    ...parseHelm(raw),
    ...parseRegistry(raw.registry),
    proxyMode: raw.proxyMode,
    ...parseNodePortAddresses(raw.nodeportAddresses),
    ...parseAddresses(raw),
    ...apiServer(raw),
  };
}

/** The ports of routes; nothing where none are served. Throws `UserError` with exit code 2. */
function parseGateway(raw: RawServerOptions): Pick<ClusterOptions, 'gateway'> {
  const { gateway, gatewayHttpPort, gatewayHttpsPort } = raw;
  const isWanted = gateway === 'keelson' || gatewayHttpPort !== undefined || gatewayHttpsPort !== undefined;
  // Remembered ports do not contradict `--gateway none`.
  if (gateway === 'none' || !isWanted) return {};
  const http = parsePort('--gateway-http-port', gatewayHttpPort ?? '80');
  const https = parsePort('--gateway-https-port', gatewayHttpsPort ?? '443');
  if (http === https) throw wrongUsage('--gateway-https-port: it is that of --gateway-http-port');
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
    throw wrongUsage(`--history-size: ${historySize} is not a size such as 256Mi, or 0`);
  if (sizeBytes > 0 && sizeBytes < MIN_HISTORY_BYTES)
    throw wrongUsage(
      `--history-size: ${historySize} is less than 4Mi, which object histories need; 0 switches them off`,
    );
  if (Number.isNaN(ageMs) || ageMs < 0)
    throw wrongUsage(`--history-age: ${historyAge} is not a duration such as 24h, or 0`);
  return sizeBytes === 0 || ageMs === 0 ? undefined : { sizeBytes, ageMs };
}

/** Options of the API server; absent when no flag of it was set. */
function apiServer(raw: RawServerOptions): Pick<ClusterOptions, 'apiServer'> {
  const values = flagValues(apiServerFlags, raw);
  if (Object.keys(values).length === 0) return {};
  try {
    return { apiServer: parseApiServerOptions(values) };
  } catch (error) {
    throw error instanceof OptionsError ? wrongUsage(error.message) : error;
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
      throw wrongUsage('--etcd-cafile, --etcd-certfile, --etcd-keyfile: only with --store etcd=URL');
    if (store === 'sqlite' || store === 'memory') return { kind: store };
    throw wrongUsage(`--store: ${store} is none of sqlite, memory and etcd=URL,...`);
  }
  const endpoints = store.slice('etcd='.length).split(',');
  const problem = endpointsProblem(endpoints);
  if (problem !== undefined) throw wrongUsage(`--store: ${problem}`);
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined))
    throw wrongUsage('--etcd-certfile and --etcd-keyfile go together');
  return { kind: 'etcd', endpoints, ...files };
}

/** A CRI endpoint. Throws `UserError` with exit code 2. */
export function parseEndpoint(endpoint: string | undefined): string | undefined {
  if (endpoint !== undefined && !endpoint.startsWith('unix:///'))
    throw wrongUsage(`--container-runtime-endpoint: ${endpoint} is not of the form unix:///path`);
  return endpoint;
}
