/**
 * Small worlds in which a controller is killed at one of its writes: before the request reaches the server, or after it took
 * effect and before the answer comes. Another one starts a little later; nothing of the dead one is left but what it wrote.
 */
import type { Pod } from '../../../src/api/gen/core-v1.ts';
import type { ApiHandler } from '../../../src/api/transport.ts';
import type { KubeletConnector } from '../../../src/apiserver/registry/services.ts';
import type { Controller, ControllerDeps, ControllersConfig } from '../../../src/controllers/controller.ts';
import { controllers, type ControllerName } from '../../../src/controllers/list.ts';
import { startServerHarness, type ServerHarness } from '../../../src/controllers/server-harness-fixture.ts';
import { createSeededRandom } from '../../../src/platform/sim/random.ts';
import { recordOutcome, type Outcome } from './outcome-fixture.ts';

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

/** Where it is killed: at its `write`th write, from 1. */
export interface CrashPoint {
  readonly write: number;
  readonly when: 'before' | 'after';
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
  let crashes = 0;
  let kill: () => void = () => undefined;
  const crash = (): void => {
    crashes++;
    kill();
    const seed = `${point?.when} ${point?.write}`;
    h.clock.setTimer(createSeededRandom(seed).int(MAX_DOWN_MS), start);
  };
  function start(): void {
    let dead = false;
    const through =
      (server: ApiHandler): ApiHandler =>
      async (request) => {
        if (dead) throw gone();
        const doomed = isWrite(request) && writes.push(`${request.method} ${request.path}`) === point?.write;
        if (doomed && point?.when === 'before') {
          crash();
          throw gone();
        }
        // A refusal is an answer too: neither is heard by the dead.
        const [answer] = await Promise.allSettled([server(request)]);
        if (doomed) crash();
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
  return { writes, start, kill: () => kill(), crashes: () => crashes };
}

/** Events are told, not kept; reviews ask and change nothing. */
function isWrite({ method, path }: { readonly method: string; readonly path: string }): boolean {
  return method !== 'GET' && !path.includes('/events') && !/\/(subjectaccess|token)reviews$/.test(path);
}

function gone(): Error {
  return Object.assign(new Error('the process is gone'), { code: 'ECONNRESET' });
}

/** The points to kill at: before and after each write, or, when these are too many, `most` of them by the seed. */
export function crashPoints(writes: number, most: number, seed: string): CrashPoint[] {
  const all = Array.from({ length: writes }, (_, at): CrashPoint[] => [
    { write: at + 1, when: 'before' },
    { write: at + 1, when: 'after' },
  ]).flat();
  const random = createSeededRandom(seed);
  while (all.length > most) all.splice(random.int(all.length), 1);
  return all;
}
