/** The number of pods in each state that kubectl prints. */
import { cellReader } from '../../api/cells.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { texts } from '../../app/texts.ts';
import type { LiveTable } from '../../parts/live-table.ts';
import { Card } from './card.tsx';
import { countWords } from './failing.ts';
import { WordCounts } from './word-counts.tsx';

export function PodsCard({ pods }: { readonly pods: LiveTable }) {
  void pods.version.value; // rows change in place
  const kind = listableKind('pods');
  if (kind === undefined) return null;
  return (
    <Card title={texts.overview.pods}>
      <WordCounts kind={kind} counts={countWords(pods.rows.all(), cellReader(pods.columns.value, 'Status'))} />
    </Card>
  );
}
