/** Processors and NUMA nodes from /sys. Upstream: cAdvisor's machine topology, the kubelet's cpu topology discovery. */
import type { Files } from '../files.ts';
import type { HostCpu, HostNumaNode, HostTopology } from '../host.ts';
import { parseMeminfo, readHugePages } from './host-memory.ts';

/** Numbers of a list as the kernel writes them: `0-3,8`. */
function parseCpuList(text: string): number[] {
  if (text.trim() === '') return [];
  return text
    .trim()
    .split(',')
    .flatMap((part) => {
      const [from = '', to = from] = part.split('-');
      return Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => Number(from) + at);
    });
}

function distancesOf(text: string | undefined): Pick<HostNumaNode, 'distances'> {
  return text === undefined || text === '' ? {} : { distances: text.split(/\s+/).map(Number) };
}

/** Reads the topology; a machine that reports no NUMA nodes has one. */
export async function readTopology(files: Files, root: string): Promise<HostTopology> {
  const folder = `${root}/sys/devices/system`;
  const text = async (path: string): Promise<string | undefined> =>
    (await files.exists(path)) ? (await files.readText(path)).trim() : undefined;
  const number = async (path: string, otherwise: number): Promise<number> => {
    const value = Number((await text(path)) ?? otherwise);
    return value < 0 ? otherwise : value;
  };
  const online = parseCpuList((await text(`${folder}/cpu/online`)) ?? '0');
  const names = (await files.exists(`${folder}/node`)) ? await files.readDir(`${folder}/node`) : [];
  const numbers = names.flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  const nodeOf = new Map<number, number>();
  const nodes: HostNumaNode[] = [];
  for (const node of numbers.sort((a, b) => a - b)) {
    const own = `${folder}/node/node${node}`;
    for (const cpu of parseCpuList((await text(`${own}/cpulist`)) ?? '')) nodeOf.set(cpu, node);
    const memory = ((await text(`${own}/meminfo`)) ?? '').replaceAll(/^Node \d+ /gm, '');
    nodes.push({
      node,
      memoryBytes: parseMeminfo(memory).get('MemTotal') ?? 0,
      hugePages: await readHugePages(files, `${own}/hugepages`),
      ...distancesOf(await text(`${own}/distance`)),
    });
  }
  if (nodes.length === 0) {
    const memory = parseMeminfo((await text(`${root}/proc/meminfo`)) ?? '');
    const hugePages = await readHugePages(files, `${root}/sys/kernel/mm/hugepages`);
    nodes.push({ node: 0, memoryBytes: memory.get('MemTotal') ?? 0, hugePages });
  }
  const cpus = await Promise.all(
    online.map(async (cpu): Promise<HostCpu> => {
      const own = `${folder}/cpu/cpu${cpu}/topology`;
      return {
        cpu,
        core: await number(`${own}/core_id`, cpu),
        socket: await number(`${own}/physical_package_id`, 0),
        node: nodeOf.get(cpu) ?? 0,
      };
    }),
  );
  return { cpus, nodes };
}
