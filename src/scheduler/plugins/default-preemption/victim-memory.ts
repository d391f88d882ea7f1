/**
 * Victims by node, remembered for pods of one class and priority while neither the node nor the pods promised to it change.
 * Only where that is all they depend on: every filter looks at pod and node alone, and no disruption budget counts.
 */
import { Lru } from '../../../base/lru.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import { podClassKey } from '../../framework/pod-class.ts';
import type { Status } from '../../framework/status.ts';
import { priorityOf, selectVictims, type Candidate, type VictimSearch } from './victims.ts';

interface Remembered {
  readonly node: NodeInfo;
  readonly generation: number;
  readonly promised: number;
  readonly found: Candidate | Status;
}

const CLASSES = 16;

/** Finds victims, remembering. */
export function createVictimFinder(): (search: VictimSearch) => (node: NodeInfo) => Candidate | Status {
  const memory = new Lru<string, (Remembered | undefined)[]>(CLASSES);
  return (search) => {
    const plain = search.budgets.length === 0 && search.filters.every((plugin) => plugin.nodeLocal === true);
    if (!plain) return (node) => selectVictims(search, node);
    const key = `${priorityOf(search.pod)}|${podClassKey(search.pod)}`;
    let known = memory.get(key);
    if (known === undefined) memory.set(key, (known = []));
    const bySlot = known;
    return (node) => {
      const generation = node.tracker?.generations[node.slot] ?? -1;
      const promised = search.nominations.version(node.name);
      const last = bySlot[node.slot];
      if (last?.node === node && last.generation === generation && last.promised === promised) return last.found;
      const found = selectVictims(search, node);
      if (generation !== -1) bySlot[node.slot] = { node, generation, promised, found };
      return found;
    };
  };
}
