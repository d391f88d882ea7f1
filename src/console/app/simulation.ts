/** The clock and faults of a simulated cluster, read while the user may read them. A real cluster lacks the path. */
import { effect, signal } from '@preact/signals';
import { ApiError, sendJson } from '../api/http.ts';
import { pause } from '../api/pause.ts';
import { untilAnswered } from '../api/patience.ts';
import { mayOnPath } from './cluster-state.ts';
import { followReplayFile, forgetReplayFile, REPLAY_FILE_PATH } from './replay-file.ts';
import { loadReplay, replay, REPLAY_PATH } from './replay.ts';

export const SIMULATION_PATH = '/keelson/v1/simulation';
const PERIOD_MS = 2000;

export type NodeFault = 'noPower' | 'noKubelet' | 'partitioned';

export interface Simulation {
  readonly now: string;
  /** Absent when time is real. */
  readonly clock?: { readonly paused: boolean; readonly speed: number; readonly reached: number };
  readonly recording: boolean;
  readonly broken: readonly { readonly node: string; readonly faults: readonly NodeFault[] }[];
}

interface Known extends Simulation {
  /** The time of the response by this machine's clock. */
  readonly askedMs: number;
}

/** Undefined when the cluster is real, or the user may not read it. */
export const simulation = signal<Known | undefined>(undefined);

export function mayDriveSimulation(): boolean {
  return simulation.value !== undefined && mayOnPath('post', SIMULATION_PATH);
}

/** The current time of the cluster's clock. */
export function presentNow(): number {
  const { now, clock, askedMs } = simulation.peek() ?? {};
  if (now === undefined || clock === undefined) return Date.now();
  const speed = clock.paused ? 0 : Math.min(clock.reached, clock.speed);
  return Date.parse(now) + (Date.now() - askedMs!) * speed;
}

/** Sends an order to the simulation. Rejects with `ApiError`. */
export async function orderSimulation(order: object): Promise<void> {
  take(
    await sendJson<Simulation>(SIMULATION_PATH, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(order),
    }),
  );
}

function take(answer: Simulation): void {
  simulation.value = { ...answer, askedMs: Date.now() };
}

/** Determines from the server's paths whether it is simulated, and then polls its state. */
export function followSimulation(): void {
  effect(() => {
    simulation.value = undefined;
    replay.value = undefined;
    forgetReplayFile();
    if (!mayOnPath('get', SIMULATION_PATH) || !mayOnPath('get', '/')) return undefined;
    const life = new AbortController();
    void follow(life.signal);
    return () => life.abort();
  });
}

async function follow(life: AbortSignal): Promise<void> {
  const ask = { signal: life };
  const index = await untilAnswered(() => sendJson<{ readonly paths?: readonly string[] }>('/', ask), life);
  if (index?.paths?.includes(SIMULATION_PATH) !== true) return;
  if (index.paths.includes(REPLAY_PATH) && mayOnPath('get', REPLAY_PATH)) void loadReplay(life);
  if (index.paths.includes(REPLAY_FILE_PATH) && mayOnPath('get', REPLAY_FILE_PATH)) void followReplayFile();
  while (!life.aborted) {
    try {
      if (!document.hidden) {
        const answer = await sendJson<Simulation>(SIMULATION_PATH, ask);
        if (!life.aborted) take(answer);
      }
    } catch (error) {
      if (life.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 401 || error.code === 403) return;
    }
    await pause(PERIOD_MS, life);
  }
}
