/** How an instance is started: in the background or not, what it remembers, and where it reports progress. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isFromCommandLine, settingsOf } from './arguments/settle-options.ts';
import type { Settings } from './arguments/settings-file.ts';
import type { KubeconfigTarget } from './kubeconfig/publish.ts';
import { userKubeconfig } from './kubeconfig/user-file.ts';
import { UserError } from './usage-error.ts';

/** Options before they are checked. */
export interface RawInstanceStart {
  readonly logLevel: string;
  readonly restart?: string;
  readonly writeKubeconfig?: string;
  readonly kubeconfigMode?: string;
  readonly simulate?: boolean;
}

export interface InstanceStart {
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** Whether it was restarted after an abnormal end. */
  readonly supervised: boolean;
  /** The settings for later starts. */
  readonly settings: Settings;
  /** Whether the user chose a store on the command line or in a file, which a later start uses again. */
  readonly hasOwnStore?: boolean;
  /** The user's kubeconfig that gets the cluster's context. */
  readonly kubeconfig: KubeconfigTarget | undefined;
}

/** Reads the settings from the options. Throws `UserError` with exit code 2. */
export function instanceStart(command: Command, raw: RawInstanceStart): InstanceStart {
  const kubeconfig = targetOf(raw);
  return {
    logLevel: raw.logLevel as InstanceStart['logLevel'],
    supervised: raw.restart !== 'never',
    settings: {
      ...settingsOf(command),
      'kubeconfig-file': kubeconfig?.file,
      simulated: raw.simulate === true || undefined,
    },
    hasOwnStore: isFromCommandLine(command, 'store'),
    kubeconfig,
  };
}

function targetOf({ writeKubeconfig, kubeconfigMode }: RawInstanceStart): KubeconfigTarget | undefined {
  if (kubeconfigMode !== undefined && !/^0?[0-7]{3}$/.test(kubeconfigMode))
    throw new UserError(`--kubeconfig-mode: ${kubeconfigMode} is not a mode such as 0600`, 2);
  if (writeKubeconfig === undefined || writeKubeconfig === 'none') return undefined;
  return {
    file: writeKubeconfig === 'default' ? userKubeconfig() : resolve(writeKubeconfig),
    mode: kubeconfigMode === undefined ? undefined : Number.parseInt(kubeconfigMode, 8),
  };
}
