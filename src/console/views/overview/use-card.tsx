/** The use of processors and memory over the last minutes, and the nodes that use most. */
import { useEffect, useMemo } from 'preact/hooks';
import { listableKind } from '../../app/cluster-state.ts';
import { listHref, objectHref } from '../../app/hrefs.ts';
import { href } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { Card } from './card.tsx';
import { NodeUseSource, type UseSample } from '../../parts/node-use.ts';

const MOST_NODES = 4;

export function UseCard() {
  const source = useMemo(() => new NodeUseSource(), []);
  useEffect(() => source.start(), []);
  const samples = source.samples.value;
  const last = samples.at(-1);
  const kind = listableKind('nodes');
  const { overview } = texts;
  if (last === undefined) {
    return (
      <Card title={overview.use}>
        <p class="dim">{overview.noMetrics}</p>
      </Card>
    );
  }
  return (
    <Card title={overview.use}>
      <Measure title={overview.cpu} series={1} samples={samples} of={({ cpu }) => cpu} />
      <Measure title={overview.memory} series={2} samples={samples} of={({ memory }) => memory} />
      <ul class="overview-lines">
        {(source.nodes.value ?? []).slice(0, MOST_NODES).map(({ name, cpu, memory }) => (
          <li key={name}>
            {kind === undefined ? name : <a href={listHref(kind, { q: name })}>{name}</a>}
            <a
              class="mono dim"
              href={kind && objectHref('charts', { kind, namespace: '', name })}
              aria-label={overview.chartsOf(name, useText(cpu, memory))}
            >
              {useText(cpu, memory)}
            </a>
          </li>
        ))}
      </ul>
      <p>
        <a href={href(['charts', 'nodes'])}>{texts.charts.lastHour}</a>
      </p>
    </Card>
  );
}

interface MeasureProps {
  readonly title: string;
  readonly series: number;
  readonly samples: readonly UseSample[];
  readonly of: (sample: UseSample) => number;
}

function Measure({ title, series, samples, of: total }: MeasureProps) {
  const values = samples.map(total);
  const now = percent(values.at(-1) ?? 0);
  const step = 100 / Math.max(1, values.length - 1);
  const line = values.map((value, index) => `${(index * step).toFixed(1)},${(23 - value * 22).toFixed(1)}`).join(' ');
  return (
    <div class="overview-measure">
      <span>{title}</span>
      <svg viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={`${title}: ${now}`}>
        <polyline
          class={`series-${series}`}
          points={values.length === 1 ? `0,${line.split(',')[1]} 100,${line.split(',')[1]}` : line}
        />
      </svg>
      <a class="mono" href={href(['charts', 'nodes'])} aria-label={`${title}: ${now}`}>
        {now}
      </a>
    </div>
  );
}

function useText(cpu: number, memory: number): string {
  return `${percent(cpu)} · ${percent(memory)}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
