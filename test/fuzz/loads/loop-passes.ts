// Ends turns where the product returns to its event loop: at results of the store, of files and of the container runtime, which
// are microtasks in a simulation, and at pauses by the clock, which virtual time ends at once.
import { wrapMethods } from '../../../src/base/wrap-methods.ts';
import { SimContainer } from '../../../src/cri/sim/sim-container.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { LoopTurns } from '../../../src/platform/node/loop-turns.ts';
import { VirtualClock } from '../../../src/platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../../../src/storage/memory/memory-store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { SchedulingCycles } from '../../../src/scheduler/scheduling-cycles.ts';
import { SimNode } from '../../../src/testing/sim-node.ts';

/** The number of old revisions that the store keeps. */
const KEPT_CHANGES = 5000;

type Method = (...values: unknown[]) => unknown;

/** A service whose results end turns. */
function withPasses<T extends object>(service: T, onPass: () => void): T {
  return wrapMethods(service, (_name, method) => passing(method.bind(service) as Method, onPass));
}

/** Tasks that pause by the clock share turns as in the product: each turn has a few milliseconds of them. */
function shareTurns(clock: VirtualClock): void {
  const turns = new LoopTurns();
  // One token for all waiting tasks, acquired again by each that continues, so that none is held long enough to count as lost.
  let waiting = 0;
  let release: (() => void) | undefined;
  const hold = (): (() => void) => clock.holdBusy('a turn of the loop');
  const held = (turn: Promise<void>): Promise<void> => {
    waiting++;
    release ??= hold();
    return turn.finally(() => {
      waiting--;
      release?.();
      release = waiting > 0 ? hold() : undefined;
    });
  };
  clock.yield = (flow?: string) => held(turns.yield(flow));
  Object.assign(clock, {
    turn(flow?: string) {
      const room = turns.turn(flow);
      return room && held(room);
    },
  });
}

/** The store of a cluster on whose clock tasks share turns. */
export function storeWithPasses(clock: Clock, onPass: () => void): Store {
  if (!(clock instanceof VirtualClock)) throw new Error('loads run on virtual time');
  shareTurns(clock);
  return withPasses(createMemoryStore({ clock, keepChanges: KEPT_CHANGES }), onPass);
}

let onMachinePass = (): void => {};
const start = SimNode.prototype.start;

SimNode.prototype.start = function () {
  const { files } = this.platform;
  const onPass = (): void => onMachinePass();
  for (const [name, method] of Object.entries(files))
    Object.assign(files, { [name]: passing(method as Method, onPass) });
  const { runtime, images } = this.runtime;
  Object.assign(this.runtime, { runtime: withPasses(runtime, onPass), images: withPasses(images, onPass) });
  return start.call(this);
};

const { exit } = SimContainer.prototype;

/** The end of a process is no turn of the product. */
SimContainer.prototype.exit = function (code, reason) {
  onMachinePass();
  return exit.call(this, code, reason).finally(() => onMachinePass());
};

const { scheduleOne } = SchedulingCycles.prototype;

/** The scheduler yields by the clock, which stands: a turn is at most one cycle longer than its slice. */
SchedulingCycles.prototype.scheduleOne = function (queued, signal) {
  onMachinePass();
  return scheduleOne.call(this, queued, signal);
};

/** Makes results of machines end turns. */
export function passesOfMachines(onPass: () => void): void {
  onMachinePass = onPass;
}

function passing(method: Method, onPass: () => void): Method {
  return (...values) => {
    const result = method(...values);
    return result instanceof Promise ? result.finally(onPass) : result;
  };
}
