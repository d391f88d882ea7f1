/**
 * Small worlds in which a controller is killed at one of its writes: before the request reaches the server, or after it took
 * effect and before the response arrives. A new instance starts a little later; only the writes of the killed one remain.
 */
import assert from 'node:assert/strict';
import type { Pod } from '../../../src/api/gen/core-v1.ts';
import type { ApiHandler, ApiResponse } from '../../../src/api/transport.ts';
import type { KubeletConnector } from '../../../src/apiserver/registry/services.ts';
import type { Controller, ControllerDeps, ControllersConfig } from '../../../src/controllers/controller.ts';
import { controllers, type ControllerName } from '../../../src/controllers/list.ts';
import { startServerHarness, type ServerHarness } from '../../../src/controllers/server-harness-fixture.ts';
import { createSeededRandom } from '../../../src/platform/sim/random.ts';
import { differences, recordOutcome, type Outcome } from './outcome-fixture.ts';

/** A user's action, after which the world rests. */
export type Step = (h: ServerHarness) => Promise<unknown>;

/** A world that makes a controller write. */
export interface CrashWorld {
  /** Controllers that run undisturbed. */
  readonly with?: readonly ControllerName[];
  readonly config?: ControllersConfig;
  readonly kubelets?: Partial<KubeletConnector>;
  /** Runs before the controller starts. */
  readonly before?: Step;
  readonly steps: readonly Step[];
  /** The reason why it makes no progress when it is killed at every write: another controller undoes half of its work. */
  readonly needsTwoWrites?: string;
  /** Further conditions at the end. */
  readonly holds?: Step;
  /** How long the world rests after each step. Default 20 s. */
  readonly restMs?: number;
  /** The interval in that time at which nodes start and end pods. Default 500 ms. */
  readonly stepMs?: number;
  /** Pods that nodes run. Default all. */
  readonly runs?: (pod: Pod) => boolean;
}

/** The program to kill. */
export interface Program {
  readonly factories: readonly ((deps: ControllerDeps) => Controller)[];
  /** The user of its own client. Default the controller manager. */
  readonly user?: string;
}

/**
 * Where it is killed: at its `write`th write, from 1, or at every one; before the write or after it took effect. `unheard`: the
 * write took effect, the response was lost, and the program lives on. `late`: nothing is killed, but its caches are delayed all
 * the time.
 */
export interface CrashPoint {
  readonly write: number | 'every';
  readonly when: 'before' | 'after' | 'unheard' | 'late';
}

/** The result of a world. */
export interface WorldRun {
  readonly outcome: Outcome;
  /** Method and path of each write of the program, over all instances. */
  readonly writes: readonly string[];
  /** The number of these that a new instance made after everything had come to rest. */
  readonly writesAtResync: number;
  readonly crashes: number;
  /** The program's metrics at the end, as text. */
  readonly metrics: string;
}

const MAX_DOWN_MS = 3000;
/** The downtime of a program that is killed at every write, during which the world must not come to rest. */
const MAX_SHORT_DOWN_MS = 200;
/** Longer than every back-off at a start. */
const RESYNC_MS = 10_000;

/** Runs a world from its beginning to its end. Without a point nothing is killed. */
export async function runWorld(program: Program, world: CrashWorld, point?: CrashPoint): Promise<WorldRun> {
  const beside = (world.with ?? []).map((name): ((deps: ControllerDeps) => Controller) => controllers[name]);
  const h = await startServerHarness(beside, world.config, world.kubelets as KubeletConnector | undefined);
  const recorded = await recordOutcome(h.store);
  const life = startLives(h, program, point);
  const { restMs = 20_000, stepMs = 500, runs = () => true } = world;
  await world.before?.(h);
  life.start();
  for (const step of world.steps) {
    await step(h);
    await h.run(restMs, { stepMs, which: runs });
  }
  const outcome = recorded.outcome();
  await world.holds?.(h);
  const before = life.writes.length;
  life.kill();
  life.start();
  await h.run(RESYNC_MS, { stepMs, which: runs });
  const metrics = await h.metrics.expose();
  await h.stop();
  const writesAtResync = life.writes.length - before;
  return { outcome, writes: life.writes, writesAtResync, crashes: life.crashes(), metrics };
}

interface Lives {
  readonly writes: readonly string[];
  crashes(): number;
  start(): void;
  kill(): void;
}

