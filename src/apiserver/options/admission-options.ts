/** The choice of admission plugins. Upstream: server/options/admission.go. */
import { ADMISSION_PLUGIN_NAMES, defaultAdmissionPlugins } from '../admission/plugin-names.ts';
import type { TolerationSeconds } from '../admission/default-toleration-seconds/default-toleration-seconds.ts';
import { type Flag, type FlagValues, listOf, numberOf, OptionsError, textOf } from './flags.ts';

export const admissionFlags: readonly Flag[] = [
  {
    name: 'enable-admission-plugins',
    value: '<names>',
    description: `admission plugins to run beside the default ones (${defaultAdmissionPlugins.join(', ')})`,
    list: true,
  },
  {
    name: 'disable-admission-plugins',
    value: '<names>',
    description: 'admission plugins not to run although they are on by default',
    list: true,
  },
  {
    name: 'admission-control',
    value: '<names>',
    description: 'exactly these admission plugins',
    list: true,
    deprecated:
      'Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.',
  },
  {
    name: 'admission-control-config-file',
    value: '<file>',
    description:
      'AdmissionConfiguration with the configuration of plugins (PodSecurity, EventRateLimit, ImagePolicyWebhook and others)',
  },
  {
    name: 'default-not-ready-toleration-seconds',
    value: '<seconds>',
    description: 'how long a pod that does not say tolerates that its node is not ready (default 300)',
  },
  {
    name: 'default-unreachable-toleration-seconds',
    value: '<seconds>',
    description: 'how long a pod that does not say tolerates that its node is unreachable (default 300)',
  },
];

export interface AdmissionOptions {
  /** Names of the plugins that run. */
  readonly plugins: readonly string[];
  readonly configFile?: string;
  /** The tolerations that DefaultTolerationSeconds adds. */
  readonly tolerationSeconds: TolerationSeconds;
}

/** Checks and completes the options. Throws {@link OptionsError} with the known names for an unknown name. */
export function parseAdmissionOptions(values: FlagValues): AdmissionOptions {
  const lists = ['enable-admission-plugins', 'disable-admission-plugins', 'admission-control'] as const;
  const [enabled, disabled, exactly] = lists.map((name) => checkPluginNames(name, listOf(values, name)));
  const configFile = textOf(values, 'admission-control-config-file');
  const tolerationSeconds = {
    notReady: numberOf(values, 'default-not-ready-toleration-seconds', { otherwise: 300 }),
    unreachable: numberOf(values, 'default-unreachable-toleration-seconds', { otherwise: 300 }),
  };
  const rest = { tolerationSeconds, configFile };
  if (exactly !== undefined) {
    if (enabled !== undefined || disabled !== undefined)
      throw new OptionsError(
        '--admission-control: admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive',
      );
    return checkConfigFile(exactly, rest);
  }
  const both = (enabled ?? []).find((name) => (disabled ?? []).includes(name));
  if (both !== undefined)
    throw new OptionsError(
      `--enable-admission-plugins: ${both} in enable-admission-plugins and disable-admission-plugins overlapped`,
    );
  const plugins = [...new Set<string>([...defaultAdmissionPlugins, ...(enabled ?? [])])].filter(
    (name) => !(disabled ?? []).includes(name),
  );
  return checkConfigFile(plugins, rest);
}

function checkConfigFile(plugins: readonly string[], rest: Omit<AdmissionOptions, 'plugins'>): AdmissionOptions {
  if (plugins.includes('EventRateLimit') && rest.configFile === undefined)
    throw new OptionsError('--admission-control-config-file: the plugin EventRateLimit needs its limits from there');
  if (plugins.includes('ImagePolicyWebhook') && rest.configFile === undefined)
    throw new OptionsError(
      '--admission-control-config-file: the plugin ImagePolicyWebhook needs its webhook from there',
    );
  return { plugins, ...rest };
}

function checkPluginNames(flag: string, names: readonly string[] | undefined): readonly string[] | undefined {
  const unknown = names?.find((name) => !ADMISSION_PLUGIN_NAMES.some((one) => one === name));
  if (unknown === undefined) return names;
  throw new OptionsError(
    `--${flag}: ${flag} plugin ${JSON.stringify(unknown)} is unknown; there are ${ADMISSION_PLUGIN_NAMES.join(', ')}`,
  );
}
