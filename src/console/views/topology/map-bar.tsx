/** The options of the map: filter, grouping, size and measure. */
import { useEffect, useRef } from 'preact/hooks';
import { bindKeys } from '../../app/keyboard.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { Icon } from '../../parts/icon.tsx';
import { Liveness } from '../../parts/liveness.tsx';
import type { LiveList } from '../../parts/live-table.ts';
import { TILE_SIZES } from './layout.ts';
import type { PodTiles } from './pod-tiles.ts';
import type { Grouping } from './scene.ts';

interface MapBarProps {
  readonly list: LiveList<PodTiles>;
  readonly filterText: string;
  readonly grouping: Grouping;
  /** Undefined when there are no metrics. */
  readonly measure: string | undefined;
  readonly size: number;
}

export function MapBar({ list, filterText, grouping, measure, size }: MapBarProps) {
  const field = useRef<HTMLInputElement>(null);
  const { topology: words, keys } = texts;
  const current = useRef(size);
  current.current = size;
  const resize = (by: 1 | -1): void => {
    const next = TILE_SIZES[TILE_SIZES.indexOf(current.current) + by];
    if (next !== undefined) setParams({ size: String(next) });
  };
  useEffect(
    () =>
      bindKeys([
        { key: '/', label: keys.filter, run: () => field.current?.select() },
        { key: '+', label: words.larger, run: () => resize(1) },
        { key: '-', label: words.smaller, run: () => resize(-1) },
      ]),
    [],
  );
  return (
    <div class="topology-bar">
      <input
        ref={field}
        class="mono grow"
        type="search"
        aria-label={texts.list.filterLabel}
        placeholder={words.filter}
        spellcheck={false}
        value={filterText}
        onInput={({ currentTarget }) => setParams({ q: currentTarget.value })}
      />
      <Choice
        label={words.group}
        value={grouping}
        options={words.groupings}
        choose={(group) => setParams({ group: group === 'none' ? '' : group })}
      />
      {measure === undefined ? null : (
        <Choice label={words.fill} value={measure} options={words.fills} choose={(fill) => setParams({ fill })} />
      )}
      <span class="topology-zoom">
        <SizeButton label={words.smaller} icon="minus" disabled={size === TILE_SIZES[0]} onClick={() => resize(-1)} />
        <SizeButton label={words.larger} icon="plus" disabled={size === TILE_SIZES.at(-1)} onClick={() => resize(1)} />
      </span>
      <MapStatus list={list} />
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
  readonly choose: (value: string) => void;
}

function Choice({ label, value, options, choose }: ChoiceProps) {
  return (
    <label class="topology-choice">
      <span class="dim">{label}</span>
      <select value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {Object.entries(options).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SizeButtonProps {
  readonly label: string;
  readonly icon: string;
  readonly disabled: boolean;
  readonly onClick: () => void;
}

function SizeButton({ label, icon, disabled, onClick }: SizeButtonProps) {
  return (
    <button type="button" class="icon" aria-label={label} title={label} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

function MapStatus({ list }: { readonly list: LiveList<PodTiles> }) {
  void list.version.value; // the count changes with it
  const state = list.state.value;
  const left = list.remaining.value;
  if (state.kind === 'refused') return null;
  return (
    <span class="status" role="status">
      <span class="dim">{left > 0 ? texts.list.loadingMore(left) : texts.topology.pods(list.rows.size)}</span>
      <Liveness state={state} />
    </span>
  );
}
