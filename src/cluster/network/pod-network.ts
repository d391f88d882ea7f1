/**
 * The pod network on one node: forwarding, the device that the service range is routed to, the rules of
 * `pod-network-rules.ts`, accept rules before foreign chains that drop forwarded traffic, and the CNI configuration
 * once the node knows its pod range. `remove` removes everything.
 */
import { formatIp, nthAddress, parseCidr, rangeFamily, rangesOf } from '../../base/cidr.ts';
import { errorMessage } from '../../base/errors.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { runNft, runOrThrow } from '../../platform/run-or-throw.ts';
import type { Instance } from '../instance/instance.ts';
import { type BridgePorts, createBridgePorts } from './bridge-ports.ts';
import { CNI_FILE, cniConfigList, type Attachment } from './cni-config.ts';
import { insertForwardAccepts, removeForwardAccepts } from './forward-accepts.ts';
import { neighbourRules, removeNeighbourRules } from './neighbour-rules.ts';
import { removeNodeRoutes } from './kernel-routes.ts';
import { podNetworkRules, removePodNetworkRules } from './pod-network-rules.ts';

export interface PodNetwork {
  /** Creates devices, routes and rules. Idempotent. */
  start(): Promise<void>;
  /** Repeats `start` every minute until the signal aborts, which repairs foreign changes. Never rejects. */
  keep(signal: AbortSignal): Promise<void>;
  /**
   * Writes the CNI configuration for one range, or one per family (separated by a comma). The runtime notices the new
   * file.
   */
  setPodCidr(podCidr: string): Promise<void>;
  /** Sets the MTU of pods that start from now on, by rewriting the configuration. */
  setMtu(mtu: number): Promise<void>;
  /**
   * Lets packets from loopback addresses be routed to pods. Since pods could then send to loopback addresses too, the
   * rules against that are installed first. Lasts as long as the bridge. Rejects where pods are not attached to a
   * bridge.
   */
  routeLoopback(): Promise<void>;
  /** Undefined where the user's CNI plugin attaches pods. */
  readonly ports: BridgePorts | undefined;
  /** Removes everything. Problems are returned, not thrown, so that one does not prevent the rest. */
  remove(): Promise<readonly string[]>;
}

type Deps = Pick<Platform, 'clock' | 'exec' | 'files' | 'log'>;

const KEEP_PERIOD_MS = 60_000;
/** The folder exists only where the kernel has IPv6. */
const IPV6_DEVICES = '/proc/sys/net/ipv6/conf';

/** The tenth address of the first service range: the cluster DNS's. */
export function dnsAddress(serviceCidr: string): string {
  return nthServiceAddress(serviceCidr, 10);
}

/** The first address of the service range: the `kubernetes` Service's. */
export function kubernetesServiceAddress(serviceCidr: string): string {
  return nthServiceAddress(serviceCidr, 1);
}

function nthServiceAddress(serviceCidr: string, index: number): string {
  const cidr = parseCidr(rangesOf(serviceCidr)[0] ?? '');
  const address = cidr === undefined ? undefined : nthAddress(cidr, index);
  if (address === undefined) throw new Error(`${serviceCidr} has no address number ${index}`);
  return formatIp(address);
}

/** Changes nothing on the machine before `start`. */
export function createPodNetwork(deps: Deps, instance: Instance): PodNetwork {
  const known: { podCidr?: string; mtu?: number } = {};
  const writeConfig = async (): Promise<void> => {
    const { podCidr, mtu } = known;
    if (podCidr === undefined || instance.cni === 'none') return;
    const path = `${instance.cniConfig.confDir}/${CNI_FILE}`;
    const sized = mtu === undefined ? {} : { mtu };
    const wanted = cniConfigList(instance, { podCidr, attachment: await attachment(deps), ...sized });
    if ((await deps.files.exists(path)) && (await deps.files.readText(path)) === wanted) return;
    await deps.files.makeDir(instance.cniConfig.confDir);
    await deps.files.writeFileAtomic(path, wanted);
  };
  const reportedChains = new Set<string>();
  const ports = instance.cni === 'none' ? undefined : createBridgePorts(deps, instance.bridge);
  const start = async (): Promise<void> => {
    await Promise.all([
      enableForwarding(deps, instance),
      ensureServiceDevice(deps, instance),
      ports?.update(),
      runNft(deps.exec, podNetworkRules(instance)),
      ...(instance.cni === 'none'
        ? []
        : [guardNeighbours(deps, instance), insertForwardAccepts(deps, instance, reportedChains)]),
    ]);
  };
  return {
    start,
    ports,
    async keep(signal) {
      for (;;) {
        await sleepUnlessAborted(deps.clock, KEEP_PERIOD_MS, signal);
        if (signal.aborted) return;
        await start().catch((error: unknown) =>
          deps.log.error('cannot restore the pod network, will retry in a minute', { err: error }),
        );
      }
    },
    setPodCidr(podCidr) {
      known.podCidr = podCidr;
      return writeConfig();
    },
    async setMtu(mtu) {
      if (known.mtu === mtu) return;
      known.mtu = mtu;
      await writeConfig();
    },
    async routeLoopback() {
      const path = `/proc/sys/net/ipv4/conf/${instance.bridge}/route_localnet`;
      if ((await deps.files.readText(path)).trim() === '1') return;
      await runNft(deps.exec, podNetworkRules(instance));
      await deps.files.writeFile(path, '1');
    },
    remove: () => removeAll(deps, instance),
  };
}

