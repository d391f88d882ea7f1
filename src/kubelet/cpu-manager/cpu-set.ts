/** Sets of CPUs as sorted lists, and the kernel's text form. Pure. Upstream: k8s.io/utils/cpuset. */

/** Numbers of processors, ascending, each once. */
export type CpuSet = readonly number[];

/** The set of these processors. */
export function cpuSet(cpus: Iterable<number>): CpuSet {
  return [...new Set(cpus)].sort((a, b) => a - b);
}

/** The CPUs of `a` that are not in `b`. */
export function difference(a: CpuSet, b: Iterable<number>): CpuSet {
  const gone = new Set(b);
  return a.filter((cpu) => !gone.has(cpu));
}

export function intersection(a: CpuSet, b: Iterable<number>): CpuSet {
  const other = new Set(b);
  return a.filter((cpu) => other.has(cpu));
}

/** `0-3,8`. */
export function formatCpuSet(set: CpuSet): string {
  const parts: string[] = [];
  for (let at = 0; at < set.length;) {
    let end = at;
    while (set[end + 1] === set[end]! + 1) end++;
    parts.push(end === at ? `${set[at]}` : `${set[at]}-${set[end]}`);
    at = end + 1;
  }
  return parts.join(',');
}

/** Parses `0-3,8`; undefined for other texts. */
export function parseCpuSet(text: string): CpuSet | undefined {
  if (text.trim() === '') return [];
  const cpus: number[] = [];
  for (const part of text.trim().split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (match === null) return undefined;
    const [from, to] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (to < from || to - from > 65_536) return undefined;
    for (let cpu = from; cpu <= to; cpu++) cpus.push(cpu);
  }
  return cpuSet(cpus);
}
