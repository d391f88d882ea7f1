/** Movement by arrow keys among tiles and nodes. Pure. */
import { type Box, boxOf, type Item, type Layout, tilePlace } from './layout.ts';

/** The item that a key moves to; undefined when the key moves nothing. */
export function moved(layout: Layout, { node, index }: Item, key: string): Item | undefined {
  const boxes = layout.lines.flatMap((line) => line.boxes);
  const first = boxes[0];
  if (first === undefined) return undefined;
  const box = boxOf(layout, node);
  if (box === undefined) return { node: first.node.name, index: -1 };
  const at = boxes.indexOf(box);
  const onNode = (to: number): Item => ({
    node: boxes[Math.max(0, Math.min(to, boxes.length - 1))]!.node.name,
    index: -1,
  });
  const last = box.node.tiles.length - 1;
  switch (key) {
    case 'ArrowRight':
      return index < last ? { node, index: index + 1 } : onNode(at + 1);
    case 'ArrowLeft':
      if (index >= 0) return { node, index: index - 1 };
      return at === 0 ? onNode(0) : { node: boxes[at - 1]!.node.name, index: boxes[at - 1]!.node.tiles.length - 1 };
    case 'ArrowDown':
      if (index < 0 && last >= 0) return { node, index: 0 };
      return index >= 0 && index + box.columns <= last
        ? { node, index: index + box.columns }
        : (across(layout, { box, index }, 1) ?? { node, index });
    case 'ArrowUp':
      if (index >= box.columns) return { node, index: index - box.columns };
      return index >= 0 ? { node, index: -1 } : (across(layout, { box, index }, -1) ?? { node, index });
    case 'PageDown':
      return onNode(at + 1);
    case 'PageUp':
      return onNode(index >= 0 ? at : at - 1);
    case 'Home':
      return onNode(0);
    case 'End':
      return onNode(boxes.length - 1);
    default:
      return undefined;
  }
}

/** The node below or above, at the same horizontal position. */
function across(
  layout: Layout,
  { box, index }: { readonly box: Box; readonly index: number },
  by: 1 | -1,
): Item | undefined {
  const { left, width } = index < 0 ? box : tilePlace(layout.measures, box, index);
  const middle = left + width / 2;
  const lines = layout.lines.filter(({ boxes }) => boxes.length > 0);
  const line = lines[lines.findIndex(({ boxes }) => boxes.includes(box)) + by];
  const next = line?.boxes.find((one) => middle < one.left + one.width) ?? line?.boxes.at(-1);
  if (next === undefined) return undefined;
  const { length } = next.node.tiles;
  return { node: next.node.name, index: by > 0 || length === 0 ? -1 : lastInColumn(layout, next, middle) };
}

function lastInColumn(layout: Layout, box: Box, middle: number): number {
  const { length } = box.node.tiles;
  const { padding, step } = layout.measures;
  const column = Math.max(0, Math.min(Math.floor((middle - box.left - padding) / step), box.columns - 1));
  const lastRow = Math.floor((length - 1) / box.columns) * box.columns;
  return Math.min(lastRow + column, length - 1);
}
