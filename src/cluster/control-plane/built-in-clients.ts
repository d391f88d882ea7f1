/**
 * Controllers and scheduler of the control plane's process: each has its own identity and informers, as in separate
 * processes, so that each can be started and ended separately.
 */
import type { Principal } from '../../api/transport.ts';
import { accountPrincipal } from '../../apiserver/authn/bound-token-claims.ts';
import { rangesOf } from '../../base/cidr.ts';
import type { Client } from '../../client/client.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { EventSeriesBroadcaster } from '../../client/event-series-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { ControllersConfig, ControllerSettings } from '../../controllers/controller.ts';
import { controllers, runControllers } from '../../controllers/list.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { defaultSchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import { createScheduler, type Scheduler } from '../../scheduler/scheduler.ts';
import type { Instance } from '../instance/instance.ts';
import type { SchedulerSetup } from './scheduler-setup.ts';

export interface BuiltInDeps {
  readonly platform: BasePlatform;
  /** Creates a client that acts as this user. */
  readonly clientFor: (principal: Principal, userAgent: string) => Client;
}

export interface BuiltInConfig {
  readonly instance: Pick<Instance, 'clusterCidr' | 'serviceCidr' | 'clusterDomain'>;
  readonly rootCaPem: string;
  readonly apiServerNames?: ControllersConfig['apiServerNames'];
  /** Signs certificate requests. Absent: they are not signed. */
  readonly clusterSigning?: KeyPairPem;
  /** Signs the tokens of token secrets. Absent: these secrets get no token. */
  readonly signServiceAccountToken?: ControllersConfig['signServiceAccountToken'];
  /** Reports the machines behind nodes. Absent: there is no cloud. */
  readonly cloudNodes?: ControllersConfig['cloudNodes'];
  readonly settings?: ControllerSettings;
}

export interface BuiltInSchedulerConfig {
  /** Absent: upstream's default scheduler. */
  readonly setup?: SchedulerSetup;
  /** The name of this machine, which events show. */
  readonly hostName: string;
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
  const { clusterCidr, serviceCidr, clusterDomain } = config.instance;
  const { names = Object.keys(controllers), withoutNames = [], ...settings } = config.settings ?? {};
  await runControllers(
    {
      platform,
      informers: createInformerFactory(manager),
      client: manager.client,
      clientFor: (account) => clientFor(accountPrincipal('kube-system', account), `kube-controller-manager/${account}`),
      recorderFor: (component) => events.recorderFor(component),
      config: {
        ...settings,
        clusterCidrs: rangesOf(clusterCidr),
        serviceCidrs: rangesOf(serviceCidr),
        clusterDomain,
        rootCaPem: config.rootCaPem,
        apiServerNames: config.apiServerNames,
        signServiceAccountToken: config.signServiceAccountToken,
        clusterSigning: config.clusterSigning,
        cloudNodes: config.cloudNodes,
      },
    },
    signal,
    names.filter((name) => !withoutNames.includes(name)),
  );
}

/** Starts the scheduler; resolves once it runs. */
export async function startBuiltInScheduler(
  { platform, clientFor }: BuiltInDeps,
  { setup, hostName }: BuiltInSchedulerConfig,
  signal: AbortSignal,
): Promise<Scheduler> {
  const sources = sourcesOf(platform, clientFor(SCHEDULER, 'kube-scheduler'));
  const events = new EventSeriesBroadcaster({ ...sources, hostName });
  events.start(signal);
  const scheduler = createScheduler(
    {
      client: sources.client,
      informers: createInformerFactory(sources),
      recorderFor: (component) => events.recorderFor(component),
      platform,
      extenders: setup?.extenders,
    },
    setup?.config ?? defaultSchedulerConfig(),
  );
  await scheduler.start(signal);
  return scheduler;
}

function sourcesOf({ clock, random, log }: BasePlatform, client: Client): Parameters<typeof createInformerFactory>[0] {
  return { client, clock, random, log };
}
