/** The CPU and memory managers by configuration; undefined where their policy is `none`. */
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import type { Files } from '../../platform/files.ts';
import { createCpuManager, type CpuManager } from '../cpu-manager/cpu-manager.ts';
import { parseCpuSet } from '../cpu-manager/cpu-set.ts';
import { readCpuState } from '../cpu-manager/cpu-state.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { createMemoryManager, type MemoryManager } from '../memory-manager/memory-manager.ts';

export function createStaticCpuManager(files: Files, config: KubeletConfiguration): CpuManager | undefined {
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

/**
 * Rejects when the checkpoint was written under another policy: containers may still use its assignments. Upstream:
 * the policy check of cpu_manager_state.
 */
export async function rejectForeignCpuState(files: Files, config: KubeletConfiguration): Promise<void> {
  await readCpuState(files, `${config.rootDirectory}/cpu_manager_state`, config.cpuManager.policy);
}

export function createStaticMemoryManager(files: Files, config: KubeletConfiguration): MemoryManager | undefined {
  const { memoryManager, systemReserved, kubeReserved, evictionHard, rootDirectory } = config;
  if (memoryManager.policy === 'None') return undefined;
  const threshold = evictionHard['memory.available'] ?? '0';
  const reservedBytes = (name: string): number =>
    quantityValue(systemReserved[name] ?? '0') + quantityValue(kubeReserved[name] ?? '0');
  return createMemoryManager({ files }, rootDirectory, {
    reservedMemory: memoryManager.reservedMemory,
    reservedByNode: (capacityBytes) => ({
      memory:
        reservedBytes('memory') +
        (threshold.endsWith('%')
          ? Math.floor((capacityBytes * Number(threshold.slice(0, -1))) / 100)
          : quantityValue(threshold)),
    }),
  });
}
