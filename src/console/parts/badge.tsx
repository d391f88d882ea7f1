/** A word with its tone, shown by colour and by shape, so that it is readable without colours. */
import { type Tone, toneOf } from './tone.ts';

/** The character of each tone. */
export const SHAPES_BY_TONE: Readonly<Record<Tone, string>> = { good: '●', busy: '◐', bad: '▲', done: '✓', plain: '' };

export function Badge({ word, tone = toneOf(word) }: { readonly word: string; readonly tone?: Tone }) {
  if (tone === 'plain') return <>{word}</>;
  return (
    <span class={`badge ${tone}`}>
      <span class="shape" aria-hidden="true">
        {SHAPES_BY_TONE[tone]}
      </span>
      {word}
    </span>
  );
}
