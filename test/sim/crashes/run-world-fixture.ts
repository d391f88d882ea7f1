/**
 * Small worlds in which a controller is killed at one of its writes: before the request reaches the server, or after it took
 * effect and before the answer comes. Another one starts a little later; nothing of the dead one is left but what it wrote.
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

/** What people do; the world rests after each. */
export type Step = (h: ServerHarness) => Promise<unknown>;

/** A world that makes a controller write. */
export interface CrashWorld {
  /** Controllers that work undisturbed. */
  readonly with?: readonly ControllerName[];
  readonly config?: ControllersConfig;
  readonly kubelets?: Partial<KubeletConnector>;
  /** Done before the controller starts. */
  readonly before?: Step;
  readonly steps: readonly Step[];
  /** Why it gets nowhere when it is killed at every write: another takes back what is only half done. */
  readonly needsTwoWrites?: string;
  /** What must be so at the end beside the outcome. */
  readonly holds?: Step;
  /** How long the world rests after each step. Default 20 s. */
  readonly restMs?: number;
  /** How often in that time pods are started and ended by their nodes. Default every 500 ms. */
  readonly stepMs?: number;
  /** Pods that nodes run. Default all. */
  readonly runs?: (pod: Pod) => boolean;
}

/** What is killed. */
export interface Program {
  readonly factories: readonly ((deps: ControllerDeps) => Controller)[];
  /** Whom its own client acts as. Default the controller manager. */
  readonly user?: string;
}

/**
 * Where it is killed: at its `write`th write, from 1, or at every one; before it or after it took effect. `unheard`: it took
 * effect, the answer was lost, and the program lives on.
 */
export interface CrashPoint {
  readonly write: number | 'every';
  readonly when: 'before' | 'after' | 'unheard';
}

/** How a world ended, and how it came to that. */
export interface WorldRun {
  readonly outcome: Outcome;
  /** Method and path of each write of the program, over all of its lives. */
  readonly writes: readonly string[];
  /** Of those, how many a new life made after everything had come to rest. */
  readonly writesAtResync: number;
  readonly crashes: number;
  /** What the program tells of itself at the end, as text. */
  readonly metrics: string;
}

const MAX_DOWN_MS = 3000;
/** Of one that is killed at every write: the world must not rest meanwhile. */
const MAX_SHORT_DOWN_MS = 200;
/** Longer than every back-off that a start brings with it. */
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
        // A refusal is an answer too: neither is heard by the dead.
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

/** Events are told, not kept; reviews ask and change nothing; what goes to a node's agent does not stay with the server. */
function isWrite({ method, path }: { readonly method: string; readonly path: string }): boolean {
  return method !== 'GET' && !/\/events|\/proxy\/|\/(subjectaccess|token)reviews$/.test(path);
}

function isRefusal(answer: PromiseSettledResult<ApiResponse>): boolean {
  return answer.status === 'rejected' || ('status' in answer.value && answer.value.status >= 400);
}

function gone(): Error {
  return Object.assign(new Error('the process is gone'), { code: 'ECONNRESET' });
}

/** Of one that is killed whenever a write of its has taken effect. */
const AT_EVERY_WRITE: CrashPoint = { write: 'every', when: 'after' };

/** The points to disturb at: all of each write, or, when these are too many, `most` of them by the seed. */
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

/** Runs a world undisturbed, and again with a crash at every point; all must come to the same end. Resolves to the first. */
export async function survives(
  program: Program,
  world: CrashWorld,
  options: { readonly most: number; readonly seed: string; readonly ignores?: (difference: string) => boolean },
): Promise<WorldRun> {
  const { most, seed, ignores = () => false } = options;
  const calm = await runWorld(program, world);
  const count = calm.writes.length;
  assert.ok(count > 0, 'a world in which it has nothing to do shows nothing');
  const every = world.needsTwoWrites === undefined ? [AT_EVERY_WRITE] : [];
  for (const point of [...every, ...crashPoints(count, most, seed)]) {
    const which = point.write === 'every' ? '' : ` (${calm.writes[point.write - 1]})`;
    const at = `${seed} disturbed ${point.when} write ${point.write}${which} of ${count}`;
    const run = await runWorld(program, world, point);
    const found = differences(calm.outcome, run.outcome).filter((difference) => !ignores(difference));
    assert.deepEqual(found, [], at);
    if (point.write !== 'every') assert.equal(run.crashes, 1, at);
    // Each life must leave something that lasts behind.
    else assert.ok(run.crashes > 0 && run.writes.length <= 2 * count, `${at}:\n${run.writes.join('\n')}`);
  }
  return calm;
}
