/** The file that records the data plane's process, for later starts. */
import type { Instance } from '../instance/instance.ts';

export function gatewayRecord({ runDir }: Pick<Instance, 'runDir'>): string {
  return `${runDir}/gateway.json`;
}
