/** Draws a diagram: boxes are links, and the connections of the box under the pointer are highlighted. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { texts } from '../../app/texts.ts';
import { SHAPES_BY_TONE } from '../badge.tsx';
import type { Flow, FlowBox } from './flow.ts';
import { BOX_HEIGHT, boxWidthIn, columnLeft, type FlowLayout, layoutFlow } from './layout.ts';

/** The number of characters at the end of a name that are always shown, because names differ there. */
const TAIL = 6;
/** The height of the columns' titles. */
const HEAD = 26;
/** The sum of both sides. */
const PADDING = 8;

export function FlowGraph({ flow, label }: { readonly flow: Flow; readonly label: string }) {
  const host = useRef<HTMLDivElement>(null);
  const room = useSignal(0);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => (room.value = host.current!.clientWidth - PADDING));
    observer.observe(host.current!);
    room.value = host.current!.clientWidth - PADDING;
    return () => observer.disconnect();
  }, []);
  const boxWidth = boxWidthIn(room.value, flow.columns.length);
  const layout = useMemo(() => layoutFlow(flow, boxWidth), [flow, boxWidth]);
  const pointed = useSignal('');
  const lit = useMemo(() => connected(flow, pointed.value), [flow, pointed.value]);
  return (
    <div ref={host} class="flow" role="region" aria-label={label} tabIndex={0}>
      <div class="flow-field" style={{ width: `${layout.width}px`, height: `${layout.height + HEAD}px` }}>
        <Lines layout={layout} lit={lit} />
        {flow.columns.map(({ title, boxes }, column) => (
          <section key={title} aria-label={title}>
            <h2 style={{ transform: `translate(${columnLeft(column, boxWidth)}px, 0)` }}>{title}</h2>
            {boxes.length === 0 ? null : (
              <ul>
                {layout.boxes
                  .filter(({ box }) => boxes.includes(box))
                  .map(({ box, left, top }) => (
                    <li
                      key={box.id}
                      class={lit?.has(box.id) === true ? 'lit' : ''}
                      style={{
                        transform: `translate(${left}px, ${top + HEAD}px)`,
                        width: `${boxWidth}px`,
                        height: `${BOX_HEIGHT}px`,
                      }}
                      onPointerEnter={() => (pointed.value = box.id)}
                      onPointerLeave={() => (pointed.value = '')}
                      onFocusCapture={() => (pointed.value = box.id)}
                      onBlurCapture={() => (pointed.value = '')}
                    >
                      <Box box={box} />
                    </li>
                  ))}
              </ul>
            )}
          </section>
        ))}
      </div>
    </div>
  );
}

function Lines({ layout, lit }: { readonly layout: FlowLayout; readonly lit: ReadonlySet<string> | undefined }) {
  return (
    <svg aria-hidden="true" width={layout.width} height={layout.height}>
      {layout.edges.map(({ edge: { from, to, tone }, path }) => {
        const faint = lit !== undefined && !(lit.has(from) && lit.has(to));
        return <path key={`${from} ${to}`} class={`${tone}${faint ? ' faint' : ''}`} d={path} />;
      })}
    </svg>
  );
}

function Box({ box: { title, detail, tone, href, current = false } }: { readonly box: FlowBox }) {
  const spoken = [texts.flow.tones[tone], title, detail].filter((text) => text !== '').join(', ');
  const content = (
    <>
      <span class="flow-spoken">{spoken}</span>
      <span class="flow-title" aria-hidden="true">
        {tone === 'plain' ? null : <span class={`flow-shape ${tone}`}>{SHAPES_BY_TONE[tone]}</span>}
        <span class="flow-head" title={title}>
          {title.slice(0, -TAIL)}
        </span>
        <span>{title.slice(-TAIL)}</span>
      </span>
      <span class="flow-detail" aria-hidden="true" title={detail}>
        {detail}
      </span>
    </>
  );
  const classes = `flow-box ${tone}${current ? ' current' : ''}`;
  return href === undefined ? (
    <div class={classes}>{content}</div>
  ) : (
    <a class={classes} href={href}>
      {content}
    </a>
  );
}

/** The box and all boxes connected with it; undefined when the pointer is on no box. */
function connected({ edges }: Flow, id: string): ReadonlySet<string> | undefined {
  if (id === '') return undefined;
  const found = new Set([id]);
  const follow = (at: string, forward: boolean): void => {
    for (const { from, to } of edges) {
      const [here, there] = forward ? [from, to] : [to, from];
      if (here !== at || found.has(there)) continue;
      found.add(there);
      follow(there, forward);
    }
  };
  follow(id, true);
  follow(id, false);
  return found;
}