async function attachment({ files }: Deps): Promise<Attachment> {
  return (await files.exists('/proc/sys/net/bridge/bridge-nf-call-iptables')) ? 'bridge' : 'ptp';
}

const hasIpv6 = ({ clusterCidr }: Instance): boolean => rangesOf(clusterCidr).some((range) => rangeFamily(range) === 6);

async function enableForwarding({ files }: Deps, instance: Instance): Promise<void> {
  const set = async (path: string, value: string): Promise<void> => {
    if ((await files.exists(path)) && (await files.readText(path)).trim() !== value) await files.writeFile(path, value);
  };
  await set('/proc/sys/net/ipv4/ip_forward', '1');
  await set('/proc/sys/net/bridge/bridge-nf-call-iptables', '1');
  // Even without an IPv6 pod range, since pods have link-local addresses.
  await set('/proc/sys/net/bridge/bridge-nf-call-ip6tables', '1');
  if (!hasIpv6(instance)) return;
  if (!(await files.exists(IPV6_DEVICES))) throw new Error('this kernel has no IPv6: the ranges must be of IPv4 alone');
  // A machine that forwards ignores router advertisements unless accept_ra is 2, and would lose its default route.
  for (const device of await files.readDir(IPV6_DEVICES)) {
    const path = `${IPV6_DEVICES}/${device}/accept_ra`;
    if ((await files.readText(path).catch(() => '')).trim() === '1') await files.writeFile(path, '2');
  }
  await set(`${IPV6_DEVICES}/all/forwarding`, '1');
}

async function guardNeighbours(deps: Deps, instance: Instance): Promise<void> {
  if (await deps.files.exists(IPV6_DEVICES)) await runNft(deps.exec, neighbourRules(instance));
}

async function ensureServiceDevice(deps: Deps, instance: Instance): Promise<void> {
  const { files } = deps;
  const device = instance.serviceDevice;
  if (!(await files.exists(`/sys/class/net/${device}`))) await ip(deps, ['link', 'add', device, 'type', 'bridge']);
  const ranges = rangesOf(instance.serviceCidr);
  const lines = [`link set ${device} up`, ...ranges.map((range) => `route replace ${range} dev ${device}`)];
  const dns = dnsAddress(instance.serviceCidr);
  const address = `${dns}/${dns.includes(':') ? '128' : '32'}`;
  if (instance.dns !== 'none') lines.push(`addr replace ${address} dev ${device}`);
  // A Service of the user's has this address, so the node must not have it. A missing address is no error.
  else await deps.exec.run('ip', ['addr', 'del', address, 'dev', device]);
  await runOrThrow(deps.exec, ['ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
}

async function ip({ exec }: Deps, args: readonly string[]): Promise<void> {
  await runOrThrow(exec, ['ip', ...args], { name: `ip ${args.join(' ')}` });
}

async function removeAll(deps: Deps, instance: Instance): Promise<readonly string[]> {
  const problems: string[] = [];
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    await work().catch((error: unknown) => problems.push(errorMessage(error)));
  };
  for (const device of [instance.bridge, instance.serviceDevice]) {
    if (await deps.files.exists(`/sys/class/net/${device}`)) await attempt(() => ip(deps, ['link', 'del', device]));
  }
  // After the bridge, which may route to loopback addresses.
  await attempt(() => runNft(deps.exec, removePodNetworkRules(instance)));
  await attempt(async () => {
    if (await deps.files.exists(IPV6_DEVICES)) await runNft(deps.exec, removeNeighbourRules(instance));
  });
  await attempt(() => removeForwardAccepts(deps, instance));
  await attempt(() => removeNodeRoutes(deps, instance));
  if (instance.cni !== 'none') await attempt(() => deps.files.remove(instance.cniConfig.confDir));
  await attempt(() => deps.files.remove(instance.cniConfig.ipamDir));
  return problems;
}
