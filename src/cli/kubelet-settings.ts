/** `--kubelet-config` and `--kubelet-arg` of `up`, `server` and `agent`. */
import { resolve } from 'node:path';
import type { KubeletSettings } from '../cluster/node/instance-kubelet.ts';

/** Options before they are checked. */
export interface RawKubeletSettings {
  readonly kubeletConfig?: string;
  readonly kubeletArg?: readonly string[];
}

/** The settings; undefined when neither option is given. Throws `UserError` for an unknown flag. */
export async function parseKubeletSettings(raw: RawKubeletSettings): Promise<{ readonly kubelet?: KubeletSettings }> {
  const { kubeletConfig, kubeletArg = [] } = raw;
  if (kubeletConfig === undefined && kubeletArg.length === 0) return {};
  const { collectFlags } = await import('./kubelet-flags.ts');
  const args = collectFlags(kubeletArg.map((text) => `--${text.replace(/^--?/, '')}`));
  return { kubelet: { args, configFile: kubeletConfig === undefined ? undefined : resolve(kubeletConfig) } };
}
