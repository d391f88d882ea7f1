/**
 * The userspace mode: every service port is a port of this process, found through redirecting rules, as the first
 * kube-proxy did it. Connections end with this process. Slower than rules alone; for kernels whose load balancing is not to
 * be trusted, and for learning. Rules are one small nftables table of the instance, written whole.
 *
 * Upstream: pkg/proxy/userspace (until 1.25). Traffic policies Local and source ranges are not served: such services are
 * refused by a rule, and named in the log.
 */
import { createBackoff } from '../../base/backoff.ts';
import type { Platform } from '../../platform/platform.ts';
import type { HostPortView } from '../desired-rules.ts';
import type { TableConfig } from '../nft-script.ts';
import type { ApplierDeps, RuleApplier } from '../rule-applier.ts';
import { createProxyMetrics } from '../proxy-metrics.ts';
import type { ServicePortView } from '../service-map.ts';
import { openPortal, type Portal } from './portal.ts';
import { redirectRules, redirectRemoval, type Redirects } from './redirect-rules.ts';

/** What to apply and how. */
export interface UserspaceApplierConfig {
  readonly tables: readonly {
    readonly config: TableConfig;
    wanted(): { readonly ports: readonly ServicePortView[]; readonly hostPorts: readonly HostPortView[] };
  }[];
  readonly commandPrefix?: readonly string[];
  prepare(): void;
  onApplied(): void;
}

const RESYNC_PERIOD_MS = 60_000;
const MIN_GAP_MS = 20;
const RETRY = { initialMs: 100, maxMs: 30_000 };

type Deps = ApplierDeps & Pick<Platform, 'net' | 'datagrams'>;

/** Makes an applier that does nothing until it runs. */
export function createUserspaceApplier(deps: Deps, config: UserspaceApplierConfig): RuleApplier {
  const { clock, log } = deps;
  const metrics = createProxyMetrics(deps.metrics);
  const backoff = createBackoff(RETRY);
  const synced = Promise.withResolvers<void>();
  const portals = new Portals(deps);
  let wake = Promise.withResolvers<void>();
  let [healthy, last, whole] = [false, '', true];

  const nft = async (input: string): Promise<void> => {
    const [file = '', ...args] = [...(config.commandPrefix ?? []), 'nft', '-f', '-'];
    const { exitCode, stderr } = await deps.exec.run(file, args, { input });
    if (exitCode !== 0) throw new Error(`nft: ${stderr.trim().slice(0, 1000)}`);
  };
  async function apply(): Promise<void> {
    config.prepare();
    const startMs = clock.monotonicMs();
    const scripts: string[] = [];
    const used = new Set<string>();
    for (const table of config.tables) {
      const redirects = await portals.redirects(table.wanted(), { family: table.config.family, used });
      scripts.push(redirectRules(table.config, redirects));
    }
    const script = scripts.join('');
    if (script !== last || whole) await nft(script);
    [last, whole] = [script, false];
    await portals.closeOthers(used);
    metrics.synced((clock.monotonicMs() - startMs) / 1000, clock.nowMs() / 1000);
  }

  return {
    synced: synced.promise,
    healthy: () => healthy,
    kick: () => wake.resolve(),
    async run(signal) {
      const stopTicker = clock.setTicker(RESYNC_PERIOD_MS, () => {
        whole = true;
        wake.resolve();
      });
      signal.addEventListener('abort', () => wake.resolve(), { once: true });
      wake.resolve();
      while (!signal.aborted) {
        await wake.promise;
        if (signal.aborted) break;
        await clock.yield();
        wake = Promise.withResolvers();
        try {
          await apply();
          healthy = true;
          backoff.reset();
          synced.resolve();
          config.onApplied();
          await clock.sleep(MIN_GAP_MS, signal).catch(() => undefined);
        } catch (error) {
          const delayMs = backoff.nextMs();
          [healthy, whole] = [false, true];
          metrics.failed();
          log.error('service rules were not applied, again later', { err: error, delayMs });
          wake.resolve();
          await clock.sleep(delayMs, signal).catch(() => undefined);
        }
      }
      stopTicker();
      await portals.closeOthers(new Set());
    },
    remove: () => nft(config.tables.map((table) => redirectRemoval(table.config)).join('')),
  };
}

/** The open ports by service port. */
class Portals {
  readonly #deps: Deps;
  readonly #open = new Map<string, Portal>();
  readonly #refused = new Set<string>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Opens what is missing, tells all their endpoints, and says where traffic is to be sent. */
  async redirects(
    { ports, hostPorts }: { readonly ports: readonly ServicePortView[]; readonly hostPorts: readonly HostPortView[] },
    { family, used }: { readonly family: 4 | 6; readonly used: Set<string> },
  ): Promise<Redirects> {
    const found: { addresses: [string, number][]; nodePorts: [string, number][]; refused: string[] } = {
      addresses: [],
      nodePorts: [],
      refused: [],
    };
    for (const port of ports) {
      const fronts = [port.clusterIp, ...port.externalIps, ...port.loadBalancerIps].map(
        (ip) => `${ip} . ${port.protocol} . ${port.port}`,
      );
      const { protocol } = port;
      if (port.cluster.length === 0 || protocol === 'sctp' || !this.#serves(port)) {
        found.refused.push(...fronts);
        continue;
      }
      const portal = await this.#portal(`${family} ${protocol} ${port.name}`, { protocol, family, used });
      portal.balancer.setTargets(port.cluster, port.affinitySeconds);
      for (const front of fronts) found.addresses.push([front, portal.port]);
      if (port.nodePort > 0) found.nodePorts.push([`${protocol} . ${port.nodePort}`, portal.port]);
    }
    for (const { hostIp, hostPort, protocol, podIp, containerPort } of hostPorts) {
      if (protocol === 'sctp') continue;
      const portal = await this.#portal(`${family} host ${protocol} ${hostIp}:${hostPort}`, { protocol, family, used });
      portal.balancer.setTargets([{ address: podIp, port: containerPort }], 0);
      if (hostIp === '') found.nodePorts.push([`${protocol} . ${hostPort}`, portal.port]);
      else found.addresses.push([`${hostIp} . ${protocol} . ${hostPort}`, portal.port]);
    }
    return found;
  }

  /** Ends those of services that are gone. */
  async closeOthers(used: ReadonlySet<string>): Promise<void> {
    const gone = [...this.#open].filter(([key]) => !used.has(key));
    for (const [key] of gone) this.#open.delete(key);
    await Promise.all(gone.map(([, portal]) => portal.close()));
  }

  /** Policies that need the client's address cannot be kept where connections begin anew here. */
  #serves(port: ServicePortView): boolean {
    const why = port.internalLocal || port.externalLocal ? 'a traffic policy Local' : 'load balancer source ranges';
    if (!port.internalLocal && !port.externalLocal && port.sourceRanges.length === 0) return true;
    if (!this.#refused.has(port.name))
      this.#deps.log.warn(`the userspace mode does not serve ${why}; the service is refused`, { service: port.name });
    this.#refused.add(port.name);
    return false;
  }

  async #portal(
    key: string,
    { protocol, family, used }: { protocol: 'tcp' | 'udp'; family: 4 | 6; used: Set<string> },
  ): Promise<Portal> {
    used.add(key);
    let portal = this.#open.get(key);
    if (portal === undefined) this.#open.set(key, (portal = await openPortal(this.#deps, protocol, family)));
    return portal;
  }
}
