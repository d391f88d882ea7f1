/**
 * Enforces the annotations kubernetes.io/ingress-bandwidth and egress-bandwidth on this node's pods. Ingress is
 * shaped by a token bucket on the pod's host device (tc); egress is policed there by nftables, which needs no further
 * kernel module. Upstream: the CNI plugin `bandwidth`, which runs one more program per pod and needs two kernel
 * modules that many machines lack.
 */
import { onAbort } from '../../base/abort.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { InformerFactory } from '../../client/informer.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { Instance } from '../instance/instance.ts';
import { runOrThrow } from '../../platform/run-or-throw.ts';

export interface PodBandwidthDeps {
  readonly informers: InformerFactory;
  readonly platform: Pick<Platform, 'exec' | 'files' | 'clock' | 'log'>;
}

/** The limits of one pod in bits per second. */
interface Limits {
  readonly ingress?: number;
  readonly egress?: number;
}

const INGRESS = 'kubernetes.io/ingress-bandwidth';
const EGRESS = 'kubernetes.io/egress-bandwidth';
/** Where the runtime's CNI library caches the plugins' results. */
const CNI_RESULTS = '/var/lib/cni/results';
const MIN_BURST_BYTES = 32_768;
const RETRY_MS = 1_000;
const CHECK_PERIOD_MS = 60_000;

/**
 * The limits that the pod's annotations ask for; undefined for none. Throws for values that cannot be parsed or lie
 * outside 1k to 1P. Pure.
 */
export function bandwidthOf({ metadata }: Pod): Limits | undefined {
  const read = (name: string): number | undefined => {
    const text = metadata.annotations?.[name];
    if (text === undefined) return undefined;
    const bits = Number(parseQuantity(text).nanos / 1_000_000_000n);
    if (bits < 1e3) throw new Error('resource is unreasonably small (< 1kbit)');
    if (bits > 1e15) throw new Error('resource is unreasonably large (> 1Pbit)');
    return bits;
  };
  const [ingress, egress] = [read(INGRESS), read(EGRESS)];
  if (ingress === undefined && egress === undefined) return undefined;
  return { ingress, egress };
}

/** A pod's host device with its limits. */
interface Shaped {
  readonly device: string;
  readonly limits: Limits;
}

/** Runs until the signal aborts and leaves the limits in place. Never rejects. The caller starts the informers. */
export async function runPodBandwidth(deps: PodBandwidthDeps, instance: Instance, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps.platform;
  const pods = deps.informers.informer(Pods, { fieldSelector: `spec.nodeName=${instance.nodeName}` });
  let wake = Promise.withResolvers<void>();
  const kick = (): void => wake.resolve();
  const limited = new Map<string, Limits>();
  const read = (pod: Pod): void => {
    const { uid = '', name, namespace } = pod.metadata;
    const limits = limitsOf(pod, (err) => log.warn('a bandwidth annotation is not honoured', { namespace, name, err }));
    if (JSON.stringify(limits) === JSON.stringify(limited.get(uid))) return;
    if (limits === undefined) limited.delete(uid);
    else limited.set(uid, limits);
    kick();
  };
  pods.addHandler({
    onAdd: read,
    onUpdate: (_old, pod) => read(pod),
    onDelete: ({ metadata }) => {
      if (limited.delete(metadata.uid)) kick();
    },
  });
  // Repairs foreign changes.
  const stopTicker = clock.setTicker(CHECK_PERIOD_MS, () => {
    if (limited.size > 0) kick();
  });
  onAbort(signal, () => (stopTicker(), kick()));
  for (;;) {
    await wake.promise;
    if (signal.aborted) return;
    wake = Promise.withResolvers();
    try {
      await apply(deps, instance, limited);
    } catch (error) {
      if (signal.aborted) return;
      logFailedRound(log, 'bandwidth limits were not applied, again later', { err: error });
      await sleepUnlessAborted(clock, RETRY_MS, signal);
      kick();
    }
  }
}

/** The limits of a pod that has its network and has not terminated. */
function limitsOf(pod: Pod, onProblem: (error: unknown) => void): Limits | undefined {
  const { phase, podIP } = pod.status ?? {};
  if (podIP === undefined || pod.spec?.hostNetwork === true || isPodPhaseTerminal(phase)) return undefined;
  try {
    return bandwidthOf(pod);
  } catch (error) {
    onProblem(error);
    return undefined;
  }
}

