/** A pod's timeline as text: one line per step, with a bar that shows its place in the whole time. */
import type { PodTrace, PodTraceStep } from './pod-trace.ts';

const BAR_WIDTH = 40;
const MAX_NAME_WIDTH = 44;

export function waterfall(trace: PodTrace): string {
  const { metadata, steps, missing } = trace;
  const spanMs = largest([
    trace.durationMs ?? 0,
    ...steps.map(({ offsetMs, durationMs = 0 }) => offsetMs + durationMs),
  ]);
  const rows = steps.map((step) => ({ step, label: labelOf(step) }));
  const width = Math.min(MAX_NAME_WIDTH, largest(rows.map(({ label }) => label.length)));
  const lines = [`pod ${metadata.namespace}/${metadata.name}${onNode(trace)}: ${summary(trace)}`];
  let component = '';
  for (const { step, label } of rows) {
    if (step.component !== component) lines.push((component = step.component));
    const took = step.durationMs === undefined ? 'goes on' : duration(step.durationMs);
    const error = step.error === undefined ? '' : ` failed: ${step.error}`;
    lines.push(
      `${label.padEnd(width)} ${duration(step.offsetMs).padStart(10)} ${took.padStart(10)} |${barOf(step, spanMs)}|${error}`,
    );
  }
  for (const what of missing) lines.push(`missing: ${what}`);
  return `${lines.join('\n')}\n`;
}

function largest(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b), 0);
}

function onNode({ nodeName }: PodTrace): string {
  return nodeName === undefined ? '' : ` on ${nodeName}`;
}

function summary({ durationMs, accountedFor, steps }: PodTrace): string {
  if (durationMs !== undefined)
    return `ready ${duration(durationMs)} after its creation, ${((accountedFor ?? 0) * 100).toFixed(1)} % of it accounted for`;
  return steps.length === 0 ? 'no step of its start is remembered' : 'not ready so far';
}

function labelOf({ depth, name, detail }: PodTraceStep): string {
  const text = `${'  '.repeat(depth + 1)}${name}${detail === undefined ? '' : ` (${detail})`}`;
  return text.length <= MAX_NAME_WIDTH ? text : `${text.slice(0, MAX_NAME_WIDTH - 1)}…`;
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms.toFixed(1)} ms`;
  return `${(ms / 1000).toFixed(2)} s`;
}

function barOf({ offsetMs, durationMs }: PodTraceStep, spanMs: number): string {
  const at = (ms: number): number => (spanMs === 0 ? 0 : Math.round((ms / spanMs) * BAR_WIDTH));
  const from = Math.min(Math.max(at(offsetMs), 0), BAR_WIDTH - 1);
  const to = Math.max(from + 1, Math.min(at(durationMs === undefined ? spanMs : offsetMs + durationMs), BAR_WIDTH));
  return `${' '.repeat(from)}${'━'.repeat(to - from)}${' '.repeat(BAR_WIDTH - to)}`;
}
