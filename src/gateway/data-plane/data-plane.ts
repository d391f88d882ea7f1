/**
 * The data plane of a node: opens the ports of a snapshot, serves its routes, and replaces both at the next snapshot. A port in
 * use is tried again periodically. It reads only snapshots and has no access to the cluster.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import { errorMessage } from '../../base/errors.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import { Backends } from './backends/backends.ts';
import type { DataPlaneReport, Listener, ListenerState, ServedCertificate, Snapshot } from '../snapshot/snapshot.ts';
import { boundedProblems } from './data-plane-report.ts';
import { createPlaneLimits, type PlaneLimits } from './plane-limits.ts';
import type { ByServerName } from './certificate-for.ts';
import { PortServer } from './port-server.ts';
import { Router } from './router.ts';
import { StalledBodies } from './stalled-bodies.ts';

const RETRY_LISTEN_MS = 1_000;
const CLOSE_GRACE_MS = 10_000;

export interface DataPlaneDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each snapshot, and when the state of a port changes. */
  readonly report: (report: DataPlaneReport) => void;
  /** Absent: limits by the process's file descriptors. */
  readonly limits?: PlaneLimits | undefined;
  readonly stalled?: StalledBodies | undefined;
}

interface OpenPort {
  readonly server: PortServer;
  state: ListenerState;
  isOpen: boolean;
  /** The attempt to listen that is under way: a second one would get the same socket. */
  attempt?: Promise<void> | undefined;
  cancelRetry?: CancelTimer | undefined;
}

export class DataPlane {
  readonly #deps: DataPlaneDeps;
  readonly #backends: Backends;
  readonly #router: Router;
  readonly #limits: PlaneLimits;
  readonly #ports = new Map<number, OpenPort>();
  /** Contexts by the texts of certificate and key, so that an unchanged certificate is parsed once. */
  #contexts = new Map<string, SecureContext>();
  #applied = 0;
  #problems: readonly string[] = [];
  readonly #closing = new Set<Promise<void>>();

  constructor(deps: DataPlaneDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? createPlaneLimits();
    this.#backends = new Backends(deps.clock);
    const { stalled = new StalledBodies(deps.clock) } = deps;
    this.#router = new Router({ ...deps, backends: this.#backends, stalled });
  }

  async apply(generation: number, snapshot: Snapshot): Promise<void> {
    const problems: string[] = [];
    const certificates = this.#certificatesOf(snapshot.listeners, problems);
    this.#router.use(snapshot);
    const wanted = new Map(snapshot.listeners.map(({ port, isTls }) => [port, isTls]));
    for (const [port, open] of this.#ports) {
      if (wanted.get(port) === open.server.isTls) continue;
      await open.attempt;
      this.#close(port, open);
    }
    for (const listener of snapshot.listeners) await this.#serve(listener, certificates.get(listener) ?? new Map());
    [this.#applied, this.#problems] = [generation, boundedProblems(problems)];
    this.#report();
  }

  async stop(): Promise<void> {
    for (const [port, open] of this.#ports) {
      await open.attempt;
      this.#close(port, open);
    }
    await Promise.all(this.#closing);
    this.#backends.close();
  }

  async #serve({ port, isTls, certificates }: Listener, contexts: ByServerName<SecureContext>): Promise<void> {
    let open = this.#ports.get(port);
    if (open === undefined) {
      open = {
        server: new PortServer({ ...this.#deps, router: this.#router, limits: this.#limits }, port, isTls),
        state: { port },
        isOpen: false,
      };
      this.#ports.set(port, open);
    }
    open.server.use(contexts);
    const fallback = certificates.find(({ names }) => names.includes(''));
    if (fallback !== undefined && contexts.has('')) open.server.setDefault(fallback.certPem, fallback.keyPem);
    if (!open.isOpen) await this.#listen(port, open);
  }

  #listen(port: number, open: OpenPort): Promise<void> {
    open.attempt ??= this.#tryToListen(port, open).finally(() => (open.attempt = undefined));
    return open.attempt;
  }

  async #tryToListen(port: number, open: OpenPort): Promise<void> {
    open.cancelRetry?.();
    try {
      await open.server.listen();
      open.isOpen = true;
      open.state = { port };
    } catch (error) {
      open.state = { port, problem: (error as NodeJS.ErrnoException).code ?? errorMessage(error) };
      open.cancelRetry = this.#deps.clock.setTimer(RETRY_LISTEN_MS, () => {
        if (this.#ports.get(port) !== open || open.isOpen) return;
        background(this.#deps.log, 'a port could not be opened', this.#retry(port, open));
      });
    }
  }

  async #retry(port: number, open: OpenPort): Promise<void> {
    const before = open.state.problem;
    await this.#listen(port, open);
    if (open.state.problem !== before) this.#report();
  }

  #close(port: number, { server, isOpen, cancelRetry }: OpenPort): void {
    this.#ports.delete(port);
    cancelRetry?.();
    if (!isOpen) return;
    const closed = server.close(CLOSE_GRACE_MS).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  #certificatesOf(
    listeners: readonly Listener[],
    problems: string[],
  ): ReadonlyMap<Listener, ByServerName<SecureContext>> {
    const before = this.#contexts;
    this.#contexts = new Map();
    const contextOf = (certificate: ServedCertificate): SecureContext | undefined => {
      const { certPem: cert, keyPem: key } = certificate;
      const id = `${cert}\n${key}`;
      try {
        const context =
          before.get(id) ?? this.#contexts.get(id) ?? createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
        this.#contexts.set(id, context);
        return context;
      } catch (error) {
        problems.push(`the certificate of ${certificate.names.join(', ') || 'all names'}: ${errorMessage(error)}`);
        return undefined;
      }
    };
    return new Map(
      listeners.map((listener) => {
        const byName = new Map<string, SecureContext>();
        for (const certificate of listener.certificates) {
          const context = contextOf(certificate);
          if (context === undefined) continue;
          for (const name of certificate.names)
            if (!byName.has(name.toLowerCase())) byName.set(name.toLowerCase(), context);
        }
        return [listener, byName];
      }),
    );
  }

  #report(): void {
    const listeners = [...this.#ports.values()].map(({ state }) => state);
    this.#deps.report({ applied: this.#applied, listeners, problems: this.#problems });
  }
}
