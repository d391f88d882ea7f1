/** The map of nodes and pods: the visible part is drawn; items are selected by pointer or keys. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { texts } from '../../app/texts.ts';
import { boxOf, INSET, type Item, itemAt, type Layout, layoutOf, measuresOf, placeOf } from './layout.ts';
import { moved } from './movement.ts';
import type { Tile } from './pod-tiles.ts';
import type { SceneGroup, SceneNode } from './scene.ts';
import { type Picture, Stage } from './stage.ts';
import { type Shown, TileCard, wordsOf } from './tile-card.tsx';

export interface Size {
  readonly width: number;
  readonly height: number;
}

interface TileMapProps {
  readonly groups: readonly SceneGroup[];
  readonly tileSize: number;
  readonly levelOf: (tile: Tile) => number;
  readonly useOf: (tile: Tile) => string;
  readonly onSize: (size: Size) => void;
  /** The address of the selected item; undefined when it has none. */
  readonly hrefOf: (shown: Shown) => string | undefined;
  /** Called with other keys and the selected item; returns true when it handled the key. */
  readonly onKey: (key: string, shown: Shown) => boolean;
}

export function TileMap({ groups, tileSize, levelOf, useOf, onSize, hrefOf, onKey }: TileMapProps) {
  const host = useRef<HTMLDivElement>(null);
  const size = useSignal<Size>({ width: 0, height: 0 });
  const scrollTop = useSignal(0);
  const focused = useSignal<Item | undefined>(undefined);
  const hovered = useSignal<Item | undefined>(undefined);
  const hasFocus = useSignal(false);
  const dismissed = useSignal(false);
  useSize(host, (now) => {
    size.value = now;
    onSize(now);
  });
  const { width, height } = size.value;
  const layout = useMemo(
    () => layoutOf(groups, Math.max(0, width - 2 * INSET), measuresOf(tileSize)),
    [groups, width, tileSize],
  );
  const active = hovered.value ?? (hasFocus.value ? focused.value : undefined);
  useStage(host, { layout, scrollTop: scrollTop.value, width, height, active, levelOf, noNode: texts.topology.noNode });
  const open = (item: Item | undefined, apart: boolean): void => {
    const href = item && hrefOf(shownOf(layout, item));
    if (href === undefined) return;
    if (apart) window.open(href, '_blank', 'noopener');
    else location.hash = href;
  };
  const at = ({ clientX, clientY }: MouseEvent): Item | undefined => {
    const { left, top } = host.current!.getBoundingClientRect();
    return itemAt(layout, clientX - left - INSET, clientY - top - INSET + scrollTop.peek());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    const current = focused.peek() ?? { node: '', index: -1 };
    const next = moved(layout, current, key);
    if (next !== undefined) {
      focused.value = next;
      hovered.value = undefined;
      dismissed.value = false;
      reveal(host.current!, layout, next);
    } else if (key === 'Enter' || key === ' ') open(current, false);
    else if (key === 'Escape') dismissed.value = true;
    else if (!onKey(key, shownOf(layout, current))) return;
    event.preventDefault();
  };
  const place = active && placeOf(layout, active);
  const option = shownOf(layout, focused.value ?? firstItem(layout));
  return (
    <div class="topology-stage">
      <div
        ref={host}
        class="topology-map"
        role="listbox"
        aria-label={texts.topology.map}
        aria-activedescendant="topology-active"
        tabIndex={0}
        onScroll={({ currentTarget }) => {
          scrollTop.value = currentTarget.scrollTop;
          hovered.value = undefined;
        }}
        onKeyDown={onKeyDown}
        onFocus={() => {
          hasFocus.value = true;
          focused.value ??= firstItem(layout);
        }}
        onBlur={() => (hasFocus.value = false)}
        onPointerMove={(event) => {
          dismissed.value = false;
          hovered.value = at(event);
        }}
        onPointerLeave={() => (hovered.value = undefined)}
        onClick={(event) => open(at(event), event.ctrlKey || event.metaKey)}
      >
        <div
          class={active !== undefined && active === hovered.value ? 'topology-scene pointed' : 'topology-scene'}
          style={{ height: `${layout.height + 2 * INSET}px` }}
        >
          <canvas aria-hidden="true" style={{ width: `${width}px`, height: `${height}px` }} />
        </div>
        <div id="topology-active" class="topology-hidden" role="option" aria-selected="true">
          {wordsOf(option, useOf)}
        </div>
      </div>
      {active === undefined || place === undefined || dismissed.value ? null : (
        <TileCard
          shown={shownOf(layout, active)}
          useOf={useOf}
          place={{ ...place, left: place.left + INSET, top: place.top + INSET - scrollTop.value }}
          within={size.value}
        />
      )}
    </div>
  );
}

/** Draws the picture, and draws it again when it changes. */
function useStage(host: { readonly current: HTMLElement | null }, picture: Picture): void {
  const stage = useRef<Stage>(undefined);
  useEffect(() => {
    const made = new Stage(host.current!.querySelector('canvas')!);
    stage.current = made;
    return () => made.dispose();
  }, []);
  useEffect(() => stage.current?.show(picture));
}

function useSize(host: { readonly current: HTMLElement | null }, changed: (size: Size) => void): void {
  useEffect(() => {
    const element = host.current!;
    const report = (): void => changed({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(report);
    observer.observe(element);
    report();
    return () => observer.disconnect();
  }, []);
}

function firstItem({ lines }: Layout): Item {
  const box = lines.find(({ boxes }) => boxes.length > 0)?.boxes[0];
  return { node: box?.node.name ?? '', index: -1 };
}

/** The tile of an item, or else its node; empty for an item that no longer exists. */
function shownOf(layout: Layout, { node, index }: Item): Shown {
  const box = boxOf(layout, node);
  const found: SceneNode | undefined = box?.node;
  return { node: found, tile: found?.tiles[index] };
}

function reveal(host: HTMLElement, layout: Layout, item: Item): void {
  const place = placeOf(layout, item);
  if (place === undefined) return;
  const { scrollTop, clientHeight } = host;
  const margin = 3 * INSET;
  if (place.top < scrollTop) host.scrollTop = Math.max(0, place.top - margin);
  else if (place.top + place.height + margin > scrollTop + clientHeight)
    host.scrollTop = place.top + place.height + margin - clientHeight;
}
