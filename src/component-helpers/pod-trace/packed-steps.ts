/** Finished steps as one text: a third of their size as objects, and a component keeps those of hundreds of pods. */
import { RecordedStep } from './recorded-step.ts';

/** Name, start and end after the first start, index of the parent, detail, error. */
type PackedStep = readonly [string, number, number, number, string?, string?];

/** The text; undefined while a step is in progress. */
export function packSteps(steps: readonly RecordedStep[]): string | undefined {
  const originMs = steps[0]?.startMs ?? 0;
  const indexes = new Map(steps.map((step, index) => [step, index]));
  const packed: PackedStep[] = [];
  for (const { name, startMs, endMs, parent, detail, error } of steps) {
    if (endMs === undefined) return undefined;
    const parentIndex = (parent && indexes.get(parent)) ?? -1;
    packed.push([name, micros(startMs - originMs), micros(endMs - originMs), parentIndex, ...textsOf(detail, error)]);
  }
  return JSON.stringify([originMs, packed]);
}

function textsOf(detail: string | undefined, error: string | undefined): readonly [string?, string?] {
  if (error !== undefined) return [detail ?? '', error];
  return detail === undefined ? [] : [detail];
}

/** Clocks have no finer resolution. */
function micros(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** The steps as objects of their own. */
export function unpackSteps(text: string): RecordedStep[] {
  const [originMs, packed] = JSON.parse(text) as readonly [number, readonly PackedStep[]];
  const steps: RecordedStep[] = [];
  for (const [name, startMs, endMs, parent, detail, error] of packed) {
    const step = new RecordedStep(name, originMs + startMs, steps[parent]);
    step.endMs = originMs + endMs;
    step.detail = detail || undefined;
    step.error = error;
    steps.push(step);
  }
  return steps;
}
