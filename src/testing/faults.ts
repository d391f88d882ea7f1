/** What can go wrong between the parts of a simulated cluster, on demand. */
import { reportCallers } from './caller.ts';
import type { Pace } from './pace.ts';
import type { ComponentName, SimWorld } from './sim-world.ts';
import type { StoreFaults } from './faulty-store.ts';

/** A part that calls the API server: `controllers`, `scheduler`, `kubelet` (all of them) or `kubelet/NODE`. */
export type Part = ComponentName | 'kubelet' | `kubelet/${string}`;

/** What can be ended and started: the API server too. */
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

  /** Delivers a fraction (0 to 1) of the batches of watch events that reach a part, or all, twice. Lasts as `lagWatches` does. */
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

  /** Whether a controller (by upstream's name), or the `apiserver`, does its work: runs, and is not disconnected. */
  works(name: string): boolean {
    return this.#world().works(name);
  }

  /** Ends a part at once; `start` brings a new one. */
  async crash(part: RestartablePart): Promise<void> {
    if (part === 'apiserver') this.#world().crashServer();
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
        () => (node === undefined ? world.crashComponent(name) : node.crashKubelet()),
        () => (node === undefined ? world.startComponent(name) : node.start()),
      ),
    );
  }

  /** What goes wrong on a timer comes out of the wait that moves time. */
  #fail(error: unknown): void {
    this.#pace.clock.setTimer(0, () => {
      throw error;
    });
  }
}
