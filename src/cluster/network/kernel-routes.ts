/** The kernel's routes to other nodes' pods: reading, changing and removing those with Keelson's protocol number. */
import { appendAll } from '../../base/lists.ts';
import { cidrContains, parseCidr, parseIp, rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { Platform } from '../../platform/platform.ts';
import { runOrThrow } from '../../platform/run-or-throw.ts';
import type { Instance } from '../instance/instance.ts';
import { ROUTE_PROTOCOL } from './node-links.ts';

/** A route as `ip -json route show` prints it. */
export interface KernelRoute {
  readonly dst: string;
  readonly gateway?: string;
  readonly dev?: string;
  /** Absent: unicast. */
  readonly type?: string;
}

export interface DesiredRoute {
  readonly dst: string;
  /** What `ip route replace` gets besides the protocol. */
  readonly line: string;
  readonly matches: (route: KernelRoute) => boolean;
}

/** Removes the routes that are not desired, and adds or replaces those that are missing. */
export async function syncRoutes(
  { exec }: Pick<Platform, 'exec'>,
  instance: Instance,
  desired: readonly DesiredRoute[],
): Promise<void> {
  const present = await ownRoutes({ exec }, instance);
  const stale = present.filter((route) => !desired.some(({ dst }) => dst === route.dst));
  const missing = desired.filter(({ dst, matches }) => !present.some((route) => route.dst === dst && matches(route)));
  await runBatch({ exec }, 'ip', [
    ...stale.map(({ dst }) => `route del ${dst} proto ${ROUTE_PROTOCOL}`),
    ...missing.map(({ line }) => `route replace ${line} proto ${ROUTE_PROTOCOL}`),
  ]);
}

async function ownRoutes({ exec }: Pick<Platform, 'exec'>, instance: Instance): Promise<KernelRoute[]> {
  const kernelRoutes: KernelRoute[] = [];
  for (const range of rangesOf(instance.clusterCidr)) {
    const family = `-${rangeFamily(range)}`;
    const { stdout } = await exec.run('ip', [family, '-json', 'route', 'show', 'proto', ROUTE_PROTOCOL]);
    const cluster = parseCidr(range);
    const ours = (JSON.parse(stdout === '' ? '[]' : stdout) as KernelRoute[]).filter(({ dst }) => {
      const address = parseIp(dst.split('/')[0] ?? '');
      return cluster !== undefined && address !== undefined && cidrContains(cluster, address);
    });
    appendAll(kernelRoutes, ours);
  }
  return kernelRoutes;
}

/** Runs lines of `ip` or `bridge`; none starts no program. */
export async function runBatch(
  { exec }: Pick<Platform, 'exec'>,
  program: 'ip' | 'bridge',
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return;
  // `-force`: a line that the kernel refuses does not stop the others.
  await runOrThrow(exec, [program, '-force', '-batch', '-'], { input: `${lines.join('\n')}\n` });
}

/** Whether the machine has a network device of this name. */
export function hasDevice({ files }: Pick<Platform, 'files'>, device: string): Promise<boolean> {
  return files.exists(`/sys/class/net/${device}`);
}

/** The MTU of the link that has the address; undefined where it cannot be read. */
export async function mtuOfAddress(
  { files, net }: Pick<Platform, 'files' | 'net'>,
  nodeIp: string,
): Promise<number | undefined> {
  const link = net.interfaces().find(({ address }) => address === nodeIp)?.name;
  const path = `/sys/class/net/${link}/mtu`;
  if (link === undefined || !(await files.exists(path))) return undefined;
  return Number((await files.readText(path)).trim());
}

/** Removes routes and tunnel devices; missing ones are no error. */
export async function removeNodeRoutes(platform: Pick<Platform, 'exec' | 'files'>, instance: Instance): Promise<void> {
  await syncRoutes(platform, instance, []);
  for (const device of [instance.tunnelDevice, instance.wireguardDevice])
    if (await hasDevice(platform, device)) await runBatch(platform, 'ip', [`link del ${device}`]);
}
