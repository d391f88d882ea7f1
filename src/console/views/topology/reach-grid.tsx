/** A table of workloads: the traffic allowed from each row to each column. Arrow keys move, Enter shows a pair. */
import { useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { ReachCell, ReachGroup, ReachTable } from '../../../api/reach.ts';
import type { PodPlace } from '../../api/reach.ts';
import { texts } from '../../app/texts.ts';
import { portsText } from './port-text.ts';

const MARKS: Readonly<Record<ReachCell['verdict'], string>> = {
  Open: '●',
  Limited: '◐',
  Closed: '✕',
  Mixed: '▨',
  NotCompared: '?',
};
const VERDICTS = Object.keys(MARKS) as readonly ReachCell['verdict'][];

interface ReachGridProps {
  readonly table: ReachTable;
  readonly showsNamespaces: boolean;
  readonly onChoose: (from: PodPlace, to: PodPlace) => void;
}

export function ReachGrid({ table: { groups, cells }, showsNamespaces, onChoose }: ReachGridProps) {
  const byPlace = useMemo(() => new Map(cells.map((cell) => [`${cell.from} ${cell.to}`, cell])), [cells]);
  const at = useSignal({ row: 0, column: 0 });
  const grid = useRef<HTMLTableElement>(null);
  const { policies: words } = texts.topology;
  const name = ({ namespace, name: own, kind }: ReachGroup): string =>
    `${showsNamespaces ? `${namespace}/` : ''}${own}${kind === 'Pod' ? '' : ` (${kind})`}`;
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const clamp = (value: number): number => Math.max(0, Math.min(value, groups.length - 1));
    at.value = { row: clamp(at.value.row + step[0]), column: clamp(at.value.column + step[1]) };
    const { row, column } = at.value;
    grid.current?.querySelector<HTMLElement>(`[data-at="${row} ${column}"]`)?.focus();
  };
  return (
    <>
      <ul class="topology-legend">
        {VERDICTS.map((verdict) => (
          <li key={verdict}>
            <span class={`topology-reach ${verdict}`} aria-hidden="true">
              {MARKS[verdict]}
            </span>
            {words.legend[verdict]}
          </li>
        ))}
        <li class="dim">{words.rowHint}</li>
      </ul>
      <div class="topology-matrix">
        <table ref={grid} role="grid" aria-label={words.table} onKeyDown={onKeyDown}>
          <thead>
            <tr role="row">
              <td role="gridcell" />
              {groups.map((group) => (
                <th key={keyOf(group)} scope="col" role="columnheader" title={name(group)}>
                  <span>{name(group)}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {groups.map((from, row) => (
              <tr key={keyOf(from)} role="row">
                <th scope="row" role="rowheader" title={name(from)}>
                  {name(from)}
                </th>
                {groups.map((to, column) => {
                  const { verdict = 'Open', ports = [] } = byPlace.get(`${row} ${column}`) ?? {};
                  const text = `${name(from)} → ${name(to)}: ${ports.length > 0 ? portsText(ports) : words.legend[verdict]}`;
                  const active = at.value.row === row && at.value.column === column;
                  return (
                    <td key={keyOf(to)} role="gridcell">
                      <button
                        type="button"
                        class={`topology-reach ${verdict}`}
                        data-at={`${row} ${column}`}
                        tabIndex={active ? 0 : -1}
                        aria-label={text}
                        title={text}
                        onFocus={() => (at.value = { row, column })}
                        onClick={() => onChoose(placeOf(from), placeOf(to))}
                      >
                        {MARKS[verdict]}
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function keyOf({ namespace, kind, name }: ReachGroup): string {
  return `${namespace}/${kind}/${name}`;
}

function placeOf({ namespace, pod }: ReachGroup): PodPlace {
  return { namespace, name: pod };
}
