/** What simulated containers use of processor and memory, as their image says: figures, figures over time, or a function. */
import { usageFigures, usageSteps, type SimUsage, type SimUsageCall, type SimUsageSpec } from './sim-image.ts';

/** A reading, in whole numbers: so the API has them. */
export interface UsageReading {
  readonly nanoCores: number;
  /** Since the start of the container. */
  readonly cpuNanoSeconds: number;
  readonly memoryBytes: number;
}

/** Reads what one container uses. */
export interface UsageMeter {
  read(): UsageReading;
  /** Moments (milliseconds after the start) at which use changes; undefined: it may at any. */
  readonly changesAtMs: readonly number[] | undefined;
}

const plain = usageFigures({});

/** The usage of a container whose image says nothing. */
export function defaultUsage(uptimeMs: number): UsageReading {
  return usageReading(plain.cores, plain.cores * 1e6 * uptimeMs, plain.bytes);
}

/** Makes a meter. `call` says whose use is read, and how long that runs by now. */
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

/** Between two readings it was as at the first of them. */
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
