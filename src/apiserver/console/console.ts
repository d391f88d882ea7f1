/**
 * The console in the browser, at `/console/`: its files for anyone, and sessions for browsers, which cannot keep tokens.
 * Everything but this file is loaded by the first request for it.
 *
 * Differs: upstream has no console. Its sessions are one more authenticator, so that authorization, audit and fairness see
 * their users as any others.
 */
import type { ApiRequest, Principal } from '../../api/transport.ts';
import type { Authenticator } from '../authn/contract.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { NonResourceRoute } from '../non-resource-routes.ts';
import type { LoadConsole } from './contract.ts';
import type { ConsoleAuthentication, ServedConsole } from './serve-console.ts';

/** The console's parts in the API server. */
export interface Console {
  readonly authenticator: Authenticator;
  /** Lets anyone ask for what is below `/console`; its handlers require a user where one is needed. */
  readonly authorizer: Authorizer;
  readonly routes: readonly NonResourceRoute[];
}

const ANYONE: Principal = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const ALLOWED = { decision: 'allow', reason: 'the console is open to anyone' } as const;
const NO_OPINION = { decision: 'noOpinion', reason: '' } as const;

const isConsolePath = (path: string): boolean => path === '/console' || path.startsWith('/console/');

export function createConsole(load: LoadConsole, authentication: ConsoleAuthentication): Console {
  let loading: Promise<ServedConsole> | undefined;
  let served: ServedConsole | undefined;
  const loadParts = async (): Promise<ServedConsole> => {
    const [{ createServedConsole }, ports] = await Promise.all([import('./serve-console.ts'), load()]);
    served = createServedConsole(ports, authentication);
    return served;
  };
  const loaded = (): Promise<ServedConsole> =>
    (loading ??= loadParts().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
  return {
    authenticator: {
      authenticate(request: ApiRequest) {
        if (served !== undefined && request.headers['cookie'] !== undefined) {
          const found = served.authenticate(request);
          if (found !== undefined) return found;
        }
        // Also where requests need a credential.
        return isConsolePath(request.path) && request.refusedCertificate !== true ? ANYONE : undefined;
      },
    },
    authorizer: {
      authorize: ({ isResourceRequest, path }) => (!isResourceRequest && isConsolePath(path) ? ALLOWED : NO_OPINION),
    },
    routes: [
      {
        path: '/console',
        prefix: true,
        methods: ['GET', 'HEAD', 'POST', 'DELETE'],
        serve: async (scope) => (await loaded()).serve(scope),
      },
    ],
  };
}
