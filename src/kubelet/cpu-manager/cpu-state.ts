/**
 * The CPU manager's checkpoint `cpu_manager_state` in the kubelet's directory, in upstream's format. Upstream:
 * pkg/kubelet/cm/cpumanager/state. Differs: the checksum is computed over the text of the other fields.
 */
import { fnv32a } from '../../base/fnv.ts';
import type { Files } from '../../platform/files.ts';
import { formatCpuSet, parseCpuSet, type CpuSet } from './cpu-set.ts';

/** By pod uid, then container. */
export type CpuAssignments = Readonly<Record<string, Readonly<Record<string, CpuSet>>>>;

export interface CpuState {
  /** The shared processors. */
  readonly defaultSet: CpuSet;
  readonly assignments: CpuAssignments;
}

interface CpuStateFile {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Writes the state of the static policy. */
export async function writeCpuState(files: Files, path: string, state: CpuState): Promise<void> {
  const entries = Object.fromEntries(
    Object.entries(state.assignments).map(([uid, containers]) => [
      uid,
      Object.fromEntries(Object.entries(containers).map(([name, cpus]) => [name, formatCpuSet(cpus)])),
    ]),
  );
  const cpuStateFile: CpuStateFile = { policyName: 'static', defaultCpuSet: formatCpuSet(state.defaultSet), entries };
  await files.writeFileAtomic(
    path,
    JSON.stringify({ ...cpuStateFile, checksum: fnv32a(JSON.stringify(cpuStateFile)) }),
    {
      mode: 0o600,
    },
  );
}

/** Undefined: there is none. Throws when it is damaged or of another policy, as containers may use its assignments. */
export async function readCpuState(files: Files, path: string, policy: string): Promise<CpuState | undefined> {
  if (!(await files.exists(path))) return undefined;
  const advice = `please drain this node and delete the CPU manager checkpoint file "${path}" before restarting Kubelet`;
  const fail = (what: string): Error => new Error(`could not restore state from checkpoint: ${what}, ${advice}`);
  let read: CpuStateFile & { readonly checksum: number };
  try {
    read = JSON.parse(await files.readText(path)) as typeof read;
  } catch (error) {
    throw new Error(fail('checkpoint is corrupted').message, { cause: error });
  }
  const { checksum, ...kept } = read;
  if (kept.policyName !== policy)
    throw fail(`configured policy "${policy}" differs from state checkpoint policy "${kept.policyName}"`);
  const set = (text: string): CpuSet => {
    const cpus = parseCpuSet(text);
    if (cpus === undefined) throw fail(`could not parse cpuset "${text}"`);
    return cpus;
  };
  if (checksum !== fnv32a(JSON.stringify(kept))) throw fail('checkpoint is corrupted');
  return {
    defaultSet: set(kept.defaultCpuSet),
    assignments: Object.fromEntries(
      Object.entries(kept.entries ?? {}).map(([uid, containers]) => [
        uid,
        Object.fromEntries(Object.entries(containers).map(([name, text]) => [name, set(text)])),
      ]),
    ),
  };
}