function startLives(h: ServerHarness, program: Program, point: CrashPoint | undefined): Lives {
  const writes: string[] = [];
  const random = createSeededRandom(`${point?.when} ${point?.write}`);
  let crashes = 0;
  let calm = point === undefined;
  let kill: () => void = () => undefined;
  const crash = (): void => {
    crashes++;
    kill();
    h.clock.setTimer(random.int(point?.write === 'every' ? MAX_SHORT_DOWN_MS : MAX_DOWN_MS), start);
  };
  function start(): void {
    let dead = false;
    const through =
      (server: ApiHandler): ApiHandler =>
      async (request) => {
        if (dead) throw gone();
        const number = isWrite(request) ? writes.push(`${request.method} ${request.path}`) : 0;
        const doomed = number > 0 && !calm && (point?.write === 'every' || number === point?.write);
        if (doomed && point.when === 'before') {
          crash();
          throw gone();
        }
        if (doomed && point.when === 'unheard') {
          crashes++;
          await server(request);
          throw gone();
        }
        if (point?.when === 'late' && !calm) return late(await server(request), h.clock);
        // A refusal is a response too: a killed program receives neither.
        const [answer] = await Promise.allSettled([server(request)]);
        if (doomed && !dead && !(point.write === 'every' && isRefusal(answer))) crash();
        if (dead) throw gone();
        if (answer.status === 'rejected') throw answer.reason;
        return answer.value;
      };
    const end = h.startThrough({ ...program, through });
    kill = () => {
      dead = true;
      end(gone());
    };
  }
  return {
    writes,
    start,
    crashes: () => crashes,
    kill() {
      calm = true;
      kill();
    },
  };
}

/**
 * Whether a request changes stored state. Events and reviews do not count, and neither do requests that are forwarded to a node.
 */
function isWrite({ method, path }: { readonly method: string; readonly path: string }): boolean {
  return method !== 'GET' && !/\/events|\/proxy\/|\/(subjectaccess|token)reviews$/.test(path);
}

function isRefusal(answer: PromiseSettledResult<ApiResponse>): boolean {
  return answer.status === 'rejected' || ('status' in answer.value && answer.value.status >= 400);
}

function gone(): Error {
  return Object.assign(new Error('the process is gone'), { code: 'ECONNRESET' });
}

/** For a program whose caches are delayed. */
const LATE: CrashPoint = { write: 'every', when: 'late' };

/** For a program that is killed whenever one of its writes has taken effect. */
const AT_EVERY_WRITE: CrashPoint = { write: 'every', when: 'after' };

/** The crash points: all of each write or, when these are too many, a sample of `most` by the seed. */
function crashPoints(writes: number, most: number, seed: string): CrashPoint[] {
  const all = Array.from({ length: writes }, (_, at): CrashPoint[] => [
    { write: at + 1, when: 'before' },
    { write: at + 1, when: 'after' },
    { write: at + 1, when: 'unheard' },
  ]).flat();
  const random = createSeededRandom(seed);
  while (all.length > most) all.splice(random.int(all.length), 1);
  return all;
}

/** Runs a world undisturbed, and again with a crash at every point; all must have the same outcome. Resolves to the first. */
export async function survives(
  program: Program,
  world: CrashWorld,
  options: {
    readonly most: number;
    readonly seed: string;
    /** Also with delayed caches. */
    readonly late?: boolean;
    readonly ignores?: (difference: string) => boolean;
  },
): Promise<WorldRun> {
  const { most, seed, ignores = () => false } = options;
  const calm = await runWorld(program, world);
  const count = calm.writes.length;
  assert.ok(count > 0, 'a world in which it has nothing to do shows nothing');
  const every = world.needsTwoWrites === undefined ? [AT_EVERY_WRITE] : [];
  if (options.late === true) every.push(LATE);
  for (const point of [...every, ...crashPoints(count, most, seed)]) {
    const which = point.write === 'every' ? '' : ` (${calm.writes[point.write - 1]})`;
    const at = `${seed} disturbed ${point.when} write ${point.write}${which} of ${count}`;
    const run = await runWorld(program, world, point);
    const found = differences(calm.outcome, run.outcome).filter((difference) => !ignores(difference));
    assert.deepEqual(found, [], at);
    if (point.when === 'late') continue;
    if (point.write !== 'every') assert.equal(run.crashes, 1, at);
    // Each instance must make at least one lasting write.
    else assert.ok(run.crashes > 0 && run.writes.length <= 2 * count, `${at}:\n${run.writes.join('\n')}`);
  }
  return calm;
}

const LAG_MS = 1500;

/** Delays the server's watch events, so that caches are delayed. */
function late(answer: ApiResponse, clock: ServerHarness['clock']): ApiResponse {
  if (answer.kind !== 'watch') return answer;
  const inner = answer.events[Symbol.asyncIterator]();
  return {
    ...answer,
    events: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          const result = await inner.next();
          if (result.done !== true) await clock.sleep(LAG_MS);
          return result;
        },
        async return() {
          await inner.return?.();
          return { done: true as const, value: undefined };
        },
      }),
    },
  };
}