async function apply(
  { platform }: Pick<PodBandwidthDeps, 'platform'>,
  instance: Instance,
  limited: ReadonlyMap<string, Limits>,
): Promise<void> {
  const shaped: Shaped[] = [];
  const devices = limited.size === 0 ? new Map<string, string>() : await devicesOfPods(platform, instance);
  for (const [uid, limits] of limited) {
    const device = devices.get(uid);
    if (device !== undefined) shaped.push({ device, limits });
  }
  const lines = shapingLines(shaped);
  if (lines.length > 0) await runOrThrow(platform.exec, ['tc', '-batch', '-'], { input: lines.join('') });
  await replacePolicing(platform, instance, shaped);
}

/** The host devices by pod UID, as the CNI plugins reported them. */
async function devicesOfPods(
  { files }: Pick<PodBandwidthDeps['platform'], 'files'>,
  { cniConfig }: Instance,
): Promise<Map<string, string>> {
  const devices = new Map<string, string>();
  if (!(await files.exists(CNI_RESULTS))) return devices;
  const names = (await files.readDir(CNI_RESULTS)).filter((name) => name.startsWith(`${cniConfig.networkName}-`));
  for (const name of names) {
    const text = await files.readText(`${CNI_RESULTS}/${name}`).catch(() => undefined); // its pod has just terminated
    if (text === undefined) continue;
    const { cniArgs = [], result } = JSON.parse(text) as CniResult;
    const uid = cniArgs.find(([key]) => key === 'K8S_POD_UID')?.[1];
    const device = result?.interfaces?.find(({ name: link, sandbox }) => !sandbox && link.startsWith('veth'))?.name;
    if (uid !== undefined && device !== undefined && (await files.exists(`/sys/class/net/${device}`)))
      devices.set(uid, device);
  }
  return devices;
}

interface CniResult {
  readonly cniArgs?: readonly (readonly [string, string])[];
  readonly result?: { readonly interfaces?: readonly { readonly name: string; readonly sandbox?: string }[] };
}

/**
 * The burst in bytes: a tenth of a second's traffic, at least one large packet. Policing passes one second's traffic
 * more.
 */
function burstBytes(bitsPerSecond: number): number {
  return Math.max(MIN_BURST_BYTES, Math.ceil(bitsPerSecond / 80));
}

function shapingLines(shaped: readonly Shaped[]): string[] {
  return shaped.flatMap(({ device, limits: { ingress } }) =>
    ingress === undefined
      ? []
      : [`qdisc replace dev ${device} root tbf rate ${ingress}bit burst ${burstBytes(ingress)} latency 25ms\n`],
  );
}

function bandwidthTable(instance: Pick<Instance, 'nftTable'>): string {
  return `netdev ${instance.nftTable}-bandwidth`;
}

/** The nftables table that polices egress; without rules when no pod is limited. */
export function policingRules(instance: Pick<Instance, 'nftTable'>, shaped: readonly Shaped[]): string {
  const table = bandwidthTable(instance);
  const chains = shaped.flatMap(({ device, limits: { egress } }) =>
    egress === undefined
      ? []
      : [
          `  chain ${device} {
    type filter hook ingress device ${device} priority 0; policy accept;
    limit rate over ${Math.floor(egress / 8)} bytes/second burst ${burstBytes(egress)} bytes drop
  }`,
        ],
  );
  const removal = `add table ${table}\ndelete table ${table}\n`;
  return chains.length === 0 ? removal : `${removal}table ${table} {\n${chains.join('\n')}\n}\n`;
}

/** Removes the nftables table; the limits on devices are removed with the devices. */
export function removePodBandwidth(platform: Pick<Platform, 'exec'>, instance: Instance): Promise<void> {
  return replacePolicing(platform, instance, []);
}

async function replacePolicing(
  { exec }: Pick<Platform, 'exec'>,
  instance: Instance,
  shaped: readonly Shaped[],
): Promise<void> {
  await runOrThrow(exec, ['nft', '-f', '-'], { input: policingRules(instance, shaped) });
}
