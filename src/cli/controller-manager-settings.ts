/** `--controller-manager-arg` of `up` and `server`: the flags of the controllers that an instance leaves to its user. */
import { Option } from 'commander';
import { FlagError } from '../component-helpers/command-line/flags.ts';
import type { ControllerSettings } from '../controllers/controller.ts';
import { UserError } from './usage-error.ts';

/** Options before they are checked. */
export interface RawControllerManagerSettings {
  readonly controllerManagerArg?: readonly string[];
}

/** Flags a user may set. The instance sets the others: its authority, its ranges, its clients. */
const SETTABLE: readonly string[] = [
  'automatic-token-secrets',
  'controllers',
  'node-cidr-mask-size',
  'node-cidr-mask-size-ipv4',
  'node-cidr-mask-size-ipv6',
  'node-monitor-grace-period',
  'node-monitor-period',
  'terminated-pod-gc-threshold',
];

/** `--controller-manager-arg`: one flag of upstream's controller manager. The option may be repeated. */
export function controllerManagerArgOption(): Option {
  return new Option(
    '--controller-manager-arg <name=value>',
    'a flag of the controller manager, e.g. node-monitor-grace-period=20s; may be given several times',
  ).argParser((text: string, before: readonly string[] = []) => [...before, text]);
}

/** The settings; undefined when no flag is given. Throws `UserError` for an unknown flag or a wrong value. */
export async function parseControllerManagerSettings({
  controllerManagerArg: texts = [],
}: RawControllerManagerSettings): Promise<{ readonly controllerManager?: ControllerSettings }> {
  if (texts.length === 0) return {};
  const { readComponentFlags, rawOptions } = await import('./component-command.ts');
  const { controllerFlags, controllerManagerFixedFlags, controllerManagerFlags } =
    await import('./controller-manager-flags.ts');
  const { DEFAULT_CONTROLLER_MANAGER_OPTIONS, parseControllerManagerOptions } =
    await import('./controller-manager-options.ts');
  try {
    const args = texts.map((text) => `--${text.replace(/^--?/, '')}`);
    const values = readComponentFlags(args, controllerManagerFlags, controllerManagerFixedFlags);
    for (const { name } of controllerManagerFlags)
      if (
        values.texts(name).length > 0 &&
        !SETTABLE.includes(name) &&
        !Object.hasOwn(controllerManagerFixedFlags, name)
      )
        throw new FlagError(`--${name} cannot be set here: the instance settles it`);
    const raw = rawOptions(values, controllerFlags, DEFAULT_CONTROLLER_MANAGER_OPTIONS);
    // The instance has clients of its own.
    const { names, controllers } = parseControllerManagerOptions({ ...raw, kubeconfig: '-' });
    const { clusterCidrs: _pods, serviceCidrs: _services, ...settings } = controllers;
    return {
      controllerManager: {
        ...settings,
        names: raw.controllers === DEFAULT_CONTROLLER_MANAGER_OPTIONS.controllers ? undefined : names,
      },
    };
  } catch (error) {
    if (error instanceof FlagError || error instanceof UserError)
      throw new UserError(`--controller-manager-arg: ${error.message}`, 2, { cause: error });
    throw error;
  }
}
