/**
 * Keeps cluster IPs and node ports of services unique. The allocations are rebuilt from the cached services and
 * follow them; a create or update allocates what it needs before the write and releases it when the write fails.
 *
 * Invariant: allocating is synchronous, so no two writes of this process get the same address or port. Where several
 * servers share the store, each allocation is also a claim in it (`shared-claims.ts`). Upstream:
 * registry/core/service/storage/alloc.go. Differs: without other servers there are no IPAddress objects and no
 * bitmaps in the store.
 */
import { invalidValue } from '../../../../api/field-error.ts';
import type { Service, ServicePort } from '../../../../api/gen/core-v1.ts';
import { Services } from '../../../../api/gen/resources.ts';
import { internalError, type StatusError } from '../../../../api/status-error.ts';
import { formatIp, parseCidr, parseIp } from '../../../../base/cidr.ts';
import type { Clock } from '../../../../platform/clock.ts';
import type { Log } from '../../../../platform/log.ts';
import type { Random } from '../../../../platform/random.ts';
import { logFailure } from '../../../../platform/unexpected.ts';
import type { Store } from '../../../../storage/store.ts';
import type { ObjectStore } from '../../object-store.ts';
import {
  type Allocation,
  DEFAULT_NODE_PORT_RANGE,
  heldClaims,
  ipFailure,
  type IpFamily,
  invalidService,
  type ServiceAllocatorConfig,
  type AllocatedClaim,
} from './allocation.ts';
import { AllocationError, IpAllocator } from './ip-allocator.ts';
import { PortAllocator } from './port-allocator.ts';
import { heldIps, heldPorts, needsClusterIp, needsHealthCheckNodePort, needsNodePort } from './service-fields.ts';
import { type Claim, SharedClaims } from './shared-claims.ts';

/** The period of repairs, as upstream. */
const REPAIR_MS = 180_000;
/** How often another dynamic choice is tried when other servers were faster. */
const MAX_CHOICES = 50;

/** Unique addresses and ports of services. */
export class ServiceAllocator {
  readonly #ips = new Map<IpFamily, IpAllocator>();
  readonly #ports: PortAllocator;
  readonly #objects: ObjectStore;
  readonly #claims: SharedClaims | undefined;
  readonly #clock: Clock | undefined;
  readonly #log: Log | undefined;

  /** `shared`: the store, when other servers write to it too. */
  constructor(
    deps: {
      objects: ObjectStore;
      random: Random;
      shared?: { readonly store: Store; readonly clock: Clock; readonly log: Log };
    },
    config: ServiceAllocatorConfig,
  ) {
    this.#objects = deps.objects;
    this.#clock = deps.shared?.clock;
    this.#log = deps.shared?.log;
    this.#claims = deps.shared && new SharedClaims({ ...deps.shared, random: deps.random });
    const dns = config.dnsAddress === undefined ? undefined : parseIp(config.dnsAddress);
    for (const text of config.serviceClusterIpRanges) {
      const range = parseCidr(text);
      if (range === undefined) throw new Error(`invalid service range ${JSON.stringify(text)}`);
      const reserved = dns?.family === range.family ? [dns] : [];
      this.#ips.set(range.family === 4 ? 'IPv4' : 'IPv6', new IpAllocator(range, deps.random, reserved));
    }
    if (this.#ips.size === 0) throw new Error('a cluster needs a service range');
    this.#ports = new PortAllocator(config.nodePortRange ?? DEFAULT_NODE_PORT_RANGE, deps.random);
  }

  /** The cluster's families, the default one first. */
  get families(): readonly IpFamily[] {
    return [...this.#ips.keys()];
  }

  /**
   * Reads the allocations of existing services and follows changes. The cache must be filled. Returns a function that
   * stops it.
   */
  start(): () => void {
    const unfollow = this.#objects.onChange(Services, (service, old) => this.#follow(service, old));
    const claims = this.#claims;
    if (claims === undefined || this.#clock === undefined) return unfollow;
    // The next repair completes an unfinished one.
    const repair = (): void => {
      claims.repair(this.#objects.list(Services), heldClaims).catch(this.#leave);
    };
    repair();
    const stopTicker = this.#clock.setTicker(REPAIR_MS, repair);
    return () => {
      stopTicker();
      unfollow();
    };
  }

  #follow(service: Service | undefined, old: Service | undefined): void {
    const ips = new Set(heldIps(service));
    const ports = new Set(heldPorts(service));
    for (const ip of heldIps(old)) if (!ips.has(ip)) this.#releaseIp(ip);
    for (const port of heldPorts(old)) if (!ports.has(port)) this.#ports.release(port);
    if (old !== undefined) {
      const still = new Set(heldClaims(service).map(({ kind, value }) => `${kind} ${value}`));
      const gone = heldClaims(old).filter(({ kind, value }) => !still.has(`${kind} ${value}`));
      for (const claim of gone) this.#unclaim(claim, old);
    }
    for (const ip of ips) this.#note(() => this.#takeIp(ip));
    for (const port of ports) this.#note(() => this.#ports.take(port));
  }

  /**
   * Records an allocation of a stored service; errors (already recorded by the own write, or out of range) are
   * ignored.
   */
  #note(take: () => void): void {
    try {
      take();
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
    }
  }

  #allocatorFor(ip: string): IpAllocator | undefined {
    const parsed = parseIp(ip);
    return parsed === undefined ? undefined : this.#ips.get(parsed.family === 4 ? 'IPv4' : 'IPv6');
  }

  #takeIp(ip: string): void {
    const allocator = this.#allocatorFor(ip);
    if (allocator === undefined) throw new AllocationError('the provided network does not match the current range');
    allocator.take(parseIp(ip)!);
  }

