/** Facts about this machine from /proc, /sys and the operating system. Upstream: cAdvisor's machine info. */
import { arch, availableParallelism, hostname, release } from 'node:os';
import type { Files } from '../files.ts';
import type { Host, HostInfo } from '../host.ts';
import { parseMeminfo, readHugePages } from './host-memory.ts';
import { readTopology } from './host-topology.ts';

const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** Reads the machine through the file port; `root` is for tests on sample files. */
export function createNodeHost(deps: { readonly files: Files; readonly root?: string }): Host {
  const root = deps.root ?? '';
  const read = async (path: string): Promise<string> => {
    try {
      return (await deps.files.readText(`${root}${path}`)).trim();
    } catch {
      return ''; // not every machine has every fact: an absent one is an empty text in NodeInfo
    }
  };
  const meminfo = async (): Promise<Map<string, number>> => parseMeminfo(await read('/proc/meminfo'));
  return {
    async info(): Promise<HostInfo> {
      const memory = await meminfo();
      return {
        hostname: hostname(),
        machineId: (await read('/etc/machine-id')) || (await read('/var/lib/dbus/machine-id')),
        systemUuid: await systemUuid(read),
        bootId: await read('/proc/sys/kernel/random/boot_id'),
        kernelVersion: release(),
        osImage: parseOsRelease(await read('/etc/os-release')),
        operatingSystem: 'linux',
        architecture: GO_ARCHITECTURES[arch()] ?? arch(),
        cpuCount: availableParallelism(),
        memoryBytes: memory.get('MemTotal') ?? 0,
        swapBytes: memory.get('SwapTotal') ?? 0,
        pidMax: Number(await read('/proc/sys/kernel/pid_max')) || 32_768,
        hugePages: await readHugePages(deps.files, `${root}/sys/kernel/mm/hugepages`),
      };
    },
    topology: () => readTopology(deps.files, root),
    async memory() {
      const memory = await meminfo();
      const total = memory.get('MemTotal') ?? 0;
      const usageBytes = total - (memory.get('MemFree') ?? 0);
      const workingSetBytes = Math.max(0, usageBytes - (memory.get('Inactive(file)') ?? 0));
      return { availableBytes: total - workingSetBytes, usageBytes, workingSetBytes };
    },
    async processCount() {
      // The fourth field is running/all scheduling entities.
      const field = (await read('/proc/loadavg')).split(' ')[3] ?? '';
      return Number(field.split('/')[1] ?? 0);
    },
  };
}

async function systemUuid(read: (path: string) => Promise<string>): Promise<string> {
  for (const path of ['/sys/class/dmi/id/product_uuid', '/proc/device-tree/system-id', '/etc/machine-id']) {
    const text = await read(path);
    if (text !== '') return text.replaceAll('\0', '');
  }
  return '';
}

/** PRETTY_NAME of os-release; upstream's fallback is `Linux`. */
export function parseOsRelease(text: string): string {
  const line = /^PRETTY_NAME=(?:"(.*)"|'(.*)'|(.*))$/m.exec(text);
  return line?.[1] ?? line?.[2] ?? line?.[3] ?? 'Linux';
}
