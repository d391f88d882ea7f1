/** `--kubelet-config` and `--kubelet-arg` of `up`, `server` and `agent`. */
import { resolve } from 'node:path';
import type { KubeletSettings } from '../cluster/node/instance-kubelet.ts';
import { parseNodeLabels } from './node-labels.ts';
import { UserError } from './usage-error.ts';

/** Options before they are checked. */
export interface RawKubeletSettings {
  readonly kubeletConfig?: string;
  readonly kubeletArg?: readonly string[];
  readonly nodeLabel?: readonly string[];
  readonly nodeTaint?: readonly string[];
}

/** The settings; undefined when neither option is given. Throws `UserError` for an unknown flag. */
export async function parseKubeletSettings(raw: RawKubeletSettings): Promise<{ readonly kubelet?: KubeletSettings }> {
  const { kubeletConfig, kubeletArg = [], nodeLabel = [], nodeTaint = [] } = raw;
  if (kubeletConfig === undefined && kubeletArg.length + nodeLabel.length + nodeTaint.length === 0) return {};
  const { collectFlags } = await import('./kubelet-flags.ts');
  const flags = kubeletArg.map((text) => text.replace(/^--?/, ''));
  const labels = flags.flatMap((text) => (LABELS.test(text) ? text.replace(LABELS, '').split(',') : []));
  const args = collectFlags([
    ...flags.filter((text) => !LABELS.test(text)).map((text) => `--${text}`),
    ...nodeTaint.map((taint) => `--register-with-taints=${checkTaint(taint)}`),
  ]);
  const configFile = kubeletConfig === undefined ? undefined : resolve(kubeletConfig);
  return { kubelet: { args, configFile, nodeLabels: parseNodeLabels('--node-label', [...nodeLabel, ...labels]) } };
}

/** A flag of upstream's kubelet that is no field of its configuration. */
const LABELS = /^node[-_]labels=/;

function checkTaint(text: string): string {
  if (/^[^=:,\s]+(=[^=:,\s]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/.test(text)) return text;
  throw new UserError(
    `--node-taint: ${text} is not of the form key=value:effect; effects are NoSchedule, PreferNoSchedule, NoExecute`,
    2,
  );
}
