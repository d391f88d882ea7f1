/** Faults between the components of a simulated cluster, caused by tests. */
import { reportCallers } from './caller.ts';
import type { Pace } from './pace.ts';
import type { ComponentName } from './sim-components.ts';
import type { SimWorld } from './sim-world.ts';
import type { StoreFaults } from './faulty-store.ts';

/** A component that calls the API server: `controllers`, `scheduler`, `kubelet` (all of them) or `kubelet/NODE`. */
export type Part = ComponentName | 'kubelet' | `kubelet/${string}`;

/** The components that can be ended and started, including the API server. */
export type RestartablePart = ComponentName | 'apiserver';

export class TestFaults {
  readonly #pace: Pace;
  readonly #world: () => SimWorld;

  readonly #before: (call: string) => void;

  static {
    reportCallers(TestFaults, (faults, call) => faults.#before(`faults.${call}`));
  }

  constructor({ pace, world, before }: { pace: Pace; world: () => SimWorld; before: (call: string) => void }) {
    this.#pace = pace;
    this.#world = world;
    this.#before = before;
  }

  /** The faults of the store, which tests change by assignment. */
  get store(): StoreFaults {
    return this.#world().faults;
  }

  /** Breaks the watches of a component, or of all; they are resumed as after a lost connection. */
  dropWatches(part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.dropWatches();
  }

  /**
   * Delays watch events for a component, or for all, which makes caches stale. Lasts until the component restarts or 0 is set.
   */
  lagWatches(lagMs: number, part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.lagWatches(lagMs);
  }

  /** Delivers a fraction (0 to 1) of the batches of watch events to a component, or to all, twice. Lasts like `lagWatches`. */
  repeatWatches(rate: number, part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.repeatWatches(rate);
  }

  /** Refuses the calls of a component, or of all, until `reconnect`. */
  disconnect(part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.close();
  }

  /** Ends `disconnect`. */
  reconnect(part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.open();
  }

  /** Whether a controller (by upstream's name), or the `apiserver`, is working: it runs and is not disconnected. */
  works(name: string): boolean {
    return this.#world().works(name);
  }

  /** Ends a component at once; `start` starts a new one. */
  async crash(part: RestartablePart): Promise<void> {
    if (part === 'apiserver') this.#world().crashServer();
    else this.#world().components.crash(part);
  }

  /** Starts a component that was ended. */
  async start(part: RestartablePart): Promise<void> {
    const world = this.#world();
    await this.#pace.drive(part === 'apiserver' ? world.startServer() : world.components.start(part));
  }

  /** Stops a component gracefully and starts it again. */
  async restart(part: RestartablePart): Promise<void> {
    const world = this.#world();
    await this.#pace.drive(part === 'apiserver' ? world.stopServer() : world.components.stop(part));
    await this.start(part);
  }

  /**
   * Ends a component when its `writes`th write from now has reached the store and before the component receives the response, and
   * starts a new one after `downMs`.
   */
  crashAfterWrites(part: RestartablePart | `kubelet/${string}`, writes: number, downMs: number = 0): void {
    const world = this.#world();
    const crashed = (crash: () => void, start: () => Promise<void>) => (): void => {
      crash();
      this.#pace.clock.setTimer(downMs, () => void start().catch((error: unknown) => this.#fail(error)));
    };
    if (part === 'apiserver') {
      if (world.storeGate === undefined) throw new Error(`${part} does not run`);
      world.storeGate.cutAfterWrites(
        writes,
        crashed(
          () => world.crashServer(),
          () => world.startServer(),
        ),
      );
      return;
    }
    const [gate] = world.gates(part);
    if (gate === undefined) throw new Error(`${part} does not run`);
    const node = world.nodes.get(part.slice('kubelet/'.length));
    const name = part as ComponentName;
    gate.afterWrites(
      writes,
      crashed(
        () => (node === undefined ? world.components.crash(name) : node.crashKubelet()),
        () => (node === undefined ? world.components.start(name) : node.start()),
      ),
    );
  }

  /** An error in a timer is thrown by the wait that advances time. */
  #fail(error: unknown): void {
    this.#pace.clock.setTimer(0, () => {
      throw error;
    });
  }
}
