/**
 * Measures each plugin in one cycle of ten: with thousands of nodes, measuring every call would take longer than most
 * calls. The timer of a measured cycle is part of its state, so copies of the state have it too. Upstream:
 * CycleState.ShouldRecordPluginMetrics.
 */
import type { CycleState } from './plugin.ts';
import type { Status } from './status.ts';

export interface TimedCall {
  readonly plugin: string;
  /** Upstream's name of the point, capitalized. */
  readonly point: string;
  /** The result of `started`. */
  readonly startedMs: number;
  /** Absent: success. */
  readonly status?: Status | undefined;
}

export interface PluginTimer {
  started(): number;
  ended(call: TimedCall): void;
}

/** The key in the state. No plugin has such a name. */
const KEY = ' plugin timer';

export function measurePlugins(state: CycleState, timer: PluginTimer): void {
  state.set(KEY, timer);
}

/** The timer of the cycle; undefined in cycles that are not measured. */
export function pluginTimerOf(state: CycleState): PluginTimer | undefined {
  return state.get(KEY) as PluginTimer | undefined;
}

/** Calls a plugin, with measurement where the cycle has a timer. */
export function timedCall<T>(
  state: CycleState,
  measured: { readonly plugin: string; readonly point: string; readonly statusOf?: (result: T) => Status | undefined },
  call: () => T,
): T {
  const timer = pluginTimerOf(state);
  if (timer === undefined) return call();
  const startedMs = timer.started();
  const result = call();
  timer.ended({ plugin: measured.plugin, point: measured.point, startedMs, status: measured.statusOf?.(result) });
  return result;
}

/** {@link timedCall} for asynchronous calls. */
export async function timedWait(
  state: CycleState,
  measured: { readonly plugin: string; readonly point: string },
  call: () => Promise<Status | undefined> | undefined,
): Promise<Status | undefined> {
  const timer = pluginTimerOf(state);
  const startedMs = timer?.started() ?? 0;
  const status = await call();
  timer?.ended({ ...measured, startedMs, status });
  return status;
}
