/** The managers of processors and memory as configured; absent where their policy is to do nothing. */
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import type { Files } from '../../platform/files.ts';
import { createCpuManager, type CpuManager } from '../cpu-manager/cpu-manager.ts';
import { parseCpuSet } from '../cpu-manager/cpu-set.ts';
import { readCpuState } from '../cpu-manager/cpu-state.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { createMemoryManager, type MemoryManager } from '../memory-manager/memory-manager.ts';

/** The CPU manager of the static policy. */
export function cpuManagerOf(files: Files, config: KubeletConfiguration): CpuManager | undefined {
  const { cpuManager, systemReserved, kubeReserved, rootDirectory } = config;
  if (cpuManager.policy === 'none') return undefined;
  return createCpuManager({ files }, rootDirectory, {
    reservedCpus: parseCpuSet(cpuManager.reservedCpus) ?? [],
    reservedMilliCpu: quantityMilliValue(systemReserved['cpu'] ?? '0') + quantityMilliValue(kubeReserved['cpu'] ?? '0'),
    fullPcpusOnly: cpuManager.fullPcpusOnly,
    distributeAcrossNuma: cpuManager.distributeAcrossNuma,
    strictReservation: cpuManager.strictReservation,
  });
}

/** Without a manager there must be no memory of one: its containers run by it. Rejects when there is. */
export async function refuseForeignCpuState(files: Files, config: KubeletConfiguration): Promise<void> {
  await readCpuState(files, `${config.rootDirectory}/cpu_manager_state`, config.cpuManager.policy);
}

/** The memory manager of the static policy. */
export function memoryManagerOf(files: Files, config: KubeletConfiguration): MemoryManager | undefined {
  const { memoryManager, systemReserved, kubeReserved, evictionHard, rootDirectory } = config;
  if (memoryManager.policy === 'None') return undefined;
  const threshold = evictionHard['memory.available'] ?? '0';
  const kept = (name: string): number =>
    quantityValue(systemReserved[name] ?? '0') + quantityValue(kubeReserved[name] ?? '0');
  return createMemoryManager({ files }, rootDirectory, {
    reservedMemory: memoryManager.reservedMemory,
    reservedByNode: (capacityBytes) => ({
      memory:
        kept('memory') +
        (threshold.endsWith('%')
          ? Math.floor((capacityBytes * Number(threshold.slice(0, -1))) / 100)
          : quantityValue(threshold)),
    }),
  });
}
