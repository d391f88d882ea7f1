/** Pressure stall information of a cgroup or of the machine, from the kernel. Upstream: KEP-4205, Documentation/accounting/psi.rst. */

/** One line: the share of time in percent over windows of 10, 60 and 300 s, and the total time in microseconds. */
export interface PressureLine {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  readonly total: number;
}

/** How long at least one task (`some`), or all of them at once (`full`), waited for a resource. */
export interface Pressure {
  readonly some: PressureLine;
  readonly full: PressureLine;
}

/** The resources tasks wait for. */
export const PRESSURE_RESOURCES = ['cpu', 'memory', 'io'] as const;

/** By resource. Absent where the kernel does not report it. */
export type Pressures = { readonly [R in (typeof PRESSURE_RESOURCES)[number]]?: Pressure };

const NONE: PressureLine = { avg10: 0, avg60: 0, avg300: 0, total: 0 };

/** The content of a pressure file; undefined for an empty one. Old kernels write no `full` line for processors. */
function parsePressure(text: string): Pressure | undefined {
  const line = (kind: 'some' | 'full'): PressureLine | undefined => {
    const match = new RegExp(String.raw`^${kind} avg10=(\S+) avg60=(\S+) avg300=(\S+) total=(\d+)`, 'm').exec(text);
    if (match === null) return undefined;
    const [avg10, avg60, avg300, total] = match.slice(1).map(Number) as [number, number, number, number];
    return { avg10, avg60, avg300, total };
  };
  const some = line('some');
  return some === undefined ? undefined : { some, full: line('full') ?? NONE };
}

/** Reads each resource; what the kernel does not report is left out. */
export async function collectPressures(
  read: (resource: keyof Pressures) => Promise<string | undefined>,
): Promise<Pressures> {
  const found = await Promise.all(
    PRESSURE_RESOURCES.map(async (resource) => [resource, parsePressure((await read(resource)) ?? '')] as const),
  );
  return Object.fromEntries(found.filter(([, pressure]) => pressure !== undefined));
}
