import { DeviceTaintRules } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Besides, it deletes pods, and says why on them before. */
export const deviceTaintEvictionWrites: ExclusiveWrites = {
  account: 'device-taint-eviction-controller',
  writes: [{ resource: DeviceTaintRules, fields: [['status']] }],
};
