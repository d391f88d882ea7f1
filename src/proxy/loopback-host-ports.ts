/**
 * Host ports of loopback addresses. The kernel routes packets from these to pods only with a setting that also opens
 * this machine's loopback addresses to pods: the pod network enables it, with a guard, when the first pod needs it.
 * IPv6 has no such setting. Upstream: the CNI plugin portmap, which does not serve ::1 either.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import { Lru } from '../base/lru.ts';
import type { Log } from '../platform/log.ts';
import { wantsLoopbackHostPort } from './desired-rules.ts';
import { wantsOwnPort } from './host-port-rules.ts';

export interface LoopbackHostPorts {
  /** Examines a new or changed pod; records one warning for a port that cannot be served. */
  observe(key: string, pod: Pod): void;
  /** Resolves when the packets are routed. A failure is logged, and the next call retries. */
  routed(): Promise<void>;
}

/** The number of pods whose warning is remembered. */
const WARNED_PODS = 100;

/**
 * Without `route` host ports of IPv4 loopback addresses are not served; `portals`: this process serves them, without
 * routing.
 */
export function createLoopbackHostPorts(
  log: Log,
  {
    route,
    portals,
    ownTcpPorts = [],
  }: {
    readonly route: (() => Promise<void>) | undefined;
    readonly portals: boolean;
    readonly ownTcpPorts?: readonly number[] | undefined;
  },
): LoopbackHostPorts {
  const warned = new Lru<string, true>(WARNED_PODS);
  let wanted = false;
  const warnOnce = (key: string, message: string): void => {
    if (warned.get(key) !== undefined) return;
    warned.set(key, true);
    log.warn(message, { pod: key });
  };
  return {
    observe(key, pod) {
      if (wantsOwnPort(pod, ownTcpPorts))
        warnOnce(
          key,
          'a host port is not served: the API, the kubelet or the registry of this machine is served there',
        );
      const served = route !== undefined && wantsLoopbackHostPort(pod, 4);
      wanted ||= served;
      if (!wantsLoopbackHostPort(pod, 6) && (served || !wantsLoopbackHostPort(pod, 4))) return;
      warnOnce(key, 'a host port with a loopback hostIP is not served');
    },
    async routed() {
      if (!wanted || portals || route === undefined) return;
      try {
        await route();
        wanted = false;
      } catch (error) {
        log.warn('host ports with a loopback hostIP do not answer', { err: error });
      }
    },
  };
}
