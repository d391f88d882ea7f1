/**
 * The annotations kubernetes.io/ingress-bandwidth and egress-bandwidth of this node's pods. What a pod receives is shaped by
 * a token bucket on its host device (tc), what it sends is policed there by nftables, which every kernel with nftables has.
 * Upstream: the CNI plugin `bandwidth`, one more program per pod, and two kernel modules many machines lack.
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

export interface PodBandwidthDeps {
  readonly informers: InformerFactory;
  readonly platform: Pick<Platform, 'exec' | 'files' | 'clock' | 'log'>;
}

/** Limits of one pod, bits per second. */
interface Limits {
  readonly ingress?: number;
  readonly egress?: number;
}

const INGRESS = 'kubernetes.io/ingress-bandwidth';
const EGRESS = 'kubernetes.io/egress-bandwidth';
/** Where the runtime's CNI library keeps what plugins answered. */
const CNI_RESULTS = '/var/lib/cni/results';
const MIN_BURST_BYTES = 32_768;
const RETRY_MS = 1_000;
const CHECK_PERIOD_MS = 60_000;

/** The limits a pod asks for; undefined for none. Throws for what cannot be read, or is not between 1k and 1P. Pure. */
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

/** What one pod's device gets. */
interface Shaped {
  readonly device: string;
  readonly limits: Limits;
}

/** Runs until the signal aborts; limits stay. Never rejects. Its informers must be started by the caller. */
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
  // Heals what others did.
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

/** Those of a pod that has its network and is not done. */
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
  await must(platform, { program: 'tc', args: ['-batch', '-'], input: shapingLines(shaped).join('') });
  await must(platform, { program: 'nft', args: ['-f', '-'], input: policingRules(instance, shaped) });
}

/** Host devices by pod UID, as the CNI plugins named them. */
async function devicesOfPods(
  { files }: Pick<PodBandwidthDeps['platform'], 'files'>,
  { cniConfig }: Instance,
): Promise<Map<string, string>> {
  const devices = new Map<string, string>();
  if (!(await files.exists(CNI_RESULTS))) return devices;
  const names = (await files.readDir(CNI_RESULTS)).filter((name) => name.startsWith(`${cniConfig.networkName}-`));
  for (const name of names) {
    const text = await files.readText(`${CNI_RESULTS}/${name}`).catch(() => undefined); // Its pod has just ended.
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

/** Bytes that may pass at once: a tenth of a second's, at least one large packet. Policing lets pass a second's more. */
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

/** The table anew; nothing where nobody is limited. */
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

/** Removes the table; limits on devices go with them. */
export function removePodBandwidth(platform: Pick<Platform, 'exec'>, instance: Instance): Promise<void> {
  return must(platform, { program: 'nft', args: ['-f', '-'], input: policingRules(instance, []) });
}

async function must(
  { exec }: Pick<Platform, 'exec'>,
  { program, args, input }: { readonly program: string; readonly args: readonly string[]; readonly input: string },
): Promise<void> {
  if (input === '') return;
  const { exitCode, stderr } = await exec.run(program, args, { input });
  if (exitCode !== 0) throw new Error(`${program}: ${stderr.trim().slice(0, 500)}`);
}
