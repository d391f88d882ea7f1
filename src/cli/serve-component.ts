/** Opens the ports of a component: one with TLS, and one without when a flag asks for it. */
import { errorMessage } from '../base/errors.ts';
import { openComponentServer, type ComponentServerDeps } from '../cluster/alone/component-server.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import type { ComponentServingOptions } from './component-serving.ts';
import { UserError } from './usage-error.ts';

/** Address and port; port 0 disables serving. */
export interface ComponentServes {
  readonly serving: ComponentServingOptions;
  readonly insecure: { readonly host: string; readonly port: number };
}

/** Opens the ports. Throws `UserError` when one cannot be opened. */
export async function serveComponent(
  deps: Omit<ComponentServerDeps, 'platform'> & { readonly platform: NodePlatform },
  { serving, insecure }: ComponentServes,
): Promise<{ close(): Promise<void> }> {
  const { platform, handler, name } = deps;
  const { createKubeconfigClient } = await import('../client/kubeconfig.ts');
  const clientOf = async (path: string | undefined) =>
    path === undefined ? undefined : createKubeconfigClient({ ...platform, userAgent: name }, path);
  try {
    const [authentication, authorization] = await Promise.all([
      clientOf(serving.authenticationKubeconfig),
      clientOf(serving.authorizationKubeconfig),
    ]);
    const access = { ...serving, authentication, authorization };
    const open = [
      ...(serving.securePort === 0 ? [] : [await openComponentServer(deps, serving, access)]),
      ...(insecure.port === 0 ? [] : [await platform.listenHttp(insecure, handler)]),
    ];
    return {
      close: async () => {
        await Promise.all(open.map((server) => server.close(500)));
      },
    };
  } catch (error) {
    throw new UserError(`cannot serve: ${errorMessage(error)}`);
  }
}
