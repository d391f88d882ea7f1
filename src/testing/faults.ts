/** What can go wrong between the parts of a simulated cluster, on demand. */
import type { Pace } from './pace.ts';
import type { ComponentName, SimWorld } from './sim-world.ts';
import type { StoreFaults } from './faulty-store.ts';

/** A part that calls the API server: `controllers`, `scheduler`, `kubelet` (all of them) or `kubelet/NODE`. */
export type Part = ComponentName | 'kubelet' | `kubelet/${string}`;

/** What can be ended and started: the API server too. */
export type RestartablePart = ComponentName | 'apiserver';

/** The faults. */
export class TestFaults {
  readonly #pace: Pace;
  readonly #world: () => SimWorld;

  constructor(pace: Pace, world: () => SimWorld) {
    this.#pace = pace;
    this.#world = world;
  }

  /** What is wrong with the store; assign to it. */
  get store(): StoreFaults {
    return this.#world().faults;
  }

  /** Breaks the watches of a part, or of all; they are resumed as after a lost connection. */
  dropWatches(part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.dropWatches();
  }

  /** Lets watch events reach a part, or all, so much later: stale caches. Lasts until the part restarts or 0 is set. */
  lagWatches(lagMs: number, part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.lagWatches(lagMs);
  }

  /** Lets so many of the batches of watch events that reach a part, or all, come twice: 0 to 1. Lasts as `lagWatches` does. */
  repeatWatches(rate: number, part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.repeatWatches(rate);
  }

  /** Refuses the calls of a part, or of all, until `reconnect`. */
  disconnect(part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.close();
  }

  /** Ends `disconnect`. */
  reconnect(part?: Part): void {
    for (const gate of this.#world().gates(part)) gate.open();
  }

  /** Ends a part at once; `start` brings a new one. */
  async crash(part: RestartablePart): Promise<void> {
    if (part === 'apiserver') await this.#pace.drive(this.#world().stopServer());
    else this.#world().crashComponent(part);
  }

  /** Starts a part that was ended. */
  async start(part: RestartablePart): Promise<void> {
    const world = this.#world();
    await this.#pace.drive(part === 'apiserver' ? world.startServer() : world.startComponent(part));
  }

  /** Stops a part in order and starts it again. */
  async restart(part: RestartablePart): Promise<void> {
    const world = this.#world();
    await this.#pace.drive(part === 'apiserver' ? world.stopServer() : world.stopComponent(part));
    await this.start(part);
  }

  /**
   * Ends a part when its `writes`th write from now has reached the store and before it hears of that, and starts a new one
   * after `downMs`.
   */
  crashAfterWrites(part: ComponentName | `kubelet/${string}`, writes: number, downMs: number = 0): void {
    const world = this.#world();
    const again = (start: () => Promise<void>): void => {
      const failed = (error: unknown): void =>
        this.#pace.clock.setTimer(0, () => {
          throw error;
        }) as unknown as void;
      this.#pace.clock.setTimer(downMs, () => void start().catch(failed));
    };
    const [gate] = world.gates(part);
    if (gate === undefined) throw new Error(`${part} does not run`);
    gate.afterWrites(writes, () => {
      const node = part.startsWith('kubelet/') ? world.nodes.get(part.slice('kubelet/'.length)) : undefined;
      if (node === undefined) world.crashComponent(part as ComponentName);
      else node.crashKubelet();
      again(() => (node === undefined ? world.startComponent(part as ComponentName) : node.start()));
    });
  }
}
