/** Puts the console's sign-in together from the flags of its client and the issuers whose tokens the API server accepts. */
import type { OidcConfig } from '../../apiserver/authn/oidc.ts';
import type { OidcSignIn, SignInIssuer } from '../../apiserver/console/oidc/contract.ts';
import type { ConsoleSignInOptions } from '../../apiserver/options/authentication-options.ts';
import { errorMessage } from '../../base/errors.ts';
import type { OptionFiles, SetupPlatform } from './option-files.ts';

interface ConsoleSignInDeps {
  readonly platform: SetupPlatform;
  readonly files: OptionFiles;
  /** The present issuers. */
  readonly issuers: () => Promise<readonly OidcConfig[]>;
  readonly servesConsole: boolean;
}

/** The settings in the flags; the server adds the names in its certificates. */
export type ConsoleSignIn = Omit<OidcSignIn, 'servingNames'>;

const FLAG = 'console-oidc-client-secret-file';

/** The first issuer that has the console's client as audience: a secret is sent to no other one. */
export async function loadConsoleSignIn(
  { platform, files, issuers, servesConsole }: ConsoleSignInDeps,
  options: ConsoleSignInOptions | undefined,
): Promise<ConsoleSignIn | undefined> {
  if (options === undefined) return undefined;
  const { clientId, clientSecretFile, redirectOrigins } = options;
  const { net, clock, crypto } = platform;
  const log = platform.log.child('authentication');
  if (!servesConsole) {
    // No error: the data directory remembers that the console is off.
    log.warn('the console is off: --console-oidc-client-id has no effect');
    return undefined;
  }
  const clientSecret =
    clientSecretFile === undefined ? undefined : await secretReader({ platform, files }, clientSecretFile);
  const issuer = async (): Promise<SignInIssuer | undefined> => {
    const oidcConfig = (await issuers()).find((one) => [one.clientId].flat().includes(clientId));
    if (oidcConfig === undefined) return undefined;
    const { issuerUrl, discoveryUrl, caPem } = oidcConfig;
    return { issuerUrl, discoveryUrl, caPem, clientId, clientSecret };
  };
  return { net, clock, crypto, log, issuer, redirectOrigins };
}

/** Read at each use, so that it can be exchanged. A file that cannot be used is refused at the start. */
async function secretReader(
  { platform, files }: Pick<ConsoleSignInDeps, 'platform' | 'files'>,
  path: string,
): Promise<() => Promise<string>> {
  const read = (): Promise<string> =>
    files.read(FLAG, path, async () => {
      const secret = (await platform.files.readText(path)).trim();
      if (secret === '') throw new Error('the file is empty');
      return secret;
    });
  await read();
  return async () => {
    try {
      return await read();
    } catch (error) {
      platform.log
        .child('authentication')
        .error('no secret for the sign-in to the console', { reason: errorMessage(error) });
      throw new Error("the client's secret cannot be read; the server's log says why");
    }
  };
}
