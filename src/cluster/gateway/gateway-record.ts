/** The file that records the process of the data plane, wherever a start looks for it. */
import type { Instance } from '../instance/instance.ts';

export function gatewayRecord({ runDir }: Pick<Instance, 'runDir'>): string {
  return `${runDir}/gateway.json`;
}
