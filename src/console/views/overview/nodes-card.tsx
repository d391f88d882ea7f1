/** The number of nodes in each state that kubectl prints. */
import { cellReader } from '../../api/cells.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { texts } from '../../app/texts.ts';
import type { LiveTable } from '../../parts/live-table.ts';
import { Card } from './card.tsx';
import { countWords } from './failing.ts';
import { WordCounts } from './word-counts.tsx';

export function NodesCard({ nodes }: { readonly nodes: LiveTable }) {
  void nodes.version.value; // rows change in place
  const kind = listableKind('nodes');
  if (kind === undefined) return null;
  return (
    <Card title={texts.overview.nodes}>
      <WordCounts kind={kind} counts={countWords(nodes.rows.all(), cellReader(nodes.columns.value, 'Status'))} />
    </Card>
  );
}
