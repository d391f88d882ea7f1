/**
 * Removes stale UDP flows with the `conntrack` program. UDP connections have no end, so the kernel keeps sending a
 * client's datagrams to a removed endpoint while the client sends. Upstream: pkg/proxy/conntrack.
 */
import { hasErrorCode } from '../base/errors.ts';
import type { Exec } from '../platform/exec.ts';
import type { Log } from '../platform/log.ts';
import type { ServicePortView } from './service-map.ts';
import { background } from '../platform/unexpected.ts';

/** Flows to delete, as arguments of `conntrack -D -p udp`. */
export type FlowFilter = readonly string[];

/** Each filter starts a program. When a change of a service needs more, flows are removed by destination alone. */
const MAX_FILTERS = 1000;
/** The most waiting filters of all services. */
const MAX_WAITING = 10_000;

/** The flows that a change of one service's ports makes stale, at most {@link MAX_FILTERS} filters. Pure. */
export function staleFlows(before: readonly ServicePortView[], after: readonly ServicePortView[]): FlowFilter[] {
  const now = new Map(after.map((port) => [frontKey(port), port]));
  const was = new Map(before.map((port) => [frontKey(port), port]));
  const changed: { readonly fronts: readonly FlowFilter[]; readonly gone: readonly string[] }[] = [];
  for (const [key, port] of was) {
    if (port.protocol !== 'udp') continue;
    // Endpoints that terminate but serve keep their flows, as do those that hints took away.
    const left = new Set([...endpointAddresses(now.get(key)), ...(now.get(key)?.serving ?? [])]);
    const gone = [...new Set([...endpointAddresses(port), ...port.serving])].filter((address) => !left.has(address));
    if (gone.length > 0) changed.push({ fronts: frontsOf(port), gone });
  }
  const opened = [...now].flatMap(([key, port]) => flowsToHost(port, was.get(key)));
  const pairs = changed.reduce((sum, { fronts, gone }) => sum + fronts.length * gone.length, 0);
  const exact = pairs + opened.length <= MAX_FILTERS;
  const removed = changed.flatMap(({ fronts, gone }) =>
    exact ? fronts.flatMap((front) => gone.map((address) => [...front, '--dst-nat', address])) : fronts,
  );
  return [...removed, ...opened].slice(0, MAX_FILTERS);
}

/** Datagrams that arrived before there was an endpoint may be tracked as addressed to this host. */
function flowsToHost(port: ServicePortView, before: ServicePortView | undefined): FlowFilter[] {
  const isFirst = endpointAddresses(before).length === 0 && endpointAddresses(port).length > 0;
  if (port.protocol !== 'udp' || port.nodePort === 0 || !isFirst) return [];
  return [flowsOfPort(port.nodePort, port.clusterIp.includes(':') ? 6 : 4)];
}

/** All flows to a port, whatever the address. */
export function flowsOfPort(port: number | string, family: 4 | 6): FlowFilter {
  return [...(family === 6 ? ['-f', 'ipv6'] : []), '--orig-port-dst', String(port)];
}

function frontKey(port: ServicePortView): string {
  return `${port.protocol} ${port.clusterIp} ${port.port} ${port.nodePort}`;
}

function endpointAddresses(port: ServicePortView | undefined): string[] {
  return port === undefined ? [] : [...port.cluster, ...port.local].map((e) => e.address);
}

function frontsOf(port: ServicePortView): FlowFilter[] {
  const fronts: FlowFilter[] = [port.clusterIp, ...port.externalIps, ...port.loadBalancerIps].map((ip) => [
    '--orig-dst',
    ip,
    '--orig-port-dst',
    String(port.port),
  ]);
  if (port.nodePort > 0) fronts.push(flowsOfPort(port.nodePort, port.clusterIp.includes(':') ? 6 : 4));
  return fronts;
}

/** Deletes flows one filter after the other, in the background. */
export interface FlowCleaner {
  add(filters: readonly FlowFilter[]): void;
  /** Starts deleting, unless it is already running. */
  flush(): void;
}

/** Logs once that the program is missing. */
export function createFlowCleaner(
  { exec, log }: { readonly exec: Exec; readonly log: Log },
  commandPrefix: readonly string[] = [],
): FlowCleaner {
  const waiting = new Map<string, FlowFilter>();
  let running = false;
  let missing = false;
  let full = false;
  async function work(): Promise<void> {
    running = true;
    for (const [key, filter] of waiting) {
      waiting.delete(key);
      await remove(filter);
    }
    running = false;
  }
  async function remove(filter: FlowFilter): Promise<void> {
    if (missing) return;
    const [file, ...args] = [
      ...commandPrefix,
      'conntrack',
      '-D',
      '-p',
      'udp',
      ...(isIpv6(filter) && filter[0] !== '-f' ? ['-f', 'ipv6'] : []),
      ...filter,
    ];
    try {
      const result = await exec.run(file as string, args);
      // It exits with 1 when no flow matched.
      if (result.exitCode > 1)
        log.warn('stale UDP flows were not removed', { filter: filter.join(' '), stderr: result.stderr.trim() });
    } catch (error) {
      missing = hasErrorCode(error, 'ENOENT');
      log.warn(
        'stale UDP flows cannot be removed: clients of UDP services may talk to endpoints that are gone until they pause. Install conntrack',
        { err: error },
      );
    }
  }
  return {
    add(filters) {
      for (const filter of filters) {
        if (waiting.size < MAX_WAITING) {
          waiting.set(filter.join(' '), filter);
          full = false;
        } else if (!full) {
          log.warn('too many stale UDP flows wait for removal: others stay until their clients pause');
          full = true;
        }
      }
    },
    flush() {
      if (!running && waiting.size > 0) background(log, 'stale UDP flows could not be removed', work());
    },
  };
}

function isIpv6(filter: FlowFilter): boolean {
  return filter.some((part) => part.includes(':'));
}
