// Ratios of paired measurements.
import { median } from '../run/wait.ts';
import type { Sides } from './server.ts';

/**
 * The medians of both sides and of the ratio in each pair, with the interval that contains the ratio's true median in 95 of 100
 * runs, by order statistics alone.
 */
export function ratioLine(what: string, pairs: readonly Sides<number>[]): string {
  const ratios = pairs.map(([first, second]) => second / first).sort((a, b) => a - b);
  const reach = 0.98 * Math.sqrt(ratios.length);
  const at = (rank: number): string => ratios[Math.min(ratios.length - 1, Math.max(0, Math.round(rank)))]!.toFixed(3);
  const spread =
    ratios.length < 6 ? '' : `  95 %: ${at(ratios.length / 2 - reach)} to ${at(ratios.length / 2 + reach)}`;
  const side = (index: 0 | 1): string =>
    median(pairs.map((pair) => pair[index]))
      .toFixed(1)
      .padStart(10);
  return `${what.padEnd(34)}${side(0)}${side(1)}  ratio ${median(ratios).toFixed(3)}${spread}`;
}

/** The ratio of whole runs of processes, one pair each. */
export function processesLine(wholes: readonly Sides<number>[]): string {
  const ratios = wholes.map(([first, second]) => (second / first).toFixed(3));
  return `${ratioLine('  with what follows, by processes', wholes)}
${' '.repeat(54)}  ${ratios.join(' ')}`;
}
