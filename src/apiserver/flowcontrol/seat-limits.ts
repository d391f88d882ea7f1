/**
 * The seats of each priority level: a nominal share of the server's total, and per period what is lent and borrowed
 * by demand. Pure. Upstream: util/flowcontrol, conc_alloc.go and updateBorrowingLocked.
 */
import type { PriorityLevelConfigurationSpec } from '../../api/gen/flowcontrol-v1.ts';

/** The seat limits of a level. */
export interface SeatLimits {
  /** The level's nominal share. */
  readonly nominal: number;
  /** The seats that it does not lend. */
  readonly min: number;
  /** The nominal seats plus the most it may borrow. */
  readonly max: number;
}

/** Divides `total` seats among the levels, by name. */
export function shareSeats(
  levels: ReadonlyMap<string, PriorityLevelConfigurationSpec>,
  total: number,
): Map<string, SeatLimits> {
  let shares = 0;
  for (const spec of levels.values()) shares += sharesOf(spec);
  const result = new Map<string, SeatLimits>();
  for (const [name, spec] of levels) {
    const nominal = shares === 0 ? 0 : Math.ceil((total * sharesOf(spec)) / shares);
    const { lendablePercent = 0 } = spec.limited ?? spec.exempt ?? {};
    const min = nominal - Math.round((nominal * lendablePercent) / 100);
    result.set(name, { nominal, min, max: nominal + borrowable(spec, nominal, total) });
  }
  return result;
}

function sharesOf({ limited, exempt }: PriorityLevelConfigurationSpec): number {
  return limited?.nominalConcurrencyShares ?? exempt?.nominalConcurrencyShares ?? (limited === undefined ? 0 : 30);
}

function borrowable({ limited }: PriorityLevelConfigurationSpec, nominal: number, total: number): number {
  const percent = limited?.borrowingLimitPercent;
  return percent === undefined ? total : Math.round((nominal * percent) / 100);
}

/** A level with its demand in the last period. */
export interface Borrower extends SeatLimits {
  readonly exempt: boolean;
  /** The most seats wanted at once. */
  readonly peak: number;
  readonly smoothed: number;
}

interface Bounded {
  readonly low: number;
  readonly high: number;
  /** Above zero. */
  readonly target: number;
}

/**
 * The seats of each level for the next period, in the given order. Every level gets at least the seats it does not
 * lend and those of its own share that it used; the rest is divided by demand. Exempt levels come first.
 */
export function lendSeats(levels: readonly Borrower[]): number[] {
  let rest = 0;
  for (const { nominal } of levels) rest += nominal;
  const items = levels.map((level): Bounded => {
    const { exempt, nominal, min, max, peak, smoothed } = level;
    const low = exempt ? Math.min(max, Math.max(min, peak)) : Math.max(min, Math.min(nominal, peak));
    return { low, high: exempt ? low : max, target: Math.max(low, smoothed, 1e-3) };
  });
  const limited = items.filter((_, index) => !levels[index]!.exempt);
  for (const [index, { low }] of items.entries()) if (levels[index]!.exempt) rest -= low;
  const lows = limited.reduce((sum, { low }) => sum + low, 0);
  // Exempt requests may have used seats of other levels, which then get their minimum.
  const factor = lows >= rest ? 0 : fairFactor(limited, rest);
  return items.map((item) => Math.round(clampedLimit(item, factor)));
}

function clampedLimit({ low, high, target }: Bounded, factor: number): number {
  return Math.min(high, Math.max(low, factor * target));
}

/** The factor by which every target is multiplied, within bounds, so that all seats are used. */
function fairFactor(items: readonly Bounded[], sum: number): number {
  const shared = (factor: number): number => items.reduce((all, item) => all + clampedLimit(item, factor), 0);
  let low = 0;
  let high = items.reduce((most, item) => Math.max(most, item.high / item.target), 0);
  if (shared(high) <= sum) return high;
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2;
    if (shared(middle) < sum) low = middle;
    else high = middle;
  }
  return low;
}
