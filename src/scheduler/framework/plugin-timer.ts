/**
 * Measures single plugins in one cycle of ten: with thousands of nodes, measuring every call would cost more than most calls
 * do. The stop-watch of a measured cycle travels in its state, where copies for suppositions have it, too. Upstream:
 * CycleState.ShouldRecordPluginMetrics.
 */
import type { CycleState } from './plugin.ts';
import type { Status } from './status.ts';

export interface TimedCall {
  readonly plugin: string;
  /** Upstream's name, with a capital. */
  readonly point: string;
  /** What `started` gave. */
  readonly startedMs: number;
  /** Success without one. */
  readonly status?: Status | undefined;
}

export interface PluginTimer {
  started(): number;
  ended(call: TimedCall): void;
}

/** No plugin has such a name. */
const KEY = ' plugin timer';

export function measurePlugins(state: CycleState, timer: PluginTimer): void {
  state.set(KEY, timer);
}

/** Undefined in cycles that are not measured. */
export function pluginTimerOf(state: CycleState): PluginTimer | undefined {
  return state.get(KEY) as PluginTimer | undefined;
}

/** Makes one call, measured where the cycle is. */
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

/** {@link timedCall} for calls that wait. */
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
