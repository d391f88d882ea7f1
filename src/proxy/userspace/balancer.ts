/**
 * Chooses endpoints for one service port: round robin, and with ClientIP affinity the client's last endpoint, until
 * the client was silent for the timeout. Pure. Upstream: pkg/proxy/userspace/roundrobin.go (until 1.25).
 */

export interface Target {
  readonly address: string;
  readonly port: number;
}

export interface Balancer {
  /** Sets the endpoints. New connections of clients of removed ones choose again. */
  setTargets(targets: readonly Target[], affinitySeconds: number): void;
  /** The next endpoint; undefined when there is none. `again`: the client's last one did not answer. */
  next(client: string, nowMs: number, again?: boolean): Target | undefined;
}

/** The most remembered clients; the oldest are dropped first. */
const MAX_CLIENTS = 65_536;

export function createBalancer(): Balancer {
  const clients = new Map<string, { readonly key: string; readonly lastMs: number }>();
  let targets: readonly Target[] = [];
  let keys = new Map<string, Target>();
  let affinityMs = 0;
  let turn = 0;
  const keyOf = ({ address, port }: Target): string => `${address} ${port}`;
  return {
    setTargets(now, affinitySeconds) {
      targets = now;
      keys = new Map(now.map((target) => [keyOf(target), target]));
      affinityMs = affinitySeconds * 1000;
      for (const [client, { key }] of clients) if (affinityMs === 0 || !keys.has(key)) clients.delete(client);
    },
    next(client, nowMs, again = false) {
      const had = clients.get(client);
      const own = had === undefined || again || nowMs - had.lastMs >= affinityMs ? undefined : keys.get(had.key);
      const target = own ?? targets[turn++ % Math.max(1, targets.length)];
      if (target !== undefined && affinityMs > 0) {
        clients.delete(client); // moves it to the end
        clients.set(client, { key: keyOf(target), lastMs: nowMs });
        if (clients.size > MAX_CLIENTS) for (const oldest of clients.keys()) if (clients.delete(oldest)) break;
      }
      return target;
    },
  };
}
