/**
 * Controllers and scheduler of a simulated cluster. Each behaves like a separate process: it can be stopped, crash and start
 * again, and reaches the API server through a gate.
 */
import type { ApiHandler, Principal } from '../api/transport.ts';
import { onAbort } from '../base/abort.ts';
import type { Client } from '../client/client.ts';
import {
  type BuiltInConfig,
  runBuiltInControllers,
  startBuiltInScheduler,
} from '../cluster/control-plane/built-in-clients.ts';
import type { ControlPlane } from '../cluster/control-plane/control-plane.ts';
import type { Instance } from '../cluster/instance/instance.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import { createGate, type Gate } from './gate.ts';
import type { SimNode } from './sim-node.ts';
import type { SimWorldDeps, WorldIdentity } from './sim-world-deps.ts';

interface Running {
  readonly life: AbortController;
  readonly gate: Gate;
  readonly ended: Promise<void>;
}

export type ComponentName = 'controllers' | 'scheduler';

/** The parts of the world that components use. */
interface ComponentWorld {
  readonly instance: Instance;
  /** Undefined while the API server is down. */
  readonly server: () => ApiHandler | undefined;
  clientFor(principal: Principal, userAgent: string, gate: Gate): Client;
  readonly authority: () => WorldIdentity['ca'];
  /** Throws while there is none. */
  readonly controlPlane: () => ControlPlane;
  readonly machine: (nodeName: string) => SimNode | undefined;
}

export class SimComponents {
  readonly #deps: SimWorldDeps;
  readonly #world: ComponentWorld;
  readonly #running = new Map<ComponentName, Running>();
  #scheduler: Scheduler | undefined;

  constructor(deps: SimWorldDeps, world: ComponentWorld) {
    this.#deps = deps;
    this.#world = world;
  }

  has(name: ComponentName): boolean {
    return this.#running.has(name);
  }

  /** Undefined while it does not run. */
  get scheduler(): Scheduler | undefined {
    return this.#scheduler;
  }

  /** Starts a component. Resolves once the scheduler runs; controllers may still be starting. */
  async start(name: ComponentName): Promise<void> {
    if (this.#running.has(name)) return;
    const { platform, controllers, scheduler } = this.#deps;
    const life = new AbortController();
    const { clock, random } = platform;
    const gate = createGate({ clock, random: random.fork(`gate/${name}`), server: this.#world.server });
    const deps = {
      platform,
      clientFor: (principal: Principal, agent: string) => this.#world.clientFor(principal, agent, gate),
    };
    let ended = Promise.resolve();
    if (name === 'controllers' && controllers?.length !== 0)
      ended = runBuiltInControllers(deps, this.#controllersConfig(), life.signal);
    if (name === 'scheduler' && scheduler) ended = this.#startScheduler(deps, life.signal);
    // A component that is ended during its start rejects with the reason of its end.
    ended = ended.catch((error: unknown) => {
      if (!life.signal.aborted) throw error;
    });
    this.#running.set(name, { life, gate, ended });
    if (name === 'scheduler') await ended;
  }

  #controllersConfig(): BuiltInConfig {
    const { certPem, keyPem } = this.#world.authority();
    const { controllers, cloud } = this.#deps;
    return {
      instance: this.#world.instance,
      rootCaPem: certPem,
      // Certificate requests are signed once there is a key, that is, once the cluster has a real port.
      clusterSigning: keyPem === undefined ? undefined : { certPem, keyPem },
      signServiceAccountToken: this.#world.controlPlane().tokens.issueLegacy,
      cloudNodes: cloud ? this.#cloudNodes : undefined,
      settings: controllers && { names: controllers },
    };
  }

  /** Reports to the controllers the machines behind nodes. */
  readonly #cloudNodes: NonNullable<BuiltInConfig['cloudNodes']> = {
    stateOf: ({ metadata }) => {
      const machine = this.#world.machine(metadata.name ?? '');
      return Promise.resolve(machine === undefined ? 'gone' : machine.powered ? 'exists' : 'off');
    },
  };

  async #startScheduler(deps: Parameters<typeof startBuiltInScheduler>[0], signal: AbortSignal): Promise<void> {
    onAbort(signal, () => (this.#scheduler = undefined));
    const config = { hostName: 'simulated', setup: this.#deps.schedulerSetup?.() };
    const scheduler = await startBuiltInScheduler(deps, config, signal);
    if (!signal.aborted) this.#scheduler = scheduler;
  }

  /** Ends a component at once. */
  crash(name: ComponentName): void {
    const running = this.#running.get(name);
    this.#running.delete(name);
    running?.gate.destroy();
    running?.life.abort(new Error(`the ${name} crashed`));
  }

  /** Stops a component gracefully. */
  async stop(name: ComponentName): Promise<void> {
    const running = this.#running.get(name);
    this.#running.delete(name);
    running?.life.abort(new Error(`the ${name} stopped`));
    await running?.ended;
    running?.gate.destroy();
  }

  /** Whether the controller is enabled, runs, and can reach the API server. */
  runsController(name: string): boolean {
    const running = this.#running.get('controllers');
    return (this.#deps.controllers?.includes(name) ?? true) && running?.gate.closed === false;
  }

  gates(): readonly (readonly [ComponentName, Gate])[] {
    return [...this.#running].map(([name, { gate }]) => [name, gate]);
  }
}
