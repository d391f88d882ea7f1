/** Failing objects, the most severe first. */
import { cellReader } from '../../api/cells.ts';
import { kindNamed } from '../../app/cluster-state.ts';
import { listHref, shownAt } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import { Age, nowMs } from '../../parts/age.tsx';
import { Badge } from '../../parts/badge.tsx';
import type { LiveTable } from '../../parts/live-table.ts';
import { Card } from './card.tsx';
import { type Failing, failingOf } from './failing.ts';

const MOST = 10;

/** `tables`: the lists by their kinds' ids. */
export function FailingCard({ tables }: { readonly tables: Readonly<Record<string, LiveTable>> }) {
  const watched = Object.entries(tables).map(([kind, { rows, columns, version }]) => {
    void version.value; // rows change in place
    const word = kind === 'nodes' || kind === 'pods' ? 'Status' : 'Ready';
    return { kind, rows: rows.all(), status: cellReader(columns.value, word) };
  });
  const isLoading = Object.values(tables).some(({ state, following }) => following && state.value.kind === 'loading');
  const failing = failingOf(watched, nowMs.peek(), MOST);
  const { overview } = texts;
  return (
    <Card title={overview.failing} wide>
      {failing.length === 0 && isLoading ? (
        <p class="dim">{texts.shell.loading}</p>
      ) : failing.length === 0 ? (
        <p class="overview-well">
          <Badge word={overview.nothingFailing} tone="good" />
        </p>
      ) : (
        <ul class="overview-lines overview-failing">
          {failing.map((one) => (
            <FailingLine key={one.row.uid} failing={one} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function FailingLine({ failing: { kind: id, row, word, grade } }: { readonly failing: Failing }) {
  const kind = kindNamed(id);
  if (kind === undefined) return null;
  const { namespace, name, createdMs } = row;
  const place = shownAt({ kind, namespace, name }) ?? listHref(kind, { ns: namespace, q: name });
  return (
    <li>
      <Badge word={word} tone={grade < 3 ? 'bad' : 'busy'} />
      <a class="mono grow" href={place}>
        {kind.singular} {namespace === '' ? name : `${namespace}/${name}`}
      </a>
      <span class="mono dim">
        <Age sinceMs={createdMs} />
      </span>
    </li>
  );
}
