// The results of the benchmark as a table beside the goals, or as JSON.
import { cpus, loadavg, release, totalmem } from 'node:os';

export interface Figure {
  readonly key: string;
  readonly what: string;
  readonly value: number;
  readonly unit: 'ms' | 'MB' | 'MB/s' | '%' | '/s' | '×';
}

interface Target {
  readonly goal: string;
  readonly upstream: string;
}

/** For rates higher is better; for all other figures lower. */
function verdictOf({ key, value, unit }: Figure): string {
  const goal = Number((targets[key]?.goal ?? '').replaceAll(',', ''));
  if (goal === 0) return '';
  const isRate = unit === '/s' || unit === 'MB/s';
  return (isRate ? value >= goal : value <= goal) ? 'met' : 'missed';
}

/** Goals, and upstream v1.20.2's figures on a quiet machine of two cores. */
const targets: Readonly<Record<string, Target>> = {
  freshApiReady: { goal: '500', upstream: '3,100' },
  freshNodeReady: { goal: '2,000', upstream: '19,000' },
  demoByName: { goal: '5,000', upstream: '' },
  reachable: { goal: '100', upstream: '' },
  secondApiReady: { goal: '500', upstream: '' },
  secondNodeReady: { goal: '2,000', upstream: '' },
  idleMemory: { goal: '200', upstream: '640' },
  workedMemory: { goal: '300', upstream: '920' },
  pods500Memory: { goal: '300', upstream: '' },
  pods500Cpu: { goal: '1', upstream: '' },
  idleCpu: { goal: '1', upstream: '3.2' },
  create: { goal: '2,770', upstream: '1,385' },
  get: { goal: '5,118', upstream: '2,559' },
  update: { goal: '3,032', upstream: '1,516' },
  list: { goal: '111', upstream: '37' },
  watch: { goal: '135,000', upstream: '45,000' },
  listOthers: { goal: '15', upstream: '' },
  listMemory: { goal: '2', upstream: '' },
  storedReady: { goal: '3,000', upstream: '' },
  storedMemory: { goal: '600', upstream: '' },
  wrkGet: { goal: '21,000', upstream: '7,084' },
  wrkPost: { goal: '8,000', upstream: '2,526' },
  onePodReady: { goal: '250', upstream: '880-1,340' },
  onePodGone: { goal: '400', upstream: '9,000-14,000' },
  manyPodsReadyFactor: { goal: '1.3', upstream: '2.7' },
  manyPodsGoneFactor: { goal: '1.5', upstream: '30' },
  eightyPodsReadyFactor: { goal: '1.3', upstream: '2.1' },
  eightyPodsGoneFactor: { goal: '1.5', upstream: '' },
  loneCpu: { goal: '3', upstream: '' },
  loneMemory: { goal: '120', upstream: '' },
  configMapToFile: { goal: '1,000', upstream: '60,000-90,000' },
  crashSeen: { goal: '100', upstream: '1,000' },
  deploymentUp: { goal: '6,000', upstream: '48,000' },
  deploymentDown: { goal: '7,000', upstream: '47,000' },
};

/** The machine of a run. */
export function describeMachine(): Record<string, string | number> {
  return {
    cpu: cpus()[0]?.model ?? '',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    loadBefore: loadavg()[0] ?? 0,
  };
}

export function table(machine: ReturnType<typeof describeMachine>, figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const { key, what, value, unit } = figure;
    const { goal = '', upstream = '' } = targets[key] ?? {};
    return [what, `${round(value)} ${unit}`, goal, verdictOf(figure), upstream];
  });
  const all = [['', 'here', 'goal', '', 'upstream'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('   ')
      .trimEnd();
  const { cpu, cores, memoryGiB, kernel, node, loadBefore } = machine;
  return [
    `${cores} × ${cpu}, ${memoryGiB} GiB, kernel ${kernel}, Node.js ${node}, load before ${round(Number(loadBefore))}`,
    '',
    ...all.map(line),
  ].join('\n');
}

/** The results for programs. */
export function json(machine: ReturnType<typeof describeMachine>, figures: readonly Figure[]): string {
  const results = Object.fromEntries(
    figures.map(({ key, value, unit }) => [key, { value: Number(value.toPrecision(4)), unit }]),
  );
  return JSON.stringify({ machine, results }, undefined, 1);
}

function round(value: number): string {
  return value >= 20 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
}
