/** The controllers and the scheduler in a control plane's process. */
import { onAbort } from '../../base/abort.ts';
import type { ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import type { StepsOf } from '../../component-helpers/pod-trace/trace-step.ts';
import type { ExplainPod } from '../../component-helpers/pod-why.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import { apiServerNames } from './api-server-names.ts';
import type { BuiltInDeps } from './built-in-clients.ts';
import type { ComponentHealthSource } from './component-health.ts';
import type { ControlPlaneDeps } from './control-plane-deps.ts';

export interface BuiltInComponents {
  /** Resolves when the controllers have ended after the abort. */
  runControllers(signal: AbortSignal): Promise<void>;
  /** Resolves once the scheduler runs. */
  startScheduler(signal: AbortSignal): Promise<void>;
  /** Undefined before the scheduler is started. */
  explainPod(): ExplainPod | undefined;
  /** The scheduler's steps of pods; undefined while it does not run in this process. */
  schedulerSteps(): StepsOf | undefined;
}

export interface BuiltInComponentsDeps {
  readonly deps: ControlPlaneDeps;
  readonly clientFor: BuiltInDeps['clientFor'];
  readonly tokens: Pick<ServiceAccountTokens, 'issueLegacy'>;
  readonly health: Pick<ComponentHealthSource, 'runs'>;
}

export function createBuiltInComponents({ deps, clientFor, tokens, health }: BuiltInComponentsDeps): BuiltInComponents {
  const { platform, pki, instance } = deps;
  let explain: ExplainPod | undefined;
  let steps: Scheduler['steps'] | undefined;
  return {
    explainPod: () => explain,
    schedulerSteps: () => steps?.stepsOf ?? deps.schedulerSteps?.(),
    async runControllers(signal) {
      const { runBuiltInControllers } = await builtInClients();
      const { certPem, keyPem } = pki.ca;
      const signing = keyPem === undefined ? {} : { clusterSigning: { certPem, keyPem } };
      const ended = health.runs('controller-manager');
      return runBuiltInControllers(
        { platform, clientFor },
        {
          instance,
          rootCaPem: certPem,
          ...apiServerNames(platform, pki, instance),
          signServiceAccountToken: tokens.issueLegacy,
          ...signing,
          settings: deps.controllers,
        },
        signal,
      ).finally(ended);
    },
    async startScheduler(signal) {
      const { startBuiltInScheduler } = await builtInClients();
      const { hostname: hostName } = await platform.host.info();
      const config = { hostName, setup: deps.scheduler };
      const scheduler = await startBuiltInScheduler({ platform, clientFor }, config, signal);
      explain = scheduler.why;
      steps = scheduler.steps;
      const ended = health.runs('scheduler');
      onAbort(signal, ended);
    },
  };
}

/** Loaded at their start, so that the API server does not wait for their code. */
const builtInClients = (): Promise<typeof import('./built-in-clients.ts')> => import('./built-in-clients.ts');
