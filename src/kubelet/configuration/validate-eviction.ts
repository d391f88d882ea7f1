/** Validates the eviction settings. Upstream: eviction.ParseThresholdConfig as the kubelet calls it at start-up. */
import { parseDurationMs } from '../../api/duration.ts';
import { tryParseQuantity } from '../../api/quantity.ts';
import type { KubeletConfigurationV1Beta1 } from './fields.ts';

/** Signals that thresholds may name. */
const EVICTION_SIGNALS: readonly string[] = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
];

function amountProblem(signal: string, amount: string): string | undefined {
  if (amount.endsWith('%')) {
    const percent = Number(amount.slice(0, -1));
    if (Number.isNaN(percent)) return `failed to parse eviction threshold "${amount}" of ${signal}`;
    if (percent < 0) return `eviction percentage threshold ${signal} must be >= 0%: ${amount}`;
    return percent > 100 ? `eviction percentage threshold ${signal} must be <= 100%: ${amount}` : undefined;
  }
  const quantity = tryParseQuantity(amount);
  if (quantity === undefined) return `failed to parse eviction threshold "${amount}" of ${signal}`;
  return quantity.nanos <= 0n ? `eviction threshold ${signal} must be positive: ${amount}` : undefined;
}

export function evictionComplaints(config: KubeletConfigurationV1Beta1): string[] {
  const { evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim } = config;
  const all = [evictionHard, evictionSoft, evictionMinimumReclaim];
  const unknown = [...all, evictionSoftGracePeriod]
    .flatMap((settings) => Object.keys(settings))
    .filter((signal) => !EVICTION_SIGNALS.includes(signal));
  const amounts = all.flatMap((settings) =>
    Object.entries(settings)
      .filter(([signal]) => EVICTION_SIGNALS.includes(signal))
      .map(([signal, amount]) => amountProblem(signal, amount)),
  );
  const periods = Object.entries(evictionSoftGracePeriod).map(([signal, period]) => {
    const periodMs = parseDurationMs(period);
    if (periodMs === undefined) return `time: invalid duration ${JSON.stringify(period)}`;
    return periodMs < 0 ? `invalid eviction grace period specified: ${signal} must be a positive value` : undefined;
  });
  const missing = Object.keys(evictionSoft).map((signal) =>
    evictionSoftGracePeriod[signal] === undefined
      ? `grace period must be specified for the soft eviction threshold ${signal}`
      : undefined,
  );
  return [
    ...unknown.map((signal) => `unsupported eviction signal ${signal}`),
    ...[...amounts, ...periods, ...missing].filter((problem) => problem !== undefined),
  ];
}
