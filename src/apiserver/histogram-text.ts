/** A histogram as Prometheus reads it: for metrics of the hot path, which are counted in plain arrays. */

/** Counts per bucket, not added up. */
export interface HistogramCounts {
  readonly counts: readonly number[];
  readonly sum: number;
  readonly total: number;
}

/** Appends the lines before the series of a metric. */
export function exposeHead(lines: string[], name: string, type: string, help: string): void {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
}

/** Appends the lines of one series. `labels` is the text between the braces, without `le`; it may be empty. */
export function exposeHistogram(
  lines: string[],
  { name, labels, bounds }: { readonly name: string; readonly labels: string; readonly bounds: readonly number[] },
  { counts, sum, total }: HistogramCounts,
): void {
  let below = 0;
  const before = labels === '' ? '' : `${labels},`;
  const own = labels === '' ? '' : `{${labels}}`;
  for (const [index, bound] of bounds.entries()) {
    below += counts[index]!;
    lines.push(`${name}_bucket{${before}le="${bound}"} ${below}`);
  }
  lines.push(`${name}_bucket{${before}le="+Inf"} ${total}`, `${name}_sum${own} ${sum}`, `${name}_count${own} ${total}`);
}
