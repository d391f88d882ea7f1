/** The processor time and memory of simulated containers. Their image describes them: as numbers, as numbers over time, or by a function. */
import { usageFigures, usageSteps, type SimUsage, type SimUsageCall, type SimUsageSpec } from './sim-image.ts';

/** What a container uses at one moment, in whole numbers as in the API. */
export interface UsageReading {
  readonly nanoCores: number;
  /** Since the start of the container. */
  readonly cpuNanoSeconds: number;
  readonly memoryBytes: number;
}

/** Reads what one container uses. */
export interface UsageMeter {
  read(): UsageReading;
  /** When the usage changes, in milliseconds after the start; undefined: at any time. */
  readonly changesAtMs: readonly number[] | undefined;
}

const defaults = usageFigures({});

/** The usage of a container whose image does not describe it. */
export function defaultUsage(uptimeMs: number): UsageReading {
  return usageReading(defaults.cores, defaults.cores * 1e6 * uptimeMs, defaults.bytes);
}

/** `call` returns the container whose usage is read, with its present uptime. */
export function createUsageMeter(spec: SimUsageSpec, call: () => SimUsageCall): UsageMeter {
  if (typeof spec === 'function') return computedMeter(spec, call);
  const steps = usageSteps(spec);
  return {
    changesAtMs: steps.map(({ atMs }) => atMs),
    read() {
      const { uptimeMs } = call();
      let cpuNanoSeconds = 0;
      for (const [index, { atMs, cores }] of steps.entries())
        cpuNanoSeconds += cores * 1e6 * Math.max(0, Math.min(uptimeMs, steps[index + 1]?.atMs ?? Infinity) - atMs);
      const { cores, bytes } = steps.findLast(({ atMs }) => atMs <= uptimeMs)!;
      return usageReading(cores, cpuNanoSeconds, bytes);
    },
  };
}

/** Usage that a function computes. Between two readings the value of the first counts. */
function computedMeter(spec: (call: SimUsageCall) => SimUsage, call: () => SimUsageCall): UsageMeter {
  let last = { uptimeMs: 0, cores: usageFigures(spec(call())).cores };
  let cpuNanoSeconds = 0;
  return {
    changesAtMs: undefined,
    read() {
      const now = call();
      cpuNanoSeconds += last.cores * 1e6 * (now.uptimeMs - last.uptimeMs);
      const { cores, bytes } = usageFigures(spec(now));
      last = { uptimeMs: now.uptimeMs, cores };
      return usageReading(cores, cpuNanoSeconds, bytes);
    },
  };
}

function usageReading(cores: number, cpuNanoSeconds: number, memoryBytes: number): UsageReading {
  const whole = { cpuNanoSeconds: Math.round(cpuNanoSeconds), memoryBytes: Math.round(memoryBytes) };
  return { nanoCores: Math.round(cores * 1e9), ...whole };
}