  #releaseIp(ip: string): void {
    this.#allocatorFor(ip)?.release(parseIp(ip)!);
  }

  /** Releases a claim; the next repair retries a failure. */
  #unclaim(claim: Claim, service: Service): void {
    this.#claims?.remove(claim, service.metadata.uid).catch(this.#leave);
  }

  readonly #leave = (error: unknown): void => {
    logFailure(this.#log, 'claims on service addresses and ports were not repaired, again later', error);
  };

  /**
   * Allocates the addresses and ports that the draft needs, writes them into it, and claims them where other servers
   * might take the same. Rejects with a StatusError, after releasing everything.
   */
  async allocate(draft: Service, old: Service | undefined, dryRun: boolean): Promise<Allocation> {
    const claims = dryRun ? undefined : this.#claims;
    if (claims === undefined) {
      const { allocation } = this.#take(draft, old);
      if (!dryRun) return allocation;
      // Synchronously, since others may take the same in the meantime.
      allocation.rollback();
      return { commit: () => undefined, rollback: () => undefined };
    }
    const { spec } = draft;
    for (let choice = 1; ; choice++) {
      draft.spec = structuredClone(spec!);
      const { taken, allocation } = this.#take(draft, old);
      const made = await Promise.all(taken.map((one) => claims.make(one, draft))).catch((error: unknown) => {
        allocation.rollback();
        throw error;
      });
      const lost = taken.filter((_, index) => !made[index]);
      if (lost.length === 0) {
        const rollback = (): void => {
          for (const one of taken) this.#unclaim(one, draft);
          allocation.rollback();
        };
        return { commit: allocation.commit, rollback };
      }
      // Claims of another server stay allocated here: its service is about to appear.
      const allocatedClaims = taken.filter((_, index) => made[index]);
      await Promise.all(allocatedClaims.map((one) => claims.remove(one, draft.metadata.uid)));
      for (const one of allocatedClaims) one.release();
      const refused = lost.find(({ chosen }) => chosen !== undefined);
      if (refused !== undefined) throw refused.chosen!();
      if (choice === MAX_CHOICES) throw internalError('failed to allocate: other servers took every choice');
    }
  }

  #take(
    draft: Service,
    old: Service | undefined,
  ): { readonly taken: readonly AllocatedClaim[]; readonly allocation: Allocation } {
    const taken: AllocatedClaim[] = [];
    const rollback = () => {
      for (const { release } of taken) release();
    };
    try {
      this.#allocateIps(draft, old, taken);
      this.#allocatePorts(draft, old, taken);
      this.#allocateHealthCheckPort(draft, old, taken);
    } catch (error) {
      rollback();
      throw error;
    }
    // Claims of the old object are released when the cache shows the write.
    return { taken, allocation: { commit: () => undefined, rollback } };
  }

  #allocateIps(draft: Service, old: Service | undefined, taken: AllocatedClaim[]): void {
    if (!needsClusterIp(draft)) return;
    const spec = draft.spec!;
    const held = new Set(heldIps(old));
    const ips = [...(spec.clusterIPs ?? [])];
    for (const [index, family] of ((spec.ipFamilies ?? []) as IpFamily[]).entries()) {
      const wanted = ips[index] ?? '';
      if (wanted !== '' && held.has(wanted)) continue;
      const allocator = this.#ips.get(family);
      if (allocator === undefined) continue;
      try {
        if (wanted === '') ips[index] = formatIp(allocator.takeNext());
        else this.#takeIp(wanted);
      } catch (error) {
        throw ipFailure(draft, wanted, error);
      }
      const ip = ips[index]!;
      const inUse = (): StatusError =>
        ipFailure(draft, wanted, new AllocationError('provided IP is already allocated')) as StatusError;
      taken.push({
        kind: 'ip',
        value: ip,
        release: () => this.#releaseIp(ip),
        chosen: wanted === '' ? undefined : inUse,
      });
    }
    spec.clusterIPs = ips;
    if (ips[0] !== undefined) spec.clusterIP = ips[0];
  }

  #allocatePorts(draft: Service, old: Service | undefined, taken: AllocatedClaim[]): void {
    const held = new Set(heldPorts(old));
    const own = new Map<number, ServicePort[]>();
    const ports = heldPorts(draft).length > 0 || needsNodePort(draft) ? (draft.spec?.ports ?? []) : [];
    // Chosen ports first, so that a dynamic one never takes a port chosen later in the list.
    for (const [index, port] of ports.entries()) {
      const wanted = port.nodePort ?? 0;
      if (wanted === 0) continue;
      if (!own.has(wanted) && !held.has(wanted))
        this.#takePort(draft, taken, { port: wanted, path: `spec.ports[${index}].nodePort` });
      own.set(wanted, [...(own.get(wanted) ?? []), port]);
    }
    if (!needsNodePort(draft)) return;
    const samePort = Map.groupBy(ports, ({ port }) => port);
    for (const port of ports) {
      if ((port.nodePort ?? 0) !== 0) continue;
      const shared = samePort
        .get(port.port)!
        .find((other) => other.protocol !== port.protocol && (other.nodePort ?? 0) !== 0);
      const free =
        shared !== undefined && !(own.get(shared.nodePort!) ?? []).some((other) => other.protocol === port.protocol);
      port.nodePort = free ? shared.nodePort! : this.#takeNext(taken, 'a nodePort');
      own.set(port.nodePort, [...(own.get(port.nodePort) ?? []), port]);
    }
  }

  #allocateHealthCheckPort(draft: Service, old: Service | undefined, taken: AllocatedClaim[]): void {
    if (!needsHealthCheckNodePort(draft)) return;
    const wanted = draft.spec!.healthCheckNodePort ?? 0;
    if (wanted === 0) draft.spec!.healthCheckNodePort = this.#takeNext(taken, 'a HealthCheck NodePort');
    else if (!heldPorts(old).includes(wanted))
      this.#takePort(draft, taken, { port: wanted, path: 'spec.healthCheckNodePort' });
  }

  #takePort(draft: Service, taken: AllocatedClaim[], { port, path }: { port: number; path: string }): void {
    const refused = (text: string): StatusError => invalidService(draft, [invalidValue(path, port, text)]);
    try {
      this.#ports.take(port);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      throw refused(error.message);
    }
    const chosen = (): StatusError => refused('provided port is already allocated');
    taken.push({ kind: 'port', value: String(port), release: () => this.#ports.release(port), chosen });
  }

  #takeNext(taken: AllocatedClaim[], what: string): number {
    try {
      const port = this.#ports.takeNext();
      taken.push({ kind: 'port', value: String(port), release: () => this.#ports.release(port) });
      return port;
    } catch (error) {
      if (error instanceof AllocationError) throw internalError(`failed to allocate ${what}: ${error.message}`, error);
      throw error;
    }
  }
}
