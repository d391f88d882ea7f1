/** The number of objects in each state: a bar, and beside it each state with its number as a link. */
import type { Kind } from '../../api/kinds.ts';
import { listHref } from '../../app/hrefs.ts';
import { namespace } from '../../app/router.ts';
import { numberText } from '../../app/texts.ts';
import { Badge } from '../../parts/badge.tsx';
import { toneOf } from '../../parts/tone.ts';

interface WordCountsProps {
  readonly kind: Kind;
  readonly counts: readonly (readonly [string, number])[];
}

const MOST = 6;

export function WordCounts({ kind, counts }: WordCountsProps) {
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const ns = kind.namespaced ? namespace.value : '';
  return (
    <>
      <a class="overview-total" href={listHref(kind, { ns })}>
        {numberText(total)}
      </a>
      <div class="overview-bar" aria-hidden="true">
        {counts.map(([word, count]) => (
          <span key={word} class={`fill ${toneOf(word)}`} style={{ flexGrow: count }} />
        ))}
      </div>
      <ul class="overview-lines">
        {counts.slice(0, MOST).map(([word, count]) => (
          <li key={word}>
            <Badge word={word} />
            <a href={listHref(kind, { ns, q: word })} aria-label={`${word}: ${count}`}>
              {numberText(count)}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
