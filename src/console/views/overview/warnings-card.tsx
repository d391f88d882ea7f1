/** The newest events of type Warning. */
import { cellReader } from '../../api/cells.ts';
import { sortValue } from '../../api/cell-value.ts';
import type { Row } from '../../api/table.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { listHref } from '../../app/hrefs.ts';
import { namespace } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { Age, nowMs } from '../../parts/age.tsx';
import { useLiveTable } from '../../parts/use-live-table.ts';
import { Card } from './card.tsx';

const MOST = 10;
const WARNINGS = 'type=Warning';

/** The time of each event's last occurrence, computed from its age when the row arrived. */
const seenMs = new WeakMap<Row, number>();

function noteSeen(row: Row, age: string): void {
  if (seenMs.has(row)) return;
  const seconds = sortValue(age);
  // The age of an event without a time is `<unknown>`.
  seenMs.set(row, typeof seconds === 'number' ? nowMs.peek() - seconds * 1000 : row.createdMs);
}

export function WarningsCard() {
  const kind = listableKind('events');
  const table = useLiveTable(kind, { namespace: namespace.value, fieldSelector: WARNINGS });
  void table.version.value; // rows change in place
  const columns = table.columns.value;
  const lastSeen = cellReader(columns, 'Last Seen');
  for (const row of table.rows.all()) noteSeen(row, lastSeen(row));
  const newest = [...table.rows.all()].sort((a, b) => seenMs.get(b)! - seenMs.get(a)!).slice(0, MOST);
  const [reason, object, message] = ['Reason', 'Object', 'Message'].map((name) => cellReader(columns, name));
  const { overview } = texts;
  if (kind === undefined) return null;
  return (
    <Card title={overview.warnings} wide>
      {newest.length === 0 ? <p class="dim">{overview.noWarnings}</p> : null}
      <ul class="overview-lines overview-warnings">
        {newest.map((row) => (
          <li key={row.uid}>
            <span class="mono dim">
              <Age sinceMs={seenMs.get(row) ?? 0} />
            </span>
            <a class="mono" href={listHref(kind, { ns: row.namespace, q: object!(row) })}>
              {object!(row)}
            </a>
            <span class="grow">
              <strong>{reason!(row)}</strong> {message!(row)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
