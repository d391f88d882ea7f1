/** Formats samples with timestamps as Prometheus text 0.0.4, for the kubelet's resource endpoints. */
import { escapeLabelValue } from '../../platform/label-value.ts';

/** One value of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Wall-clock milliseconds of the reading. */
  readonly timeMs?: number;
}

/** A metric with all its values. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

/** Formats the families that have samples, sorted by name. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  let text = '';
  const named = families.filter(({ samples }) => samples.length > 0).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, help, type, samples } of named) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const { labels, value, timeMs } of samples) {
      const pairs = Object.entries(labels).map(([label, content]) => `${label}="${escapeLabelValue(content)}"`);
      text += `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}${timeMs === undefined ? '' : ` ${Math.floor(timeMs)}`}\n`;
    }
  }
  return text;
}
