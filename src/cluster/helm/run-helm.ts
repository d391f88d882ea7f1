/**
 * Runs HelmCharts once `keelson addons enable helm` has defined the kind: before that no code is loaded, and after
 * the definition is deleted nothing is watched. Of several servers one runs it.
 */
import type { Principal } from '../../api/transport.ts';
import { CustomResourceDefinitions, Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { onAbort } from '../../base/abort.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { LedComponent } from '../control-plane/leadership.ts';
import type { Instance } from '../instance/instance.ts';
import { localServerUrl } from '../instance/server-addresses.ts';
import { kubeconfigJson } from '../kubeconfig.ts';
import { firstDefined, servesVersion } from '../served-definition.ts';
import { accountName } from './chart-names.ts';
import { RUN_BY_ANNOTATION } from './helm-definitions.ts';
import type { HelmOptions } from './helm-options.ts';
import { HELM_GROUP, HelmChartConfigs, HelmCharts } from './helm-kinds.ts';

export interface HelmConfig {
  readonly instance: Pick<Instance, 'dataDir' | 'runDir' | 'httpsPort'>;
  readonly options: { readonly helm?: HelmOptions; readonly bindAddress?: string | undefined };
  readonly caPem: string;
}

export interface HelmDeps {
  readonly platform: Platform;
  readonly controlPlane: ControlPlane;
  /** Runs the component while this server leads. */
  lead(component: LedComponent, signal: AbortSignal): Promise<void>;
}

/** Charts may create any object and grant any right, so authors of charts are administrators. */
const ADMINISTRATOR: Principal = { name: 'keelson:helm', groups: ['system:masters', 'system:authenticated'] };
/** The second half of systemd's range of unassigned user ids (UIDS-GIDS); the data plane of routes uses the first. */
const FIRST_USER = 63_352;
const USERS = 2_168;

/** Runs until the signal aborts. */
export async function runHelm(deps: HelmDeps, config: HelmConfig, signal: AbortSignal): Promise<void> {
  const { objects } = deps.controlPlane.server;
  const definition = ({ resource }: ResourceInfo) =>
    objects.get(CustomResourceDefinitions, '', `${resource}.${HELM_GROUP}`);
  const isOurs = (): true | undefined =>
    [HelmCharts, HelmChartConfigs]
      .map(definition)
      .every((one) => one?.metadata.annotations?.[RUN_BY_ANNOTATION] !== undefined && servesVersion(one, 'v1')) ||
    undefined;
  // Deleting the definition waits for its charts, which are uninstalled first.
  const isGone = (): true | undefined => (definition(HelmCharts) === undefined ? true : undefined);
  while (!signal.aborted) {
    if ((await firstDefined(objects, isOurs, signal)) === undefined) return;
    const work = new AbortController();
    const unhook = onAbort(signal, () => work.abort(signal.reason));
    const gone = firstDefined(objects, isGone, work.signal).then(() => work.abort(new Error('HelmChart has gone')));
    const lead = (until: AbortSignal) => runController(deps, config, until);
    await deps.lead({ name: 'helm-controller', user: ADMINISTRATOR, lead }, work.signal);
    await gone;
    unhook();
  }
}

async function runController({ platform, controlPlane }: HelmDeps, config: HelmConfig, signal: AbortSignal) {
  const { createChartController } = await import('./chart-controller.ts');
  const { makeHelmFolders } = await import('./helm-folders.ts');
  const { withNoProxyFor } = await import('./proxies.ts');
  const { createHelmRunner } = await import('./helm-runner.ts');
  const { createHelmProgram } = await import('./helm-program.ts');
  const { options, caPem, instance } = config;
  const { dataDir, runDir, httpsPort } = instance;
  const server = localServerUrl(options, httpsPort);
  const { proxies = {}, program, jobImage = '' } = options.helm ?? {};
  const client = controlPlane.clientFor(ADMINISTRATOR, 'helm-controller');
  const sources = { client, clock: platform.clock, random: platform.random, log: platform.log };
  const informers = createInformerFactory(sources);
  const events = createEventBroadcaster(sources);
  events.start(signal);
  const folder = `${runDir}/helm`;
  const chartsFolder = `${dataDir}/charts`;
  await makeHelmFolders(platform, { runs: folder, charts: chartsFolder }, signal);
  const kubeconfig = (token: string): string =>
    kubeconfigJson({ server, caPem, token, user: 'helm', cluster: 'keelson' });
  const runner = createHelmRunner(
    { platform, client, program: createHelmProgram(platform, program) },
    { folder, user: userOf(runDir), proxies: withNoProxyFor(new URL(server).hostname, proxies), kubeconfig },
  );
  const controller = createChartController(
    {
      client,
      informers,
      platform,
      recorder: events.recorderFor('helm-controller'),
      runner,
      async token({ namespace, chart }, expirationSeconds) {
        const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } };
        const { status } = await client
          .resource(ServiceAccounts)
          .createSubresource<{ status: { token: string } }>({ namespace, name: accountName(chart) }, 'token', body, {
            signal,
          });
        return status.token;
      },
      onSecretChange(listener) {
        const { objects } = controlPlane.server;
        const stop = objects.onChange(
          Secrets,
          (secret, old) => {
            const changed = secret ?? old;
            if (changed !== undefined) listener(changed);
          },
          { onlyLater: true },
        );
        onAbort(signal, stop);
      },
    },
    { jobImage, apiHost: new URL(server).host, chartsFolder, httpsPort, proxies },
  );
  informers.start(signal);
  await controller.start(signal);
}

/** An unassigned user id; undefined when this process is not root. */
function userOf(runDir: string): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return FIRST_USER + (Number.parseInt(runDir.slice(runDir.lastIndexOf('/') + 1), 16) % USERS);
}
