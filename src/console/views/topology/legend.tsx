/** The meaning of colours and shapes, with the number of tiles of each. */
import { numberText, texts } from '../../app/texts.ts';
import type { Tone } from '../../parts/tone.ts';
import { SHAPES, TONES } from './shapes.ts';

interface LegendProps {
  readonly counts: Readonly<Record<Tone, number>>;
  /** The meaning of a filled tile; '' when the fill has none. */
  readonly fill: string;
  /** Whether nodes have bars of their resource use. */
  readonly nodeUse: boolean;
}

export function Legend({ counts, fill, nodeUse }: LegendProps) {
  const { overview } = texts;
  return (
    <ul class="topology-legend" aria-label={texts.topology.legend}>
      {TONES.filter((tone) => tone !== 'plain' || counts.plain > 0).map((tone) => (
        <li key={tone}>
          <Shape tone={tone} />
          {texts.topology.tones[tone]} <strong>{numberText(counts[tone])}</strong>
        </li>
      ))}
      {nodeUse
        ? (['cpu', 'memory'] as const).map((measure) => (
            <li key={measure}>
              <span class={`topology-use ${measure}`} />
              {overview[measure]}
            </li>
          ))
        : null}
      {fill === '' ? null : <li class="dim">{fill}</li>}
    </ul>
  );
}

export function Shape({ tone }: { readonly tone: Tone }) {
  return (
    <svg class={`topology-shape ${tone}`} viewBox="-1 -1 18 18" width="12" height="12" aria-hidden="true">
      <path d={SHAPES[tone]} />
    </svg>
  );
}
