/** `keelson controller-manager`: the controllers alone, against any API server. Exit code 1 when leadership is lost. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { errorMessage } from '../base/errors.ts';
import type { ControllersConfig } from '../controllers/controller.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { componentCommand, onNodePlatform, rawOptions, readComponentFlags } from './component-command.ts';
import type { ComponentServingOptions } from './component-serving.ts';
import {
  controllerFlags,
  controllerManagerFixedFlags,
  controllerManagerFlags,
  controllerManagerServing,
} from './controller-manager-flags.ts';
import type { RawControllerManagerOptions } from './controller-manager-options.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { readFlagFile } from './flag-file.ts';
import { UserError } from './usage-error.ts';

export function controllerManagerCommand(): Command {
  return componentCommand({
    name: 'controller-manager',
    description: 'run the controllers alone, against any API server',
    needs: '--kubeconfig=FILE',
    flags: controllerManagerFlags,
    run,
  });
}

async function run(args: readonly string[]): Promise<number> {
  const values = readComponentFlags(args, controllerManagerFlags, controllerManagerFixedFlags);
  const { DEFAULT_CONTROLLER_MANAGER_OPTIONS } = await import('./controller-manager-options.ts');
  const raw = rawOptions(values, controllerFlags, DEFAULT_CONTROLLER_MANAGER_OPTIONS);
  const serving = controllerManagerServing.read(values);
  return onNodePlatform(values, (platform) => runOn(platform, raw, serving));
}

async function runOn(
  platform: NodePlatform,
  raw: RawControllerManagerOptions,
  serving: ComponentServingOptions,
): Promise<number> {
  const { parseControllerManagerOptions } = await import('./controller-manager-options.ts');
  const options = parseControllerManagerOptions(raw);
  const fromFiles = await readFiles(platform, raw);
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const { createAccountClients } = await import('../cluster/alone/service-account-clients.ts');
  const { createStandaloneControllers } = await import('../cluster/alone/standalone-controllers.ts');
  const { measuredNet } = await import('../client/measured-net.ts');
  const net = measuredNet(platform.net, platform);
  const config = await loadKubeconfig({ ...platform, net, userAgent: 'kube-controller-manager' }, options.kubeconfig);
  const base = raw.master === undefined ? config : { ...config, server: raw.master };
  const client = createRestClient(base);
  const accountClient = createAccountClients(base, client);
  const standalone = createStandaloneControllers(
    {
      platform,
      client,
      clientFor(account) {
        const userAgent = `kube-controller-manager/${account}`;
        return raw.useServiceAccountCredentials === true
          ? accountClient(account, userAgent)
          : createRestClient({ ...base, userAgent });
      },
    },
    {
      names: options.names,
      controllers: { ...options.controllers, ...fromFiles },
      leaderElection: options.leaderElection && {
        ...options.leaderElection,
        identity: `${hostname()}_${randomUUID()}`,
      },
    },
  );
  const { serveComponent } = await import('./serve-component.ts');
  const served = await serveComponent(
    { platform, name: 'kube-controller-manager', handler: standalone.http },
    { serving, insecure: { host: raw.address, port: options.port } },
  );
  return await runUntilStopped(standalone, served);
}

async function readFiles(
  { files }: NodePlatform,
  raw: RawControllerManagerOptions,
): Promise<Partial<ControllersConfig>> {
  const read = async (flag: string, path: string | undefined): Promise<string | undefined> =>
    path === undefined ? undefined : await readFlagFile(files, flag, path);
  const rootCaPem = await read('--root-ca-file', raw.rootCaFile);
  const certPem = await read('--cluster-signing-cert-file', raw.clusterSigningCertFile);
  const keyPem = await read('--cluster-signing-key-file', raw.clusterSigningKeyFile);
  const tokenKey = await read('--service-account-private-key-file', raw.serviceAccountPrivateKeyFile);
  return {
    rootCaPem,
    clusterSigning: certPem === undefined || keyPem === undefined ? undefined : { certPem, keyPem },
    signServiceAccountToken: tokenKey === undefined ? undefined : await signerOf(tokenKey),
  };
}

async function signerOf(pem: string): Promise<NonNullable<ControllersConfig['signServiceAccountToken']>> {
  const { createTokenSigner } = await import('../cluster/alone/token-signer.ts');
  try {
    return createTokenSigner(pem);
  } catch (error) {
    throw new UserError(`--service-account-private-key-file: ${errorMessage(error)}`, 2, { cause: error });
  }
}
