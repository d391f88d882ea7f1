/** The resource use of a container over the last minutes, relative to its limit if it has one. */
import type { Container } from '../../../api/gen/core-v1.ts';
import { texts } from '../../app/texts.ts';
import { bytesText, coresText } from '../../parts/amounts.ts';
import { limitOf, type Use } from './container-use.ts';

interface UseLinesProps {
  readonly spec: Container;
  readonly use: readonly Use[];
}

export function UseLines({ spec, use }: UseLinesProps) {
  if (use.length === 0) return null;
  const limit = limitOf(spec);
  return (
    <div class="pod-use">
      <UseLine
        title={texts.overview.cpu}
        series={1}
        values={use.map(({ cpu }) => cpu)}
        limit={limit.cpu}
        text={coresText}
      />
      <UseLine
        title={texts.overview.memory}
        series={2}
        values={use.map(({ memory }) => memory)}
        limit={limit.memory}
        text={bytesText}
      />
    </div>
  );
}

interface UseLineProps {
  readonly title: string;
  readonly series: number;
  readonly values: readonly number[];
  /** 0 when there is none. */
  readonly limit: number;
  text(value: number): string;
}

function UseLine({ title, series, values, limit, text }: UseLineProps) {
  const now = text(values.at(-1) ?? 0);
  const most = values.reduce((a, b) => Math.max(a, b), limit) || 1;
  const height = (value: number): string => (23 - (value / most) * 22).toFixed(1);
  const step = 100 / Math.max(1, values.length - 1);
  const points = values.length === 1 ? [values[0]!, values[0]!] : values;
  const line = points.map(
    (value, index) => `${(values.length === 1 ? index * 100 : index * step).toFixed(1)},${height(value)}`,
  );
  const words = limit === 0 ? now : texts.pod.of(now, text(limit));
  return (
    <div>
      <span>{title}</span>
      <svg viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={`${title}: ${words}`}>
        {limit === 0 ? null : <line class="pod-limit" x1="0" x2="100" y1={height(limit)} y2={height(limit)} />}
        <polyline class={`series-${series}`} points={line.join(' ')} />
      </svg>
      <span class="mono">{words}</span>
    </div>
  );
}
