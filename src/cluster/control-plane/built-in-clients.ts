/**
 * The clients of the API server that belong to the control plane, controllers and scheduler: each under its own identity,
 * with its own informers, as if they were processes of their own, so that each can be started and ended alone.
 */
import { rangesOf } from '../../base/cidr.ts';
import type { KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { Principal } from '../../api/transport.ts';
import { accountPrincipal } from '../../apiserver/authn/service-account-tokens.ts';
import type { Client } from '../../client/client.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { ControllersConfig } from '../../controllers/controller.ts';
import { runControllers } from '../../controllers/list.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { defaultSchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import { createScheduler, type Scheduler } from '../../scheduler/scheduler.ts';
import type { Instance } from '../instance/instance.ts';
import type { SchedulerSetup } from './scheduler-setup.ts';

/** What they are made from. */
export interface BuiltInDeps {
  readonly platform: BasePlatform;
  /** A client that acts as this user. */
  readonly clientFor: (principal: Principal, userAgent: string) => Client;
}

/** What controllers are told. */
export interface BuiltInConfig {
  readonly instance: Pick<Instance, 'clusterCidr' | 'serviceCidr'>;
  readonly rootCaPem: string;
  /** Signs certificate requests. Absent: they stay unsigned. */
  readonly clusterSigning?: KeyPairPem;
  /** Signs the tokens of secrets. Absent: such secrets stay empty. */
  readonly signServiceAccountToken?: ControllersConfig['signServiceAccountToken'];
  /** Upstream's names of those to run; all when absent. */
  readonly names?: readonly string[];
}

const SCHEDULER: Principal = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };
const CONTROLLER_MANAGER: Principal = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };

/** Runs the controllers; resolves when all have ended after the abort. */
export async function runBuiltInControllers(
  { platform, clientFor }: BuiltInDeps,
  config: BuiltInConfig,
  signal: AbortSignal,
): Promise<void> {
  const manager = sourcesOf(platform, clientFor(CONTROLLER_MANAGER, 'kube-controller-manager'));
  const events = createEventBroadcaster(manager);
  events.start(signal);
  const { clusterCidr, serviceCidr } = config.instance;
  await runControllers(
    {
      platform,
      informers: createInformerFactory(manager),
      client: manager.client,
      clientFor: (account) => clientFor(accountPrincipal('kube-system', account), `kube-controller-manager/${account}`),
      recorderFor: (component) => events.recorderFor(component),
      config: {
        clusterCidrs: rangesOf(clusterCidr),
        serviceCidrs: rangesOf(serviceCidr),
        rootCaPem: config.rootCaPem,
        ...(config.signServiceAccountToken && { signServiceAccountToken: config.signServiceAccountToken }),
        ...(config.clusterSigning && { clusterSigning: config.clusterSigning }),
      },
    },
    signal,
    config.names,
  );
}

/** Starts the scheduler, upstream's default one without a setup; resolves once it runs. */
export async function startBuiltInScheduler(
  { platform, clientFor }: BuiltInDeps,
  setup: SchedulerSetup | undefined,
  signal: AbortSignal,
): Promise<Scheduler> {
  const sources = sourcesOf(platform, clientFor(SCHEDULER, 'kube-scheduler'));
  const events = createEventBroadcaster(sources);
  events.start(signal);
  const scheduler = createScheduler(
    {
      client: sources.client,
      informers: createInformerFactory(sources),
      recorderFor: (component) => events.recorderFor(component),
      platform,
      ...(setup && { extenders: setup.extenders }),
    },
    setup?.config ?? defaultSchedulerConfig(),
  );
  await scheduler.start(signal);
  return scheduler;
}

function sourcesOf({ clock, random, log }: BasePlatform, client: Client): Parameters<typeof createInformerFactory>[0] {
  return { client, clock, random, log };
}
