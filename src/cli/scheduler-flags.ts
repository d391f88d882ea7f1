/** Flags of `keelson scheduler`: upstream's, and which of them change nothing here. */
import { anyValue, componentFlags, onlyDefault } from '../component-helpers/command-line/component-flags.ts';
import { type FixedFlags, fixedOptions } from '../component-helpers/command-line/fixed-flags.ts';
import type { Flag } from '../component-helpers/command-line/flags.ts';
import { logOptions } from '../component-helpers/command-line/log-options.ts';
import { clientFixedFlags, CLIENT_FLAGS, electionFlags, INSECURE_FLAGS } from './component-client-flags.ts';
import { componentServingFixed, componentServingOptions } from './component-serving.ts';

/** Flags without effect, and flags of which only the default value is supported. */
export const schedulerFixedFlags: FixedFlags = {
  ...componentFlags,
  ...componentServingFixed,
  ...clientFixedFlags({ qps: '50', burst: '100' }),
  'feature-gates': anyValue('', 'features are as they are by default', 'list'),
  'pod-max-in-unschedulable-pods-duration': onlyDefault('5m0s', 'it is always 5m0s here', 'always 5m0s here'),
  'write-config-to': onlyDefault('', 'the configuration is not written anywhere', 'not offered'),
};

const named = (name: string, description: string): Flag => ({ name, type: 'string', description });

/** Flags that configure the scheduler. */
export const schedulingFlags: readonly Flag[] = [
  ...CLIENT_FLAGS,
  ...electionFlags('kube-scheduler'),
  named('config', 'a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)'),
  named('scheduler-name', 'the pods to take, without --config (default default-scheduler)'),
  named('algorithm-provider', 'the predicates and priorities of the early releases (DefaultProvider)'),
  named('policy-config-file', 'a scheduler policy of the early releases (kind Policy)'),
  ...INSECURE_FLAGS,
];

/** Serving flags. */
export const schedulerServing = componentServingOptions({ securePort: 10_259, toleratesLookupFailure: true });

/** Every flag. */
export const schedulerFlags: readonly Flag[] = [
  ...schedulingFlags,
  ...schedulerServing.flags,
  ...logOptions.flags,
  ...fixedOptions(schedulerFixedFlags).flags,
];
