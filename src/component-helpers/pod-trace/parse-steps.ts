/** Reads the steps that another process reports. A node may send anything, so every field is checked. */
import { fieldsOf } from '../../base/fields-of.ts';
import type { ComponentSteps, TraceStep } from './trace-step.ts';

const MAX_STEPS = 1000;
const MAX_DEPTH = 16;
const MAX_CHARS = 1000;
/** The year 5138. Later times cannot be real. */
const MAX_MS = 1e14;

/** The steps that a component reports of a pod; undefined when they have another form. Control characters become spaces. */
export function parseSteps(answer: unknown, component: string): ComponentSteps | undefined {
  const { uid, steps, dropped, finishedMs } = fieldsOf(answer);
  if (typeof uid !== 'string' || !Array.isArray(steps) || steps.length > MAX_STEPS) return undefined;
  if (!isTime(finishedMs, true) || !isTime(dropped, true)) return undefined;
  const read: TraceStep[] = [];
  const depths: number[] = [];
  for (const one of steps as unknown[]) {
    const { parent, name, startMs, endMs, detail, error } = fieldsOf(one);
    if (typeof name !== 'string' || !isTime(startMs, false) || !isTime(endMs, true)) return undefined;
    // Steps are in the order they began, so a parent comes before its children.
    const depth =
      parent === undefined ? 0 : ((typeof parent === 'number' ? depths[parent] : undefined) ?? MAX_DEPTH) + 1;
    if (depth > MAX_DEPTH) return undefined;
    depths.push(depth);
    const times = { startMs: startMs as number, endMs };
    read.push({
      parent: parent as number | undefined,
      name: printable(name)!,
      ...times,
      detail: printable(detail),
      error: printable(error),
    });
  }
  return { component, uid, steps: read, dropped, finishedMs };
}

function isTime(value: unknown, mayLack: boolean): value is number | undefined {
  return value === undefined ? mayLack : typeof value === 'number' && value >= 0 && value < MAX_MS;
}

function printable(text: unknown): string | undefined {
  return typeof text === 'string'
    ? text.slice(0, MAX_CHARS).replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
    : undefined;
}
